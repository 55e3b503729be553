/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_BESIDE_H
#define _MAPLE_LEAF_BESIDE_H

#include "look.h"

void beside_round(struct world *world, u64 *rng, struct look_stats *stats);

#endif
