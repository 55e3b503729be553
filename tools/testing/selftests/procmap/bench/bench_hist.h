/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Latencies of procmap_bench, counted in buckets. The first 2 * BENCH_HIST_SUB
 * buckets are one tick wide. Each power of two after them has BENCH_HIST_SUB
 * buckets. So a bucket is at most 1/128 of its value wide.
 */
#ifndef SELFTEST_PROCMAP_BENCH_HIST_H
#define SELFTEST_PROCMAP_BENCH_HIST_H

#include <linux/types.h>

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

void bench_hist_clear(struct bench_hist *hist);
void bench_hist_merge(struct bench_hist *to, const struct bench_hist *from);
__u64 bench_hist_value(unsigned int bucket);
__u64 bench_hist_quantile(const struct bench_hist *hist, double share);

#endif /* SELFTEST_PROCMAP_BENCH_HIST_H */
