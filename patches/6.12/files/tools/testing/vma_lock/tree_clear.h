/* SPDX-License-Identifier: GPL-2.0 */
/* How munmap() clears its range in the tree, as vma_tree_store_gfp() does it. */
#ifndef _TREE_CLEAR_H
#define _TREE_CLEAR_H

#include <stdlib.h>
#include <linux/maple_tree.h>
#include <linux/vma_lock.h>

static inline void vma_tree_clear(struct ma_state *mas)
{
	MA_WR_STATE(wr_mas, mas, NULL);
	struct mm_struct *mm = container_of(mas->tree, struct mm_struct, mm_mt);

	if (mas_wr_reserve(&wr_mas, GFP_KERNEL))
		abort();
	vma_tree_store_begin(mm);
	mas_wr_store_reserved(&wr_mas);
	vma_tree_store_end(mm);
}

#endif /* _TREE_CLEAR_H */
