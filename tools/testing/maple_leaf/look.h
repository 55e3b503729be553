/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_LOOK_H
#define _MAPLE_LEAF_LOOK_H

#include "world.h"

/**
 * struct look_stats - counts of looks at a tree
 * @looks: all looks
 * @quiet: looks during which nobody stored to the tree
 * @again: looks that met a writer, -EAGAIN
 * @nodeless: looks that found a tree without nodes, -ENOENT
 * @astray: looks whose entry did not belong to the index, or no longer
 * @slots: slots that were read
 */
struct look_stats {
	unsigned long looks;
	unsigned long quiet;
	unsigned long again;
	unsigned long nodeless;
	unsigned long astray;
	unsigned long slots;
};

void look(struct world *world, unsigned long index, struct look_stats *stats);
unsigned long look_index(const struct world *world, u64 *rng);
void look_print(const struct look_stats *stats);

#endif
