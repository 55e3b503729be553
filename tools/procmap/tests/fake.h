/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel for tests: answers PROCMAP_QUERY and PROCMAP_SCAN in user space, and
 * makes system calls and allocations fail. Linked with --wrap, so the tests use
 * the unchanged library.
 */
#ifndef PROCMAP_FAKE_H
#define PROCMAP_FAKE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include "../libprocmap.h"

/**
 * struct fake - what the fake kernel does
 * @table: VMAs for the answers, ascending; NULL: those in the text of the
 *	descriptor
 * @nr: number of VMAs in @table
 * @real: leave queries and scans to the real kernel
 * @version: FS_IOC_GETVERSION writes a long: this number, and ones above it; 0: leave
 *	it to the real kernel
 * @fuse: all files are on FUSE
 * @no_scan: there are no scans
 * @query_errno: queries and scans fail with this error
 * @query_errno_from: number of the first query, or scan, that fails
 * @lie_from: number of the first query whose answer has a wrong offset
 * @lie_to: number of the last such query
 * @garbage: answer with impossible sizes
 * @check_fd: take no other descriptors than those of /proc/PID/maps
 * @unlinked: scans say that files are
 * @unread: files could not be read for build IDs
 * @generation: of the address space; 0: a writer is always at work
 * @code_generation: likewise, of code
 * @queries: number of queries so far
 * @scans: number of scans so far
 * @asks: number of scans without space for records
 * @records: number of records that they filled
 * @build_ids: number of queries and scans that asked for build IDs
 * @cost: instructions of a real kernel for all of them, about
 * @read_errno: pread() fails with this error
 * @read_max: pread() returns at most as many bytes; 0: there is no limit
 * @read_eof_from: pread() finds the end of the file from this call on; 0: never
 * @reads: number of calls of pread() so far
 * @alloc_fail: the allocation with this number fails; 0: none
 * @allocs: number of allocations so far
 */
struct fake {
	const struct procmap_vma *table;
	size_t nr;
	bool real;
	unsigned int version;
	bool fuse;
	bool no_scan;
	int query_errno;
	unsigned long query_errno_from;
	unsigned long lie_from;
	unsigned long lie_to;
	bool garbage;
	bool check_fd;
	bool unlinked;
	bool unread;
	uint64_t generation;
	uint64_t code_generation;
	unsigned long queries;
	unsigned long scans;
	unsigned long asks;
	unsigned long records;
	unsigned long build_ids;
	unsigned long cost;
	int read_errno;
	size_t read_max;
	unsigned long read_eof_from;
	unsigned long reads;
	unsigned long alloc_fail;
	unsigned long allocs;
};

/* What fake.cost consists of. */
enum {
	FAKE_COST_QUERY		= 1000,
	FAKE_COST_QUERY_NAME	= 1700,
	FAKE_COST_ASK		= 420,
	FAKE_COST_SCAN		= 800,
	FAKE_COST_RECORD	= 124,
	FAKE_COST_NAME		= 350,
};

extern struct fake fake;

/* Fail as a system call does. Returns -1. */
int fake_fail(int err);

/*
 * Find the first VMA that ends above @addr and has the flags @filters. @live is zeroed
 * space for one out of the text; its name_buf is to be freed. Returns NULL with errno ENOENT
 * or ESRCH if there is none.
 */
const struct procmap_vma *fake_find(int fd, uint64_t addr, unsigned int filters,
				    struct procmap_vma *live);

struct procmap_scan;

/* Answer PROCMAP_SCAN. Returns as ioctl(). */
int fake_scan(int fd, struct procmap_scan *scan);

/*
 * Find as fake_find() does, in the text of a descriptor. This parser is independent of the
 * library's, to check it. The name is to be freed with procmap_vma_free(). Returns 0, or -1.
 */
int fake_text_vma(int fd, uint64_t addr, unsigned int filters, struct procmap_vma *vma);

/* The real functions, and those that --wrap uses instead. */
int __wrap_procmap_fd_check(int fd);
int __real_procmap_fd_check(int fd);
int __wrap_fstatfs64(int fd, struct statfs *fs);
int __real_fstatfs64(int fd, struct statfs *fs);
int __wrap_ioctl(int fd, unsigned long command, ...);
int __real_ioctl(int fd, unsigned long command, ...);
ssize_t __wrap_pread64(int fd, void *buf, size_t size, off_t pos);
ssize_t __real_pread64(int fd, void *buf, size_t size, off_t pos);
void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t nr, size_t size);
void *__real_reallocarray(void *old, size_t nr, size_t size);
char *__wrap_strdup(const char *s);
char *__real_strdup(const char *s);

#endif /* PROCMAP_FAKE_H */
