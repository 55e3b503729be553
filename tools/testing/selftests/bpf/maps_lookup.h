/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __MAPS_LOOKUP_H
#define __MAPS_LOOKUP_H

/*
 * Find the mapping of this process at an address by PROCMAP_QUERY, for
 * trace_helpers.c, which else reads the text of /proc/self/maps.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/fs.h>

/*
 * Returns 0 and the start of the mapping, in memory and in its file; -ENOENT if
 * there is no mapping; another negative errno. -ENOTTY means that the kernel
 * lacks the ioctl or that the program was built without it.
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
		err = -errno;
	close(fd);
	*start = query.vma_start;
	*offset = query.vma_offset;
	return err;
#else
	return -ENOTTY;
#endif
}

#endif /* __MAPS_LOOKUP_H */
