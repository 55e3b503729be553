// SPDX-License-Identifier: GPL-2.0
/*
 * One worker faults in the pages that NOWAIT writes need. Users take turns for
 * it: a user with many processes does not keep others waiting.
 *
 * The result is a number of turns. It is exact on a machine with one CPU. With
 * virtual CPUs it is as good as the host.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pvm_harness.h"

#define NR_FLOOD	16
#define NR_CALLS	50
#define BYTE		'e'

/* All processes share this memory. */
struct shared {
	unsigned long calls;
	unsigned long made;
	unsigned long ended[NR_CALLS];
	__u64 worst_ns;
};

static char *untouched_page(void)
{
	char *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* This write needs a fault, which the worker handles. */
static bool write_untouched(char *page)
{
	const char byte = BYTE;
	long ret = pvm_copy(true, getpid(), page, &byte, 1, PROCESS_VM_NOWAIT);

	madvise(page, sysconf(_SC_PAGESIZE), MADV_DONTNEED);
	return HOLDS(ret == 1 || ret == -EAGAIN);
}

/*
 * All callers run before the worker does, so the worker finds all of them
 * waiting. So the worker decides which one is next, not the scheduler.
 */
static bool run_before_the_worker(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	return HOLDS(!sched_setscheduler(0, SCHED_FIFO, &param));
}

/* This runs as the other user and counts its calls. */
static int floods(struct procmap_child *child, void *arg)
{
	struct shared *shared = arg;
	char *page = untouched_page();

	if (!HOLDS(page) || !run_before_the_worker() || !HOLDS(!procmap_drop_root()))
		return 1;
	while (write_untouched(page))
		__atomic_add_fetch(&shared->calls, 1, __ATOMIC_RELAXED);
	return 1;
}

/* During each own call, count how many calls of the others end. */
static int asks(struct procmap_child *child, void *arg)
{
	struct shared *shared = arg;
	char *page = untouched_page();
	unsigned long before;
	__u64 start, ns;

	if (!HOLDS(page) || !run_before_the_worker())
		return 1;
	while (shared->made < NR_CALLS) {
		before = __atomic_load_n(&shared->calls, __ATOMIC_RELAXED);
		start = pvm_now();
		if (!write_untouched(page))
			return 1;
		ns = pvm_now() - start;
		shared->ended[shared->made++] = __atomic_load_n(&shared->calls, __ATOMIC_RELAXED) -
						before;
		shared->worst_ns = ns > shared->worst_ns ? ns : shared->worst_ns;
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

FIXTURE(turns) {
	struct shared *shared;
	struct procmap_child flood[2 * NR_FLOOD];
};

FIXTURE_VARIANT(turns) {
	unsigned int nr;
};

FIXTURE_VARIANT_ADD(turns, some) {
	.nr = NR_FLOOD,
};

FIXTURE_VARIANT_ADD(turns, twice_as_many) {
	.nr = 2 * NR_FLOOD,
};

FIXTURE_SETUP(turns)
{
	unsigned int i;

	if (geteuid())
		return;
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->shared);
	for (i = 0; i < variant->nr; i++)
		ASSERT_EQ(0, procmap_child_start(&self->flood[i], floods, self->shared));
	while (__atomic_load_n(&self->shared->calls, __ATOMIC_RELAXED) < 4 * variant->nr)
		usleep(1000);
}

FIXTURE_TEARDOWN(turns)
{
	unsigned int i;

	for (i = 0; !geteuid() && i < variant->nr; i++)
		EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->flood[i]));
}

/*
 * In order of arrival, each process of the other user would have a turn first.
 */
TEST_F_TIMEOUT(turns, a_user_who_floods_the_worker_has_one_of_two, 120)
{
	struct shared *shared = self->shared;
	struct procmap_child child;
	unsigned long median;

	if (geteuid())
		SKIP(return, "%s: to be two users needs root", _metadata->name);
	ASSERT_EQ(0, procmap_child_start(&child, asks, shared));
	ASSERT_EQ(0, procmap_child_wait(&child));
	ASSERT_EQ(NR_CALLS, shared->made);
	qsort(shared->ended, NR_CALLS, sizeof(*shared->ended), by_size);
	median = shared->ended[NR_CALLS / 2];
	TH_LOG("%u processes flood: %lu of their calls beside one, %lu at most, %llu us at most",
	       variant->nr, median, shared->ended[NR_CALLS - 1], shared->worst_ns / 1000);
	EXPECT_LE(1, median);
	EXPECT_GE(variant->nr / 4, median);
}

TEST_HARNESS_MAIN
