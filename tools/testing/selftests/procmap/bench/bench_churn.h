/* SPDX-License-Identifier: GPL-2.0 */
/* A process that changes its VMAs when it is told to: see bench_churn.c. */
#ifndef SELFTEST_PROCMAP_BENCH_CHURN_H
#define SELFTEST_PROCMAP_BENCH_CHURN_H

#include <stdbool.h>
#include "bench_set.h"

/**
 * struct bench_change - what such a process has changed
 * @err: 0 or -errno
 * @vma: number of the VMA of the set that maps other code now; -1: none
 * @file: number of the file that it maps now
 * @offset: offset of its first byte in the file
 */
struct bench_change {
	int err;
	int vma;
	int file;
	unsigned long offset;
};

void bench_churn(struct bench_set *set, const char *root, bool code, struct bench_change *change);

#endif /* SELFTEST_PROCMAP_BENCH_CHURN_H */
