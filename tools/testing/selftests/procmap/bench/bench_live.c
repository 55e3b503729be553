// SPDX-License-Identifier: GPL-2.0
/*
 * The symbolizer pass of procmap_bench over a running process, for addresses of
 * a file: text and queries in turn.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "bench_options.h"

#define LIVE_MAX	1000000

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

static int live_compare_addresses(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/*
 * Read the addresses of a file, into as many as LIVE_MAX. Returns their number,
 * or -errno.
 * @address: out: the addresses, ascending, each once
 */
static long live_read_addresses(const char *path, unsigned long *address)
{
	FILE *file = fopen(path, "re");
	char line[128], *end;
	long i, nr = 0, unique = 0;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		errno = 0;
		address[nr++] = strtoul(line, &end, 16);
		if (errno || end == line || *end != '\n' || nr == LIVE_MAX)
			err = -EINVAL;
	}
	fclose(file);
	qsort(address, nr, sizeof(*address), live_compare_addresses);
	for (i = 0; i < nr; i++)
		if (!unique || address[unique - 1] != address[i])
			address[unique++] = address[i];
	return err ?: unique ?: -ENODATA;
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
	if (way->err)
		printf("%-10s %s\n", way->name, way->err == -ENOTTY ?
		       "not available: the kernel has no PROCMAP_QUERY" : strerror(-way->err));
	else
		printf("%-10s %12.0f ns %10.1f ns an address %8.2f times as fast as the text\n",
		       way->name, way->least, way->least / way->pass.addresses,
		       text->least / way->least);
}

/* Run both ways, with and without build IDs; the answers must agree. */
static int live_compare(pid_t pid, const unsigned long *address, size_t nr)
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
		ways[i].err = bench_pass_init(&ways[i].pass, pid, address, nr);
		ways[i].pass.build_id = ways[i].build_id;
		live_time(&ways[i]);
	}
	printf("%zu different addresses in %zu mappings\n", nr, ways[0].pass.nr);
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
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		bench_pass_free(&ways[i].pass);
	return failed;
}

/* Let the process go on. */
void bench_live_end(void)
{
	if (live_pid)
		kill(live_pid, SIGCONT);
	live_pid = 0;
}

/* Resolve addresses of a running process. Returns the exit status. */
int bench_live(void)
{
	unsigned long *address = calloc(LIVE_MAX, sizeof(*address));
	long nr = address ? live_read_addresses(bench_options.addresses, address) : -ENOMEM;
	int failed = 1;

	if (nr < 0) {
		fprintf(stderr, "procmap_bench: %s: %s\n", bench_options.addresses,
			strerror(-nr));
	} else {
		/* Stop the process, so that all passes see the same VMAs. */
		live_pid = bench_options.pid;
		kill(live_pid, SIGSTOP);
		failed = live_compare(live_pid, address, nr);
		bench_live_end();
	}
	free(address);
	return failed;
}
