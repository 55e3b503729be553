// SPDX-License-Identifier: GPL-2.0
/* The cases of procmap_bench that look at another process. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include "bench.h"

#define UNKNOWN_IOCTL	_IO('f', 250)
#define EXECUTABLE	(PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_FILE_BACKED_VMA | \
			 PROCMAP_QUERY_COVERING_OR_NEXT_VMA)
#define NOWAIT		(1ul << 1)	/* PROCESS_VM_NOWAIT of <linux/process_vm.h> */
#define TEXT_BUFFER	65536

/* xorshift64: the same addresses in every run. */
static uint64_t query_random(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

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

/* Does the kernel answer at all, and with all that the case is about? */
static int query_probe(struct bench *b)
{
	const char *library;
	int err;

	query_prepare(b, b->address[0]);
	err = query_call(b);
	if (err == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_QUERY");
	if (err)
		return bench_failed(b, "PROCMAP_QUERY", err);
	if ((b->row->want & BENCH_WANT_BUILD_ID) && !b->query.build_id_size)
		return bench_unavailable(b, "the kernel reports no build ID");
	if (b->row->want & BENCH_WANT_NAME) {
		err = bench_library(&library);
		if (err || strcmp(b->name, library))
			return bench_failed(b, "wrong name", err ?: -EINVAL);
	}
	return 0;
}

static int query_use_target(struct bench *b)
{
	int err = bench_target_get(b, b->row->layout, b->row->vmas);

	if (!err)
		b->fd = b->target->maps;
	return err;
}

static int query_setup_random(struct bench *b)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	const struct bench_target *t;
	int err = query_use_target(b);
	unsigned int i;

	if (err)
		return err;
	t = b->target;
	for (i = 0; i < BENCH_ADDRESSES; i++)
		b->address[i] = t->area + query_random() % t->made * t->stride +
				query_random() % page;
	return query_probe(b);
}

/* Every operation asks for the same address. */
static int query_setup_address(struct bench *b, unsigned long address)
{
	unsigned int i;

	for (i = 0; i < BENCH_ADDRESSES; i++)
		b->address[i] = address;
	return query_probe(b);
}

static int query_setup_library(struct bench *b)
{
	return query_use_target(b) ?: query_setup_address(b, b->target->library);
}

/* The filter passes over the last VMAs of the area, then finds the library. */
static int query_setup_walk(struct bench *b)
{
	const struct bench_target *t;
	int err = query_use_target(b);

	if (err)
		return err;
	t = b->target;
	err = query_setup_address(b, t->area + (t->made - b->row->passed) * t->stride);
	if (!err && b->query.vma_start != t->library)
		return bench_failed(b, "the filtered walk found another VMA", -EINVAL);
	return err;
}

static int query_setup_self(struct bench *b)
{
	b->fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (b->fd < 0)
		return bench_failed(b, "/proc/self/maps", -errno);
	return query_setup_address(b, (unsigned long)&bench_overhead);
}

static void query_teardown_self(struct bench *b)
{
	if (b->fd >= 0)
		close(b->fd);
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

static int text_setup(struct bench *b)
{
	int err = query_use_target(b);

	if (err)
		return err;
	b->size = TEXT_BUFFER;
	b->area = malloc(b->size);
	if (!b->area)
		return bench_failed(b, "buffer", -ENOMEM);
	memset(b->area, 0, b->size);
	snprintf(b->name, sizeof(b->name), "/proc/%d/maps", b->target->pid);
	b->units = b->row->vmas;
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
	if (done < 0 || bytes < b->row->vmas * 40)
		return bench_failed(b, "read the text", done ?: -EIO);
	return 0;
}

static void text_teardown(struct bench *b)
{
	free(b->area);
}

static long readv_call(struct bench *b, uint64_t *word)
{
	struct iovec local = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec remote = { .iov_base = (void *)b->target->word, .iov_len = sizeof(*word) };
	long done;

	bench_begin(b);
	done = bench_call6(SYS_process_vm_readv, b->target->pid, &local, 1, &remote, 1,
			   b->row->flags);
	bench_end(b);
	return done;
}

static int readv_setup(struct bench *b)
{
	uint64_t word = 0;
	long done;
	int err = query_use_target(b);

	if (err)
		return err;
	done = readv_call(b, &word);
	if (done == -EINVAL && b->row->flags)
		return bench_unavailable(b, "the kernel has no PROCESS_VM_NOWAIT");
	if (done < 0)
		return bench_failed(b, "process_vm_readv()", done);
	return 0;
}

static int readv_op(struct bench *b, unsigned int i)
{
	uint64_t word = 0;
	long done = readv_call(b, &word);

	if (done != sizeof(word) || word != 0x0123456789abcdef)
		return bench_failed(b, "process_vm_readv(): wrong answer", done < 0 ? done : -EIO);
	return 0;
}

#define QUERY_RANDOM(label, nr)							\
	{ .name = "query/covering/" label, .vmas = nr, .batch = BENCH_ADDRESSES,	\
	  .what = "covering query, random address, process with " label " VMAs",	\
	  .setup = query_setup_random, .op = query_op }

#define QUERY_LIBRARY(label, wanted, text)					\
	{ .name = "query/library/" label, .vmas = 10000, .want = wanted, .batch = 64, \
	  .what = "covering query of a library, " text,				\
	  .setup = query_setup_library, .op = query_op }

#define QUERY_WALK(kind, where, label, nr)					\
	{ .name = "walk/" kind "/" label, .vmas = 10000, .layout = where, .passed = nr,	\
	  .flags = EXECUTABLE, .batch = nr < 1000 ? 64 : 1,				\
	  .what = "next executable file VMA behind " label " others (" kind ")",	\
	  .setup = query_setup_walk, .op = query_op }

const struct bench_case bench_query_cases[] = {
	{ .name = "ioctl/unknown", .vmas = 30, .batch = 64, .what = "unknown ioctl on maps (floor)",
	  .setup = query_use_target, .op = unknown_op },
	QUERY_RANDOM("30", 30),
	QUERY_RANDOM("1000", 1000),
	QUERY_RANDOM("10000", 10000),
	QUERY_LIBRARY("plain", 0, "no name, no build ID"),
	QUERY_LIBRARY("name", BENCH_WANT_NAME, "with the name"),
	QUERY_LIBRARY("build-id", BENCH_WANT_BUILD_ID, "with the build ID"),
	QUERY_LIBRARY("both", BENCH_WANT_NAME | BENCH_WANT_BUILD_ID, "with name and build ID"),
	{ .name = "text/10000", .vmas = 10000, .batch = 1,
	  .what = "text of 10,000 VMAs, open to end, per VMA",
	  .setup = text_setup, .op = text_op, .teardown = text_teardown },
	{ .name = "readv/8", .vmas = 10000, .batch = 64,
	  .what = "process_vm_readv() of 8 resident bytes, flags 0",
	  .setup = readv_setup, .op = readv_op },
	{ .name = "readv/8-nowait", .vmas = 10000, .batch = 64, .flags = NOWAIT,
	  .what = "process_vm_readv() of 8 resident bytes, NOWAIT",
	  .setup = readv_setup, .op = readv_op },
	{ .name = "query/self", .batch = 64, .what = "covering query, own address space",
	  .setup = query_setup_self, .op = query_op, .teardown = query_teardown_self },
	QUERY_WALK("adjacent", BENCH_ADJACENT, "10", 10),
	QUERY_WALK("adjacent", BENCH_ADJACENT, "10000", 10000),
	QUERY_WALK("holes", BENCH_HOLES, "10", 10),
	QUERY_WALK("holes", BENCH_HOLES, "10000", 10000),
	QUERY_RANDOM("100000", 100000),
};

const unsigned int bench_query_nr = ARRAY_SIZE(bench_query_cases);
