// SPDX-License-Identifier: GPL-2.0
/*
 * The extensible struct of PROCMAP_QUERY: callers that know a shorter one, and
 * callers that know a longer one.
 */
#include <sys/mman.h>

#include "procmap_harness.h"

#define FULL	(sizeof(struct procmap_query))

/*
 * Two pages for the struct with a hole after, and the answer to the same query
 * in the size that the kernel knows.
 */
FIXTURE(sizes) {
	int fd;
	size_t page;
	char *space;
	char *hole;
	struct procmap_query full;
};

FIXTURE_SETUP(sizes)
{
	struct procmap_call call;

	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	self->page = sysconf(_SC_PAGESIZE);
	self->space = mmap(NULL, 3 * self->page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->space);
	self->hole = self->space + 2 * self->page;
	ASSERT_EQ(0, munmap(self->hole, self->page));

	procmap_call_init(&call, (unsigned long)procmap_call, 0);
	call.q.vma_name_size = 0;
	call.q.vma_name_addr = 0;
	call.q.build_id_size = 0;
	call.q.build_id_addr = 0;
	ASSERT_EQ(0, procmap_call(self->fd, &call));
	self->full = call.q;
	ASSERT_NE(0, self->full.inode);
}

FIXTURE_TEARDOWN(sizes)
{
	close(self->fd);
}

/* Write a query of @size bytes to @arg: the inputs of @full, and poison in every output. */
static void prepare(void *arg, size_t size, const struct procmap_query *full)
{
	struct procmap_query q;

	memset(&q, PROCMAP_POISON, sizeof(q));
	q.size = size;
	q.query_flags = full->query_flags;
	q.query_addr = full->query_addr;
	q.vma_name_size = 0;
	q.vma_name_addr = 0;
	q.build_id_size = 0;
	q.build_id_addr = 0;
	memcpy(arg, &q, size < sizeof(q) ? size : sizeof(q));
	if (size > sizeof(q))
		memset((char *)arg + sizeof(q), 0, size - sizeof(q));
}

static bool all(const char *from, const char *to, int byte)
{
	while (from < to) {
		if ((unsigned char)*from++ != byte)
			return false;
	}
	return true;
}

/*
 * Poison follows the shorter struct. If the kernel read it as the size of a
 * name, the query would fail with EINVAL.
 */
TEST_F(sizes, shorter_gets_only_what_it_has)
{
	struct procmap_query full = self->full;
	size_t size;

	for (size = PROCMAP_QUERY_SIZE_MIN; size <= FULL; size++) {
		memset(self->space, PROCMAP_POISON, 2 * self->page);
		prepare(self->space, size, &full);
		EXPECT_EQ(0, procmap_ioctl(self->fd, self->space))
			TH_LOG("size %zu", size);
		full.size = size;
		EXPECT_EQ(0, memcmp(self->space, &full, size))
			TH_LOG("size %zu: not the first bytes of the full answer", size);
		EXPECT_TRUE(all(self->space + size, self->hole, PROCMAP_POISON))
			TH_LOG("size %zu: bytes after the struct changed", size);
	}
}

TEST_F(sizes, shorter_is_not_read_behind_its_end)
{
	size_t size;

	for (size = PROCMAP_QUERY_SIZE_MIN; size <= FULL; size++) {
		char *arg = self->hole - size;

		prepare(arg, size, &self->full);
		EXPECT_EQ(0, procmap_ioctl(self->fd, arg))
			TH_LOG("size %zu right before a hole", size);
	}
}

/* The kernel must read only the size to find out that it is too small. */
TEST_F(sizes, too_short_is_not_read_behind_the_size)
{
	__u64 size = sizeof(size);
	char *arg = self->hole - sizeof(size);

	memcpy(arg, &size, sizeof(size));
	EXPECT_EQ(-EINVAL, procmap_ioctl(self->fd, arg));
}

/* A struct that lacks only the address of the ID buffer can ask for a name. */
TEST_F(sizes, shorter_can_have_a_name)
{
	size_t size = offsetof(struct procmap_query, build_id_addr);
	struct procmap_query *q = (void *)(self->hole - size);
	struct procmap_call full;

	ASSERT_EQ(0, procmap_ask(self->fd, self->full.query_addr, 0, &full));
	prepare(q, size, &self->full);
	q->vma_name_addr = (unsigned long)self->space;
	q->vma_name_size = self->page;
	ASSERT_EQ(0, procmap_ioctl(self->fd, q));
	EXPECT_EQ(full.q.vma_name_size, q->vma_name_size);
	EXPECT_STREQ(full.name, self->space);
}

/* If the struct ends before the address of a buffer, the size of that buffer has no address. */
TEST_F(sizes, shorter_without_the_address_is_einval)
{
	struct procmap_query *q = (void *)self->space;
	size_t size = offsetof(struct procmap_query, vma_name_addr);

	prepare(q, FULL, &self->full);
	q->size = size;
	q->vma_name_size = self->page;
	q->vma_name_addr = (unsigned long)self->space + self->page;
	EXPECT_EQ(-EINVAL, procmap_ioctl(self->fd, q));

	prepare(q, FULL, &self->full);
	q->size = offsetof(struct procmap_query, build_id_addr);
	q->build_id_size = 20;
	q->build_id_addr = (unsigned long)self->space + self->page;
	EXPECT_EQ(-EINVAL, procmap_ioctl(self->fd, q));
}

/* The shortest struct gets the same errors from the look-up. */
TEST_F(sizes, shortest_gets_enoent_and_einval)
{
	size_t size = PROCMAP_QUERY_SIZE_MIN;
	struct procmap_query *q = (void *)(self->hole - size);

	prepare(q, size, &self->full);
	q->query_addr = (unsigned long)self->hole;
	EXPECT_EQ(-ENOENT, procmap_ioctl(self->fd, q));
	q->query_flags = PROCMAP_FLAGS + 1;
	EXPECT_EQ(-EINVAL, procmap_ioctl(self->fd, q));
}

TEST_F(sizes, longer_with_zero_tail)
{
	struct procmap_query full = self->full;
	size_t size;

	for (size = FULL + 1; size <= self->page; size++) {
		memset(self->space, PROCMAP_POISON, 2 * self->page);
		prepare(self->space, size, &full);
		full.size = size;
		if (procmap_ioctl(self->fd, self->space) || memcmp(self->space, &full, FULL) ||
		    !all(self->space + FULL, self->space + size, 0) ||
		    !all(self->space + size, self->hole, PROCMAP_POISON))
			break;
	}
	EXPECT_EQ(self->page + 1, size);
}

/* Set one bit, in any byte of the tail. */
TEST_F(sizes, longer_with_other_tail_is_e2big_and_unchanged)
{
	const size_t size[] = { FULL + 1, FULL + 7, FULL + 8, FULL + 100, self->page };
	struct procmap_query was;
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		prepare(self->space, size[i], &self->full);
		memcpy(&was, self->space, FULL);
		for (at = FULL; at < size[i]; at++) {
			self->space[at] = (char)(1 << at % 8);
			if (procmap_ioctl(self->fd, self->space) != -E2BIG ||
			    memcmp(self->space, &was, FULL) ||
			    self->space[at] != (char)(1 << at % 8))
				break;
			self->space[at] = 0;
		}
		EXPECT_EQ(size[i], at)
			TH_LOG("size %zu, byte %zu not zero", size[i], at);
	}
}

TEST_F(sizes, longer_than_its_memory_is_efault)
{
	size_t size;

	for (size = FULL + 1; size <= FULL + 64; size++) {
		char *arg = self->hole - size + 1;

		prepare(arg, size - 1, &self->full);
		memcpy(arg, &(__u64) { size }, sizeof(__u64));
		EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, arg))
			TH_LOG("size %zu", size);
	}
}

TEST_HARNESS_MAIN
