/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A disk with an ext2 file system that an administrator has mounted, and that
 * answers when it is told to: a loop device on a file of a FUSE server. Needs
 * root. The mount has no mount point but only a descriptor.
 *
 * Functions return 0 or a descriptor on success, and -errno on failure.
 */
#ifndef SELFTEST_EXT2_DISK_H
#define SELFTEST_EXT2_DISK_H

#include <stddef.h>
#include <linux/types.h>

#include "fuse_server.h"

#define EXT2_DISK_FILES		8
#define EXT2_DISK_BLOCK		4096
/* The last blocks of a file of this size are after an indirect block. */
#define EXT2_DISK_FILE_BLOCKS	16

/**
 * struct ext2_disk - a disk
 * @server: the server of its blocks
 * @image: descriptor of the server's file
 * @loop: descriptor of the loop device
 * @mount: descriptor of the root directory
 */
struct ext2_disk {
	struct fuse_server server;
	int image;
	int loop;
	int mount;
};

int ext2_disk_make(struct ext2_disk *disk, const struct fuse_server_file *files, unsigned int nr);
void ext2_disk_remove(struct ext2_disk *disk);
const char *ext2_disk_lacking(void);

int ext2_disk_open(struct ext2_disk *disk, unsigned int file, int flags);
int ext2_disk_stall(struct ext2_disk *disk);
int ext2_disk_fail(struct ext2_disk *disk, unsigned int times);
int ext2_disk_wait_held(struct ext2_disk *disk);
int ext2_disk_release(struct ext2_disk *disk);

#endif /* SELFTEST_EXT2_DISK_H */
