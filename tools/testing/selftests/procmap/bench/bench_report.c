// SPDX-License-Identifier: GPL-2.0
/* Results of procmap_bench: statistics, table and JSON. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "bench_report.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Compute the statistics of the repetitions.
 * @result: @raw, @reps and @err are set; out: the rest
 */
void bench_result_settle(struct bench_result *result)
{
	unsigned int i, close = 0;

	if (result->err || !result->reps)
		return;
	qsort(result->raw, result->reps, sizeof(result->raw[0]), compare);
	result->min = result->raw[0];
	result->max = result->raw[result->reps - 1];
	result->median = (result->raw[result->reps / 2] + result->raw[(result->reps - 1) / 2]) / 2;
	for (i = 0; i < result->reps; i++)
		close += result->raw[i] >= result->median * 0.99 &&
			 result->raw[i] <= result->median * 1.01;
	result->agree = (double)close / result->reps;
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

static void json_environment(const struct bench_environment *env)
{
	struct utsname name;

	uname(&name);
	printf("{\n \"tool\": \"procmap_bench\",\n \"format\": 2,\n \"environment\": {\n  ");
	json_string("release", name.release, ",\n  ");
	json_string("version", name.version, ",\n  ");
	json_string("machine", name.machine, ",\n  ");
	json_string("accelerator", env->accelerator, ",\n  ");
	json_string("config_hash", env->config_hash, ",\n  ");
	json_string("clock", bench_clock_name(), ",\n  ");
	json_string("unit", bench_clock_unit(), ",\n  ");
	printf("\"ticks_per_instruction\": %.6f,\n", bench_clock_scale());
	printf("  \"overhead_subtracted\": %llu,\n", bench_overhead);
	printf("  \"cpu\": %ld,\n  \"reps\": %lu,\n  \"warm_up\": %lu,\n", env->cpu, env->reps,
	       env->warm_up);
	printf("  \"milliseconds\": %lu\n },\n \"cases\": [", env->milliseconds);
}

static void json_result(const struct bench_result *result, const char *before)
{
	unsigned int i;

	printf("%s\n  { ", before);
	json_string("name", result->row->name, ", ");
	json_string("what", result->row->what, ", ");
	json_string("status", state_word(result->err), "");
	if (result->err) {
		printf(", ");
		json_string("reason", result->reason, " }");
		return;
	}
	printf(", \"units\": %u, \"min\": %.3f, \"median\": %.3f, \"max\": %.3f", result->units,
	       result->min, result->median, result->max);
	if (result->items)
		printf(", \"items\": %lu", result->items);
	if (result->answers)
		printf(", \"answers\": %lu, \"wrong\": %lu", result->answers, result->wrong);
	printf(", \"agree\": %.3f,\n", result->agree);
	printf("    \"raw\": [");
	for (i = 0; i < result->reps; i++)
		printf("%s%.3f", i ? ", " : "", result->raw[i]);
	printf("] }");
}

static void table_environment(const struct bench_environment *env)
{
	struct utsname name;

	uname(&name);
	printf("kernel %s %s, accelerator: %s, configuration: %s\n", name.release, name.machine,
	       env->accelerator, env->config_hash);
	printf("unit: %s (%s, %.4f an instruction; %llu of a look at it are subtracted)\n",
	       bench_clock_unit(), bench_clock_name(), bench_clock_scale(), bench_overhead);
	printf("%lu repetitions after %lu to warm up, on processor %ld\n\n", env->reps,
	       env->warm_up, env->cpu);
}

static void table_result(const struct bench_result *result)
{
	if (result->err) {
		printf("%-26s %s: %s\n", result->row->name, state_word(result->err),
		       result->reason);
		return;
	}
	printf("%-26s %12.1f %12.1f %12.1f %5.0f%%  %s", result->row->name, result->median,
	       result->min, result->max, 100 * result->agree, result->row->what);
	if (result->answers)
		printf("; %lu of %lu answers wrong", result->wrong, result->answers);
	printf("\n");
}

/* Print what all results depend on. */
void bench_report_begin(const struct bench_environment *env, bool json)
{
	if (json)
		json_environment(env);
	else
		table_environment(env);
}

/* Print the results of cases. Returns 0, or 1 if a case failed. */
int bench_report_cases(const struct bench_result *results, unsigned int nr, bool json)
{
	unsigned int i;
	int failed = 0;

	if (!json && nr)
		printf("%-26s %12s %12s %12s %6s  %s\n", "case", "median", "min", "max", "agree",
		       "what");
	for (i = 0; i < nr; i++) {
		failed |= results[i].err < 0;
		if (json)
			json_result(&results[i], i ? "," : "");
		else
			table_result(&results[i]);
	}
	if (json)
		printf("\n ],\n \"scenes\": [");
	return failed;
}

/* End the report. Returns 0, or 1 if it could not be written. */
int bench_report_end(bool json)
{
	if (json)
		printf("\n ]\n}\n");
	return fflush(stdout) || ferror(stdout);
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
	json_string("name", row->name, ", ");
	json_string("what", row->what, ", ");
	json_string("status", state_word(state->err), ", ");
	if (state->err) {
		json_string("reason", state->reason, " }");
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
		printf("  %s: %s\n", state_word(state->err), state->reason);
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

/* Print the results of scenes. Returns 0, or 1 if a scene failed. */
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
