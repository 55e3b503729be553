/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FUSE server that answers when it is told to.
 *
 * The server is a process of its own and uses raw /dev/fuse. Its mount has no
 * mount point but only a descriptor, through which files are opened. When the
 * server ends, by fuse_server_stop() or because the test died, the kernel ends
 * all requests with an error, and nothing is left behind. An ordinary user
 * needs user namespaces and access to /dev/fuse.
 *
 * Functions return 0 or a descriptor on success, and -errno on failure.
 */
#ifndef SELFTEST_FUSE_SERVER_H
#define SELFTEST_FUSE_SERVER_H

#include <stddef.h>
#include <sys/types.h>
#include <linux/fuse.h>
#include <linux/types.h>

#define FUSE_SERVER_FILES	32
#define FUSE_SERVER_NOTES	64

/**
 * struct fuse_server_file - one file of the server, called "file<number>"
 * @data: its initial contents; NULL: zeroes
 * @size: its size in bytes
 */
struct fuse_server_file {
	const void *data;
	size_t size;
};

/**
 * struct fuse_server_held - a request that is not answered yet
 * @file: number of the file
 * @opcode: FUSE_READ, ...
 */
struct fuse_server_held {
	unsigned int file;
	unsigned int opcode;
};

/**
 * struct fuse_server_holder - a process that waits, and makes others wait
 * @pid: the process; 0 if there is none
 * @opcode: the request whose answer it waits for
 */
struct fuse_server_holder {
	pid_t pid;
	unsigned int opcode;
};

/**
 * struct fuse_server - a running server
 * @pid: its process
 * @holders: one for each file
 * @mount: descriptor of its root directory
 * @sock: socket for commands and notes
 * @nr_notes: number of @notes
 * @notes: held requests that no caller has waited for yet
 */
struct fuse_server {
	pid_t pid;
	struct fuse_server_holder holders[FUSE_SERVER_FILES];
	int mount;
	int sock;
	unsigned int nr_notes;
	struct fuse_server_held notes[FUSE_SERVER_NOTES];
};

int fuse_server_start(struct fuse_server *server, const struct fuse_server_file *files,
		      unsigned int nr, unsigned int init_flags);
void fuse_server_stop(struct fuse_server *server);
const char *fuse_server_lacking(void);

int fuse_server_open(struct fuse_server *server, unsigned int file, int flags);
int fuse_server_stall(struct fuse_server *server, unsigned int file, unsigned int opcode);
int fuse_server_fail(struct fuse_server *server, unsigned int file, unsigned int opcode,
		     unsigned int times, int error);
int fuse_server_release(struct fuse_server *server, unsigned int file, unsigned int opcode);
int fuse_server_count(struct fuse_server *server, unsigned int file, unsigned int opcode);
pid_t fuse_server_lock(struct fuse_server *server, unsigned int file, __u64 offset);
int fuse_server_unlock(struct fuse_server *server);
int fuse_server_open_flags(struct fuse_server *server, unsigned int file, unsigned int open_flags);
int fuse_server_open_direct(struct fuse_server *server, unsigned int file);
int fuse_server_wait_held(struct fuse_server *server, unsigned int file, unsigned int opcode);
int fuse_server_hold_page(struct fuse_server *server, unsigned int file);
int fuse_server_hold_inode(struct fuse_server *server, unsigned int file);

#endif /* SELFTEST_FUSE_SERVER_H */
