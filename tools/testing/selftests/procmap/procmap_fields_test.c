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

TEST_F(fields, inodes_of_two_files_differ)
{
	int other = memfd_create("fields", MFD_CLOEXEC);
	char *map = map_memfd(self, 1, 0), *map2;
	struct stat st;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, fstat(other, &st));
	map2 = mmap(NULL, self->page, PROT_READ, MAP_SHARED, other, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_NE((long)MAP_FAILED, (long)map2);
	ASSERT_EQ(0, ask(self, map2));
	EXPECT_EQ(st.st_ino, self->call.q.inode);
	ASSERT_EQ(0, ask(self, map));
	EXPECT_EQ(self->st.st_ino, self->call.q.inode);
	close(other);
}

/*
 * Without a file there is no inode, no device and no offset, whatever offset
 * the kernel keeps in the VMA.
 */
TEST_F(fields, anonymous_has_no_file)
{
	char *map = mmap(NULL, 4 * self->page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, ask(self, map));
	EXPECT_EQ(0, self->call.q.inode);
	EXPECT_EQ(0, self->call.q.dev_major);
	EXPECT_EQ(0, self->call.q.dev_minor);
	EXPECT_EQ(0, self->call.q.vma_offset);
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

/* The offset belongs to the start of the VMA, not to the address. It moves with the start. */
TEST_F(fields, offset_follows_the_start)
{
	char *map = map_memfd(self, 8, 2 * self->page);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, ask(self, map + 5 * self->page));
	EXPECT_EQ(2 * self->page, self->call.q.vma_offset);
	ASSERT_EQ(0, munmap(map, 3 * self->page));
	ASSERT_EQ(0, ask(self, map + 5 * self->page));
	EXPECT_EQ((unsigned long)map + 3 * self->page, self->call.q.vma_start);
	EXPECT_EQ(5 * self->page, self->call.q.vma_offset);
	ASSERT_EQ(0, mprotect(map + 6 * self->page, self->page, PROT_NONE));
	ASSERT_EQ(0, ask(self, map + 7 * self->page));
	EXPECT_EQ(9 * self->page, self->call.q.vma_offset);
}

TEST_F(fields, moved_mapping)
{
	char *map = map_memfd(self, 2, 4 * self->page), *to;

	ASSERT_NE((long)MAP_FAILED, (long)map);
	to = mmap(NULL, 8 * self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)to);
	ASSERT_EQ(to, mremap(map, 2 * self->page, 3 * self->page, MREMAP_MAYMOVE | MREMAP_FIXED,
			     to));
	EXPECT_EQ(-ENOENT, procmap_ask(self->fd, (unsigned long)map, 0, &self->call));
	ASSERT_EQ(0, ask(self, to + 2 * self->page));
	EXPECT_EQ((unsigned long)to, self->call.q.vma_start);
	EXPECT_EQ((unsigned long)to + 3 * self->page, self->call.q.vma_end);
	EXPECT_EQ(4 * self->page, self->call.q.vma_offset);
	EXPECT_EQ(self->st.st_ino, self->call.q.inode);
}

/* Try every protection, private and shared. No other bit may be in vma_flags. */
TEST_F(fields, flags)
{
	int prot;

	for (prot = 0; prot < 16; prot++) {
		int share = prot & 8 ? MAP_SHARED : MAP_PRIVATE;
		__u64 want = prot & 8 ? PROCMAP_QUERY_VMA_SHARED : 0;
		char *map = mmap(NULL, self->page, prot & 7, share, self->memfd, 0);

		ASSERT_NE((long)MAP_FAILED, (long)map);
		if (prot & PROT_READ)
			want |= PROCMAP_QUERY_VMA_READABLE;
		if (prot & PROT_WRITE)
			want |= PROCMAP_QUERY_VMA_WRITABLE;
		if (prot & PROT_EXEC)
			want |= PROCMAP_QUERY_VMA_EXECUTABLE;
		ASSERT_EQ(0, ask(self, map));
		EXPECT_EQ(want, self->call.q.vma_flags);
		ASSERT_EQ(0, munmap(map, self->page));
	}
}

TEST_F(fields, flags_follow_mprotect)
{
	char *map = map_memfd(self, 1, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, mprotect(map, self->page, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, ask(self, map));
	EXPECT_EQ(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |
		  PROCMAP_QUERY_VMA_SHARED, self->call.q.vma_flags);
	ASSERT_EQ(0, mprotect(map, self->page, PROT_NONE));
	ASSERT_EQ(0, ask(self, map));
	EXPECT_EQ(PROCMAP_QUERY_VMA_SHARED, self->call.q.vma_flags);
}

TEST_F(fields, page_size_of_ordinary_memory)
{
	char *map = map_memfd(self, 1, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, ask(self, map));
	EXPECT_EQ(self->page, self->call.q.vma_page_size);
	ASSERT_EQ(0, ask(self, self));
	EXPECT_EQ(self->page, self->call.q.vma_page_size);
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

/* The code of this program comes from a file on a mounted file system. */
TEST_F(fields, own_program)
{
	struct stat st;

	ASSERT_EQ(0, stat("/proc/self/exe", &st));
	ASSERT_EQ(0, ask(self, procmap_call));
	EXPECT_EQ(st.st_ino, self->call.q.inode);
	EXPECT_EQ(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_EXECUTABLE,
		  self->call.q.vma_flags);
}

TEST_HARNESS_MAIN
