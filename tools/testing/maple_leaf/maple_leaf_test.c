// SPDX-License-Identifier: GPL-2.0
/*
 * Test include/linux/maple_leaf.h in user space, against the tree's own
 * functions. Usage: maple_leaf_test [ROUNDS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "still.h"
#include "tap.h"

/* In a round of the test: small trees, large trees, and trees that keep no gaps. */
#define SMALL_TREES	400
#define LARGE_TREES	4
#define GAPLESS_TREES	100
#define CASES		6

static struct world world;

static void test_root(struct still_stats *stats)
{
	u64 rng = tap_begin("empty trees, and trees whose root is an entry");
	unsigned int i;

	for (i = 0; i < 2000; i++)
		still_root_entry(&world, &rng, stats);
	tap_end();
}

static void test_still(const char *name, unsigned long rounds, struct still_stats *stats,
		       void (*test)(struct world *, u64 *, unsigned int, struct still_stats *),
		       unsigned int places)
{
	u64 rng = tap_begin(name);

	while (rounds--)
		test(&world, &rng, places, stats);
	tap_end();
}

static void test_all_still(unsigned long rounds, struct still_stats *stats)
{
	test_root(stats);
	test_still("trees of one leaf, or few", rounds * SMALL_TREES, stats, still_trees, 40);
	test_still("deep trees", rounds * LARGE_TREES, stats, still_trees, WORLD_PLACES);
	test_still("trees that are filled in one go, as fork() does",
		   rounds * LARGE_TREES, stats, still_forked, WORLD_PLACES);
	test_still("trees that keep no gaps: one leaf, or refused",
		   rounds * GAPLESS_TREES, stats, still_without_gaps, 600);

	tap_begin("full leaves, deep trees and refused ones were met");
	tap_must_meet("full leaves", stats->full);
	tap_must_meet("deep trees that keep no gaps", stats->refused);
	tap_must_meet("trees of four levels", stats->height >= 4);
	tap_end();
}

int main(int argc, char **argv)
{
	struct still_stats still = {};

	tap_start(argc > 2 ? argv[2] : "1", CASES);
	rcu_register_thread();
	tree_start();
	test_all_still(argc > 1 ? strtoul(argv[1], NULL, 0) : 40, &still);
	rcu_unregister_thread();
	printf("# trees %lu, lookups %lu\n", still.trees, still.lookups);
	return 0;
}
