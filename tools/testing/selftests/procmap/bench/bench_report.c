// SPDX-License-Identifier: GPL-2.0
/* Results of procmap_bench: statistics, differences, table and JSON. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "bench_report.h"

/* A row that is computed from two others: (plus - minus) / units. */
static const struct bench_difference {
	const char *name;
	const char *what;
	const char *plus;
	const char *minus;
	unsigned long units;
} differences[] = {
	{ "add/name", "what the name adds to a query", "query/library/name",
	  "query/library/plain", 1 },
	{ "add/build-id", "what the build ID adds to a query", "query/library/build-id",
	  "query/library/plain", 1 },
	{ "walk/adjacent/per-mapping", "passing one mapping that the filter excludes",
	  "walk/adjacent/10000", "walk/adjacent/10", 9990 },
	{ "walk/holes/per-mapping", "passing one mapping that the filter excludes and a hole",
	  "walk/holes/10000", "walk/holes/10", 9990 },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/**
 * bench_result_settle() - compute the statistics of the repetitions
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

static const struct bench_result *find(const struct bench_result *results, unsigned int nr,
				       const char *name)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(results[i].row->name, name))
			return &results[i];
	return NULL;
}

/* Return 0 and set @value, BENCH_UNAVAILABLE and set @reason, or -ENOENT. */
static int difference(const struct bench_difference *d, const struct bench_result *results,
		      unsigned int nr, double *value, const char **reason)
{
	const struct bench_result *plus = find(results, nr, d->plus);
	const struct bench_result *minus = find(results, nr, d->minus);

	if (!plus || !minus)
		return -ENOENT;
	if (plus->err || minus->err) {
		*reason = plus->err ? plus->reason : minus->reason;
		return BENCH_UNAVAILABLE;
	}
	*value = (plus->median - minus->median) / d->units;
	return 0;
}

/**
 * bench_report_state() - name the result of a case
 * @err: 0, BENCH_UNAVAILABLE or -errno
 *
 * Return: the word for it.
 */
const char *bench_report_state(int err)
{
	if (!err)
		return "ok";
	return err == BENCH_UNAVAILABLE ? "not available" : "failed";
}

/**
 * bench_report_string() - print a string of JSON
 * @key: its key
 * @text: its value
 * @end: text to print after it
 */
void bench_report_string(const char *key, const char *text, const char *end)
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
	bench_report_string("release", name.release, ",\n  ");
	bench_report_string("version", name.version, ",\n  ");
	bench_report_string("machine", name.machine, ",\n  ");
	bench_report_string("accelerator", env->accelerator, ",\n  ");
	bench_report_string("config_hash", env->config_hash, ",\n  ");
	bench_report_string("clock", bench_clock_name(), ",\n  ");
	bench_report_string("unit", bench_clock_unit(), ",\n  ");
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
	bench_report_string("name", result->row->name, ", ");
	bench_report_string("what", result->row->what, ", ");
	bench_report_string("status", bench_report_state(result->err), "");
	if (result->err) {
		printf(", ");
		bench_report_string("reason", result->reason, " }");
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

static void json_difference(const struct bench_difference *d, int err, double value,
			    const char *reason)
{
	printf(",\n  { ");
	bench_report_string("name", d->name, ", ");
	bench_report_string("what", d->what, ", ");
	bench_report_string("status", bench_report_state(err), ", \"derived\": true, ");
	if (err)
		bench_report_string("reason", reason, " }");
	else
		printf("\"median\": %.3f }", value);
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
		printf("%-26s %s: %s\n", result->row->name, bench_report_state(result->err),
		       result->reason);
		return;
	}
	printf("%-26s %12.1f %12.1f %12.1f %5.0f%%  %s", result->row->name, result->median,
	       result->min, result->max, 100 * result->agree, result->row->what);
	if (result->answers)
		printf("; %lu of %lu answers wrong", result->wrong, result->answers);
	printf("\n");
}

static void table_difference(const struct bench_difference *d, int err, double value,
			     const char *reason)
{
	if (err)
		printf("%-26s %s: %s\n", d->name, bench_report_state(err), reason);
	else
		printf("%-26s %12.1f %12s %12s %6s  %s\n", d->name, value, "", "", "", d->what);
}

/**
 * bench_report_begin() - print what all results depend on
 * @env: the environment
 * @json: print JSON, not text
 */
void bench_report_begin(const struct bench_environment *env, bool json)
{
	if (json)
		json_environment(env);
	else
		table_environment(env);
}

/**
 * bench_report_cases() - print the results of cases
 * @results: the results
 * @nr: their number
 * @json: print JSON, not a table
 *
 * Return: 0, or 1 if a case failed.
 */
int bench_report_cases(const struct bench_result *results, unsigned int nr, bool json)
{
	const char *reason = "";
	double value = 0;
	unsigned int i;
	int err, failed = 0;

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
	for (i = 0; i < ARRAY_SIZE(differences); i++) {
		err = difference(&differences[i], results, nr, &value, &reason);
		if (err == -ENOENT)
			continue;
		if (json)
			json_difference(&differences[i], err, value, reason);
		else
			table_difference(&differences[i], err, value, reason);
	}
	if (json)
		printf("\n ],\n \"scenes\": [");
	return failed;
}

/**
 * bench_report_end() - end the report
 * @json: print JSON
 *
 * Return: 0, or 1 if it could not be written.
 */
int bench_report_end(bool json)
{
	if (json)
		printf("\n ]\n}\n");
	return fflush(stdout) || ferror(stdout);
}
