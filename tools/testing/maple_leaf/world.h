/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A maple tree, and an array that knows the right content of the tree.
 *
 * The array divides all indexes into places. Each store covers whole places,
 * and each store has another entry. So the array knows the entry of every
 * index, and an entry tells when it was in the tree.
 */
#ifndef _MAPLE_LEAF_WORLD_H
#define _MAPLE_LEAF_WORLD_H

#include <asm/barrier.h>
#include <linux/bug.h>
#include <linux/maple_leaf.h>
#include <linux/types.h>

#include "tap.h"

#define WORLD_PLACES	4096
#define WORLD_IDS	1048576U

/**
 * struct world - a tree, and its right content
 * @mt: the tree
 * @holes: may a place be empty?
 * @places: places in use
 * @start: the first index of each place; the place ends where the next one
 *	starts
 * @model: the entry of each place
 * @stores: odd during a store; only the writer changes it
 * @round: part of all entries, so that entries of an older world are detected
 * @ids: number of entries made so far
 * @left: number of places that still have the entry
 * @died: @stores when the entry left its last place, or 0
 * @rng: the state of the writer's random numbers
 */
struct world {
	struct maple_tree mt;
	bool holes;
	unsigned int places;
	unsigned long start[WORLD_PLACES];
	unsigned long model[WORLD_PLACES];
	unsigned int stores;
	unsigned int round;
	unsigned int ids;
	unsigned int left[WORLD_IDS];
	unsigned int died[WORLD_IDS];
	u64 rng;
};

/**
 * struct tree_place - what the tree's own functions find at an index
 * @node: the leaf; NULL if the tree has no nodes
 * @slot: the slot
 * @end: the last slot in use
 * @max: the last index below the leaf
 * @last: the last index of the slot
 * @entry: the entry in the slot
 */
struct tree_place {
	const void *node;
	unsigned int slot;
	unsigned int end;
	unsigned long max;
	unsigned long last;
	void *entry;
};

/* maple.c: uses the tree's own functions, some of them static */
void tree_start(void);
void tree_walk(struct maple_tree *mt, unsigned long index, struct tree_place *place);
void tree_validate(struct maple_tree *mt);
unsigned int tree_height(struct maple_tree *mt);

/* world.c */
u64 random64(u64 *rng);
unsigned int below(u64 *rng, unsigned int limit);
void world_init(struct world *world, u64 seed, unsigned int places, unsigned int flags,
		bool holes);
void world_destroy(struct world *world);
void world_stores(struct world *world, unsigned int count);
void world_fork(struct world *world);
void world_root_entry(struct world *world);
unsigned int world_place(const struct world *world, unsigned long index);
unsigned long world_last(const struct world *world, unsigned int place);
unsigned long world_run_last(const struct world *world, unsigned int place);
bool world_is_boundary(const struct world *world, unsigned long last);
bool world_had(const struct world *world, unsigned long entry, unsigned int since);

#define expect_equal(index, what, expected, found) do {				\
	unsigned long __e = (unsigned long)(expected);				\
	unsigned long __f = (unsigned long)(found);				\
										\
	if (__e != __f)								\
		differ(index, what, __e, __f);					\
} while (0)

#endif
