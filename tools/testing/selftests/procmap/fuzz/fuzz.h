/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of procmap_fuzz share.
 *
 * A worker is a process that fuzzes one interface against one target. The
 * kernel may read and write the worker's local arena, which has pages of every
 * protection. fuzz_arena.c knows which value each byte of it must have. The
 * remote arena is the same in the target. From both, fuzz_query.c, fuzz_scan.c
 * and fuzz_vm.c predict each result and each byte that the kernel must write.
 *
 * The seed, the case and the number of the iteration determine everything
 * random.
 *
 * Functions return 0 or a descriptor, and -errno on failure.
 */
#ifndef SELFTEST_PROCMAP_FUZZ_H
#define SELFTEST_PROCMAP_FUZZ_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <linux/fs.h>

#include "procmap_util.h"

#define FUZZ_PAGES	12

/* Success and each errno have one bit, so a mask can allow several results. */
#define FUZZ_DONE	1ULL
#define FUZZ_ERR(err)	(1ULL << (err))

/* Flags of process_vm_readv(), copied because <linux/process_vm.h> may be missing. */
#define FUZZ_VM_PIDFD	1UL
#define FUZZ_VM_NOWAIT	2UL

/* All flags of PROCMAP_SCAN. */
#define FUZZ_SCAN_FLAGS							\
	(PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS |			\
	 PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED | PROCMAP_SCAN_NOWAIT)

/* All conditions on a record, and those of them that the text does not tell. */
#define FUZZ_RARE_FLAGS		(2 * PROCMAP_RECORD_UNLINKED - PROCMAP_RECORD_GROWS_DOWN)
#define FUZZ_RECORD_FLAGS	(PROCMAP_FILTERS | FUZZ_RARE_FLAGS)

/* How the kernel can access a page on behalf of the caller. */
#define FUZZ_R		1
#define FUZZ_W		2

/* The state has 64 bits in 32-bit programs, too. */
struct fuzz_rng {
	__u64 state;
};

/**
 * enum fuzz_kind - what is after a page of an arena
 * @FUZZ_SHARED: a page of a memfd, shared
 * @FUZZ_PRIVATE: a page of a memfd, private
 * @FUZZ_ANON: anonymous memory
 * @FUZZ_HOLE: nothing is mapped
 * @FUZZ_BEYOND: mapped, but the memfd ends before it
 */
enum fuzz_kind { FUZZ_SHARED, FUZZ_PRIVATE, FUZZ_ANON, FUZZ_HOLE, FUZZ_BEYOND };

struct fuzz_page {
	int prot;
	enum fuzz_kind kind;
};

/**
 * struct fuzz_arena - pages of every protection, and their content
 * @at: their address; nothing before and after them is accessible
 * @plain: FUZZ_SHARED pages of @at, readable and writable whatever @at says
 * @want: the content that @at must have
 * @can: FUZZ_R and FUZZ_W bits of each page
 * @written: pages that a call has written to, so they stay mapped writable
 */
struct fuzz_arena {
	const struct fuzz_page *layout;
	char *at;
	char *plain;
	char *want;
	size_t page;
	size_t size;
	unsigned int can[FUZZ_PAGES];
	bool written[FUZZ_PAGES];
};

/**
 * enum fuzz_life - what may happen to a target during a call
 * @FUZZ_ALIVE: nothing
 * @FUZZ_DYING: it dies; nothing changes until then
 * @FUZZ_EXECING: it calls execve() all the time
 * @FUZZ_DEAD: it has no address space and will never have one
 */
enum fuzz_life { FUZZ_ALIVE, FUZZ_DYING, FUZZ_EXECING, FUZZ_DEAD };

#define FUZZ_ID_ROOM	20
/* Room for a name, and the largest number of lines in the text of a target. */
#define FUZZ_NAME_ROOM	4096
#define FUZZ_MAX_LINES	1024

/**
 * struct fuzz_target - the other process of each call
 * @denied: the caller may not access its memory
 * @has_arena: it has the remote arena at the worker's addresses
 * @maps: descriptor of its maps file, which PROCMAP_QUERY and PROCMAP_SCAN use
 * @mem: descriptor of its mem file, or -1
 * @text: the text of @maps; empty if @life is FUZZ_DEAD or FUZZ_EXECING
 * @ids: the build ID of each line of @text; the first byte is its length
 * @scan: a plain scan: the generations
 * @records: its records, one of each line of @text: what the text does not tell
 * @left: iterations until the target must be renewed; 0: never
 */
struct fuzz_target {
	enum fuzz_life life;
	bool denied;
	bool has_arena;
	struct procmap_child child;
	pid_t pid;
	int pidfd;
	int maps;
	int mem;
	struct maps_text text;
	__u8 (*ids)[1 + FUZZ_ID_ROOM];
	struct procmap_scan scan;
	struct procmap_record *records;
	unsigned int left;
};

/**
 * enum fuzz_lie - how a worker falsifies the result before it checks it
 *
 * A check that misses a lie is broken. Only a scan knows the last two.
 */
enum fuzz_lie { FUZZ_NO_LIE, FUZZ_LIE_RESULT, FUZZ_LIE_ANSWER, FUZZ_LIE_OUTSIDE, FUZZ_LIE_RECORD,
		FUZZ_LIE_NAME, NR_FUZZ_LIES };

/**
 * struct fuzz - one worker
 * @vm_flags: the flags of process_vm_readv() that this kernel knows
 * @exact: a transfer that meets a fault returns the exact number of bytes
 * @racing: another thread writes to the arguments during the calls
 * @calls: number of calls, which the parent sees
 */
struct fuzz {
	__u64 seed;
	struct fuzz_rng rng;
	struct fuzz_arena local;
	struct fuzz_arena remote;
	struct fuzz_target target;
	unsigned long vm_flags;
	bool exact;
	bool racing;
	enum fuzz_lie lie;
	__u64 *calls;
};

void fuzz_seed(struct fuzz *fuzz, __u64 number);
__u64 fuzz_random(struct fuzz *fuzz);
__u64 fuzz_below(struct fuzz *fuzz, __u64 limit);
bool fuzz_chance(struct fuzz *fuzz, unsigned int percent);
__u64 fuzz_pick(struct fuzz *fuzz, const __u64 *from, size_t nr);
__u64 fuzz_address(struct fuzz *fuzz, const struct fuzz_arena *arena);
__u64 fuzz_space(struct fuzz *fuzz, const struct fuzz_arena *arena, __u64 size);
__u64 fuzz_target_address(struct fuzz *fuzz);

int fuzz_arena_map(struct fuzz_arena *arena, bool remote);
void fuzz_arena_reset(struct fuzz_arena *arena);
size_t fuzz_arena_span(const struct fuzz_arena *arena, __u64 addr, __u64 size, unsigned int can);
void fuzz_arena_poke(struct fuzz_arena *arena, __u64 addr, const void *from, size_t size);
void fuzz_arena_expect(struct fuzz_arena *arena, __u64 addr, const void *from, size_t size);
size_t fuzz_arena_peek(const struct fuzz_arena *arena, __u64 addr, void *to, size_t size);
void fuzz_arena_pass(struct fuzz_arena *arena, __u64 addr, __u64 size);
bool fuzz_arena_check(const struct fuzz_arena *arena, const char *name);
bool fuzz_arena_check_mem(const struct fuzz_arena *arena, int mem);
void fuzz_arena_pass_mem(struct fuzz_arena *arena, int mem);
bool fuzz_arena_counts_exactly(const struct fuzz_arena *arena);

extern const struct fuzz_state {
	const char *name;
	int (*start)(struct fuzz_target *target,
		     int (*fn)(struct procmap_child *child, void *arg));
	int (*fn)(struct procmap_child *child, void *arg);	/* what the child does */
} fuzz_states[];

int fuzz_target_start(struct fuzz *fuzz, const struct fuzz_state *state);
int fuzz_target_next(struct fuzz *fuzz);
void fuzz_target_stop(struct fuzz *fuzz);
bool fuzz_target_is_there(const struct fuzz_state *state);
void fuzz_exec_loop(void);

void fuzz_place(struct fuzz *fuzz, __u64 at, const void *from, size_t known);
__u64 fuzz_fetch(const struct fuzz *fuzz, __u64 at, void *to, size_t known, __u64 min, __u64 *size);
size_t fuzz_name(const struct maps_vma *vma, char *name);
char *fuzz_plain_at(const struct fuzz *fuzz, __u64 addr);
bool fuzz_overlaps(__u64 one, __u64 size, __u64 other, __u64 other_size);

bool fuzz_result(struct fuzz *fuzz, __u64 allowed, long ret, const char *what);
bool fuzz_race_structs(struct fuzz *fuzz, __u64 at, const void *one, const void *other,
		       size_t size, int (*call)(int maps, void *arg), __u64 allowed);
bool fuzz_query(struct fuzz *fuzz);
void fuzz_random_scan(struct fuzz *fuzz, struct procmap_scan *s);
bool fuzz_scan(struct fuzz *fuzz);
bool fuzz_vm(struct fuzz *fuzz);

int fuzz_race_start(struct fuzz *fuzz);
void fuzz_race(void *at, const void *one, const void *other, size_t size);
void fuzz_race_pause(void);

#endif /* SELFTEST_PROCMAP_FUZZ_H */
