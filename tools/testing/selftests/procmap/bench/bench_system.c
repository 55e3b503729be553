// SPDX-License-Identifier: GPL-2.0
/* What procmap_bench changes outside of its processes and undoes at the end. */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include "bench.h"

#define MAX_MAP_COUNT		"/proc/sys/vm/max_map_count"

static char library_dir[64];
static char library_path[96];
static unsigned long map_count_before;

/**
 * bench_count_vmas() - number of VMAs of a process
 * @pid: the process
 *
 * Return: the number, or -errno.
 */
long bench_count_vmas(pid_t pid)
{
	char path[64], line[512];
	long nr = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
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
 * bench_library() - make an ELF file with a short path, in the page cache
 * @path: out: its path, valid until bench_system_restore()
 * @dir: out: its directory, for further files; may be NULL
 *
 * Return: 0 or -errno
 */
int bench_library(const char **path, const char **dir)
{
	const char *tmp = getenv("TMPDIR") ?: "/tmp";
	int fd, err;

	*path = library_path;
	if (dir)
		*dir = library_dir;
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

/**
 * bench_map_count_raise() - raise vm.max_map_count until bench_system_restore()
 * @vmas: the number that processes need
 *
 * Return: 0, or BENCH_UNAVAILABLE if the user may not raise it.
 */
int bench_map_count_raise(unsigned long vmas)
{
	unsigned long have = map_count_read();

	if (have >= vmas)
		return 0;
	if (map_count_write(vmas))
		return BENCH_UNAVAILABLE;
	if (!map_count_before)
		map_count_before = have;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/**
 * bench_system_restore() - undo all changes outside of this process
 */
void bench_system_restore(void)
{
	if (library_dir[0])
		nftw(library_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	library_path[0] = 0;
	library_dir[0] = 0;
	if (map_count_before)
		map_count_write(map_count_before);
	map_count_before = 0;
}
