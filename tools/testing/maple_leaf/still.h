/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_STILL_H
#define _MAPLE_LEAF_STILL_H

#include "look.h"

/* What the tests met, so that a test that meets nothing fails. */
struct still_stats {
	unsigned long trees;
	unsigned long lookups;
	unsigned long full;	/* lookups in leaves without space for their number of slots */
	unsigned long refused;	/* look-ups of deep trees that keep no gaps */
	unsigned int height;
};

void still_trees(struct world *world, u64 *rng, unsigned int places, struct still_stats *stats);
void still_root_entry(struct world *world, u64 *rng, struct still_stats *stats);
void still_forked(struct world *world, u64 *rng, unsigned int places, struct still_stats *stats);
void still_without_gaps(struct world *world, u64 *rng, unsigned int places,
			struct still_stats *stats);

#endif
