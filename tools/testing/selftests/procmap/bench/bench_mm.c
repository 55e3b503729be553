// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of procmap_bench that change an address space. They measure what
 * processes pay that never query one. They run on every kernel.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "bench.h"

#define PAGES(n)	((n) * (size_t)sysconf(_SC_PAGESIZE))
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)
#define RW		(PROT_READ | PROT_WRITE)
#define MANY		100	/* VMAs for one munmap() */
#define GRACE_PERIODS_US	50000	/* several of them, while nothing runs */
#define FAULTS		256	/* pages touched in one operation */

/* Find address space with holes on both sides, so that nothing merges with it. */
static int mm_place(struct bench *b, size_t size)
{
	const size_t hole = PAGES(b->row->apart);
	char *at = mmap(NULL, size + 2 * hole, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED || munmap(at, size + 2 * hole))
		return bench_failed(b, "mmap", -errno);
	b->area = at + hole;
	b->size = size;
	return 0;
}

static int mm_map_at(struct bench *b, char *at, size_t size, int prot)
{
	if (mmap(at, size, prot, ANON | MAP_FIXED, -1, 0) != at)
		return bench_failed(b, "mmap", -errno);
	return 0;
}

static int mm_check(struct bench *b, const char *what, long ret)
{
	return ret < 0 && ret > -4096 ? bench_failed(b, what, ret) : 0;
}

/* Find space for as many pages as the row says, map the first ones, and touch them. */
static int mm_setup(struct bench *b)
{
	const size_t mapped = PAGES(b->row->mapped);
	int err = mm_place(b, PAGES(b->row->pages));
	size_t i;

	b->other = b->area + b->size / 2;
	if (!err && mapped)
		err = mm_map_at(b, b->area, mapped, RW);
	for (i = 0; !err && b->row->flags && i < mapped; i += PAGES(1))
		b->area[i] = 1;
	return err;
}

/* mmap(NULL) places the new VMA below this one. Its protection prevents a merge. */
static int map_setup(struct bench *b)
{
	b->size = PAGES(16);
	b->area = mmap(NULL, b->size, PROT_NONE, ANON, -1, 0);
	return b->area == MAP_FAILED ? bench_failed(b, "mmap", -errno) : 0;
}

static int map_setup_file(struct bench *b)
{
	int err = map_setup(b);

	if (err)
		return err;
	err = bench_make_library();
	if (!err) {
		b->fd = open(bench_library, O_RDONLY | O_CLOEXEC);
		err = b->fd < 0 ? -errno : 0;
	}
	return err ? bench_failed(b, "file to map", err) : 0;
}

static int map_op(struct bench *b, unsigned int i)
{
	const int flags = b->fd < 0 ? ANON : MAP_PRIVATE;
	const int prot = b->fd < 0 ? RW : PROT_READ;
	long at, ret;

	bench_begin(b);
	at = bench_call6(SYS_mmap, 0, b->size, prot, flags, b->fd, 0);
	ret = bench_call3(SYS_munmap, at, b->size, 0);
	bench_end(b);
	return mm_check(b, "mmap", at) ?: mm_check(b, "munmap", ret);
}

static void mm_teardown(struct bench *b)
{
	if (b->area && b->area != MAP_FAILED)
		munmap(b->area, b->size);
	if (b->fd > 0)
		close(b->fd);
}

/* Split into three VMAs, and merge again. */
static int protect_op(struct bench *b, unsigned int i)
{
	const size_t size = b->size / 4;
	long split, merge;

	bench_begin(b);
	split = bench_call3(SYS_mprotect, b->area + size, size, PROT_READ);
	merge = bench_call3(SYS_mprotect, b->area + size, size, RW);
	bench_end(b);
	return mm_check(b, "mprotect", split) ?: mm_check(b, "mprotect", merge);
}

static int grow_op(struct bench *b, unsigned int i)
{
	long grow, shrink;

	bench_begin(b);
	grow = bench_call6(SYS_mremap, b->area, b->size / 2, b->size, 0, 0, 0);
	shrink = bench_call6(SYS_mremap, b->area, b->size, b->size / 2, 0, 0, 0);
	bench_end(b);
	return mm_check(b, "mremap", grow) ?: mm_check(b, "mremap", shrink);
}

static int move_op(struct bench *b, unsigned int i)
{
	const size_t size = b->size / 4;
	char *from = b->area, *to = b->other;
	long ret, back;

	bench_begin(b);
	ret = bench_call6(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0);
	back = bench_call6(SYS_mremap, to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, from, 0);
	bench_end(b);
	return mm_check(b, "mremap", ret) ?: mm_check(b, "mremap", back);
}

static int brk_setup(struct bench *b)
{
	b->other = sbrk(0);
	return 0;
}

static int brk_op(struct bench *b, unsigned int i)
{
	char *top = b->other + PAGES(16);
	long up, down;

	bench_begin(b);
	up = bench_call3(SYS_brk, top, 0, 0);
	down = bench_call3(SYS_brk, b->other, 0, 0);
	bench_end(b);
	if (up != (long)top || down != (long)b->other)
		return bench_failed(b, "brk", -ENOMEM);
	return 0;
}

/* Give this process as many VMAs as the case needs. */
static int fork_setup(struct bench *b)
{
	const size_t page = PAGES(1);
	long have = bench_count_vmas(getpid());
	long more = b->row->vmas - have, i;
	int err = 0;

	if (have < 0 || more < 0)
		return bench_failed(b, "this process has too many mappings", -ERANGE);
	err = mm_place(b, more * page);
	for (i = 0; !err && i < more; i++)
		err = mm_map_at(b, b->area + i * page, page, i % 2 ? PROT_READ : RW);
	if (!err && bench_count_vmas(getpid()) != (long)b->row->vmas)
		err = bench_failed(b, "wrong number of mappings", -ENOTRECOVERABLE);
	return err;
}

static int fork_op(struct bench *b, unsigned int i)
{
	int status = -1;
	long pid, ret;

	bench_begin(b);
	pid = bench_call6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (!pid)
		bench_call3(SYS_exit_group, 0, 0, 0);
	ret = bench_call6(SYS_wait4, pid, &status, 0, 0, 0, 0);
	bench_end(b);
	if (pid < 0 || ret != pid || status)
		return bench_failed(b, "fork", pid < 0 ? pid : -ECHILD);
	return 0;
}

/* Touch each page first: for writing, or for reading (zero page). */
static int fault_op(struct bench *b, unsigned int i)
{
	const size_t page = PAGES(1);
	char *at = b->area, *end = b->area + b->size;
	int err = mm_map_at(b, at, b->size, RW);

	if (err)
		return err;
	bench_begin(b);
	for (; at < end; at += page) {
		if (b->row->flags)
			*at = 1;
		else
			asm volatile("" : : "r"(*at));
		asm volatile("" : : : "memory");
	}
	bench_end(b);
	return munmap(b->area, b->size) ? bench_failed(b, "munmap", -errno) : 0;
}

static int unmap_op(struct bench *b, unsigned int i)
{
	const size_t page = PAGES(1);
	int err = 0;
	long ret, k;

	for (k = 0; !err && k < MANY; k++)
		err = mm_map_at(b, b->area + k * page, page, k % 2 ? PROT_READ : RW);
	if (err)
		return err;
	/* What the last repetition freed after a grace period is gone by then. */
	usleep(GRACE_PERIODS_US);
	bench_begin(b);
	ret = bench_call3(SYS_munmap, b->area, b->size, 0);
	bench_end(b);
	return mm_check(b, "munmap", ret);
}

#define MM(nr, hole)	.setup = mm_setup, .teardown = mm_teardown, .pages = nr, .apart = hole
#define MAP		.op = map_op, .teardown = mm_teardown, .batch = 5000
#define FORK		.setup = fork_setup, .op = fork_op, .teardown = mm_teardown, .apart = 16
#define FAULT		MM(FAULTS, 512), .op = fault_op, .units = FAULTS

const struct bench_row bench_mm_rows[] = {
	{ .name = "mm/mmap-munmap/anon", MAP, .setup = map_setup,
	  .what = "mmap + munmap, 16 pages, private" },
	{ .name = "mm/mmap-munmap/file", MAP, .setup = map_setup_file,
	  .what = "mmap + munmap, 16 pages, file" },
	{ .name = "mm/mprotect/untouched", MM(16, 16), .mapped = 16, .op = protect_op,
	  .batch = 5000, .what = "mprotect, split + merge, no pages" },
	{ .name = "mm/mprotect/touched", MM(16, 16), .mapped = 16, .op = protect_op, .flags = 1,
	  .batch = 5000, .what = "mprotect, split + merge, 16 pages touched" },
	{ .name = "mm/mremap/grow", MM(16, 16), .mapped = 8, .op = grow_op, .batch = 5000,
	  .what = "mremap, grow + shrink in place by 8 pages" },
	{ .name = "mm/mremap/move", MM(64, 16), .mapped = 16, .op = move_op, .batch = 2000,
	  .what = "mremap, there and back, no pages" },
	{ .name = "mm/brk", .setup = brk_setup, .op = brk_op, .batch = 5000,
	  .what = "brk, grow + shrink by 16 pages" },
	{ .name = "mm/fork/20", FORK, .batch = 256, .vmas = 20,
	  .what = "fork + exit + wait, 20 mappings" },
	{ .name = "mm/fork/1000", FORK, .batch = 16, .vmas = 1000,
	  .what = "fork + exit + wait, 1,000 mappings" },
	{ .name = "mm/fault/write", FAULT, .batch = 16, .flags = 1,
	  .what = "first write to a private page, clearing included" },
	{ .name = "mm/fault/read", FAULT, .batch = 64,
	  .what = "first read of a private page (zero page)" },
	{ .name = "mm/munmap/100", MM(MANY, 16), .op = unmap_op, .batch = 128,
	  .what = "munmap of 100 mappings at once" },
	{ }
};
