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

/* Initialize; call it before everything else. */
void tree_start(void)
{
	maple_tree_init();
}

/*
 * Find an index with the tree's own functions.
 * @mt: the tree; no writer is at work
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

/*
 * Let the tree check itself.
 * @mt: the tree; no writer is at work
 */
void tree_validate(struct maple_tree *mt)
{
	mt_validate(mt);
}

/*
 * Count the levels of nodes. Returns their number; 0 if the tree has no nodes.
 * @mt: the tree; no writer is at work
 */
unsigned int tree_height(struct maple_tree *mt)
{
	return xa_is_node(mt->ma_root) ? mt_height(mt) : 0;
}
