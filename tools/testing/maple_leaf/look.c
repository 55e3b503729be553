// SPDX-License-Identifier: GPL-2.0
/*
 * One look at a leaf that a writer may be changing.
 *
 * It tests what include/linux/maple_leaf.h promises, and how mm/vma_lookup.h
 * uses it. If nobody stores to the tree meanwhile, all results must be right
 * together. Otherwise each entry must be one that the tree had after the
 * descent began. Without a writer, no look may be refused.
 */
#include <stdio.h>

#include "look.h"

/* What a look read, from the place to the end of the leaf. */
struct look_found {
	struct maple_leaf leaf;
	unsigned int slots;
	unsigned long entry[MAPLE_RANGE64_SLOTS];
	unsigned long last[MAPLE_RANGE64_SLOTS];
};

/* Has nobody stored to the tree and the array since @stores was read? */
static bool look_is_quiet(const struct world *world, unsigned int stores)
{
	/* Read the tree before the number; pairs with world_begin_store(). */
	smp_rmb();
	return !(stores & 1) && READ_ONCE(world->stores) == stores;
}

static void look_check_bounds(unsigned long index, const struct maple_leaf *leaf)
{
	unsigned long node = (unsigned long)leaf->node;

	expect_equal(index, "the low bits of the leaf", 0, node & MAPLE_NODE_MASK);
	if (leaf->end >= MAPLE_RANGE64_SLOTS)
		differ(index, "the last slot, at most", MAPLE_RANGE64_SLOTS - 1, leaf->end);
	if (leaf->slot > leaf->end)
		differ(index, "the slot, at most", leaf->end, leaf->slot);
}

static void look_read(struct look_found *found)
{
	struct maple_leaf leaf = found->leaf;

	for (found->slots = 0; leaf.slot <= leaf.end; leaf.slot++, found->slots++) {
		found->entry[found->slots] = (unsigned long)maple_leaf_entry(&leaf);
		found->last[found->slots] = maple_leaf_last(&leaf);
	}
}

/* Check what is true next to writers, too. The pivots of a leaf may have any value. */
static void look_check_any(const struct world *world, unsigned long index, unsigned int stores,
			   const struct look_found *found)
{
	unsigned int i;

	if (found->leaf.max < index || !world_is_boundary(world, found->leaf.max))
		differ(index, "the last index below the leaf, no such index",
		       world_last(world, world_place(world, index)), found->leaf.max);
	for (i = 0; i < found->slots; i++) {
		unsigned long entry = found->entry[i];

		if (entry ? !world_had(world, entry, stores) : !world->holes)
			differ(index, "an entry that the tree had, but for the other",
			       READ_ONCE(world->model[world_place(world, index)]), entry);
	}
}

/* Compare. A difference is only wrong if nobody has stored to the tree meanwhile. */
static void look_compare(const struct world *world, unsigned int stores, unsigned long index,
			 const char *what, unsigned long expected, unsigned long found)
{
	if (expected != found && look_is_quiet(world, stores))
		differ(index, what, expected, found);
}

static void look_check_quiet(const struct world *world, unsigned long index, unsigned int stores,
			     const struct look_found *found)
{
	unsigned int i;

	for (i = 0; i < found->slots; i++) {
		unsigned int place = world_place(world, index);

		look_compare(world, stores, index, "the entry",
			     READ_ONCE(world->model[place]), found->entry[i]);
		look_compare(world, stores, index, "the last index of the slot",
			     world_run_last(world, place), found->last[i]);
		index = found->last[i] + 1;
	}
	look_compare(world, stores, found->leaf.max, "the last index of the last slot",
		     found->last[found->slots - 1], found->leaf.max);
}

/* A tree without nodes is empty, except for an entry at index 0 in its root. */
static void look_check_nodeless(const struct world *world, unsigned long index,
				unsigned int stores, unsigned long max)
{
	unsigned int place = world_place(world, index);

	expect_equal(index, "the last index of a tree without nodes", ULONG_MAX, max);
	if (index)
		look_compare(world, stores, index, "the entry, in a tree with nodes",
			     READ_ONCE(world->model[place]), 0);
	if (!world->holes)
		differ(index, "an entry, and nodes", READ_ONCE(world->model[place]), 0);
}

static bool look_is_astray(const struct world *world, unsigned long index,
			   const struct look_found *found)
{
	unsigned long first = found->entry[0];

	return first && first != READ_ONCE(world->model[world_place(world, index)]);
}

static void look_check(const struct world *world, unsigned long index, unsigned int stores,
		       const struct look_found *found, struct look_stats *stats)
{
	bool quiet = look_is_quiet(world, stores);

	stats->quiet += quiet;
	stats->slots += found->slots;
	stats->astray += look_is_astray(world, index, found);
	look_check_any(world, index, stores, found);
	if (quiet)
		look_check_quiet(world, index, stores, found);
}

/* Look at the rest of a leaf and check it. */
void look(struct world *world, unsigned long index, struct look_stats *stats)
{
	struct look_found found;
	unsigned int stores;
	int err;

	rcu_read_lock();
	/* Read the number before the tree; pairs with world_end_store(). */
	stores = smp_load_acquire(&world->stores);
	err = maple_leaf_find(&world->mt, index, &found.leaf);
	if (!err) {
		look_check_bounds(index, &found.leaf);
		look_read(&found);
	}
	stats->looks++;
	if (!err) {
		look_check(world, index, stores, &found, stats);
	} else if (err == -ENOENT) {
		stats->nodeless++;
		look_check_nodeless(world, index, stores, found.leaf.max);
	} else {
		stats->again++;
		look_compare(world, stores, index, "what maple_leaf_find() returns", 0, err);
	}
	rcu_read_unlock();
}

/*
 * Choose an index where errors are likely. Returns an index at the start or the
 * end of a place, or next to it, or any index.
 */
unsigned long look_index(const struct world *world, u64 *rng)
{
	unsigned int place = below(rng, world->places);

	if (!below(rng, 16))
		return random64(rng);
	return world->start[place] + below(rng, 3) - 1;
}

/* End a line with the counts. */
void look_print(const struct look_stats *stats)
{
	printf("next to a writer: lookups %lu, undisturbed %lu, slots %lu, ", stats->looks,
	       stats->quiet, stats->slots);
	printf("retries %lu, without nodes %lu, entries of other times or places %lu\n",
	       stats->again, stats->nodeless, stats->astray);
}
