/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PROCMAP_H
#define _UAPI_LINUX_PROCMAP_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Ask for one VMA of the address space of an open /proc/<pid>/maps or
 * /proc/<pid>/task/<tid>/maps.
 *
 * Returns 0, or -1 with an errno of Documentation/userspace-api/procmap_query.rst; an error
 * writes nothing to the struct. An answer is one state of the VMA during the call.
 */
#define PROCMAP_QUERY	_IOWR('f', 17, struct procmap_query)

/**
 * enum procmap_query_flags - bits of procmap_query.query_flags
 * @PROCMAP_QUERY_VMA_READABLE: only VMAs that can be read
 * @PROCMAP_QUERY_VMA_WRITABLE: only VMAs that can be written
 * @PROCMAP_QUERY_VMA_EXECUTABLE: only VMAs that can be executed
 * @PROCMAP_QUERY_VMA_SHARED: only VMAs that the maps output shows as shared
 * @PROCMAP_QUERY_COVERING_OR_NEXT_VMA: if none that matches covers the address,
 *	the first one above it that matches
 * @PROCMAP_QUERY_FILE_BACKED_VMA: only VMAs with a file
 *
 * A VMA matches when it has all of them. The first four are also the bits of
 * procmap_query.vma_flags.
 */
enum procmap_query_flags {
	PROCMAP_QUERY_VMA_READABLE		= 0x01,
	PROCMAP_QUERY_VMA_WRITABLE		= 0x02,
	PROCMAP_QUERY_VMA_EXECUTABLE		= 0x04,
	PROCMAP_QUERY_VMA_SHARED		= 0x08,
	PROCMAP_QUERY_COVERING_OR_NEXT_VMA	= 0x10,
	PROCMAP_QUERY_FILE_BACKED_VMA		= 0x20
};

/* Sizes of struct procmap_query: the smallest accepted, the first published. */
#define PROCMAP_QUERY_SIZE_MIN	24
#define PROCMAP_QUERY_SIZE_VER0	104

/**
 * struct procmap_query - argument of PROCMAP_QUERY; sizes and offsets are in bytes
 * @size: in: size of the struct as the caller knows it: it gets only these fields
 * @query_flags: in: PROCMAP_QUERY_* bits; 0: the VMA that covers the address
 * @query_addr: in: address asked for
 * @vma_start: out: first address of the VMA
 * @vma_end: out: first address after the VMA
 * @vma_flags: out: PROCMAP_QUERY_VMA_* bits of the VMA
 * @vma_page_size: out: page size of the VMA (hugetlb: of the huge page)
 * @vma_offset: out: offset of @vma_start in the file; 0 without a file
 * @inode: out: inode number of the file; 0 without a file
 * @dev_major: out: major device number of the file's super block; 0 without a file
 * @dev_minor: out: minor device number of the file's super block; 0 without a file
 * @vma_name_size: in: size of the name buffer, 0: no name wanted;
 *	out: bytes written to it with the terminating NUL, 0: no name
 * @build_id_size: in: size of the build ID buffer, 0: not wanted;
 *	out: bytes written to it, 0: no build ID is known
 * @vma_name_addr: in: address of the name buffer; 0 if and only if @vma_name_size
 *	is 0. The name is the one in the maps output, without escapes.
 * @build_id_addr: in: address of the build ID buffer; 0 if and only if
 *	@build_id_size is 0. 20 bytes hold every build ID that is reported.
 */
struct procmap_query {
	__u64 size;
	__u64 query_flags;
	__u64 query_addr;
	__u64 vma_start;
	__u64 vma_end;
	__u64 vma_flags;
	__u64 vma_page_size;
	__u64 vma_offset;
	__u64 inode;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 vma_name_size;
	__u32 build_id_size;
	__u64 vma_name_addr;
	__u64 build_id_addr;
};

#endif /* _UAPI_LINUX_PROCMAP_H */
