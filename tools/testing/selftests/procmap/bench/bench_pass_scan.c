// SPDX-License-Identifier: GPL-2.0
/*
 * The passes of procmap_bench with PROCMAP_SCAN. The records are the result, as
 * a program can use them as they are. They become VMAs only where that does not
 * count, or where a program would keep less of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "bench.h"
#include "bench_pass.h"

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

/**
 * bench_pass_scan() - scan into the records of a pass
 * @pass: out: the records, and the names after the empty one
 * @fd: descriptor of /proc/<pid>/maps
 * @scan: flags, conditions and known generation; out: the answer
 *
 * Once there is space for all, it is one call.
 *
 * Return: 0 or -errno
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

/**
 * bench_pass_take_records() - turn the records of the last scan into VMAs
 * @pass: in: records and names; out: the VMAs
 *
 * Return: 0 or -ENOMEM
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

/**
 * bench_synthesize_scan() - find all executable file VMAs with a scan
 * @pass: the task; out: the records
 *
 * Return: 0 or -errno
 */
int bench_synthesize_scan(struct bench_pass *pass)
{
	return scan_pass(pass, BENCH_CODE);
}

/**
 * bench_dump_scan() - take all VMAs with a scan
 * @pass: the task; out: the records
 *
 * Return: 0 or -errno
 */
int bench_dump_scan(struct bench_pass *pass)
{
	return scan_pass(pass, 0);
}
