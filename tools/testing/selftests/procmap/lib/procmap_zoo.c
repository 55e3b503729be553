// SPDX-License-Identifier: GPL-2.0
/* VMAs of every kind, and files to map: see procmap_zoo.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "procmap_zoo.h"

enum { BACKING_NONE, BACKING_FILE, BACKING_MEMFD, NR_BACKINGS };

#define NR_PROTS	8
#define NR_KINDS	(NR_PROTS * 2 * NR_BACKINGS)

int procmap_tmp_dir(char *path, size_t size)
{
	const char *tmp = getenv("TMPDIR") ?: "/tmp";
	char *real = realpath(tmp, NULL);

	if (!real)
		return -errno;
	snprintf(path, size, "%s/procmap.XXXXXX", real);
	free(real);
	return mkdtemp(path) ? 0 : -errno;
}

/*
 * Make a file that can be read, written and executed.
 * @path: its path, which must not exist
 */
int procmap_tmp_file(const char *path, size_t pages)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, pages * sysconf(_SC_PAGESIZE)))
		return fd;
	close(fd);
	return -EIO;
}

static int deleted_file(size_t pages)
{
	char dir[4096], path[4096 + 16];
	int fd, ret = procmap_tmp_dir(dir, sizeof(dir));

	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s/zoo", dir);
	fd = procmap_tmp_file(path, pages);
	unlink(path);
	rmdir(dir);
	return fd;
}

/*
 * Find a free range for fixed mappings. The caller must not map anything else
 * before it uses the range.
 */
void *procmap_find_space(size_t size)
{
	void *space = mmap(NULL, size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (space == MAP_FAILED || munmap(space, size))
		return NULL;
	return space;
}

/*
 * @kind counts through all combinations. 29 and the number of combinations have
 * no common divisor, so each combination comes up once. Neighbours never have
 * the same backing, so they do not merge.
 */
static int map_kind(char *addr, size_t kind, const int *fd)
{
	size_t mixed = kind * 29 % NR_KINDS;
	size_t backing = mixed / (NR_PROTS * 2);
	int prot = (mixed & 1 ? PROT_READ : 0) | (mixed & 2 ? PROT_WRITE : 0) |
		   (mixed & 4 ? PROT_EXEC : 0);
	int flags = MAP_FIXED | (mixed & 8 ? MAP_SHARED : MAP_PRIVATE) |
		    (backing == BACKING_NONE ? MAP_ANONYMOUS : 0);
	long page = sysconf(_SC_PAGESIZE);

	if (mmap(addr, page, prot, flags, fd[backing], fd[backing] < 0 ? 0 : kind * page) != addr)
		return -errno;
	return 0;
}

/*
 * Map one VMA of every kind.
 *
 * A hole follows every third VMA.
 */
int procmap_zoo_map(struct procmap_zoo *zoo)
{
	long page = sysconf(_SC_PAGESIZE);
	int fd[NR_BACKINGS] = { -1, -1, -1 };
	int ret = -ENOMEM;
	char *addr;

	zoo->nr = 0;
	zoo->size = (NR_KINDS + NR_KINDS / 3 + 1) * page;
	zoo->base = procmap_find_space(zoo->size);
	fd[BACKING_FILE] = deleted_file(NR_KINDS);
	fd[BACKING_MEMFD] = memfd_create("zoo", MFD_CLOEXEC);
	if (!zoo->base || fd[BACKING_FILE] < 0 || fd[BACKING_MEMFD] < 0)
		goto out;
	for (addr = zoo->base; zoo->nr < NR_KINDS; addr += page) {
		ret = map_kind(addr, zoo->nr, fd);
		if (ret)
			goto out;
		if (zoo->nr++ % 3 == 0)
			addr += page;
	}
out:
	close(fd[BACKING_FILE]);
	close(fd[BACKING_MEMFD]);
	return ret;
}

/* Map a large number of VMAs, with a hole every 16. */
int procmap_zoo_map_many(struct procmap_zoo *zoo, size_t nr)
{
	const int prot[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE };
	long page = sysconf(_SC_PAGESIZE);
	char *addr;

	zoo->size = (nr + nr / 16 + 1) * page;
	zoo->base = procmap_find_space(zoo->size);
	if (!zoo->base)
		return -ENOMEM;
	addr = zoo->base;
	for (zoo->nr = 0; zoo->nr < nr; zoo->nr++) {
		if (mmap(addr, page, prot[zoo->nr % 3],
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != addr)
			return -errno;
		addr += zoo->nr % 16 ? page : 2 * page;
	}
	return 0;
}
