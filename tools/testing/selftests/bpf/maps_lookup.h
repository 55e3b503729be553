/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __MAPS_LOOKUP_H
#define __MAPS_LOOKUP_H

/*
 * Find the mapping of this process at an address, for trace_helpers.c. Use
 * PROCMAP_QUERY if the headers and the running kernel have it, else the text of
 * /proc/self/maps.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/fs.h>

/*
 * These return 0 and the start of the mapping, in memory and in its file. They
 * return 1 if there is no mapping, or a negative errno. -ENOTTY means that the
 * kernel lacks the ioctl or that the program was built without it.
 */
static int maps_lookup_query(uintptr_t addr, bool executable, size_t *start, size_t *offset)
{
#ifdef PROCMAP_QUERY
	struct procmap_query query = {
		.size = sizeof(query),
		.query_flags = executable ? PROCMAP_QUERY_VMA_EXECUTABLE : 0,
		.query_addr = addr,
	};
	int fd, err = 0;

	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PROCMAP_QUERY, &query))
		err = errno == ENOENT ? 1 : -errno;
	close(fd);
	*start = query.vma_start;
	*offset = query.vma_offset;
	return err;
#else
	return -ENOTTY;
#endif
}

static int maps_lookup_text(uintptr_t addr, bool executable, size_t *start, size_t *offset)
{
	size_t end;
	char perms[256];
	int err = 1;
	FILE *f;

	f = fopen("/proc/self/maps", "r");
	if (!f)
		return -errno;

	while (fscanf(f, "%zx-%zx %255s %zx %*[^\n]\n", start, &end, perms, offset) == 4) {
		if (addr >= *start && addr < end && (!executable || perms[2] == 'x')) {
			err = 0;
			break;
		}
	}

	fclose(f);
	return err;
}

static int maps_lookup(uintptr_t addr, bool executable, size_t *start, size_t *offset)
{
	int err = maps_lookup_query(addr, executable, start, offset);

	return err == -ENOTTY ? maps_lookup_text(addr, executable, start, offset) : err;
}

#endif /* __MAPS_LOOKUP_H */
