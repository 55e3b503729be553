// SPDX-License-Identifier: GPL-2.0
/*
 * Which cgroup is charged for the pages of a file when somebody asks for its
 * build ID: that of the caller, for what can be evicted. No process may be killed
 * for it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <linux/elf.h>
#include <linux/fs.h>

#include "cgroup.h"
#include "elf_image.h"
#include "ext2_disk.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"
#include "stall.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define OWN_DATA	ELFDATA2MSB
#else
#define OWN_DATA	ELFDATA2LSB
#endif

#define PAGE		4096
#define SHA1_SIZE	20
#define NR_SPARSE	6
/* Size of a sparse file. Only one page of it has been written. */
#define SPARSE_PAGES	16384

/*
 * A process with mappings. It reports when they exist, and how many of their
 * pages are in memory.
 */
struct target {
	struct procmap_child child;
	const char *dir;
	char *at;
	size_t size;
	int maps;
};

static int start_target(struct target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	target->at = mmap(NULL, target->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (target->at == MAP_FAILED)
		return -errno;
	target->maps = procmap_child_open(&target->child, fn, target, NULL);
	return target->maps < 0 ? target->maps : 0;
}

/* Report the number of pages at each request, until the parent ends. */
static int serve_target(struct procmap_child *child, const struct target *target)
{
	int ret = procmap_send(child, 0);

	while (!ret && !procmap_sync(child))
		ret = procmap_send(child, procmap_cached_pages(target->at, target->size));
	return ret;
}

static long ask_resident(struct target *target)
{
	__u64 nr = -1;

	return procmap_send(&target->child, 0) || procmap_recv(&target->child, &nr) ? -1 : nr;
}

/* Write an ELF header with as many program headers as possible, all of them in holes. */
static bool write_sparse(int fd)
{
	struct {
		struct elf64_hdr ehdr;
		struct elf64_shdr shdr;
	} head = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     OWN_DATA, 1 },
			.e_phoff = PAGE,
			.e_phentsize = sizeof(struct elf64_phdr),
			.e_phnum = PN_XNUM,
			.e_shoff = sizeof(struct elf64_hdr),
			.e_shentsize = sizeof(struct elf64_shdr),
			.e_shnum = 1,
		},
		.shdr.sh_info = 1 << 30,
	};

	return fd >= 0 && write(fd, &head, sizeof(head)) == sizeof(head) &&
	       !ftruncate(fd, SPARSE_PAGES * PAGE);
}

static bool map_sparse(const struct target *target, unsigned int nr)
{
	size_t size = SPARSE_PAGES * PAGE;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "sparse%u", nr);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return HOLDS(write_sparse(fd)) &&
	       HOLDS(mmap(target->at + nr * size, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			  0) != MAP_FAILED) && HOLDS(!close(fd));
}

/* Mounts a ramfs in namespaces of its own, as any user can. */
static int maps_sparse_files(struct procmap_child *child, void *arg)
{
	const struct target *target = arg;
	unsigned int i;

	if (!HOLDS(!procmap_drop_root()) || !HOLDS(!prctl(PR_SET_DUMPABLE, 1)) ||
	    !HOLDS(!procmap_become_root()) ||
	    !HOLDS(!mount("none", target->dir, "ramfs", 0, NULL)) || !HOLDS(!chdir(target->dir)))
		return 1;
	for (i = 0; i < NR_SPARSE; i++)
		if (!map_sparse(target, i))
			return 1;
	return serve_target(child, target);
}

static int id_size(int maps, const char *at)
{
	struct procmap_call call;
	int ret = procmap_ask(maps, (unsigned long)at, 0, &call);

	return ret ? ret : call.q.build_id_size;
}

FIXTURE(sparse) {
	struct target target;
	char dir[256];
};

FIXTURE_SETUP(sparse)
{
	if (geteuid())
		return;
	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	ASSERT_EQ(0, chmod(self->dir, 0777));
	self->target = (struct target){ .dir = self->dir,
					.size = (size_t)NR_SPARSE * SPARSE_PAGES * PAGE };
	ASSERT_EQ(0, start_target(&self->target, maps_sparse_files));
}

FIXTURE_TEARDOWN(sparse)
{
	if (geteuid())
		return;
	procmap_child_kill(&self->target.child);
	rmdir(self->dir);
}

TEST_F(sparse, files_in_ramfs_are_not_filled)
{
	unsigned int i;

	if (geteuid())
		SKIP(return, "%s: becoming another user needs root", _metadata->name);
	EXPECT_EQ(NR_SPARSE, ask_resident(&self->target));
	for (i = 0; i < NR_SPARSE; i++)
		EXPECT_EQ(0, id_size(self->target.maps,
				     self->target.at + (size_t)i * SPARSE_PAGES * PAGE));
	EXPECT_EQ(NR_SPARSE, ask_resident(&self->target));
	TH_LOG("%ld pages after %d queries", ask_resident(&self->target), NR_SPARSE);
}

/**
 * struct turn - what the test and its caller tell each other, in shared memory:
 *	a message would be charged to the caller
 * @asked: number of queries that the caller shall have made
 * @answered: number of those that it has made
 * @ret: what the last one returned
 */
struct turn {
	unsigned int asked;
	unsigned int answered;
	int ret;
};

/* A file on a disk. Its notes are after an indirect block. */
FIXTURE(cold) {
	struct ext2_disk disk;
	struct elf_image image;
	struct procmap_child caller;
	struct turn *turn;
	struct cgroup cgroup;
	const char *lacking;
	int fd;
	char *map;
	int maps;
};

#define COLD_SIZE	(EXT2_DISK_FILE_BLOCKS * PAGE)
#define COLD_NOTES	(COLD_SIZE - PAGE)

static unsigned int load(const unsigned int *number)
{
	return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

static int asks_in_turn(struct procmap_child *child, void *arg)
{
	const struct _test_data_cold *cold = arg;
	struct turn *turn = cold->turn;

	while (UNTIL(load(&turn->asked) != turn->answered)) {
		turn->ret = elf_image_ask(cold->maps, cold->map, &cold->image);
		__atomic_add_fetch(&turn->answered, 1, __ATOMIC_RELEASE);
	}
	return 0;
}

/*
 * Bring all blocks of the disk in, so that reading them from there charges
 * nobody: only the file system is cold.
 */
static bool read_disk(const struct ext2_disk *disk)
{
	static char block[EXT2_DISK_BLOCK];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(disk->image, block, sizeof(block), at)) > 0)
		at += got;
	return at && !got;
}

FIXTURE_SETUP(cold)
{
	static char data[COLD_SIZE];
	struct fuse_server_file file = { .data = data, .size = sizeof(data) };

	self->lacking = cgroup_lacking("memory") ?: ext2_disk_lacking();
	if (self->lacking)
		return;
	elf_image_make(&self->image, true, SHA1_SIZE, 50);
	elf_image_put(&self->image, data, COLD_NOTES, 0);
	ASSERT_EQ(0, ext2_disk_make(&self->disk, &file, 1));
	ASSERT_TRUE(read_disk(&self->disk));
	self->fd = ext2_disk_open(&self->disk, 0, O_RDONLY);
	ASSERT_LE(0, self->fd);
	self->map = mmap(NULL, COLD_SIZE, PROT_READ, MAP_PRIVATE, self->fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
	self->turn = procmap_share(sizeof(*self->turn));
	ASSERT_NE(NULL, (void *)self->turn);
	ASSERT_EQ(0, procmap_child_start(&self->caller, asks_in_turn, self));
	ASSERT_EQ(0, cgroup_make(&self->cgroup, "memory"));
}

FIXTURE_TEARDOWN(cold)
{
	if (self->lacking)
		return;
	procmap_child_kill(&self->caller);
	munmap(self->map, COLD_SIZE);
	close(self->fd);
	ext2_disk_remove(&self->disk);
	EXPECT_EQ(0, cgroup_remove(&self->cgroup));
}

/* Drop the pages of the file, and of its indirect block. */
static bool make_cold(const struct _test_data_cold *self)
{
	return !posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED) &&
	       !ioctl(self->disk.loop, BLKFLSBUF);
}

/* Returns what the query of the caller returned; -ESRCH if the caller is gone. */
static int ask_cold(struct _test_data_cold *self)
{
	struct turn *turn = self->turn;

	if (!make_cold(self))
		return -EIO;
	__atomic_add_fetch(&turn->asked, 1, __ATOMIC_RELEASE);
	UNTIL(load(&turn->answered) == turn->asked || stall_has_come(&self->caller));
	return load(&turn->answered) == turn->asked ? turn->ret : -ESRCH;
}

/* Returns the inode of the cgroup that a page is charged to, or -1. */
static __u64 owner_of(const char *at)
{
	return procmap_page_info("/proc/kpagecgroup", at);
}

static __u64 inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_ino;
}

TEST_F(cold, pages_are_charged_to_the_caller)
{
	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->caller.pid));
	EXPECT_EQ(SHA1_SIZE, ask_cold(self));
	EXPECT_EQ(inode_of(self->cgroup.dir), owner_of(self->map));
	EXPECT_EQ(inode_of(self->cgroup.dir), owner_of(self->map + COLD_NOTES));
}

/* Pages; more than what a read needs, and what it makes space for */
#define MAX_MARGIN	40

/*
 * Leave the cgroup so many pages up to its limit. Each processor has some
 * charges in stock: a high limit of 0 gives them back, and kills nobody.
 */
static bool limit_to(const struct cgroup *cgroup, int margin)
{
	if (cgroup_write(cgroup, "memory.high", "0") || cgroup_write(cgroup, "memory.high", "max"))
		return false;
	return !procmap_write_number(cgroup->dir, "memory.max",
				     cgroup_count(cgroup, "memory.current", NULL) + margin * PAGE);
}

/*
 * Whatever is left up to the limit, a read ends without a build ID if the pages
 * of the file or the blocks of the file system do not fit.
 */
TEST_F(cold, an_asker_at_its_limit_is_not_killed)
{
	int margin, ret, found = 0, none = 0;

	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->caller.pid));
	ASSERT_EQ(SHA1_SIZE, ask_cold(self));
	for (margin = 0; margin < MAX_MARGIN; margin++) {
		ASSERT_TRUE(make_cold(self));
		ASSERT_TRUE(limit_to(&self->cgroup, margin));
		ret = ask_cold(self);
		ASSERT_LE(0, ret)
			TH_LOG("margin of %d pages: %s", margin, strerror(-ret));
		found += ret == SHA1_SIZE;
		none += !ret;
		ASSERT_EQ(0, cgroup_write(&self->cgroup, "memory.max", "max"));
	}
	TH_LOG("%d found, %d without memory", found, none);
	EXPECT_EQ(MAX_MARGIN, found + none);
	EXPECT_LT(0, found);
	EXPECT_LT(0, none);
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom_kill"));
	EXPECT_EQ(SHA1_SIZE, ask_cold(self));
}

TEST_HARNESS_MAIN
