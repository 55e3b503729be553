/* SPDX-License-Identifier: MIT */
/*
 * The ABI of PROCMAP_QUERY and PROCMAP_SCAN, for a build with headers that do
 * not have it. <linux/procmap_scan.h> says more of the latter.
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

#ifndef PROCMAP_SCAN

#include <linux/ioctl.h>
#include <linux/types.h>

#define PROCMAP_SCAN _IOWR('f', 30, struct procmap_scan)

/* Bits of procmap_scan.flags. */
#define PROCMAP_SCAN_NAMES		0x01
#define PROCMAP_SCAN_BUILD_IDS		0x02
#define PROCMAP_SCAN_IF_CHANGED		0x04
#define PROCMAP_SCAN_IF_CODE_CHANGED	0x08
#define PROCMAP_SCAN_NOWAIT		0x10

/* Bits of procmap_record.flags, besides those of a query. */
#define PROCMAP_RECORD_GROWS_DOWN	0x00100
#define PROCMAP_RECORD_LOCKED		0x00200
#define PROCMAP_RECORD_HUGE		0x00400
#define PROCMAP_RECORD_NO_HUGE		0x00800
#define PROCMAP_RECORD_NO_DUMP		0x01000
#define PROCMAP_RECORD_NO_FORK		0x02000
#define PROCMAP_RECORD_WIPE_ON_FORK	0x04000
#define PROCMAP_RECORD_UFFD_MISSING	0x08000
#define PROCMAP_RECORD_UFFD_WP		0x10000
#define PROCMAP_RECORD_UFFD_MINOR	0x20000
#define PROCMAP_RECORD_UNLINKED		0x40000
#define PROCMAP_RECORD_NAME_TOO_LONG	0x80000
#define PROCMAP_RECORD_BUILD_ID_UNKNOWN	0x100000

#define PROCMAP_RECORD_NO_NAME		(~0U)

struct procmap_record {
	__u64 start;		/* out: inclusive */
	__u64 end;		/* out: exclusive */
	__u64 offset;		/* out: bytes, 0 without a file */
	__u64 inode;		/* out: 0 without a file */
	__u64 flags;		/* out */
	__u32 dev_major;	/* out */
	__u32 dev_minor;	/* out */
	__u32 inode_generation;	/* out: 0 without a file */
	__u32 page_shift;	/* out */
	__u64 generation;	/* out: of the last change, 0: not known */
	__u32 name;		/* out: offset in names, or PROCMAP_RECORD_NO_NAME */
	__u32 build_id_size;	/* out: 0: not wanted, or none */
	__u8 build_id[20];	/* out */
	__u32 reserved;		/* out: 0 */
};

struct procmap_scan {
	__u64 size;		/* in: of this struct */
	__u64 flags;		/* in */
	__u64 start;		/* in: only VMAs that end above */
	__u64 end;		/* in: only VMAs that begin below, 0: all */
	__u64 all_of;		/* in: bits of records */
	__u64 any_of;		/* in: bits of records, 0: no condition */
	__u64 none_of;		/* in: bits of records */
	__u64 records;		/* in: address of an array */
	__u32 records_len;	/* in: its length */
	__u32 record_size;	/* in: of a record */
	__u64 names;		/* in: address of an area */
	__u32 names_size;	/* in: bytes of it */
	__u32 records_filled;	/* out */
	__u32 names_filled;	/* out: bytes */
	__u32 reserved;		/* in: 0 */
	__u64 next;		/* out: start of the call that goes on */
	__u64 known_generation;	/* in: for IF_CHANGED, IF_CODE_CHANGED; 0: none */
	__u64 generation;	/* out: 0: none that held */
	__u64 code_generation;	/* out: likewise */
};

#endif /* PROCMAP_SCAN */

#endif /* PROCMAP_ABI_H */
