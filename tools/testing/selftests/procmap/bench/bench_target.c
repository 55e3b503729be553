// SPDX-License-Identifier: GPL-2.0
/* Processes with a given number of VMAs, for procmap_bench to query. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "bench.h"
#include "procmap_zoo.h"

#define TARGET_FILE_EVERY	8	/* one mixed VMA in so many maps a file */
#define TARGET_CODE_EVERY	104	/* one in so many maps code: 1 %, a multiple of those */
#define TARGET_HOLE_EVERY	16	/* one in so many is followed by a hole */
#define TARGET_FILES		2	/* different files that VMAs map */
#define TARGET_FILE_VMAS	5	/* VMAs in a row that a library has */
#define TARGET_SPARE		1000	/* VMAs below vm.max_map_count to keep free */
#define TARGET_GUARD		0x100000ul

struct bench_shared *bench_shared;

static __u64 target_word;

/* Returns the file that a VMA of the area maps, or -1. */
static int target_file(const struct bench_target *t, unsigned long i, const int *files)
{
	if (t->layout == BENCH_LIBRARIES)
		return files[i / TARGET_FILE_VMAS % TARGET_FILES];
	return t->layout == BENCH_MIXED && i % TARGET_FILE_EVERY == 0 ? files[0] : -1;
}

/* Map one VMA of the area. Neighbours always differ in protection. */
static int target_map_one(const struct bench_target *t, unsigned long i, const int *files)
{
	int prot = i % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
	int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
	unsigned long page = sysconf(_SC_PAGESIZE);
	unsigned long size = t->stride;
	void *at = (void *)(t->area + i * t->stride);
	int file = target_file(t, i, files);
	off_t offset = 0;

	if (t->layout == BENCH_HOLES ||
	    (t->layout == BENCH_MIXED && i % TARGET_HOLE_EVERY == TARGET_HOLE_EVERY - 1))
		size = page;
	if (t->layout == BENCH_MIXED && i % TARGET_CODE_EVERY == 0)
		prot = PROT_READ | PROT_EXEC;
	if (t->layout == BENCH_LIBRARIES)
		offset = i % TARGET_FILE_VMAS * size;
	if (file < 0)
		flags |= MAP_ANONYMOUS;
	return mmap(at, size, prot, flags, file, offset) == at ? 0 : -errno;
}

/* In the child: map t->vmas VMAs, the library above them, and space for the storm. */
static int target_fill(struct bench_target *t, const int *files, const struct stat *st)
{
	unsigned long page = sysconf(_SC_PAGESIZE);
	long others = bench_count_vmas(getpid());
	unsigned long space, at, i;
	int err = 0;

	t->stride = t->layout == BENCH_ADJACENT ? page : 2 * page;
	t->made = t->vmas;
	if (t->layout == BENCH_MIXED) {
		if (others + 2 > (long)t->vmas)
			return -ERANGE;
		t->made = t->vmas - others - 1;
	}
	space = t->made * t->stride + 4 * TARGET_GUARD + st->st_size + BENCH_STORM_SIZE;
	at = (unsigned long)procmap_find_space(space);
	if (!at)
		return -ENOMEM;
	t->area = at + TARGET_GUARD;
	t->storm = (at + space - TARGET_GUARD - BENCH_STORM_SIZE) & -page;
	t->library = (t->storm - TARGET_GUARD - st->st_size) & -page;
	for (i = 0; i < t->made && !err; i++)
		err = target_map_one(t, i, files);
	if (!err && mmap((void *)t->library, st->st_size, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, files[0], 0) == MAP_FAILED)
		err = -errno;
	if (!err && t->layout == BENCH_MIXED && bench_count_vmas(getpid()) != (long)t->vmas)
		err = -ENOTRECOVERABLE;
	return err;
}

/* In the child: map the VMAs of the captured program, and data VMAs up to the wanted number. */
static int target_replay(struct bench_target *t)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	struct bench_target padding = { .layout = BENCH_ADJACENT, .stride = page };
	unsigned long i;
	long have;
	int err;

	bench_set_place(t->set, 0, t->vmas * page);
	t->area = (unsigned long)procmap_find_space(t->set->space);
	if (!t->area)
		return -ENOMEM;
	bench_set_place(t->set, t->area, t->vmas * page);
	err = bench_set_map(t->set);
	have = bench_count_vmas(getpid());
	if (err || !t->vmas)
		return err;
	if (have < 0 || have > (long)t->vmas)
		return -ERANGE;
	padding.area = t->set->padding;
	for (i = 0; i < t->vmas - have && !err; i++)
		err = target_map_one(&padding, i, NULL);
	if (!err && bench_count_vmas(getpid()) != (long)t->vmas)
		err = -ENOTRECOVERABLE;
	return err;
}

static int target_make(struct bench_target *t)
{
	int files[TARGET_FILES];
	struct stat st;

	if (t->layout == BENCH_REPLAY)
		return target_replay(t);
	files[0] = open(bench_library, O_RDONLY | O_CLOEXEC);
	files[1] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (files[0] < 0 || files[1] < 0 || fstat(files[0], &st))
		return -errno;
	return target_fill(t, files, &st);
}

/* The child: says whether all is made, then does what it is told. Its status does not matter. */
static int target_child(struct procmap_child *child, void *arg)
{
	struct bench_target *t = arg;
	__u64 order;
	int err = target_make(t);

	target_word = BENCH_WORD;
	t->word = (unsigned long)&target_word;
	while (!procmap_send(child, -err) && !procmap_recv(child, &order)) {
		if (order == BENCH_ORDER_STORM)
			err = bench_storm(t->storm);
		else
			err = bench_churn(t->set, order == BENCH_ORDER_CODE, &t->change);
	}
	return 0;
}

/* Tell a process to change its VMAs: with BENCH_REPLAY, or for a storm. */
int bench_target_order(struct bench_target *t, enum bench_order order)
{
	return procmap_send(&t->child, order);
}

/* Wait until a process has done what it was told. Returns what came of that. */
int bench_target_wait(struct bench_target *t)
{
	__u64 result;
	int err = procmap_recv(&t->child, &result);

	return err ?: -(int)result;
}

static int target_start(struct bench_target *t)
{
	struct procmap_child child;
	int err = bench_make_library();

	if (!err && t->set)
		err = bench_set_make_files(t->set);
	/* The child writes to its side of it, so it is not in shared memory. */
	if (!err)
		err = procmap_child_start(&child, target_child, t);
	if (err)
		return err;
	t->child = child;
	err = bench_target_wait(t);
	if (!err && t->set)
		bench_set_place(t->set, t->area, t->vmas * sysconf(_SC_PAGESIZE));
	if (!err)
		t->maps = maps_open(t->child.pid);
	return err ?: t->maps < 0 ? t->maps : 0;
}

static bool target_fits(const struct bench_target *t, const struct bench_row *want)
{
	if (!t->child.pid || t->layout != want->layout || t->vmas != want->vmas)
		return false;
	return !want->program || !strcmp(t->program, want->program);
}

static void target_end(struct bench_target *t)
{
	if (t->child.pid > 0) {
		procmap_child_kill(&t->child);
		if (t->maps >= 0)
			close(t->maps);
	}
	memset(t, 0, sizeof(*t));
}

static int target_get(struct bench *b, struct bench_target *t)
{
	const struct bench_row *want = b->row;
	struct bench_set *set = NULL;
	int err;

	if (target_fits(t, want))
		return 0;
	target_end(t);
	if (bench_map_count_raise(want->vmas + TARGET_SPARE))
		return bench_unavailable(b, "needs root, or a larger vm.max_map_count");
	if (want->program) {
		set = bench_set_load(b);
		if (!set)
			return -EINVAL;
	}
	t->layout = want->layout;
	t->vmas = want->vmas;
	t->program = want->program;
	t->set = set;
	t->maps = -1;
	err = target_start(t);
	if (err) {
		target_end(t);
		return bench_failed(b, "cannot make the process to be queried", err);
	}
	return 0;
}

/* Touch all pages of what is shared before anything is timed. */
static int target_share(struct bench *b)
{
	if (bench_shared)
		return 0;
	bench_shared = procmap_share(sizeof(*bench_shared));
	if (!bench_shared)
		return bench_failed(b, "shared memory", -errno);
	memset(bench_shared, 0, sizeof(*bench_shared));
	return 0;
}

/*
 * Get the process to query, as the row wants it; reuse the last one if it fits.
 * For readers elsewhere, get a second one just like it. Returns 0; or
 * BENCH_UNAVAILABLE or -errno, and the reason is set.
 * @b: the case or scene; out: @b->target, and @b->fd for its maps
 */
int bench_target_get(struct bench *b)
{
	int err = target_share(b) ?: target_get(b, &bench_shared->target);

	if (!err && b->row->elsewhere)
		err = target_get(b, &bench_shared->twin);
	if (!err) {
		b->target = &bench_shared->target;
		b->fd = b->target->maps;
	}
	return err;
}

void bench_target_drop(void)
{
	if (!bench_shared)
		return;
	target_end(&bench_shared->target);
	target_end(&bench_shared->twin);
}
