/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_CLOCK_H
#define _MAPLE_LEAF_CLOCK_H

#include <time.h>

/* Return seconds of a clock that only goes forward. */
static inline double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

#endif
