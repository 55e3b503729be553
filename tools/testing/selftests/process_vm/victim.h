/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes whose memory is not available without waiting, each for another
 * reason.
 *
 * victim_start() brings a victim into its state, and the victim stays there.
 * After the release, nothing has to wait for it any more. Most victims need
 * root. Functions return 0, and -errno on failure.
 */
#ifndef SELFTEST_VICTIM_H
#define SELFTEST_VICTIM_H

#include "fuse_server.h"
#include "pvm_util.h"

/* The memory of a victim is filled with this. */
#define VICTIM_BYTE	'v'

enum { VICTIM_READ, VICTIM_WRITE };

struct victim;

/**
 * struct victim_kind - one reason to wait for a victim
 * @lacks: returns what this kernel lacks for this kind, or NULL; may be NULL
 * @start: brings a victim into its state
 * @release: lets it go
 * @mode: for @start
 * @nowait: the result of PROCESS_VM_NOWAIT for the first byte, for reading and
 *	for writing: 1 or -errno
 * @waits: does a call without flags wait, for reading and for writing?
 * @prefix: the page before the first byte is always available
 * @replaced: after the release, the victim has another address space
 */
struct victim_kind {
	const char *(*lacks)(void);
	int (*start)(struct victim *victim);
	int (*release)(struct victim *victim);
	int mode;
	int nowait[2];
	bool waits[2];
	bool prefix;
	bool replaced;
};

#define ALL_WAIT	.nowait = { -EFAULT, -EFAULT }, .waits = { true, true }
#define LOCKED		.nowait = { -EAGAIN, -EAGAIN }, .waits = { true, true }

/**
 * struct victim - a process whose memory is not available without waiting
 * @kind: its kind
 * @child: the process, or the one that started it
 * @pid: PID of the process
 * @addr: the byte that is not available, at the start of a page
 */
struct victim {
	const struct victim_kind *kind;
	struct procmap_child child;
	pid_t pid;
	char *addr;
	struct fuse_server server;
	bool server_runs;
	bool child_runs;
	int go[2];
	size_t file_size;
	int file;
	int loop;
	char loop_path[32];
	bool swap_on;
};

extern const struct victim_kind victim_uffd_missing, victim_uffd_missing_shmem, victim_uffd_minor,
	victim_uffd_wp;
extern const struct victim_kind victim_fuse_page, victim_fuse_cached, victim_fuse_cached_private,
	victim_fuse_clean, victim_fuse_queue, victim_fuse_reading, victim_locked_unmapped,
	victim_locked_private, victim_locked_mapped, victim_writeback;
extern const struct victim_kind victim_swapped, victim_swap_cached;
extern const struct victim_kind victim_mmap_written, victim_mmap_queued, victim_mmap_read,
	victim_exec, victim_exec_old_mm;
/* Nothing keeps a call waiting for this one. */
extern const struct victim_kind victim_dirty;

int victim_start(struct victim *victim, const struct victim_kind *kind);
void victim_stop(struct victim *victim);

int victim_run(struct victim *victim, int (*fn)(struct procmap_child *child, void *arg));
int victim_serve(struct victim *victim, unsigned int pages, unsigned int init_flags);
char *victim_pair(void);
char *victim_map_file(struct victim *victim, char *where, size_t size, int flags);
int victim_dirty_page(struct victim *victim);
void victim_swap_off(struct victim *victim);

#endif /* SELFTEST_VICTIM_H */
