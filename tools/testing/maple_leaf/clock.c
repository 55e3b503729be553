// SPDX-License-Identifier: GPL-2.0
/* How long a test takes: a number of rounds, or a time. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

/* However short the time is, each part does so many rounds of the test. */
#define LEAST_ROUNDS	5

/* Seconds of a clock that only goes forward. */
static double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/*
 * How long to test. Returns the length; the time begins now.
 * @text: a number of seconds, or "rounds=" and a number of rounds: then the
 *	same seed does the same work each time
 */
struct length length_of(const char *text)
{
	struct length length = { .least = LEAST_ROUNDS };

	if (!strncmp(text, "rounds=", 7))
		length.rounds = strtoul(text + 7, NULL, 0);
	if (!length.rounds)
		length.seconds = strtod(text, NULL);
	length.until = clock_now() + length.seconds;
	return length;
}

/*
 * How long a part of a test takes. Returns the length; the time begins now.
 * @rounds: how many rounds of the part make one round of the test
 */
struct length length_part(const struct length *length, double share, unsigned long rounds)
{
	struct length part = {
		.rounds = length->rounds * rounds,
		.least = LEAST_ROUNDS * rounds,
		.seconds = length->seconds * share,
	};

	part.until = clock_now() + part.seconds;
	return part;
}

/* Is there another round? */
bool length_goes_on(const struct length *length, unsigned long rounds)
{
	if (length->rounds)
		return rounds < length->rounds;
	return rounds < length->least || clock_now() < length->until;
}
