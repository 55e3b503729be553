// SPDX-License-Identifier: GPL-2.0
/* A victim whose page is on a swap device that does not answer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <unistd.h>

#include "victim.h"

#define SWAP_PAGES	64
#define SWAPPED		.start = start_swapped, .release = release_swapped, .prefix = true

/* Where the page is at the end. */
enum { ON_DEVICE, IN_SWAP_CACHE };

/* Write as much of the first page of a swap area as the kernel reads. */
static int write_swap_header(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char header[page];
	__u32 info[2] = { 1, SWAP_PAGES - 1 };

	memset(header, 0, page);
	memcpy(header + 1024, info, sizeof(info));
	memcpy(header + page - 10, "SWAPSPACE2", 10);
	return pwrite(fd, header, page, 0) == page ? 0 : -EIO;
}

/* Is the page unmapped, and in the swap cache or not as @where says? */
static bool is_out(char *addr, int where)
{
	unsigned char in_cache;

	return pvm_pagemap(addr) & PVM_PAGE_SWAPPED &&
	       !mincore(addr, sysconf(_SC_PAGESIZE), &in_cache) &&
	       (in_cache & 1) == (where == IN_SWAP_CACHE);
}

/*
 * Page out on each CPU, because the call first empties only this CPU's batch of
 * pages that are not yet on the LRU lists.
 */
static bool page_out(char *addr)
{
	long cpu, nr = sysconf(_SC_NPROCESSORS_CONF);

	for (cpu = 0; cpu < nr; cpu++) {
		int ret = procmap_pin(cpu);

		if (ret && ret != -EINVAL)
			return false;
		if (madvise(addr, sysconf(_SC_PAGESIZE), MADV_PAGEOUT))
			return false;
	}
	return true;
}

/*
 * A page stays in the swap cache after it has been written out. A read maps it
 * from there. It is clean then, so the next pageout drops it at once.
 */
static int swaps_out(struct procmap_child *child, void *arg)
{
	const struct victim *victim = arg;
	int where = victim->kind->mode;
	unsigned int looks = 0;
	char *addr = victim_pair();

	if (!HOLDS(addr))
		return 1;
	memset(addr, VICTIM_BYTE, sysconf(_SC_PAGESIZE));
	for (;;) {
		if (!HOLDS(page_out(addr)))
			return 1;
		if (is_out(addr, where) || !procmap_look_again(&looks))
			break;
		__atomic_load_n(addr, __ATOMIC_RELAXED);
	}
	return HOLDS(is_out(addr, where)) ? procmap_tell(child, (unsigned long)addr) : 1;
}

/* Is nothing of the file in the page cache? */
static bool is_forgotten(const struct victim *victim)
{
	void *map = mmap(NULL, victim->file_size, PROT_READ, MAP_SHARED, victim->file, 0);
	int nr = procmap_cached_pages(map, victim->file_size);

	return map != MAP_FAILED && !munmap(map, victim->file_size) && !nr;
}

/*
 * The page cache of the file holds what the loop device wrote. Drop it, so that
 * the next access reads from the server.
 */
static int forget_file(struct victim *victim)
{
	return UNTIL(!fsync(victim->file) &&
		     !posix_fadvise(victim->file, 0, 0, POSIX_FADV_DONTNEED) &&
		     is_forgotten(victim)) ? 0 : -EDEADLK;
}

static int start_swapped(struct victim *victim)
{
	int ret = victim_serve(victim, SWAP_PAGES, 0);

	if (ret)
		return ret;
	victim->file = fuse_server_open(&victim->server, 0, O_RDWR);
	if (victim->file < 0)
		return victim->file;
	ret = write_swap_header(victim->file);
	if (ret)
		return ret;
	victim->loop = procmap_loop(victim->file, victim->loop_path, sizeof(victim->loop_path));
	if (victim->loop < 0)
		return victim->loop;
	if (swapon(victim->loop_path, 0))
		return -errno;
	victim->swap_on = true;
	return victim_run(victim, swaps_out) ?: forget_file(victim) ?:
	       fuse_server_stall(&victim->server, 0, FUSE_READ);
}

static int release_swapped(struct victim *victim)
{
	return fuse_server_release(&victim->server, 0, FUSE_READ);
}

const struct victim_kind victim_swapped = {
	SWAPPED,
	.mode = ON_DEVICE,
	ALL_WAIT,
};

const struct victim_kind victim_swap_cached = {
	SWAPPED,
	.mode = IN_SWAP_CACHE,
	.nowait = { 1, -EFAULT },
};

void victim_swap_off(struct victim *victim)
{
	if (victim->swap_on && swapoff(victim->loop_path))
		perror("# swapoff");
	victim->swap_on = false;
	close(victim->loop);
	victim->loop = -1;
}
