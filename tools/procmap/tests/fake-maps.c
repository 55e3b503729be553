// SPDX-License-Identifier: GPL-2.0-only
/*
 * A slow and simple reader of /proc/PID/maps. It shares no code with the
 * library.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"

/* Return the whole text with a NUL, to be freed. Not counted in fake.reads. */
static char *fake_text_read(int fd)
{
	size_t alloc = 1 << 16, len = 0;
	char *text = malloc(alloc);
	ssize_t got;

	while (text) {
		got = __real_pread64(fd, text + len, alloc - len - 1, len);
		if (got <= 0)
			break;
		len += got;
		if (alloc - len < 8192) {
			alloc *= 2;
			text = realloc(text, alloc);
		}
	}
	if (!text)
		abort();
	text[len] = '\0';
	return text;
}

static void fake_text_unescape(char *name)
{
	char *p;

	while ((p = strstr(name, "\\012"))) {
		*p = '\n';
		memmove(p + 1, p + 4, strlen(p + 4) + 1);
		name = p;
	}
}

static bool fake_text_line(const char *line, struct procmap_vma *vma)
{
	unsigned long long start, end, offset, inode;
	char perms[5];
	int name_at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, perms, &offset,
		   &vma->dev_major, &vma->dev_minor, &inode, &name_at) != 7 || !name_at)
		abort();
	vma->start = start;
	vma->end = end;
	vma->offset = offset;
	vma->inode = inode;
	if (!strcmp(line + name_at, "[vsyscall]"))
		return false;
	vma->flags = (perms[0] == 'r') | (perms[1] == 'w') << 1 | (perms[2] == 'x') << 2 |
		     (perms[3] == 's') << 3;
	if (vma->inode || vma->dev_major || vma->dev_minor)
		vma->flags |= PROCMAP_FILE;
	vma->page_size = 4096;
	vma->name = line[name_at] ? line + name_at : NULL;
	return true;
}

int fake_text_vma(int fd, uint64_t addr, unsigned int filters, struct procmap_vma *vma)
{
	char *text = fake_text_read(fd), *line, *state;
	int ret = -1;

	errno = *text ? ENOENT : ESRCH;
	for (line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!fake_text_line(line, vma) || vma->end <= addr ||
		    (vma->flags & filters) != filters)
			continue;
		if (vma->name) {
			vma->name_buf = strdup(vma->name);
			vma->name = vma->name_buf;
			if (vma->flags & PROCMAP_FILE)
				fake_text_unescape(vma->name_buf);
		}
		ret = 0;
		break;
	}
	free(text);
	return ret;
}
