/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes of procmap_bench: several programs at work at once, for a while, and
 * the latency of each of their calls. Scenes to compare take turns, so that
 * disturbances of the machine meet all of them.
 */
#ifndef SELFTEST_PROCMAP_BENCH_SCENE_H
#define SELFTEST_PROCMAP_BENCH_SCENE_H

#include "bench.h"

/*
 * Latencies are counted in buckets. The first 2 * BENCH_HIST_SUB buckets are one
 * tick wide. Each power of two after them has BENCH_HIST_SUB buckets. So a bucket
 * is at most 1/128 of its value wide.
 */
#define BENCH_HIST_BITS		7
#define BENCH_HIST_SUB		128u
#define BENCH_HIST_BUCKETS	((48 - BENCH_HIST_BITS) * BENCH_HIST_SUB)

/**
 * struct bench_hist - latencies
 * @bucket: how many latencies fall into each bucket
 * @nr: number of all latencies
 * @max: the exact longest latency
 */
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

enum bench_storm_call {
	BENCH_STORM_MMAP,
	BENCH_STORM_MPROTECT,
	BENCH_STORM_MUNMAP,
	BENCH_STORM_CALLS,
};

/**
 * struct bench_storm - memory shared with the process of the storm
 * @stop: the storm ends when this is set
 * @cpu: the processor of the storm
 * @err: -errno if it failed
 * @sleeps: how often it had to wait for something
 * @took: latencies of each kind of call
 */
struct bench_storm {
	bool stop;
	int cpu;
	int err;
	unsigned long sleeps;
	struct bench_hist took[BENCH_STORM_CALLS];
};

extern struct bench_storm *bench_storm;

/*
 * Indexes of the latencies: first the calls of the storm, then those of the
 * readers.
 */
#define BENCH_SCENE_READER	BENCH_STORM_CALLS
#define BENCH_SCENE_HISTS	(BENCH_STORM_CALLS + 1)
#define BENCH_MAX_CPUS		64

/**
 * struct bench_latency - latencies of one kind in one round, in ns
 * @nr: number of calls
 */
struct bench_latency {
	__u64 nr;
	double p50;
	double p99;
	double max;
};

/**
 * struct bench_round - one round of a scene
 * @seconds: how long it took
 * @lookups: answered queries or texts that were read; parts of a text count as
 *	fractions
 * @sleeps: how often the storm had to wait for something
 * @hangs: calls that had not returned at the end, and were killed
 * @latency: the latencies of each kind
 */
struct bench_round {
	double seconds;
	double lookups;
	unsigned long sleeps;
	unsigned long hangs;
	struct bench_latency latency[BENCH_SCENE_HISTS];
};

struct bench_scene_state;

/**
 * struct bench_scene - a row of the table
 * @name: the name that selects it
 * @what: description for people
 * @vmas: number of VMAs of the process that is read, and changes them; 0: none
 * @readers: number of readers
 * @query: the readers use queries, else the text
 * @elsewhere: the readers look at another process just like it
 * @rounds: the most rounds; 0: as many as the user wants
 * @flags: flags of process_vm_readv()
 * @adversary: what keeps the call waiting, enum wait_adversary
 * @setup: prepares; returns 0, BENCH_UNAVAILABLE or -errno
 * @play: plays one round; returns 0 or -errno
 */
struct bench_scene {
	const char *name;
	const char *what;
	unsigned long vmas;
	unsigned int readers;
	bool query;
	bool elsewhere;
	unsigned int rounds;
	unsigned long flags;
	unsigned int adversary;
	int (*setup)(struct bench_scene_state *state);
	int (*play)(struct bench_scene_state *state, struct bench_round *round);
};

/**
 * struct bench_scene_state - a running scene, and its results
 * @row: its row of the table
 * @bench: the part that cases have, too: target, reason
 * @cpu: the processors that it may use
 * @cpus: their number
 * @milliseconds: length of a round
 * @err: 0, BENCH_UNAVAILABLE or -errno
 * @rounds: number of rounds played
 * @round: the result of each round
 * @now: latencies of the current round
 */
struct bench_scene_state {
	const struct bench_scene *row;
	struct bench *bench;
	int cpu[BENCH_MAX_CPUS];
	unsigned int cpus;
	unsigned long milliseconds;
	int err;
	char reason[BENCH_REASON];
	unsigned int rounds;
	struct bench_round *round;
	struct bench_hist now[BENCH_SCENE_HISTS];
};

extern struct bench_scene bench_load_scenes[];
extern unsigned int bench_load_nr;
extern struct bench_scene bench_wait_scenes[];
extern unsigned int bench_wait_nr;
extern const char *const bench_scene_hist_names[BENCH_SCENE_HISTS];

/* bench_churn.c */
int bench_storm_init(void);
void bench_storm_run(unsigned long at);

/* bench_scene.c */
void bench_hist_clear(struct bench_hist *hist);
void bench_hist_merge(struct bench_hist *to, const struct bench_hist *from);
__u64 bench_hist_value(unsigned int bucket);
__u64 bench_hist_quantile(const struct bench_hist *hist, double share);
struct bench_scene_state *bench_scenes_run(const struct bench_scene *rows, unsigned int nr,
					   unsigned int *played);
void bench_scenes_free(struct bench_scene_state *states, unsigned int nr);
int bench_scene_failed(struct bench_scene_state *state, const char *what, int err);

/* bench_load.c */
void bench_load_init_scenes(void);

/* bench_wait.c */
void bench_wait_init_scenes(void);
void bench_wait_end(void);

#endif /* SELFTEST_PROCMAP_BENCH_SCENE_H */
