// SPDX-License-Identifier: GPL-2.0
/*
 * The error table of PROCMAP_SCAN, row by row. scan_call() also checks in every
 * case that the struct and the bytes around the areas stay unchanged.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "procmap_harness.h"
#include "scan.h"

#define RECORDS	64
#define NAMES	4096

/* Two pages for arguments, the second of which can only be read, and a hole. */
FIXTURE(errors) {
	int fd;
	long page;
	char *rw;
	char *ro;
	char *hole;
	struct scan scan;
};

FIXTURE_SETUP(errors)
{
	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	self->page = sysconf(_SC_PAGESIZE);
	self->rw = mmap(NULL, 3 * self->page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->rw);
	self->ro = self->rw + self->page;
	self->hole = self->ro + self->page;
	ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ));
	ASSERT_EQ(0, munmap(self->hole, self->page));
	ASSERT_EQ(0, scan_init(&self->scan, RECORDS, NAMES));
}

FIXTURE_TEARDOWN(errors)
{
	scan_free(&self->scan);
	close(self->fd);
}

/* Without an error the calls of this file succeed. */
TEST_F(errors, none)
{
	ASSERT_EQ(0, scan_call(self->fd, &self->scan));
	EXPECT_LT(5, self->scan.s.records_filled);
	EXPECT_LT(5, self->scan.s.names_filled);
	EXPECT_EQ(~0ULL, self->scan.s.next);
}

TEST_F(errors, efault_argument_unmapped)
{
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, self->hole));
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, NULL));
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, (void *)-self->page));
}

/* The size can be read, the rest cannot. */
TEST_F(errors, efault_argument_half_unmapped)
{
	char *arg = self->hole - sizeof(self->scan.s) / 2;

	ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
	memcpy(arg, &self->scan.s, sizeof(self->scan.s) / 2);
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, arg));
}

/* Each place of the struct over the border: all of the answer or nothing. */
TEST_F(errors, efault_argument_read_only)
{
	size_t in_ro;

	for (in_ro = 1; in_ro <= sizeof(self->scan.s); in_ro++) {
		struct procmap_scan was = self->scan.s;
		char *arg = self->ro - sizeof(was) + in_ro;

		was.next = 17;
		was.generation = 18;
		was.code_generation = 19;
		ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
		memcpy(arg, &was, sizeof(was));
		ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ));
		ASSERT_EQ(-EFAULT, scan_ioctl(self->fd, arg));
		ASSERT_EQ(0, memcmp(arg, &was, sizeof(was)));
	}
}

TEST_F(errors, efault_records_read_only)
{
	self->scan.s.records = (unsigned long)self->ro;
	EXPECT_EQ(-EFAULT, scan_call(self->fd, &self->scan));
}

/* The last record that fits in the page is written; the next one is not. */
TEST_F(errors, efault_records_end_in_a_hole)
{
	const size_t size = sizeof(struct procmap_record);

	ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
	self->scan.s.records = (unsigned long)self->hole - 2 * size;
	self->scan.s.records_len = 2;
	EXPECT_EQ(0, scan_ioctl(self->fd, &self->scan.s));
	self->scan.s.records_len = 3;
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, &self->scan.s));
	self->scan.s.records += size - 1;
	self->scan.s.records_len = 2;
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, &self->scan.s));
}

TEST_F(errors, efault_records_kernel_address)
{
	self->scan.s.records = -2ULL * self->page;
	EXPECT_EQ(-EFAULT, scan_call(self->fd, &self->scan));
	self->scan.s.records = 1ULL << 63;
	EXPECT_EQ(-EFAULT, scan_call(self->fd, &self->scan));
}

TEST_F(errors, efault_names_read_only)
{
	self->scan.s.names = (unsigned long)self->ro;
	self->scan.s.names_size = self->page;
	EXPECT_EQ(-EFAULT, scan_call(self->fd, &self->scan));
}

TEST_F(errors, efault_tail_of_a_record)
{
	const size_t size = self->page;

	ASSERT_EQ(0, mprotect(self->ro, self->page, PROT_READ | PROT_WRITE));
	self->scan.s.record_size = size;
	self->scan.s.records_len = 1;
	self->scan.s.records = (unsigned long)self->hole - size;
	EXPECT_EQ(0, scan_ioctl(self->fd, &self->scan.s));
	self->scan.s.records += 1;
	EXPECT_EQ(-EFAULT, scan_ioctl(self->fd, &self->scan.s));
}

TEST_F(errors, einval_unknown_flag)
{
	unsigned int bit;

	for (bit = 5; bit < 64; bit++) {
		self->scan.s.flags = SCAN_EXTRAS | 1ULL << bit;
		ASSERT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
	}
}

/* There is one known generation, of the one kind or of the other. */
TEST_F(errors, einval_both_generations)
{
	self->scan.s.flags = PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED;
	EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
}

TEST_F(errors, einval_unknown_condition)
{
	__u64 *const conditions[] = {
		&self->scan.s.all_of, &self->scan.s.any_of, &self->scan.s.none_of,
	};
	const __u64 known = 0x7ff2f;
	unsigned int bit;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(conditions); i++) {
		for (bit = 0; bit < 64; bit++) {
			*conditions[i] = 1ULL << bit;
			if (!(known & *conditions[i]))
				ASSERT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
		}
		*conditions[i] = 0;
	}
}

TEST_F(errors, einval_start_not_below_end)
{
	self->scan.s.start = self->page;
	self->scan.s.end = self->page;
	EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
	self->scan.s.end = 1;
	EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
	self->scan.s.start = ~0ULL;
	self->scan.s.end = ~0ULL;
	EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
}

TEST_F(errors, einval_record_size)
{
	const __u32 size[] = { 0, 1, PROCMAP_RECORD_SIZE_VER0 - 1, self->page + 1, ~0U };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		self->scan.s.record_size = size[i];
		EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
	}
}

TEST_F(errors, einval_reserved)
{
	self->scan.s.reserved = 1;
	EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
}

TEST_F(errors, einval_size_too_small)
{
	const __u64 size[] = { 0, 1, 8, PROCMAP_SCAN_SIZE_VER0 - 8, PROCMAP_SCAN_SIZE_VER0 - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		self->scan.s.size = size[i];
		EXPECT_EQ(-EINVAL, scan_call(self->fd, &self->scan));
	}
}

TEST_F(errors, e2big_size_above_page_size)
{
	self->scan.s.size = self->page + 1;
	EXPECT_EQ(-E2BIG, scan_call(self->fd, &self->scan));
	self->scan.s.size = ~0ULL;
	EXPECT_EQ(-E2BIG, scan_call(self->fd, &self->scan));
}

/* A longer struct is right if what the kernel does not know is 0. */
TEST_F(errors, e2big_longer_with_other_tail)
{
	struct procmap_scan *arg = (struct procmap_scan *)self->rw;
	const size_t size[] = { sizeof(*arg) + 1, sizeof(*arg) + 8, self->page };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		memset(arg, 0, self->page);
		*arg = self->scan.s;
		arg->size = size[i];
		EXPECT_EQ(0, scan_ioctl(self->fd, arg));
		EXPECT_LT(5, arg->records_filled);
		EXPECT_EQ(size[i], arg->size);
		self->rw[size[i] - 1] = 1;
		EXPECT_EQ(-E2BIG, scan_ioctl(self->fd, arg));
	}
}

/* Longer records have zeroes after what the kernel knows, and nothing more. */
TEST_F(errors, none_with_longer_records)
{
	const size_t known = sizeof(struct procmap_record);
	const __u32 size[] = { known + 1, known + 4, known + 8, 200, 1000 };
	size_t i, k, byte;
	struct scan scan;

	ASSERT_EQ(0, scan_call(self->fd, &self->scan));
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		const __u32 space = self->scan.s.records_filled;

		ASSERT_EQ(0, scan_init(&scan, space * size[i] / known + 1, NAMES));
		scan.s.record_size = size[i];
		scan.s.records_len = space - 1;
		ASSERT_EQ(0, scan_call(self->fd, &scan));
		ASSERT_EQ(space - 1, scan.s.records_filled);
		for (k = 0; k < space - 1; k++) {
			const char *record = (const char *)scan.records + k * size[i];

			/* Allocations between the calls may have moved the heap's end. */
			ASSERT_EQ(self->scan.records[k].start,
				  ((const struct procmap_record *)record)->start);
			for (byte = known; byte < size[i]; byte++)
				ASSERT_EQ(0, record[byte]);
		}
		scan_free(&scan);
	}
}

TEST_F(errors, enametoolong_no_space_for_the_first_name)
{
	const __u32 space[] = { 0, 1, 2 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(space); i++) {
		self->scan.s.names_size = space[i];
		EXPECT_EQ(-ENAMETOOLONG, scan_call(self->fd, &self->scan));
	}
}

TEST_F(errors, esrch_process_gone)
{
	struct procmap_child child;
	int fd;

	ASSERT_EQ(0, procmap_child_start(&child, procmap_waits, NULL));
	fd = maps_open(child.pid);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, scan_call(fd, &self->scan));
	ASSERT_EQ(0, procmap_child_finish(&child));
	EXPECT_EQ(-ESRCH, scan_ioctl(fd, &self->scan.s));
	/* A generation of it does not hold any more. */
	self->scan.s.flags = PROCMAP_SCAN_IF_CHANGED;
	self->scan.s.known_generation = self->scan.s.generation;
	EXPECT_EQ(-ESRCH, scan_ioctl(fd, &self->scan.s));
	/* A bad argument is an error before a dead process is. */
	self->scan.s.reserved = 1;
	EXPECT_EQ(-EINVAL, scan_ioctl(fd, &self->scan.s));
	close(fd);
}

TEST_F(errors, enotty_other_files)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTTY, scan_call(fd, &self->scan));
	close(fd);
	fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	EXPECT_EQ(-ENOTTY, scan_call(fd, &self->scan));
	close(fd);
}

TEST_F(errors, enotty_other_directions_and_numbers)
{
	EXPECT_EQ(-1, ioctl(self->fd, _IOW('f', 30, struct procmap_scan), &self->scan.s));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOWR('f', 31, struct procmap_scan), &self->scan.s));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOWR('g', 30, struct procmap_scan), &self->scan.s));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0xc080661e, PROCMAP_SCAN);
}

/* The number of a program that knows a longer struct has another size in it. */
TEST_F(errors, none_with_the_number_of_a_longer_struct)
{
	struct longer {
		struct procmap_scan s;
		__u64 more[2];
	} longer = { .s = self->scan.s };

	longer.s.size = sizeof(longer);
	EXPECT_EQ(0, ioctl(self->fd, _IOWR('f', 30, struct longer), &longer));
	EXPECT_LT(5, longer.s.records_filled);
	longer.more[1] = 1;
	EXPECT_EQ(-1, ioctl(self->fd, _IOWR('f', 30, struct longer), &longer));
	EXPECT_EQ(E2BIG, errno);
}

TEST_HARNESS_MAIN
