/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for tests of PROCMAP_SCAN: calls that check every byte the kernel may
 * write, and whole address spaces.
 */
#ifndef SELFTEST_PROCMAP_SCAN_H
#define SELFTEST_PROCMAP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/fs.h>

#include "procmap_util.h"

#ifndef PROCMAP_SCAN
#error "<linux/fs.h> lacks PROCMAP_SCAN: run 'make headers_install' in the patched tree first"
#endif

#define SCAN_EXTRAS	(PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS)

/**
 * struct scan - a call and its areas, with guard bytes around them
 * @s: the argument; scan_init() sets it to ask for everything
 * @records: area of records
 * @records_size: bytes of it; the guard bytes after it do not count
 * @names: area of names
 * @names_size: bytes of it, likewise
 */
struct scan {
	__u8 guard_front[PROCMAP_GUARD_SIZE];
	struct procmap_scan s;
	__u8 guard_scan[PROCMAP_GUARD_SIZE];
	struct procmap_record *records;
	size_t records_size;
	char *names;
	size_t names_size;
};

int scan_init(struct scan *scan, __u32 records, __u32 names);
void scan_free(struct scan *scan);
int scan_ioctl(int fd, void *arg);
int scan_one(int fd, const void *addr, __u64 flags, struct procmap_record *record, char *name,
	     size_t name_size);
int scan_call(int fd, struct scan *scan);

/**
 * struct scan_list - what one call or several calls have found
 * @record: the records; the names of all are in @names
 * @generation: the generation, 0 if it was not the same in all calls
 * @calls: how many calls it took
 */
struct scan_list {
	struct procmap_record *record;
	size_t nr;
	char *names;
	size_t names_size;
	__u64 generation;
	__u64 code_generation;
	unsigned int calls;
};

/**
 * struct scan_how - how to scan
 * @flags: PROCMAP_SCAN_NAMES, PROCMAP_SCAN_BUILD_IDS
 * @start: as in struct procmap_scan, as are the next four
 * @records: records that one call has space for
 * @names: bytes of names that one call has space for
 */
struct scan_how {
	__u64 flags;
	__u64 start;
	__u64 end;
	__u64 all_of;
	__u64 any_of;
	__u64 none_of;
	__u32 records;
	__u32 names;
};

int scan_list(int fd, const struct scan_how *how, struct scan_list *list);
int scan_everything(int fd, struct scan_list *list);
void scan_list_free(struct scan_list *list);
const char *scan_name(const struct scan_list *list, const struct procmap_record *record);
bool scan_same_record(const struct scan_list *one, const struct procmap_record *left,
		      const struct scan_list *two, const struct procmap_record *right);
bool scan_same(const struct scan_list *one, const struct scan_list *two);
bool scan_is_code(const struct procmap_record *record);
int scan_check(int fd, const struct maps_text *text, const struct scan_list *list);

#endif /* SELFTEST_PROCMAP_SCAN_H */
