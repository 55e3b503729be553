/* SPDX-License-Identifier: MIT */
/*
 * The ABI of PROCMAP_QUERY, for a build with a <linux/fs.h> that does not have
 * it.
 */
#ifndef PROCMAP_ABI_H
#define PROCMAP_ABI_H

#include <linux/fs.h>

#ifndef PROCMAP_QUERY

#include <linux/ioctl.h>
#include <linux/types.h>

#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)

/* Filters, and the bits of procmap_query.vma_flags. */
#define PROCMAP_QUERY_VMA_READABLE		0x01
#define PROCMAP_QUERY_VMA_WRITABLE		0x02
#define PROCMAP_QUERY_VMA_EXECUTABLE		0x04
#define PROCMAP_QUERY_VMA_SHARED		0x08
/* Only for query_flags. */
#define PROCMAP_QUERY_COVERING_OR_NEXT_VMA	0x10
#define PROCMAP_QUERY_FILE_BACKED_VMA		0x20

struct procmap_query {
	__u64 size;		/* in: of this struct */
	__u64 query_flags;	/* in */
	__u64 query_addr;	/* in */
	__u64 vma_start;	/* out: inclusive */
	__u64 vma_end;		/* out: exclusive */
	__u64 vma_flags;	/* out */
	__u64 vma_page_size;	/* out: bytes */
	__u64 vma_offset;	/* out: bytes, 0 without a file */
	__u64 inode;		/* out: 0 without a file */
	__u32 dev_major;	/* out */
	__u32 dev_minor;	/* out */
	__u32 vma_name_size;	/* in: of buffer; out: with the NUL, 0: none */
	__u32 build_id_size;	/* in: of buffer; out: written, 0: none */
	__u64 vma_name_addr;	/* in */
	__u64 build_id_addr;	/* in */
};

#endif /* PROCMAP_QUERY */

#endif /* PROCMAP_ABI_H */
