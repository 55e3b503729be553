/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Torture of PROCMAP_QUERY, PROCMAP_SCAN and the text: writers that change one
 * address space, readers that query, scan or read it, and what both share.
 *
 * Each writer owns a region. Before it changes the region, it announces the
 * next state of the region. A reader notes which state had been reached before
 * its query, and which one had been announced after it. The answer must belong
 * to one of the states from the first to the second. Sentinels are regions that
 * never change.
 */
#ifndef SELFTEST_TORTURE_H
#define SELFTEST_TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "procmap_util.h"

#define TORTURE_UNITS		32
#define TORTURE_STATES		256
#define TORTURE_REGIONS		40
/* Regions that a writer changes in every way. Four more are special. */
#define TORTURE_MIXED		4
/* Threads of the target that query, and as many processes. */
#define TORTURE_READERS		2
/* Threads of the target: writers, readers of queries and of the text, and one that forks. */
#define TORTURE_THREADS		(TORTURE_MIXED + 4 + TORTURE_READERS + 2)
/* The processes: the target, and readers of queries, of children, of the text and of scans. */
#define TORTURE_PROCESSES	(TORTURE_READERS + 4)
#define TORTURE_ACTORS		(TORTURE_THREADS + TORTURE_PROCESSES)
/* More than one: when an operation fails, a reader may report the effect first. */
#define TORTURE_REPORTS		4
#define TORTURE_NAME_ROOM	128
#define TORTURE_ARENA		0x2000000000ULL
/* One in so many answers is a lie. */
#define TORTURE_LIE_EVERY	64

/* The properties of a unit of a region. The first four bits are those of PROCMAP_QUERY. */
#define UNIT_READ		PROCMAP_QUERY_VMA_READABLE
#define UNIT_WRITE		PROCMAP_QUERY_VMA_WRITABLE
#define UNIT_EXEC		PROCMAP_QUERY_VMA_EXECUTABLE
#define UNIT_SHARED		PROCMAP_QUERY_VMA_SHARED
#define UNIT_VISIBLE		0x000f
#define UNIT_MAPPED		0x0010
#define UNIT_FILE		0x0020
/* Of the two files that a REGION_FILES maps at a time, the second. */
#define UNIT_SECOND		0x0040
/* No query shows these flags of a VMA, but VMAs that differ in them do not merge. */
#define UNIT_DONTDUMP		0x0100
#define UNIT_DONTFORK		0x0200
#define UNIT_SEQUENTIAL		0x0400
#define UNIT_LOCKED		0x0800
#define UNIT_UFFD		0x1000
#define UNIT_NAME_SHIFT		13
#define UNIT_NAME		0x6000
#define UNIT_HEAP		0x8000
#define UNIT_VMA		0xffff
/* The offset in the file, in units of the region. */
#define UNIT_OFFSET_SHIFT	16

/**
 * struct torture_state - the state of a region at one time
 * @op: the operation that led to it, enum torture_op
 * @inode: REGION_FILES: inode of the file of its units, first and second
 * @unit: the properties of each unit, UNIT_*
 */
struct torture_state {
	__u32 op;
	__u64 inode[2];
	__u32 unit[TORTURE_UNITS];
};

enum torture_kind {
	REGION_SENTINEL, REGION_MIXED, REGION_BIG, REGION_STACK, REGION_FILES, REGION_HEAP
};

/**
 * struct torture_region - a part of the address space
 * @kind: which writer changes it, and how
 * @unit: size of a unit in bytes
 * @file: the file that its UNIT_FILE units map, an index into torture.file
 * @announced: number of the last state that was published in @state
 * @reached: number of the last state that is in force
 * @state: the states, each at its number modulo TORTURE_STATES
 */
struct torture_region {
	enum torture_kind kind;
	__u64 base;
	__u64 unit;
	unsigned int units;
	unsigned int file;
	__u64 announced;
	__u64 reached;
	struct torture_state state[TORTURE_STATES];
};

enum torture_op {
	OP_MMAP, OP_MMAP_OVER, OP_MMAP_FILE, OP_MUNMAP, OP_MPROTECT, OP_MREMAP_MOVE, OP_MREMAP_GROW,
	OP_MREMAP_SHRINK, OP_MADVISE, OP_ANON_NAME, OP_UFFD_REGISTER, OP_UFFD_UNREGISTER, OP_MLOCK,
	OP_MUNLOCK, OP_BIG_OVER, OP_BIG_MPROTECT, OP_STACK_MAP, OP_STACK_GROW, OP_STACK_CUT,
	OP_BRK, OP_NEW_FILE, OP_FORK, OP_EXEC, NR_OPS
};

enum torture_ask {
	ASK_COVERING, ASK_NEXT, ASK_FILTERED, ASK_NAME, ASK_SMALL_NAME, ASK_WALK, ASK_STEP,
	ASK_OWN_STATE, ASK_CHILD, ASK_UPROBES, ASK_TEXT, ASK_LINE, ASK_MOVED_LINE, ASK_CLIPPED_LINE,
	ASK_CHILD_LINE, ASK_SCAN, ASK_RECORD, ASK_SNAPSHOT, ASK_CODE_SNAPSHOT, ASK_STILL, NR_ASKS
};

/* The lies of a reader, which must be noticed. LIE_LINE_*: of the text; those after: of scans. */
enum torture_lie {
	LIE_NONE, LIE_END, LIE_FLAGS, LIE_OFFSET, LIE_NAME, LIE_HOLE, LIE_SKIP, LIE_OLD,
	LIE_LINE_GONE, LIE_LINE_TWICE, LIE_LINE_TORN, LIE_LINE_CUT, LIE_LINE_OLD,
	LIE_RECORD_GONE, LIE_SNAPSHOT, LIE_STILL, NR_LIES
};

#define TORTURE_FILES	3

/**
 * struct torture_file - a file that is mapped
 * @inode: its inode number, as a query shows it, as are the next three
 */
struct torture_file {
	int fd;
	__u64 inode;
	__u32 dev_major;
	__u32 dev_minor;
	char name[64];
};

/**
 * struct torture - what all processes of one run share
 * @stop: set when all processes and threads shall end
 * @failed: number of reports; @report has only the first ones
 * @ready: set when all threads of the target have started
 * @text: read the text and scan, too
 * @uprobes: children of the target hit a uprobe
 * @child: PID of a child of the target that lives or execs, for readers to query
 */
struct torture {
	unsigned int seed;
	enum torture_lie lie;
	bool without[NR_OPS];
	int stop;
	unsigned int failed;
	int ready;
	bool text;
	bool uprobes;
	pid_t target;
	pid_t child;
	unsigned long ops[NR_OPS];
	unsigned long asks[NR_ASKS];
	unsigned long moved;
	unsigned long lapped;
	unsigned long lies;
	unsigned long beat[TORTURE_ACTORS];
	char report[TORTURE_REPORTS][4096];
	struct torture_file file[TORTURE_FILES];
	unsigned int nr_regions;
	__u64 arena_end;
	struct torture_region region[TORTURE_REGIONS];
};

/**
 * struct torture_query - a query, the states it may have met, and the answer
 * @name_size: the size of @name that the query passes; 0: no buffer
 * @text: the answer is a line of the text, after one that ends at the address
 * @first: it is the first line that a read() has begun: that of a whole VMA, which
 *	may begin before the address
 * @scan: the answer is a record of a scan
 * @record_flags: its flags
 * @limit: where the scan ends
 * @low: the last state that each region had reached before the query
 * @high: the last state that was announced for each region after the query
 */
struct torture_query {
	struct procmap_query q;
	char name[TORTURE_NAME_ROOM + 1];
	__u32 name_size;
	int ret;
	bool text;
	bool first;
	bool scan;
	__u64 record_flags;
	__u64 limit;
	__u64 low[TORTURE_REGIONS];
	__u64 high[TORTURE_REGIONS];
};

static inline int torture_prot(__u32 unit)
{
	return (unit & UNIT_READ ? PROT_READ : 0) | (unit & UNIT_WRITE ? PROT_WRITE : 0) |
	       (unit & UNIT_EXEC ? PROT_EXEC : 0);
}

/* torture_oracle.c: decides which answers are legal */
void torture_before(const struct torture *t, struct torture_query *query);
void torture_after(const struct torture *t, struct torture_query *query);
bool torture_lapped(const struct torture *t, const struct torture_query *query);
bool torture_moved(const struct torture *t, const struct torture_query *query);
bool torture_judge(struct torture *t, const struct torture_query *query);
void torture_fail(struct torture *t, const char *format, ...);
const char *torture_name(const struct torture *t, const struct torture_region *region,
			 __u32 unit);
const char *torture_anon_name(unsigned int number);
bool torture_same_vma(__u32 first, __u32 second);
bool torture_clipped(const struct torture *t, const struct torture_query *query);
bool torture_fits(const struct torture *t, const struct torture_query *query,
		  const struct torture_region *region, __u64 number);
unsigned int torture_count_vmas(const struct torture_region *region, __u64 number, __u64 filters);
bool torture_is_sentinel(const struct torture *t, __u64 addr);

/* torture_readers.c */
int torture_open(struct torture *t);
int torture_read(struct torture *t, unsigned int actor);
int torture_read_children(struct torture *t, unsigned int actor);
bool torture_ask(struct torture *t, struct torture_query *query, int maps, __u64 addr,
		 __u64 flags, __u32 name_size);
void torture_grow_old(const struct torture *t, struct torture_query *query);

/* torture_maps.c */
int torture_read_texts(struct torture *t, unsigned int actor);
void torture_read_child_text(struct torture *t, int maps);

/* torture_scan.c */
int torture_scans(struct torture *t, unsigned int actor);

/* torture_target.c */
int torture_lay_out(struct torture *t);
int torture_target(struct torture *t, unsigned int actor);

/* torture_fork.c */
int torture_forks(struct torture *t, unsigned int actor);
int torture_exec_child(void);

static inline bool torture_stopped(const struct torture *t)
{
	return __atomic_load_n(&t->stop, __ATOMIC_RELAXED);
}

static inline void torture_count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* The generator stays at 0 for ever, so the seed is never 0. */
static inline unsigned int torture_seed(const struct torture *t, unsigned int actor)
{
	return (t->seed * 2654435761U + 2 * actor) | 1;
}

/* Each actor has a generator of its own, so the seed repeats a run. */
static inline unsigned int torture_random(unsigned int *random, unsigned int limit)
{
	*random ^= *random << 13;
	*random ^= *random >> 17;
	*random ^= *random << 5;
	return *random % limit;
}

#endif /* SELFTEST_TORTURE_H */
