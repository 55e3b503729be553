// SPDX-License-Identifier: GPL-2.0
/*
 * The error table of PROCMAP_QUERY, row by row. procmap_call() also checks in
 * every case that the struct and the bytes around the buffers stay unchanged.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "procmap_harness.h"

/* Three pages: one of a file, one that can only be read, and a hole. Queries ask for the first. */
#define AREA_NAME	"/memfd:errors (deleted)"

FIXTURE(errors) {
	int fd;
	long page;
	char *rw;
	char *ro;
	char *hole;
	struct procmap_call call;
};

FIXTURE_SETUP(errors)
{
	int memfd;

	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	self->page = sysconf(_SC_PAGESIZE);
	self->rw = mmap(NULL, 3 * self->page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->rw);
	self->ro = self->rw + self->page;
	self->hole = self->ro + self->page;
	ASSERT_EQ(0, munmap(self->hole, self->page));
	memfd = memfd_create("errors", 0);
	ASSERT_LE(0, memfd);
	ASSERT_EQ(0, ftruncate(memfd, self->page));
	ASSERT_NE((long)MAP_FAILED, (long)mmap(self->rw, self->page, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_FIXED, memfd, 0));
	ASSERT_EQ(0, close(memfd));
	procmap_call_init(&self->call, (unsigned long)self->rw, 0);
}

FIXTURE_TEARDOWN(errors)
{
	close(self->fd);
}

/* Without an error the queries of this file succeed. So no case passes for a wrong reason. */
TEST_F(errors, none)
{
	ASSERT_EQ(0, procmap_call(self->fd, &self->call));
	EXPECT_STREQ(AREA_NAME, self->call.name);
	EXPECT_EQ(sizeof(AREA_NAME), self->call.q.vma_name_size);
	EXPECT_EQ((unsigned long)self->rw, self->call.q.vma_start);
	EXPECT_EQ((unsigned long)self->ro, self->call.q.vma_end);
}

/* Ask for the code of this program, a VMA that has a build ID. */
static void ask_for_code(struct procmap_call *call)
{
	procmap_call_init(call, (unsigned long)procmap_call, 0);
}

TEST_F(errors, efault_argument_unmapped)
{
	EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, self->hole));
	EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, NULL));
	EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, (void *)-self->page));
}

TEST_F(errors, efault_argument_read_only)
{
	char *arg = self->rw;

	memcpy(arg, &self->call.q, sizeof(self->call.q));
	ASSERT_EQ(0, mprotect(arg, self->page, PROT_READ));
	EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, arg));
	EXPECT_EQ(0, memcmp(arg, &self->call.q, sizeof(self->call.q)));
}

/* Only the first bytes of the argument are before the hole. Try every number of them. */
TEST_F(errors, efault_argument_straddles)
{
	size_t fits;

	ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
	for (fits = 1; fits < sizeof(self->call.q); fits++) {
		char *arg = self->hole - fits;

		memcpy(arg, &self->call.q, fits);
		EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, arg))
			TH_LOG("argument with %zu bytes before the hole", fits);
		EXPECT_EQ(0, memcmp(arg, &self->call.q, fits));
	}
	memcpy(self->hole - fits, &self->call.q, fits);
	EXPECT_EQ(0, procmap_ioctl(self->fd, self->hole - fits));
}

/*
 * The kernel can read all of the argument, but can write only its first bytes.
 * Then it must write none of them.
 */
static void straddle_into_read_only(struct __test_metadata *_metadata,
				    struct _test_data_errors *self, size_t size)
{
	size_t fits;

	procmap_call_init(&self->call, (unsigned long)self->rw, 0);
	self->call.q.size = size;
	/* A short struct must not end between an address and its size. */
	if (size < sizeof(self->call.q)) {
		self->call.q.vma_name_size = 0;
		self->call.q.build_id_size = 0;
		self->call.q.vma_name_addr = 0;
		self->call.q.build_id_addr = 0;
	}
	for (fits = 1; fits < size; fits++) {
		char *arg = self->ro - fits;

		memcpy(arg, &self->call.q, size);
		ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ));
		EXPECT_EQ(-EFAULT, procmap_ioctl(self->fd, arg))
			TH_LOG("%zu of %zu bytes before a read-only page", fits, size);
		EXPECT_EQ(0, memcmp(arg, &self->call.q, size))
			TH_LOG("%zu of %zu bytes before a read-only page: changed", fits, size);
		ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
	}
}

TEST_F(errors, efault_argument_straddles_into_read_only)
{
	size_t size;

	ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
	for (size = PROCMAP_QUERY_SIZE_MIN; size <= sizeof(self->call.q); size += 8)
		straddle_into_read_only(_metadata, self, size);
}

TEST_F(errors, efault_name_buffer_unmapped)
{
	self->call.q.vma_name_addr = (unsigned long)self->hole;
	EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, efault_name_buffer_kernel_address)
{
	self->call.q.vma_name_addr = 0 - (__u64)self->page;
	EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, efault_name_buffer_read_only)
{
	self->call.q.vma_name_addr = (unsigned long)self->ro;
	EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call));
	EXPECT_EQ(0, self->ro[0]);
}

TEST_F(errors, efault_name_buffer_straddles)
{
	size_t fits;

	for (fits = 1; fits < sizeof(AREA_NAME); fits++) {
		procmap_call_init(&self->call, (unsigned long)self->rw, 0);
		self->call.q.vma_name_addr = (unsigned long)self->ro - fits;
		self->call.q.vma_name_size = self->page;
		EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call))
			TH_LOG("name buffer with %zu bytes before a read-only page", fits);
	}
	EXPECT_EQ(0, self->ro[0]);
}

/*
 * The kernel must not touch the part of the buffer that the name does not need.
 * So that part need not be writable.
 */
TEST_F(errors, none_name_fits_before_a_hole)
{
	char *name = self->ro - sizeof(AREA_NAME);

	self->call.q.vma_name_addr = (unsigned long)name;
	self->call.q.vma_name_size = self->page;
	ASSERT_EQ(0, procmap_call(self->fd, &self->call));
	EXPECT_EQ(sizeof(AREA_NAME), self->call.q.vma_name_size);
	EXPECT_STREQ(AREA_NAME, name);
	EXPECT_EQ(0, name[-1]);
	EXPECT_EQ(0, self->ro[0]);
}

/* The kernel writes no name for a VMA without one, so the buffer does not matter. */
TEST_F(errors, none_no_name_for_a_bad_buffer)
{
	self->call.q.query_addr = (unsigned long)self->ro;
	self->call.q.vma_name_addr = (unsigned long)self->hole;
	ASSERT_EQ(0, procmap_call(self->fd, &self->call));
	EXPECT_EQ(0, self->call.q.vma_name_size);
}

TEST_F(errors, efault_build_id_buffer_unmapped)
{
	ask_for_code(&self->call);
	self->call.q.build_id_addr = (unsigned long)self->hole;
	EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, efault_build_id_buffer_kernel_address)
{
	ask_for_code(&self->call);
	self->call.q.build_id_addr = 0 - (__u64)self->page;
	EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, efault_build_id_buffer_read_only)
{
	ask_for_code(&self->call);
	self->call.q.build_id_addr = (unsigned long)self->ro;
	EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call));
	EXPECT_EQ(0, self->ro[0]);
}

TEST_F(errors, efault_build_id_buffer_straddles)
{
	size_t fits;

	for (fits = 1; fits < 20; fits++) {
		ask_for_code(&self->call);
		self->call.q.build_id_addr = (unsigned long)self->ro - fits;
		EXPECT_EQ(-EFAULT, procmap_call(self->fd, &self->call))
			TH_LOG("ID buffer with %zu bytes before a read-only page", fits);
	}
	EXPECT_EQ(0, self->ro[0]);
}

TEST_F(errors, einval_size_too_small)
{
	__u64 size;

	for (size = 0; size < PROCMAP_QUERY_SIZE_MIN; size++) {
		self->call.q.size = size;
		EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call))
			TH_LOG("size %llu", size);
	}
}

TEST_F(errors, einval_unknown_flag)
{
	__u64 bit;

	for (bit = 1; bit; bit <<= 1) {
		if (bit & PROCMAP_FLAGS)
			continue;
		self->call.q.query_flags = bit;
		EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call))
			TH_LOG("flag 0x%llx", bit);
		self->call.q.query_flags = bit | PROCMAP_FLAGS;
		EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call))
			TH_LOG("flag 0x%llx with all known ones", bit);
	}
}

TEST_F(errors, einval_name_size_without_address)
{
	self->call.q.vma_name_addr = 0;
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));
}

TEST_F(errors, einval_name_address_without_size)
{
	self->call.q.vma_name_size = 0;
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));
}

TEST_F(errors, einval_build_id_size_without_address)
{
	self->call.q.build_id_addr = 0;
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));
}

TEST_F(errors, einval_build_id_address_without_size)
{
	self->call.q.build_id_size = 0;
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));
}

/* An address is not 0 if only a bit of its upper half is set. */
TEST_F(errors, einval_address_without_size_upper_half)
{
	self->call.q.vma_name_size = 0;
	self->call.q.vma_name_addr = 1ULL << 32;
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));

	procmap_call_init(&self->call, (unsigned long)self->rw, 0);
	self->call.q.build_id_size = 0;
	self->call.q.build_id_addr = 1ULL << 32;
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));
}

TEST_F(errors, none_without_buffers)
{
	self->call.q.vma_name_size = 0;
	self->call.q.vma_name_addr = 0;
	self->call.q.build_id_size = 0;
	self->call.q.build_id_addr = 0;
	ASSERT_EQ(0, procmap_call(self->fd, &self->call));
	EXPECT_EQ((unsigned long)self->rw, self->call.q.vma_start);
	EXPECT_EQ(0, self->call.q.vma_name_size);
	EXPECT_EQ(0, self->call.q.build_id_size);
}

TEST_F(errors, e2big_size_above_page_size)
{
	const __u64 size[] = { self->page + 1, 1ULL << 31, 1ULL << 32,
			       (1ULL << 32) + sizeof(struct procmap_query), 1ULL << 63, ~0ULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		self->call.q.size = size[i];
		EXPECT_EQ(-E2BIG, procmap_call(self->fd, &self->call))
			TH_LOG("size 0x%llx", size[i]);
	}
}

TEST_F(errors, enoent_hole)
{
	self->call.q.query_addr = (unsigned long)self->hole;
	EXPECT_EQ(-ENOENT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, enoent_filter)
{
	self->call.q.query_flags = PROCMAP_QUERY_VMA_EXECUTABLE;
	EXPECT_EQ(-ENOENT, procmap_call(self->fd, &self->call));
	self->call.q.query_flags = PROCMAP_QUERY_VMA_SHARED;
	EXPECT_EQ(-ENOENT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, enoent_nothing_above)
{
	self->call.q.query_addr = ~0ULL;
	self->call.q.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	EXPECT_EQ(-ENOENT, procmap_call(self->fd, &self->call));
}

TEST_F(errors, esrch_process_gone)
{
	struct procmap_child child;
	int fd;

	ASSERT_EQ(0, procmap_child_start(&child, procmap_waits, NULL));
	fd = maps_open(child.pid);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, procmap_call(fd, &self->call));
	ASSERT_EQ(0, procmap_child_finish(&child));
	procmap_call_init(&self->call, (unsigned long)self->rw, 0);
	EXPECT_EQ(-ESRCH, procmap_call(fd, &self->call));
	close(fd);
}

TEST_F(errors, enametoolong_name_one_short)
{
	__u32 size;

	for (size = 1; size < sizeof(AREA_NAME); size++) {
		self->call.q.vma_name_size = size;
		EXPECT_EQ(-ENAMETOOLONG, procmap_call(self->fd, &self->call))
			TH_LOG("name buffer of %u bytes", size);
	}
	self->call.q.vma_name_size = size;
	EXPECT_EQ(0, procmap_call(self->fd, &self->call));
}

TEST_F(errors, enametoolong_build_id_one_short)
{
	__u32 size;

	for (size = 1; size < 20; size++) {
		ask_for_code(&self->call);
		self->call.q.build_id_size = size;
		EXPECT_EQ(-ENAMETOOLONG, procmap_call(self->fd, &self->call))
			TH_LOG("ID buffer of %u bytes", size);
		/* The kernel must not write a part of the ID either. */
		EXPECT_TRUE(procmap_is_poison("build ID", self->call.build_id,
					      self->call.guard_id));
	}
	ask_for_code(&self->call);
	self->call.q.build_id_size = size;
	EXPECT_EQ(0, procmap_call(self->fd, &self->call));
	EXPECT_EQ(20, self->call.q.build_id_size);
}

/* That something does not fit comes first, and then neither buffer is written. */
TEST_F(errors, enametoolong_before_efault)
{
	ask_for_code(&self->call);
	self->call.q.build_id_size = 19;
	EXPECT_EQ(-ENAMETOOLONG, procmap_call(self->fd, &self->call));
	EXPECT_EQ((char)PROCMAP_POISON, self->call.name[0]);
	ask_for_code(&self->call);
	self->call.q.build_id_size = 19;
	self->call.q.vma_name_addr = (unsigned long)self->hole;
	EXPECT_EQ(-ENAMETOOLONG, procmap_call(self->fd, &self->call));

	ask_for_code(&self->call);
	self->call.q.vma_name_size = 1;
	EXPECT_EQ(-ENAMETOOLONG, procmap_call(self->fd, &self->call));
	EXPECT_EQ(PROCMAP_POISON, self->call.build_id[0]);
	ask_for_code(&self->call);
	self->call.q.vma_name_size = 1;
	self->call.q.build_id_addr = (unsigned long)self->hole;
	EXPECT_EQ(-ENAMETOOLONG, procmap_call(self->fd, &self->call));
}

TEST_F(errors, enotty_unknown_command)
{
	const unsigned long command[] = {
		_IOWR('f', 16, struct procmap_query), _IOWR('f', 18, struct procmap_query),
		_IOWR('F', 17, struct procmap_query), _IOWR('f', 17, char[96]),
		_IOWR('f', 17, char[112]), _IOR('f', 17, struct procmap_query),
		_IOW('f', 17, struct procmap_query), _IO('f', 17), 0, 0xffffffff,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(command); i++) {
		errno = 0;
		EXPECT_EQ(-1, ioctl(self->fd, command[i], &self->call.q));
		EXPECT_EQ(ENOTTY, errno)
			TH_LOG("command 0x%lx", command[i]);
	}
}

TEST_F(errors, enotty_other_files)
{
	const char *const name[] = { "mem", "auxv", "limits", "stat" };
	char path[64];
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(name); i++) {
		snprintf(path, sizeof(path), "/proc/self/%s", name[i]);
		fd = open(path, O_RDONLY);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-ENOTTY, procmap_call(fd, &self->call))
			TH_LOG("%s", path);
		close(fd);
	}
}

/* Programs were built with these numbers, whatever kernel they were built for. */
TEST(published_numbers)
{
	EXPECT_EQ(0xC0686611UL, (unsigned long)PROCMAP_QUERY);
	EXPECT_EQ(0x01, PROCMAP_QUERY_VMA_READABLE);
	EXPECT_EQ(0x02, PROCMAP_QUERY_VMA_WRITABLE);
	EXPECT_EQ(0x04, PROCMAP_QUERY_VMA_EXECUTABLE);
	EXPECT_EQ(0x08, PROCMAP_QUERY_VMA_SHARED);
	EXPECT_EQ(0x10, PROCMAP_QUERY_COVERING_OR_NEXT_VMA);
	EXPECT_EQ(0x20, PROCMAP_QUERY_FILE_BACKED_VMA);
}

TEST(published_layout)
{
	EXPECT_EQ(0, offsetof(struct procmap_query, size));
	EXPECT_EQ(8, offsetof(struct procmap_query, query_flags));
	EXPECT_EQ(16, offsetof(struct procmap_query, query_addr));
	EXPECT_EQ(24, offsetof(struct procmap_query, vma_start));
	EXPECT_EQ(32, offsetof(struct procmap_query, vma_end));
	EXPECT_EQ(40, offsetof(struct procmap_query, vma_flags));
	EXPECT_EQ(48, offsetof(struct procmap_query, vma_page_size));
	EXPECT_EQ(56, offsetof(struct procmap_query, vma_offset));
	EXPECT_EQ(64, offsetof(struct procmap_query, inode));
	EXPECT_EQ(72, offsetof(struct procmap_query, dev_major));
	EXPECT_EQ(76, offsetof(struct procmap_query, dev_minor));
	EXPECT_EQ(80, offsetof(struct procmap_query, vma_name_size));
	EXPECT_EQ(84, offsetof(struct procmap_query, build_id_size));
	EXPECT_EQ(88, offsetof(struct procmap_query, vma_name_addr));
	EXPECT_EQ(96, offsetof(struct procmap_query, build_id_addr));
	EXPECT_EQ(104, sizeof(struct procmap_query));
}

TEST_HARNESS_MAIN
