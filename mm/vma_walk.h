/* SPDX-License-Identifier: GPL-2.0 */
/* What the search and the walk share: the filter, and the leaf that a walk keeps. */
#ifndef _MM_VMA_WALK_H
#define _MM_VMA_WALK_H

#include <linux/maple_leaf.h>
#include <linux/mm.h>
#include <linux/vma_search.h>

static inline bool vma_search_wants(const struct vma_search *search, unsigned long flags, bool file)
{
	return !(search->flags & ~flags) && (file || !search->file_only);
}

#ifdef CONFIG_VMA_SEARCH

/* Steps in one RCU section. Each step goes to the end of a leaf at most. */
#define VMA_SEARCH_STEPS	64

/* The VMA may change, or be another one by now: the caller confirms the result. */
#define vma_peek(what)	data_race(READ_ONCE(what))

/* @vma is not locked. */
static inline bool vma_seems_wanted(const struct vma_search *search,
				    const struct vm_area_struct *vma)
{
	return vma_search_wants(search, vma_peek(vma->vm_flags), vma_peek(vma->vm_file));
}

/*
 * Continue in the leaf where @walk has found its last VMA. A writer that replaces it changes
 * vma_seq first, and frees the leaf a grace period later. This RCU section has read the old
 * vma_seq, so that grace period cannot end before the section does. The end of the address space
 * frees leaves as well: this section has seen users.
 */
static __always_inline bool vma_walk_resume(const struct vma_walk *walk, unsigned long seq,
					    struct maple_leaf *leaf)
{
	if (walk->seq != seq || walk->addr != walk->search.addr)
		return false;
	*leaf = walk->leaf;
	return true;
}

/* Keep the leaf, if it has more than the VMA that was found. */
static __always_inline void vma_walk_keep(struct vma_walk *walk, unsigned long seq,
					  const struct maple_leaf *leaf, unsigned long end)
{
	walk->leaf = *leaf;
	walk->addr = end;
	walk->seq = leaf->slot <= leaf->end ? seq : VMA_WALK_NO_LEAF;
}

#endif /* CONFIG_VMA_SEARCH */
#endif /* _MM_VMA_WALK_H */
