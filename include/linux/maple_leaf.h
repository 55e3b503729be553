/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Leaves of a maple tree (MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU), read under RCU
 * concurrent with writers. A replaced node is overwritten: its first pivots by mat_add() and
 * call_rcu(), and the slots of an inner node by mte_dead_leaves(). So an inner node may lead
 * anywhere, and the descent tests it. A leaf needs no test: one that was replaced keeps its
 * slots until RCU frees it, and a live one is written slot by slot.
 * So each entry was in the tree at some time after the descent began, perhaps at another index;
 * two entries may never have been in it together. Relies on the layout that ma_data_end() knows,
 * and on mas_wr_append() not being used in RCU mode.
 */
#ifndef _LINUX_MAPLE_LEAF_H
#define _LINUX_MAPLE_LEAF_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/maple_tree.h>
#include <linux/rcupdate.h>
#include <linux/stddef.h>
#include <linux/xarray.h>

/* Read what a writer may be overwriting; the caller confirms the result. */
#define maple_peek(what)	data_race(READ_ONCE(what))
/* What overwrites a replaced leaf ends before its slots. */
static_assert(offsetofend(struct maple_node, ma_flags) <= offsetof(struct maple_range_64, slot));

struct maple_leaf {
	const struct maple_range_64 *node;
	unsigned long slot;
	unsigned long end;	/* the last slot in use */
	unsigned long max;	/* the last index that the leaf covers */
};

static inline const struct maple_node *maple_entry_node(const void *entry)
{
	return (const struct maple_node *)((unsigned long)entry & ~MAPLE_NODE_MASK);
}

static inline enum maple_type maple_entry_type(const void *entry)
{
	return ((unsigned long)entry >> MAPLE_NODE_TYPE_SHIFT) & MAPLE_NODE_TYPE_MASK;
}

/*
 * The first slot whose pivot is not below @index; the last slot needs no pivot. The middle
 * pivot tells which half to search, slot by slot.
 */
static __always_inline unsigned int maple_node_slot(const unsigned long *pivots, unsigned int end,
						    unsigned long index)
{
	const unsigned long *pivot = pivots, *last = pivots + end;

	/* No READ_ONCE(): a pivot that is read twice does no more harm than a wrong one. */
	if (end && data_race(pivots[end / 2]) < index)
		pivot += end / 2 + 1;
	/* The same. */
	while (pivot < last && data_race(*pivot) < index)
		pivot++;
	return pivot - pivots;
}

/*
 * A leaf that is not full has the number of its last slot in use in place of its 16th slot.
 * The last pivot is 0 only if it is unused: no slot but the first can end at index 0. If it
 * is @max, the 16th slot is not in use.
 */
static inline unsigned int maple_leaf_end(const struct maple_range_64 *node, unsigned long max)
{
	unsigned long pivot = READ_ONCE(node->pivot[MAPLE_RANGE64_SLOTS - 2]);

	if (!pivot)
		return READ_ONCE(node->meta.end);
	return pivot == max ? MAPLE_RANGE64_SLOTS - 2 : MAPLE_RANGE64_SLOTS - 1;
}

/*
 * Was the node replaced when its pivots and slots were read? It can lead anywhere then, and
 * with a wrong maximum, metadata in a leaf looks like an entry. A writer makes the node its
 * own parent before it is overwritten.
 */
static inline bool maple_node_replaced(const struct maple_arange_64 *node)
{
	/* Read the parent after pivots and slots; pairs with mte_set_node_dead(). */
	smp_rmb();
	return ((unsigned long)maple_peek(node->parent) & ~MAPLE_NODE_MASK) == (unsigned long)node;
}

/**
 * maple_leaf_find() - descend to the leaf and the slot of an index
 * @mt: the tree
 * @index: the index
 * @leaf: out: the place. If the tree has no nodes, @leaf->max only: ULONG_MAX
 *
 * Context: RCU held until @leaf is not used any more.
 * Return: 0. -ENOENT: the tree has no nodes; -EAGAIN: a writer was met.
 */
static __always_inline int maple_leaf_find(const struct maple_tree *mt, unsigned long index,
					   struct maple_leaf *leaf)
{
	const void *entry = rcu_dereference(mt->ma_root);

	leaf->max = ULONG_MAX;
	if (unlikely(!xa_is_node(entry)))
		return -ENOENT;
	while (maple_entry_type(entry) == maple_arange_64) {
		const struct maple_arange_64 *node = &maple_entry_node(entry)->ma64;
		unsigned int end = READ_ONCE(node->meta.end);
		unsigned int slot = maple_node_slot(node->pivot, end, index);

		if (slot < end)
			leaf->max = maple_peek(node->pivot[slot]);
		entry = rcu_dereference(node->slot[slot]);
		if (unlikely(maple_node_replaced(node)))
			return -EAGAIN;
	}

	if (unlikely(maple_entry_type(entry) != maple_leaf_64))
		return -EAGAIN;
	leaf->node = &maple_entry_node(entry)->mr64;
	leaf->end = maple_leaf_end(leaf->node, leaf->max);
	leaf->slot = maple_node_slot(leaf->node->pivot, leaf->end, index);
	return 0;
}

/**
 * maple_leaf_entry() - what is in the slot
 * @leaf: the place
 *
 * Context: RCU held since maple_leaf_find().
 * Return: the entry, or NULL.
 */
static inline void *maple_leaf_entry(const struct maple_leaf *leaf)
{
	return rcu_dereference(leaf->node->slot[leaf->slot]);
}

/**
 * maple_leaf_last() - the last index of the slot
 * @leaf: the place
 *
 * Context: RCU held since maple_leaf_find().
 * Return: the index; any number, if the leaf has been replaced meanwhile.
 */
static inline unsigned long maple_leaf_last(const struct maple_leaf *leaf)
{
	return leaf->slot < leaf->end ? READ_ONCE(leaf->node->pivot[leaf->slot]) : leaf->max;
}

#endif /* _LINUX_MAPLE_LEAF_H */
