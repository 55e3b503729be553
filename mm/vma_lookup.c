// SPDX-License-Identifier: GPL-2.0
/*
 * Look at VMAs while a writer is at work.
 */
#include <linux/maple_leaf.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/seqlock.h>
#include <linux/vma_search.h>
#include <linux/vmstat.h>

#include "vma_lookup.h"
#include "vma_read.h"

/*
 * The VMAs of @range are out of the tree for now. Does the hole from @addr to
 * *@last lie outside of this range? If only the end of the hole lies inside, cut
 * that end off.
 */
static bool vma_hole_outside(unsigned long addr, const struct vma_removal *range,
			     unsigned long *last)
{
	unsigned long start = READ_ONCE(range->start);

	if (READ_ONCE(range->end) <= addr || start > *last)
		return true;
	if (start <= addr)
		return false;
	*last = start - 1;
	return true;
}

/*
 * The caller read @stores, then the tree and fields of VMAs in it. Did the tree
 * have this state at one instant? It did if nobody stored to it meanwhile. A
 * writer may have stored to it before, and may do so afterwards. The end of the
 * address space frees VMAs without a store.
 */
static bool vma_tree_unchanged(struct mm_struct *mm, unsigned int stores)
{
	/*
	 * Barrier inside: tree before counter and users; pairs with
	 * vma_tree_store(), and with the decrement of mmput().
	 */
	return !(stores & 1) && !read_seqcount_retry(&mm->vma_changes.stores, stores) &&
	       !mm_ref_exited(mm);
}

/*
 * The tree had a hole from search->addr to *@last. Did the process have it,
 * too? A writer that replaces VMAs first takes the old ones out of the tree,
 * and notes their range before that. So the hole is real if it is outside of
 * all noted ranges, and if the same write section, or none, lasted throughout.
 */
static bool vma_hole_counts(const struct vma_search *search, unsigned long seq,
			    unsigned long *last)
{
	struct vma_changes *changes = &search->mm->vma_changes;
	unsigned int i, nr = 0;

	/*
	 * The caller's barrier orders the tree before the ranges; pairs with
	 * vma_start_remove().
	 */
	if (seq & 1) {
		/*
		 * Acquire: the number before the ranges; pairs with
		 * vma_begin_removal().
		 */
		nr = smp_load_acquire(&changes->nr_removed);
	}
	for (i = 0; i < nr; i++)
		if (!vma_hole_outside(search->addr, &changes->removed[i], last))
			return false;
	/*
	 * The ranges before the sequence; pairs with
	 * vma_begin_write_section().
	 */
	smp_rmb();
	return READ_ONCE(search->mm->vma_seq) == seq;
}

/* Lock @vma. By the tree it covers the address, and it seems to match. */
static enum vma_result vma_lookup_covering(struct vma_search *search, struct vm_area_struct *vma)
{
	if (!vma_search_lock(search, vma))
		return VMA_LOOKUP_BUSY;
	if (unlikely(vma->vm_start > search->addr)) {
		vma_hold_end(vma);
		return VMA_LOOKUP_BUSY;
	}
	search->vma = vma;
	return VMA_LOOKUP_FOUND;
}

/*
 * Look at one VMA or one hole while a writer may be at work.
 *
 * Cost: one descent of the tree for each VMA and for each hole, where
 * vma_lookup_fast() needs one for a whole leaf. Several barriers each time: one
 * for mm->vma_seq, two for the counter of stores, and for a hole up to two
 * more. A look that meets a store to the tree, or a VMA that is marked and
 * seems to match, is lost, and the caller looks again. So only a step in which
 * vma_lookup_fast() met a writer comes here.
 *
 * A VMA that matches is locked, so its lock confirms it. A VMA that does not
 * match is passed over if it was in the tree, with the flags that were read, at
 * one instant. That holds for a marked VMA, too: at that instant the writer had
 * not made its change yet, or had made it already, and the process has both
 * states during its system call.
 */
static enum vma_result vma_lookup_slow(struct vma_search *search, unsigned long seq)
{
	struct mm_struct *mm = search->mm;
	unsigned int stores = raw_read_seqcount(&mm->vma_changes.stores);
	struct vm_area_struct *vma = NULL;
	unsigned long last = ULONG_MAX;
	struct maple_leaf leaf;
	int err = maple_leaf_find(&mm->mm_mt, search->addr, &leaf);

	if (err == -EAGAIN)
		return VMA_LOOKUP_BUSY;
	if (!err) {
		vma = maple_leaf_entry(&leaf);
		last = maple_leaf_last(&leaf);
	}
	if (vma && vma_seems_wanted(search, vma))
		return vma_lookup_covering(search, vma);
	if (!vma_tree_unchanged(mm, stores) || last < search->addr)
		return VMA_LOOKUP_BUSY;
	if (!vma && !vma_hole_counts(search, seq, &last))
		return VMA_LOOKUP_BUSY;
	return vma_lookup_after(search, last);
}

/**
 * vma_lookup_retry() - look at one place until the writer there is done
 * @search: the search
 * @tries: how often to look
 *
 * Context: RCU read-lock held since before the look at mm_users.
 * Return: what was seen; VMA_LOOKUP_BUSY if each look met a writer.
 */
enum vma_result vma_lookup_retry(struct vma_search *search, unsigned int tries)
{
	for (; tries; tries--) {
		/*
		 * Acquire: the sequence before the tree and the VMAs; pairs
		 * with vma_begin_write_section() and vma_changes_end().
		 */
		unsigned long seq = smp_load_acquire(&search->mm->vma_seq);
		enum vma_result res = vma_lookup_slow(search, seq);

		if (res != VMA_LOOKUP_BUSY)
			return res;
		count_vm_event(VMA_SEARCH_RETRY);
		cpu_relax();
	}
	return VMA_LOOKUP_BUSY;
}
