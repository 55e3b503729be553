// SPDX-License-Identifier: GPL-2.0
/* Results of procmap_bench: statistics, table and JSON. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "bench.h"

static const char *const call_names[BENCH_CALLS] = { "mmap", "mprotect", "munmap", "reader" };

void bench_hist_merge(struct bench_hist *to, const struct bench_hist *from)
{
	unsigned int i;

	for (i = 0; i < BENCH_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
}

/* The shortest latency that a bucket counts, in ticks. */
static __u64 hist_value(unsigned int bucket)
{
	unsigned int shift = 0;

	if (bucket >= 2 * BENCH_HIST_SUB)
		shift = bucket / BENCH_HIST_SUB - 1;
	return (__u64)(bucket - shift * BENCH_HIST_SUB) << shift;
}

/*
 * A percentile. Returns the latency in ticks that this share does not exceed; 0
 * for an empty histogram.
 * @share: 0.5 for the median, 0.99 for the 99th percentile
 */
__u64 bench_hist_quantile(const struct bench_hist *hist, double share)
{
	const double want = share * hist->nr;
	__u64 seen = 0;
	unsigned int i;

	for (i = 0; i < BENCH_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen && seen >= want)
			return hist_value(i);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of figures, which are sorted after. */
static double median_of(double *figure, unsigned int nr)
{
	qsort(figure, nr, sizeof(*figure), compare);
	return (figure[nr / 2] + figure[(nr - 1) / 2]) / 2;
}

/* The share of the repetitions within 1 % of the median. */
static double agreement(const struct bench *b, double median)
{
	unsigned int i, close = 0;

	for (i = 0; i < b->reps; i++)
		close += b->raw[i] >= median * 0.99 && b->raw[i] <= median * 1.01;
	return (double)close / b->reps;
}

static const char *state_word(int err)
{
	if (!err)
		return "ok";
	return err == BENCH_UNAVAILABLE ? "not available" : "failed";
}

/* Print a string of JSON, and what comes after it. */
static void json_string(const char *key, const char *text, const char *end)
{
	printf("\"%s\": \"", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", *text);
		else
			putchar(*text);
	}
	printf("\"%s", end);
}

static void json_environment(void)
{
	const struct bench_options *o = &bench_options;
	struct utsname name;

	uname(&name);
	printf("{\n \"tool\": \"procmap_bench\",\n \"format\": 3,\n \"environment\": {\n  ");
	json_string("release", name.release, ",\n  ");
	json_string("version", name.version, ",\n  ");
	json_string("machine", name.machine, ",\n  ");
	json_string("accelerator", o->accelerator, ",\n  ");
	json_string("config_hash", o->config_hash, ",\n  ");
	json_string("unit", bench_clock_unit(), ",\n  ");
	printf("\"ticks_per_instruction\": %.6f,\n", bench_clock_scale);
	printf("  \"overhead_subtracted\": %llu,\n", bench_overhead);
	printf("  \"cpu\": %d,\n  \"reps\": %lu,\n  \"warm_up\": %lu,\n", bench_cpu[0], o->reps,
	       o->warm_up);
	printf("  \"milliseconds\": %lu\n },\n \"cases\": [", o->milliseconds);
}

static void json_case(struct bench *b)
{
	const double median = median_of(b->raw, b->reps);
	unsigned int i;

	printf(", \"units\": %u, \"median\": %.3f", b->row->batch * b->units, median);
	if (b->items)
		printf(", \"items\": %lu", b->items);
	if (b->answers)
		printf(", \"answers\": %lu, \"wrong\": %lu", b->answers, b->wrong);
	printf(", \"agree\": %.3f,\n    \"raw\": [", agreement(b, median));
	for (i = 0; i < b->reps; i++)
		printf("%s%.3f", i ? ", " : "", b->raw[i]);
	printf("]");
}

static void json_round(const struct bench_round *round)
{
	unsigned int i;

	printf("\n      { \"seconds\": %.6f, \"sleeps\": %lu, \"hangs\": %lu", round->seconds,
	       round->sleeps, round->hangs);
	for (i = 0; i < BENCH_CALLS; i++) {
		const struct bench_latency *latency = &round->latency[i];

		if (!latency->nr)
			continue;
		printf(", \"%s\": { \"nr\": %llu, \"p50\": %.0f", call_names[i], latency->nr,
		       latency->p50);
		printf(", \"p99\": %.0f, \"max\": %.0f }", latency->p99, latency->max);
	}
	printf(" }");
}

static void json_scene(const struct bench *b)
{
	unsigned int i;

	printf(", \"mappings\": %lu, \"readers\": %u,\n    \"rounds\": [", b->row->vmas,
	       b->row->readers);
	for (i = 0; i < b->reps; i++) {
		if (i)
			printf(",");
		json_round(&b->round[i]);
	}
	printf(" ]");
}

static void json_result(struct bench *b, const char *before)
{
	printf("%s\n  { ", before);
	json_string("name", b->row->name, ", ");
	json_string("what", b->row->what, ", ");
	json_string("status", state_word(b->err), "");
	if (b->err) {
		printf(", ");
		json_string("reason", b->reason, "");
	} else if (b->row->play) {
		json_scene(b);
	} else {
		json_case(b);
	}
	printf(" }");
}

static void table_environment(void)
{
	const struct bench_options *o = &bench_options;
	struct utsname name;

	uname(&name);
	printf("kernel %s %s, accelerator: %s, configuration: %s\n", name.release, name.machine,
	       o->accelerator, o->config_hash);
	printf("unit: %s (%.4f an instruction; %llu of a look at the clock are subtracted)\n",
	       bench_clock_unit(), bench_clock_scale, bench_overhead);
	printf("%lu repetitions after %lu to warm up, on processor %d\n", o->reps, o->warm_up,
	       bench_cpu[0]);
}

static void table_case(struct bench *b)
{
	const double median = b->err ? 0 : median_of(b->raw, b->reps);

	if (b->err) {
		printf("%-26s %s: %s\n", b->row->name, state_word(b->err), b->reason);
		return;
	}
	printf("%-26s %12.1f %12.1f %12.1f %5.0f%%  %s", b->row->name, median, b->raw[0],
	       b->raw[b->reps - 1], 100 * agreement(b, median), b->row->what);
	if (b->answers)
		printf("; %lu of %lu answers wrong", b->wrong, b->answers);
	printf("\n");
}

/* Returns the number of calls. */
static __u64 table_latency(const struct bench *b, enum bench_call call)
{
	double p50[BENCH_MAX_REPS], p99[BENCH_MAX_REPS], max = 0;
	unsigned int i;
	__u64 nr = 0;

	for (i = 0; i < b->reps; i++) {
		const struct bench_latency *latency = &b->round[i].latency[call];

		p50[i] = latency->p50;
		p99[i] = latency->p99;
		max = latency->max > max ? latency->max : max;
		nr += latency->nr;
	}
	if (nr)
		printf("  %-10s %12.0f %12.0f %12.0f %12llu\n", call_names[call],
		       median_of(p50, b->reps), median_of(p99, b->reps), max, nr);
	return nr;
}

static void table_scene(const struct bench *b)
{
	unsigned long sleeps = 0, hangs = 0;
	double seconds = 0;
	unsigned int i;
	__u64 nr = 0;

	printf("%s: %s\n", b->row->name, b->row->what);
	if (b->err) {
		printf("  %s: %s\n", state_word(b->err), b->reason);
		return;
	}
	for (i = 0; i < b->reps; i++) {
		sleeps += b->round[i].sleeps;
		hangs += b->round[i].hangs;
		seconds += b->round[i].seconds;
	}
	/* The last ones are those of the readers. */
	for (i = 0; i < BENCH_CALLS; i++)
		nr = table_latency(b, i);
	if (b->row->readers)
		printf("  %.1f a second\n", nr / seconds);
	if (b->row->vmas)
		printf("  had to wait %.1f times a second\n", sleeps / seconds);
	if (hangs)
		printf("  hung in %lu of %u rounds, and was killed\n", hangs, b->reps);
}

static void table_result(struct bench *b, bool first)
{
	if (first && b->row->play)
		printf("\n  %-10s %12s %12s %12s %12s  (ns; medians of the rounds)\n", "call",
		       "p50", "p99", "max", "calls");
	else if (first)
		printf("\n%-26s %12s %12s %12s %6s  %s\n", "case", "median", "min", "max",
		       "agree", "what");
	if (b->row->play)
		table_scene(b);
	else
		table_case(b);
}

/* Print the results of cases, or of scenes. Returns whether one failed. */
static bool report_kind(struct bench *all, unsigned int nr, bool scenes)
{
	bool first = true, failed = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!all[i].row->play == scenes)
			continue;
		if (bench_options.json)
			json_result(&all[i], first ? "" : ",");
		else
			table_result(&all[i], first);
		first = false;
		failed |= all[i].err < 0;
	}
	return failed;
}

/* Print all results. Returns 0; or 1 if one failed, or they could not be written. */
int bench_report(struct bench *all, unsigned int nr)
{
	const bool json = bench_options.json;
	bool failed;

	if (json)
		json_environment();
	else
		table_environment();
	failed = report_kind(all, nr, false);
	if (json)
		printf("\n ],\n \"scenes\": [");
	failed |= report_kind(all, nr, true);
	if (json)
		printf("\n ]\n}\n");
	return fflush(stdout) || ferror(stdout) || failed;
}
