/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes of procmap_bench: several programs at work at once, for a while, and how long each call
 * of theirs took. Scenes that are to be compared take turns, so that whatever else the machine
 * does meets all of them.
 */
#ifndef SELFTEST_PROCMAP_BENCH_SCENE_H
#define SELFTEST_PROCMAP_BENCH_SCENE_H

#include "bench.h"
#include "bench_hist.h"
#include "bench_storm.h"

/* Whose latencies: the calls of the storm, and those of who looks at it. */
#define BENCH_SCENE_READER	BENCH_STORM_CALLS
#define BENCH_SCENE_HISTS	(BENCH_STORM_CALLS + 1)
#define BENCH_MAX_CPUS		64

/**
 * struct bench_latency - latencies of one kind in one round, in ns
 * @nr: how many calls there were
 */
struct bench_latency {
	__u64 nr;
	double p50;
	double p99;
	double max;
};

/**
 * struct bench_round - a scene that was played once
 * @seconds: for so long
 * @lookups: queries that were answered, or texts that were read; of parts of a text the share
 * @sleeps: how often the storm had to wait for something
 * @naps: how often a query slept for a writer (vma_search_nap of /proc/vmstat)
 * @hangs: calls that had not come back when their time was over, and were killed
 * @latency: of each kind
 */
struct bench_round {
	double seconds;
	double lookups;
	unsigned long sleeps;
	unsigned long naps;
	unsigned long hangs;
	struct bench_latency latency[BENCH_SCENE_HISTS];
};

struct bench_scene_state;

/**
 * struct bench_scene - a row of the table
 * @name: by which it is selected
 * @what: for people
 * @vmas: of the process that is looked at
 * @readers: how many look at it
 * @query: by queries, else by the text
 * @elsewhere: they look at another process just like it
 * @writer: it changes its address space meanwhile
 * @rounds: at most so many; 0: as many as the user wants
 * @flags: of process_vm_readv()
 * @adversary: what keeps it waiting, a number of bench_wait.c
 * @setup: prepares; returns 0, BENCH_UNAVAILABLE or -errno
 * @play: plays it once; returns 0 or -errno
 */
struct bench_scene {
	const char *name;
	const char *what;
	unsigned long vmas;
	unsigned int readers;
	bool query;
	bool elsewhere;
	bool writer;
	unsigned int rounds;
	unsigned long flags;
	unsigned int adversary;
	int (*setup)(struct bench_scene_state *state);
	int (*play)(struct bench_scene_state *state, struct bench_round *round);
};

/**
 * struct bench_scene_state - a scene at work, and its result
 * @row: its row of the table
 * @bench: what it has in common with the cases: target, reason
 * @cpu: the processors that may be used
 * @cpus: their number
 * @milliseconds: to play it for
 * @err: 0, BENCH_UNAVAILABLE or -errno
 * @rounds: how often it was played
 * @round: each time
 * @now: latencies of the round that is played
 * @total: latencies of all rounds
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
	struct bench_hist total[BENCH_SCENE_HISTS];
};

extern struct bench_scene bench_load_scenes[];
extern unsigned int bench_load_nr;
extern struct bench_scene bench_wait_scenes[];
extern unsigned int bench_wait_nr;
extern const char *const bench_scene_hist_names[BENCH_SCENE_HISTS];

/* bench_scene.c */
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
