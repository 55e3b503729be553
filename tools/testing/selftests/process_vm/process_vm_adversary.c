// SPDX-License-Identifier: GPL-2.0
/*
 * What a profiler meets all the time: a process that changes its address space
 * without a rest, processes that come and go. Each call with PROCESS_VM_NOWAIT
 * must return, with a result that is legal at that moment.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pvm_harness.h"
#include "victim.h"

#define CALLS		4000
#define NR_MORTAL_PAGES	2048

/* Progress of the calling process, in memory that it shares with the test. */
struct progress {
	unsigned int calls;
	unsigned int at;
	unsigned int wrong;
	long ret;
};

enum { CHANGING, MORTAL, NR_OTHERS };

struct other {
	struct procmap_child child;
	char *addr;
	pid_t *pid;
};

FIXTURE(adversaries) {
	struct other other[NR_OTHERS];
	struct procmap_child caller;
	struct progress *progress;
};

/* Take mmap_lock for writing all the time. */
static int changes(struct procmap_child *child, void *arg)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *addr = victim_pair() - page;

	if (!HOLDS(!procmap_send(child, (unsigned long)addr)))
		return 1;
	for (;;)
		munmap(mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), page);
}

static void lives_shortly(char *addr)
{
	size_t page = sysconf(_SC_PAGESIZE), i;

	for (i = 0; i < NR_MORTAL_PAGES; i++)
		addr[i * page] = VICTIM_BYTE;
	_exit(0);
}

/* Fork one child after the other, and tell the test their PIDs. */
static int has_mortal_children(struct procmap_child *child, void *arg)
{
	const struct other *other = arg;
	char *addr = mmap(NULL, NR_MORTAL_PAGES * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (!HOLDS(addr != MAP_FAILED) || !HOLDS(!procmap_send(child, (unsigned long)addr)))
		return 1;
	addr[0] = VICTIM_BYTE;
	for (;;) {
		pid = fork();
		if (!pid)
			lives_shortly(addr);
		if (pid < 0)
			return 1;
		__atomic_store_n(other->pid, pid, __ATOMIC_RELAXED);
		waitpid(pid, NULL, 0);
	}
}

static int start_other(struct other *other, int (*fn)(struct procmap_child *child, void *arg))
{
	__u64 addr;
	int ret;

	other->pid = procmap_share(sizeof(*other->pid));
	if (!other->pid)
		return -ENOMEM;
	ret = procmap_child_start(&other->child, fn, other);
	if (!ret)
		ret = procmap_recv(&other->child, &addr);
	if (fn != has_mortal_children)
		*other->pid = other->child.pid;
	other->addr = (char *)(unsigned long)addr;
	return ret;
}

FIXTURE_SETUP(adversaries)
{
	self->progress = procmap_share(sizeof(*self->progress));
	ASSERT_NE(NULL, self->progress);
	ASSERT_EQ(0, start_other(&self->other[CHANGING], changes));
	ASSERT_EQ(0, start_other(&self->other[MORTAL], has_mortal_children));
}

FIXTURE_TEARDOWN(adversaries)
{
	unsigned int i;

	for (i = 0; i < NR_OTHERS; i++)
		procmap_child_kill(&self->other[i].child);
}

static void note(struct progress *progress)
{
	__atomic_store_n(&progress->calls, progress->calls + 1, __ATOMIC_RELEASE);
}

/* Make one call. Returns whether its result is right. */
static bool call_other(const struct other *other, int which, bool write, struct progress *progress)
{
	char byte = VICTIM_BYTE;
	pid_t pid = __atomic_load_n(other->pid, __ATOMIC_RELAXED);
	long ret = pvm_copy(write, pid, other->addr, &byte, 1, PROCESS_VM_NOWAIT);

	note(progress);
	progress->ret = ret;
	if (ret == 1)
		return byte == VICTIM_BYTE;
	/* A write must not copy the page that the child still shares with its parent. */
	if (which == MORTAL && write && ret == -EFAULT)
		return true;
	/* The PID is 0 before the first child exists. */
	return ret == -EAGAIN || (which == MORTAL && ret == -ESRCH);
}

static int calls_others(struct procmap_child *child, void *arg)
{
	const FIXTURE_DATA(adversaries) * self = arg;
	struct progress *progress = self->progress;
	unsigned int i;

	for (progress->at = 0; progress->at < NR_OTHERS; progress->at++) {
		for (i = 0; i < 2 * CALLS; i++) {
			if (!call_other(&self->other[progress->at], progress->at, i & 1,
					progress)) {
				progress->wrong++;
				return 1;
			}
		}
	}
	return 0;
}

/* Wait until the caller ends. Each call must return in time. */
static bool gets_on(const struct procmap_child *caller, const struct progress *progress)
{
	unsigned int before;

	do {
		before = __atomic_load_n(&progress->calls, __ATOMIC_ACQUIRE);
		if (stall_comes(caller))
			return true;
	} while (__atomic_load_n(&progress->calls, __ATOMIC_ACQUIRE) != before);
	return false;
}

TEST_F(adversaries, all_NOWAIT_calls_return)
{
	static const char * const names[] = { "changing", "mortal" };
	struct progress *progress = self->progress;

	ASSERT_EQ(0, procmap_child_start(&self->caller, calls_others, self));
	ASSERT_TRUE(gets_on(&self->caller, progress)) {
		TH_LOG("stuck: %s process", names[progress->at]);
	}
	ASSERT_EQ(0, procmap_child_wait(&self->caller)) {
		TH_LOG("%s process: returned %ld", names[progress->at], progress->ret);
	}
	EXPECT_EQ(2 * CALLS * NR_OTHERS, progress->calls);
}

TEST_HARNESS_MAIN
