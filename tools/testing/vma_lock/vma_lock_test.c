// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that search while another thread does system calls, as fast as the
 * processors can. Usage: vma_lock_test [SECONDS | rounds=ROUNDS [SEED]]
 *
 * A round is a number of system calls. What must be met may take more rounds,
 * where the machine has other things to do.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "writer.h"
#include "reader.h"
#include "report.h"

#define READERS		2
#define ROUND_CALLS	20000
/* What is not met in so many rounds is never met. */
#define MEET_ROUNDS	2000
/* This many callbacks may wait for RCU: memory is limited. */
#define CALLS_BARRIER	20000

static struct space watched, other;
static struct reader readers[READERS];
static unsigned int started;
static unsigned long calls;

/* The writer sleeps here. */
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_cond = PTHREAD_COND_INITIALIZER;
static const void *sleeps_for;
static bool woken;
static unsigned long sleeps;

/* Let others run, now and then. */
void shim_yield(void)
{
	static __thread unsigned int times;

	if (!(++times % 64))
		sched_yield();
}

/* From here on, wake_up_var() wakes the writer. */
void shim_prepare_to_wait(const void *var)
{
	pthread_mutex_lock(&sleep_lock);
	woken = false;
	sleeps_for = var;
	pthread_mutex_unlock(&sleep_lock);
	smp_mb(); /* In the queue before the condition; pairs with wake_up_var(). */
}

/* Sleep, and prepare to wait again. */
void shim_schedule(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANG_SECONDS;
	pthread_mutex_lock(&sleep_lock);
	sleeps++;
	while (!woken)
		if (pthread_cond_timedwait(&sleep_cond, &sleep_lock, &until))
			wrong("a writer sleeps, and nobody wakes it", 0);
	pthread_mutex_unlock(&sleep_lock);
	shim_prepare_to_wait(sleeps_for);
}

/* No more sleep. */
void shim_finish_wait(void)
{
	pthread_mutex_lock(&sleep_lock);
	sleeps_for = NULL;
	pthread_mutex_unlock(&sleep_lock);
}

/* Wake who sleeps for a variable. */
void wake_up_var(const void *var)
{
	pthread_mutex_lock(&sleep_lock);
	if (sleeps_for == var) {
		woken = true;
		pthread_cond_signal(&sleep_cond);
	}
	pthread_mutex_unlock(&sleep_lock);
}

/* Only the machine of vma_lock_steps knows. */
unsigned long shim_writer_sleeps(void)
{
	return 0;
}

static void *reader_run(void *arg)
{
	struct reader *reader = arg;
	bool over;

	rcu_register_thread();
	__atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
	do {
		over = !READ_ONCE(watched.mm.mm_users.counter);
		reader_search(reader);
	} while (!over);
	rcu_unregister_thread();
	return NULL;
}

static void stand_still(unsigned int turns)
{
	while (turns--)
		__asm__ __volatile__("" : : : "memory");
}

static void write_calls(u64 *rng)
{
	unsigned int i;

	for (i = 0; i < ROUND_CALLS; i++) {
		space_call(below(rng, 8) ? &watched : &other, rng);
		/* Readers must also find an address space that does not change. */
		if (!below(rng, 8))
			stand_still(below(rng, 10000));
		/* Rarely: next to a busy program, this gives up a whole slice. */
		if (!below(rng, 128))
			sched_yield();
		if (!(++calls % CALLS_BARRIER))
			rcu_barrier();
	}
}

static void test_round(unsigned long round)
{
	pthread_t threads[READERS];
	u64 rng = report_round(round);
	unsigned int i;

	world_reset();
	space_start(&watched, true);
	space_start(&other, false);
	started = 0;
	for (i = 0; i < READERS; i++) {
		reader_begin(&readers[i], &watched, random64(&rng));
		if (pthread_create(&threads[i], NULL, reader_run, &readers[i]))
			wrong("no more threads", i);
	}
	while (__atomic_load_n(&started, __ATOMIC_RELAXED) < READERS)
		sched_yield();
	write_calls(&rng);
	space_exit(&watched);
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	space_exit(&other);
	rcu_barrier();
	if (vmas_in_use())
		wrong("VMAs were lost", vmas_in_use());
}

/* Returns what was not met, or NULL. */
static const char *not_met(const struct reader_stats *sum)
{
	return vm_events[VMA_SEARCH_RETRY] ? reader_not_met(sum) : "searches that met a writer";
}

int main(int argc, char **argv)
{
	const struct report_length length = report_length(argc > 1 ? argv[1] : "20");
	struct reader_stats sum;
	unsigned long round = 0;

	report_start(argc > 2 ? argv[2] : "1", 2);
	rcu_register_thread();
	tree_start();
	kernel_start();
	report_begin("threads search next to one that does system calls");
	do {
		test_round(round++);
		sum = reader_sum(readers, READERS);
	} while (report_goes_on(&length, round) || (not_met(&sum) && round < MEET_ROUNDS));
	report_end();
	rcu_unregister_thread();

	if (shim_starving())
		wrong("readers starve when nobody searches", shim_starving());
	report_begin("writers, copies, snapshots and ends were met");
	if (not_met(&sum))
		wrong(not_met(&sum), 0);
	report_end();
	printf("# rounds %lu, system calls %lu, looks that were repeated %lu, sleeps %lu\n", round,
	       calls, vm_events[VMA_SEARCH_RETRY], sleeps);
	reader_print(&sum);
	return 0;
}
