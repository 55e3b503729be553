// SPDX-License-Identifier: GPL-2.0
/*
 * Build IDs of files on a disk that are not in the page cache. The caller
 * brings in the pages, no more than are needed, and waits for them killably.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/kernel-page-flags.h>

#include "elf_image.h"
#include "ext2_disk.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"
#include "stall.h"

#define PAGE		4096
#define PAGES		EXT2_DISK_FILE_BLOCKS
#define SHA1_SIZE	20
#define WRONG		255

/* More notes than a query reads while the VMA is locked. */
#define EMPTY		4000
#define FULL_PAGES	(1 + (ELF_IMAGE_NOTE + EMPTY * ELF_IMAGE_EMPTY) / PAGE)
/* More reads than the layers of the disk try before they give up. */
#define ALL_READS	1000

/* Notes on the first page; on the last page; and those that fill many pages. */
enum { FILE_SHORT, FILE_FAR, FILE_FULL, NR_FILES };

PROCMAP_REQUIRE(ext2_disk_lacking())

FIXTURE(disk) {
	struct ext2_disk disk;
	struct elf_image image[NR_FILES];
	int fd[NR_FILES];
	char *map[NR_FILES];
	char dir[PATH_MAX / 2];
	int maps;
};

static void make_images(struct elf_image *image, char (*data)[PAGES * PAGE])
{
	const size_t notes_at[NR_FILES] = { ELF_IMAGE_NOTE, (PAGES - 1) * PAGE, ELF_IMAGE_NOTE };
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		elf_image_make(&image[i], true, SHA1_SIZE, 50 + i);
		elf_image_put(&image[i], data[i], notes_at[i], i == FILE_FULL ? EMPTY : 0);
	}
}

FIXTURE_SETUP(disk)
{
	static char data[NR_FILES][PAGES * PAGE];
	struct fuse_server_file files[NR_FILES];
	unsigned int i;

	make_images(self->image, data);
	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	for (i = 0; i < NR_FILES; i++)
		files[i] = (struct fuse_server_file){ .data = data[i], .size = PAGES * PAGE };
	ASSERT_EQ(0, ext2_disk_make(&self->disk, files, NR_FILES));
	for (i = 0; i < NR_FILES; i++) {
		self->fd[i] = ext2_disk_open(&self->disk, i, O_RDWR);
		ASSERT_LE(0, self->fd[i]);
		self->map[i] = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, self->fd[i], 0);
		ASSERT_NE((long)MAP_FAILED, (long)self->map[i]);
	}
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
}

FIXTURE_TEARDOWN(disk)
{
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		munmap(self->map[i], PAGES * PAGE);
		close(self->fd[i]);
	}
	ext2_disk_remove(&self->disk);
	rmdir(self->dir);
}

/* Returns how many pages of a file are in the page cache, or -errno. */
static int cached(const struct _test_data_disk *self, unsigned int file)
{
	return procmap_cached_pages(self->map[file], PAGES * PAGE);
}

static int id_size(const struct _test_data_disk *self, unsigned int file)
{
	return elf_image_ask(self->maps, self->map[file], &self->image[file]);
}

TEST_F(disk, only_the_pages_that_are_needed_are_read)
{
	const int pages[NR_FILES] = { 1, 2, FULL_PAGES };
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		ASSERT_EQ(0, cached(self, i));
		EXPECT_EQ(SHA1_SIZE, id_size(self, i));
		EXPECT_EQ(pages[i], cached(self, i));
	}
}

/* The next query needs no disk. */
TEST_F(disk, what_was_read_stays_cached)
{
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_FAR));
	ASSERT_EQ(0, ext2_disk_stall(&self->disk));
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_FAR));
}

/* A scan that does not wait says of each file that its build ID is not known. */
TEST_F(disk, a_scan_that_does_not_wait_reads_nothing)
{
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		EXPECT_EQ(-EIO, elf_image_scan(self->maps, self->map[i], &self->image[i],
					       PROCMAP_SCAN_NOWAIT));
		EXPECT_EQ(0, cached(self, i));
		EXPECT_EQ(SHA1_SIZE, elf_image_scan(self->maps, self->map[i], &self->image[i], 0));
	}
	EXPECT_EQ(SHA1_SIZE, elf_image_scan(self->maps, self->map[FILE_SHORT],
					    &self->image[FILE_SHORT], PROCMAP_SCAN_NOWAIT));
}

/*
 * A file that cannot be read has no build ID. The next query tries again, and leaves no
 * error at the page.
 */
TEST_F(disk, a_read_that_fails)
{
	ASSERT_EQ(0, ext2_disk_fail(&self->disk, ALL_READS));
	EXPECT_EQ(0, id_size(self, FILE_SHORT));
	EXPECT_EQ(-EIO, elf_image_scan(self->maps, self->map[FILE_SHORT], &self->image[FILE_SHORT],
				       0));
	ASSERT_EQ(0, ext2_disk_fail(&self->disk, 0));
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_SHORT));
	EXPECT_EQ('L', self->map[FILE_SHORT][2]);
	EXPECT_EQ(0, procmap_page_info("/proc/kpageflags", self->map[FILE_SHORT]) &
		     (1ULL << KPF_ERROR));
}

/* Mount the disk below a directory, which becomes the current one. */
static bool mount_below(const char *dir, const struct ext2_disk *disk)
{
	return HOLDS(!unshare(CLONE_NEWNS)) &&
	       HOLDS(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) &&
	       HOLDS(!mount("none", dir, "tmpfs", 0, NULL)) && HOLDS(!chdir(dir)) &&
	       HOLDS(!mkdir("disk", 0755)) && HOLDS(!mkdir("empty", 0755)) &&
	       HOLDS(!mkdir("all", 0755)) &&
	       HOLDS(!syscall(__NR_move_mount, disk->mount, "", AT_FDCWD, "disk",
			      MOVE_MOUNT_F_EMPTY_PATH));
}

/* Map the first file, and scan it. Returns the size of its build ID, or -EIO: not known. */
static int scan_file(const struct _test_data_disk *self, const char *path)
{
	int maps = maps_open(0), fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	char *map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (!HOLDS(maps >= 0) || !HOLDS(map != MAP_FAILED))
		return -EBADF;
	ret = elf_image_scan(maps, map, &self->image[FILE_SHORT], 0);
	munmap(map, PAGES * PAGE);
	close(fd);
	close(maps);
	return ret;
}

/* As root of a user namespace: by its own mounts of the disk, and of an overlay on it */
static int scans_own_mounts(struct procmap_child *child, void *arg)
{
	const struct _test_data_disk *self = arg;
	__u64 expected;

	if (!HOLDS(!unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
	    !HOLDS(!mount("none", "all", "overlay", MS_RDONLY, "lowerdir=disk:empty")))
		return 1;
	while (!procmap_recv(child, &expected))
		if (!HOLDS(scan_file(self, "disk/file0") == (int)expected) ||
		    !HOLDS(scan_file(self, "all/file0") == (int)expected) ||
		    procmap_send(child, cached(self, FILE_SHORT)))
			return 1;
	return 0;
}

/*
 * A caller takes no reference to a file of a user's mount, to read it: who drops the last one
 * has to unmount what that user serves.
 */
TEST_F(disk, a_mount_of_a_user_shows_what_is_cached)
{
	struct procmap_child user;
	__u64 nr;

	ASSERT_TRUE(mount_below(self->dir, &self->disk));
	ASSERT_EQ(0, procmap_child_start(&user, scans_own_mounts, self));
	ASSERT_EQ(0, procmap_send(&user, -EIO));
	ASSERT_EQ(0, procmap_recv(&user, &nr));
	EXPECT_EQ(0, nr);
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_SHORT));
	ASSERT_EQ(0, procmap_send(&user, SHA1_SIZE));
	ASSERT_EQ(0, procmap_recv(&user, &nr));
	EXPECT_EQ(1, nr);
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&user));
	EXPECT_EQ(0, umount2("disk", MNT_DETACH));
	EXPECT_EQ(0, chdir("/"));
	EXPECT_EQ(0, umount(self->dir));
}

/* A query without buffer for the build ID reads nothing. */
TEST_F(disk, a_query_without_build_id_reads_nothing)
{
	struct procmap_call call;

	ASSERT_EQ(0, ext2_disk_stall(&self->disk));
	ASSERT_EQ(0, stall_ask(self->maps, (unsigned long)self->map[FILE_SHORT], 0, &call));
	EXPECT_EQ(0, call.q.build_id_size);
	EXPECT_EQ(0, cached(self, FILE_SHORT));
}

/* A process that asks for the build ID of a file, and exits with its length. */
struct caller {
	struct procmap_child child;
	const struct _test_data_disk *disk;
	unsigned int file;
};

static void nothing(int sig)
{
}

static int asks(struct procmap_child *child, void *arg)
{
	struct sigaction action = { .sa_handler = nothing };
	const struct caller *caller = arg;
	int size;

	if (!HOLDS(!sigaction(SIGUSR1, &action, NULL)))
		return WRONG;
	size = id_size(caller->disk, caller->file);
	return HOLDS(size >= 0) ? size : WRONG;
}

static int start_caller(struct caller *caller, const struct _test_data_disk *disk,
			unsigned int file)
{
	caller->disk = disk;
	caller->file = file;
	return procmap_child_start(&caller->child, asks, caller);
}

/* Does the process sleep in its query, and has it not ended? */
static bool waits(const struct caller *caller)
{
	return stall_gets_stuck(caller->child.pid, caller->child.pid) &&
	       !stall_has_come(&caller->child);
}

TEST_F(disk, a_query_that_is_killed_is_EINTR)
{
	struct caller caller;

	ASSERT_EQ(0, ext2_disk_stall(&self->disk));
	ASSERT_EQ(0, start_caller(&caller, self, FILE_SHORT));
	ASSERT_EQ(0, ext2_disk_wait_held(&self->disk));
	EXPECT_TRUE(waits(&caller));
	EXPECT_EQ(-EINTR, procmap_child_kill_in_call(&caller.child));
}

/* The disk still does not answer when the first caller is gone for good. */
TEST_F(disk, a_disk_that_is_stalled_holds_up_nobody_who_is_killed)
{
	struct fuse_server_file file = { .data = self->image[FILE_SHORT].data,
					 .size = ELF_IMAGE_SIZE };
	struct caller first, second;
	struct ext2_disk other;
	char *map;
	int fd;

	ASSERT_EQ(0, ext2_disk_make(&other, &file, 1));
	fd = ext2_disk_open(&other, 0, O_RDONLY);
	map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_EQ(0, ext2_disk_stall(&self->disk));
	ASSERT_EQ(0, start_caller(&first, self, FILE_SHORT));
	ASSERT_EQ(0, ext2_disk_wait_held(&self->disk));
	EXPECT_TRUE(waits(&first));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&first.child));

	/* The page is locked, and stays so. */
	ASSERT_EQ(0, start_caller(&second, self, FILE_SHORT));
	EXPECT_TRUE(waits(&second));
	EXPECT_EQ(SHA1_SIZE, elf_image_ask(self->maps, map, &self->image[FILE_SHORT]));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&second.child));

	/* What the disk answers in the end is used. */
	ASSERT_EQ(0, ext2_disk_release(&self->disk));
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_SHORT));
	munmap(map, PAGE);
	close(fd);
	ext2_disk_remove(&other);
}

TEST_F(disk, a_signal_that_does_not_kill_is_not_an_answer)
{
	struct caller caller;

	ASSERT_EQ(0, ext2_disk_stall(&self->disk));
	ASSERT_EQ(0, start_caller(&caller, self, FILE_SHORT));
	ASSERT_EQ(0, ext2_disk_wait_held(&self->disk));
	EXPECT_TRUE(waits(&caller));
	ASSERT_EQ(0, kill(caller.child.pid, SIGUSR1));
	EXPECT_TRUE(waits(&caller));
	ASSERT_EQ(0, ext2_disk_release(&self->disk));
	EXPECT_EQ(SHA1_SIZE, procmap_child_wait(&caller.child));
}

/* Waits for a page of the file, and so keeps it locked. */
static int reads_last_page(struct procmap_child *child, void *arg)
{
	const struct _test_data_disk *disk = arg;
	char byte;

	if (!HOLDS(!posix_fadvise(disk->fd[FILE_SHORT], 0, 0, POSIX_FADV_RANDOM)))
		return 1;
	return pread(disk->fd[FILE_SHORT], &byte, 1, (PAGES - 1) * PAGE) < 0;
}

/* Waits for that page, and keeps everybody else from adding pages. */
static int truncates(struct procmap_child *child, void *arg)
{
	const struct _test_data_disk *disk = arg;

	return ftruncate(disk->fd[FILE_SHORT], PAGE) != 0;
}

TEST_F(disk, a_query_that_waits_for_a_truncation_can_be_killed)
{
	struct procmap_child reader, truncater;
	struct caller caller;

	ASSERT_EQ(0, ext2_disk_stall(&self->disk));
	ASSERT_EQ(0, procmap_child_start(&reader, reads_last_page, self));
	ASSERT_EQ(0, ext2_disk_wait_held(&self->disk));
	ASSERT_EQ(0, procmap_child_start(&truncater, truncates, self));
	ASSERT_TRUE(stall_gets_stuck(truncater.pid, truncater.pid));
	ASSERT_EQ(0, start_caller(&caller, self, FILE_SHORT));
	EXPECT_TRUE(waits(&caller));
	EXPECT_EQ(-EINTR, procmap_child_kill_in_call(&caller.child));
	EXPECT_FALSE(stall_has_come(&truncater));
	ASSERT_EQ(0, ext2_disk_release(&self->disk));
	EXPECT_EQ(0, procmap_child_wait(&reader));
	EXPECT_EQ(0, procmap_child_wait(&truncater));
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_SHORT));
}

TEST_HARNESS_MAIN
