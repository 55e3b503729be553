// SPDX-License-Identifier: MIT
/*
 * libprocmap: answers from the PROCMAP_QUERY ioctl.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include "procmap-abi.h"
#include "libprocmap-internal.h"

/* Room for nearly all names, so that nearly all VMAs need only one query. */
#define PROCMAP_NAME_FIRST 256

/* Of the system's header or of ours: procmap-abi.h is to be plain C90 and C++. */
static_assert(sizeof(struct procmap_query) == 104, "size of struct procmap_query");
static_assert(offsetof(struct procmap_query, vma_flags) == 40, "vma_flags");
static_assert(offsetof(struct procmap_query, dev_major) == 72, "dev_major");
static_assert(offsetof(struct procmap_query, vma_name_size) == 80, "vma_name_size");
static_assert(offsetof(struct procmap_query, build_id_addr) == 96, "build_id_addr");

static_assert(PROCMAP_READ == PROCMAP_QUERY_VMA_READABLE, "PROCMAP_READ");
static_assert(PROCMAP_WRITE == PROCMAP_QUERY_VMA_WRITABLE, "PROCMAP_WRITE");
static_assert(PROCMAP_EXEC == PROCMAP_QUERY_VMA_EXECUTABLE, "PROCMAP_EXEC");
static_assert(PROCMAP_SHARED == PROCMAP_QUERY_VMA_SHARED, "PROCMAP_SHARED");
static_assert(PROCMAP_OR_NEXT == PROCMAP_QUERY_COVERING_OR_NEXT_VMA, "PROCMAP_OR_NEXT");
static_assert(PROCMAP_FILE == PROCMAP_QUERY_FILE_BACKED_VMA, "PROCMAP_FILE");

static void procmap_query_copy(const struct procmap_query *query, struct procmap_vma *vma)
{
	vma->start = query->vma_start;
	vma->end = query->vma_end;
	vma->offset = query->vma_offset;
	vma->inode = query->inode;
	vma->page_size = query->vma_page_size;
	vma->dev_major = query->dev_major;
	vma->dev_minor = query->dev_minor;
	vma->flags = query->vma_flags & PROCMAP_FILTERS;
	vma->known = PROCMAP_KNOWN_PAGE_SIZE;
	/*
	 * No file system has device 0:0, so this tells whether there is a file.
	 */
	if (query->inode || query->dev_major || query->dev_minor)
		vma->flags |= PROCMAP_FILE;
}

/* Call the ioctl once, with the buffers of @vma. */
static int procmap_query_once(struct procmap *pm, uint64_t addr, unsigned int flags,
			      struct procmap_vma *vma)
{
	struct procmap_query query = {
		.size = sizeof(query),
		.query_flags = flags & (PROCMAP_FILTERS | PROCMAP_OR_NEXT),
		.query_addr = addr,
	};

	procmap_vma_clear(vma);
	if (flags & PROCMAP_NAME) {
		query.vma_name_addr = (uintptr_t)vma->name_buf;
		query.vma_name_size = vma->name_alloc;
	}
	if (flags & PROCMAP_BUILD_ID) {
		query.build_id_addr = (uintptr_t)vma->build_id;
		query.build_id_size = sizeof(vma->build_id);
	}
	if (ioctl(pm->fd, PROCMAP_QUERY, &query))
		return -1;

	procmap_query_copy(&query, vma);
	if (query.vma_end <= query.vma_start || query.build_id_size > sizeof(vma->build_id) ||
	    query.vma_name_size > vma->name_alloc) {
		errno = EPROTO;
		return -1;
	}
	if (flags & PROCMAP_BUILD_ID) {
		vma->build_id_size = query.build_id_size;
		/* A file without one, and a file that could not be read, look the same. */
		if (vma->build_id_size || !(vma->flags & PROCMAP_FILE))
			vma->known |= PROCMAP_KNOWN_BUILD_ID;
	}
	if (flags & PROCMAP_NAME) {
		vma->known |= PROCMAP_KNOWN_NAME;
		if (query.vma_name_size) {
			vma->name_buf[query.vma_name_size - 1] = '\0';
			vma->name = vma->name_buf;
		}
	}
	return 0;
}

int procmap_query_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		       struct procmap_vma *vma)
{
	if ((flags & PROCMAP_NAME) && procmap_vma_reserve_name(vma, PROCMAP_NAME_FIRST))
		return -1;

	while (procmap_query_once(pm, addr, flags, vma)) {
		if (errno != ENAMETOOLONG || !(flags & PROCMAP_NAME))
			return -1;
		if (vma->name_alloc >= PROCMAP_NAME_LIMIT)
			return procmap_query_once(pm, addr, flags & ~PROCMAP_NAME, vma);
		if (procmap_vma_reserve_name(vma, vma->name_alloc * 4))
			return -1;
	}
	return 0;
}
