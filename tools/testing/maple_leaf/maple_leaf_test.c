// SPDX-License-Identifier: GPL-2.0
/*
 * Test include/linux/maple_leaf.h in user space, against the tree's own
 * functions. Usage: maple_leaf_test [SECONDS | rounds=ROUNDS [SEED]]
 */
#include <stdio.h>

#include "clock.h"
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

static void test_still(const char *name, struct length length, struct still_stats *stats,
		       void (*test)(struct world *, u64 *, unsigned int, struct still_stats *),
		       unsigned int places)
{
	u64 rng = tap_begin(name);
	unsigned long round;

	for (round = 0; length_goes_on(&length, round); round++)
		test(&world, &rng, places, stats);
	tap_end();
}

static void test_all_still(const struct length *length, struct still_stats *stats)
{
	const double share = 0.25;

	test_root(stats);
	test_still("trees of one leaf, or few", length_part(length, share, SMALL_TREES), stats,
		   still_trees, 40);
	test_still("deep trees", length_part(length, share, LARGE_TREES), stats, still_trees,
		   WORLD_PLACES);
	test_still("trees that are filled in one go, as fork() does",
		   length_part(length, share, LARGE_TREES), stats, still_forked, WORLD_PLACES);
	test_still("trees that keep no gaps: one leaf, or refused",
		   length_part(length, share, GAPLESS_TREES), stats, still_without_gaps, 600);

	tap_begin("full leaves, deep trees and refused ones were met");
	tap_must_meet("full leaves", stats->full);
	tap_must_meet("deep trees that keep no gaps", stats->refused);
	tap_must_meet("trees of four levels", stats->height >= 4);
	tap_end();
}

int main(int argc, char **argv)
{
	const struct length length = length_of(argc > 1 ? argv[1] : "20");
	struct still_stats still = {};

	tap_start(argc > 2 ? argv[2] : "1", CASES);
	rcu_register_thread();
	tree_start();
	test_all_still(&length, &still);
	rcu_unregister_thread();
	printf("# trees %lu, lookups %lu, leaves %lu\n", still.trees, still.lookups, still.leaves);
	return 0;
}
