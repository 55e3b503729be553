// SPDX-License-Identifier: GPL-2.0
/* The flags of PROCMAP_QUERY, alone and in all combinations, on VMAs of every kind. */
#include <fcntl.h>
#include <sys/mman.h>

#include "procmap_harness.h"
#include "procmap_zoo.h"

FIXTURE(filter) {
	int fd;
	struct procmap_zoo zoo;
	struct maps_text text;
	struct procmap_call call;
};

FIXTURE_SETUP(filter)
{
	ASSERT_EQ(0, procmap_zoo_map(&self->zoo));
	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, maps_text_read(self->fd, &self->text));
}

FIXTURE_TEARDOWN(filter)
{
	maps_text_free(&self->text);
	close(self->fd);
}

/* Count the lines of the zoo whose properties in @mask are exactly @want. */
static size_t count(const struct maps_text *text, const struct procmap_zoo *zoo, __u64 mask,
		    __u64 want)
{
	unsigned long base = (unsigned long)zoo->base;
	size_t i, nr = 0;

	for (i = 0; i < text->nr; i++) {
		const struct maps_vma *vma = &text->vma[i];
		__u64 has = vma->flags | (vma->inode ? PROCMAP_QUERY_FILE_BACKED_VMA : 0);

		if (vma->start >= base && vma->end <= base + zoo->size && (has & mask) == want)
			nr++;
	}
	return nr;
}

/* The oracle must not be right by accident, so there must be VMAs of every kind. */
TEST_F(filter, the_text_shows_every_kind)
{
	__u64 want;

	EXPECT_EQ(self->zoo.nr, count(&self->text, &self->zoo, 0, 0));
	for (want = 0; want <= PROCMAP_FLAGS; want++) {
		if (want & PROCMAP_QUERY_COVERING_OR_NEXT_VMA)
			continue;
		/* Shared anonymous memory has a file, too. */
		if ((want & (PROCMAP_QUERY_VMA_SHARED | PROCMAP_QUERY_FILE_BACKED_VMA)) ==
		    PROCMAP_QUERY_VMA_SHARED)
			continue;
		EXPECT_NE(0, count(&self->text, &self->zoo, PROCMAP_FILTERS, want))
			TH_LOG("no VMA of kind 0x%02llx", want);
	}
}

/* Query the first and the last byte of every page of the zoo, VMA or hole. */
TEST_F(filter, all_combinations_equal_the_oracle)
{
	size_t page = sysconf(_SC_PAGESIZE), at;
	__u64 flags;

	for (at = 0; at < self->zoo.size; at += page) {
		for (flags = 0; flags <= PROCMAP_FLAGS; flags++) {
			__u64 addr = (unsigned long)self->zoo.base + at;

			EXPECT_EQ(0, procmap_check(self->fd, &self->text, addr, flags));
			EXPECT_EQ(0, procmap_check(self->fd, &self->text, addr + page - 1, flags));
		}
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

TEST_F(filter, walk_sees_what_matches_and_nothing_else)
{
	__u64 filter;

	for (filter = 0; filter <= PROCMAP_FLAGS; filter++) {
		struct procmap_zoo everything = { .base = NULL, .size = ~0UL };
		__u64 want = filter & PROCMAP_FILTERS;
		size_t nr;

		if (filter != want)
			continue;
		nr = count(&self->text, &everything, want, want);
		EXPECT_EQ(nr, walk(self->fd, &self->text, filter))
			TH_LOG("filter 0x%02llx", filter);
	}
}

/* Two pages, a hole and another page, to show what a single flag must do. */
FIXTURE(single) {
	int fd;
	size_t page;
	char *area;
	struct procmap_call call;
};

FIXTURE_SETUP(single)
{
	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	self->page = sysconf(_SC_PAGESIZE);
	self->area = mmap(NULL, 4 * self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->area);
	ASSERT_EQ(0, munmap(self->area + 2 * self->page, self->page));
}

FIXTURE_TEARDOWN(single)
{
	close(self->fd);
}

static int ask(struct _test_data_single *self, size_t at, __u64 flags)
{
	return procmap_ask(self->fd, (unsigned long)self->area + at, flags, &self->call);
}

/* Returns the offset in the area of the VMA that the query found. */
static size_t start(const struct _test_data_single *self)
{
	return self->call.q.vma_start - (unsigned long)self->area;
}

TEST_F(single, no_flag_needs_a_vma_that_covers)
{
	ASSERT_EQ(0, ask(self, self->page, 0));
	EXPECT_EQ(0, start(self));
	EXPECT_EQ(-ENOENT, ask(self, 2 * self->page, 0));
	ASSERT_EQ(0, ask(self, 3 * self->page, 0));
	EXPECT_EQ(3 * self->page, start(self));
}

TEST_F(single, covering_or_next)
{
	const __u64 next = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;

	ASSERT_EQ(0, ask(self, 2 * self->page - 1, next));
	EXPECT_EQ(0, start(self));
	ASSERT_EQ(0, ask(self, 2 * self->page, next));
	EXPECT_EQ(3 * self->page, start(self));
	ASSERT_EQ(0, ask(self, 3 * self->page, next));
	EXPECT_EQ(3 * self->page, start(self));
}

/* Pages 0 and 1 become two VMAs. Only the second has @flag. */
static void check_filter(struct __test_metadata *_metadata, struct _test_data_single *self,
			 int prot, __u64 flag)
{
	const __u64 next = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;

	ASSERT_EQ(0, mprotect(self->area + self->page, self->page, prot));
	EXPECT_EQ(-ENOENT, ask(self, 0, flag));
	ASSERT_EQ(0, ask(self, self->page, flag));
	EXPECT_EQ(self->page, start(self));
	EXPECT_EQ(flag, self->call.q.vma_flags & flag);
	ASSERT_EQ(0, ask(self, 0, flag | next));
	EXPECT_EQ(self->page, start(self));
	EXPECT_EQ(-ENOENT, ask(self, 2 * self->page, flag));
}

TEST_F(single, readable)
{
	check_filter(_metadata, self, PROT_READ, PROCMAP_QUERY_VMA_READABLE);
}

TEST_F(single, writable)
{
	check_filter(_metadata, self, PROT_WRITE, PROCMAP_QUERY_VMA_WRITABLE);
}

TEST_F(single, executable)
{
	check_filter(_metadata, self, PROT_EXEC, PROCMAP_QUERY_VMA_EXECUTABLE);
}

TEST_F(single, shared_and_file_backed)
{
	char *shared = self->area + self->page;

	ASSERT_EQ(shared, mmap(shared, self->page, PROT_READ,
			       MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	check_filter(_metadata, self, PROT_READ, PROCMAP_QUERY_VMA_SHARED);
	EXPECT_EQ(-ENOENT, ask(self, 0, PROCMAP_QUERY_FILE_BACKED_VMA));
	ASSERT_EQ(0, ask(self, self->page, PROCMAP_QUERY_FILE_BACKED_VMA));
	EXPECT_EQ(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_SHARED, self->call.q.vma_flags);
}

/* The file is open for reading only. The text shows its shared mapping as shared. */
TEST_F(single, shared_mapping_of_a_read_only_file)
{
	char *shared = self->area + self->page;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(shared, mmap(shared, self->page, PROT_READ, MAP_FIXED | MAP_SHARED, fd, 0));
	close(fd);
	check_filter(_metadata, self, PROT_READ, PROCMAP_QUERY_VMA_SHARED);
}

/* A query for two properties must find both in one VMA. */
TEST_F(single, two_flags_need_both)
{
	const __u64 both = PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_EXECUTABLE;

	ASSERT_EQ(0, mprotect(self->area, self->page, PROT_READ));
	ASSERT_EQ(0, mprotect(self->area + self->page, self->page, PROT_EXEC));
	EXPECT_EQ(-ENOENT, ask(self, 0, both));
	ASSERT_EQ(0, mprotect(self->area + 3 * self->page, self->page, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, ask(self, 0, both | PROCMAP_QUERY_COVERING_OR_NEXT_VMA));
	EXPECT_EQ(3 * self->page, start(self));
}

TEST_HARNESS_MAIN
