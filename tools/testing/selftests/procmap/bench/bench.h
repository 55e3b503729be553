/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of procmap_bench share. A case measures one operation at a
 * time. It prepares once and then repeats the operation, which itself marks the
 * start and the end of its timed part. A scene has several programs at work at
 * once, for a while, and the latency of each of their calls. Functions that can
 * fail return 0, -errno, or BENCH_UNAVAILABLE if this kernel or user lacks
 * something.
 */
#ifndef SELFTEST_PROCMAP_BENCH_H
#define SELFTEST_PROCMAP_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>
#include "procmap_util.h"

#if __has_builtin(__builtin_ia32_rdtsc) && __has_builtin(__builtin_ia32_lfence) && __LP64__
#define BENCH_X86_64
#endif

#define BENCH_UNAVAILABLE	1
#define BENCH_MAX_REPS		1000
#define BENCH_MAX_SELECT	64
#define BENCH_MAX_CPUS		64
#define BENCH_BUILD_ID_MAX	20
#define BENCH_ADDRESSES		256	/* of a case with random addresses */
#define BENCH_WORD		0x0123456789abcdefull	/* in the memory of a target */

/* Filter for executable mappings of files */
#define BENCH_CODE	(PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_FILE_BACKED_VMA)

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

/* What the user wants. */
extern struct bench_options {
	const char *select[BENCH_MAX_SELECT];	/* patterns of what to run; none: all */
	const char *skip[BENCH_MAX_SELECT];	/* patterns of what not to run */
	unsigned int selects;
	unsigned int skips;
	unsigned long reps;			/* of each case; rounds of each scene */
	unsigned long warm_up;			/* repetitions or rounds before those */
	unsigned long milliseconds;		/* length of a round of a scene */
	bool list;				/* only list the names */
	bool json;				/* JSON instead of a table */
	const char *accelerator;		/* what runs the machine, for the record */
	const char *config_hash;		/* of the kernel, likewise */
	pid_t pid;				/* look at this process, run no cases */
	const char *addresses;			/* file with the addresses to look up in it */
} bench_options;

/*
 * An address set: the VMAs of a real program, and the addresses at which it was
 * running. It is captured once and stored as text. A measurement gives another
 * process the same VMAs at other addresses.
 */
#define BENCH_SET_VMAS		1024
#define BENCH_SET_FILES		128
#define BENCH_SET_PATH		128
#define BENCH_SET_SAMPLES	4096

struct bench_set_vma {
	unsigned long gap;	/* bytes of the gap below it; the set shrinks large gaps */
	unsigned long size;
	int prot;
	bool shared;
	int file;		/* number of its file; -1: none */
	unsigned long offset;	/* of its first byte in the file */
	unsigned long at;	/* address in the process, after bench_set_place() */
};

struct bench_set_sample {
	unsigned int vma;
	unsigned long offset;	/* from the start of the VMA */
};

struct bench_set {
	struct bench_set_vma vma[BENCH_SET_VMAS];	/* in order of address */
	unsigned int nr;
	char path[BENCH_SET_FILES][BENCH_SET_PATH];	/* of its files */
	unsigned int files;
	struct bench_set_sample sample[BENCH_SET_SAMPLES];	/* ascending, each once */
	unsigned int samples;
	unsigned int wide;	/* number of the VMA above the widest gap */
	unsigned long space;	/* bytes for all VMAs, after bench_set_place() */
	unsigned long padding;	/* address for others in that gap, likewise */
};

/* What a process that was told to change its code maps now. */
struct bench_change {
	int vma;		/* number of the VMA of the set; -1: none */
	int file;		/* number of the file that it maps */
	unsigned long offset;
};

/* The VMAs of a process that is made to be queried */
enum bench_layout {
	BENCH_MIXED,	/* private memory of alternating protection, some files, code and holes */
	BENCH_ADJACENT,	/* private memory of alternating protection, without holes */
	BENCH_HOLES,	/* the same with a hole after each VMA */
	BENCH_LIBRARIES, /* files, with five VMAs each in a row, as a loader maps libraries */
	BENCH_REPLAY,	/* those of a set; more, like large data, go where its gap is widest */
};

/* What it may be told to do */
enum bench_order {
	BENCH_ORDER_STORM,	/* change VMAs all the time, see bench_load.c */
	BENCH_ORDER_MEMORY,	/* map and unmap memory, see bench_set.c */
	BENCH_ORDER_CODE,	/* replace code, too */
};

/* A process to be queried. It fills in what it knows itself: it is in shared memory. */
struct bench_target {
	struct procmap_child child;
	int maps;		/* descriptor of its /proc/<pid>/maps */
	enum bench_layout layout;
	const char *program;	/* with BENCH_REPLAY, the name of the set */
	struct bench_set *set;	/* and the set, placed in this process */
	/*
	 * With BENCH_MIXED and BENCH_REPLAY the number of all its VMAs, else of
	 * those in @area; 0 with BENCH_REPLAY: only those of the program.
	 */
	unsigned long vmas;
	unsigned long area;	/* address of the VMAs that were made */
	unsigned long stride;	/* from one to the next */
	unsigned long made;	/* their number */
	unsigned long library;	/* an executable mapping of an ELF file, the first above @area */
	unsigned long word;	/* eight bytes in a resident page */
	unsigned long storm;	/* where the storm changes the address space */
	struct bench_change change;
};

/*
 * Latencies are counted in buckets. The first 2 * BENCH_HIST_SUB buckets are one
 * tick wide. Each power of two after them has BENCH_HIST_SUB buckets. So a bucket
 * is at most 1/128 of its value wide.
 */
#define BENCH_HIST_BITS		7
#define BENCH_HIST_SUB		128u
#define BENCH_HIST_BUCKETS	((48 - BENCH_HIST_BITS) * BENCH_HIST_SUB)

struct bench_hist {
	__u32 bucket[BENCH_HIST_BUCKETS];
	__u64 nr;
	__u64 max;
};

static inline void bench_hist_add(struct bench_hist *hist, __u64 ticks)
{
	unsigned int shift = 0, at;

	if (ticks >= 2 * BENCH_HIST_SUB)
		shift = 63 - BENCH_HIST_BITS - __builtin_clzll(ticks);
	at = shift * BENCH_HIST_SUB + (ticks >> shift);
	if (at >= BENCH_HIST_BUCKETS)
		at = BENCH_HIST_BUCKETS - 1;
	hist->bucket[at]++;
	hist->nr++;
	if (ticks > hist->max)
		hist->max = ticks;
}

#define BENCH_STORM_SLOTS	64
#define BENCH_STORM_SLOT	0x20000ul	/* bytes from one slot to the next */
#define BENCH_STORM_SIZE	(BENCH_STORM_SLOTS * BENCH_STORM_SLOT)

/* What latencies are of: the calls of the storm, and those of readers */
enum bench_call {
	BENCH_MMAP,
	BENCH_MPROTECT,
	BENCH_MUNMAP,
	BENCH_READER,
	BENCH_CALLS,
};

/* Memory shared with the processes to be queried. */
extern struct bench_shared {
	struct bench_target target;
	struct bench_target twin;
	bool stop;		/* ends the storm */
	int cpu;		/* of the storm */
	unsigned long sleeps;	/* how often it had to wait for something */
	struct bench_hist took[BENCH_READER];
} *bench_shared;

/* The latencies of one round, in ns, and how many calls there were. */
struct bench_latency {
	__u64 nr;
	double p50;
	double p99;
	double max;
};

struct bench_round {
	double seconds;		/* how long it took */
	unsigned long sleeps;	/* of the storm */
	unsigned long hangs;	/* calls that had not returned at the end, and were killed */
	struct bench_latency latency[BENCH_CALLS];
};

/* The result of a pass for one VMA. */
struct bench_vma {
	__u64 start;
	__u64 end;
	__u64 offset;
	__u64 inode;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 name;		/* offset in the names; the empty name is at 0 */
	__u32 build_id_size;
	unsigned char build_id[BENCH_BUILD_ID_MAX];
	__u32 flags;		/* after a dump: protection, with the bits of a query */
};

#define BENCH_NOT_MAPPED	(-1u)

/* The task of a pass, and its results. */
struct bench_pass {
	pid_t pid;
	bool build_id;		/* get build IDs, too */
	bool no_names;		/* take no names from the text */
	bool flags;		/* the results have the protection */
	const unsigned long *address;	/* for the symbolizer pass, ascending */
	size_t addresses;
	__u32 *index;		/* number in @vma of each, or BENCH_NOT_MAPPED */
	struct bench_vma *vma;	/* what was found */
	size_t nr;
	size_t vma_max;
	char *names;
	size_t used;		/* bytes of @names */
	size_t names_max;
	char *buffer;		/* for the text */
	struct procmap_record *records;	/* of a scan; their names are after the empty one */
	size_t records_max;
	size_t found;
};

/* One way to do a pass, and how the text finds the same. */
struct bench_way {
	const char *key;
	const char *what;
	int (*run)(struct bench_pass *pass);
	int (*by_text)(struct bench_pass *pass);
	bool build_id;
	bool sized;		/* for plots over the number of VMAs alone */
};

#define BENCH_WANT_NAME		0x1
#define BENCH_WANT_BUILD_ID	0x2

struct bench;

/* A case, or a scene, which has @play. */
struct bench_row {
	const char *name;	/* selects it */
	const char *what;	/* one unit, for people */
	unsigned int reps;	/* the most repetitions or rounds; 0: as many as the user wants */
	unsigned long vmas;	/* of the process that is queried, as are the next two */
	enum bench_layout layout;
	const char *program;
	unsigned long flags;	/* for PROCMAP_QUERY, or for process_vm_readv() */
	unsigned int want;	/* BENCH_WANT_* bits */
	unsigned long passed;	/* number of VMAs that the filter passes over */
	unsigned int share;	/* of 1,000 VMAs, so many are asked for */
	bool each;		/* the unit is a VMA */
	const struct bench_way *way;
	unsigned int pages;	/* memory to change, at most */
	unsigned int mapped;	/* pages of it that are mapped */
	unsigned int apart;	/* free pages on both sides */
	unsigned int batch;	/* operations in one repetition */
	unsigned int units;	/* in one operation; 0: one, unless @setup sets the number */
	int (*setup)(struct bench *b);
	/*
	 * One operation; the argument is its number in the repetition. It times
	 * itself between bench_begin() and bench_end() and checks the answer.
	 */
	int (*op)(struct bench *b, unsigned int i);
	int (*resolve)(struct bench *b, unsigned int round);	/* what @op times, if that varies */
	void (*teardown)(struct bench *b);	/* undoes @setup, also one that failed half-way */
	unsigned int readers;	/* of a scene */
	bool query;		/* they query, else read the text */
	bool elsewhere;		/* they look at another process just like it */
	unsigned int adversary;	/* what keeps a call waiting, see bench_wait.c */
	int (*play)(struct bench *b, struct bench_round *round);
};

/* A row at work, and its results. */
struct bench {
	const struct bench_row *row;
	int err;		/* 0, BENCH_UNAVAILABLE or -errno */
	char reason[160];	/* of @err */
	unsigned int reps;	/* repetitions or rounds that were done */
	double raw[BENCH_MAX_REPS];	/* cost of a unit in each repetition */
	struct bench_round *round;	/* the rounds of a scene */
	__u64 began;		/* clock at the start of the timed part */
	__u64 sum;		/* clock ticks in the timed parts of this repetition */
	unsigned int units;	/* in one operation */
	unsigned long items;	/* addresses or VMAs that one resolves; 0: does not apply */
	unsigned long answers;	/* in all repetitions, compared with the truth; 0: likewise */
	unsigned long wrong;	/* those of them that were wrong */
	struct bench_target *target;	/* the process that is queried */
	int fd;			/* descriptor that the case works with, or -1 */
	char *area;		/* memory that it works with, */
	size_t size;		/* in bytes, */
	char *other;		/* and another place in memory */
	unsigned long address[BENCH_ADDRESSES];	/* that it queries */
	struct procmap_query query;
	char name[256];
	unsigned char build_id[BENCH_BUILD_ID_MAX];
	struct bench_pass pass;
};

/* Tables of rows, each up to one without a name */
extern const struct bench_row bench_mm_rows[];
extern const struct bench_row bench_query_rows[];
extern struct bench_row bench_pass_rows[];
extern const struct bench_row bench_loop_rows[];
extern struct bench_row bench_load_rows[];
extern const struct bench_row bench_wait_rows[];

/* procmap_bench.c */
extern struct bench_hist bench_now[BENCH_CALLS];
extern int bench_cpu[BENCH_MAX_CPUS];
extern unsigned int bench_cpus;
int bench_unavailable(struct bench *b, const char *reason);
int bench_failed(struct bench *b, const char *what, int err);
int bench_to_cpu(int cpu);

/* bench_report.c */
void bench_hist_merge(struct bench_hist *to, const struct bench_hist *from);
__u64 bench_hist_quantile(const struct bench_hist *hist, double share);
int bench_report(struct bench *all, unsigned int nr);

/* bench_system.c */
extern __u64 bench_overhead;
extern double bench_clock_scale;
extern char bench_dir[64];
extern char bench_library[96];
int bench_clock_calibrate(void);
const char *bench_clock_unit(void);
double bench_clock_ns(void);
int bench_make_library(void);
int bench_map_count_raise(unsigned long vmas);
void bench_system_restore(void);
long bench_count_vmas(pid_t pid);

/* bench_target.c */
int bench_target_get(struct bench *b);
int bench_target_order(struct bench_target *t, enum bench_order order);
int bench_target_wait(struct bench_target *t);
void bench_target_drop(void);

/* bench_set.c */
struct bench_set *bench_set_load(struct bench *b);
void bench_set_place(struct bench_set *set, unsigned long base, unsigned long padding);
bool bench_set_is_code(const struct bench_set *set, unsigned int i);
unsigned long bench_set_address(const struct bench_set *set, unsigned int sample);
int bench_set_make_files(const struct bench_set *set);
int bench_set_map(const struct bench_set *set);
int bench_churn(struct bench_set *set, bool code, struct bench_change *change);

/* bench_pass.c */
int bench_pass_init(struct bench_pass *pass, pid_t pid, const unsigned long *address, size_t nr);
void bench_pass_free(struct bench_pass *pass);
void bench_pass_begin(struct bench_pass *pass);
int bench_pass_space(struct bench_pass *pass, size_t vmas, size_t names);
struct bench_vma *bench_pass_add(struct bench_pass *pass, const char *name, size_t len);
const struct bench_vma *bench_pass_same_file(const struct bench_pass *pass);
const char *bench_pass_differ(const struct bench_pass *a, const struct bench_pass *b);
void bench_pass_init_rows(void);

/* bench_pass_query.c */
int bench_live(void);
void bench_live_end(void);
int bench_symbolize_query(struct bench_pass *pass);
int bench_synthesize_query(struct bench_pass *pass);
int bench_dump_query(struct bench_pass *pass);
int bench_pass_scan(struct bench_pass *pass, int fd, struct procmap_scan *scan);
int bench_pass_take_records(struct bench_pass *pass);
int bench_synthesize_scan(struct bench_pass *pass);
int bench_dump_scan(struct bench_pass *pass);

/* bench_pass_maps.c */
int bench_symbolize_text(struct bench_pass *pass);
int bench_synthesize_text(struct bench_pass *pass);
int bench_dump_text(struct bench_pass *pass);

/* bench_load.c */
void bench_load_init_rows(void);
int bench_storm(unsigned long at);

/* bench_wait.c */
void bench_wait_end(void);

/* The clock of one process: the time stamp counter on x86-64, the system's clock elsewhere. */
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

/* xorshift64, so that every run has the same addresses. */
static inline __u64 bench_random(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
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
