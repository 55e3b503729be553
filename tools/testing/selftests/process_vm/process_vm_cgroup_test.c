// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that the other process has to be charged for, in a memory cgroup that
 * has no more: with PROCESS_VM_NOWAIT nothing is reclaimed for it, and nobody
 * killed.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../procmap/cgroup.h"
#include "pvm_harness.h"

/* Each processor may have charged some for a cgroup beforehand: in all less than MAX_AHEAD. */
#define NR_PAGES	2048
#define MAX_AHEAD	1024
#define BYTE		'c'

static void __attribute__((constructor)) cgroup_require(void)
{
	const char *lacking = cgroup_lacking("memory");

	if (lacking)
		ksft_exit_skip("%s\n", lacking);
}

FIXTURE(memcg) {
	struct cgroup cgroup;
	struct procmap_child target;
	char *addr;
};

/* One page that it has used, and others that it has not. */
static int has_memory(struct procmap_child *child, void *arg)
{
	size_t size = NR_PAGES * sysconf(_SC_PAGESIZE);
	char *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!HOLDS(addr != MAP_FAILED) || !HOLDS(!procmap_sync(child)))
		return 1;
	madvise(addr, size, MADV_NOHUGEPAGE);
	*addr = BYTE;
	if (!HOLDS(!procmap_send(child, (unsigned long)addr)))
		return 1;
	for (;;)
		pause();
}

FIXTURE_SETUP(memcg)
{
	__u64 addr;

	ASSERT_EQ(0, cgroup_make(&self->cgroup, "memory"));
	ASSERT_EQ(0, procmap_child_start(&self->target, has_memory, NULL));
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->target.pid));
	ASSERT_EQ(0, procmap_send(&self->target, 0));
	ASSERT_EQ(0, procmap_recv(&self->target, &addr));
	self->addr = (char *)(unsigned long)addr;
}

FIXTURE_TEARDOWN(memcg)
{
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->target));
	EXPECT_EQ(0, cgroup_remove(&self->cgroup));
}

/* From now on it has as much as it may have. */
static int limit(const struct cgroup *cgroup, const char *file)
{
	char text[32];
	ssize_t len = cgroup_read(cgroup, "memory.current", text, sizeof(text));

	return len < 0 ? len : cgroup_write(cgroup, file, text);
}

static long write_page(FIXTURE_DATA(memcg) * self, unsigned int page, unsigned long flags)
{
	const char byte = BYTE;

	return pvm_copy(true, self->target.pid, self->addr + page * sysconf(_SC_PAGESIZE), &byte,
			1, flags);
}

/* How many of the unused pages could be written to; *ret: what the last call returned */
static unsigned int write_pages(FIXTURE_DATA(memcg) * self, long *ret)
{
	unsigned int page;

	for (page = 1; page < NR_PAGES; page++) {
		*ret = write_page(self, page, PROCESS_VM_NOWAIT);
		if (*ret != 1)
			break;
	}
	return page - 1;
}

TEST_F_TIMEOUT(memcg, NOWAIT_ends_at_the_limit_of_the_other_process, 120)
{
	unsigned int nr;
	char byte = 0;
	long ret;

	ASSERT_EQ(0, limit(&self->cgroup, "memory.max"));
	nr = write_pages(self, &ret);
	EXPECT_EQ(-EFAULT, ret);
	EXPECT_GT(MAX_AHEAD, nr);
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom"));
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom_kill"));

	/* It still is what it was, and what there is can be had. */
	EXPECT_EQ(1, pvm_copy(false, self->target.pid, self->addr, &byte, 1, PROCESS_VM_NOWAIT));
	EXPECT_EQ(BYTE, byte);
	EXPECT_EQ(1, write_page(self, 0, PROCESS_VM_NOWAIT));
	ASSERT_EQ(0, cgroup_write(&self->cgroup, "memory.max", "max"));
	EXPECT_EQ(1, write_page(self, nr + 1, PROCESS_VM_NOWAIT));
}

/* Who is over memory.high is slowed down, by up to two seconds for every 64 pages. */
TEST_F_TIMEOUT(memcg, NOWAIT_is_not_slowed_down_above_the_high_limit, 240)
{
	long ret;
	__u64 ns;

	ASSERT_EQ(0, limit(&self->cgroup, "memory.high"));
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, 0));
	ns = pvm_now();
	EXPECT_EQ(NR_PAGES - 1, write_pages(self, &ret));
	ns = pvm_now() - ns;
	EXPECT_EQ(0, cgroup_leave(&self->cgroup, 0));
	EXPECT_EQ(1, ret);
	EXPECT_GT(PVM_SOON_MS * 1000000ULL, ns);
	EXPECT_LT(0, cgroup_count(&self->cgroup, "memory.events", "high"));
}

TEST_HARNESS_MAIN
