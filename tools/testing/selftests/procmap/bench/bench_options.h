/* SPDX-License-Identifier: GPL-2.0 */
/* The options of procmap_bench. */
#ifndef SELFTEST_PROCMAP_BENCH_OPTIONS_H
#define SELFTEST_PROCMAP_BENCH_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#define BENCH_MAX_SELECT	64

/**
 * struct bench_options - what the user wants
 * @select: patterns of the cases and scenes to run
 * @selects: their number; 0: run all
 * @skip: patterns of the cases and scenes not to run
 * @skips: their number
 * @reps: repetitions of each case, rounds of each scene
 * @warm_up: repetitions or rounds before those
 * @milliseconds: length of a round of a scene
 * @list: only list the names
 * @json: JSON instead of a table
 * @accelerator: what runs the machine, for the record
 * @config_hash: hash of the kernel's configuration, for the record
 * @pid: look at this process instead of running cases
 * @addresses: file with the addresses to look up in it
 */
struct bench_options {
	const char *select[BENCH_MAX_SELECT];
	unsigned int selects;
	const char *skip[BENCH_MAX_SELECT];
	unsigned int skips;
	unsigned long reps;
	unsigned long warm_up;
	unsigned long milliseconds;
	bool list;
	bool json;
	const char *accelerator;
	const char *config_hash;
	pid_t pid;
	const char *addresses;
};

extern struct bench_options bench_options;

/* bench_options.c */
void bench_options_parse(int argc, char **argv);
bool bench_selected(const char *name);

/* bench_live.c */
int bench_live(void);
void bench_live_end(void);

#endif /* SELFTEST_PROCMAP_BENCH_OPTIONS_H */
