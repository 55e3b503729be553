// SPDX-License-Identifier: GPL-2.0
/*
 * The search for VMAs.
 *
 * The search walks the tree under RCU. It locks a VMA that seems to match,
 * tests it again under the lock, and holds it. It does not lock other VMAs. It
 * never takes mmap_lock: where it meets a writer it looks again, and if that
 * takes long it sleeps without queueing for any lock.
 * Documentation/mm/vma_lock.rst explains why the search misses no VMA.
 *
 * Without per-VMA locks, the search takes mm_users and mmap_lock, and keeps both
 * to hold the VMA that it returns.
 */
#include <linux/err.h>
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
#include "vma_wait.h"
#include "vma_walk.h"

/* The result of one look. */
enum vma_look {
	VMA_LOOK_FOUND,	/* search->vma is locked, and matches */
	VMA_LOOK_NONE,	/* there is no VMA that matches */
	VMA_LOOK_MORE,	/* no match yet: go on at search->addr */
	VMA_LOOK_BUSY,	/* a writer is at work at search->addr */
};

/*
 * After meeting a writer, the search looks again for this many rounds without a
 * sleep. Nearly all changes of a VMA are over by then.
 */
#define VMA_SEARCH_ROUNDS	16
/* Naps between two rounds for so many jiffies, then asks to be let in. */
#define VMA_SEARCH_STARVES	(HZ / 50)

#ifdef CONFIG_VMA_SEARCH

/*
 * Looks at one place in one round, with preemption disabled. Most write
 * sections are shorter than that.
 */
#define VMA_SEARCH_TRIES	64

/* Lock @vma if it matches. It may be any other VMA by now, or a free one. */
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

/* No VMA up to @last matches: go on behind @last if the search goes further. */
static enum vma_look vma_look_behind(struct vma_search *search, unsigned long last)
{
	if (search->covering || last == ULONG_MAX)
		return VMA_LOOK_NONE;
	search->addr = last + 1;
	return VMA_LOOK_MORE;
}

/* Find the first VMA in the rest of the leaf that seems to match. */
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
 * Look at the rest of a leaf while no writer is at work.
 *
 * Cost: at most one descent of the tree for the whole leaf, then a few
 * instructions for each slot: read its entry and, if that is a VMA, the flags
 * and the file. At the end one read barrier and one read of mm->vma_seq, but
 * not if the VMA covers the address. All this together was measured as about 28
 * instructions for each VMA passed over, about 52 with a hole beside it. Only a
 * VMA that seems to match costs an atomic operation.
 *
 * The result is right because mm->vma_seq was even before the descent and is
 * still @seq at the end. So no VMA changed in between, and all that was read
 * was true at the same time.
 */
static __always_inline enum vma_look vma_look_quiet(struct vma_search *search,
						    struct vma_walk *walk, unsigned long seq)
{
	struct mm_struct *mm = search->mm;
	struct vm_area_struct *vma = NULL;
	struct maple_leaf leaf;
	int err = 0;

	if (!walk || !vma_walk_resume(walk, seq, &leaf))
		err = maple_leaf_find(&mm->mm_mt, search->addr, &leaf);
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
		vma_hold_end(vma);
		return VMA_LOOK_BUSY;
	}
	if (walk) {
		leaf.slot++;
		vma_walk_keep(walk, seq, &leaf, vma->vm_end);
	}
	search->vma = vma;
	return VMA_LOOK_FOUND;
}

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
	       !mm_visit_over(mm);
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
static enum vma_look vma_look_covering(struct vma_search *search, struct vm_area_struct *vma)
{
	if (!vma_search_lock(search, vma))
		return VMA_LOOK_BUSY;
	if (unlikely(vma->vm_start > search->addr)) {
		vma_hold_end(vma);
		return VMA_LOOK_BUSY;
	}
	search->vma = vma;
	return VMA_LOOK_FOUND;
}

/*
 * Look at one VMA or one hole while a writer may be at work.
 *
 * Cost: one descent of the tree for each VMA and for each hole, where
 * vma_look_quiet() needs one for a whole leaf. Several barriers each time: one
 * for mm->vma_seq, two for the counter of stores, and for a hole up to two
 * more. A look that meets a store to the tree, or a VMA that is marked and
 * seems to match, is lost, and the caller looks again. So only a step in which
 * vma_look_quiet() met a writer comes here.
 *
 * A VMA that matches is locked, so its lock confirms it. A VMA that does not
 * match is passed over if it was in the tree, with the flags that were read, at
 * one instant. That holds for a marked VMA, too: at that instant the writer had
 * not made its change yet, or had made it already, and the process has both
 * states during its system call.
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

/* Look at one place until the writer there is done, VMA_SEARCH_TRIES times. */
static noinline enum vma_look vma_look_beside(struct vma_search *search)
{
	unsigned int tries;

	for (tries = 0; tries < VMA_SEARCH_TRIES; tries++) {
		/*
		 * Acquire: the sequence before the tree and the VMAs; pairs
		 * with vma_begin_write_section() and vma_changes_end().
		 */
		unsigned long seq = smp_load_acquire(&search->mm->vma_seq);
		enum vma_look look = vma_look_careful(search, seq);

		if (look != VMA_LOOK_BUSY)
			return look;
		count_vm_event(VMA_SEARCH_RETRY);
		cpu_relax();
	}
	return VMA_LOOK_BUSY;
}

/*
 * One step: to the end of a leaf or, while a writer is at work, to the end of
 * one VMA or hole.
 */
static __always_inline enum vma_look vma_look(struct vma_search *search, struct vma_walk *walk)
{
	/*
	 * Acquire: the sequence before the tree and the VMAs; pairs with
	 * vma_changes_end().
	 */
	unsigned long seq = smp_load_acquire(&search->mm->vma_seq);

	if (likely(!(seq & 1))) {
		enum vma_look look = vma_look_quiet(search, walk, seq);

		if (likely(look != VMA_LOOK_BUSY))
			return look;
		count_vm_event(VMA_SEARCH_RETRY);
	}
	return vma_look_beside(search);
}

/*
 * At most @steps steps, at least one. End early if a reschedule is pending.
 *
 * __mmput() gives VMAs and nodes back while the tree still leads to them. If
 * this section sees users, no grace period has ended since there are none. So
 * what __mmput() frees outlasts the section.
 */
static __always_inline enum vma_look vma_look_rcu(struct vma_search *search, struct vma_walk *walk,
						  unsigned int steps)
{
	enum vma_look look = VMA_LOOK_NONE;

	rcu_read_lock();
	if (likely(!mm_visit_over(search->mm))) {
		do {
			look = vma_look(search, walk);
		} while (look == VMA_LOOK_MORE && --steps && !need_resched());
	}
	rcu_read_unlock();
	return look;
}

static noinline enum vma_look vma_look_once(struct vma_search *search)
{
	return vma_look_rcu(search, NULL, 1);
}

static __always_inline enum vma_look vma_look_held(struct vma_search *search,
						   struct vma_walk *walk)
{
	enum vma_look look;

	mm_visit_hold();
	look = vma_look_rcu(search, walk, VMA_SEARCH_STEPS);
	if (likely(look <= VMA_LOOK_NONE))
		count_vm_event(VMA_SEARCH);
	if (look != VMA_LOOK_FOUND)
		mm_visit_let_go();
	return look;
}

static void vma_search_unlock(struct vma_search *search)
{
	vma_hold_end(search->vma);
	mm_visit_let_go();
}

static void vma_search_count_nap(void)
{
	count_vm_event(VMA_SEARCH_NAP);
}

#else /* !CONFIG_VMA_SEARCH */

/*
 * Look at no more VMAs than this in one section of mmap_lock, so that no writer
 * waits for a long walk.
 */
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

static bool vma_search_lock_mm(const struct vma_search *search)
{
	return search->patience ? !mmap_read_lock_killable(search->mm) :
				  mmap_read_trylock(search->mm);
}

/* Be a user of the address space meanwhile, as readers of smaps are. */
static enum vma_look vma_look_held(struct vma_search *search, struct vma_walk *walk)
{
	enum vma_look look = VMA_LOOK_BUSY;

	if (!mmget_not_zero(search->mm))
		return VMA_LOOK_BUSY;
	if (vma_search_lock_mm(search)) {
		look = vma_look_locked(search);
		if (look == VMA_LOOK_FOUND)
			return look;
		mmap_read_unlock(search->mm);
	}
	mmput(search->mm);
	return look;
}

static void vma_search_unlock(struct vma_search *search)
{
	mmap_read_unlock(search->mm);
	mmput(search->mm);
}

static void vma_search_count_nap(void) {}

#endif /* CONFIG_VMA_SEARCH */

/*
 * A writer has the place that the search looks at. Look again at once for
 * VMA_SEARCH_ROUNDS rounds, then after naps. After VMA_SEARCH_STARVES, and at
 * each place from then on, sleep until a writer lets readers in.
 */
static int vma_search_nap(struct vma_search *search)
{
	unsigned long waited;

	if (!search->busy_rounds || search->busy_addr != search->addr) {
		search->busy_addr = search->addr;
		search->busy_since = jiffies;
		search->busy_rounds = 0;
	}
	if (search->busy_rounds++ < VMA_SEARCH_ROUNDS)
		return 0;
	waited = jiffies - search->busy_since;
	if (waited >= search->patience)
		return -EAGAIN;
	if (!search->starved && waited > VMA_SEARCH_STARVES) {
		search->starved = true;
		vma_reader_starves(search->mm);
	}
	vma_search_count_nap();
	if (search->starved)
		vma_reader_sleep(search->mm);
	else
		schedule_timeout_killable(1);
	return 0;
}

/*
 * Between two looks, with nothing held. May sleep. -EINTR: the caller was
 * killed; -ESRCH: no user of the address space is left; -EAGAIN: it has waited
 * for as long as the caller wants.
 */
static noinline int vma_search_pause(struct vma_search *search, enum vma_look look)
{
	int err;

	if (look == VMA_LOOK_BUSY) {
		if (mm_visit_over(search->mm))
			return -ESRCH;
		err = vma_search_nap(search);
		if (err)
			return err;
	}
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

static __always_inline struct vm_area_struct *vma_next_held(struct vma_search *search,
							    struct vma_walk *walk)
{
	enum vma_look look;
	int err;

	vma_search_release(search);
	do {
		look = vma_look_held(search, walk);
		if (likely(look == VMA_LOOK_FOUND)) {
			search->addr = search->vma->vm_end;
			return search->vma;
		}
		if (look == VMA_LOOK_NONE || search->addr > search->last) {
			err = mm_visit_over(search->mm) ? -ESRCH : 0;
			break;
		}
		err = vma_search_pause(search, look);
	} while (!err);
	vma_search_end(search);
	return ERR_PTR(err);
}

/**
 * vma_search_next() - find the next VMA that matches, and hold it
 * @search: the search, begun with vma_search_begin()
 *
 * Releases the VMA that the search holds, and goes on at @search->addr. That is
 * the end of this VMA, unless the caller has changed it. The search does not
 * lock the VMAs that it passes over. It does not miss a VMA that matched during
 * the whole call. It does not return a VMA that matched at no time during the
 * call.
 *
 * While the search holds a VMA, nobody can change or free it, and its file
 * stays open. A writer may wait for that. So preemption is disabled (except
 * with PREEMPT_RT), the caller must not sleep, and it must call
 * vma_search_release(), vma_search_end() or vma_search_next() soon.
 *
 * Context: process context, no lock held. Sleeps, killably, while a writer has
 * the place that the search looks at. With CONFIG_VMA_SEARCH it does not take
 * mmap_lock. Without, it waits for mmap_lock, killably, or only tries it if
 * @search->patience is 0, and keeps it with the VMA.
 * Return: the VMA, held, which may begin behind @search->last; NULL if there is
 * none up to there. With nothing held: -ESRCH if no user of the address space is
 * left; -EINTR if the caller was killed; -EAGAIN if writers had
 * the place that the search looks at for longer than @search->patience.
 */
struct vm_area_struct *vma_search_next(struct vma_search *search)
{
	return vma_next_held(search, NULL);
}

/**
 * vma_walk_next() - find the next VMA of a walk, and hold it
 * @walk: the walk, begun with vma_walk_begin()
 *
 * Like vma_search_next(), and cheaper if nothing has changed since the last
 * call.
 *
 * Context, return value: as vma_search_next().
 */
struct vm_area_struct *vma_walk_next(struct vma_walk *walk)
{
	return vma_next_held(&walk->search, walk);
}

/**
 * vma_search_release() - release the VMA that a search holds, if it holds one
 * @search: the search, to be continued soon or to be ended
 *
 * A search that has starved goes on asking writers to let it in.
 *
 * Context: the task that called vma_search_next(). Sleeps only without
 * CONFIG_VMA_SEARCH.
 */
void vma_search_release(struct vma_search *search)
{
	if (!search->vma)
		return;
	vma_search_unlock(search);
	search->vma = NULL;
}

/**
 * vma_search_end() - end a search; release the VMA that it holds, if any
 * @search: the search; vma_search_next() can continue it
 *
 * A search whose vma_search_next() has not returned a VMA is at its end.
 *
 * Context: as vma_search_release().
 */
void vma_search_end(struct vma_search *search)
{
	vma_search_release(search);
	if (likely(!search->starved))
		return;
	search->starved = false;
	vma_reader_leaves(search->mm);
}

/**
 * vma_search_rcu() - find and lock the next VMA that matches, without waiting
 * @search: the search, begun with vma_search_begin()
 *
 * Like vma_search_next(), but for a caller that cannot sleep. The caller
 * unlocks the VMA. @search->addr does not move to the end of the VMA that is
 * found.
 *
 * Context: any except NMI. Takes and releases the RCU read-lock; does not need
 * mmap_lock.
 * Return: the VMA, read-locked, to be released with vma_hold_end(); NULL if
 * there is none; -EAGAIN if a writer is at work at @search->addr, if the VMA
 * there has as many readers as it can have, and always without
 * CONFIG_VMA_SEARCH. NULL or -EAGAIN may also mean that no user of the
 * address space is left.
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
 * find_and_lock_vma_rcu() - find_vma() under RCU that returns the VMA locked
 * @mm: the address space
 * @address: the address
 *
 * While the VMA is locked, nobody can change or free it. Release it soon: a
 * writer may wait for it with mmap_lock held.
 *
 * Context: any except NMI, with mm_count of @mm held. Does not need mmap_lock.
 * Return: the first VMA with @address < vm_end, read-locked, to be released
 * with vma_hold_end(); NULL if there is none; -EAGAIN in the cases of
 * vma_search_rcu(): the caller must take mmap_lock and use find_vma() instead.
 * NULL or -EAGAIN may also mean that no user of @mm is left.
 */
struct vm_area_struct *find_and_lock_vma_rcu(struct mm_struct *mm, unsigned long address)
{
	struct vma_search search;

	vma_search_begin(&search, mm, address);
	return vma_search_rcu(&search);
}
