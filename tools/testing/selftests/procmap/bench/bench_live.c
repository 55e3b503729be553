// SPDX-License-Identifier: GPL-2.0
/*
 * The symbolizer pass of procmap_bench over a running process: text and queries
 * in turn. The addresses are those of a file, or where the process is found
 * running: a software event of perf records its address in user space each time
 * its processor's clock has advanced by a millisecond.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "bench.h"
#include "bench_options.h"

#define SAMPLE_PERIOD	1000000		/* ns */
#define SAMPLE_PAGES	64		/* pages of a ring, a power of two */
#define SAMPLE_CPUS	64
#define SAMPLE_MAX	1000000
#define SAMPLE_POLL	20000000	/* ns between two reads of the rings */

/**
 * struct bench_samples - addresses at which a process was running
 * @address: the addresses, ascending; the caller frees them
 * @nr: their number
 */
struct bench_samples {
	unsigned long *address;
	size_t nr;
};

/* The record that PERF_SAMPLE_IP | PERF_SAMPLE_TID produces. */
struct sample_record {
	struct perf_event_header header;
	__u64 ip;
	__u32 pid;
	__u32 tid;
};

/* One ring per processor, for all threads of the process. */
struct sampler {
	pid_t pid;
	unsigned int cpus;
	int ring[SAMPLE_CPUS];
	struct perf_event_mmap_page *page[SAMPLE_CPUS];
	int *fd;
	unsigned int fds;
	struct bench_samples *samples;
};

static size_t ring_size(void)
{
	return SAMPLE_PAGES * sysconf(_SC_PAGESIZE);
}

static int sampler_open(struct sampler *s, pid_t tid, unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLE_PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = 1,
	};
	int *more = realloc(s->fd, (s->fds + 1) * sizeof(*more));
	int fd;

	if (!more)
		return -ENOMEM;
	s->fd = more;
	fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	s->fd[s->fds++] = fd;
	if (s->page[cpu])
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->ring[cpu]) ? -errno : 0;
	s->ring[cpu] = fd;
	s->page[cpu] = mmap(NULL, ring_size() + sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	if (s->page[cpu] == MAP_FAILED) {
		s->page[cpu] = NULL;
		return -errno;
	}
	return 0;
}

/* Threads that start later inherit the events of their parent. */
static int sampler_open_all(struct sampler *s)
{
	struct dirent *entry;
	unsigned int cpu;
	char path[64];
	DIR *tasks;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", s->pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		for (cpu = 0; !err && cpu < s->cpus; cpu++)
			err = sampler_open(s, atoi(entry->d_name), cpu);
		/* A thread that has ended meanwhile needs no event. */
		if (err == -ESRCH)
			err = 0;
	}
	closedir(tasks);
	return err ?: s->fds ? 0 : -ESRCH;
}

static void ring_copy(const char *ring, __u64 at, void *to, size_t size)
{
	const size_t mask = ring_size() - 1;
	size_t i;

	for (i = 0; i < size; i++)
		((char *)to)[i] = ring[(at + i) & mask];
}

static int sampler_take(struct sampler *s, unsigned long address)
{
	struct bench_samples *samples = s->samples;

	if (samples->nr == SAMPLE_MAX)
		return -ENOSPC;
	samples->address[samples->nr++] = address;
	return 0;
}

static int sampler_drain(struct sampler *s, unsigned int cpu)
{
	struct perf_event_mmap_page *page = s->page[cpu];
	const char *ring = (char *)page + sysconf(_SC_PAGESIZE);
	__u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	__u64 tail = page->data_tail;
	struct sample_record record;
	int err = 0;

	while (!err && tail < head) {
		ring_copy(ring, tail, &record.header, sizeof(record.header));
		if (record.header.type == PERF_RECORD_LOST)
			err = -EOVERFLOW;
		if (record.header.type == PERF_RECORD_SAMPLE) {
			ring_copy(ring, tail, &record, sizeof(record));
			if ((pid_t)record.pid == s->pid)
				err = sampler_take(s, record.ip);
		}
		tail += record.header.size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

static int sampler_run(struct sampler *s, unsigned int seconds)
{
	const struct timespec nap = { .tv_nsec = SAMPLE_POLL };
	struct timespec begin, now;
	unsigned int cpu;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		nanosleep(&nap, NULL);
		for (cpu = 0; !err && cpu < s->cpus; cpu++)
			if (s->page[cpu])
				err = sampler_drain(s, cpu);
		if (!err && kill(s->pid, 0))
			err = -errno;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!err && now.tv_sec < begin.tv_sec + seconds);
	return err;
}

static void sampler_close(struct sampler *s)
{
	unsigned int cpu;

	for (cpu = 0; cpu < s->cpus; cpu++)
		if (s->page[cpu])
			munmap(s->page[cpu], ring_size() + sysconf(_SC_PAGESIZE));
	while (s->fds)
		close(s->fd[--s->fds]);
	free(s->fd);
}

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/* Sample where a process runs, with all its threads; -EOVERFLOW: samples were lost. */
static int sampler_sample(pid_t pid, unsigned int seconds, struct bench_samples *samples)
{
	struct sampler s = { .pid = pid, .samples = samples };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int err;

	samples->nr = 0;
	samples->address = calloc(SAMPLE_MAX, sizeof(*samples->address));
	if (!samples->address)
		return -ENOMEM;
	s.cpus = cpus < 1 ? 1 : cpus > SAMPLE_CPUS ? SAMPLE_CPUS : cpus;
	err = sampler_open_all(&s);
	if (!err)
		err = sampler_run(&s, seconds);
	sampler_close(&s);
	if (!err && !samples->nr)
		err = -ENODATA;
	if (!err)
		qsort(samples->address, samples->nr, sizeof(*samples->address), compare);
	return err;
}

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

static int live_read_addresses(const char *path, struct bench_samples *samples)
{
	FILE *file = fopen(path, "re");
	char line[128], *end;
	int err = 0;

	if (!file)
		return -errno;
	samples->address = calloc(SAMPLE_MAX, sizeof(*samples->address));
	while (samples->address && !err && fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		errno = 0;
		samples->address[samples->nr++] = strtoul(line, &end, 16);
		if (errno || end == line || *end != '\n' || samples->nr == SAMPLE_MAX)
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
	const struct bench_options *o = &bench_options;
	struct bench_samples samples = { 0 };
	int err, failed;

	if (o->sample)
		err = sampler_sample(o->pid, o->sample, &samples);
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
