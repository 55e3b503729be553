// SPDX-License-Identifier: GPL-2.0
/*
 * Which bytes, and how many, a call copies. The test reads and writes the
 * memory of a process with holes, in pieces of all kinds, and compares the
 * results with a model. A hole is memory that is not available, or with NOWAIT
 * not without waiting. Some holes are there only for writes: with NOWAIT these
 * end at what is not mapped writable.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/userfaultfd.h>

#include "pvm_harness.h"

#define PAGES		24
#define ROUNDS		400
#define MAX_PIECES	12
#define SEED		20261120
/* Between the last two holes are more pages than the kernel looks up at a time. */
static const int holes[] = { 2, 3, 5, 23 };

enum hole { UNMAPPED, FORBIDDEN, UNANSWERED, READ_ONLY, UNTOUCHED, FORKED };

/**
 * struct area - the memory that is copied from or to
 * @pid: the process that has it
 * @flags: flags of the calls
 * @there: its address in the other process
 * @shadow: the content that it must have
 * @seen: buffer for the content that it has
 * @here: local buffer of the same size
 * @expected: the content that @here must have after a call
 * @noise: bytes to write, one page more than the size of the memory
 * @hole: the pages that are not available
 * @readable: holes are there only for writes
 */
struct area {
	pid_t pid;
	unsigned long flags;
	char *there;
	unsigned char *shadow;
	unsigned char *seen;
	unsigned char *here;
	unsigned char *expected;
	unsigned char *noise;
	bool hole[PAGES];
	bool readable;
	size_t page;
	size_t size;
};

FIXTURE(count) {
	struct area area;
	enum hole kind;
	struct procmap_child child;
	unsigned int seed;
};

FIXTURE_VARIANT(count) {
	enum hole hole;
	unsigned long flags;
};

FIXTURE_VARIANT_ADD(count, unmapped_without_flags) { .hole = UNMAPPED };
FIXTURE_VARIANT_ADD(count, unmapped_NOWAIT) { .hole = UNMAPPED, .flags = PROCESS_VM_NOWAIT };
FIXTURE_VARIANT_ADD(count, forbidden_without_flags) { .hole = FORBIDDEN };
FIXTURE_VARIANT_ADD(count, forbidden_NOWAIT) { .hole = FORBIDDEN, .flags = PROCESS_VM_NOWAIT };
FIXTURE_VARIANT_ADD(count, unanswered_NOWAIT) { .hole = UNANSWERED, .flags = PROCESS_VM_NOWAIT };
FIXTURE_VARIANT_ADD(count, read_only_without_flags) { .hole = READ_ONLY };
FIXTURE_VARIANT_ADD(count, read_only_NOWAIT) { .hole = READ_ONLY, .flags = PROCESS_VM_NOWAIT };
FIXTURE_VARIANT_ADD(count, untouched_NOWAIT) { .hole = UNTOUCHED, .flags = PROCESS_VM_NOWAIT };
FIXTURE_VARIANT_ADD(count, forked_NOWAIT) { .hole = FORKED, .flags = PROCESS_VM_NOWAIT };

static unsigned char pattern(size_t at)
{
	return at * 7 + at / 251 + 1;
}

static bool register_holes(char *map, size_t page)
{
	char *hole;
	int i;

	for (i = 0; i < ARRAY_SIZE(holes); i++) {
		hole = map + holes[i] * page;
		if (madvise(hole, page, MADV_DONTNEED) ||
		    procmap_uffd(hole, page, UFFDIO_REGISTER_MODE_MISSING) < 0)
			return false;
	}
	return true;
}

/* Share all pages with another process, then write to all but the holes. */
static bool share_holes(char *map, size_t page)
{
	struct procmap_child sharer;
	size_t i, k;

	if (procmap_child_start(&sharer, procmap_waits, NULL))
		return false;
	for (i = 0; i < PAGES; i++) {
		for (k = 0; k < ARRAY_SIZE(holes) && holes[k] != i; k++)
			;
		if (k == ARRAY_SIZE(holes))
			map[i * page] = pattern(i * page);
	}
	return true;
}

static bool make_hole(char *at, size_t page, enum hole kind)
{
	switch (kind) {
	case UNMAPPED:
		return !munmap(at, page);
	case UNTOUCHED:
		return !madvise(at, page, MADV_DONTNEED);
	default:
		return !mprotect(at, page, kind == READ_ONLY ? PROT_READ : PROT_NONE);
	}
}

static bool make_holes(char *map, size_t page, enum hole kind)
{
	int i;

	if (kind == UNANSWERED)
		return register_holes(map, page);
	if (kind == FORKED)
		return share_holes(map, page);
	for (i = 0; i < ARRAY_SIZE(holes); i++)
		if (!make_hole(map + holes[i] * page, page, kind))
			return false;
	return true;
}

static int has_holes(struct procmap_child *child, void *arg)
{
	const enum hole *kind = arg;
	size_t page = sysconf(_SC_PAGESIZE), i;
	char *map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (!HOLDS(map != MAP_FAILED))
		return 1;
	for (i = 0; i < PAGES * page; i++)
		map[i] = pattern(i);
	return HOLDS(make_holes(map, page, *kind)) ? procmap_tell(child, (unsigned long)map) : 1;
}

FIXTURE_SETUP(count)
{
	struct area *area = &self->area;
	__u64 addr;
	size_t i;

	self->kind = variant->hole;
	area->flags = variant->flags;
	self->seed = SEED;
	area->page = sysconf(_SC_PAGESIZE);
	area->size = PAGES * area->page;
	area->shadow = malloc(area->size);
	area->seen = malloc(area->size);
	area->noise = malloc(area->size + area->page);
	area->here = malloc(area->size);
	area->expected = malloc(area->size);
	ASSERT_TRUE(area->shadow && area->seen && area->noise && area->here && area->expected);
	for (i = 0; i < area->size; i++)
		area->shadow[i] = pattern(i);
	for (i = 0; i < area->size + area->page; i++)
		area->noise[i] = rand();
	area->readable = self->kind >= READ_ONLY;
	for (i = 0; i < ARRAY_SIZE(holes); i++) {
		area->hole[holes[i]] = true;
		if (self->kind == UNTOUCHED)
			memset(area->shadow + holes[i] * area->page, 0, area->page);
	}
	if (self->kind == UNANSWERED && geteuid())
		return;
	ASSERT_EQ(0, procmap_child_start(&self->child, has_holes, &self->kind));
	ASSERT_EQ(0, procmap_recv(&self->child, &addr));
	area->there = (char *)(unsigned long)addr;
	area->pid = self->child.pid;
}

FIXTURE_TEARDOWN(count)
{
	if (self->area.there)
		EXPECT_EQ(0, procmap_child_finish(&self->child));
	free(self->area.shadow);
	free(self->area.seen);
	free(self->area.noise);
	free(self->area.here);
	free(self->area.expected);
}

#define NEEDS_ROOT	"%s: userfaultfd of the kernel's faults needs root"

/* The model copies bytes until a side has no more, or a byte is not available. */
static long predict(const struct pvm_call *call, const struct area *area)
{
	unsigned long l = 0, r = 0;
	size_t at_l = 0, at_r = 0;
	long count = 0;

	for (;;) {
		unsigned char *local;
		size_t there;

		for (; l < call->nr_local && at_l == call->local[l].iov_len; at_l = 0)
			l++;
		for (; r < call->nr_remote && at_r == call->remote[r].iov_len; at_r = 0)
			r++;
		if (l == call->nr_local || r == call->nr_remote)
			return count;
		there = (char *)call->remote[r].iov_base + at_r - area->there;
		if (area->hole[there / area->page] && (call->write || !area->readable))
			return count ? count : -EFAULT;
		local = (unsigned char *)call->local[l].iov_base + at_l;
		if (call->write)
			area->shadow[there] = *local;
		else
			area->expected[local - area->here] = area->shadow[there];
		at_l++;
		at_r++;
		count++;
	}
}

/* Check the memory of the other process, from hole to hole. */
static bool as_predicted(const struct area *area, pid_t pid)
{
	int i, end;

	for (i = 0; i < PAGES; i = end + 1) {
		size_t size;

		for (end = i; end < PAGES && !area->hole[end]; end++)
			;
		size = (end - i) * area->page;
		if (pvm_peek(pid, area->there + i * area->page, area->seen, size) != size ||
		    memcmp(area->seen, area->shadow + i * area->page, size))
			return false;
	}
	return true;
}

/* Make one call and compare its result, all local bytes and all remote bytes with the model. */
static bool call_agrees(struct pvm_call *call, struct area *area)
{
	long ret, wanted;

	if (call->write)
		memcpy(area->here, area->noise + rand() % area->page, area->size);
	else
		memset(area->here, PROCMAP_POISON, area->size);
	memcpy(area->expected, area->here, area->size);
	wanted = predict(call, area);
	ret = pvm_call(call);
	if (ret != wanted)
		fprintf(stderr, "# %s: returned %ld, not %ld\n", call->write ? "write" : "read",
			ret, wanted);
	return ret == wanted && !memcmp(area->here, area->expected, area->size) &&
	       as_predicted(area, call->pid);
}

static bool agrees(struct area *area, struct pvm_call *call)
{
	call->flags = area->flags;
	call->pid = area->pid;
	call->write = false;
	if (!call_agrees(call, area))
		return false;
	call->write = true;
	return call_agrees(call, area);
}

/* Pieces that start and end before, at and after a page border, next to holes and elsewhere. */
TEST_F(count, one_piece_ends_at_the_first_byte_that_cannot_be_had)
{
	static const int off[] = { -1, 0, 1, 100 };
	size_t page = self->area.page;
	struct iovec local = { self->area.here, self->area.size }, remote;
	struct pvm_call call = {
		.local = &local, .nr_local = 1, .remote = &remote, .nr_remote = 1,
	};
	int from, to, i, j;

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	for (from = 1; from <= 6; from++) {
		for (to = from; to <= 7; to++) {
			for (i = 0; i < ARRAY_SIZE(off); i++) {
				for (j = 0; j < ARRAY_SIZE(off); j++) {
					long start = from * page + off[i];
					long end = to * page + off[j];

					if (end <= start)
						continue;
					remote.iov_base = self->area.there + start;
					remote.iov_len = end - start;
					ASSERT_TRUE(agrees(&self->area, &call)) {
						TH_LOG("%ld bytes at %ld", end - start, start);
					}
				}
			}
		}
	}
}

/* The piece has more pages before the last hole than the kernel looks up at a time. */
TEST_F(count, a_long_piece_ends_at_a_far_hole)
{
	struct iovec local = { self->area.here, self->area.size };
	struct iovec remote = { self->area.there + 6 * self->area.page, 18 * self->area.page };
	struct pvm_call call = {
		.local = &local, .nr_local = 1, .remote = &remote, .nr_remote = 1,
	};

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	EXPECT_TRUE(agrees(&self->area, &call));
	remote.iov_base = (char *)remote.iov_base + 1;
	remote.iov_len -= 1;
	EXPECT_TRUE(agrees(&self->area, &call));
}

TEST_F(count, pieces_of_nothing_are_passed_over)
{
	struct iovec local[4], remote[4];
	struct pvm_call call = { .local = local, .nr_local = 4, .remote = remote, .nr_remote = 4 };
	char *hole = self->area.there + holes[0] * self->area.page;

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	local[0] = (struct iovec) { .iov_base = NULL, .iov_len = 0 };
	local[1] = (struct iovec) { .iov_base = self->area.here, .iov_len = 5 };
	local[2] = (struct iovec) { .iov_base = self->area.here, .iov_len = 0 };
	local[3] = (struct iovec) { .iov_base = self->area.here + 10, .iov_len = 50 };
	remote[0] = (struct iovec) { .iov_base = hole, .iov_len = 0 };
	remote[1] = (struct iovec) { .iov_base = self->area.there, .iov_len = 7 };
	remote[2] = (struct iovec) { .iov_base = NULL, .iov_len = 0 };
	remote[3] = (struct iovec) { .iov_base = hole - 20, .iov_len = 40 };
	EXPECT_TRUE(agrees(&self->area, &call));
	remote[2] = (struct iovec) { .iov_base = hole, .iov_len = 1 };
	EXPECT_TRUE(agrees(&self->area, &call));
}

TEST_F(count, a_hole_behind_the_end_of_the_local_side_does_not_matter)
{
	struct iovec local, remote[2];
	struct pvm_call call = { .local = &local, .nr_local = 1, .remote = remote };
	char *hole = self->area.there + holes[0] * self->area.page;

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	local = (struct iovec) { .iov_base = self->area.here, .iov_len = 30 };
	remote[0] = (struct iovec) { .iov_base = hole - 30, .iov_len = 60 };
	call.nr_remote = 1;
	EXPECT_TRUE(agrees(&self->area, &call));
	remote[0].iov_len = 30;
	remote[1] = (struct iovec) { .iov_base = hole, .iov_len = 30 };
	call.nr_remote = 2;
	EXPECT_TRUE(agrees(&self->area, &call));
	local.iov_len = 31;
	EXPECT_TRUE(agrees(&self->area, &call));
}

TEST_F(count, as_many_pieces_as_there_can_be)
{
	struct iovec local[IOV_MAX], remote[IOV_MAX];
	struct pvm_call call = {
		.local = local, .nr_local = IOV_MAX, .remote = remote, .nr_remote = IOV_MAX,
	};
	static const int ends[] = { 0, 1, IOV_MAX / 2, IOV_MAX - 1 };
	char *hole = self->area.there + holes[0] * self->area.page;
	int i;

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	for (i = 0; i < IOV_MAX; i++) {
		local[i] = (struct iovec) { .iov_base = self->area.here + 2 * i, .iov_len = 1 };
		remote[i] = (struct iovec) { .iov_base = self->area.there + 3 * i, .iov_len = 1 };
	}
	EXPECT_TRUE(agrees(&self->area, &call));
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct iovec kept = remote[ends[i]];

		remote[ends[i]] = (struct iovec) { .iov_base = hole - 1, .iov_len = 2 };
		EXPECT_TRUE(agrees(&self->area, &call));
		remote[ends[i]].iov_base = hole;
		EXPECT_TRUE(agrees(&self->area, &call));
		remote[ends[i]] = kept;
	}
}

/* Cut random pieces. Local pieces do not overlap. */
static unsigned long cut_local(struct iovec *pieces, unsigned char *here, size_t page,
			       unsigned int *seed)
{
	unsigned long nr = 1 + rand_r(seed) % MAX_PIECES, i;
	size_t at = 0;

	for (i = 0; i < nr; i++) {
		at += rand_r(seed) % 100;
		pieces[i].iov_base = here + at;
		pieces[i].iov_len = rand_r(seed) % 4 ? rand_r(seed) % page : 0;
		at += pieces[i].iov_len;
	}
	return nr;
}

static unsigned long cut_remote(struct iovec *pieces, const struct area *area, unsigned int *seed)
{
	unsigned long nr = 1 + rand_r(seed) % MAX_PIECES, i;

	for (i = 0; i < nr; i++) {
		size_t border = (1 + rand_r(seed) % (PAGES - 2)) * area->page;
		long start = border + rand_r(seed) % 200 - 100;

		if (area->hole[border / area->page] && rand_r(seed) % 4)
			start = rand_r(seed) % area->page;
		pieces[i].iov_base = area->there + start;
		pieces[i].iov_len = rand_r(seed) % 4 ? rand_r(seed) % area->page : 0;
	}
	return nr;
}

TEST_F(count, random_pieces_agree_with_the_model)
{
	struct iovec local[MAX_PIECES], remote[MAX_PIECES];
	struct pvm_call call = { .local = local, .remote = remote };
	int round;

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	for (round = 0; round < ROUNDS; round++) {
		call.nr_local = cut_local(local, self->area.here, self->area.page, &self->seed);
		call.nr_remote = cut_remote(remote, &self->area, &self->seed);
		ASSERT_TRUE(agrees(&self->area, &call)) {
			TH_LOG("round %d of seed %d", round, SEED);
		}
	}
}

/* The local memory ends, inside a piece and between two pieces. */
TEST_F(count, a_buffer_here_that_ends_too_early_gives_a_short_count)
{
	size_t page = self->area.page;
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	struct iovec local[2], remote = { .iov_base = self->area.there, .iov_len = 200 };
	struct pvm_call call = {
		.pid = self->child.pid, .flags = variant->flags,
		.local = local, .remote = &remote, .nr_remote = 1,
	};
	int i;

	if (!self->area.there)
		SKIP(return, NEEDS_ROOT, _metadata->name);
	ASSERT_NE(MAP_FAILED, map);
	memset(map, PROCMAP_POISON, page);
	ASSERT_EQ(0, mprotect(map + page, page, PROT_NONE));
	for (i = 0; i < 4; i++) {
		bool inside = i & 1;

		call.write = i & 2;
		local[0] = (struct iovec) { map + page - 64, inside ? 200 : 64 };
		local[1] = (struct iovec) { map + page, 136 };
		call.nr_local = inside ? 1 : 2;
		if (call.write)
			memcpy(map + page - 64, self->area.shadow, 64);
		EXPECT_EQ(64, pvm_call(&call));
		EXPECT_EQ(0, memcmp(map + page - 64, self->area.shadow, 64));
		EXPECT_TRUE(pvm_all(map, PROCMAP_POISON, page - 64));
		local[0].iov_base = map + page;
		call.nr_local = 1;
		EXPECT_EQ(-EFAULT, pvm_call(&call));
		memset(map, PROCMAP_POISON, page);
	}
	EXPECT_TRUE(as_predicted(&self->area, self->child.pid));
	EXPECT_EQ(0, munmap(map, 2 * page));
}

TEST_HARNESS_MAIN
