// SPDX-License-Identifier: GPL-2.0
/* Lookup of VMAs concurrent with a writer. */
#include <linux/maple_leaf.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/seqlock.h>
#include <linux/vma_search.h>
#include <linux/vmstat.h>

#include "vma_lookup.h"
#include "vma_read.h"

/* Is the hole from @addr to *@last outside of @range? If only its end is inside, cut that off. */
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
 * Was all that was read since @stores in the tree at one instant? exit_mmap() empties the tree
 * without counting a store: test for users, too.
 */
static bool vma_tree_unchanged(struct mm_struct *mm, unsigned int stores)
{
	/* Orders tree before counter and users; pairs with vma_tree_store_begin(), mmput(). */
	return !(stores & 1) && !read_seqcount_retry(&mm->vma_changes.stores, stores) &&
	       !mm_ref_exited(mm);
}

/*
 * Is the hole from search->addr to *@last real, or is a writer replacing VMAs? Read in this
 * order: vma_seq, which was @seq, the tree, the ranges, vma_seq again. If vma_seq is still @seq,
 * all of it was read in one write section, or outside of any. Then a hole outside of all ranges
 * is real. To be called after vma_tree_unchanged(), whose barrier orders the tree before the
 * ranges; pairs with vma_write_detach().
 */
static bool vma_hole_is_real(const struct vma_search *search, unsigned long seq,
			     unsigned long *last)
{
	struct vma_changes *changes = &search->mm->vma_changes;
	unsigned int i, nr = 0;

	if (seq & 1)
		/* Acquire: read nr_removed before the ranges; pairs with vma_note_removal(). */
		nr = smp_load_acquire(&changes->nr_removed);
	for (i = 0; i < nr; i++)
		if (!vma_hole_outside(search->addr, &changes->removed[i], last))
			return false;
	/* Read the ranges before vma_seq; pairs with vma_begin_write_section(). */
	smp_rmb();
	return READ_ONCE(search->mm->vma_seq) == seq;
}

/*
 * Slow path: look up one VMA or hole. The lock confirms a VMA that matches. Another one is
 * skipped if it was in the tree, with these flags, at one instant. A skipped VMA may be
 * write-locked: the flags that a search can ask for are those of before or after the writer's
 * system call, and both are right, because the search overlaps that call.
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
	if (vma && vma_seems_wanted(search, vma)) {
		if (!vma_search_lock(search, vma))
			return VMA_LOOKUP_BUSY;
		/* In the tree it covered the address: a writer has moved its start. */
		if (unlikely(vma->vm_start > search->addr)) {
			vma_hold_end(vma);
			return VMA_LOOKUP_BUSY;
		}
		search->vma = vma;
		return VMA_LOOKUP_FOUND;
	}
	if (!vma_tree_unchanged(mm, stores))
		return VMA_LOOKUP_BUSY;
	if (!vma && !vma_hole_is_real(search, seq, &last))
		return VMA_LOOKUP_BUSY;
	return vma_lookup_after(search, last);
}

/**
 * vma_lookup_retry() - look up one VMA or hole until the writer is done with it
 * @search: the search
 * @tries: how often
 *
 * Context: RCU read-lock held since before mm_users was read.
 * Return: the result; VMA_LOOKUP_BUSY if each attempt met a writer.
 */
enum vma_result vma_lookup_retry(struct vma_search *search, unsigned int tries)
{
	for (; tries; tries--) {
		/*
		 * Acquire: read vma_seq before tree and VMAs; pairs with
		 * vma_begin_write_section() and vma_end_write_section().
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
