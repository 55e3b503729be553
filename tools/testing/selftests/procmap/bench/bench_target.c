// SPDX-License-Identifier: GPL-2.0
/* Processes with a given number of VMAs, for procmap_bench to query. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "bench.h"
#include "bench_churn.h"
#include "bench_scene.h"
#include "bench_set.h"

#define TARGET_FILE_EVERY	8	/* one mixed VMA in so many maps a file */
#define TARGET_HOLE_EVERY	16	/* one in so many is followed by a hole */
#define TARGET_FILES		2	/* different files that VMAs map */
#define TARGET_FILE_VMAS	5	/* VMAs in a row that a library has */
#define TARGET_SPARE		1000	/* VMAs below vm.max_map_count to keep free */
#define TARGET_GUARD		0x100000ul

static struct bench_target target, twin;
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
	if (t->layout == BENCH_LIBRARIES)
		offset = i % TARGET_FILE_VMAS * size;
	if (file < 0)
		flags |= MAP_ANONYMOUS;
	return mmap(at, size, prot, flags, file, offset) == at ? 0 : -errno;
}

/* Find address space that nothing uses, and touch no page of it. */
static unsigned long target_space(unsigned long size)
{
	char *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED || munmap(at, size) ? 0 : (unsigned long)at;
}

/*
 * In the child: map t->vmas VMAs, the library above them, and space for the
 * storm.
 */
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
	at = target_space(space);
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

/*
 * In the child: map the VMAs of the captured program. Add data VMAs up to the
 * wanted number.
 */
static int target_replay(struct bench_target *t, const char *root)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	struct bench_target padding = { .layout = BENCH_ADJACENT, .stride = page };
	unsigned long i;
	long have;
	int err;

	bench_set_place(t->set, 0, t->vmas * page);
	t->area = target_space(t->set->space);
	if (!t->area)
		return -ENOMEM;
	bench_set_place(t->set, t->area, t->vmas * page);
	err = bench_set_map(t->set, root);
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

static int target_make(struct bench_target *t, const char *library, const char *root)
{
	int files[TARGET_FILES];
	struct stat st;
	int err = 0;

	if (t->layout == BENCH_REPLAY)
		return target_replay(t, root);
	files[0] = open(library, O_RDONLY | O_CLOEXEC);
	files[1] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (files[0] < 0 || files[1] < 0 || fstat(files[0], &st))
		err = -errno;
	return err ?: target_fill(t, files, &st);
}

/* In the child: do what a byte orders. Returns false if nobody listens. */
static bool target_obey(const struct bench_target *t, char byte, int report, const char *root)
{
	struct bench_change change;

	if (byte == BENCH_ORDER_STORM) {
		bench_storm_run(t->storm);
		return write(report, &byte, 1) == 1;
	}
	bench_churn(t->set, root, byte == BENCH_ORDER_CODE, &change);
	return write(report, &change, sizeof(change)) == sizeof(change);
}

static void target_child(struct bench_target *t, int order, int report, const char *library,
			 const char *root)
{
	char byte;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = target_make(t, library, root);
	target_word = BENCH_WORD;
	t->word = (unsigned long)&target_word;
	if (write(report, &err, sizeof(err)) != sizeof(err) ||
	    write(report, t, sizeof(*t)) != sizeof(*t))
		_exit(1);
	while (read(order, &byte, 1) == 1 && target_obey(t, byte, report, root))
		;
	_exit(0);
}

/* Receive what the child knows of itself. */
static int target_receive(struct bench_target *t)
{
	struct bench_target told;
	int err;

	if (read(t->report, &err, sizeof(err)) != sizeof(err) ||
	    read(t->report, &told, sizeof(told)) != sizeof(told))
		return -EPIPE;
	t->area = told.area;
	t->stride = told.stride;
	t->made = told.made;
	t->library = told.library;
	t->word = told.word;
	t->storm = told.storm;
	if (!err && t->set)
		bench_set_place(t->set, t->area, t->vmas * sysconf(_SC_PAGESIZE));
	return err;
}

static int target_fork(struct bench_target *t, const char *library, const char *root)
{
	int order[2], report[2];

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	if (pipe2(order, O_CLOEXEC)) {
		close(report[0]);
		close(report[1]);
		return -errno;
	}
	t->order = order[1];
	t->report = report[0];
	t->pid = fork();
	if (!t->pid) {
		close(order[1]);
		target_child(t, order[0], report[1], library, root);
	}
	close(order[0]);
	close(report[1]);
	return t->pid < 0 ? -errno : 0;
}

static int target_start(struct bench_target *t)
{
	const char *library, *root;
	char path[64];
	int err;

	err = bench_library(&library, &root);
	if (!err && t->set)
		err = bench_set_make_files(t->set, root);
	if (!err)
		err = bench_storm_init();
	if (!err)
		err = target_fork(t, library, root);
	if (!err)
		err = target_receive(t);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	t->maps = open(path, O_RDONLY | O_CLOEXEC);
	return t->maps < 0 ? -errno : 0;
}

static bool target_fits(const struct bench_target *t, const struct bench_target *want)
{
	if (!t->pid || t->layout != want->layout || t->vmas != want->vmas)
		return false;
	return !want->program || !strcmp(t->program, want->program);
}

static void target_end(struct bench_target *t)
{
	if (t->pid > 0) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
		if (t->maps >= 0)
			close(t->maps);
		close(t->order);
		close(t->report);
	}
	memset(t, 0, sizeof(*t));
}

static int target_get(struct bench *b, struct bench_target *t, const struct bench_target *want)
{
	struct bench_set *set = NULL;
	int err;

	if (target_fits(t, want))
		return 0;
	target_end(t);
	if (bench_map_count_raise(want->vmas + TARGET_SPARE))
		return bench_unavailable(b, "needs root, or a larger vm.max_map_count");
	if (want->layout == BENCH_REPLAY) {
		err = bench_set_load(want->program, &set, b->reason, sizeof(b->reason));
		if (err)
			return err;
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

/*
 * Get the process to query; reuse the last one if it fits. Returns 0; or
 * BENCH_UNAVAILABLE or -errno, and the reason is set.
 * @b: the case; out: @b->target
 * @want: layout, vmas and program are used
 */
int bench_target_get(struct bench *b, const struct bench_target *want)
{
	b->target = &target;
	return target_get(b, &target, want);
}

/*
 * Get a second process just like the one to query. Returns as for
 * bench_target_get().
 * @b: the case; out: @b->twin
 */
int bench_target_get_twin(struct bench *b, const struct bench_target *want)
{
	b->twin = &twin;
	return target_get(b, &twin, want);
}

/*
 * Let a process to query change its VMAs.
 * @t: the process, with BENCH_REPLAY
 * @code: replace code, too
 * @change: out: what it has changed
 */
int bench_target_change(const struct bench_target *t, bool code, struct bench_change *change)
{
	const char byte = code ? BENCH_ORDER_CODE : BENCH_ORDER_MEMORY;

	if (write(t->order, &byte, 1) != 1 ||
	    read(t->report, change, sizeof(*change)) != sizeof(*change))
		return -EPIPE;
	return change->err;
}

/* End the processes to query, if there are any. */
void bench_target_drop(void)
{
	target_end(&target);
	target_end(&twin);
}
