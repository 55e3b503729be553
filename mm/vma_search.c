// SPDX-License-Identifier: GPL-2.0
/*
 * The search for VMAs: concurrent with a writer it retries, then sleeps without queueing
 * for any lock. See "The search" in Documentation/mm/vma_lock.rst.
 *
 * The loops of vma_search_next(), from the outermost:
 *
 * sleep	before each round after the first 17 (VMA_SEARCH_ROUNDS + 1) at an address: a jiffy.
 *		After 20 ms it asks to be let in: from then on it sleeps only during a write
 *		section, until a writer lets it in, 20 ms at most
 * round	one RCU section
 * step		the rest of a leaf, or concurrent with a writer one VMA or hole;
 *		VMA_SEARCH_STEPS (64) in a round
 * try		to look up that VMA or hole; VMA_SEARCH_TRIES (64) in a step
 *
 * /proc/vmstat counts sleeps (vma_search_sleep), and tries that met a writer (vma_search_retry).
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>
#include <linux/vmstat.h>

#include "vma_lookup.h"
#include "vma_read.h"
#include "vma_walk.h"

/* Rounds, after the first, without a sleep. Nearly all changes of a VMA are over by then. */
#define VMA_SEARCH_ROUNDS	16

#ifdef CONFIG_VMA_SEARCH

/* How long to back off before asking to be let in, in jiffies. */
#define VMA_SEARCH_STARVES	(HZ / 50)
/* With interrupts disabled, the writer may be the one that was interrupted. */
#define VMA_SEARCH_ATOMIC_TRIES	2

static noinline enum vma_result vma_lookup_once(struct vma_search *search)
{
	return vma_lookup_rcu(search, NULL, 1,
			      irqs_disabled() ? VMA_SEARCH_ATOMIC_TRIES : VMA_SEARCH_TRIES);
}

/* VMA_LOOKUP_FOUND leaves preemption disabled until vma_search_unlock(). */
static __always_inline enum vma_result vma_lookup_held(struct vma_search *search,
						       struct vma_walk *walk)
{
	enum vma_result res;

	preempt_disable_nort();
	res = vma_lookup_rcu(search, walk, VMA_SEARCH_STEPS, VMA_SEARCH_TRIES);
	/* VMA_LOOKUP_FOUND or VMA_LOOKUP_NONE: the call ends. */
	if (likely(res <= VMA_LOOKUP_NONE))
		count_vm_event(VMA_SEARCH);
	if (res != VMA_LOOKUP_FOUND)
		preempt_enable_nort();
	return res;
}

static void vma_search_unlock(struct vma_search *search)
{
	vma_hold_end(search->vma);
	preempt_enable_nort();
}

/* After VMA_SEARCH_STARVES, and each time from then on, sleep until a writer lets readers in. */
static void vma_search_sleep(struct vma_search *search, unsigned long waited)
{
	if (!search->starved && waited > VMA_SEARCH_STARVES) {
		search->starved = true;
		vma_reader_starves(search->mm);
	}
	count_vm_event(VMA_SEARCH_SLEEP);
	if (search->starved)
		vma_reader_sleep(search->mm);
	else
		schedule_timeout_killable(1);
}

#else /* !CONFIG_VMA_SEARCH */

/* VMAs in one section of mmap_lock, so that no writer waits for a long walk. */
#define VMA_LOCKED_VMAS	256

static enum vma_result vma_lookup_once(struct vma_search *search)
{
	return VMA_LOOKUP_BUSY;
}

static enum vma_result vma_lookup_locked(struct vma_search *search)
{
	unsigned int steps = VMA_LOCKED_VMAS;
	struct vm_area_struct *vma;
	struct vma_iterator vmi;

	vma_iter_init(&vmi, search->mm, search->addr);
	for_each_vma(vmi, vma) {
		if (!(search->covering && vma->vm_start > search->addr) &&
		    vma_search_wants(search, vma->vm_flags, vma->vm_file)) {
			search->vma = vma;
			return VMA_LOOKUP_FOUND;
		}
		if (search->covering)
			return VMA_LOOKUP_NONE;
		search->addr = vma->vm_end;
		if (!--steps)
			return VMA_LOOKUP_MORE;
	}
	return VMA_LOOKUP_NONE;
}

static enum vma_result vma_lookup_held(struct vma_search *search, struct vma_walk *walk)
{
	enum vma_result res = VMA_LOOKUP_BUSY;
	struct mm_struct *mm = search->mm;

	if (!mmget_not_zero(mm))
		return VMA_LOOKUP_BUSY;
	if (search->patience ? !mmap_read_lock_killable(mm) : mmap_read_trylock(mm)) {
		res = vma_lookup_locked(search);
		if (res == VMA_LOOKUP_FOUND)
			return res;
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return res;
}

static void vma_search_unlock(struct vma_search *search)
{
	mmap_read_unlock(search->mm);
	mmput(search->mm);
}

/* Not reached: if killed or without users, or out of patience, the search ends before. */
static void vma_search_sleep(struct vma_search *search, unsigned long waited) {}

#endif /* CONFIG_VMA_SEARCH */

/* Returns false if the search is out of patience. */
static bool vma_search_backoff(struct vma_search *search)
{
	unsigned long waited;

	if (!search->busy_rounds || search->busy_addr != search->addr) {
		search->busy_addr = search->addr;
		search->busy_since = jiffies;
		search->busy_rounds = 0;
	}
	if (search->busy_rounds++ < VMA_SEARCH_ROUNDS)
		return true;
	waited = jiffies - search->busy_since;
	if (waited >= search->patience)
		return false;
	vma_search_sleep(search, waited);
	return true;
}

/* Nothing is held. -EINTR: killed; -ESRCH: no users are left; -EAGAIN: out of patience. */
static noinline int vma_search_pause(struct vma_search *search, enum vma_result res)
{
	if (res == VMA_LOOKUP_BUSY) {
		if (mm_ref_exited(search->mm))
			return -ESRCH;
		if (!vma_search_backoff(search))
			return -EAGAIN;
	}
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

static __always_inline struct vm_area_struct *vma_next_held(struct vma_search *search,
							    struct vma_walk *walk)
{
	enum vma_result res;
	int err;

	vma_search_release(search);
	do {
		res = vma_lookup_held(search, walk);
		if (likely(res == VMA_LOOKUP_FOUND)) {
			search->addr = search->vma->vm_end;
			return search->vma;
		}
		if (res == VMA_LOOKUP_NONE || search->addr > search->last) {
			err = mm_ref_exited(search->mm) ? -ESRCH : 0;
			break;
		}
		err = vma_search_pause(search, res);
	} while (!err);
	vma_search_end(search);
	return ERR_PTR(err);
}

/**
 * vma_search_next() - find the next VMA that matches, and hold it
 * @search: the search, begun with vma_search_begin()
 *
 * Releases the VMA that the search holds, and continues at @search->addr, its end
 * unless the caller has changed that. Does not miss a VMA that matched during the
 * whole call, nor return one that matched at no time during the call.
 *
 * A held VMA does not change, and its file stays open. A writer may wait for it:
 * preemption is disabled (except with PREEMPT_RT), and the caller must not sleep.
 *
 * Context: process context, no spinlock and no mmap_lock held. Sleeps, killably, while a
 * writer has @search->addr. Without CONFIG_VMA_SEARCH it waits for mmap_lock, killably, or
 * only tries it if @search->patience is 0, and keeps it with the VMA.
 * Return: the VMA, held, which may begin after @search->last; NULL: none up to there.
 * With nothing held: -ESRCH: no user of the address space is left; -EINTR: killed;
 * -EAGAIN: writers had @search->addr for longer than @search->patience.
 */
struct vm_area_struct *vma_search_next(struct vma_search *search)
{
	return vma_next_held(search, NULL);
}

/**
 * vma_walk_next() - vma_search_next(), cheaper if nothing has changed since the last call
 * @walk: the walk, begun with vma_walk_begin()
 *
 * Context, return value: as vma_search_next().
 */
struct vm_area_struct *vma_walk_next(struct vma_walk *walk)
{
	return vma_next_held(&walk->search, walk);
}

/**
 * vma_search_release() - release the VMA that a search holds, if it holds one
 * @search: the search; one that has starved still asks to be let in
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
 * vma_search_end() - release the VMA that a search holds, and do not ask to be let in
 * @search: the search; it keeps its place, so vma_search_next() may continue it
 *
 * Context: as vma_search_release(). Not needed after vma_search_next() returned no VMA.
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
 * @search: the search; its @addr does not move to the end of the VMA
 *
 * Context: any, NMI included. Takes and releases the RCU read-lock.
 * Return: the VMA, read-locked, for vma_hold_end(). NULL: there is none. -EAGAIN: a
 * writer has @search->addr, the VMA there has the maximum of readers, or there is no
 * CONFIG_VMA_SEARCH. NULL or -EAGAIN if no user of the address space is left.
 */
struct vm_area_struct *vma_search_rcu(struct vma_search *search)
{
	struct vm_area_struct *vma;
	enum vma_result res;

	do {
		res = vma_lookup_once(search);
	} while (res == VMA_LOOKUP_MORE);
	if (res == VMA_LOOKUP_BUSY)
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
 * Context: as vma_search_rcu(), with mm_count of @mm held. A writer may wait for
 * the VMA with mmap_lock held: release it soon.
 * Return: as vma_search_rcu(): the first VMA with @address < vm_end. After -EAGAIN
 * the caller must take mmap_lock and use find_vma() instead.
 */
struct vm_area_struct *find_and_lock_vma_rcu(struct mm_struct *mm, unsigned long address)
{
	struct vma_search search;

	vma_search_begin(&search, mm, address);
	return vma_search_rcu(&search);
}
