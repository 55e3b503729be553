// SPDX-License-Identifier: GPL-2.0
/*
 * Test include/linux/maple_leaf.h in user space: against the tree's own
 * functions and next to writers. Usage: maple_leaf_test [SECONDS |
 * rounds=ROUNDS [SEED]]
 */
#include <stdio.h>

#include "beside.h"
#include "clock.h"
#include "still.h"
#include "tap.h"

/* This share of the time is for trees that nobody writes to. */
#define STILL_PART	0.3
/* In a round of the test: small trees, large trees, and trees that keep no gaps. */
#define SMALL_TREES	400
#define LARGE_TREES	4
#define GAPLESS_TREES	100
/* What is not met in so many rounds is never met. */
#define MEET_ROUNDS	10000
#define CASES		8

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
	const double share = STILL_PART / 4;

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

static bool beside_met(const struct look_stats *stats)
{
	return stats->quiet && stats->looks > stats->quiet;
}

/* What must be met may take more rounds, where the machine has other things to do. */
static void test_beside(const struct length *length, struct look_stats *stats)
{
	const struct length part = length_part(length, 1 - STILL_PART, 1);
	u64 rng = tap_begin("threads look at leaves next to one that writes");
	unsigned long round;

	for (round = 0; length_goes_on(&part, round) ||
	     (!beside_met(stats) && round < MEET_ROUNDS); round++)
		beside_round(&world, &rng, stats);
	tap_end();

	tap_begin("looks next to a writer, and looks that he left alone, were met");
	tap_must_meet("looks that a writer left alone", stats->quiet);
	tap_must_meet("looks next to a writer", stats->looks - stats->quiet);
	tap_end();
}

int main(int argc, char **argv)
{
	const struct length length = length_of(argc > 1 ? argv[1] : "20");
	struct still_stats still = {};
	struct look_stats beside = {};

	tap_start(argc > 2 ? argv[2] : "1", CASES);
	rcu_register_thread();
	tree_start();
	test_all_still(&length, &still);
	test_beside(&length, &beside);
	rcu_unregister_thread();
	printf("# trees %lu, lookups %lu, leaves %lu; ", still.trees, still.lookups, still.leaves);
	look_print(&beside);
	return 0;
}
