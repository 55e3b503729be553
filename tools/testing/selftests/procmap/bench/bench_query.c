// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of procmap_bench that look at another process by single calls, and
 * by reading the text.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include "bench.h"

#define UNKNOWN_IOCTL	_IO('f', 250)
#define PIDFD		0x1	/* PROCESS_VM_PIDFD of <linux/process_vm.h> */
#define NOWAIT		0x2	/* PROCESS_VM_NOWAIT */
#define TEXT_BUFFER	65536
#define LONG_FILE	0x40000000
#define RECORDS		11000
#define RECORDS_SIZE	(RECORDS * sizeof(struct procmap_record))
#define NAMES_SIZE	0x100000

static int query_call(struct bench *b)
{
	return bench_call3(SYS_ioctl, b->fd, PROCMAP_QUERY, &b->query);
}

static void query_prepare(struct bench *b, unsigned long address)
{
	struct procmap_query *q = &b->query;

	q->size = sizeof(*q);
	q->query_flags = b->row->flags;
	q->query_addr = address;
	q->vma_name_addr = b->row->want & BENCH_WANT_NAME ? (unsigned long)b->name : 0;
	q->vma_name_size = q->vma_name_addr ? sizeof(b->name) : 0;
	q->build_id_addr = b->row->want & BENCH_WANT_BUILD_ID ? (unsigned long)b->build_id : 0;
	q->build_id_size = q->build_id_addr ? sizeof(b->build_id) : 0;
}

/* Check that the kernel answers with everything that the case needs. */
static int query_probe(struct bench *b)
{
	int err;

	query_prepare(b, b->address[0]);
	err = query_call(b);
	if (err == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_QUERY");
	if (err)
		return bench_failed(b, "PROCMAP_QUERY", err);
	if ((b->row->want & BENCH_WANT_BUILD_ID) && !b->query.build_id_size)
		return bench_unavailable(b, "the kernel reports no build ID");
	if ((b->row->want & BENCH_WANT_NAME) && strcmp(b->name, bench_library))
		return bench_failed(b, "wrong name", -EINVAL);
	return 0;
}

static int query_setup_random(struct bench *b)
{
	static __u64 state = 0x9e3779b97f4a7c15;
	const unsigned long page = sysconf(_SC_PAGESIZE);
	const struct bench_target *t;
	int err = bench_target_get(b);
	unsigned int i;

	if (err)
		return err;
	t = b->target;
	for (i = 0; i < BENCH_ADDRESSES; i++)
		b->address[i] = t->area + bench_random(&state) % t->made * t->stride +
				bench_random(&state) % page;
	return query_probe(b);
}

/* Let every operation ask for the same address. */
static int query_setup_address(struct bench *b, unsigned long address)
{
	unsigned int i;

	for (i = 0; i < BENCH_ADDRESSES; i++)
		b->address[i] = address;
	return query_probe(b);
}

static int query_setup_library(struct bench *b)
{
	return bench_target_get(b) ?: query_setup_address(b, b->target->library);
}

/* Make the file longer by a hole. Reading a hole works like reading data. */
static int query_setup_long(struct bench *b)
{
	int err = query_setup_library(b);

	if (!err && truncate(bench_library, LONG_FILE))
		return bench_failed(b, "a longer file", -errno);
	return err;
}

/* The filter passes over the last VMAs of the area. Then it finds the library. */
static int query_setup_walk(struct bench *b)
{
	const struct bench_target *t;
	int err = bench_target_get(b);

	if (err)
		return err;
	t = b->target;
	err = query_setup_address(b, t->area + (t->made - b->row->passed) * t->stride);
	if (!err && b->query.vma_start != t->library)
		return bench_failed(b, "the filtered walk found another mapping", -EINVAL);
	return err;
}

static int query_op(struct bench *b, unsigned int i)
{
	const unsigned long address = b->address[i % BENCH_ADDRESSES];
	int err;

	query_prepare(b, address);
	bench_begin(b);
	err = query_call(b);
	bench_end(b);
	if (err)
		return bench_failed(b, "PROCMAP_QUERY", err);
	if (address >= b->query.vma_end ||
	    (address < b->query.vma_start &&
	     !(b->row->flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA)))
		return bench_failed(b, "PROCMAP_QUERY: wrong answer", -EINVAL);
	return 0;
}

static int unknown_op(struct bench *b, unsigned int i)
{
	int err;

	bench_begin(b);
	err = bench_call3(SYS_ioctl, b->fd, UNKNOWN_IOCTL, 0);
	bench_end(b);
	return err == -ENOTTY ? 0 : bench_failed(b, "unknown ioctl", err ?: -EINVAL);
}

/* Get the process, and memory that the kernel writes to, touched before. */
static int space_setup(struct bench *b, size_t size)
{
	int err = bench_target_get(b);

	if (err)
		return err;
	b->size = size;
	b->area = malloc(size);
	if (!b->area)
		return bench_failed(b, "buffer", -ENOMEM);
	memset(b->area, 0x55, size);
	return 0;
}

static void space_teardown(struct bench *b)
{
	free(b->area);
}

static int text_setup(struct bench *b)
{
	int err = space_setup(b, TEXT_BUFFER);
	long vmas;

	if (err)
		return err;
	snprintf(b->name, sizeof(b->name), "/proc/%d/maps", b->target->child.pid);
	vmas = bench_count_vmas(b->target->child.pid);
	if (vmas < (long)b->row->vmas)
		return bench_failed(b, "VMAs are missing", vmas < 0 ? vmas : -ENODATA);
	b->units = vmas;
	return 0;
}

static int text_op(struct bench *b, unsigned int i)
{
	unsigned long bytes = 0;
	long done;
	int fd;

	bench_begin(b);
	fd = bench_call3(SYS_openat, AT_FDCWD, b->name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return bench_failed(b, "open the text", fd);
	while ((done = bench_call3(SYS_read, fd, b->area, b->size)) > 0)
		bytes += done;
	bench_end(b);
	close(fd);
	if (done < 0 || bytes < b->units * 40ul)
		return bench_failed(b, "read the text", done ?: -EIO);
	return 0;
}

static long readv_call(struct bench *b, __u64 *word)
{
	struct iovec local = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec remote = { .iov_base = (void *)b->target->word, .iov_len = sizeof(*word) };
	long done;

	bench_begin(b);
	done = bench_call6(SYS_process_vm_readv,
			   b->row->flags & PIDFD ? b->fd : b->target->child.pid, &local, 1,
			   &remote, 1, b->row->flags);
	bench_end(b);
	return done;
}

static int readv_setup(struct bench *b)
{
	__u64 word = 0;
	long done;
	int err = bench_target_get(b);

	if (err)
		return err;
	b->fd = b->row->flags & PIDFD ? syscall(SYS_pidfd_open, b->target->child.pid, 0) : -1;
	done = readv_call(b, &word);
	if (done == -EINVAL && b->row->flags)
		return bench_unavailable(b, "the kernel has no flags of process_vm_readv()");
	if (done < 0)
		return bench_failed(b, "process_vm_readv()", done);
	return 0;
}

static int readv_op(struct bench *b, unsigned int i)
{
	__u64 word = 0;
	long done = readv_call(b, &word);

	if (done != sizeof(word) || word != BENCH_WORD)
		return bench_failed(b, "process_vm_readv(): wrong answer", done < 0 ? done : -EIO);
	return 0;
}

static void readv_teardown(struct bench *b)
{
	if (b->fd >= 0)
		close(b->fd);
}

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

static int scan_setup(struct bench *b)
{
	struct procmap_scan scan;
	int err = space_setup(b, RECORDS_SIZE + NAMES_SIZE);

	if (err)
		return err;
	scan = scan_prepare(b);
	err = scan_call(b, &scan);
	if (err == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_SCAN");
	if (err)
		return bench_failed(b, "PROCMAP_SCAN", err);
	b->items = scan.records_filled;
	if (b->row->each)
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
	if (scan.records_filled != b->items || scan.next != ~0ULL)
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

#define RANDOM	.setup = query_setup_random, .op = query_op, .batch = BENCH_ADDRESSES, \
		.what = "covering query, random address; number of mappings: see the name"
#define LIBRARY	.setup = query_setup_library, .op = query_op, .vmas = 10000, .batch = 64
#define TEXT	.setup = text_setup, .op = text_op, .teardown = space_teardown, .vmas = 10000, \
		.batch = 1
#define READV	.setup = readv_setup, .op = readv_op, .teardown = readv_teardown, \
		.vmas = 10000, .batch = 64
#define WALK	.setup = query_setup_walk, .op = query_op, .vmas = 10000, \
		.flags = BENCH_CODE | PROCMAP_QUERY_COVERING_OR_NEXT_VMA, \
		.what = "next executable mapping of a file, after so many others"
#define SCAN	.setup = scan_setup, .op = scan_op, .teardown = space_teardown, .vmas = 10000, \
		.batch = 1
#define UNCHANGED .setup = unchanged_setup, .op = unchanged_op, .teardown = space_teardown, \
		.vmas = 10000, .batch = 64

const struct bench_row bench_query_rows[] = {
	{ .name = "ioctl/unknown", .vmas = 30, .batch = 64, .setup = bench_target_get,
	  .op = unknown_op, .what = "unknown ioctl on maps: the floor" },
	{ .name = "query/covering/30", .vmas = 30, RANDOM },
	{ .name = "query/covering/1000", .vmas = 1000, RANDOM },
	{ .name = "query/covering/10000", .vmas = 10000, RANDOM },
	{ .name = "query/library/plain", LIBRARY,
	  .what = "covering query of a library, no name, no build ID" },
	{ .name = "query/library/name", LIBRARY, .want = BENCH_WANT_NAME,
	  .what = "the same with the name" },
	{ .name = "query/library/build-id", LIBRARY, .want = BENCH_WANT_BUILD_ID,
	  .what = "the same with the build ID" },
	{ .name = "query/library/long", .setup = query_setup_long, .op = query_op, .vmas = 10000,
	  .batch = 64, .want = BENCH_WANT_BUILD_ID,
	  .what = "the build ID, when the file is a gigabyte long" },
	{ .name = "text/10000", TEXT, .what = "text of 10,000 mappings, open to end, per mapping" },
	{ .name = "text/libraries", .layout = BENCH_LIBRARIES, TEXT,
	  .what = "the same with files only, five mappings of each in a row" },
	{ .name = "text/anonymous", .layout = BENCH_ADJACENT, TEXT,
	  .what = "the same without files or names" },
	{ .name = "readv/8", READV, .what = "process_vm_readv() of 8 resident bytes" },
	{ .name = "readv/8-nowait", READV, .flags = NOWAIT,
	  .what = "the same with PROCESS_VM_NOWAIT" },
	{ .name = "readv/8-pidfd", READV, .flags = PIDFD,
	  .what = "the same with PROCESS_VM_PIDFD" },
	{ .name = "readv/8-both", READV, .flags = PIDFD | NOWAIT,
	  .what = "the same with both flags" },
	{ .name = "walk/adjacent/10", .layout = BENCH_ADJACENT, .passed = 10, .batch = 64, WALK },
	{ .name = "walk/adjacent/10000", .layout = BENCH_ADJACENT, .passed = 10000, .batch = 1,
	  WALK },
	{ .name = "walk/holes/10", .layout = BENCH_HOLES, .passed = 10, .batch = 64, WALK },
	{ .name = "walk/holes/10000", .layout = BENCH_HOLES, .passed = 10000, .batch = 1, WALK },
	{ .name = "query/covering/100000", .vmas = 100000, RANDOM },
	{ .name = "scan/unchanged", UNCHANGED,
	  .what = "scan of 10,000 mappings that have not changed" },
	{ .name = "scan/code-unchanged", UNCHANGED, .passed = 1,
	  .what = "the same, asked about executable files only" },
	{ .name = "scan/libraries", .layout = BENCH_LIBRARIES, SCAN, .each = true,
	  .what = "scan of 10,000 mappings, five of each file in a row, per record" },
	{ .name = "scan/libraries-names", .layout = BENCH_LIBRARIES, SCAN, .each = true,
	  .want = BENCH_WANT_NAME, .what = "the same with names" },
	{ .name = "scan/anonymous", .layout = BENCH_ADJACENT, SCAN, .each = true,
	  .what = "the same without files, and no names" },
	{ .name = "scan/anonymous-names", .layout = BENCH_ADJACENT, SCAN, .each = true,
	  .want = BENCH_WANT_NAME, .what = "the same, asked for names" },
	{ .name = "scan/mixed", SCAN, .each = true, .what = "mixed mappings, per record" },
	{ .name = "scan/mixed-names", SCAN, .each = true, .want = BENCH_WANT_NAME,
	  .what = "the same with names" },
	{ .name = "scan/executable", SCAN, .flags = BENCH_CODE, .want = BENCH_WANT_NAME,
	  .what = "all executable files among 10,000 mappings, with names" },
	{ }
};
