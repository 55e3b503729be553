// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation and each copy of PROCMAP_QUERY and of process_vm_readv() and
 * process_vm_writev() fails in turn. The call must return the right error,
 * write nothing else, and leave nothing after. The test needs root, and a
 * kernel that can fail on purpose.
 *
 * Each call asks about a process of its own, which ends afterwards. The process
 * maps a file on a file system of its own. This file system cannot be unmounted
 * as long as something holds a reference to the file or to the address space of
 * the process.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "elf_image.h"
#include "ext2_disk.h"
#include "fault.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"
#include "scan.h"

PROCMAP_REQUIRE(fault_lacking())

/* Repeat each failure this many times, to tell what it leaves after each time from chance. */
#define ROUNDS		10
/* No call has that many things that can fail. */
#define MAX_NTH		300

/* A path for which the kernel has no space without an allocation. */
#define DEPTH		6
#define PART		200

#define PAGE		4096
#define AREA_PAGES	40
#define NR_IOVECS	20

/* Flags of process_vm_readv(), which not all headers have. */
#define VM_PIDFD	1UL
#define VM_NOWAIT	2UL

/* One bit for each errno. Bit 0 is for success although something failed. */
#define OK		1ULL
#define ERR(err)	(1ULL << (err))

FIXTURE(faults) {
	struct fault fault;
	struct fault_counts before;
	char dir[PATH_MAX / 4];
	char mnt[PATH_MAX / 2];
	char path[PATH_MAX];
	struct elf_image image;
	struct procmap_child child;
	struct ext2_disk disk;
	int disk_fd;
	char *file;
	char *area;
	char *buf;
	int maps;
	int pidfd;
	const struct _fixture_variant_faults *variant;
	__u64 seen;
	unsigned int nr_failures;
	struct procmap_call call;
};

/*
 * @call: returns 0, a number of bytes, or -errno. @may: results that are right.
 * @must: results that have to come at some time. @cold: the file is on a disk,
 * and not in the page cache. @nr, @flags: system call that transfers memory.
 * @written: the target's memory has been written to, so that a NOWAIT write needs
 * no page fault.
 */
FIXTURE_VARIANT(faults) {
	int (*call)(struct _test_data_faults *self);
	__u64 may;
	__u64 must;
	bool cold;
	long nr;
	unsigned long flags;
	bool written;
};

static int check_file_name(struct _test_data_faults *self)
{
	if (strcmp(self->path, self->call.name))
		return -EBADMSG;
	return self->call.q.vma_name_size == strlen(self->path) + 1 ? 0 : -EBADMSG;
}

static int query_path(struct _test_data_faults *self)
{
	int ret;

	self->call.q.build_id_size = 0;
	self->call.q.build_id_addr = 0;
	ret = procmap_call(self->maps, &self->call);
	return ret ? ret : check_file_name(self);
}

/* -ENODATA: there is none. */
static int check_build_id(const struct _test_data_faults *self, const void *id, unsigned int size)
{
	if (!size)
		return -ENODATA;
	return size == self->image.id_size && !memcmp(id, self->image.id, size) ? 0 : -EBADMSG;
}

static int query_build_id(struct _test_data_faults *self)
{
	int ret;

	self->call.q.vma_name_size = 0;
	self->call.q.vma_name_addr = 0;
	ret = procmap_call(self->maps, &self->call);
	return ret ? ret : check_build_id(self, self->call.build_id, self->call.q.build_id_size);
}

static int query_all(struct _test_data_faults *self)
{
	int ret = procmap_call(self->maps, &self->call);

	return ret ? ret : check_file_name(self);
}

/* Query without the last field. Then the kernel copies a length that is not known at build time. */
static int query_short(struct _test_data_faults *self)
{
	int ret;

	self->call.q.size = offsetof(struct procmap_query, build_id_addr);
	self->call.q.build_id_size = 0;
	ret = procmap_call(self->maps, &self->call);
	return ret ? ret : check_file_name(self);
}

/*
 * Scan the file, whose path is too long for the memory that each scan has. On a
 * disk it has another name.
 */
static int scan_file(struct _test_data_faults *self)
{
	static struct procmap_record record;
	static char name[PATH_MAX];
	int ret = scan_one(self->maps, self->file, SCAN_EXTRAS, &record, name, sizeof(name));

	if (ret)
		return ret;
	if (record.start != (unsigned long)self->file || record.name)
		return -EBADMSG;
	if (!self->disk.server.pid && strcmp(self->path, name))
		return -EBADMSG;
	return check_build_id(self, record.build_id, record.build_id_size);
}

/* Are the bytes that came right, and are the bytes after them unchanged? Returns 0 if all came. */
static ssize_t check_bytes(const char *buf, ssize_t got, size_t size, char what, char was)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (buf[i] != (got > 0 && i < (size_t)got ? what : was))
			return -EBADMSG;
	}
	return got == size ? 0 : got;
}

/*
 * Transfer memory that the target itself has not touched, from or to this process.
 * Both arrays and the list of pages are longer than what the kernel has on its
 * stack. Returns 0 if all bytes were transferred.
 */
static int transfer_vm(struct _test_data_faults *self, long nr, unsigned long flags)
{
	const size_t size = AREA_PAGES * PAGE;
	struct iovec local[NR_IOVECS] = { { self->buf, size } };
	struct iovec remote[NR_IOVECS] = { { self->area, size } };
	long who = flags & VM_PIDFD ? self->pidfd : self->child.pid;
	long ret = syscall(nr, who, local, NR_IOVECS, remote, NR_IOVECS, flags);

	if (ret < 0)
		ret = -errno;
	if (nr == SYS_process_vm_readv)
		return check_bytes(self->buf, ret, size, 0, 'b');
	return ret == size ? 0 : ret;
}

static int transfer(struct _test_data_faults *self)
{
	return transfer_vm(self, self->variant->nr, self->variant->flags);
}

#define QUERY_MAY	(OK | ERR(ENOMEM) | ERR(EFAULT))
/* Without memory to bring a page in, there is no build ID. */
#define COLD_MAY	(QUERY_MAY | ERR(ENODATA))
#define VM_MAY		(OK | ERR(ENOMEM) | ERR(EFAULT))

FIXTURE_VARIANT_ADD(faults, query_path) {
	.call = query_path, .may = QUERY_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
};

FIXTURE_VARIANT_ADD(faults, query_build_id) {
	.call = query_build_id, .may = QUERY_MAY, .must = ERR(EFAULT),
};

FIXTURE_VARIANT_ADD(faults, query_build_id_not_cached) {
	.call = query_build_id, .may = COLD_MAY, .must = ERR(EFAULT) | ERR(ENODATA),
	.cold = true,
};

FIXTURE_VARIANT_ADD(faults, query_all) {
	.call = query_all, .may = QUERY_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
};

FIXTURE_VARIANT_ADD(faults, query_short_struct) {
	.call = query_short, .may = QUERY_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
};

FIXTURE_VARIANT_ADD(faults, scan) {
	.call = scan_file, .may = QUERY_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
};

FIXTURE_VARIANT_ADD(faults, scan_build_id_not_cached) {
	.call = scan_file, .may = COLD_MAY, .must = ERR(ENOMEM) | ERR(EFAULT) | ERR(ENODATA),
	.cold = true,
};

FIXTURE_VARIANT_ADD(faults, process_vm_readv) {
	.call = transfer, .may = VM_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
	.nr = SYS_process_vm_readv,
};

FIXTURE_VARIANT_ADD(faults, process_vm_readv_with_flags) {
	.call = transfer, .may = VM_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
	.nr = SYS_process_vm_readv, .flags = VM_PIDFD | VM_NOWAIT,
};

FIXTURE_VARIANT_ADD(faults, process_vm_writev) {
	.call = transfer, .may = VM_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
	.nr = SYS_process_vm_writev,
};

FIXTURE_VARIANT_ADD(faults, process_vm_writev_with_flags) {
	.call = transfer, .may = VM_MAY, .must = ERR(ENOMEM) | ERR(EFAULT),
	.nr = SYS_process_vm_writev, .flags = VM_PIDFD | VM_NOWAIT, .written = true,
};

static int make_deep_file(struct _test_data_faults *self)
{
	char *end = stpcpy(self->path, self->mnt);
	int fd, i;

	for (i = 0; i < DEPTH; i++) {
		end = memset(stpcpy(end, "/"), 'd', PART) + PART;
		*end = '\0';
		if (mkdir(self->path, 0700))
			return -errno;
	}
	strcpy(end, "/file");
	fd = procmap_tmp_file(self->path, 1);
	if (fd < 0)
		return fd;
	elf_image_make(&self->image, true, 20, 7);
	if (write(fd, self->image.data, ELF_IMAGE_SIZE) != ELF_IMAGE_SIZE) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static int open_cold_file(struct _test_data_faults *self)
{
	const struct fuse_server_file file = { .data = self->image.data, .size = ELF_IMAGE_SIZE };
	int ret;

	elf_image_make(&self->image, true, 20, 8);
	ret = ext2_disk_make(&self->disk, &file, 1);
	if (ret)
		return ret;
	self->disk_fd = ext2_disk_open(&self->disk, 0, O_RDONLY);
	return dup(self->disk_fd);
}

/* Map what the target gets: the file, and memory that nobody has touched. */
static int map_target(struct _test_data_faults *self, bool cold)
{
	int fd = cold ? open_cold_file(self) : make_deep_file(self);

	if (fd < 0)
		return fd;
	self->file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	self->area = mmap(NULL, AREA_PAGES * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->buf = mmap(NULL, AREA_PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	close(fd);
	return self->file == MAP_FAILED || self->area == MAP_FAILED || self->buf == MAP_FAILED ?
	       -ENOMEM : 0;
}

FIXTURE_SETUP(faults)
{
	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	ASSERT_EQ(0, fault_start(&self->fault, self->dir));
	snprintf(self->mnt, sizeof(self->mnt), "%s/mnt", self->dir);
	ASSERT_EQ(0, mkdir(self->mnt, 0700));
	ASSERT_EQ(0, mount("none", self->mnt, "tmpfs", 0, NULL));
	ASSERT_EQ(0, map_target(self, variant->cold));
	self->variant = variant;
	/* If the growth failed later, the process would end. */
	procmap_grow_stack();
}

FIXTURE_TEARDOWN(faults)
{
	if (self->disk.server.pid) {
		close(self->disk_fd);
		ext2_disk_remove(&self->disk);
	}
	EXPECT_EQ(0, fault_stop(&self->fault));
	rmdir(self->mnt);
	rmdir(self->dir);
}

/*
 * Get a private copy of the C library's data of this thread. The kernel writes
 * to that data after it has scheduled the thread (rseq). After fork() it would
 * have to copy the page first. If that copy failed, the process would end, but
 * the test does not mean that failure.
 */
static int unshare_thread(void)
{
	const unsigned long page = (unsigned long)pthread_self() & -PAGE;

	return madvise((void *)page, 2 * PAGE, MADV_POPULATE_WRITE) && errno != ENOMEM ? -errno : 0;
}

static int start_target(struct _test_data_faults *self)
{
	int ret = procmap_child_start(&self->child, procmap_waits, NULL);

	if (ret)
		return ret;
	self->maps = maps_open(self->child.pid);
	self->pidfd = syscall(SYS_pidfd_open, self->child.pid, 0);
	if (self->disk.server.pid && posix_fadvise(self->disk_fd, 0, 0, POSIX_FADV_DONTNEED))
		return -EIO;
	memset(self->buf, 'b', AREA_PAGES * PAGE);
	if (self->variant->written && transfer_vm(self, SYS_process_vm_writev, 0))
		return -EIO;
	procmap_call_init(&self->call, (unsigned long)self->file, 0);
	return self->maps < 0 || self->pidfd < 0 ? -EIO : unshare_thread();
}

static int stop_target(struct _test_data_faults *self)
{
	close(self->maps);
	close(self->pidfd);
	return procmap_child_finish(&self->child);
}

/* Do one call in which the @nth thing that can fail does. Returns its result. */
static int call_failing(struct __test_metadata *_metadata, struct _test_data_faults *self,
			int (*call)(struct _test_data_faults *self), int nth, bool *failed)
{
	int ret;

	ASSERT_EQ(0, start_target(self));
	ASSERT_EQ(0, fault_arm(&self->fault, nth));
	ret = call(self);
	ASSERT_EQ(0, fault_disarm(&self->fault, failed));
	ASSERT_EQ(0, stop_target(self));
	return ret;
}

static bool may_be(__u64 set, int ret)
{
	return ret > -64 && set & ERR(ret < 0 ? -ret : 0);
}

/*
 * Nothing fails in the last call, because @nth is beyond its end. Its result
 * must be as if nothing were armed.
 */
static void fail_each(struct __test_metadata *_metadata, struct _test_data_faults *self)
{
	const struct _fixture_variant_faults *variant = self->variant;
	bool failed = true;
	int nth, ret = -1;

	for (nth = 1; failed; nth++) {
		ASSERT_LT(nth, MAX_NTH);
		ret = call_failing(_metadata, self, variant->call, nth, &failed);
		EXPECT_TRUE(may_be(variant->may, ret))
			TH_LOG("failure %d: returned %d", nth, ret);
		if (ret <= 0 && ret > -64)
			self->seen |= ERR(-ret);
		self->nr_failures += failed;
	}
	EXPECT_EQ(0, ret)
		TH_LOG("without a failure: returned %d", ret);
}

/* Unmap the file first, so that the test itself does not keep the file system busy. */
static int unmount(struct _test_data_faults *self)
{
	int ret;

	munmap(self->file, PAGE);
	UNTIL((ret = umount(self->mnt) ? -errno : 0) != -EBUSY);
	return ret;
}

TEST_F(faults, right_error_and_nothing_left_behind)
{
	int round;

	/* The first round allocates some objects for good. So count them only after it. */
	fail_each(_metadata, self);
	ASSERT_EQ(0, fault_count(&self->before));
	for (round = 0; round < ROUNDS; round++)
		fail_each(_metadata, self);
	printf("# %u failures\n", self->nr_failures);
	fflush(stdout);
	EXPECT_EQ(variant->must, self->seen & variant->must);
	EXPECT_EQ(0, fault_wait_back(&self->before, ROUNDS / 2));
	EXPECT_EQ(0, unmount(self));
}

TEST_HARNESS_MAIN
