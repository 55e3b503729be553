// SPDX-License-Identifier: GPL-2.0-only
/*
 * What look-ups of the library cost, next to queries. Prints one line of JSON for
 * each case. The time stamp counter counts instructions in a machine that is
 * started so (QEMU's -icount shift=0), and needs a kernel with scans.
 *
 * A child with 10,000 mappings of libraries changes one of them when it is told
 * to, between look-ups: its own work is not counted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../libprocmap.h"

#define VMAS		10000
#define EACH		5	/* VMAs of a library */
#define LIBRARIES	50	/* files; each is mapped again and again */
#define WINDOW		1000
#define LOOKUPS		6000
#define BATCH		100

static size_t page;
static char *area;
static int orders[2], answers[2];
static uint64_t empty;		/* what reading the counter costs */

static uint64_t counter(void)
{
#if __has_builtin(__builtin_ia32_rdtsc) && __has_builtin(__builtin_ia32_lfence)
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static void fail(const char *what)
{
	fprintf(stderr, "cost: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void map_libraries(void)
{
	static const int prots[EACH] = {
		PROT_READ, PROT_READ | PROT_EXEC, PROT_READ, PROT_READ, PROT_READ | PROT_WRITE,
	};
	char name[32];
	int files[LIBRARIES], i;

	for (i = 0; i < LIBRARIES; i++) {
		snprintf(name, sizeof(name), "/tmp/libcost-%02d.so.1", i);
		files[i] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (files[i] < 0 || ftruncate(files[i], 2 * EACH * page) || unlink(name))
			fail(name);
	}
	area = mmap(NULL, (VMAS + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; area != MAP_FAILED && i < VMAS; i++)
		if (mmap(area + i * page, page, prots[i % EACH], MAP_PRIVATE | MAP_FIXED,
			 files[i / EACH % LIBRARIES], i % EACH * 2 * page) == MAP_FAILED)
			fail("mmap");
	for (i = 0; i < LIBRARIES; i++)
		close(files[i]);
}

/* Change the last mapping, which is not looked up, each time the parent says so. */
static void change_all(void)
{
	int prot = PROT_READ;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders[0], &c, 1) == 1) {
		prot ^= PROT_READ;
		if (mprotect(area + VMAS * page, page, prot) || write(answers[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

static void change(void)
{
	char c = 0;

	if (write(orders[1], &c, 1) != 1 || read(answers[0], &c, 1) != 1)
		fail("the child is gone");
}

/**
 * struct run - one case
 * @what: what changes
 * @every: look-ups between two changes; 0: none
 * @quiet: look-ups without changes before as many with them; 0: none
 * @hot: VMAs that are looked up
 * @flags: of the look-ups
 * @steady: look up each VMA until the handle has it, before the look-ups that count
 */
struct run {
	const char *what;
	size_t every;
	size_t quiet;
	size_t hot;
	unsigned int flags;
	bool steady;
};

static const struct run runs[] = {
	{ "nothing changes, 100 VMAs", .hot = 100, .steady = true },
	{ "nothing changes, 1,000 VMAs", .hot = 1000, .steady = true },
	{ "a new handle, all VMAs", .hot = VMAS },
	{ "a change before each", .every = 1, .hot = VMAS },
	{ "a change before each, 20 VMAs", .every = 1, .hot = 20 },
	{ "a change before each third, one VMA", .every = 3, .hot = 1 },
	{ "a change before each tenth", .every = 10, .hot = VMAS },
	{ "a change before each tenth, 20 VMAs", .every = 10, .hot = 20 },
	{ "a change before each hundredth", .every = 100, .hot = VMAS },
	{ "a change before each hundredth, 20 VMAs", .every = 100, .hot = 20 },
	{ "no change, then one before each", .every = 1, .quiet = 1500, .hot = 50 },
};

static uint64_t place(size_t hot)
{
	return (uintptr_t)area + random() % hot * (VMAS / hot) * page;
}

/* Instructions of one look-up. */
static uint64_t find(struct procmap *pm, uint64_t addr, unsigned int flags, struct procmap_vma *vma)
{
	const uint64_t before = counter();
	const int ret = procmap_find(pm, addr, flags, vma);
	const uint64_t after = counter();

	if (ret || vma->start != addr || !vma->name != !(flags & PROCMAP_NAME))
		fail("a wrong answer");
	return after - before - empty;
}

/**
 * struct result - what look-ups have cost
 * @first: the first 100, each
 * @worst: the worst 1,000 in a row, each
 * @last: the last 1,000, each
 */
struct result {
	uint64_t first;
	uint64_t worst;
	uint64_t last;
};

static void look_up(pid_t pid, enum procmap_backend backend, const struct run *run,
		    unsigned int flags, struct result *result)
{
	struct procmap *pm = procmap_open(pid, backend);
	static uint64_t costs[LOOKUPS];
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	uint64_t sum = 0;
	size_t i;

	if (!pm)
		fail("procmap_open");
	srandom(1);
	for (i = 0; run->steady && i < 20 * run->hot; i++)
		find(pm, (uintptr_t)area + i % run->hot * (VMAS / run->hot) * page, flags, &vma);
	memset(result, 0, sizeof(*result));
	for (i = 0; i < LOOKUPS; i++) {
		if (run->every && i % run->every == 0 && !(run->quiet && i / run->quiet % 2 == 0))
			change();
		costs[i] = find(pm, place(run->hot), flags, &vma);
		sum += costs[i] - (i < WINDOW ? 0 : costs[i - WINDOW]);
		if (i + 1 == WINDOW / 10)
			result->first = sum / (WINDOW / 10);
		if (i >= WINDOW - 1 && sum / WINDOW > result->worst)
			result->worst = sum / WINDOW;
	}
	result->last = sum / WINDOW;
	procmap_vma_free(&vma);
	procmap_close(pm);
}

static void print_result(const char *who, const struct result *result)
{
	printf("\"%s\": {\"first\": %ju, \"worst\": %ju, \"last\": %ju}", who,
	       (uintmax_t)result->first, (uintmax_t)result->worst, (uintmax_t)result->last);
}

static void print_line(const char *what, unsigned int flags, const struct result *kept,
		       const struct result *queries)
{
	printf("{\"what\": \"%s%s\", ", what, flags & PROCMAP_NAME ? ", names" : "");
	print_result("kept", kept);
	fputs(", ", stdout);
	print_result("queries", queries);
	puts("}");
}

static void print_run(pid_t pid, const struct run *run, unsigned int flags)
{
	struct result kept, queries;

	look_up(pid, PROCMAP_BACKEND_QUERY, run, flags, &queries);
	look_up(pid, PROCMAP_BACKEND_SCAN, run, flags, &kept);
	print_line(run->what, flags, &kept, &queries);
}

/* The least of some batches, when the handle has all VMAs. */
static uint64_t batch(pid_t pid, enum procmap_backend backend, unsigned int flags)
{
	struct procmap *pm = procmap_open(pid, backend);
	uint64_t addrs[BATCH], began, least = UINT64_MAX;
	struct procmap_batch all = PROCMAP_BATCH_INIT;
	int i;

	if (!pm)
		fail("procmap_open");
	for (i = 0; i < BATCH; i++)
		addrs[i] = (uintptr_t)area + i * (VMAS / BATCH) * page;
	for (i = 0; i < 50; i++) {
		began = counter();
		if (procmap_resolve_many(pm, addrs, BATCH, flags, &all))
			fail("procmap_resolve_many");
		procmap_batch_free(&all);
		began = counter() - began - empty;
		least = began < least ? began : least;
	}
	procmap_close(pm);
	return least;
}

static void print_batch(pid_t pid, unsigned int flags)
{
	struct result kept = { .last = batch(pid, PROCMAP_BACKEND_SCAN, flags) };
	struct result queries = { .last = batch(pid, PROCMAP_BACKEND_QUERY, flags) };

	print_line("nothing changes, a batch of 100", flags, &kept, &queries);
}

int main(void)
{
	uint64_t began, i;
	pid_t pid;

	page = sysconf(_SC_PAGESIZE);
	map_libraries();
	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		fail("pipe2");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid)
		change_all();
	empty = UINT64_MAX;
	for (i = 0; i < 100; i++) {
		began = counter();
		began = counter() - began;
		empty = began < empty ? began : empty;
	}
	for (i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		print_run(pid, &runs[i], 0);
		print_run(pid, &runs[i], PROCMAP_NAME);
	}
	print_batch(pid, 0);
	print_batch(pid, PROCMAP_NAME);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
