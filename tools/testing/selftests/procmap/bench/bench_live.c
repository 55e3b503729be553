// SPDX-License-Identifier: GPL-2.0
/*
 * The symbolizer pass of procmap_bench over a running process: text and
 * queries in turn.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "bench_options.h"
#include "bench_sample.h"

#define LIVE_MAX	1000000		/* addresses */

static pid_t live_pid;

/* One way to do the pass. */
struct live_way {
	const char *name;
	int (*run)(struct bench_pass *pass);
	bool build_id;
	struct bench_pass pass;
	double least;
	int err;
};

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

static int live_read_addresses(const char *path, struct bench_samples *samples)
{
	FILE *file = fopen(path, "re");
	char line[128], *end;
	int err = 0;

	if (!file)
		return -errno;
	samples->address = calloc(LIVE_MAX, sizeof(*samples->address));
	while (samples->address && !err && fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		errno = 0;
		samples->address[samples->nr++] = strtoul(line, &end, 16);
		if (errno || end == line || *end != '\n' || samples->nr == LIVE_MAX)
			err = -EINVAL;
	}
	fclose(file);
	if (!samples->address)
		return -ENOMEM;
	qsort(samples->address, samples->nr, sizeof(*samples->address), compare);
	return err ?: samples->nr ? 0 : -ENODATA;
}

/* Each address is resolved only once. */
static void live_unique(struct bench_samples *samples)
{
	size_t i, nr = 0;

	for (i = 0; i < samples->nr; i++)
		if (!nr || samples->address[nr - 1] != samples->address[i])
			samples->address[nr++] = samples->address[i];
	samples->nr = nr;
}

static void live_time(struct live_way *way)
{
	const double ns = bench_clock_ns();
	unsigned long i;
	double took;
	__u64 began;

	for (i = 0; i < bench_options.reps + bench_options.warm_up && !way->err; i++) {
		began = bench_clock();
		way->err = way->run(&way->pass);
		took = ns * (bench_clock() - began);
		if (i >= bench_options.warm_up && (!way->least || took < way->least))
			way->least = took;
	}
}

static void live_show(const struct live_way *way, const struct live_way *text)
{
	const size_t nr = way->pass.addresses;

	if (bench_options.json) {
		printf("%s  { \"name\": \"%s\", ", way == text ? "" : ",\n", way->name);
		if (way->err)
			printf("\"status\": \"%s\" }", strerror(-way->err));
		else
			printf("\"status\": \"ok\", \"ns\": %.0f, \"ns_per_address\": %.1f }",
			       way->least, way->least / nr);
	} else if (way->err) {
		printf("%-10s %s\n", way->name, way->err == -ENOTTY ?
		       "not available: the kernel has no PROCMAP_QUERY" : strerror(-way->err));
	} else {
		printf("%-10s %12.0f ns %10.1f ns an address %8.2f times as fast as the text\n",
		       way->name, way->least, way->least / nr, text->least / way->least);
	}
}

/* Run both ways, with and without build IDs; the answers must agree. */
static int live_compare(pid_t pid, const struct bench_samples *samples)
{
	struct live_way ways[] = {
		{ .name = "text", .run = bench_symbolize_text },
		{ .name = "query", .run = bench_symbolize_query },
		{ .name = "text-id", .run = bench_symbolize_text, .build_id = true },
		{ .name = "query-id", .run = bench_symbolize_query, .build_id = true },
	};
	const char *differ;
	unsigned int i;
	int failed = 0;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ways[i].err = bench_pass_init(&ways[i].pass, pid, samples->address, samples->nr);
		ways[i].pass.build_id = ways[i].build_id;
		live_time(&ways[i]);
	}
	if (bench_options.json)
		printf("{ \"addresses\": %zu, \"ways\": [\n", samples->nr);
	else
		printf("%zu different addresses in %zu mappings\n", samples->nr, ways[0].pass.nr);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		live_show(&ways[i], &ways[0]);
		differ = NULL;
		if (i % 2 && !ways[i].err && !ways[i - 1].err)
			differ = bench_pass_differ(&ways[i - 1].pass, &ways[i].pass);
		if (differ)
			fprintf(stderr, "procmap_bench: %s: %s\n", ways[i].name, differ);
		failed |= !!differ || (ways[i].err && ways[i].err != -ENOTTY &&
				       !ways[i].build_id);
	}
	if (bench_options.json)
		printf("\n] }\n");
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		bench_pass_free(&ways[i].pass);
	return failed;
}

/**
 * bench_live_end() - let the process go on
 */
void bench_live_end(void)
{
	if (live_pid)
		kill(live_pid, SIGCONT);
	live_pid = 0;
}

/**
 * bench_live() - resolve addresses of a running process
 *
 * Return: the exit status.
 */
int bench_live(void)
{
	const struct bench_options *o = &bench_options;
	struct bench_samples samples = { 0 };
	int err, failed;

	if (o->sample)
		err = bench_sample(o->pid, o->sample, &samples);
	else
		err = live_read_addresses(o->addresses, &samples);
	if (err) {
		fprintf(stderr, "procmap_bench: %s: %s\n", o->sample ? "cannot sample" :
			o->addresses, strerror(-err));
		free(samples.address);
		return 1;
	}
	/* Stop the process, so that all passes see the same VMAs. */
	live_pid = o->pid;
	kill(o->pid, SIGSTOP);
	live_unique(&samples);
	failed = live_compare(o->pid, &samples);
	bench_live_end();
	free(samples.address);
	return failed;
}
