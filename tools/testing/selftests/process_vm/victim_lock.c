// SPDX-License-Identifier: GPL-2.0
/* Victims whose address space stays locked by another task. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "victim.h"

#define STACK_SIZE	65536

/* Does a writer queue for mmap_lock? */
enum { QUEUED, NOT_QUEUED };

/* Return a present page: its access itself waits for nothing. */
static char *touched_page(void)
{
	char *addr = victim_pair();

	if (addr)
		memset(addr, VICTIM_BYTE, sysconf(_SC_PAGESIZE));
	return addr;
}

static bool wait_for_go(const struct victim *victim)
{
	char byte;

	return read(victim->go[0], &byte, 1) == 1;
}

static int let_go(const struct victim *victim)
{
	return write(victim->go[1], "", 1) == 1 ? 0 : -errno;
}

static char *map_file(struct victim *victim)
{
	return victim_map_file(victim, NULL, sysconf(_SC_PAGESIZE), MAP_SHARED);
}

/*
 * Map over the file, with mmap_lock held for writing. To close the old mapping,
 * the kernel waits until the inode is written.
 */
static bool map_over(char *map)
{
	return HOLDS(mmap(map, sysconf(_SC_PAGESIZE), PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == map);
}

static int unmaps(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	char *addr = touched_page();
	char *map = map_file(victim);

	if (!HOLDS(addr) || !HOLDS(map) || !HOLDS(!procmap_send(child, (unsigned long)addr)) ||
	    !HOLDS(wait_for_go(victim)) || !map_over(map))
		return 1;
	return HOLDS(!procmap_sync(child)) ? 0 : 1;
}

/* The process goes on to close the mapping, which waits for the server. */
static int go_to_close(struct victim *victim)
{
	return fuse_server_hold_inode(&victim->server, 0) ?: let_go(victim);
}

/* Wait until the process waits for the inode to be written. */
static int stop_at_close(struct victim *victim)
{
	pid_t pid = victim->child.pid;
	int ret = go_to_close(victim);

	if (ret)
		return ret;
	return pvm_sleeps_in(pid, pid, "writeback") ? 0 : -EDEADLK;
}

static int release_close(struct victim *victim)
{
	return fuse_server_release(&victim->server, 0, FUSE_SETATTR);
}

static int start_mmap_written(struct victim *victim)
{
	return victim_serve(victim, 1, 0) ?: victim_run(victim, unmaps) ?: stop_at_close(victim);
}

const struct victim_kind victim_mmap_written = {
	.start = start_mmap_written,
	.release = release_close,
	LOCKED,
};

struct queuer {
	struct victim *victim;
	char *spare;
	pid_t tid;
};

static void *queues_for_writing(void *arg)
{
	struct queuer *queuer = arg;

	__atomic_store_n(&queuer->tid, syscall(__NR_gettid), __ATOMIC_RELEASE);
	if (wait_for_go(queuer->victim))
		munmap(queuer->spare, sysconf(_SC_PAGESIZE));
	return NULL;
}

/* Read own memory as debuggers do: this fault never drops mmap_lock. */
static bool read_mem(const char *addr)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	return fd >= 0 && pread(fd, &byte, 1, (unsigned long)addr) == 1 && byte == VICTIM_BYTE;
}

/* Hold mmap_lock for reading, while another thread may want it for writing. */
static int faults_and_queues(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	struct queuer queuer = { .victim = victim };
	char *addr = touched_page();
	char *map = map_file(victim);
	pthread_t thread;
	pid_t tid;

	queuer.spare = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	if (!HOLDS(addr) || !HOLDS(map) || !HOLDS(queuer.spare != MAP_FAILED) ||
	    !HOLDS(!pthread_create(&thread, NULL, queues_for_writing, &queuer)))
		return 1;
	do {
		tid = __atomic_load_n(&queuer.tid, __ATOMIC_ACQUIRE);
	} while (!tid);
	if (!HOLDS(!procmap_send(child, (unsigned long)addr)) ||
	    !HOLDS(!procmap_send(child, tid)) || !HOLDS(!procmap_sync(child)) ||
	    !HOLDS(read_mem(map)))
		return 1;
	return HOLDS(!procmap_sync(child)) ? 0 : 1;
}

static int start_mmap_queued(struct victim *victim)
{
	__u64 tid;
	int ret = victim_serve(victim, 1, 0) ?:
		  victim_run(victim, faults_and_queues) ?:
		  procmap_recv(&victim->child, &tid) ?:
		  fuse_server_stall(&victim->server, 0, FUSE_READ) ?:
		  procmap_send(&victim->child, 0) ?:
		  fuse_server_wait_held(&victim->server, 0, FUSE_READ);

	if (!ret && victim->kind->mode == QUEUED)
		ret = let_go(victim);
	if (ret || victim->kind->mode == NOT_QUEUED)
		return ret;
	return UNTIL(stall_sleeps_in_call(victim->pid, tid, __NR_munmap)) ? 0 : -EDEADLK;
}

static int release_read(struct victim *victim)
{
	return fuse_server_release(&victim->server, 0, FUSE_READ);
}

const struct victim_kind victim_mmap_queued = {
	.start = start_mmap_queued,
	.release = release_read,
	.mode = QUEUED,
	LOCKED,
};

const struct victim_kind victim_mmap_read = {
	.start = start_mmap_queued,
	.release = release_read,
	.mode = NOT_QUEUED,
	.nowait = { 1, 1 },
};

static int reads_personality(struct procmap_child *child, void *arg)
{
	const pid_t *pid = arg;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/personality", *pid);
	while (procmap_value(path, NULL) >= 0)
		;
	return 1;
}

/*
 * Wait until a process has its exec lock. A reader of its personality file
 * sleeps for nothing but this lock, and takes nothing of its address space,
 * which is about to end. The other files of a sleeping thread need the lock, too.
 */
static bool comes_to_exec(pid_t pid)
{
	struct procmap_child reader;
	bool sleeps;

	if (procmap_child_start(&reader, reads_personality, &pid))
		return false;
	sleeps = UNTIL(stall_sleeps_in_call(reader.pid, reader.pid, __NR_read));
	return procmap_child_kill(&reader) == 256 + SIGKILL && sleeps;
}

/*
 * Execute another program. The end of the old address space closes the mapping.
 * At that time the exec lock is held, but no mmap_lock.
 */
static int executes(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	char *addr = touched_page();

	if (!HOLDS(addr) || !HOLDS(map_file(victim)) ||
	    !HOLDS(!procmap_send(child, (unsigned long)addr)) || !HOLDS(wait_for_go(victim)))
		return 1;
	return HOLDS(!procmap_exec(child, "process_vm_target"));
}

static int start_exec(struct victim *victim)
{
	int ret = victim_serve(victim, 1, 0) ?: victim_run(victim, executes) ?:
		  go_to_close(victim);

	if (ret)
		return ret;
	return comes_to_exec(victim->pid) ? 0 : -EDEADLK;
}

const struct victim_kind victim_exec = {
	.start = start_exec,
	.release = release_close,
	LOCKED,
	.replaced = true,
};

/*
 * This shares the address space whose mmap_lock is held for writing. Its exec
 * waits for the lock, too.
 */
static int executes_sharing(void *arg)
{
	struct procmap_child *child = arg;
	char byte;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || recv(child->sock, &byte, 1, 0) < 0)
		_exit(1);
	procmap_exec(child, "process_vm_target");
	_exit(1);
}

static int unmaps_beside_exec(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	struct procmap_child sharing = { .sock = child->sock };
	char *stack = malloc(STACK_SIZE);
	char *addr = touched_page();
	char *map = map_file(victim);

	/* A page fault of the other process would wait for mmap_lock before its exec does. */
	if (!HOLDS(addr) || !HOLDS(map) || !HOLDS(stack) || !HOLDS(!mlockall(MCL_CURRENT)))
		return 1;
	sharing.pid = clone(executes_sharing, stack + STACK_SIZE, CLONE_VM | SIGCHLD, &sharing);
	if (!HOLDS(sharing.pid > 0) || !HOLDS(!procmap_send(child, (unsigned long)addr)) ||
	    !HOLDS(!procmap_send(child, sharing.pid)) || !HOLDS(wait_for_go(victim)) ||
	    !map_over(map))
		return 1;
	for (;;)
		pause();
}

static int start_exec_old_mm(struct victim *victim)
{
	__u64 pid = 0;
	int ret = victim_serve(victim, 1, 0) ?:
		  victim_run(victim, unmaps_beside_exec) ?:
		  procmap_recv(&victim->child, &pid) ?:
		  stop_at_close(victim) ?:
		  procmap_send(&victim->child, 0);

	victim->pid = pid;
	if (ret)
		return ret;
	return comes_to_exec(pid) ? 0 : -EDEADLK;
}

const struct victim_kind victim_exec_old_mm = {
	.start = start_exec_old_mm,
	.release = release_close,
	LOCKED,
	.replaced = true,
};
