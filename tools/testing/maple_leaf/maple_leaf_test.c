// SPDX-License-Identifier: GPL-2.0
/*
 * Test include/linux/maple_leaf.h in user space: against the tree's own
 * functions and beside writers. Usage: maple_leaf_test [SECONDS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "beside.h"
#include "clock.h"
#include "still.h"
#include "tap.h"

/* This share of the time is for trees that nobody writes to. */
#define STILL_PART	0.3
#define ROUND_SECONDS	0.4
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

static void test_still(const char *name, double seconds, struct still_stats *stats,
		       void (*test)(struct world *, u64 *, unsigned int, struct still_stats *),
		       unsigned int places)
{
	double until = clock_now() + seconds;
	u64 rng = tap_begin(name);

	do
		test(&world, &rng, places, stats);
	while (clock_now() < until);
	tap_end();
}

static void test_all_still(double seconds, struct still_stats *stats)
{
	test_root(stats);
	test_still("trees of one leaf, or few", seconds / 4, stats, still_trees, 40);
	test_still("deep trees", seconds / 4, stats, still_trees, WORLD_PLACES);
	test_still("trees that are filled in one go, as fork() does", seconds / 4, stats,
		   still_forked, WORLD_PLACES);
	test_still("trees that keep no gaps: one leaf, or refused", seconds / 4, stats,
		   still_without_gaps, 600);

	tap_begin("full leaves, deep trees and refused ones were met");
	tap_must_meet("full leaves", stats->full);
	tap_must_meet("deep trees that keep no gaps", stats->refused);
	tap_must_meet("trees of four levels", stats->height >= 4);
	tap_end();
}

static void test_beside(double seconds, struct look_stats *stats)
{
	double until = clock_now() + seconds;
	u64 rng = tap_begin("threads look at leaves beside one that writes");

	do
		beside_round(&world, &rng, ROUND_SECONDS, stats);
	while (clock_now() < until);
	tap_end();

	tap_begin("looks beside a writer, and looks that he left alone, were met");
	tap_must_meet("looks that a writer left alone", stats->quiet);
	tap_must_meet("looks beside a writer", stats->looks - stats->quiet);
	tap_end();
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 20;
	struct still_stats still = {};
	struct look_stats beside = {};

	tap_start(argc > 2 ? argv[2] : "1", CASES);
	rcu_register_thread();
	tree_start();
	test_all_still(seconds * STILL_PART, &still);
	test_beside(seconds * (1 - STILL_PART), &beside);
	rcu_unregister_thread();
	printf("# trees %lu, lookups %lu, leaves %lu; ", still.trees, still.lookups, still.leaves);
	look_print(&beside);
	return 0;
}
