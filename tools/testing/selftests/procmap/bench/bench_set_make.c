// SPDX-License-Identifier: GPL-2.0
/* Give a process the VMAs of a captured program: see bench_set.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench_set.h"
#include "elf_image.h"

#define MAKE_ID		20
#define MAKE_PATH	1024

static int make_parents(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* A VMA only needs the length of its file. A build ID is there for readers. */
static int make_file(const char *root, const char *name, unsigned long size, unsigned char seed)
{
	struct elf_image image;
	char path[MAKE_PATH];
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s%s", root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	err = make_parents(path);
	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		return -errno;
	elf_image_make(&image, sizeof(long) == 8, MAKE_ID, seed);
	if (write(fd, image.data, sizeof(image.data)) != sizeof(image.data) || ftruncate(fd, size))
		err = -EIO;
	close(fd);
	return err;
}

static unsigned long file_size(const struct bench_set *set, int file)
{
	unsigned long end = ELF_IMAGE_SIZE;
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (set->vma[i].file == file && set->vma[i].offset + set->vma[i].size > end)
			end = set->vma[i].offset + set->vma[i].size;
	return end;
}

/**
 * bench_set_make_files() - make all files that the program had mapped
 * @set: the program
 * @root: directory below which the files get their paths
 *
 * Each file has its original length, a build ID of its own, and nothing else.
 *
 * Return: 0 or -errno
 */
int bench_set_make_files(const struct bench_set *set, const char *root)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < set->files && !err; i++)
		err = make_file(root, set->path[i], file_size(set, i), i);
	return err;
}

static int map_one(const struct bench_set_vma *vma, int fd, bool odd)
{
	int flags = MAP_FIXED | MAP_NORESERVE | (vma->shared ? MAP_SHARED : MAP_PRIVATE);
	void *at = (void *)vma->at;

	if (fd < 0)
		flags |= MAP_ANONYMOUS;
	if (mmap(at, vma->size, vma->prot, flags, fd, fd < 0 ? 0 : vma->offset) != at)
		return -errno;
	/* Neighbours that the program had apart must not merge. */
	return odd && madvise(at, vma->size, MADV_DONTDUMP) ? -errno : 0;
}

/**
 * bench_set_map() - map all VMAs of the program in the calling process
 * @set: the program, placed
 * @root: as for bench_set_make_files()
 *
 * Return: 0 or -errno
 */
int bench_set_map(const struct bench_set *set, const char *root)
{
	char path[MAKE_PATH];
	int open_file = -1, fd = -1, err = 0;
	unsigned int i;

	for (i = 0; i < set->nr && !err; i++) {
		const struct bench_set_vma *vma = &set->vma[i];

		if (vma->file >= 0 && vma->file != open_file) {
			snprintf(path, sizeof(path), "%s%s", root, set->path[vma->file]);
			if (fd >= 0)
				close(fd);
			fd = open(path, O_RDWR | O_CLOEXEC);
			open_file = vma->file;
			if (fd < 0)
				return -errno;
		}
		err = map_one(vma, vma->file < 0 ? -1 : fd, i % 2);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/**
 * bench_set_remap() - unmap a VMA of a file, and map it as the set now has it
 * @set: the program, mapped in the calling process
 * @i: number of the VMA
 * @root: as for bench_set_make_files()
 *
 * Return: 0 or -errno
 */
int bench_set_remap(const struct bench_set *set, unsigned int i, const char *root)
{
	const struct bench_set_vma *vma = &set->vma[i];
	char path[MAKE_PATH];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s%s", root, set->path[vma->file]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (munmap((void *)vma->at, vma->size))
		err = -errno;
	err = err ?: map_one(vma, fd, i % 2);
	close(fd);
	return err;
}
