// SPDX-License-Identifier: GPL-2.0
/* Read address sets of procmap_bench, and give a process their VMAs: see bench_set.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench_set.h"
#include "elf_image.h"

#define SET_MAX_VMAS	65536
#define SET_MAX_SAMPLES	65536
#define SET_LINE	1024

static struct bench_set *loaded;
static char loaded_name[64];

static void set_free(struct bench_set *set)
{
	unsigned int i;

	for (i = 0; set && i < set->files; i++)
		free(set->path[i]);
	if (set) {
		free(set->path);
		free(set->vma);
		free(set->sample);
	}
	free(set);
}

static int set_prot(const char *text)
{
	return (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
	       (text[2] == 'x' ? PROT_EXEC : 0);
}

/*
 * "vma GAP PAGES PERMISSIONS OFFSET FILE", in pages; FILE is - if there is
 * none.
 */
static int set_add_vma(struct bench_set *set, const char *line)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	struct bench_set_vma *vma = &set->vma[set->nr];
	char perm[5], file[16];

	if (set->nr == SET_MAX_VMAS)
		return -E2BIG;
	if (sscanf(line, "vma %lu %lu %4s %lu %15s", &vma->gap, &vma->size, perm, &vma->offset,
		   file) != 5 || strlen(perm) != 4 || !vma->size)
		return -EINVAL;
	vma->gap *= page;
	vma->size *= page;
	vma->offset *= page;
	vma->prot = set_prot(perm);
	vma->shared = perm[3] == 's';
	vma->file = file[0] == '-' ? -1 : atoi(file);
	if (vma->file >= (int)set->files)
		return -EINVAL;
	if (vma->gap > set->vma[set->wide].gap)
		set->wide = set->nr;
	set->nr++;
	return 0;
}

/* "addr VMA OFFSET COUNT", OFFSET in hexadecimal bytes; COUNT does not matter. */
static int set_add_sample(struct bench_set *set, const char *line)
{
	struct bench_set_sample *sample = &set->sample[set->samples];

	if (set->samples == SET_MAX_SAMPLES)
		return -E2BIG;
	if (sscanf(line, "addr %u %lx", &sample->vma, &sample->offset) != 2 ||
	    sample->vma >= set->nr || sample->offset >= set->vma[sample->vma].size)
		return -EINVAL;
	set->samples++;
	return 0;
}

/* "file NUMBER PATH". */
static int set_add_file(struct bench_set *set, const char *line)
{
	unsigned int number;
	int at = 0;

	if (set->files == SET_MAX_VMAS)
		return -E2BIG;
	if (sscanf(line, "file %u %n", &number, &at) != 1 || !at || number != set->files ||
	    line[at] != '/' || strstr(line + at, ".."))
		return -EINVAL;
	set->path[set->files] = strdup(line + at);
	return set->path[set->files++] ? 0 : -ENOMEM;
}

static int set_add_line(struct bench_set *set, const char *line)
{
	if (!strncmp(line, "vma ", 4))
		return set_add_vma(set, line);
	if (!strncmp(line, "addr ", 5))
		return set_add_sample(set, line);
	if (!strncmp(line, "file ", 5))
		return set_add_file(set, line);
	return *line && *line != '#' ? -EINVAL : 0;
}

/*
 * Shrink the set: a process that is made inherits it, and shall have few other
 * VMAs.
 */
static void set_shrink(struct bench_set *set)
{
	set->vma = realloc(set->vma, (set->nr ?: 1) * sizeof(*set->vma)) ?: set->vma;
	set->sample = realloc(set->sample, (set->samples ?: 1) * sizeof(*set->sample)) ?:
		      set->sample;
	set->path = realloc(set->path, (set->files ?: 1) * sizeof(*set->path)) ?: set->path;
}

static int set_read(struct bench_set *set, FILE *file, unsigned int *number)
{
	char line[SET_LINE];
	int err = 0;

	set->vma = calloc(SET_MAX_VMAS, sizeof(*set->vma));
	set->sample = calloc(SET_MAX_SAMPLES, sizeof(*set->sample));
	set->path = calloc(SET_MAX_VMAS, sizeof(*set->path));
	if (!set->vma || !set->sample || !set->path)
		return -ENOMEM;
	while (!err && fgets(line, sizeof(line), file)) {
		++*number;
		line[strcspn(line, "\n")] = 0;
		err = set_add_line(set, line);
	}
	set_shrink(set);
	return err ?: set->nr && set->samples ? 0 : -ENODATA;
}

/* Sets lie next to the program. */
static FILE *set_open(const char *name, char *path, size_t size)
{
	char *slash;
	ssize_t len;

	len = readlink("/proc/self/exe", path, size - 1);
	if (len < 0)
		return NULL;
	path[len] = 0;
	slash = strrchr(path, '/');
	len = slash + 1 - path;
	snprintf(path + len, size - len, BENCH_SET_DIR "/%s.txt", name);
	return fopen(path, "re");
}

/*
 * Read an address set, or return the one read last.
 * @set: out: the set, valid until another one is read
 * @reason: out: what is wrong with the file
 */
int bench_set_load(const char *name, struct bench_set **set, char *reason, size_t size)
{
	unsigned int number = 0;
	char path[SET_LINE];
	FILE *file;
	int err;

	*set = loaded;
	if (loaded && !strcmp(loaded_name, name))
		return 0;
	set_free(loaded);
	loaded = NULL;
	file = set_open(name, path, sizeof(path));
	if (!file) {
		err = -errno;
		snprintf(reason, size, "%.100s: %s", path, strerror(errno));
		return err;
	}
	*set = calloc(1, sizeof(**set));
	err = *set ? set_read(*set, file, &number) : -ENOMEM;
	fclose(file);
	if (err) {
		snprintf(reason, size, "%.100s: line %u: %s", path, number, strerror(-err));
		set_free(*set);
		return err;
	}
	loaded = *set;
	snprintf(loaded_name, sizeof(loaded_name), "%s", name);
	return 0;
}

/*
 * Choose the addresses of the VMAs in a process.
 * @set: the program; out: vma[].at, space and padding
 * @padding: bytes to leave for other VMAs in the widest gap of the program
 */
void bench_set_place(struct bench_set *set, unsigned long base, unsigned long padding)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	unsigned long at = base;
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		at += set->vma[i].gap;
		if (i == set->wide) {
			/*
			 * A free page on both sides prevents a merge with a
			 * neighbour.
			 */
			set->padding = at + page;
			at += padding + 2 * page;
		}
		set->vma[i].at = at;
		at += set->vma[i].size;
	}
	set->space = at - base;
}

/* Is a VMA an executable mapping of a file? */
bool bench_set_is_code(const struct bench_set *set, unsigned int i)
{
	return set->vma[i].prot & PROT_EXEC && set->vma[i].file >= 0;
}

/*
 * One of the addresses at which the program was running. Returns the address in
 * the process that was made.
 * @set: the program, placed
 */
unsigned long bench_set_address(const struct bench_set *set, unsigned int sample)
{
	const struct bench_set_sample *s = &set->sample[sample];

	return set->vma[s->vma].at + s->offset;
}

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

/*
 * Make all files that the program had mapped.
 * @root: directory below which the files get their paths
 *
 * Each file has its original length, a build ID of its own, and nothing else.
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

/*
 * Map all VMAs of the program in the calling process.
 * @set: the program, placed
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

/*
 * Unmap a VMA of a file, and map it as the set now has it.
 * @set: the program, mapped in the calling process
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
