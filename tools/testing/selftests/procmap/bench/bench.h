/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of procmap_bench share. A case is one row of a table. It
 * prepares once and then repeats one operation. The operation itself marks the
 * start and the end of its timed part. Functions that can fail return 0,
 * -errno, or BENCH_UNAVAILABLE if this kernel or user lacks something.
 */
#ifndef SELFTEST_PROCMAP_BENCH_H
#define SELFTEST_PROCMAP_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>
#include "bench_pass.h"

#if __has_builtin(__builtin_ia32_rdtsc) && __has_builtin(__builtin_ia32_lfence) && __LP64__
#define BENCH_X86_64
#endif

#define BENCH_UNAVAILABLE	1
#define BENCH_MAX_REPS		1000
#define BENCH_ADDRESSES		256	/* of a case with random addresses */
#define BENCH_REASON		160
#define BENCH_WORD		0x0123456789abcdefull	/* in the memory of a target */

/* Filter for executable mappings of files */
#define BENCH_CODE	(PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_FILE_BACKED_VMA)

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

/**
 * enum bench_layout - the VMAs of a process that is made to be queried
 * @BENCH_MIXED: private memory of alternating protection, some files, some
 *	holes
 * @BENCH_ADJACENT: private memory of alternating protection, without holes
 * @BENCH_HOLES: the same with a hole after each VMA
 * @BENCH_LIBRARIES: files, with five VMAs each in a row, as a loader maps
 *	libraries
 * @BENCH_REPLAY: the VMAs of a captured program; more VMAs, like the data of a
 *	large program, go where it has its widest gap
 */
enum bench_layout {
	BENCH_MIXED,
	BENCH_ADJACENT,
	BENCH_HOLES,
	BENCH_LIBRARIES,
	BENCH_REPLAY,
};

/**
 * enum bench_order - how a process that is queried shall change its VMAs
 * @BENCH_ORDER_STORM: all the time, see bench_storm.c
 * @BENCH_ORDER_MEMORY: map and unmap memory, see bench_churn.c
 * @BENCH_ORDER_CODE: replace code, too
 */
enum bench_order {
	BENCH_ORDER_STORM,
	BENCH_ORDER_MEMORY,
	BENCH_ORDER_CODE,
};

/**
 * struct bench_target - a process to be queried
 * @pid: its PID; 0: no process
 * @maps: descriptor of its /proc/<pid>/maps
 * @layout: kind of VMAs
 * @program: with BENCH_REPLAY, the name of the address set
 * @set: with BENCH_REPLAY, the address set, placed in this process
 * @vmas: with BENCH_MIXED and BENCH_REPLAY the number of all its VMAs, else of
 *	those in @area; 0 with BENCH_REPLAY: only those of the program
 * @area: address of the VMAs that were made
 * @stride: distance from one to the next
 * @made: their number
 * @library: an executable mapping of an ELF file, the first one above @area
 * @word: address of eight bytes in a resident page
 * @storm: where its writer changes the address space, see bench_storm.c
 * @order: a byte of enum bench_order here makes it change its VMAs
 * @report: a byte here says that the writer has ended; or struct bench_change
 */
struct bench_target {
	pid_t pid;
	int maps;
	enum bench_layout layout;
	const char *program;
	struct bench_set *set;
	unsigned long vmas;
	unsigned long area;
	unsigned long stride;
	unsigned long made;
	unsigned long library;
	unsigned long word;
	unsigned long storm;
	int order;
	int report;
};

struct bench;
struct bench_change;

/**
 * struct bench_case - one row of the table
 * @name: the name that selects it
 * @what: what one unit is, for people
 * @vmas: number of VMAs, where it matters
 * @layout: layout of the process that is queried
 * @program: with BENCH_REPLAY, the name of the address set
 * @share: how many of 1,000 VMAs to ask for
 * @flags: for PROCMAP_QUERY, or for process_vm_readv()
 * @want: BENCH_WANT_* bits
 * @passed: number of VMAs that the filter passes over
 * @batch: operations in one repetition
 * @reps: the most repetitions; 0: as many as the user wants
 * @units: units in one operation; 0: one, unless @setup sets the number
 * @setup: prepares; returns 0, BENCH_UNAVAILABLE or -errno
 * @op: one operation; the argument is its number in the repetition. It times
 *	itself between bench_begin() and bench_end() and checks the answer.
 *	Returns 0 or -errno
 * @teardown: undoes @setup, also after @setup failed half-way; may be NULL
 */
struct bench_case {
	const char *name;
	const char *what;
	unsigned long vmas;
	enum bench_layout layout;
	const char *program;
	unsigned int share;
	unsigned long flags;
	unsigned int want;
	unsigned long passed;
	unsigned int batch;
	unsigned int reps;
	unsigned int units;
	int (*setup)(struct bench *b);
	int (*op)(struct bench *b, unsigned int i);
	void (*teardown)(struct bench *b);
};

#define BENCH_WANT_NAME		0x1
#define BENCH_WANT_BUILD_ID	0x2
#define BENCH_WANT_QUERY	0x4	/* use queries, not the text */
#define BENCH_WANT_ALL		0x8	/* all executable file VMAs, not addresses */
#define BENCH_WANT_DUMP		0x10	/* all VMAs */
#define BENCH_WANT_SCAN		0x20	/* use scans, not the text */

/**
 * struct bench - a running case
 * @row: its row of the table
 * @began: clock at the start of the timed part
 * @sum: clock ticks in the timed parts of this repetition
 * @units: units in one operation
 * @items: addresses or VMAs that one operation resolves; 0: does not apply
 * @answers: answers in all repetitions that were compared with the truth; 0:
 *	does not apply
 * @wrong: those of them that were wrong
 * @target: the process that is queried; NULL if none
 * @twin: a second one just like it; NULL if the case needs none
 * @fd: descriptor that the case works with, or -1
 * @area: memory that it works with
 * @other: another place in memory
 * @size: size of @area in bytes
 * @address: the addresses that it queries
 * @query: argument of the query
 * @name: buffer for the name
 * @build_id: buffer for the build ID
 * @pass: the results of a pass
 * @reason: why the case cannot run, or why it failed
 */
struct bench {
	const struct bench_case *row;
	__u64 began;
	__u64 sum;
	unsigned int units;
	unsigned long items;
	unsigned long answers;
	unsigned long wrong;
	struct bench_target *target;
	struct bench_target *twin;
	int fd;
	char *area;
	char *other;
	size_t size;
	unsigned long address[BENCH_ADDRESSES];
	struct procmap_query query;
	char name[256];
	unsigned char build_id[20];
	struct bench_pass pass;
	char reason[BENCH_REASON];
};

extern const struct bench_case bench_query_cases[];
extern const unsigned int bench_query_nr;
extern const struct bench_case bench_scan_cases[];
extern const unsigned int bench_scan_nr;
extern const struct bench_case bench_loop_cases[];
extern const unsigned int bench_loop_nr;
extern const struct bench_case bench_mm_cases[];
extern const unsigned int bench_mm_nr;
extern struct bench_case bench_pass_cases[];
extern unsigned int bench_pass_nr;

/* bench_target.c */
int bench_target_get(struct bench *b, const struct bench_target *want);
int bench_target_get_twin(struct bench *b, const struct bench_target *want);
int bench_target_change(const struct bench_target *t, bool code, struct bench_change *change);
void bench_target_drop(void);

/* bench_system.c */
extern __u64 bench_overhead;

int bench_clock_calibrate(void);
const char *bench_clock_name(void);
const char *bench_clock_unit(void);
double bench_clock_scale(void);
double bench_clock_ns(void);
int bench_library(const char **path, const char **dir);
int bench_map_count_raise(unsigned long vmas);
void bench_system_restore(void);
long bench_count_vmas(pid_t pid);

/* Limit the user's number for cases that take long and hardly vary. */
static inline unsigned long bench_at_most(unsigned int most, unsigned long wanted)
{
	return most && most < wanted ? most : wanted;
}

/* bench_pass.c */
void bench_pass_init_cases(void);

/* procmap_bench.c */
int bench_unavailable(struct bench *b, const char *reason);
int bench_failed(struct bench *b, const char *what, int err);

/*
 * The clock of one process: the time stamp counter on x86-64, the system's
 * clock elsewhere.
 */
static inline __u64 bench_clock(void)
{
#ifdef BENCH_X86_64
	__u64 now;

	__builtin_ia32_lfence();
	now = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return now;
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
#endif
}

static inline void bench_begin(struct bench *b)
{
	b->began = bench_clock();
}

static inline void bench_end(struct bench *b)
{
	b->sum += bench_clock() - b->began - bench_overhead;
}

/* Do a system call without the C library around it; returns -errno. */
static inline long bench_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef BENCH_X86_64
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long ret;

	asm volatile("syscall" : "=a"(ret)
		     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return ret;
#else
	long ret = syscall(number, a, b, c, d, e, f);

	return ret < 0 ? -errno : ret;
#endif
}

#define bench_call3(number, a, b, c) \
	bench_syscall(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define bench_call6(number, a, b, c, d, e, f) \
	bench_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif /* SELFTEST_PROCMAP_BENCH_H */
