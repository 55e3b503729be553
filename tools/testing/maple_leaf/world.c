// SPDX-License-Identifier: GPL-2.0
/* A maple tree, and an array that knows the right content of the tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define CHECK_SHIFT	40
#define ROUND_SHIFT	30
#define ROUND_MASK	0x3ffUL
#define ID_SHIFT	2

/*
 * A random number.
 * @rng: the state, any value
 */
u64 random64(u64 *rng)
{
	u64 x = *rng += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/*
 * A random number below a limit.
 * @limit: the limit, not 0
 */
unsigned int below(u64 *rng, unsigned int limit)
{
	return random64(rng) % limit;
}

/* Each entry encodes its own identity, so no other value can pass for it. */
static unsigned long entry_of(const struct world *world, unsigned int id)
{
	u64 what = (u64)(world->round & ROUND_MASK) << ROUND_SHIFT | (u64)id << ID_SHIFT;
	u64 state = what;
	u64 check = random64(&state);

	/* The two lowest bits make it look like a value, a pointer or a node. */
	return 1UL << 63 | check >> CHECK_SHIFT << CHECK_SHIFT | what | (check & 3);
}

static unsigned int id_of(unsigned long entry)
{
	return entry >> ID_SHIFT & (WORLD_IDS - 1);
}

/*
 * Was this an entry of the tree at any time since a search began?
 * @entry: what was found, not 0
 */
bool world_had(const struct world *world, unsigned long entry, unsigned int since)
{
	unsigned int id = id_of(entry), died;

	if (id >= READ_ONCE(world->ids) || entry != entry_of(world, id))
		return false;
	died = READ_ONCE(world->died[id]);
	return !died || died >= since;
}

/* Find the place of an index. Returns the number of the place. */
unsigned int world_place(const struct world *world, unsigned long index)
{
	unsigned int low = 0, high = world->places - 1;

	while (low < high) {
		unsigned int middle = (low + high + 1) / 2;

		if (world->start[middle] <= index)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The last index of a place. Returns the index. */
unsigned long world_last(const struct world *world, unsigned int place)
{
	return place + 1 < world->places ? world->start[place + 1] - 1 : ULONG_MAX;
}

/* The last index of all following places with the same entry. Returns the index. */
unsigned long world_run_last(const struct world *world, unsigned int place)
{
	unsigned long entry = READ_ONCE(world->model[place]);

	while (place + 1 < world->places && READ_ONCE(world->model[place + 1]) == entry)
		place++;
	return world_last(world, place);
}

/* Is this the last index of any place? */
bool world_is_boundary(const struct world *world, unsigned long last)
{
	return world_last(world, world_place(world, last)) == last;
}

static unsigned long world_gap(struct world *world)
{
	switch (below(&world->rng, 5)) {
	case 0:
		return 1;
	case 1:
		return 1 + below(&world->rng, 4);
	case 2:
		return 4096 * (1UL + below(&world->rng, 64));
	case 3:
		return 1 + random64(&world->rng) % (ULONG_MAX / world->places / 2);
	default:
		return 1UL << below(&world->rng, 40);
	}
}

/* Cut all indexes into places. Some are as narrow as possible, also at both ends. */
static void world_cut(struct world *world)
{
	unsigned int place, tail = below(&world->rng, 4);

	if (tail + 1 >= world->places)
		tail = 0;
	world->start[0] = 0;
	for (place = 1; place < world->places - tail; place++)
		world->start[place] = world->start[place - 1] + world_gap(world);
	for (; place < world->places; place++)
		world->start[place] = ULONG_MAX - (world->places - 1 - place);
}

/* Do the array's part of a store. */
static void world_note(struct world *world, unsigned int first, unsigned int last,
		       unsigned long entry)
{
	unsigned int place;

	for (place = first; place <= last; place++) {
		unsigned long old = world->model[place];

		if (old && !--world->left[id_of(old)])
			WRITE_ONCE(world->died[id_of(old)], world->stores);
		if (entry)
			world->left[id_of(entry)]++;
		WRITE_ONCE(world->model[place], entry);
	}
}

static void world_begin_store(struct world *world)
{
	WRITE_ONCE(world->stores, world->stores + 1);
	/* Write the number before the tree; pairs with look_is_quiet(). */
	smp_wmb();
}

static void world_end_store(struct world *world)
{
	/* Write the tree before the number; pairs with look(). */
	smp_store_release(&world->stores, world->stores + 1);
}

static unsigned long world_new_entry(struct world *world)
{
	unsigned int id = world->ids;

	world->left[id] = 0;
	world->died[id] = 0;
	/* A reader that finds the entry also sees it counted; pairs with the store to the tree. */
	smp_store_release(&world->ids, id + 1);
	return entry_of(world, id);
}

/* Store as mm/mmap.c does: first allocate memory, then store without failure. */
static int store_prealloc(struct maple_tree *mt, unsigned long first, unsigned long last,
			  void *entry)
{
	MA_STATE(mas, mt, first, last);
	int err;

	mas_lock(&mas);
	err = mas_preallocate(&mas, entry, GFP_KERNEL);
	if (!err)
		mas_store_prealloc(&mas, entry);
	mas_unlock(&mas);
	return err;
}

static int store_gfp(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry)
{
	MA_STATE(mas, mt, first, last);
	int err;

	mas_lock(&mas);
	err = mas_store_gfp(&mas, entry, GFP_KERNEL);
	mas_unlock(&mas);
	return err;
}

static bool world_is_free(const struct world *world, unsigned int first, unsigned int last)
{
	for (; first <= last; first++)
		if (world->model[first])
			return false;
	return true;
}

static void world_put(struct world *world, unsigned int first, unsigned int last,
		      unsigned long entry)
{
	unsigned long from = world->start[first], to = world_last(world, last);
	bool is_free = world_is_free(world, first, last);
	unsigned int way = below(&world->rng, 4);
	int err, want = 0;

	world_begin_store(world);
	/* Linux 6.12 lets an insertion that covers all indexes replace what is there. */
	if (way == 0 && entry && (is_free || from || to != ULONG_MAX)) {
		want = is_free ? 0 : -EEXIST;
		err = mtree_insert_range(&world->mt, from, to, (void *)entry, GFP_KERNEL);
	} else if (way <= 1) {
		err = mtree_store_range(&world->mt, from, to, (void *)entry, GFP_KERNEL);
	} else if (way == 2) {
		err = store_gfp(&world->mt, from, to, (void *)entry);
	} else {
		err = store_prealloc(&world->mt, from, to, (void *)entry);
	}
	expect_equal(from, "what a store to the tree returns", want, err);
	if (!err)
		world_note(world, first, last, entry);
	world_end_store(world);
}

static void world_erase(struct world *world, unsigned int place)
{
	unsigned long entry = world->model[place];
	unsigned int first = place, last = place;
	void *erased;

	while (first && world->model[first - 1] == entry)
		first--;
	while (last + 1 < world->places && world->model[last + 1] == entry)
		last++;
	world_begin_store(world);
	erased = mtree_erase(&world->mt, world->start[place]);
	expect_equal(world->start[place], "the entry that mtree_erase() returns", entry, erased);
	world_note(world, first, last, 0);
	world_end_store(world);
}

/*
 * Mostly narrow, sometimes as wide as a leaf, and rarely as wide as the tree,
 * so that the tree can grow.
 */
static unsigned int world_width(struct world *world)
{
	if (!below(&world->rng, 2 * world->places))
		return 1 + below(&world->rng, world->places);
	if (!below(&world->rng, 16))
		return 1 + below(&world->rng, 40);
	return 1 + below(&world->rng, 3);
}

/* Change the tree in any way. */
static void world_store(struct world *world)
{
	unsigned int first = below(&world->rng, world->places);
	unsigned int last = first + world_width(world) - 1;
	unsigned int way = below(&world->rng, 8);

	if (last >= world->places)
		last = world->places - 1;
	/* Sometimes replace everything, so that the whole tree is freed. */
	if (!below(&world->rng, 8 * world->places)) {
		first = 0;
		last = world->places - 1;
	}
	if (world->holes && way == 0)
		world_erase(world, first);
	else if (world->holes && way == 1)
		world_put(world, first, last, 0);
	else
		world_put(world, first, last, world_new_entry(world));
}

/*
 * Change the tree many times.
 * @count: how often; stops early when no new entries are left
 */
void world_stores(struct world *world, unsigned int count)
{
	while (count-- && world->ids < WORLD_IDS)
		world_store(world);
}

/* Fill the tree at once, as fork() fills the tree of a child. */
void world_fork(struct world *world)
{
	unsigned int first = 0, last, fill = 1 + below(&world->rng, 4);

	MA_STATE(mas, &world->mt, 0, 0);

	mas_lock(&mas);
	expect_equal(0, "what mas_expected_entries() returns", 0,
		     mas_expected_entries(&mas, world->places));
	world_begin_store(world);
	for (; first < world->places; first = last + 1) {
		unsigned long entry;

		last = first + below(&world->rng, 2);
		if (last >= world->places)
			last = world->places - 1;
		if (world->holes && !below(&world->rng, fill))
			continue;
		entry = world_new_entry(world);
		mas_set_range(&mas, world->start[first], world_last(world, last));
		mas_store(&mas, (void *)entry);
		world_note(world, first, last, entry);
	}
	mas_destroy(&mas);
	world_end_store(world);
	mas_unlock(&mas);
}

/*
 * Store an entry for index 0 only.
 * @world: the world with an empty tree; its first place is as narrow as
 *	possible
 */
void world_root_entry(struct world *world)
{
	world_put(world, 0, 0, world_new_entry(world));
}

/*
 * Begin with an empty tree, or one entry if without holes.
 * @places: the number of places, not 0
 * @holes: may places be empty?
 */
void world_init(struct world *world, u64 seed, unsigned int places, unsigned int flags,
		bool holes)
{
	mt_init_flags(&world->mt, flags);
	world->rng = seed;
	world->holes = holes;
	world->places = places;
	world->stores = 0;
	world->ids = 0;
	world->round++;
	world_cut(world);
	memset(world->model, 0, sizeof(world->model));
	if (!holes)
		world_put(world, 0, places - 1, world_new_entry(world));
}

/* Free the tree; no reader is at work. */
void world_destroy(struct world *world)
{
	mtree_destroy(&world->mt);
}
