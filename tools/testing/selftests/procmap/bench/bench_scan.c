// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of procmap_bench that scan, and the text that is read and parsed for
 * the same: start, end, protection, offset, device, inode and name of each VMA.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "bench.h"

#define RECORDS		11000
#define RECORDS_SIZE	(RECORDS * sizeof(struct procmap_record))
#define NAMES_SIZE	0x100000

/* What a scan is to say; the areas are in b->area, records first. */
static struct procmap_scan scan_prepare(struct bench *b)
{
	return (struct procmap_scan) {
		.size = sizeof(struct procmap_scan),
		.flags = b->row->want & BENCH_WANT_NAME ? PROCMAP_SCAN_NAMES : 0,
		.all_of = b->row->flags,
		.records = (unsigned long)b->area,
		.records_len = RECORDS,
		.record_size = sizeof(struct procmap_record),
		.names = (unsigned long)b->area + RECORDS_SIZE,
		.names_size = NAMES_SIZE,
	};
}

static int scan_call(struct bench *b, struct procmap_scan *scan)
{
	return bench_call3(SYS_ioctl, b->fd, PROCMAP_SCAN, scan);
}

/* Memory that the kernel writes to, touched before. */
static int scan_space(struct bench *b, size_t size)
{
	const struct bench_target want = { .layout = b->row->layout, .vmas = b->row->vmas };
	int err = bench_target_get(b, &want);

	if (err)
		return err;
	b->fd = b->target->maps;
	b->area = malloc(size);
	if (!b->area)
		return bench_failed(b, "buffer", -ENOMEM);
	memset(b->area, 0x55, size);
	return 0;
}

static void scan_teardown(struct bench *b)
{
	free(b->area);
}

/* The unit is one record, or the whole scan if it has a condition. */
static int scan_setup(struct bench *b)
{
	struct procmap_scan scan;
	int err = scan_space(b, RECORDS_SIZE + NAMES_SIZE);

	if (err)
		return err;
	scan = scan_prepare(b);
	err = scan_call(b, &scan);
	if (err == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_SCAN");
	if (err)
		return bench_failed(b, "PROCMAP_SCAN", err);
	b->size = scan.records_filled;
	b->items = scan.records_filled;
	if (!b->row->flags)
		b->units = scan.records_filled;
	return 0;
}

static int scan_op(struct bench *b, unsigned int i)
{
	struct procmap_scan scan = scan_prepare(b);
	int err;

	bench_begin(b);
	err = scan_call(b, &scan);
	bench_end(b);
	if (err)
		return bench_failed(b, "PROCMAP_SCAN", err);
	if (scan.records_filled != b->size || scan.next != ~0ULL)
		return bench_failed(b, "PROCMAP_SCAN: wrong answer", -EINVAL);
	return 0;
}

/* Ask whether what is known still holds: that of all VMAs, or of code. */
static int unchanged_setup(struct bench *b)
{
	struct procmap_scan scan;
	int err = scan_setup(b);

	if (err)
		return err;
	scan = scan_prepare(b);
	err = scan_call(b, &scan);
	b->units = 1;
	b->address[0] = scan.generation;
	b->address[1] = scan.code_generation;
	if (!err && (!scan.generation || !scan.code_generation))
		return bench_unavailable(b, "the kernel has no generations");
	return err;
}

static int unchanged_op(struct bench *b, unsigned int i)
{
	struct procmap_scan scan = scan_prepare(b);
	int err;

	scan.flags = b->row->passed ? PROCMAP_SCAN_IF_CODE_CHANGED : PROCMAP_SCAN_IF_CHANGED;
	scan.known_generation = b->address[b->row->passed ? 1 : 0];
	bench_begin(b);
	err = scan_call(b, &scan);
	bench_end(b);
	if (err)
		return bench_failed(b, "PROCMAP_SCAN", err);
	if (scan.records_filled || scan.next != ~0ULL)
		return bench_failed(b, "PROCMAP_SCAN: something has changed", -EINVAL);
	return 0;
}

static int parsed_setup(struct bench *b)
{
	const struct bench_target want = { .layout = b->row->layout, .vmas = b->row->vmas };
	int err = bench_target_get(b, &want);
	long vmas;

	if (err)
		return err;
	vmas = bench_count_vmas(b->target->pid);
	if (vmas < (long)b->row->vmas)
		return bench_failed(b, "VMAs are missing", vmas < 0 ? vmas : -ENODATA);
	b->units = vmas;
	/* Dump once, to have the space for it. */
	err = bench_pass_init(&b->pass, b->target->pid, NULL, 0) ?: bench_dump_text(&b->pass);
	return err ? bench_failed(b, "parse the text", err) : 0;
}

static int parsed_op(struct bench *b, unsigned int i)
{
	int err;

	bench_begin(b);
	err = bench_dump_text(&b->pass);
	bench_end(b);
	if (err || b->pass.nr != b->units)
		return bench_failed(b, "parse the text", err ?: -EIO);
	return 0;
}

static void parsed_teardown(struct bench *b)
{
	bench_pass_free(&b->pass);
}

#define SCAN		.setup = scan_setup, .op = scan_op, .teardown = scan_teardown, \
			.vmas = 10000, .batch = 1
#define PARSED		.setup = parsed_setup, .op = parsed_op, .teardown = parsed_teardown, \
			.vmas = 10000, .batch = 1
#define UNCHANGED	.setup = unchanged_setup, .op = unchanged_op, .teardown = scan_teardown, \
			.vmas = 10000, .batch = 64

const struct bench_case bench_scan_cases[] = {
	{ .name = "scan/unchanged", UNCHANGED,
	  .what = "scan of 10,000 mappings that have not changed" },
	{ .name = "scan/code-unchanged", UNCHANGED, .passed = 1,
	  .what = "the same, asked about executable files only" },
	{ .name = "scan/libraries", .layout = BENCH_LIBRARIES, SCAN,
	  .what = "scan of 10,000 mappings, five of each file in a row, per record" },
	{ .name = "scan/libraries-names", .layout = BENCH_LIBRARIES, SCAN,
	  .want = BENCH_WANT_NAME, .what = "the same with names" },
	{ .name = "scan/anonymous", .layout = BENCH_ADJACENT, SCAN,
	  .what = "the same without files, and no names" },
	{ .name = "scan/10000-names", SCAN, .want = BENCH_WANT_NAME,
	  .what = "mixed mappings, with names, per record" },
	{ .name = "scan/executable", SCAN, .flags = BENCH_CODE, .want = BENCH_WANT_NAME,
	  .what = "all executable files among 10,000 mappings, with names" },
	{ .name = "parsed/libraries", .layout = BENCH_LIBRARIES, PARSED,
	  .what = "text of libraries, read and parsed, per mapping" },
	{ .name = "parsed/10000", PARSED, .what = "text of mixed mappings, read and parsed" },
};

const unsigned int bench_scan_nr = ARRAY_SIZE(bench_scan_cases);
