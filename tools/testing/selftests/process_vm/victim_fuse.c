// SPDX-License-Identifier: GPL-2.0
/* Victims of a FUSE server that does not answer, and of locked pages. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/kernel-page-flags.h>

#include "victim.h"

/* The queue size that the server's do_init() sets. */
#define QUEUE		12
/* These pages are too far apart for one read. */
#define FAR_PAGES	64
#define NR_FAR		48
/* The kernel rarely writes a page back between a store and the next system call. */
#define LOCK_TRIES	1000

/* How the victim uses its page. */
enum { LEAVES_IT, READS_IT, CACHES_IT, CACHES_IT_PRIVATELY, MAPS_IT, WRITES_IT_BACK, QUEUES };

/* The requests to changes_page(). */
enum { END, CHANGE, LOOK };

static void *reads_page(void *arg)
{
	const struct victim *victim = arg;

	__atomic_load_n(victim->addr, __ATOMIC_RELAXED);
	return NULL;
}

/* Ask for other pages until the server's queue is full. Then this thread waits itself. */
static void *fills_queue(void *arg)
{
	struct victim *victim = arg;
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int i;

	procmap_send(&victim->child, syscall(__NR_gettid));
	for (i = 1; i < NR_FAR; i++)
		madvise(victim->addr + i * FAR_PAGES * page, page, MADV_WILLNEED);
	return NULL;
}

/* Bring the page into the page cache, but not into the page table. */
static bool cache_page(char *addr)
{
	return __atomic_load_n(addr, __ATOMIC_RELAXED) == VICTIM_BYTE &&
	       !madvise(addr, sysconf(_SC_PAGESIZE), MADV_DONTNEED) &&
	       !(pvm_pagemap(addr) & PVM_PAGE_PRESENT);
}

/* Bring the page into the page table. It stays clean, and write-protected. */
static bool map_clean_page(char *addr)
{
	return __atomic_load_n(addr, __ATOMIC_RELAXED) == VICTIM_BYTE &&
	       pvm_pagemap(addr) & PVM_PAGE_PRESENT;
}

/*
 * During writeback the page is clean and write-protected. The kernel may start
 * writeback by itself between the fault and the store. Then this thread already
 * waits in the store, and the page is in the right state, too.
 */
static void *writes_back(void *arg)
{
	const struct victim *victim = arg;

	__atomic_store_n(victim->addr, VICTIM_BYTE, __ATOMIC_RELAXED);
	msync(victim->addr, sysconf(_SC_PAGESIZE), MS_SYNC);
	return NULL;
}

static bool map_page(struct victim *victim)
{
	int mode = victim->kind->mode;
	size_t size = mode == QUEUES ? victim->file_size : sysconf(_SC_PAGESIZE);
	char *pair = mode == QUEUES ? NULL : victim_pair();

	victim->addr = victim_map_file(victim, pair, size,
				       mode == CACHES_IT_PRIVATELY ? MAP_PRIVATE : MAP_SHARED);
	if (!victim->addr || madvise(victim->addr, size, MADV_RANDOM))
		return false;
	if (mode == MAPS_IT)
		return map_clean_page(victim->addr);
	return (mode != CACHES_IT && mode != CACHES_IT_PRIVATELY) || cache_page(victim->addr);
}

static int uses_file(struct procmap_child *child, void *arg)
{
	static void *(*const uses[])(void *victim) = {
		[READS_IT] = reads_page,
		[WRITES_IT_BACK] = writes_back,
		[QUEUES] = fills_queue,
	};
	struct victim *victim = arg;
	pthread_t thread;

	victim->child = *child;
	if (!HOLDS(map_page(victim)))
		return 1;
	if (!HOLDS(!procmap_send(child, (unsigned long)victim->addr)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	/* Now the server stalls. */
	if (uses[victim->kind->mode] &&
	    !HOLDS(!pthread_create(&thread, NULL, uses[victim->kind->mode], victim)))
		return 1;
	return HOLDS(!procmap_sync(child)) ? 0 : 1;
}

static int stall(struct victim *victim, unsigned int opcode, unsigned int requests)
{
	int ret = fuse_server_stall(&victim->server, 0, opcode) ?:
		  procmap_send(&victim->child, 0);

	for (; !ret && requests; requests--)
		ret = fuse_server_wait_held(&victim->server, 0, opcode);
	return ret;
}

/*
 * Wait until the thread that fills the queue sleeps. All requests that the queue
 * takes are held, so this is for space in it.
 */
static int wait_for_full_queue(struct victim *victim)
{
	__u64 tid;
	int ret = procmap_recv(&victim->child, &tid);

	if (ret)
		return ret;
	return UNTIL(stall_sleeps_in_call(victim->pid, tid, __NR_madvise)) ? 0 : -EDEADLK;
}

static int start_fuse(struct victim *victim)
{
	bool queues = victim->kind->mode == QUEUES;
	int ret = victim_serve(victim, queues ? NR_FAR * FAR_PAGES : 1,
			       queues ? FUSE_ASYNC_READ : 0);

	/* The kernel may write back by itself as soon as the page is dirty, so stall first. */
	if (!ret && victim->kind->mode == WRITES_IT_BACK)
		ret = fuse_server_stall(&victim->server, 0, FUSE_WRITE);
	if (!ret)
		ret = victim_run(victim, uses_file);
	if (ret)
		return ret;
	switch (victim->kind->mode) {
	case READS_IT:
		return stall(victim, FUSE_READ, 1);
	case QUEUES:
		return stall(victim, FUSE_READ, QUEUE) ?: wait_for_full_queue(victim);
	case WRITES_IT_BACK:
		return stall(victim, FUSE_WRITE, 1);
	default:
		return stall(victim, FUSE_READ, 0);
	}
}

static int release_fuse(struct victim *victim)
{
	return fuse_server_release(&victim->server, 0, victim->kind->mode == WRITES_IT_BACK ?
				   FUSE_WRITE : FUSE_READ);
}

/* The locker has locked the page and waits for its content, which never comes. */
static int lock_page(struct victim *victim)
{
	pid_t locker = fuse_server_lock(&victim->server, 0, 0);

	if (locker < 0)
		return locker;
	return pvm_sleeps_in(locker, locker, "handle_userfault") ? 0 : -EDEADLK;
}

static int start_locked(struct victim *victim)
{
	return victim_serve(victim, 1, 0) ?: victim_run(victim, uses_file) ?:
	       procmap_send(&victim->child, 0) ?: lock_page(victim);
}

static bool is_dirty(const char *addr)
{
	off_t at = (pvm_pagemap(addr) & PVM_PAGE_FRAME) * sizeof(__u64);
	int fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	__u64 flags = 0;

	if (fd < 0 || pread(fd, &flags, sizeof(flags), at) != sizeof(flags))
		flags = 0;
	close(fd);
	return flags & (1 << KPF_DIRTY);
}

/* On request, change the page or not, and tell whether it is dirty. END ends the process. */
static int changes_page(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	__u64 what = CHANGE;

	if (!HOLDS(map_page(victim)) || !HOLDS(!procmap_send(child, (unsigned long)victim->addr)))
		return 1;
	while (!procmap_recv(child, &what) && what != END) {
		if (what == CHANGE)
			__atomic_store_n(victim->addr, VICTIM_BYTE, __ATOMIC_RELAXED);
		if (!HOLDS(!procmap_send(child, is_dirty(victim->addr))))
			return 1;
	}
	return HOLDS(what == END) ? 0 : 1;
}

/* Not in the table of victims: nobody has to wait for it. */
static int start_dirty(struct victim *victim)
{
	return victim_serve(victim, 1, 0) ?: victim_run(victim, changes_page);
}

int victim_dirty_page(struct victim *victim)
{
	return procmap_send(&victim->child, CHANGE) ?: procmap_sync(&victim->child);
}

/* The kernel may write the page back before it is locked. Then the page is clean, so try again. */
static int start_locked_dirty(struct victim *victim)
{
	int ret = start_dirty(victim);
	unsigned int tries = LOCK_TRIES;
	__u64 dirty = false;

	while (!ret && !dirty && tries--) {
		fuse_server_unlock(&victim->server);
		ret = victim_dirty_page(victim) ?: lock_page(victim) ?:
		      procmap_send(&victim->child, LOOK) ?:
		      procmap_recv(&victim->child, &dirty);
	}
	return !ret && !dirty ? -EDEADLK : ret;
}

static int release_locked(struct victim *victim)
{
	return fuse_server_unlock(&victim->server);
}

const struct victim_kind victim_dirty = {
	.start = start_dirty,
	.mode = LEAVES_IT,
};

#define FUSE	.start = start_fuse, .release = release_fuse

const struct victim_kind victim_fuse_page = {
	FUSE,
	.mode = LEAVES_IT,
	ALL_WAIT,
	.prefix = true,
};

const struct victim_kind victim_fuse_cached = {
	FUSE,
	.mode = CACHES_IT,
	.nowait = { 1, -EFAULT },
	.prefix = true,
};

const struct victim_kind victim_fuse_cached_private = {
	FUSE,
	.mode = CACHES_IT_PRIVATELY,
	.nowait = { 1, -EFAULT },
	.prefix = true,
};

const struct victim_kind victim_fuse_clean = {
	FUSE,
	.mode = MAPS_IT,
	.nowait = { 1, -EFAULT },
	.prefix = true,
};

const struct victim_kind victim_fuse_queue = {
	FUSE,
	.mode = QUEUES,
	ALL_WAIT,
};

const struct victim_kind victim_fuse_reading = {
	FUSE,
	.mode = READS_IT,
	ALL_WAIT,
	.prefix = true,
};

#define LOCKED_PAGE	.start = start_locked, .release = release_locked

const struct victim_kind victim_locked_unmapped = {
	LOCKED_PAGE,
	.mode = CACHES_IT,
	.nowait = { 1, -EFAULT },
	.waits = { true, true },
	.prefix = true,
};

const struct victim_kind victim_locked_private = {
	LOCKED_PAGE,
	.mode = CACHES_IT_PRIVATELY,
	.nowait = { 1, -EFAULT },
	.waits = { true, true },
	.prefix = true,
};

/* A read needs no page lock. A write must mark the page dirty under its lock. */
const struct victim_kind victim_locked_mapped = {
	.start = start_locked_dirty,
	.release = release_locked,
	.mode = LEAVES_IT,
	.nowait = { 1, -EFAULT },
	.prefix = true,
};

const struct victim_kind victim_writeback = {
	FUSE,
	.mode = WRITES_IT_BACK,
	.nowait = { 1, -EFAULT },
	.waits = { false, true },
	.prefix = true,
};
