// SPDX-License-Identifier: GPL-2.0
/* lib/maple_tree.c, and the static functions of it that this test needs. */
#define CONFIG_DEBUG_MAPLE_TREE
#include <linux/gfp.h>
#include <linux/types.h>
#include <linux/radix-tree.h>
#include <linux/rcupdate.h>
#include <stdlib.h>
#include "linux/init.h"

#define module_init(x)
#define module_exit(x)
#define MODULE_AUTHOR(x)
#define MODULE_LICENSE(x)
#define dump_stack()	abort()
#ifndef fallthrough
#define fallthrough	__attribute__((__fallthrough__))
#endif

#include "lib/maple_tree.c"
#undef CONFIG_DEBUG_MAPLE_TREE

#include "world.h"

/**
 * tree_start() - initialize; call it before everything else
 */
void tree_start(void)
{
	maple_tree_init();
}

/**
 * tree_walk() - find an index with the tree's own functions
 * @mt: the tree; no writer is at work
 * @index: the index
 * @place: out: what they find
 */
void tree_walk(struct maple_tree *mt, unsigned long index, struct tree_place *place)
{
	MA_STATE(mas, mt, index, index);

	*place = (struct tree_place) { .max = ULONG_MAX, .last = ULONG_MAX };
	rcu_read_lock();
	place->entry = mas_walk(&mas);
	rcu_read_unlock();
	if (!xa_is_node(mt->ma_root))
		return;
	place->node = mas_mn(&mas);
	place->slot = mas.offset;
	place->end = mas_data_end(&mas);
	place->max = mas.max;
	place->last = mas.last;
}

/**
 * tree_validate() - let the tree check itself
 * @mt: the tree; no writer is at work
 */
void tree_validate(struct maple_tree *mt)
{
	mt_validate(mt);
}

/**
 * tree_set_rcu() - switch the RCU mode of the tree on or off
 * @mt: the tree; no writer and no reader is at work
 * @rcu: true to switch it on
 */
void tree_set_rcu(struct maple_tree *mt, bool rcu)
{
	if (rcu)
		mt_set_in_rcu(mt);
	else
		mt_clear_in_rcu(mt);
}

/**
 * tree_height() - count the levels of nodes
 * @mt: the tree; no writer is at work
 *
 * Return: their number; 0 if the tree has no nodes.
 */
unsigned int tree_height(struct maple_tree *mt)
{
	return xa_is_node(mt->ma_root) ? mt_height(mt) : 0;
}
