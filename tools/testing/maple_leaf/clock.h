/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_CLOCK_H
#define _MAPLE_LEAF_CLOCK_H

#include <time.h>

/* Seconds since some time in the past. */
static inline double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

#endif
