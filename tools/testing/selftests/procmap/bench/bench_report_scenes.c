// SPDX-License-Identifier: GPL-2.0
/* Results of procmap_bench: the scenes. */
#include <stdlib.h>
#include <string.h>
#include "bench_report.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Return the median over the rounds of the figure at @offset. */
static double rounds_median(const struct bench_scene_state *state, size_t offset)
{
	double value[BENCH_MAX_REPS];
	unsigned int i;

	for (i = 0; i < state->rounds; i++)
		value[i] = *(const double *)((const char *)&state->round[i] + offset);
	qsort(value, state->rounds, sizeof(value[0]), compare);
	return (value[state->rounds / 2] + value[(state->rounds - 1) / 2]) / 2;
}

static void json_round(const struct bench_round *round, const char *end)
{
	unsigned int i;

	printf("\n      { \"seconds\": %.6f, \"lookups\": %.3f, \"sleeps\": %lu",
	       round->seconds, round->lookups, round->sleeps);
	printf(", \"hangs\": %lu", round->hangs);
	for (i = 0; i < BENCH_SCENE_HISTS; i++) {
		const struct bench_latency *latency = &round->latency[i];

		if (latency->nr)
			printf(", \"%s\": { \"nr\": %llu, \"p50\": %.0f, \"p99\": %.0f",
			       bench_scene_hist_names[i], latency->nr, latency->p50, latency->p99);
		if (latency->nr)
			printf(", \"max\": %.0f }", latency->max);
	}
	printf(" }%s", end);
}

static void json_scene(const struct bench_scene_state *state, const char *before)
{
	const struct bench_scene *row = state->row;
	unsigned int i;

	printf("%s\n  { ", before);
	bench_report_string("name", row->name, ", ");
	bench_report_string("what", row->what, ", ");
	bench_report_string("status", bench_report_state(state->err), ", ");
	if (state->err) {
		bench_report_string("reason", state->reason, " }");
		return;
	}
	printf("\"mappings\": %lu, \"readers\": %u,\n    \"rounds\": [", row->vmas, row->readers);
	for (i = 0; i < state->rounds; i++)
		json_round(&state->round[i], i + 1 < state->rounds ? "," : "");
	printf(" ] }");
}

static void table_latency(const struct bench_scene_state *state, unsigned int i)
{
	const size_t at = offsetof(struct bench_round, latency) + i * sizeof(struct bench_latency);
	double max = 0;
	__u64 nr = 0;
	unsigned int r;

	for (r = 0; r < state->rounds; r++) {
		const struct bench_latency *latency = &state->round[r].latency[i];

		nr += latency->nr;
		if (latency->max > max)
			max = latency->max;
	}
	if (!nr)
		return;
	printf("  %-10s %12.0f %12.0f %12.0f %12llu\n", bench_scene_hist_names[i],
	       rounds_median(state, at + offsetof(struct bench_latency, p50)),
	       rounds_median(state, at + offsetof(struct bench_latency, p99)), max, nr);
}

static void table_scene(const struct bench_scene_state *state)
{
	unsigned long sleeps = 0, hangs = 0;
	double lookups = 0, seconds = 0;
	unsigned int i;

	printf("%s: %s\n", state->row->name, state->row->what);
	if (state->err) {
		printf("  %s: %s\n", bench_report_state(state->err), state->reason);
		return;
	}
	for (i = 0; i < state->rounds; i++) {
		sleeps += state->round[i].sleeps;
		hangs += state->round[i].hangs;
		lookups += state->round[i].lookups;
		seconds += state->round[i].seconds;
	}
	for (i = 0; i < BENCH_SCENE_HISTS; i++)
		table_latency(state, i);
	if (state->row->readers)
		printf("  %.1f a second\n", lookups / seconds);
	if (state->row->vmas)
		printf("  had to wait %.1f times a second\n", sleeps / seconds);
	if (hangs)
		printf("  hung in %lu of %u rounds, and was killed\n", hangs, state->rounds);
}

/**
 * bench_report_scenes() - print the results of scenes
 * @states: the scenes
 * @nr: their number
 * @json: print JSON, not a table
 *
 * Return: 0, or 1 if a scene failed.
 */
int bench_report_scenes(const struct bench_scene_state *states, unsigned int nr, bool json)
{
	static bool any;
	unsigned int i;
	int failed = 0;

	if (!json && nr && !any)
		printf("\n  %-10s %12s %12s %12s %12s  (ns; medians of %u rounds)\n", "call", "p50",
		       "p99", "max", "calls", states[0].rounds);
	for (i = 0; i < nr; i++) {
		failed |= states[i].err < 0;
		if (json)
			json_scene(&states[i], any ? "," : "");
		else
			table_scene(&states[i]);
		any = true;
	}
	return failed;
}
