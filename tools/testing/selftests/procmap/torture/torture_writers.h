/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTEST_TORTURE_WRITERS_H
#define SELFTEST_TORTURE_WRITERS_H

#include "torture.h"

/**
 * struct torture_owner - a writer
 * @t: the run
 * @region: the region that it owns
 * @actor: its number
 * @random: its generator
 * @uffd: its userfaultfd descriptor, or -1
 * @maps: descriptor of its own maps file
 * @heap_least: units of the heap that were in use at the start
 */
struct torture_owner {
	struct torture *t;
	struct torture_region *region;
	unsigned int actor;
	unsigned int random;
	int uffd;
	int maps;
	unsigned int heap_least;
};

int torture_write(struct torture_owner *o);

#endif /* SELFTEST_TORTURE_WRITERS_H */
