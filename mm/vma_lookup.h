/* SPDX-License-Identifier: GPL-2.0 */
/* Lookup of VMAs under RCU: locks only a VMA that seems to match, then tests it again. */
#ifndef _MM_VMA_LOOKUP_H
#define _MM_VMA_LOOKUP_H

#include <linux/maple_leaf.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/vma_search.h>
#include <linux/vmstat.h>

#include "vma_read.h"
#include "vma_walk.h"

/* Attempts at one VMA or hole, in one step. Most write sections are shorter. */
#define VMA_SEARCH_TRIES	64

enum vma_result {
	VMA_LOOKUP_FOUND,	/* search->vma is locked, and matches */
	VMA_LOOKUP_NONE,	/* no VMA matches, or no user is left: mm_ref_exited() tells */
	VMA_LOOKUP_MORE,	/* no match yet: continue at search->addr */
	VMA_LOOKUP_BUSY,	/* a writer may be at work at search->addr */
};

#ifdef CONFIG_VMA_SEARCH

enum vma_result vma_lookup_retry(struct vma_search *search, unsigned int tries);

/* Lock @vma if it matches. It may be another VMA by now, or a free one. */
static __always_inline bool vma_search_lock(const struct vma_search *search,
					    struct vm_area_struct *vma)
{
	if (!vma_hold_try(vma, search->mm))
		return false;
	if (unlikely(vma->vm_mm != search->mm))
		goto unlock;
	vma_lock_check(vma, atomic_long_read(&vma->vm_hold));
	if (likely(search->addr < vma->vm_end &&
		   (!search->covering || vma->vm_start <= search->addr) &&
		   vma_search_wants(search, vma->vm_flags, vma->vm_file)))
		return true;
unlock:
	vma_hold_end(vma);
	return false;
}

/* No match up to @last: continue after it, or stop if that is the end. */
static inline enum vma_result vma_lookup_after(struct vma_search *search, unsigned long last)
{
	if (search->covering || last == ULONG_MAX)
		return VMA_LOOKUP_NONE;
	search->addr = last + 1;
	return VMA_LOOKUP_MORE;
}

static __always_inline struct vm_area_struct *vma_leaf_search(const struct vma_search *search,
							      struct maple_leaf *leaf)
{
	unsigned int end = search->covering ? leaf->slot : leaf->end;
	struct vm_area_struct *vma;

	for (; leaf->slot <= end; leaf->slot++) {
		vma = maple_leaf_entry(leaf);
		if (vma && vma_seems_wanted(search, vma))
			return vma;
	}
	return NULL;
}

/*
 * Lockless fast path: the rest of a leaf. The lock confirms a VMA that covers the address. All
 * else, holes and skipped VMAs, counts only if @seq, read before the descent, is an even number
 * and vma_seq is still @seq at the end: then all that was read was true at the same time.
 */
static __always_inline enum vma_result vma_lookup_fast(struct vma_search *search,
						       struct vma_walk *walk, unsigned long seq)
{
	struct mm_struct *mm = search->mm;
	struct vm_area_struct *vma = NULL;
	struct maple_leaf leaf;
	int err = 0;

	if (!walk || !vma_walk_resume(walk, seq, &leaf))
		err = maple_leaf_find(&mm->mm_mt, search->addr, &leaf);
	if (unlikely(err == -EAGAIN))
		return VMA_LOOKUP_BUSY;
	if (likely(!err))
		vma = vma_leaf_search(search, &leaf);
	if (!vma)
		return vma_seq_changed(mm, seq) ? VMA_LOOKUP_BUSY :
						  vma_lookup_after(search, leaf.max);
	if (!vma_search_lock(search, vma))
		return VMA_LOOKUP_BUSY;
	/* Nothing was skipped if the VMA covers the address. */
	if (vma->vm_start > search->addr && vma_seq_changed(mm, seq)) {
		vma_hold_end(vma);
		return VMA_LOOKUP_BUSY;
	}
	/* If a section has begun meanwhile, the walk will not resume at @seq. */
	if (walk) {
		leaf.slot++;
		vma_walk_keep(walk, seq, &leaf, vma->vm_end);
	}
	search->vma = vma;
	return VMA_LOOKUP_FOUND;
}

/* One step: to the end of a leaf or, on the slow path, of one VMA or hole. */
static __always_inline enum vma_result vma_lookup_step(struct vma_search *search,
						       struct vma_walk *walk, unsigned int tries)
{
	/* Acquire: read vma_seq before tree and VMAs; pairs with vma_end_write_section(). */
	unsigned long seq = smp_load_acquire(&search->mm->vma_seq);

	if (likely(!(seq & 1))) {
		enum vma_result res = vma_lookup_fast(search, walk, seq);

		if (likely(res != VMA_LOOKUP_BUSY))
			return res;
		count_vm_event(VMA_SEARCH_RETRY);
	}
	return vma_lookup_retry(search, tries);
}

/*
 * At most @steps steps, at least one. __mmput() frees VMAs and nodes while the tree still
 * leads to them. If this RCU section sees mm_users > 0, a grace period that begins after
 * mm_users became 0 cannot end before this section does: their memory stays that of VMAs and
 * nodes until then.
 */
static __always_inline enum vma_result vma_lookup_rcu(struct vma_search *search,
						      struct vma_walk *walk, unsigned int steps,
						      unsigned int tries)
{
	enum vma_result res = VMA_LOOKUP_NONE;

	rcu_read_lock();
	if (likely(!mm_ref_exited(search->mm))) {
		do {
			res = vma_lookup_step(search, walk, tries);
		} while (res == VMA_LOOKUP_MORE && --steps && !need_resched());
	}
	rcu_read_unlock();
	return res;
}

#endif /* CONFIG_VMA_SEARCH */
#endif /* _MM_VMA_LOOKUP_H */
