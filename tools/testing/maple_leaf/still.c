// SPDX-License-Identifier: GPL-2.0
/* Compare trees that nobody writes to with the tree's own functions. */
#include "still.h"

static void still_compare_leaf(unsigned long index, const struct maple_leaf *leaf,
			       const struct tree_place *tree)
{
	expect_equal(index, "the leaf of mas_walk()", tree->node, leaf->node);
	expect_equal(index, "the slot of mas_walk()", tree->slot, leaf->slot);
	expect_equal(index, "the last slot, of mas_data_end()", tree->end, leaf->end);
	expect_equal(index, "the last index below the leaf, of mas_walk()", tree->max, leaf->max);
	expect_equal(index, "the last index of the slot, of mas_walk()", tree->last,
		     maple_leaf_last(leaf));
	expect_equal(index, "the entry of mas_walk()", tree->entry, maple_leaf_entry(leaf));
}

static void still_compare_index(struct world *world, unsigned long index,
				struct still_stats *stats)
{
	struct maple_leaf leaf;
	struct tree_place tree;
	int err = maple_leaf_find(&world->mt, index, &leaf);

	stats->lookups++;
	tree_walk(&world->mt, index, &tree);
	expect_equal(index, "what maple_leaf_find() returns", tree.node ? 0 : -ENOENT, err);
	if (err) {
		expect_equal(index, "the last index of a tree without nodes", tree.max, leaf.max);
	} else {
		stats->full += leaf.end == MAPLE_RANGE64_SLOTS - 1;
		still_compare_leaf(index, &leaf, &tree);
	}
	expect_equal(index, "the entry, and that of mtree_load()",
		     world->model[world_place(world, index)], mtree_load(&world->mt, index));
}

/* Check every index where a place begins or ends, and its neighbours. */
static void still_compare(struct world *world, struct still_stats *stats)
{
	unsigned int place, height = tree_height(&world->mt);
	struct look_stats looks = {};

	tree_validate(&world->mt);
	stats->trees++;
	if (height > stats->height)
		stats->height = height;
	for (place = 0; place < world->places; place++) {
		unsigned long index = world->start[place] - 1;
		unsigned int i;

		for (i = 0; i < 3; i++, index++) {
			rcu_read_lock();
			still_compare_index(world, index, stats);
			rcu_read_unlock();
			look(world, index, &looks);
		}
	}
}

/* Check a tree that begins empty, after each change. */
void still_trees(struct world *world, u64 *rng, unsigned int places, struct still_stats *stats)
{
	unsigned int flags = below(rng, 4) ? MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU :
					     MT_FLAGS_ALLOC_RANGE;
	unsigned int i;

	world_init(world, random64(rng), 1 + below(rng, places), flags, below(rng, 4));
	still_compare(world, stats);
	world_stores(world, below(rng, 4) * world->places);
	for (i = 0; i < 4; i++) {
		world_stores(world, 1 + below(rng, 3));
		still_compare(world, stats);
	}
	world_destroy(world);
}

/* Check a tree with one entry in its root, and change it. */
void still_root_entry(struct world *world, u64 *rng, struct still_stats *stats)
{
	do {
		world_init(world, random64(rng), 2 + below(rng, 6),
			   MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, true);
	} while (world->start[1] != 1);
	world_root_entry(world);
	still_compare(world, stats);
	world_stores(world, 1);
	still_compare(world, stats);
	world_destroy(world);
}

/* Check a tree that is filled at once, then changed under RCU. */
void still_forked(struct world *world, u64 *rng, unsigned int places, struct still_stats *stats)
{
	world_init(world, random64(rng), 1 + below(rng, places), MT_FLAGS_ALLOC_RANGE, true);
	world_fork(world);
	mt_set_in_rcu(&world->mt);
	still_compare(world, stats);
	world_stores(world, 1 + below(rng, 8));
	still_compare(world, stats);
	world_destroy(world);
}

/* A tree that keeps no gaps has inner nodes that the API does not support. */
static void still_refuse(struct world *world, struct still_stats *stats)
{
	unsigned int place;

	stats->trees++;
	for (place = 0; place < world->places; place++) {
		unsigned long index = world->start[place];
		struct maple_leaf leaf;

		rcu_read_lock();
		stats->refused++;
		expect_equal(index, "what maple_leaf_find() says of a tree without gaps", -EAGAIN,
			     maple_leaf_find(&world->mt, index, &leaf));
		rcu_read_unlock();
	}
}

/*
 * Check a tree without MT_FLAGS_ALLOC_RANGE.
 *
 * The API supports such a tree only if it has one leaf, and refuses others.
 */
void still_without_gaps(struct world *world, u64 *rng, unsigned int places,
			struct still_stats *stats)
{
	/*
	 * No MT_FLAGS_USE_RCU: with it, 6.1 frees a wrong node when all slots
	 * of the root are in use.
	 */
	world_init(world, random64(rng), 1 + below(rng, places), 0, true);
	world_stores(world, below(rng, 2 * world->places));
	if (tree_height(&world->mt) > 1)
		still_refuse(world, stats);
	else
		still_compare(world, stats);
	world_destroy(world);
}
