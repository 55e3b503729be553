// SPDX-License-Identifier: GPL-2.0
/*
 * The passes of procmap_bench with PROCMAP_QUERY and with PROCMAP_SCAN. The
 * records of a scan are the result, as a program can use them as they are. They
 * become VMAs only where that does not count, or where a program would keep less
 * of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"
#include "bench_pass.h"

#define QUERY_NAME	4096

static int query_open(const struct bench_pass *pass)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pass->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void query_prepare(struct procmap_query *q, __u64 address, __u64 flags, char *name)
{
	q->size = sizeof(*q);
	q->query_flags = flags;
	q->query_addr = address;
	q->vma_name_addr = (unsigned long)name;
	q->vma_name_size = QUERY_NAME;
	q->build_id_addr = 0;
	q->build_id_size = 0;
}

/* Query the build ID only if no earlier VMA of the same file has it. */
static int query_build_id(struct bench_pass *pass, int fd, struct bench_vma *vma)
{
	const struct bench_vma *same = bench_pass_same_file(pass);
	struct procmap_query q = { .size = sizeof(q), .query_addr = vma->start };
	int err;

	if (same) {
		vma->build_id_size = same->build_id_size;
		memcpy(vma->build_id, same->build_id, sizeof(vma->build_id));
		return 0;
	}
	q.build_id_addr = (unsigned long)vma->build_id;
	q.build_id_size = sizeof(vma->build_id);
	err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
	vma->build_id_size = q.build_id_size;
	return err;
}

static int query_take(struct bench_pass *pass, int fd, const struct procmap_query *q,
		      const char *name)
{
	struct bench_vma *vma;

	vma = bench_pass_add(pass, name, q->vma_name_size ? q->vma_name_size - 1 : 0);
	if (!vma)
		return -ENOMEM;
	vma->start = q->vma_start;
	vma->end = q->vma_end;
	vma->offset = q->vma_offset;
	vma->inode = q->inode;
	vma->dev_major = q->dev_major;
	vma->dev_minor = q->dev_minor;
	if (!pass->build_id || (!vma->inode && !vma->dev_major && !vma->dev_minor))
		return 0;
	return query_build_id(pass, fd, vma);
}

/*
 * Find the VMAs of the addresses with queries.
 *
 * An address in the VMA of the previous one needs no query.
 */
int bench_symbolize_query(struct bench_pass *pass)
{
	char name[QUERY_NAME];
	struct procmap_query q = { 0 };
	int fd = query_open(pass), err = 0;
	__u64 end = 0;
	size_t i;

	bench_pass_begin(pass);
	if (fd < 0)
		return fd;
	for (i = 0; i < pass->addresses && !err; i++) {
		if (pass->address[i] < end) {
			pass->index[i] = pass->nr - 1;
			continue;
		}
		query_prepare(&q, pass->address[i], 0, name);
		err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
		if (err == -ENOENT) {
			pass->index[i] = BENCH_NOT_MAPPED;
			err = 0;
			continue;
		}
		if (!err)
			err = query_take(pass, fd, &q, name);
		pass->index[i] = pass->nr - 1;
		end = q.vma_end;
	}
	close(fd);
	return err;
}

/* Query one VMA after the other, as far as they fit the filter. */
static __always_inline int query_all(struct bench_pass *pass, const __u64 filter, const bool dump)
{
	char name[QUERY_NAME];
	struct procmap_query q = { 0 };
	int fd = query_open(pass), err = 0;

	bench_pass_begin(pass);
	if (fd < 0)
		return fd;
	while (!err) {
		query_prepare(&q, q.vma_end, PROCMAP_QUERY_COVERING_OR_NEXT_VMA | filter, name);
		err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
		if (!err)
			err = query_take(pass, fd, &q, name);
		if (!err && dump)
			pass->vma[pass->nr - 1].flags = q.vma_flags;
	}
	close(fd);
	return err == -ENOENT ? 0 : err;
}

/* Find all executable file VMAs with queries. */
int bench_synthesize_query(struct bench_pass *pass)
{
	return query_all(pass, BENCH_CODE, false);
}

/* Take all VMAs with queries. */
int bench_dump_query(struct bench_pass *pass)
{
	return query_all(pass, 0, true);
}

#define SCAN_RECORDS	1024
#define SCAN_NAMES	4096	/* enough for each name */
#define SCAN_PROTECTION	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE | \
			 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED)

/* Double the space for records and, if they are wanted, that for names. */
static int scan_more_space(struct bench_pass *pass, bool names)
{
	size_t nr = pass->records_max ? 2 * pass->records_max : SCAN_RECORDS;
	void *more = realloc(pass->records, nr * sizeof(*pass->records));

	if (!more)
		return -ENOMEM;
	pass->records = more;
	pass->records_max = nr;
	return names ? bench_pass_space(pass, 0, pass->names_max) : 0;
}

/*
 * Scan into the records of a pass.
 * @pass: out: the records, and the names after the empty one
 * @scan: flags, conditions and known generation; out: the answer
 *
 * Once there is space for all, it is one call.
 */
int bench_pass_scan(struct bench_pass *pass, int fd, struct procmap_scan *scan)
{
	const bool names = scan->flags & PROCMAP_SCAN_NAMES;
	int err = pass->records ? 0 : scan_more_space(pass, names);

	scan->size = sizeof(*scan);
	scan->record_size = sizeof(*pass->records);
	while (!err) {
		scan->records = (unsigned long)pass->records;
		scan->records_len = pass->records_max;
		scan->names = names ? (unsigned long)pass->names + 1 : 0;
		scan->names_size = names ? pass->names_max - 1 : 0;
		err = bench_call3(SYS_ioctl, fd, PROCMAP_SCAN, scan);
		if (err || scan->next == ~0ULL)
			break;
		err = scan_more_space(pass, names);
	}
	pass->found = scan->records_filled;
	return err;
}

/*
 * Turn the records of the last scan into VMAs. Returns 0 or -ENOMEM.
 * @pass: in: records and names; out: the VMAs
 */
int bench_pass_take_records(struct bench_pass *pass)
{
	const struct procmap_record *from = pass->records;
	struct bench_vma *vma;
	int err;

	pass->nr = 0;
	err = bench_pass_space(pass, pass->found, 0);
	if (err)
		return err;
	for (vma = pass->vma; pass->nr < pass->found; vma++, from++, pass->nr++) {
		*vma = (struct bench_vma) {
			.start = from->start,
			.end = from->end,
			.offset = from->offset,
			.inode = from->inode,
			.dev_major = from->dev_major,
			.dev_minor = from->dev_minor,
			/* The kernel counts from after the empty name. */
			.name = from->name == PROCMAP_RECORD_NO_NAME ? 0 : from->name + 1,
			.flags = from->flags & SCAN_PROTECTION,
		};
	}
	return 0;
}

static int scan_pass(struct bench_pass *pass, __u64 all_of)
{
	struct procmap_scan scan = { .flags = PROCMAP_SCAN_NAMES, .all_of = all_of };
	char path[64];
	int fd, err;

	bench_pass_begin(pass);
	snprintf(path, sizeof(path), "/proc/%d/maps", pass->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = bench_pass_scan(pass, fd, &scan);
	close(fd);
	return err;
}

/*
 * Find all executable file VMAs with a scan.
 * @pass: the task; out: the records
 */
int bench_synthesize_scan(struct bench_pass *pass)
{
	return scan_pass(pass, BENCH_CODE);
}

/*
 * Take all VMAs with a scan.
 * @pass: the task; out: the records
 */
int bench_dump_scan(struct bench_pass *pass)
{
	return scan_pass(pass, 0);
}
