/* SPDX-License-Identifier: GPL-2.0 */
/* Results of procmap_bench: statistics, table and JSON. */
#ifndef SELFTEST_PROCMAP_BENCH_REPORT_H
#define SELFTEST_PROCMAP_BENCH_REPORT_H

#include "bench.h"
#include "bench_scene.h"

/**
 * struct bench_environment - what the figures depend on
 * @accelerator: what runs the machine, as the user says
 * @config_hash: hash of the kernel's configuration, as the user says
 * @cpu: processor of all cases
 * @reps: repetitions of each case
 * @warm_up: repetitions before those
 * @milliseconds: length of a round of a scene
 */
struct bench_environment {
	const char *accelerator;
	const char *config_hash;
	long cpu;
	unsigned long reps;
	unsigned long warm_up;
	unsigned long milliseconds;
};

/**
 * struct bench_result - the result of one case
 * @row: the case
 * @err: 0, BENCH_UNAVAILABLE or -errno
 * @reps: repetitions that were done
 * @units: units in each of them
 * @items: addresses or VMAs that a unit resolves; 0: does not apply
 * @answers: answers that were compared with the truth; 0: does not apply
 * @wrong: those of them that were wrong
 * @raw: cost of a unit in each repetition, sorted by bench_result_settle()
 * @min: least cost of a unit
 * @median: median cost of a unit, the figure to quote
 * @max: largest cost of a unit
 * @agree: share of the repetitions within 1 % of the median
 * @reason: the reason for @err
 */
struct bench_result {
	const struct bench_case *row;
	int err;
	unsigned int reps;
	unsigned int units;
	unsigned long items;
	unsigned long answers;
	unsigned long wrong;
	double raw[BENCH_MAX_REPS];
	double min;
	double median;
	double max;
	double agree;
	char reason[BENCH_REASON];
};

/* bench_report.c */
void bench_result_settle(struct bench_result *result);
void bench_report_begin(const struct bench_environment *env, bool json);
int bench_report_cases(const struct bench_result *results, unsigned int nr, bool json);
int bench_report_end(bool json);
int bench_report_scenes(const struct bench_scene_state *states, unsigned int nr, bool json);

#endif /* SELFTEST_PROCMAP_BENCH_REPORT_H */
