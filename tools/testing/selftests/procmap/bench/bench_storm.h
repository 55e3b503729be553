/* SPDX-License-Identifier: GPL-2.0 */
/* A process that changes its address space all the time: see bench_storm.c. */
#ifndef SELFTEST_PROCMAP_BENCH_STORM_H
#define SELFTEST_PROCMAP_BENCH_STORM_H

#include <stdbool.h>
#include "bench_hist.h"

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

int bench_storm_init(void);
void bench_storm_run(unsigned long at);

#endif /* SELFTEST_PROCMAP_BENCH_STORM_H */
