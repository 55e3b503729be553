/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PROCMAP_SCAN_H
#define _UAPI_LINUX_PROCMAP_SCAN_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Ask for all VMAs of the address space of an open /proc/<pid>/maps or
 * /proc/<pid>/task/<tid>/maps, and whether they have changed.
 *
 * Returns 0, or -1 with an errno of Documentation/userspace-api/procmap_scan.rst. An error
 * writes nothing to the struct, but may write to the areas of records and names.
 *
 * While the generation of a process stays the same, no VMA is added, changed or removed. It may
 * also end for nothing, as by an munmap() that fails. Generations of different address spaces
 * cannot be compared, and do not tell of what is in pages or files, nor of files that are renamed.
 */
#define PROCMAP_SCAN	_IOWR('f', 30, struct procmap_scan)

/**
 * enum procmap_scan_flags - bits of procmap_scan.flags
 * @PROCMAP_SCAN_NAMES: write names
 * @PROCMAP_SCAN_BUILD_IDS: fill in build IDs of files
 * @PROCMAP_SCAN_IF_CHANGED: scan only if the generation of the address space is
 *	not procmap_scan.known_generation
 * @PROCMAP_SCAN_IF_CODE_CHANGED: likewise for its code generation. Not together
 *	with PROCMAP_SCAN_IF_CHANGED.
 * @PROCMAP_SCAN_NOWAIT: end before the first VMA that a writer is changing, and
 *	do not wait for a disk: see PROCMAP_RECORD_BUILD_ID_UNKNOWN.
 */
enum procmap_scan_flags {
	PROCMAP_SCAN_NAMES		= 0x01,
	PROCMAP_SCAN_BUILD_IDS		= 0x02,
	PROCMAP_SCAN_IF_CHANGED		= 0x04,
	PROCMAP_SCAN_IF_CODE_CHANGED	= 0x08,
	PROCMAP_SCAN_NOWAIT		= 0x10
};

/**
 * enum procmap_record_flags - bits of procmap_record.flags
 * @PROCMAP_RECORD_GROWS_DOWN: a stack that grows when it is used
 * @PROCMAP_RECORD_LOCKED: mlock()
 * @PROCMAP_RECORD_HUGE: MADV_HUGEPAGE: wants transparent huge pages
 * @PROCMAP_RECORD_NO_HUGE: MADV_NOHUGEPAGE: does not want them
 * @PROCMAP_RECORD_NO_DUMP: MADV_DONTDUMP: not in core dumps
 * @PROCMAP_RECORD_NO_FORK: MADV_DONTFORK: not in a child
 * @PROCMAP_RECORD_WIPE_ON_FORK: MADV_WIPEONFORK: zero in a child
 * @PROCMAP_RECORD_UFFD_MISSING: userfaultfd handles missing pages
 * @PROCMAP_RECORD_UFFD_WP: userfaultfd handles writes to protected pages
 * @PROCMAP_RECORD_UFFD_MINOR: userfaultfd handles minor faults
 * @PROCMAP_RECORD_UNLINKED: no directory has the file any more
 * @PROCMAP_RECORD_NAME_TOO_LONG: (output only, not allowed in @all_of, @any_of,
 *	@none_of) the name is longer than PATH_MAX
 * @PROCMAP_RECORD_BUILD_ID_UNKNOWN: (output only, likewise) the kernel does not know
 *	whether there is a build ID: the scan could not read the file, or may not
 *
 * PROCMAP_QUERY_VMA_* and PROCMAP_QUERY_FILE_BACKED_VMA are bits of a record, too.
 */
enum procmap_record_flags {
	PROCMAP_RECORD_GROWS_DOWN	= 0x00100,
	PROCMAP_RECORD_LOCKED		= 0x00200,
	PROCMAP_RECORD_HUGE		= 0x00400,
	PROCMAP_RECORD_NO_HUGE		= 0x00800,
	PROCMAP_RECORD_NO_DUMP		= 0x01000,
	PROCMAP_RECORD_NO_FORK		= 0x02000,
	PROCMAP_RECORD_WIPE_ON_FORK	= 0x04000,
	PROCMAP_RECORD_UFFD_MISSING	= 0x08000,
	PROCMAP_RECORD_UFFD_WP		= 0x10000,
	PROCMAP_RECORD_UFFD_MINOR	= 0x20000,
	PROCMAP_RECORD_UNLINKED		= 0x40000,
	PROCMAP_RECORD_NAME_TOO_LONG	= 0x80000,
	PROCMAP_RECORD_BUILD_ID_UNKNOWN	= 0x100000
};

/* procmap_record.name of a VMA without a name, or if names are not wanted */
#define PROCMAP_RECORD_NO_NAME	(~0U)

/* Sizes of the structs as first published; smaller ones are not accepted. */
#define PROCMAP_SCAN_SIZE_VER0		128
#define PROCMAP_RECORD_SIZE_VER0	96

/**
 * struct procmap_record - one VMA; all fields are out; sizes and offsets are in bytes
 * @start: first address of the VMA
 * @end: first address after the VMA
 * @offset: offset of @start in the file; 0 without a file
 * @inode: inode number of the file; 0 without a file
 * @flags: PROCMAP_RECORD_* bits, and bits of a query
 * @dev_major: major device number of the file's super block; 0 without a file
 * @dev_minor: minor device number of the file's super block; 0 without a file
 * @inode_generation: generation of the inode, which tells two files with the same
 *	number apart; 0 without a file, or if the file system has none
 * @page_shift: the page size of the VMA is 2 to the power of this
 * @generation: generation of the address space that began with the last change of this VMA:
 *	if it is above the &procmap_scan.generation of an earlier scan, the VMA has changed since;
 *	0: not known: another change has just begun, or there are no generations
 * @name: where the name, as in the maps output without escapes, begins in the area
 *	of names; PROCMAP_RECORD_NO_NAME: none. Successive VMAs of one file
 *	have one string, unless the scan has no generation.
 * @build_id_size: bytes of @build_id; 0: not wanted, or the file has none, or
 *	PROCMAP_RECORD_BUILD_ID_UNKNOWN
 * @build_id: the build ID, zeroes after it
 * @reserved: 0
 */
struct procmap_record {
	__u64 start;
	__u64 end;
	__u64 offset;
	__u64 inode;
	__u64 flags;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 inode_generation;
	__u32 page_shift;
	__u64 generation;
	__u32 name;
	__u32 build_id_size;
	__u8 build_id[20];
	__u32 reserved;
};

/**
 * struct procmap_scan - argument of PROCMAP_SCAN; sizes are in bytes
 * @size: in: size of the struct as the caller knows it
 * @flags: in: PROCMAP_SCAN_* bits; 0: neither names nor build IDs, always scan
 * @start: in: only VMAs that end above this address
 * @end: in: only VMAs that begin below this address; 0: up to the last one
 * @all_of: in: only VMAs with all these bits of a record; 0: no condition
 * @any_of: in: only VMAs with at least one of these bits; 0: no condition
 * @none_of: in: only VMAs with none of these bits; 0: no condition
 * @records: in: address of the array of records
 * @records_len: in: the size of this array, in records; 0: write none
 * @record_size: in: size of a record as the caller knows it; the kernel fills what
 *	it does not know with zeroes
 * @names: in: address of the area of names, successive strings with their NULs
 * @names_size: in: size of this area
 * @records_filled: out: how many records were written
 * @names_filled: out: bytes of names that were written
 * @reserved: in: 0
 * @next: out: the @start of the call that continues. If there is nothing more:
 *	@end, or ~0 if @end is 0
 * @known_generation: in: for PROCMAP_SCAN_IF_CHANGED a @generation, for
 *	PROCMAP_SCAN_IF_CODE_CHANGED a @code_generation of an earlier call;
 *	0: none, so that the call scans. Else not used.
 * @generation: out: the generation of the address space that held for all
 *	records; 0: there was a writer. Each record is right then, but they are
 *	no snapshot, and one may begin below the end of the one before.
 *	Calls with the same generation, not 0, make one snapshot.
 * @code_generation: out: likewise, for VMAs of files that are, or were, executable
 */
struct procmap_scan {
	__u64 size;
	__u64 flags;
	__u64 start;
	__u64 end;
	__u64 all_of;
	__u64 any_of;
	__u64 none_of;
	__u64 records;
	__u32 records_len;
	__u32 record_size;
	__u64 names;
	__u32 names_size;
	__u32 records_filled;
	__u32 names_filled;
	__u32 reserved;
	__u64 next;
	__u64 known_generation;
	__u64 generation;
	__u64 code_generation;
};

#endif /* _UAPI_LINUX_PROCMAP_SCAN_H */
