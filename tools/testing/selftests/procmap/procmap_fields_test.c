// SPDX-License-Identifier: GPL-2.0
/* Compare each number that PROCMAP_QUERY reports with what the program itself knows. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "procmap_harness.h"
#include "procmap_zoo.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif

/* A memfd has a size of its own, and an inode that stat() shows. */
FIXTURE(fields) {
	int fd;
	int memfd;
	size_t page;
	struct stat st;
	struct procmap_call call;
};

FIXTURE_SETUP(fields)
{
	self->page = sysconf(_SC_PAGESIZE);
	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	self->memfd = memfd_create("fields", MFD_CLOEXEC);
	ASSERT_LE(0, self->memfd);
	ASSERT_EQ(0, ftruncate(self->memfd, 16 * self->page));
	ASSERT_EQ(0, fstat(self->memfd, &self->st));
}

FIXTURE_TEARDOWN(fields)
{
	close(self->memfd);
	close(self->fd);
}

/* Ask for an address. The answer must also agree with the text. */
static int ask(struct _test_data_fields *self, const void *addr)
{
	struct maps_text text;
	int ret = maps_text_read(self->fd, &text);

	if (ret)
		return ret;
	ret = procmap_ask(self->fd, (unsigned long)addr, 0, &self->call);
	if (!ret)
		ret = procmap_check(self->fd, &text, (unsigned long)addr, 0);
	maps_text_free(&text);
	return ret;
}

static char *map_memfd(const struct _test_data_fields *self, size_t pages, off_t offset)
{
	return mmap(NULL, pages * self->page, PROT_READ, MAP_SHARED, self->memfd, offset);
}

TEST_F(fields, start_and_end)
{
	char *map = map_memfd(self, 5, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, ask(self, map + 3 * self->page + 17));
	EXPECT_EQ((unsigned long)map, self->call.q.vma_start);
	EXPECT_EQ((unsigned long)map + 5 * self->page, self->call.q.vma_end);
}

TEST_F(fields, inode_and_device_of_memfd)
{
	char *map = map_memfd(self, 1, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, ask(self, map));
	EXPECT_NE(0, self->call.q.inode);
	EXPECT_EQ(self->st.st_ino, self->call.q.inode);
	EXPECT_EQ(major(self->st.st_dev), self->call.q.dev_major);
	EXPECT_EQ(minor(self->st.st_dev), self->call.q.dev_minor);
}

TEST_F(fields, offset_of_the_mapping)
{
	const off_t offset[] = { 0, self->page, 15 * self->page, 1LL << 31, 1LL << 32,
				 (1LL << 32) + self->page, (1LL << 43) - self->page };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offset); i++) {
		char *map = map_memfd(self, 1, offset[i]);

		ASSERT_NE((long)MAP_FAILED, (long)map);
		ASSERT_EQ(0, ask(self, map));
		EXPECT_EQ(offset[i], self->call.q.vma_offset);
		ASSERT_EQ(0, munmap(map, self->page));
	}
}

/* Reserve nothing, so that no huge page has to be free. */
static char *map_huge(int shift)
{
	return mmap(NULL, 1UL << shift, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_HUGETLB | MAP_NORESERVE | shift << MAP_HUGE_SHIFT, -1, 0);
}

/*
 * Try all sizes that a processor may have. The kernel refuses sizes that it
 * does not have with EINVAL or ENOENT.
 */
TEST_F(fields, page_size_of_huge_pages)
{
	int shift, found = 0;

	for (shift = 16; shift <= 30; shift++) {
		char *map = map_huge(shift);

		if (map == MAP_FAILED) {
			/* A 32-bit address space may have no hole that large. */
			EXPECT_TRUE(errno == EINVAL || errno == ENOENT ||
				    (errno == ENOMEM && sizeof(long) == 4))
				TH_LOG("huge page of 2^%d bytes: errno %d", shift, errno);
			continue;
		}
		found++;
		ASSERT_EQ(0, procmap_ask(self->fd, (unsigned long)map, 0, &self->call));
		EXPECT_EQ(1ULL << shift, self->call.q.vma_page_size);
		EXPECT_EQ((unsigned long)map, self->call.q.vma_start);
		EXPECT_EQ((unsigned long)map + (1UL << shift), self->call.q.vma_end);
		ASSERT_EQ(0, munmap(map, 1UL << shift));
	}
	EXPECT_NE(0, found)
		TH_LOG("no huge pages of any size (CONFIG_HUGETLBFS)");
}

TEST_F(fields, file_of_huge_pages)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	struct stat st;
	char *map;

	ASSERT_LE(0, fd)
		TH_LOG("no huge pages (CONFIG_HUGETLBFS)");
	ASSERT_EQ(0, fstat(fd, &st));
	map = mmap(NULL, st.st_blksize, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd,
		   3 * (off_t)st.st_blksize);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, procmap_ask(self->fd, (unsigned long)map, 0, &self->call));
	EXPECT_EQ(st.st_blksize, self->call.q.vma_page_size);
	EXPECT_EQ(3 * (__u64)st.st_blksize, self->call.q.vma_offset);
	EXPECT_EQ(st.st_ino, self->call.q.inode);
	EXPECT_EQ(minor(st.st_dev), self->call.q.dev_minor);
	EXPECT_STREQ("/memfd:huge (deleted)", self->call.name);
	close(fd);
}

TEST_HARNESS_MAIN
