// SPDX-License-Identifier: GPL-2.0
/* Results in the Test Anything Protocol. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

static unsigned long seed = 1;
static unsigned int cases;
static const char *title;

/* Report a difference and exit with status 1. */
void differ(unsigned long index, const char *what, unsigned long expected, unsigned long found)
{
	static bool said;

	/* Only the first thread reports. */
	if (__atomic_exchange_n(&said, true, __ATOMIC_SEQ_CST))
		pause();
	printf("not ok %u - %s\n", cases + 1, title);
	printf("# seed %lu, index %#lx: %s: expected %#lx, found %#lx\n", seed, index, what,
	       expected, found);
	fflush(stdout);
	_exit(1);
}

/*
 * Begin a case. Returns a seed for its random numbers. It does not depend on
 * how long the cases before took.
 */
unsigned long tap_begin(const char *name)
{
	title = name;
	return seed << 8 | cases;
}

/* Report that the case has passed. */
void tap_end(void)
{
	printf("ok %u - %s\n", ++cases, title);
	fflush(stdout);
}

/* Fail a case that never met what it tests. */
void tap_must_meet(const char *what, unsigned long number)
{
	if (!number)
		differ(0, what, 1, 0);
}

/*
 * Begin the output.
 * @number: the seed, as text
 */
void tap_start(const char *number, unsigned int plan)
{
	seed = strtoul(number, NULL, 0);
	printf("TAP version 13\n1..%u\n# seed %lu\n", plan, seed);
	fflush(stdout);
}
