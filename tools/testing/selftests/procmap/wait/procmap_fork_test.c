// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of a process that forks all the time. A fork of many VMAs holds
 * mmap_lock for long, and changes none of them: no query sleeps until it ends,
 * and the generations stand still.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmap_harness.h"
#include "scan.h"
#include "stall.h"

#define NR_VMAS	10000
#define FORKS	20

PROCMAP_REQUIRE(stall_has_vma_locks() ? NULL :
		"kernel without per-VMA locks (CONFIG_VMA_SEARCH)")

FIXTURE(fork) {
	struct procmap_child child;
	unsigned long *forks;
	int maps;
};

/**
 * struct forker - the process that forks
 * @vmas: how many VMAs it maps more
 * @forks: counts its forks, in shared memory
 */
struct forker {
	unsigned int vmas;
	unsigned long *forks;
};

static int forks(struct procmap_child *child, void *arg)
{
	struct forker *forker = arg;
	int status;
	pid_t pid;

	if (stall_maps_many(child, &forker->vmas))
		return 1;
	for (;;) {
		pid = fork();
		if (!pid)
			_exit(0);
		if (!HOLDS(pid > 0) || !HOLDS(waitpid(pid, &status, 0) == pid) || !HOLDS(!status))
			return 1;
		__atomic_add_fetch(forker->forks, 1, __ATOMIC_RELAXED);
	}
}

static bool has_forked(const struct _test_data_fork *self, unsigned long times)
{
	return __atomic_load_n(self->forks, __ATOMIC_RELAXED) >= times;
}

/* The target dies with the test. It forks when this returns. */
FIXTURE_SETUP(fork)
{
	struct forker forker = { .vmas = stall_vmas(NR_VMAS) };

	self->forks = procmap_share(sizeof(*self->forks));
	ASSERT_NE(NULL, self->forks);
	forker.forks = self->forks;
	self->maps = procmap_child_open(&self->child, forks, &forker, NULL);
	ASSERT_LE(0, self->maps);
	ASSERT_EQ(0, procmap_send(&self->child, 0));
	ASSERT_TRUE(UNTIL(has_forked(self, 1)));
}

FIXTURE_TEARDOWN(fork)
{
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->child));
	close(self->maps);
}

/* How often the caller has slept. */
static long sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? -errno : usage.ru_nvcsw;
}

/* Query one VMA after the other, all over again. Returns 0 or -errno. */
static int query_next(int maps, __u64 *addr)
{
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
		.query_addr = *addr,
	};
	int ret = procmap_ioctl(maps, &q);

	*addr = ret ? 0 : q.vma_end;
	return ret == -ENOENT ? 0 : ret;
}

TEST_F(fork, no_query_waits_for_it)
{
	const long before = sleeps();
	unsigned long nr = 0;
	__u64 addr = 0;
	int ret = 0;

	while (!ret && !has_forked(self, 1 + FORKS)) {
		ret = query_next(self->maps, &addr);
		nr++;
	}
	fprintf(stderr, "# %lu queries slept %ld times\n", nr, sleeps() - before);
	EXPECT_EQ(0, ret);
	/* Each fork would have put a query to sleep. */
	EXPECT_GT(FORKS / 2, sleeps() - before);
}

TEST_F(fork, the_generations_stand_still)
{
	struct procmap_scan before = {
		.size = sizeof(before),
		.record_size = sizeof(struct procmap_record),
	};
	struct procmap_scan after = before;

	ASSERT_EQ(0, scan_ioctl(self->maps, &before));
	ASSERT_TRUE(UNTIL(has_forked(self, 1 + FORKS)));
	ASSERT_EQ(0, scan_ioctl(self->maps, &after));
	EXPECT_LT(0, before.code_generation);
	EXPECT_EQ(before.code_generation, after.code_generation);
	EXPECT_EQ(before.generation, after.generation);
}

TEST_HARNESS_MAIN
