// SPDX-License-Identifier: GPL-2.0
/* Processes with a given number of VMAs, for procmap_bench to query. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "bench.h"

#define TARGET_FILE_EVERY	8	/* of the mixed VMAs, one in so many is of a file */
#define TARGET_HOLE_EVERY	16	/* and behind one in so many is a hole */
#define TARGET_SPARE		1000	/* VMAs that vm.max_map_count must leave */
#define TARGET_GUARD		0x100000ul
#define MAX_MAP_COUNT		"/proc/sys/vm/max_map_count"

static struct bench_target target;
static __u64 target_word;
static char library_dir[64];
static char library_path[96];
static unsigned long map_count_before;

/**
 * bench_count_vmas() - number of VMAs of the caller
 *
 * Return: the number, or -errno.
 */
long bench_count_vmas(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	long nr = 0;

	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps))
		nr += strchr(line, '\n') && !strstr(line, "[vsyscall]");
	fclose(maps);
	return nr;
}

static int library_copy(int to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t done;

	if (from < 0)
		return -errno;
	do {
		done = sendfile(to, from, NULL, 1 << 20);
	} while (done > 0);
	close(from);
	return done ? -errno : 0;
}

/**
 * bench_library() - an ELF file at a short path, its pages in the page cache
 * @path: where it is, until bench_library_remove()
 *
 * Return: 0 or -errno
 */
int bench_library(const char **path)
{
	const char *tmp = getenv("TMPDIR") ?: "/tmp";
	int fd, err;

	*path = library_path;
	if (library_path[0])
		return 0;
	if (snprintf(library_dir, sizeof(library_dir), "%s/lib.XXXXXX", tmp) >=
	    (int)sizeof(library_dir))
		return -ENAMETOOLONG;
	if (!mkdtemp(library_dir)) {
		library_dir[0] = 0;
		return -errno;
	}
	snprintf(library_path, sizeof(library_path), "%s/libc.so.6", library_dir);
	fd = open(library_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return -errno;
	err = library_copy(fd);
	close(fd);
	return err;
}

static unsigned long map_count_read(void)
{
	FILE *file = fopen(MAX_MAP_COUNT, "re");
	unsigned long count = 0;

	if (file) {
		if (fscanf(file, "%lu", &count) != 1)
			count = 0;
		fclose(file);
	}
	return count;
}

static int map_count_write(unsigned long count)
{
	FILE *file = fopen(MAX_MAP_COUNT, "we");
	int err = 0;

	if (!file)
		return -errno;
	fprintf(file, "%lu\n", count);
	if (fclose(file))
		err = -errno;
	return err;
}

/* Before anything is made: processes with many VMAs need leave to have them. */
static int map_count_raise(struct bench *b, unsigned long vmas)
{
	unsigned long have = map_count_read();

	if (have >= vmas + TARGET_SPARE)
		return 0;
	if (map_count_write(vmas + TARGET_SPARE))
		return bench_unavailable(b, "needs root, or a larger " MAX_MAP_COUNT);
	if (!map_count_before)
		map_count_before = have;
	return 0;
}

/**
 * bench_library_remove() - undo what was changed outside of this process
 */
void bench_library_remove(void)
{
	if (library_path[0])
		unlink(library_path);
	if (library_dir[0])
		rmdir(library_dir);
	library_path[0] = 0;
	library_dir[0] = 0;
	if (map_count_before)
		map_count_write(map_count_before);
	map_count_before = 0;
}

/* One VMA of the area; two neighbours never have the same protection. */
static int target_map_one(const struct bench_target *t, unsigned long i, int file)
{
	int prot = i % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
	int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
	unsigned long page = sysconf(_SC_PAGESIZE);
	unsigned long size = t->stride;
	void *at = (void *)(t->area + i * t->stride);

	if (t->layout == BENCH_HOLES ||
	    (t->layout == BENCH_MIXED && i % TARGET_HOLE_EVERY == TARGET_HOLE_EVERY - 1))
		size = page;
	if (t->layout != BENCH_MIXED || i % TARGET_FILE_EVERY) {
		flags |= MAP_ANONYMOUS;
		file = -1;
	}
	return mmap(at, size, prot, flags, file, 0) == at ? 0 : -errno;
}

/* The child: t->vmas VMAs, and the library above them. */
static int target_fill(struct bench_target *t, int file, const struct stat *st)
{
	unsigned long page = sysconf(_SC_PAGESIZE);
	unsigned long room, i;
	long others = bench_count_vmas();
	char *at;
	int err = 0;

	t->stride = t->layout == BENCH_ADJACENT ? page : 2 * page;
	t->made = t->vmas;
	if (t->layout == BENCH_MIXED) {
		if (others + 2 > (long)t->vmas)
			return -ERANGE;
		t->made = t->vmas - others - 1;
	}
	room = t->made * t->stride + 3 * TARGET_GUARD + st->st_size;
	at = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED || munmap(at, room))
		return -errno;
	t->area = (unsigned long)at + TARGET_GUARD;
	t->library = ((unsigned long)at + room - TARGET_GUARD - st->st_size) & -page;
	for (i = 0; i < t->made && !err; i++)
		err = target_map_one(t, i, file);
	if (!err && mmap((void *)t->library, st->st_size, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
		err = -errno;
	if (!err && t->layout == BENCH_MIXED && bench_count_vmas() != (long)t->vmas)
		err = -ENOTRECOVERABLE;
	return err;
}

static void target_child(struct bench_target *t, int report, const char *library)
{
	struct stat st;
	int file, err = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file = open(library, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &st))
		err = -errno;
	if (!err)
		err = target_fill(t, file, &st);
	target_word = BENCH_WORD;
	t->word = (unsigned long)&target_word;
	if (write(report, &err, sizeof(err)) != sizeof(err) ||
	    write(report, t, sizeof(*t)) != sizeof(*t))
		_exit(1);
	for (;;)
		pause();
}

static int target_receive(struct bench_target *t, int report)
{
	pid_t pid = t->pid;
	int err;

	if (read(report, &err, sizeof(err)) != sizeof(err) ||
	    read(report, t, sizeof(*t)) != sizeof(*t))
		err = -EPIPE;
	t->pid = pid;
	return err;
}

static int target_start(struct bench_target *t)
{
	const char *library;
	char path[64];
	int report[2], err;

	err = bench_library(&library);
	if (err)
		return err;
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	t->maps = -1;
	t->pid = fork();
	if (!t->pid)
		target_child(t, report[1], library);
	close(report[1]);
	err = t->pid < 0 ? -errno : target_receive(t, report[0]);
	close(report[0]);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	t->maps = open(path, O_RDONLY | O_CLOEXEC);
	return t->maps < 0 ? -errno : 0;
}

/**
 * bench_target_get() - the process to be queried; the one there is, if it fits
 * @b: the case, whose target is set
 * @layout: kind of VMAs
 * @vmas: how many
 *
 * Return: 0, BENCH_UNAVAILABLE or -errno, both with the reason set
 */
int bench_target_get(struct bench *b, enum bench_layout layout, unsigned long vmas)
{
	int err;

	b->target = &target;
	if (target.pid && target.layout == layout && target.vmas == vmas)
		return 0;
	bench_target_drop();
	err = map_count_raise(b, vmas);
	if (err)
		return err;
	target.layout = layout;
	target.vmas = vmas;
	err = target_start(&target);
	if (err) {
		bench_target_drop();
		return bench_failed(b, "cannot make the process to be queried", err);
	}
	return 0;
}

/**
 * bench_target_drop() - end the process to be queried, if there is one
 */
void bench_target_drop(void)
{
	if (target.pid > 0) {
		kill(target.pid, SIGKILL);
		waitpid(target.pid, NULL, 0);
		if (target.maps >= 0)
			close(target.maps);
	}
	memset(&target, 0, sizeof(target));
}
