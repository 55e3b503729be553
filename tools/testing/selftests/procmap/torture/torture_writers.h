/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTEST_TORTURE_WRITERS_H
#define SELFTEST_TORTURE_WRITERS_H

#include "torture.h"

/* Name of the files that REGION_FILES maps. */
#define TORTURE_NEW_FILE	"new"

/**
 * struct torture_owner - a writer
 * @actor: its number
 * @uffd: its userfaultfd descriptor, or -1
 * @maps: descriptor of its own maps file
 * @heap_least: units of the heap that were in use at the start
 * @file: REGION_FILES: descriptor of the present file, or -1
 * @second: REGION_FILES: this file has UNIT_SECOND
 * @cursor: REGION_FILES: the next unit
 */
struct torture_owner {
	struct torture *t;
	struct torture_region *region;
	unsigned int actor;
	unsigned int random;
	int uffd;
	int maps;
	unsigned int heap_least;
	int file;
	bool second;
	unsigned int cursor;
};

int torture_write(struct torture_owner *o);

#endif /* SELFTEST_TORTURE_WRITERS_H */
