// SPDX-License-Identifier: GPL-2.0
/*
 * Whole address spaces. With all combinations of flags, queries must agree with
 * every line of the text and with every hole.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "procmap_harness.h"
#include "procmap_zoo.h"
#include "stall.h"

#define NR_MANY		5000

/* The variants look at the address space of the test itself, or of a program. */
FIXTURE(oracle) {
	struct procmap_child child;
	int fd;
	struct maps_text text;
};

FIXTURE_VARIANT(oracle) {
	const char *program;
};

FIXTURE_VARIANT_ADD(oracle, self) { };
FIXTURE_VARIANT_ADD(oracle, program) { .program = "procmap_target" };

#ifdef PROCMAP_BOTH_SIZES
FIXTURE_VARIANT_ADD(oracle, program_of_32_bit) { .program = "procmap_target_32" };
#endif

FIXTURE_SETUP(oracle)
{
	struct procmap_zoo zoo;

	if (variant->program) {
		ASSERT_EQ(0, procmap_child_exec(&self->child, variant->program));
		ASSERT_EQ(0, procmap_sync(&self->child));
	} else {
		ASSERT_EQ(0, procmap_zoo_map(&zoo));
	}
	self->fd = maps_open(self->child.pid);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, maps_text_read(self->fd, &self->text));
	ASSERT_LT(48, self->text.nr);
}

FIXTURE_TEARDOWN(oracle)
{
	maps_text_free(&self->text);
	close(self->fd);
	if (self->child.pid)
		EXPECT_EQ(0, procmap_child_finish(&self->child));
}

/*
 * Query the first, middle and last byte of a range, with all flags in turn.
 * Returns how many answers are wrong.
 */
static size_t check_range(const struct _test_data_oracle *self, __u64 from, __u64 last,
			  __u64 max_flags)
{
	const __u64 addr[] = { from, from + (last - from) / 2, last };
	size_t i, wrong = 0;
	__u64 flags;

	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		for (flags = 0; flags <= max_flags; flags++)
			wrong += !!procmap_check(self->fd, &self->text, addr[i], flags);
	}
	return wrong;
}

static size_t check_vma(const struct _test_data_oracle *self, size_t i, __u64 max_flags)
{
	const struct maps_vma *vma = &self->text.vma[i];

	return check_range(self, vma->start, vma->end - 1, max_flags);
}

/* Check the hole below VMA @i. If @i is the number of VMAs, check what is above the last one. */
static size_t check_hole(const struct _test_data_oracle *self, size_t i, __u64 max_flags)
{
	__u64 from = i ? self->text.vma[i - 1].end : 0;
	__u64 last = (i < self->text.nr ? self->text.vma[i].start : 0) - 1;

	if (i < self->text.nr && self->text.vma[i].start == from)
		return 0;
	return check_range(self, from, last, max_flags);
}

TEST_F(oracle, every_line_equals_a_query)
{
	size_t i;

	for (i = 0; i < self->text.nr; i++)
		ASSERT_EQ(0, check_vma(self, i, PROCMAP_FLAGS));
}

TEST_F(oracle, every_hole_is_a_hole)
{
	size_t i;

	for (i = 0; i <= self->text.nr; i++)
		ASSERT_EQ(0, check_hole(self, i, PROCMAP_FLAGS));
}

/* Count the lines whose properties in @mask are exactly @want. */
static size_t count(const struct maps_text *text, __u64 mask, __u64 want)
{
	size_t i, nr = 0;

	for (i = 0; i < text->nr; i++) {
		const struct maps_vma *vma = &text->vma[i];
		__u64 has = vma->flags | (vma->inode ? PROCMAP_QUERY_FILE_BACKED_VMA : 0);

		nr += (has & mask) == want;
	}
	return nr;
}

/* The oracle must not be right by accident, so there must be VMAs of every kind. */
TEST_F(oracle, the_text_shows_every_kind)
{
	__u64 want;

	for (want = 0; want <= PROCMAP_FLAGS; want++) {
		if (want & PROCMAP_QUERY_COVERING_OR_NEXT_VMA)
			continue;
		/* Shared anonymous memory has a file, too. */
		if ((want & (PROCMAP_QUERY_VMA_SHARED | PROCMAP_QUERY_FILE_BACKED_VMA)) ==
		    PROCMAP_QUERY_VMA_SHARED)
			continue;
		EXPECT_NE(0, count(&self->text, PROCMAP_FILTERS, want))
			TH_LOG("no VMA of kind 0x%02llx", want);
	}
}

/*
 * Walk from address to address. The walk must see exactly the VMAs that match,
 * in order. Returns their number, or -errno of the query that went wrong.
 */
static ssize_t walk(int fd, const struct maps_text *text, __u64 filter)
{
	struct procmap_call call;
	__u64 addr = 0;
	ssize_t nr = 0;
	int ret;

	for (;;) {
		const struct maps_vma *vma;

		filter |= PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
		ret = procmap_ask(fd, addr, filter, &call);
		if (ret == -ENOENT)
			return nr;
		if (ret)
			return ret;
		vma = maps_text_match(text, addr, filter);
		if (!vma || procmap_differs(vma, &call))
			return -EUCLEAN;
		addr = call.q.vma_end;
		nr++;
	}
}

TEST_F(oracle, walk_sees_what_matches_and_nothing_else)
{
	__u64 filter;

	for (filter = 0; filter <= PROCMAP_FLAGS; filter++) {
		__u64 want = filter & PROCMAP_FILTERS;

		if (filter != want)
			continue;
		EXPECT_EQ(count(&self->text, want, want), walk(self->fd, &self->text, filter))
			TH_LOG("filter 0x%02llx", filter);
	}
}

/* The text shows [vsyscall] for programs that have it, but it belongs to the kernel. */
TEST_F(oracle, vsyscall_is_not_found)
{
	const __u64 next = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	__u64 addr = self->text.gate.end ? self->text.gate.start : 0xffffffffff600000;
	struct procmap_call call;

	EXPECT_EQ(-ENOENT, procmap_ask(self->fd, addr, 0, &call));
	EXPECT_EQ(-ENOENT, procmap_ask(self->fd, addr, next, &call));
	EXPECT_EQ(-ENOENT, procmap_ask(self->fd, addr, PROCMAP_QUERY_VMA_EXECUTABLE, &call));
	EXPECT_EQ(-ENOENT, procmap_ask(self->fd, self->text.vma[self->text.nr - 1].end, next,
				       &call));
}

/* Addresses around the limits that processors and kernels set. */
TEST_F(oracle, addresses_out_of_range)
{
	const __u64 addr[] = {
		0, 1, 0xfff, 0xffffe000, 0xfffff000, 0xffffffff, 1ULL << 32, (1ULL << 32) + 0x1000,
		(1ULL << 47) - 0x1000, (1ULL << 47) - 1, 1ULL << 47, (1ULL << 56) - 1, 1ULL << 56,
		1ULL << 62, (1ULL << 63) - 1, 1ULL << 63, 0xffff800000000000, 0xffffffff80000000,
		~0ULL - 0xfff, ~0ULL - 1, ~0ULL,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(addr); i++)
		EXPECT_EQ(0, check_range(self, addr[i], addr[i], PROCMAP_FLAGS));
}

/* The file is open for reading only. The text shows its shared mapping as shared. */
TEST(shared_mapping_of_a_read_only_file)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), maps = maps_open(0);
	struct procmap_call call;
	char *shared;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, maps);
	shared = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)shared);
	close(fd);
	ASSERT_EQ(0, procmap_ask(maps, (unsigned long)shared, PROCMAP_QUERY_VMA_SHARED, &call));
	EXPECT_EQ((unsigned long)shared, call.q.vma_start);
	EXPECT_EQ(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_SHARED, call.q.vma_flags);
	close(maps);
}

/*
 * Some thousand VMAs. Query each by its address, and some with all flags, which
 * makes long walks.
 */
FIXTURE(many) {
	struct _test_data_oracle oracle;
	struct procmap_zoo zoo;
};

FIXTURE_SETUP(many)
{
	ASSERT_EQ(0, procmap_zoo_map_many(&self->zoo, stall_vmas(NR_MANY)));
	self->oracle.fd = maps_open(0);
	ASSERT_LE(0, self->oracle.fd);
	ASSERT_EQ(0, maps_text_read(self->oracle.fd, &self->oracle.text));
	ASSERT_LT(self->zoo.nr, self->oracle.text.nr);
}

FIXTURE_TEARDOWN(many)
{
	maps_text_free(&self->oracle.text);
	close(self->oracle.fd);
}

TEST_F(many, each_by_address)
{
	size_t i;

	for (i = 0; i < self->oracle.text.nr; i++) {
		ASSERT_EQ(0, check_vma(&self->oracle, i, 0));
		ASSERT_EQ(0, check_hole(&self->oracle, i, 0));
	}
}

TEST_F(many, long_walks_with_filters)
{
	size_t i;

	for (i = 0; i < self->oracle.text.nr; i += 251) {
		ASSERT_EQ(0, check_vma(&self->oracle, i, PROCMAP_FLAGS));
		ASSERT_EQ(0, check_hole(&self->oracle, i, PROCMAP_FLAGS));
	}
}

TEST_F(many, walk_sees_each_once)
{
	const __u64 next = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	struct procmap_call call;
	__u64 addr = 0;
	size_t i;

	for (i = 0; i < self->oracle.text.nr; i++) {
		ASSERT_EQ(0, procmap_ask(self->oracle.fd, addr, next, &call));
		ASSERT_NULL(procmap_differs(&self->oracle.text.vma[i], &call));
		addr = call.q.vma_end;
	}
	EXPECT_EQ(-ENOENT, procmap_ask(self->oracle.fd, addr, next, &call));
}

TEST_HARNESS_MAIN
