// SPDX-License-Identifier: GPL-2.0
/*
 * The search for VMAs.
 *
 * It goes under RCU. What is found is locked, looked at again, and held; what does
 * not match is not locked. mmap_lock is never taken: where a writer is met, the
 * search looks again, and sleeps without a claim to anything if that takes long.
 * Documentation/mm/vma_lock.rst has the argument why no VMA is missed.
 *
 * Without per-VMA locks it is mmap_lock that holds what is found.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/maple_leaf.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_visit.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>
#include <linux/vmstat.h>

#include "vma_read.h"

/* What came of a look. */
enum vma_look {
	VMA_LOOK_FOUND,	/* search->vma is locked, and matches */
	VMA_LOOK_NONE,	/* there is no VMA that matches */
	VMA_LOOK_MORE,	/* none so far: go on at search->addr */
	VMA_LOOK_BUSY,	/* a writer is at work at search->addr */
};

/* Rounds of looking again at once: longer than nearly all changes of a VMA take, */
#define VMA_SEARCH_ROUNDS	16
/* and the most jiffies between two rounds after that. */
#define VMA_SEARCH_NAP_MAX	(HZ / 50 ?: 1)

static bool vma_search_wants(const struct vma_search *search, unsigned long flags, bool file)
{
	return !(search->flags & ~flags) && (file || !search->file_only);
}

#ifdef CONFIG_PER_VMA_LOCK

/* Looks at one place with the processor held: longer than most write sections. */
#define VMA_SEARCH_TRIES	64
/* Steps, each to the end of a leaf at most, in one RCU section. */
#define VMA_SEARCH_STEPS	64

/*
 * Read what a writer may be changing, or what may have become another VMA; the
 * result is put to the test afterwards.
 */
#define vma_peek(what)	data_race(READ_ONCE(what))

/* Does @vma look as if it matched? */
static bool vma_seems_wanted(const struct vma_search *search, const struct vm_area_struct *vma)
{
	return vma_search_wants(search, vma_peek(vma->vm_flags), vma_peek(vma->vm_file));
}

/* Lock @vma if it matches; it may be any VMA by now, or none. */
static __always_inline bool vma_search_lock(const struct vma_search *search,
					    struct vm_area_struct *vma)
{
	if (!vma_start_read(vma, search->mm))
		return false;
	if (unlikely(vma->vm_mm != search->mm))
		goto unlock;
	vma_lock_check(vma, atomic_long_read(&vma->vm_lock));
	if (likely(search->addr < vma->vm_end &&
		   (!search->covering || vma->vm_start <= search->addr) &&
		   vma_search_wants(search, vma->vm_flags, vma->vm_file)))
		return true;
unlock:
	vma_end_read(vma);
	return false;
}

/* Nothing matches up to @last: go on behind it, if there is more to look at. */
static enum vma_look vma_look_behind(struct vma_search *search, unsigned long last)
{
	if (search->covering || last == ULONG_MAX)
		return VMA_LOOK_NONE;
	search->addr = last + 1;
	return VMA_LOOK_MORE;
}

/* The first VMA in the rest of the leaf that looks as if it matched. */
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
 * Look at the rest of a leaf while no writer is at work: one descent of the tree
 * for all VMAs of the leaf, and for each one a look at its flags. What is passed
 * over is passed over because mm->vma_seq stayed @seq throughout.
 */
static __always_inline enum vma_look vma_look_quiet(struct vma_search *search,
						    unsigned long seq)
{
	struct mm_struct *mm = search->mm;
	struct vm_area_struct *vma = NULL;
	struct maple_leaf leaf;
	int err = maple_leaf_find(&mm->mm_mt, search->addr, &leaf);

	if (unlikely(err == -EAGAIN))
		return VMA_LOOK_BUSY;
	if (likely(!err))
		vma = vma_leaf_search(search, &leaf);
	if (!vma)
		return vma_seq_changed(mm, seq) ? VMA_LOOK_BUSY :
						  vma_look_behind(search, leaf.max);
	if (!vma_search_lock(search, vma))
		return VMA_LOOK_BUSY;
	/* Nothing was passed over when the VMA covers the address. */
	if (vma->vm_start > search->addr && vma_seq_changed(mm, seq)) {
		vma_end_read(vma);
		return VMA_LOOK_BUSY;
	}
	search->vma = vma;
	return VMA_LOOK_FOUND;
}

/*
 * Does the hole from search->addr to @last lie outside of a range whose VMAs are
 * out of the tree for now? Where only its end does not, cut that off. A range
 * whose VMAs do not match is passed over as it was before the writer came.
 */
static bool vma_hole_outside(const struct vma_search *search, const struct vma_removal *range,
			     unsigned long *last)
{
	unsigned long start = READ_ONCE(range->start);

	if (READ_ONCE(range->end) <= search->addr || start > *last)
		return true;
	if (!vma_search_wants(search, READ_ONCE(range->flags), READ_ONCE(range->file)))
		return true;
	if (start <= search->addr)
		return false;
	*last = start - 1;
	return true;
}

/*
 * Is what was read in the tree since it was stored to @stores times, and what was
 * read of the VMAs in it, the tree of one instant? A writer may be at work on it
 * before and after, but he did not store to it meanwhile.
 */
static bool vma_tree_unchanged(struct mm_struct *mm, unsigned int stores)
{
	/* Its barrier, the tree before the number, pairs with vma_tree_store(). */
	return !(stores & 1) && !read_seqcount_retry(&mm->vma_changes.stores, stores);
}

/*
 * The tree had a hole from search->addr to @last. Had the process? A writer who
 * replaces VMAs takes them out first. What he has taken out he has noted, and he
 * is still the same: then a hole elsewhere is a hole.
 */
static bool vma_hole_counts(const struct vma_search *search, unsigned long seq,
			    unsigned long *last)
{
	struct vma_changes *changes = &search->mm->vma_changes;
	unsigned int i, nr = 0;

	/* The caller has the tree before this; pairs with vma_start_remove(). */
	if (seq & 1) {
		/* The number before the ranges; pairs with vma_begin_removal(). */
		nr = smp_load_acquire(&changes->nr_removed);
	}
	for (i = 0; i < nr; i++)
		if (!vma_hole_outside(search, &changes->removed[i], last))
			return false;
	/* The ranges before the sequence; pairs with vma_begin_write_section(). */
	smp_rmb();
	return READ_ONCE(search->mm->vma_seq) == seq;
}

/* Lock @vma, which covers the address and looks as if it matched. */
static enum vma_look vma_look_covering(struct vma_search *search, struct vm_area_struct *vma)
{
	if (!vma_search_lock(search, vma))
		return VMA_LOOK_BUSY;
	if (unlikely(vma->vm_start > search->addr)) {
		vma_end_read(vma);
		return VMA_LOOK_BUSY;
	}
	search->vma = vma;
	return VMA_LOOK_FOUND;
}

/*
 * Look at one VMA or one hole beside writers: one descent of the tree for each. A
 * VMA that matches answers for itself. One that does not is passed over if it was
 * in the tree like that at one instant: also one that is marked, since a change
 * that is under way was not made yet, or was made already.
 */
static enum vma_look vma_look_careful(struct vma_search *search, unsigned long seq)
{
	struct mm_struct *mm = search->mm;
	unsigned int stores = raw_read_seqcount(&mm->vma_changes.stores);
	struct vm_area_struct *vma = NULL;
	unsigned long last = ULONG_MAX;
	struct maple_leaf leaf;
	int err = maple_leaf_find(&mm->mm_mt, search->addr, &leaf);

	if (err == -EAGAIN)
		return VMA_LOOK_BUSY;
	if (!err) {
		vma = maple_leaf_entry(&leaf);
		last = maple_leaf_last(&leaf);
	}
	if (vma && vma_seems_wanted(search, vma))
		return vma_look_covering(search, vma);
	if (!vma_tree_unchanged(mm, stores) || last < search->addr)
		return VMA_LOOK_BUSY;
	if (!vma && !vma_hole_counts(search, seq, &last))
		return VMA_LOOK_BUSY;
	return vma_look_behind(search, last);
}

/* Look at one place until a writer lets go of it, or for so many times. */
static noinline enum vma_look vma_look_beside(struct vma_search *search)
{
	unsigned int tries;

	for (tries = 0; tries < VMA_SEARCH_TRIES; tries++) {
		/* Before what it stands for; pairs with vma_end_write_all(). */
		unsigned long seq = smp_load_acquire(&search->mm->vma_seq);
		enum vma_look look = vma_look_careful(search, seq);

		if (look != VMA_LOOK_BUSY)
			return look;
		count_vm_event(VMA_SEARCH_RETRY);
		cpu_relax();
	}
	return VMA_LOOK_BUSY;
}

/* One step: to the end of a leaf, or beside a writer to the next VMA or hole. */
static __always_inline enum vma_look vma_look(struct vma_search *search)
{
	/* Before what it stands for; pairs with vma_end_write_all(). */
	unsigned long seq = smp_load_acquire(&search->mm->vma_seq);

	if (likely(!(seq & 1))) {
		enum vma_look look = vma_look_quiet(search, seq);

		if (likely(look != VMA_LOOK_BUSY))
			return look;
		count_vm_event(VMA_SEARCH_RETRY);
	}
	return vma_look_beside(search);
}

/* So many steps, but only one when the scheduler wants the processor. */
static __always_inline enum vma_look vma_look_rcu(struct vma_search *search, unsigned int steps)
{
	enum vma_look look;

	rcu_read_lock();
	do {
		look = vma_look(search);
	} while (look == VMA_LOOK_MORE && --steps && !need_resched());
	rcu_read_unlock();
	return look;
}

static noinline enum vma_look vma_look_once(struct vma_search *search)
{
	return vma_look_rcu(search, 1);
}

static __always_inline enum vma_look vma_look_held(struct vma_search *search)
{
	enum vma_look look = vma_look_rcu(search, VMA_SEARCH_STEPS);

	if (likely(look <= VMA_LOOK_NONE))
		count_vm_event(VMA_SEARCH);
	return look;
}

static void vma_search_unlock(struct vma_search *search)
{
	vma_end_read(search->vma);
}

static void vma_search_count_nap(void)
{
	count_vm_event(VMA_SEARCH_NAP);
}

#else /* !CONFIG_PER_VMA_LOCK */

/* VMAs that one hold of mmap_lock may look at: a writer does not wait for a long walk. */
#define VMA_SEARCH_STEPS	256

static enum vma_look vma_look_once(struct vma_search *search)
{
	return VMA_LOOK_BUSY;
}

static enum vma_look vma_look_locked(struct vma_search *search)
{
	unsigned int steps = VMA_SEARCH_STEPS;
	struct vm_area_struct *vma;
	struct vma_iterator vmi;

	vma_iter_init(&vmi, search->mm, search->addr);
	for_each_vma(vmi, vma) {
		if (search->covering && vma->vm_start > search->addr)
			return VMA_LOOK_NONE;
		if (vma_search_wants(search, vma->vm_flags, vma->vm_file)) {
			search->vma = vma;
			return VMA_LOOK_FOUND;
		}
		if (search->covering)
			return VMA_LOOK_NONE;
		search->addr = vma->vm_end;
		if (!--steps)
			return VMA_LOOK_MORE;
	}
	return VMA_LOOK_NONE;
}

/* Called, and returns, with the processor held, but waits for mmap_lock. */
static enum vma_look vma_look_held(struct vma_search *search)
{
	enum vma_look look;
	int err;

	mm_visit_let_go();
	err = mm_visit_lock_killable(search->mm);
	mm_visit_hold();
	if (err)
		return VMA_LOOK_BUSY;
	look = vma_look_locked(search);
	if (look != VMA_LOOK_FOUND)
		mm_visit_unlock(search->mm);
	return look;
}

static void vma_search_unlock(struct vma_search *search)
{
	mm_visit_unlock(search->mm);
}

static void vma_search_count_nap(void) {}

#endif /* CONFIG_PER_VMA_LOCK */

/*
 * A writer has what is asked for. Look again at once for some time; then sleep a
 * little longer each time. Not for mmap_lock: who sleeps for that is given it
 * before he runs, and the process waits until he does, for the time of a slice, or
 * for a tenth of a second where a quota of processor time is used up.
 */
static void vma_search_nap(struct vma_search *search)
{
	if (!search->busy_rounds || search->busy_addr != search->addr) {
		search->busy_addr = search->addr;
		search->busy_rounds = 0;
		search->nap = 0;
	}
	if (search->busy_rounds++ < VMA_SEARCH_ROUNDS)
		return;
	search->nap = clamp(search->nap * 2, 1, VMA_SEARCH_NAP_MAX);
	vma_search_count_nap();
	schedule_timeout_killable(search->nap);
}

/* Between two looks, with nothing held. -EINTR: killed; -ESRCH: no user is left. */
static noinline int vma_search_pause(struct vma_search *search, enum vma_look look)
{
	if (look == VMA_LOOK_BUSY) {
		if (mm_visit_over(search->mm))
			return -ESRCH;
		vma_search_nap(search);
	}
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

/**
 * vma_search_next() - find the next VMA that matches, and hold it
 * @search: the search, begun with vma_search_begin()
 *
 * Lets go of the VMA that the search holds, and goes on at @search->addr, which
 * is behind it if the caller has not changed it. VMAs that do not match are not
 * locked. A VMA that matched during the whole call is not missed; one that never
 * did is not returned.
 *
 * While a VMA is held it can be neither changed nor freed, and its file stays
 * open. A writer may wait for that: the caller keeps the processor (but with
 * PREEMPT_RT), must not sleep, and calls vma_search_end() or vma_search_next()
 * soon.
 *
 * Context: process context, no lock held. Sleeps, killable, while a writer has
 * the place that is looked at. Does not take mmap_lock with CONFIG_PER_VMA_LOCK.
 * Return: the VMA, held; NULL if there is none. With nothing held: -ESRCH if no
 * user of the address space is left, -EINTR if the caller was killed.
 */
struct vm_area_struct *vma_search_next(struct vma_search *search)
{
	enum vma_look look;
	int err;

	if (search->vma)
		vma_search_end(search);
	for (;;) {
		mm_visit_hold();
		look = vma_look_held(search);
		if (likely(look == VMA_LOOK_FOUND)) {
			search->addr = search->vma->vm_end;
			return search->vma;
		}
		mm_visit_let_go();
		if (look == VMA_LOOK_NONE)
			return mm_visit_over(search->mm) ? ERR_PTR(-ESRCH) : NULL;
		err = vma_search_pause(search, look);
		if (err)
			return ERR_PTR(err);
	}
}

/**
 * vma_search_end() - let go of the VMA that a search holds, if it holds one
 * @search: the search; it can go on with vma_search_next()
 *
 * Context: any in which vma_search_next() has returned.
 */
void vma_search_end(struct vma_search *search)
{
	if (!search->vma)
		return;
	vma_search_unlock(search);
	search->vma = NULL;
	mm_visit_let_go();
}

/**
 * vma_search_rcu() - find the next VMA that matches without waiting, and lock it
 * @search: the search, begun with vma_search_begin()
 *
 * As vma_search_next(), but for who cannot sleep. The caller unlocks the VMA, and
 * the search does not move on behind it.
 *
 * Context: any but NMI. Takes and leaves RCU; does not need mmap_lock.
 * Return: the VMA, read-locked, to be released with vma_end_read(); NULL if there
 * is none, or if no user of the address space is left; -EAGAIN when a writer is
 * at work at @search->addr, always without CONFIG_PER_VMA_LOCK.
 */
struct vm_area_struct *vma_search_rcu(struct vma_search *search)
{
	struct vm_area_struct *vma;
	enum vma_look look;

	do {
		look = vma_look_once(search);
	} while (look == VMA_LOOK_MORE);
	if (look == VMA_LOOK_BUSY)
		return ERR_PTR(-EAGAIN);
	vma = search->vma;
	search->vma = NULL;
	return vma;
}

/**
 * find_and_lock_vma_rcu() - find_vma() under RCU, with the lock of the VMA
 * @mm: the address space
 * @address: the address
 *
 * While the VMA is locked it can be neither changed nor freed. Keep it short: a
 * writer waits for it, with mmap_lock held.
 *
 * Context: any but NMI, with mm_count of @mm held. Does not need mmap_lock.
 * Return: the first VMA with @address < vm_end, read-locked, to be released
 * with vma_end_read(); NULL if there is none, or if no user of @mm is left;
 * -EAGAIN when the caller must take mmap_lock and use find_vma() instead.
 */
struct vm_area_struct *find_and_lock_vma_rcu(struct mm_struct *mm, unsigned long address)
{
	struct vma_search search;

	vma_search_begin(&search, mm, address);
	return vma_search_rcu(&search);
}
EXPORT_SYMBOL_GPL(find_and_lock_vma_rcu);
