// SPDX-License-Identifier: GPL-2.0
/*
 * The cgroups of a caller with PROCESS_VM_NOWAIT. It is charged for nothing in
 * the other process. A caller that is throttled does not hold the locks of the
 * other process.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cgroup.h"
#include "pvm_harness.h"

#define BYTE		'c'

/* Each of these pages would need a page table of its own. */
#define APART		(2UL << 20)
#define NR_APART	4000
/* The memory that the caller may add: less than the page tables of NR_APART pages. */
#define ROOM		(8UL << 20)
#define MAX_CHARGED	0x100000L

PROCMAP_REQUIRE(cgroup_lacking("memory"))

/* This memory is shared with the caller. */
struct shared {
	pid_t target;
	char *addr;
	bool write;
	bool stop;
	unsigned long calls;
	long ret;
};

static int has_space(struct procmap_child *child, void *arg)
{
	char *addr = mmap(NULL, NR_APART * APART, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return HOLDS(addr != MAP_FAILED) ? procmap_tell(child, (unsigned long)addr) : 1;
}

/* Read 8 bytes of each piece. */
static int follows_hints(struct procmap_child *child, void *arg)
{
	struct shared *shared = arg;
	unsigned long i;

	if (!HOLDS(!procmap_sync(child)))
		return 1;
	for (i = 0; i < NR_APART; i++) {
		__u64 value = 1;

		shared->ret = pvm_copy(false, shared->target, shared->addr + i * APART, &value,
				       sizeof(value), PROCESS_VM_NOWAIT);
		if (!HOLDS(shared->ret == sizeof(value)) || !HOLDS(!value))
			return 1;
		shared->calls++;
	}
	return procmap_tell(child, 0);
}

FIXTURE(caller) {
	struct cgroup cgroup;
	struct procmap_child caller;
	struct procmap_child target;
	struct shared *shared;
};

FIXTURE_SETUP(caller)
{
	__u64 addr;

	self->shared = procmap_share(sizeof(struct shared));
	ASSERT_NE(NULL, self->shared);
	ASSERT_EQ(0, procmap_child_start(&self->target, has_space, NULL));
	ASSERT_EQ(0, procmap_recv(&self->target, &addr));
	self->shared->addr = (char *)(unsigned long)addr;
	self->shared->target = self->target.pid;
	ASSERT_EQ(0, cgroup_make(&self->cgroup, "memory"));
	ASSERT_EQ(0, procmap_child_start(&self->caller, follows_hints, self->shared));
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->caller.pid));
}

FIXTURE_TEARDOWN(caller)
{
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->target));
	EXPECT_EQ(0, cgroup_remove(&self->cgroup));
}

TEST_F(caller, pays_nothing_to_read_untouched_memory)
{
	char limit[32];
	long before, after;

	ASSERT_EQ(0, procmap_send(&self->caller, 0));
	before = cgroup_count(&self->cgroup, "memory.current", NULL);
	ASSERT_LE(0, before);
	snprintf(limit, sizeof(limit), "%lu", before + ROOM);
	ASSERT_EQ(0, cgroup_write(&self->cgroup, "memory.max", limit));
	EXPECT_EQ(0, procmap_sync(&self->caller));
	EXPECT_EQ(NR_APART, self->shared->calls);
	after = cgroup_count(&self->cgroup, "memory.current", NULL);
	TH_LOG("%lu calls: %ld kB charged", self->shared->calls, (after - before) / 1024);
	EXPECT_GT(MAX_CHARGED, after - before);
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom_kill"));
	procmap_send(&self->caller, 0);
	EXPECT_EQ(0, procmap_child_wait(&self->caller));
}

/* A task may run for 5 ms in 100 ms. It is throttled for most of the rest. */
#define QUOTA		"5000 100000"
/* How often the caller is throttled, and how often the target looks at that */
#define THROTTLES	20
#define MAPS		1000
#define PAGES		512
/* The caller and the target share this processor. */
#define CPU		0

/*
 * Make long calls all the time. They copy a byte of each page, so they hold
 * mmap_lock for much of their time.
 */
static int copies_always(struct procmap_child *child, void *arg)
{
	struct shared *shared = arg;
	static char buffer[PAGES];
	struct iovec local = { buffer, PAGES }, remote[PAGES];
	struct pvm_call call = {
		.write = shared->write, .pid = shared->target, .flags = PROCESS_VM_NOWAIT,
		.local = &local, .nr_local = 1, .remote = remote, .nr_remote = PAGES,
	};
	int i;

	for (i = 0; i < PAGES; i++)
		remote[i] = (struct iovec){ shared->addr + i * sysconf(_SC_PAGESIZE), 1 };
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		long ret = pvm_call(&call);

		if (!HOLDS(ret > 0 || ret == -EAGAIN))
			return 1;
		if (ret > 0)
			__atomic_add_fetch(&shared->calls, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static long sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? -1 : usage.ru_nvcsw;
}

/* Map and unmap a page many times. Return how often that slept, or -1. */
static long sleeps_in_mmap(void)
{
	const long before = sleeps();
	int i;

	for (i = 0; i < MAPS; i++) {
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		if (page == MAP_FAILED || munmap(page, 4096))
			return -1;
	}
	return sleeps() - before;
}

FIXTURE(quota) {
	struct cgroup cgroup;
	struct procmap_child caller;
	struct shared *shared;
	const char *lacking;
};

FIXTURE_VARIANT(quota) {
	bool write;
};

FIXTURE_VARIANT_ADD(quota, reads) { .write = false };
FIXTURE_VARIANT_ADD(quota, writes) { .write = true };

FIXTURE_SETUP(quota)
{
	size_t size;

	self->lacking = cgroup_lacking("cpu");
	if (self->lacking)
		return;
	ASSERT_EQ(0, procmap_pin(CPU));
	self->shared = procmap_share(sizeof(struct shared));
	ASSERT_NE(NULL, self->shared);
	self->shared->target = getpid();
	self->shared->write = variant->write;
	size = PAGES * sysconf(_SC_PAGESIZE);
	self->shared->addr = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared->addr);
	/* If the caller had the same pages, its writes would end at them. */
	ASSERT_EQ(0, madvise(self->shared->addr, size, MADV_DONTFORK));
	memset(self->shared->addr, BYTE, size);
	ASSERT_EQ(0, cgroup_make(&self->cgroup, "cpu"));
	ASSERT_EQ(0, cgroup_write(&self->cgroup, "cpu.max", QUOTA));
}

FIXTURE_TEARDOWN(quota)
{
	if (!self->lacking)
		EXPECT_EQ(0, cgroup_remove(&self->cgroup));
}

/*
 * The target runs only while the caller does not. So it finds mmap_lock taken,
 * and sleeps, only if the caller has lost the processor with the lock held.
 */
TEST_F(quota, of_the_caller_does_not_stop_the_target)
{
	long slept, throttles, maps = 0;

	if (self->lacking)
		SKIP(return, "%s", self->lacking);
	ASSERT_EQ(0, procmap_child_start(&self->caller, copies_always, self->shared));
	ASSERT_TRUE(UNTIL(__atomic_load_n(&self->shared->calls, __ATOMIC_RELAXED)));
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->caller.pid));
	do {
		slept = sleeps_in_mmap();
		maps += MAPS;
		throttles = cgroup_count(&self->cgroup, "cpu.stat", "nr_throttled");
	} while (!slept && throttles >= 0 && throttles < THROTTLES);
	TH_LOG("%lu calls, throttled %ld times; %ld times mmap() and munmap(): slept %ld times",
	       self->shared->calls, throttles, maps, slept);
	EXPECT_EQ(0, slept);
	EXPECT_LE(THROTTLES, throttles);
	__atomic_store_n(&self->shared->stop, true, __ATOMIC_RELEASE);
	EXPECT_EQ(0, procmap_child_wait(&self->caller));
}

TEST_HARNESS_MAIN
