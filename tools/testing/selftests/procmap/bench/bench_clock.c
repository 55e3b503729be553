// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of procmap_bench, and the meaning of one tick of it. Under QEMU's
 * "-icount shift=0" the time stamp counter should go up by one per guest
 * instruction. The benchmark measures whether it does.
 */
#include "bench.h"

#define CLOCK_TRIES	200
#define CLOCK_SHORT	10000
#define CLOCK_LONG	20000
#define CLOCK_WATCH	50e6	/* ns in which to compare ticks and time */

__u64 bench_overhead;

static double clock_scale;

#ifdef BENCH_X86_64
/* Each turn has two instructions. */
static __u64 clock_loop(unsigned long turns)
{
	__u64 began = bench_clock();

	asm volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
	return bench_clock() - began;
}
#endif

static __u64 clock_nothing(void)
{
	__u64 began = bench_clock();

	return bench_clock() - began;
}

/* Interrupts can only add time, so the least of many has none. */
static __u64 clock_least(__u64 (*fn)(void))
{
	__u64 least = ~0ull, now;
	int i;

	for (i = 0; i < CLOCK_TRIES; i++) {
		now = fn();
		if (now < least)
			least = now;
	}
	return least;
}

#ifdef BENCH_X86_64
static __u64 clock_short(void)
{
	return clock_loop(CLOCK_SHORT);
}

static __u64 clock_long(void)
{
	return clock_loop(CLOCK_LONG);
}
#endif

/**
 * bench_clock_calibrate() - measure the clock with a loop of known length
 *
 * Return: 0, or -ERANGE if the clock stands still.
 */
int bench_clock_calibrate(void)
{
	bench_overhead = clock_least(clock_nothing);
#ifdef BENCH_X86_64
	clock_scale = ((double)clock_least(clock_long) - (double)clock_least(clock_short)) /
		      (2 * (CLOCK_LONG - CLOCK_SHORT));
	if (clock_scale <= 0)
		return -ERANGE;
#endif
	return 0;
}

/**
 * bench_clock_scale() - ticks per instruction, as measured
 *
 * Return: the number, 1 under "-icount shift=0"; 0 if it cannot be measured.
 */
double bench_clock_scale(void)
{
	return clock_scale;
}

/**
 * bench_clock_ns() - nanoseconds per tick, measured once
 *
 * Return: the number.
 */
double bench_clock_ns(void)
{
#ifdef BENCH_X86_64
	static double ns;
	struct timespec begin, now;
	__u64 from, to;

	if (ns)
		return ns;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	from = bench_clock();
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		to = bench_clock();
		ns = (now.tv_sec - begin.tv_sec) * 1e9 + now.tv_nsec - begin.tv_nsec;
	} while (ns < CLOCK_WATCH);
	ns /= to - from;
	return ns;
#else
	return 1;
#endif
}

/**
 * bench_clock_name() - the clock of all figures
 *
 * Return: its name.
 */
const char *bench_clock_name(void)
{
#ifdef BENCH_X86_64
	return "tsc";
#else
	return "CLOCK_MONOTONIC";
#endif
}

/**
 * bench_clock_unit() - the unit of all figures
 *
 * Return: "instructions" only if a loop of known length took exactly that many
 * ticks; else "ticks" or "ns".
 */
const char *bench_clock_unit(void)
{
#ifdef BENCH_X86_64
	return clock_scale == 1.0 ? "instructions" : "ticks";
#else
	return "ns";
#endif
}
