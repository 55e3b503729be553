// SPDX-License-Identifier: GPL-2.0
/* Latencies of procmap_bench: see bench_hist.h. */
#include <string.h>
#include "bench_hist.h"

/**
 * bench_hist_clear() - forget all latencies
 * @hist: the histogram
 */
void bench_hist_clear(struct bench_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
}

/**
 * bench_hist_merge() - add the latencies of another histogram
 * @to: the histogram to add to
 * @from: the other histogram
 */
void bench_hist_merge(struct bench_hist *to, const struct bench_hist *from)
{
	unsigned int i;

	for (i = 0; i < BENCH_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
}

/**
 * bench_hist_value() - the latency that a bucket stands for
 * @bucket: number of the bucket
 *
 * Return: the shortest latency that it counts, in ticks.
 */
__u64 bench_hist_value(unsigned int bucket)
{
	unsigned int shift = 0;

	if (bucket >= 2 * BENCH_HIST_SUB)
		shift = bucket / BENCH_HIST_SUB - 1;
	return (__u64)(bucket - shift * BENCH_HIST_SUB) << shift;
}

/**
 * bench_hist_quantile() - a percentile
 * @hist: the histogram
 * @share: 0.5 for the median, 0.99 for the 99th percentile
 *
 * Return: the latency in ticks that this share does not exceed; 0 for an empty
 * histogram.
 */
__u64 bench_hist_quantile(const struct bench_hist *hist, double share)
{
	const double want = share * hist->nr;
	__u64 seen = 0;
	unsigned int i;

	for (i = 0; i < BENCH_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen && seen >= want)
			return bench_hist_value(i);
	}
	return 0;
}
