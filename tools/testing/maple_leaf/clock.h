/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_CLOCK_H
#define _MAPLE_LEAF_CLOCK_H

#include <stdbool.h>

/**
 * struct length - when to stop
 * @rounds: after so many rounds; 0: when the time is over
 * @least: but not before so many
 * @seconds: that time
 * @until: when it is over
 */
struct length {
	unsigned long rounds;
	unsigned long least;
	double seconds;
	double until;
};

struct length length_of(const char *text);
struct length length_part(const struct length *length, double share, unsigned long rounds);
bool length_goes_on(const struct length *length, unsigned long rounds);

#endif
