/* SPDX-License-Identifier: GPL-2.0 */
/* Sample a process: see bench_sample.c. */
#ifndef SELFTEST_PROCMAP_BENCH_SAMPLE_H
#define SELFTEST_PROCMAP_BENCH_SAMPLE_H

#include <sys/types.h>

/**
 * struct bench_samples - addresses at which a process was running
 * @address: the addresses, ascending; the caller frees them
 * @nr: their number
 */
struct bench_samples {
	unsigned long *address;
	size_t nr;
};

int bench_sample(pid_t pid, unsigned int seconds, struct bench_samples *samples);

#endif /* SELFTEST_PROCMAP_BENCH_SAMPLE_H */
