// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that search while another thread does system calls, as fast as the
 * processors can. Usage: vma_lock_test [SECONDS [SEED]]
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "writer.h"
#include "reader.h"
#include "report.h"

#define READERS		2
#define ROUND_SECONDS	0.5
/* This many callbacks may wait for RCU: memory is limited. */
#define CALLS_BARRIER	20000

static struct space watched, other;
static struct reader readers[READERS];
static unsigned long calls;

/* The writer sleeps here. */
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_cond = PTHREAD_COND_INITIALIZER;
static const void *sleeps_for;
static bool woken;
static unsigned long sleeps;

/**
 * shim_yield() - let others run, now and then
 */
void shim_yield(void)
{
	static __thread unsigned int times;

	if (!(++times % 64))
		sched_yield();
}

/**
 * shim_prepare_to_wait() - from here on, wake_up_var() wakes the writer
 * @var: what it will sleep for
 */
void shim_prepare_to_wait(const void *var)
{
	pthread_mutex_lock(&sleep_lock);
	woken = false;
	sleeps_for = var;
	pthread_mutex_unlock(&sleep_lock);
	smp_mb(); /* In the queue before the condition; pairs with wake_up_var(). */
}

/**
 * shim_schedule() - sleep, and prepare to wait again
 */
void shim_schedule(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	pthread_mutex_lock(&sleep_lock);
	sleeps++;
	while (!woken)
		if (pthread_cond_timedwait(&sleep_cond, &sleep_lock, &until))
			wrong("a writer sleeps, and nobody wakes it", 0);
	pthread_mutex_unlock(&sleep_lock);
	shim_prepare_to_wait(sleeps_for);
}

/**
 * shim_finish_wait() - no more sleep
 */
void shim_finish_wait(void)
{
	pthread_mutex_lock(&sleep_lock);
	sleeps_for = NULL;
	pthread_mutex_unlock(&sleep_lock);
}

/**
 * wake_up_var() - wake who sleeps for a variable
 * @var: its address
 */
void wake_up_var(const void *var)
{
	pthread_mutex_lock(&sleep_lock);
	if (sleeps_for == var) {
		woken = true;
		pthread_cond_signal(&sleep_cond);
	}
	pthread_mutex_unlock(&sleep_lock);
}

/**
 * shim_writer_sleeps() - only the machine of vma_lock_steps knows
 *
 * Return: 0.
 */
unsigned long shim_writer_sleeps(void)
{
	return 0;
}

static void *reader_run(void *arg)
{
	struct reader *reader = arg;
	bool over;

	rcu_register_thread();
	do {
		over = !READ_ONCE(watched.mm.mm_users.counter);
		reader_search(reader);
	} while (!over);
	rcu_unregister_thread();
	return NULL;
}

static void write_for(double seconds, u64 *rng)
{
	double end = report_clock() + seconds;

	do {
		space_call(below(rng, 8) ? &watched : &other, rng);
		/* Readers must also find an address space that does not change. */
		if (!below(rng, 8))
			sched_yield();
		if (!(++calls % CALLS_BARRIER))
			rcu_barrier();
	} while (report_clock() < end);
}

static void test_round(unsigned long round, double seconds)
{
	pthread_t threads[READERS];
	u64 rng = report_round(round);
	unsigned int i;

	world_reset();
	space_start(&watched, true);
	space_start(&other, false);
	for (i = 0; i < READERS; i++) {
		reader_begin(&readers[i], &watched, random64(&rng));
		if (pthread_create(&threads[i], NULL, reader_run, &readers[i]))
			wrong("no more threads", i);
	}
	write_for(seconds, &rng);
	space_exit(&watched);
	for (i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	space_exit(&other);
	rcu_barrier();
	if (vmas_in_use())
		wrong("VMAs were lost", vmas_in_use());
}

int main(int argc, char **argv)
{
	double until = report_clock() + (argc > 1 ? strtod(argv[1], NULL) : 20);
	struct reader_stats sum = { };
	unsigned long round = 0;
	unsigned int i;

	report_start(argc > 2 ? argv[2] : "1", 2);
	rcu_register_thread();
	tree_start();
	kernel_start();
	report_begin("threads search beside one that does system calls");
	do
		test_round(round++, ROUND_SECONDS);
	while (report_clock() < until);
	report_end();
	rcu_unregister_thread();

	for (i = 0; i < READERS; i++)
		reader_add(&sum, &readers[i].stats);
	report_begin("writers, copies, snapshots and ends were met");
	report_must_meet("searches that met a writer", vm_events[VMA_SEARCH_RETRY]);
	report_must_meet("VMAs copied without a lock", sum.copied);
	report_must_meet("walks in one generation", sum.snapshots);
	report_must_meet("walks of code in one generation", sum.code);
	report_must_meet("ends of address spaces", sum.over);
	report_end();
	printf("# rounds %lu, system calls %lu, looks that were repeated %lu, sleeps %lu\n", round,
	       calls, vm_events[VMA_SEARCH_RETRY], sleeps);
	reader_print(&sum);
	return 0;
}
