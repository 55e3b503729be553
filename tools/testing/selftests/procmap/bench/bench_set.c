// SPDX-License-Identifier: GPL-2.0
/*
 * Read address sets of procmap_bench, and give a process their VMAs. It changes
 * them when it is told to: it maps and unmaps memory, as all programs do, and
 * replaces code, as one that unloads a plug-in and loads another. What it tells
 * of that is the truth for those who look at it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "bench.h"
#include "elf_image.h"

#define SET_LINE	1024

/* The set that was read last */
static struct bench_set loaded;
static const char *loaded_name;

static int set_prot(const char *text)
{
	return (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
	       (text[2] == 'x' ? PROT_EXEC : 0);
}

/* "vma GAP PAGES PERMISSIONS OFFSET FILE", in pages; FILE is - if there is none. */
static int set_add_vma(const char *line)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	struct bench_set_vma *vma = &loaded.vma[loaded.nr];
	char perm[5], file[16];

	if (loaded.nr == BENCH_SET_VMAS)
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
	if (vma->file >= (int)loaded.files)
		return -EINVAL;
	if (vma->gap > loaded.vma[loaded.wide].gap)
		loaded.wide = loaded.nr;
	loaded.nr++;
	return 0;
}

/* "addr VMA OFFSET...", in hexadecimal bytes. */
static int set_add_samples(const char *line)
{
	struct bench_set_sample sample;
	int at = 0, size;

	if (sscanf(line, "addr %u%n", &sample.vma, &at) != 1 || sample.vma >= loaded.nr)
		return -EINVAL;
	for (; sscanf(line + at, "%lx%n", &sample.offset, &size) == 1; at += size) {
		if (loaded.samples == BENCH_SET_SAMPLES)
			return -E2BIG;
		if (sample.offset >= loaded.vma[sample.vma].size)
			return -EINVAL;
		loaded.sample[loaded.samples++] = sample;
	}
	return line[at] ? -EINVAL : 0;
}

/* "file NUMBER PATH", the path below a directory of ours. */
static int set_add_file(const char *line)
{
	unsigned int number;
	int at = 0;

	if (loaded.files == BENCH_SET_FILES || strlen(line) >= BENCH_SET_PATH)
		return -E2BIG;
	if (sscanf(line, "file %u %n", &number, &at) != 1 || !at || number != loaded.files ||
	    line[at] != '/' || strstr(line + at, ".."))
		return -EINVAL;
	strcpy(loaded.path[loaded.files++], line + at);
	return 0;
}

static int set_add_line(const char *line)
{
	if (!strncmp(line, "vma ", 4))
		return set_add_vma(line);
	if (!strncmp(line, "addr ", 5))
		return set_add_samples(line);
	if (!strncmp(line, "file ", 5))
		return set_add_file(line);
	return *line && *line != '#' ? -EINVAL : 0;
}

/* Sets lie next to the program. */
static FILE *set_open(const char *name, char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (len < 0)
		return NULL;
	path[len] = 0;
	slash = strrchr(path, '/') + 1;
	snprintf(slash, path + size - slash, "bench_sets/%s.txt", name);
	return fopen(path, "re");
}

/*
 * Read the address set of a row, unless it is the one read last. Returns the
 * set, valid until another one is read; NULL, and the reason is loaded.
 */
struct bench_set *bench_set_load(struct bench *b)
{
	char line[SET_LINE];
	FILE *file;
	int err = 0;

	if (loaded_name && !strcmp(loaded_name, b->row->program))
		return &loaded;
	memset(&loaded, 0, sizeof(loaded));
	loaded_name = NULL;
	file = set_open(b->row->program, line, sizeof(line));
	if (!file) {
		bench_failed(b, line, -errno);
		return NULL;
	}
	while (!err && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		err = set_add_line(line);
	}
	fclose(file);
	if (err || !loaded.nr || !loaded.samples) {
		bench_failed(b, line, err ?: -ENODATA);
		return NULL;
	}
	loaded_name = b->row->program;
	return &loaded;
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
			/* A free page on both sides prevents a merge with a neighbour. */
			set->padding = at + page;
			at += padding + 2 * page;
		}
		set->vma[i].at = at;
		at += set->vma[i].size;
	}
	set->space = at - base;
}

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

/* Make the directories of a file of the program, and open it. */
static int make_open(const char *name, int flags)
{
	char path[MAKE_PATH], *slash = path + strlen(bench_dir);
	int fd;

	if (snprintf(path, sizeof(path), "%s%s", bench_dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	while (flags & O_CREAT && (slash = strchr(slash + 1, '/'))) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0755);
	return fd < 0 ? -errno : fd;
}

/* A VMA only needs the length of its file. A build ID is there for readers. */
static int make_file(const char *name, unsigned long size, unsigned char seed)
{
	int fd = make_open(name, O_CREAT | O_TRUNC), err = 0;
	struct elf_image image;

	if (fd < 0)
		return fd;
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
 * Make all files that the program had mapped, below bench_dir.
 *
 * Each file has its original length, a build ID of its own, and nothing else.
 */
int bench_set_make_files(const struct bench_set *set)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < set->files && !err; i++)
		err = make_file(set->path[i], file_size(set, i), i);
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
int bench_set_map(const struct bench_set *set)
{
	int open_file = -1, fd = -1, err = 0;
	unsigned int i;

	for (i = 0; i < set->nr && !err; i++) {
		const struct bench_set_vma *vma = &set->vma[i];

		if (vma->file >= 0 && vma->file != open_file) {
			if (fd >= 0)
				close(fd);
			fd = make_open(set->path[vma->file], 0);
			open_file = vma->file;
			if (fd < 0)
				return fd;
		}
		err = map_one(vma, vma->file < 0 ? -1 : fd, i % 2);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* Unmap a VMA of a file in the calling process, and map it as the set now has it. */
static int set_remap(const struct bench_set *set, unsigned int i)
{
	const struct bench_set_vma *vma = &set->vma[i];
	int fd = make_open(set->path[vma->file], 0), err = 0;

	if (fd < 0)
		return fd;
	if (munmap((void *)vma->at, vma->size))
		err = -errno;
	err = err ?: map_one(vma, fd, i % 2);
	close(fd);
	return err;
}

/* Unmap what the last call mapped, and map something of another size. */
static int churn_memory(void)
{
	static size_t size;
	static void *at;

	if (size && munmap(at, size))
		return -errno;
	size = sysconf(_SC_PAGESIZE) * (size == sysconf(_SC_PAGESIZE) ? 2 : 1);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at != MAP_FAILED)
		return 0;
	size = 0;
	return -errno;
}

/* Was the program found running in this VMA? */
static bool churn_was_run(const struct bench_set *set, unsigned int vma)
{
	unsigned int i;

	for (i = 0; i < set->samples; i++)
		if (set->sample[i].vma == vma)
			return bench_set_is_code(set, vma);
	return false;
}

static unsigned int churn_next(const struct bench_set *set, unsigned int vma)
{
	do {
		vma = (vma + 1) % set->nr;
	} while (!churn_was_run(set, vma));
	return vma;
}

/*
 * Map another file, or another part of the file, and the next time what was
 * there before. So the program does not become more and more different from
 * itself.
 */
static int churn_code(struct bench_set *set, struct bench_change *change)
{
	static struct bench_set_vma before;
	static unsigned int turn, at;
	struct bench_set_vma *vma;

	if (turn % 2 == 0)
		at = churn_next(set, at);
	vma = &set->vma[at];
	if (turn % 2) {
		*vma = before;
	} else {
		before = *vma;
		if (turn % 4 || set->files == 1)
			vma->offset += vma->size;
		else
			vma->file = (vma->file + 1) % set->files;
	}
	turn++;
	change->vma = at;
	change->file = vma->file;
	change->offset = vma->offset;
	return set_remap(set, at);
}

/*
 * Change VMAs of the calling process.
 * @set: its program, mapped; it is kept up to date
 * @code: replace code, too
 * @change: out: what was changed
 */
int bench_churn(struct bench_set *set, bool code, struct bench_change *change)
{
	int err = churn_memory();

	change->vma = -1;
	return !err && code ? churn_code(set, change) : err;
}
