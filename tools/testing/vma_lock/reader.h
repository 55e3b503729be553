/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VMA_LOCK_READER_H
#define _VMA_LOCK_READER_H

#include "writer.h"

/**
 * struct reader_stats - what a reader has met
 * @searches: calls of the search
 * @found: VMAs that were found and held
 * @none: searches that found nothing up to the end
 * @busy: answers that a writer kept from coming
 * @over: searches that met the end of the address space
 * @copied: VMAs that were copied without a lock
 * @snapshots: walks whose generation held
 * @code: walks of code whose generation held
 * @lost: searches whose answers could not be checked any more
 */
struct reader_stats {
	unsigned long searches;
	unsigned long found;
	unsigned long none;
	unsigned long busy;
	unsigned long over;
	unsigned long copied;
	unsigned long snapshots;
	unsigned long code;
	unsigned long lost;
};

/**
 * struct known - what a reader has kept of an earlier walk
 * @generation: it held then; 0: nothing is kept
 * @list: the regions
 * @nr: their number
 */
struct known {
	u64 generation;
	struct region list[PAGES];
	unsigned int nr;
};

/**
 * struct known_vma - the last VMA that a reader has seen at a page
 * @generation: its generation; 0: none
 * @region: what it was
 */
struct known_vma {
	u64 generation;
	struct region region;
};

/**
 * struct reader - somebody who searches
 * @space: where
 * @rng: the state of the random numbers
 * @generation: the last one that it has seen
 * @all: the last walk over everything, with the generation of all VMAs
 * @code: and over all code, with the generation of code
 * @vma: VMAs, by their first page
 * @stats: counts
 */
struct reader {
	struct space *space;
	u64 rng;
	u64 generation;
	struct known all;
	struct known code;
	struct known_vma vma[PAGES];
	struct reader_stats stats;
};

void reader_begin(struct reader *reader, struct space *space, u64 seed);
void reader_search(struct reader *reader);
struct reader_stats reader_sum(const struct reader *readers, unsigned int nr);
const char *reader_not_met(const struct reader_stats *sum);
void reader_print(const struct reader_stats *stats);

#endif
