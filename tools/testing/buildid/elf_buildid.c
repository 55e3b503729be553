// SPDX-License-Identifier: GPL-2.0
/*
 * Read names of files from standard input, and print the build ID of each as
 * the kernel's parser finds it: one line of "ID path", with "-" for none. The
 * window is a page, and the limits are those of the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../lib/buildid_elf.h"

#define PAGE 4096

struct file_reader {
	struct build_id_reader r;
	int fd;
	unsigned int pages;
	u8 page[PAGE];
};

static int file_seek(struct build_id_reader *r, u64 pos)
{
	struct file_reader *f = (struct file_reader *)r;
	u64 start = pos & ~(u64)(PAGE - 1);
	ssize_t n;

	if (pos > INT64_MAX || !f->pages)
		return -ENODATA;
	f->pages--;
	n = pread(f->fd, f->page, PAGE, (off_t)start);
	if (n < 0)
		return -errno;
	if (start + (u64)n <= pos)
		return -ENODATA;
	r->win = f->page;
	r->win_pos = start;
	r->win_len = (size_t)n;
	return 0;
}

static int print_file(const char *path)
{
	static struct file_reader f;
	unsigned char id[BUILD_ID_ELF_MAX];
	unsigned int size = 0;

	f.r.seek = file_seek;
	f.r.reads = BUILD_ID_FILE_READS;
	f.pages = BUILD_ID_FILE_PAGES;
	f.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f.fd < 0) {
		fprintf(stderr, "elf_buildid: cannot open %s: %s\n", path, strerror(errno));
		return 1;
	}
	if (build_id_elf_parse(&f.r, id, &size))
		size = 0;
	close(f.fd);

	for (unsigned int i = 0; i < size; i++)
		printf("%02x", id[i]);
	printf("%s %s\n", size ? "" : "-", path);
	return 0;
}

int main(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int bad = 0;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		bad |= print_file(line);
	}
	free(line);
	return bad;
}
