// SPDX-License-Identifier: GPL-2.0
/* A disk that answers when it is told to: see ext2_disk.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ext2_disk.h"
#include "procmap_util.h"

#define BLOCK		EXT2_DISK_BLOCK
#define FILE_BLOCKS	EXT2_DISK_FILE_BLOCKS
#define DIRECT		12
#define INODES		32
#define INODE_SIZE	128
#define ROOT_INODE	2
/* The first inode that is not reserved, of revision 0 */
#define FIRST_INODE	11

/* What is in which block; the superblock is at byte 1024 of block 0. */
enum {
	AT_SUPER, AT_GROUP, AT_BLOCK_BITMAP, AT_INODE_BITMAP, AT_INODES, AT_ROOT, AT_FILES,
	/* Each file has an indirect block and its data. */
	NR_BLOCKS = AT_FILES + EXT2_DISK_FILES * (1 + FILE_BLOCKS),
};

/* All numbers on the disk are little endian. */
static void put(char *at, unsigned int width, __u32 value)
{
	unsigned int i;

	for (i = 0; i < width; i++)
		at[i] = value >> (8 * i);
}

static void put_super(char *sb)
{
	put(sb, 4, INODES);
	put(sb + 4, 4, NR_BLOCKS);
	put(sb + 24, 4, 2);		/* blocks and fragments of 1024 << 2 bytes */
	put(sb + 28, 4, 2);
	put(sb + 32, 4, 8 * BLOCK);	/* blocks, fragments and inodes of a group */
	put(sb + 36, 4, 8 * BLOCK);
	put(sb + 40, 4, INODES);
	put(sb + 54, 2, 0xffff);	/* no limit of mounts between checks */
	put(sb + 56, 2, 0xef53);
	put(sb + 58, 2, 1);		/* clean */
}

static void put_group(char *group)
{
	put(group, 4, AT_BLOCK_BITMAP);
	put(group + 4, 4, AT_INODE_BITMAP);
	put(group + 8, 4, AT_INODES);
	put(group + 16, 2, 1);		/* directories */
}

static char *inode_at(char *image, unsigned int nr)
{
	return image + AT_INODES * BLOCK + (nr - 1) * INODE_SIZE;
}

static void put_inode(char *inode, unsigned int mode, size_t size, unsigned int blocks)
{
	put(inode, 2, mode);
	put(inode + 4, 4, size);
	put(inode + 26, 2, 1);
	put(inode + 28, 4, blocks * (BLOCK / 512));
}

/* Write one entry of the root directory. Returns its length. */
static unsigned int put_entry(char *entry, unsigned int inode, const char *name, unsigned int len)
{
	put(entry, 4, inode);
	put(entry + 4, 2, len);
	put(entry + 6, 2, strlen(name));
	memcpy(entry + 8, name, strlen(name));
	return len;
}

static void put_root(char *image, unsigned int nr)
{
	char *root = inode_at(image, ROOT_INODE), *dir = image + AT_ROOT * BLOCK, name[16];
	unsigned int at, i;

	put_inode(root, S_IFDIR | 0755, BLOCK, 1);
	put(root + 40, 4, AT_ROOT);
	at = put_entry(dir, ROOT_INODE, ".", 12);
	at += put_entry(dir + at, ROOT_INODE, "..", nr ? 12 : BLOCK - at);
	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "file%u", i);
		at += put_entry(dir + at, FIRST_INODE + i, name, i + 1 < nr ? 16 : BLOCK - at);
	}
}

static void put_file(char *image, unsigned int nr, const struct fuse_server_file *file)
{
	unsigned int indirect = AT_FILES + nr * (1 + FILE_BLOCKS), i;
	char *inode = inode_at(image, FIRST_INODE + nr);

	put_inode(inode, S_IFREG | 0644, file->size, 1 + FILE_BLOCKS);
	for (i = 0; i < DIRECT; i++)
		put(inode + 40 + 4 * i, 4, indirect + 1 + i);
	put(inode + 40 + 4 * DIRECT, 4, indirect);
	for (; i < FILE_BLOCKS; i++)
		put(image + indirect * BLOCK + 4 * (i - DIRECT), 4, indirect + 1 + i);
	memcpy(image + (indirect + 1) * BLOCK, file->data, file->size);
}

static char *make_image(const struct fuse_server_file *files, unsigned int nr)
{
	char *image = calloc(NR_BLOCKS, BLOCK);
	unsigned int i;

	if (!image)
		return NULL;
	put_super(image + 1024);
	put_group(image + AT_GROUP * BLOCK);
	/* Nothing is free. */
	memset(image + AT_BLOCK_BITMAP * BLOCK, 0xff, 2 * BLOCK);
	put_root(image, nr);
	for (i = 0; i < nr; i++)
		put_file(image, i, &files[i]);
	return image;
}

/*
 * Make a disk and mount it. Returns 0 or -errno. -ENODEV: kernel without ext2.
 * -ENOENT: without loop devices. Others as fuse_server_start().
 * @files: its files, copied, each of EXT2_DISK_FILE_BLOCKS blocks at most; they
 *	are called "file<number>", and are not in the page cache
 * @nr: their number, at most EXT2_DISK_FILES
 */
int ext2_disk_make(struct ext2_disk *disk, const struct fuse_server_file *files, unsigned int nr)
{
	struct fuse_server_file blocks = { .size = NR_BLOCKS * BLOCK };
	char path[32];
	const struct procmap_option options[] = { { "source", path }, { NULL } };
	int ret;

	if (nr > EXT2_DISK_FILES)
		return -EINVAL;
	blocks.data = make_image(files, nr);
	if (!blocks.data)
		return -ENOMEM;
	ret = fuse_server_start(&disk->server, &blocks, 1, 0);
	free((void *)blocks.data);
	if (ret)
		return ret;
	disk->image = fuse_server_open(&disk->server, 0, O_RDWR);
	disk->loop = -1;
	/* No readahead, so that each block is read when it is wanted. */
	ret = disk->image < 0 ? disk->image :
				-posix_fadvise(disk->image, 0, 0, POSIX_FADV_RANDOM);
	if (!ret) {
		disk->loop = procmap_loop(disk->image, path, sizeof(path));
		ret = disk->loop < 0 ? disk->loop : 0;
	}
	disk->mount = ret ? ret : procmap_mount("ext2", options);
	if (disk->mount < 0)
		ext2_disk_remove(disk);
	return disk->mount < 0 ? disk->mount : 0;
}

/*
 * Unmount and remove a disk.
 * @disk: the disk; it answers again, so that nobody waits for it
 */
void ext2_disk_remove(struct ext2_disk *disk)
{
	ext2_disk_release(disk);
	close(disk->mount);
	close(disk->loop);
	close(disk->image);
	fuse_server_stop(&disk->server);
}

/*
 * Say why there can be no disk here. Returns what the kernel or the caller
 * lacks. NULL if a disk can be made, or if that fails for a reason that must
 * not skip the tests.
 */
const char *ext2_disk_lacking(void)
{
	const char *lacking = fuse_server_lacking();
	struct ext2_disk disk;
	int ret;

	if (lacking)
		return lacking;
	if (geteuid())
		return "a loop device needs root";
	ret = ext2_disk_make(&disk, NULL, 0);
	if (ret == -ENODEV || ret == -ENOENT)
		return "kernel without ext2 or loop devices (CONFIG_EXT2_FS, CONFIG_BLK_DEV_LOOP)";
	if (!ret)
		ext2_disk_remove(&disk);
	return NULL;
}

int ext2_disk_open(struct ext2_disk *disk, unsigned int file, int flags)
{
	return procmap_open_numbered(disk->mount, file, flags);
}

int ext2_disk_stall(struct ext2_disk *disk)
{
	int ret = -posix_fadvise(disk->image, 0, 0, POSIX_FADV_DONTNEED);

	return ret ? ret : fuse_server_stall(&disk->server, 0, FUSE_READ);
}

/* Let the next reads fail. */
int ext2_disk_fail(struct ext2_disk *disk, unsigned int times)
{
	int ret = -posix_fadvise(disk->image, 0, 0, POSIX_FADV_DONTNEED);

	return ret ? ret : fuse_server_fail(&disk->server, 0, FUSE_READ, times, EIO);
}

/*
 * Wait until the disk is asked for a block. Returns 0, -ETIMEDOUT, or another
 * -errno.
 * @disk: the disk, which is stalled
 */
int ext2_disk_wait_held(struct ext2_disk *disk)
{
	return fuse_server_wait_held(&disk->server, 0, FUSE_READ);
}

/* Let the disk answer, also what it has been asked for. */
int ext2_disk_release(struct ext2_disk *disk)
{
	return fuse_server_release(&disk->server, 0, FUSE_READ);
}
