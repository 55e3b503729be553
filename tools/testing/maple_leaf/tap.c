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

/**
 * differ() - say what is wrong, and end with status 1
 * @index: the index that was looked at
 * @what: what was compared
 * @expected: what it should be
 * @found: what it is
 */
void differ(unsigned long index, const char *what, unsigned long expected, unsigned long found)
{
	static bool said;

	/* The first thread says it. */
	if (__atomic_exchange_n(&said, true, __ATOMIC_SEQ_CST))
		pause();
	printf("not ok %u - %s\n", cases + 1, title);
	printf("# seed %lu, index %#lx: %s: expected %#lx, found %#lx\n", seed, index, what,
	       expected, found);
	fflush(stdout);
	_exit(1);
}

/**
 * tap_begin() - begin a case
 * @name: its name
 *
 * Return: where its random numbers begin, however long the cases before it took.
 */
unsigned long tap_begin(const char *name)
{
	title = name;
	return seed << 8 | cases;
}

/**
 * tap_end() - the case has passed
 */
void tap_end(void)
{
	printf("ok %u - %s\n", ++cases, title);
	fflush(stdout);
}

/**
 * tap_must_meet() - a test that never met what it is for has shown nothing
 * @what: what it is for
 * @number: how often it was met
 */
void tap_must_meet(const char *what, unsigned long number)
{
	if (!number)
		differ(0, what, 1, 0);
}

/**
 * tap_start() - begin the output
 * @number: the seed, as text
 * @plan: the number of cases
 */
void tap_start(const char *number, unsigned int plan)
{
	seed = strtoul(number, NULL, 0);
	printf("TAP version 13\n1..%u\n# seed %lu\n", plan, seed);
	fflush(stdout);
}
