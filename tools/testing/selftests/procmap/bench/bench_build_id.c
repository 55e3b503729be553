// SPDX-License-Identifier: GPL-2.0
/* Build IDs as a program must read them that has only the text. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <linux/elf.h>
#include "bench_pass.h"

#define ID_HEAD		4096	/* first read; it is enough for nearly all files */
#define ID_HEADERS	64	/* the most program headers that it looks at */
#define ID_TYPE		3	/* NT_GNU_BUILD_ID */

/* A file whose first bytes are in memory. */
struct id_file {
	int fd;
	size_t have;
	char head[ID_HEAD];
};

/* Copy bytes of the file; false if the file does not have them. */
static bool id_get(const struct id_file *file, __u64 at, void *to, size_t size)
{
	if (at <= file->have && size <= file->have - at) {
		memcpy(to, file->head + at, size);
		return true;
	}
	return pread(file->fd, to, size, at) == (ssize_t)size;
}

static bool id_note(const struct id_file *file, __u64 at, __u64 size, __u64 align,
		    unsigned char *build_id, __u32 *id_size)
{
	const __u64 end = at + size, mask = align == 8 ? 7 : 3;
	struct elf64_note note;
	char name[4];

	while (at < end && id_get(file, at, &note, sizeof(note))) {
		__u64 name_at = at + sizeof(note);
		__u64 desc_at = name_at + ((note.n_namesz + mask) & ~mask);

		if (note.n_type == ID_TYPE && note.n_namesz == 4 && note.n_descsz &&
		    note.n_descsz <= BENCH_BUILD_ID_MAX && id_get(file, name_at, name, 4) &&
		    !memcmp(name, "GNU", 4) && id_get(file, desc_at, build_id, note.n_descsz)) {
			*id_size = note.n_descsz;
			return true;
		}
		at = desc_at + ((note.n_descsz + mask) & ~mask);
	}
	return false;
}

/* Search only files of the own word size: a benchmark meets no others. */
static void id_search(const struct id_file *file, unsigned char *build_id, __u32 *size)
{
#if __SIZEOF_LONG__ == 8
	struct elf64_hdr ehdr;
	struct elf64_phdr phdr;
#else
	struct elf32_hdr ehdr;
	struct elf32_phdr phdr;
#endif
	unsigned int i;

	if (!id_get(file, 0, &ehdr, sizeof(ehdr)) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG))
		return;
	for (i = 0; i < ehdr.e_phnum && i < ID_HEADERS; i++) {
		if (!id_get(file, ehdr.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return;
		if (phdr.p_type == PT_NOTE &&
		    id_note(file, phdr.p_offset, phdr.p_filesz, phdr.p_align, build_id, size))
			return;
	}
}

/**
 * bench_read_build_id() - read the build ID of a file
 * @path: path of the file
 * @build_id: out: the build ID, up to BENCH_BUILD_ID_MAX bytes
 * @size: out: its length; 0: the file has none
 *
 * Return: 0 or -errno of open() or read()
 */
int bench_read_build_id(const char *path, unsigned char *build_id, __u32 *size)
{
	struct id_file file;
	ssize_t done;

	*size = 0;
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file.fd < 0)
		return -errno;
	done = pread(file.fd, file.head, sizeof(file.head), 0);
	if (done >= 0) {
		file.have = done;
		id_search(&file, build_id, size);
	}
	close(file.fd);
	return done < 0 ? -EIO : 0;
}
