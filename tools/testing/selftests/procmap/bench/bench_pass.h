/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The passes that procmap_bench compares. The symbolizer pass finds the mapping
 * of each address of a profile. The synthesizer pass finds all executable
 * mappings of files, as "perf record" does when it starts to watch a process.
 * The dump takes all mappings. Each pass exists with the text of
 * /proc/<pid>/maps and with queries, the last two also with a scan. All are
 * written as well as possible.
 */
#ifndef SELFTEST_PROCMAP_BENCH_PASS_H
#define SELFTEST_PROCMAP_BENCH_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

#define BENCH_BUILD_ID_MAX	20
#define BENCH_PASS_NAMES	0x100000	/* initial bytes of all names */
#define BENCH_NOT_MAPPED	(-1u)

struct procmap_record;
struct procmap_scan;

/**
 * struct bench_vma - the result of a pass for one VMA
 * @name: offset of its name in the names; the empty name is at 0
 * @flags: after a dump: the bits of its protection, as a query has them
 */
struct bench_vma {
	__u64 start;
	__u64 end;
	__u64 offset;
	__u64 inode;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 name;
	__u32 build_id_size;
	unsigned char build_id[BENCH_BUILD_ID_MAX];
	__u32 flags;
};

/**
 * struct bench_pass - the task of a pass, and its results
 * @pid: the process
 * @build_id: get build IDs, too
 * @no_names: take no names from the text
 * @flags: the results have the protection; else @vma.flags means nothing
 * @address: for the symbolizer pass: the addresses, ascending
 * @addresses: their number
 * @index: the number in @vma of each address's VMA, or BENCH_NOT_MAPPED
 * @vma: the VMAs that were found
 * @nr: their number
 * @names: their names
 * @used: bytes of @names in use
 * @buffer: buffer for the text
 * @records: the records of a scan; their names are in @names, after the empty one
 * @records_max: how many there is space for
 * @found: how many there are
 */
struct bench_pass {
	pid_t pid;
	bool build_id;
	bool no_names;
	bool flags;
	const unsigned long *address;
	size_t addresses;
	__u32 *index;
	struct bench_vma *vma;
	size_t nr;
	size_t vma_max;
	char *names;
	size_t used;
	size_t names_max;
	char *buffer;
	struct procmap_record *records;
	size_t records_max;
	size_t found;
};

/* bench_pass.c */
int bench_pass_init(struct bench_pass *pass, pid_t pid, const unsigned long *address, size_t nr);
void bench_pass_free(struct bench_pass *pass);
void bench_pass_begin(struct bench_pass *pass);
int bench_pass_space(struct bench_pass *pass, size_t vmas, size_t names);
struct bench_vma *bench_pass_add(struct bench_pass *pass, const char *name, size_t len);
const struct bench_vma *bench_pass_same_file(const struct bench_pass *pass);
const char *bench_pass_differ(const struct bench_pass *a, const struct bench_pass *b);

/* bench_pass_maps.c */
int bench_symbolize_text(struct bench_pass *pass);
int bench_synthesize_text(struct bench_pass *pass);
int bench_dump_text(struct bench_pass *pass);

/* bench_pass_query.c */
int bench_symbolize_query(struct bench_pass *pass);
int bench_synthesize_query(struct bench_pass *pass);
int bench_dump_query(struct bench_pass *pass);
int bench_pass_scan(struct bench_pass *pass, int fd, struct procmap_scan *scan);
int bench_pass_take_records(struct bench_pass *pass);
int bench_synthesize_scan(struct bench_pass *pass);
int bench_dump_scan(struct bench_pass *pass);

#endif /* SELFTEST_PROCMAP_BENCH_PASS_H */
