/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_LOOK_H
#define _MAPLE_LEAF_LOOK_H

#include "world.h"

/**
 * struct look_stats - what looks at a tree came to
 * @looks: all
 * @quiet: those during which nobody stored to the tree
 * @again: those that met a writer, -EAGAIN
 * @nodeless: those that found a tree without nodes, -ENOENT
 * @astray: those whose entry was not that of the index, or was it no longer
 * @slots: slots that were looked at
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
void look_add(struct look_stats *sum, const struct look_stats *stats);
void look_print(const struct look_stats *stats);

#endif
