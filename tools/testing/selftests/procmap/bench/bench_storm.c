// SPDX-License-Identifier: GPL-2.0
/*
 * A process that maps, protects and unmaps memory all the time. It measures how
 * long each call takes while others look at its VMAs.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "bench.h"
#include "bench_storm.h"

#define STORM_LIVE	8	/* slots that are mapped at a time */
#define STORM_MAPPED	(BENCH_STORM_SLOT / 2)

struct bench_storm *bench_storm;

/**
 * bench_storm_init() - allocate what this process and its children share
 *
 * Return: 0 or -errno
 */
int bench_storm_init(void)
{
	void *at;

	if (bench_storm)
		return 0;
	at = mmap(NULL, sizeof(*bench_storm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		  -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	/* Touch all pages before anything is timed. */
	memset(at, 0, sizeof(*bench_storm));
	bench_storm = at;
	return 0;
}

static int storm_call(enum bench_storm_call kind, char *at)
{
	struct bench_hist *hist = &bench_storm->took[kind];
	__u64 began = bench_clock();
	long ret;

	if (kind == BENCH_STORM_MMAP)
		ret = bench_call6(SYS_mmap, at, STORM_MAPPED, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else if (kind == BENCH_STORM_MPROTECT)
		ret = bench_call3(SYS_mprotect, at, STORM_MAPPED / 2, PROT_READ);
	else
		ret = bench_call3(SYS_munmap, at, STORM_MAPPED, 0);
	bench_hist_add(hist, bench_clock() - began - bench_overhead);
	return ret < 0 && ret > -4096 ? ret : 0;
}

static char *storm_slot(unsigned long at, unsigned long i)
{
	return (char *)at + i % BENCH_STORM_SLOTS * BENCH_STORM_SLOT;
}

static int storm_until_stopped(unsigned long at)
{
	unsigned long i;
	int err = 0;

	for (i = 0; !err && !__atomic_load_n(&bench_storm->stop, __ATOMIC_RELAXED); i++) {
		err = storm_call(BENCH_STORM_MMAP, storm_slot(at, i));
		if (!err)
			err = storm_call(BENCH_STORM_MPROTECT, storm_slot(at, i));
		if (!err && i >= STORM_LIVE)
			err = storm_call(BENCH_STORM_MUNMAP, storm_slot(at, i - STORM_LIVE));
	}
	munmap((void *)at, BENCH_STORM_SIZE);
	return err;
}

static unsigned long storm_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/**
 * bench_storm_run() - change the address space until bench_storm->stop is set
 * @at: BENCH_STORM_SIZE bytes of unused address space
 */
void bench_storm_run(unsigned long at)
{
	unsigned long before;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(bench_storm->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		bench_storm->err = -errno;
		return;
	}
	before = storm_sleeps();
	bench_storm->err = storm_until_stopped(at);
	bench_storm->sleeps = storm_sleeps() - before;
}
