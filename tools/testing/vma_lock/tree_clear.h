/* SPDX-License-Identifier: GPL-2.0 */
/* How munmap() clears its range in the tree, as do_mas_align_munmap() does it. */
#ifndef _TREE_CLEAR_H
#define _TREE_CLEAR_H

#include <stdlib.h>
#include <linux/maple_tree.h>
#include <linux/vma_lock.h>

static inline void vma_tree_clear(struct ma_state *mas)
{
	if (mas_preallocate(mas, NULL, GFP_KERNEL))
		abort();
	vma_tree_store(mas, NULL);
}

#endif /* _TREE_CLEAR_H */
