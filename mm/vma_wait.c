// SPDX-License-Identifier: GPL-2.0
/*
 * Readers that starve count themselves in mm->vma_changes.starved, and sleep on its address.
 * The end of the next write section wakes them, and keeps mmap_lock until all have left, or for
 * VMA_LET_IN; meanwhile this writer sleeps on the address of let_in. See "Progress" in
 * Documentation/mm/vma_lock.rst.
 */
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "vma_read.h"

/* How long a writer waits for the readers that it lets in. */
#define VMA_LET_IN		(2 * NSEC_PER_MSEC)
/* The least time from one such wait to the next: 20 ms, in jiffies. */
#define VMA_LET_IN_PAUSE	(HZ / 50 + 1)
/* How long a starving reader sleeps if no writer wakes it, in jiffies. */
#define VMA_STARVED_SLEEP	(HZ / 50 ?: 1)

/**
 * vma_reader_starves() - count the caller among the readers to be let in
 * @mm: the address space, its mm_count held
 *
 * Context: any. To be followed by vma_reader_leaves().
 */
void vma_reader_starves(struct mm_struct *mm)
{
	atomic_inc(&mm->vma_changes.starved);
}

/**
 * vma_reader_leaves() - no longer count the caller
 * @mm: the address space, its mm_count held
 *
 * Context: any in which wake_up() may be called.
 */
void vma_reader_leaves(struct mm_struct *mm)
{
	/* Full barrier: count before waking; pairs with prepare_to_wait_event() of the writer. */
	if (atomic_dec_and_test(&mm->vma_changes.starved))
		wake_up_var(&mm->vma_changes.let_in);
}

/**
 * vma_reader_sleep() - sleep until a writer lets readers in
 * @mm: the address space, its mm_count held; after vma_reader_starves()
 *
 * Context: process context. Sleeps, killably, for VMA_STARVED_SLEEP at most, and only
 * in a write section.
 */
void vma_reader_sleep(struct mm_struct *mm)
{
	___wait_var_event(&mm->vma_changes.starved,
			  ___wait_cond_timeout(!(READ_ONCE(mm->vma_seq) & 1)),
			  TASK_KILLABLE, 0, VMA_STARVED_SLEEP, __ret = schedule_timeout(__ret));
}

static void vma_wait_for_starved(struct vma_changes *changes)
{
	ktime_t time = ns_to_ktime(VMA_LET_IN);
	bool over = false;

	/* Sleep once, and go on whether woken or not. */
	___wait_var_event(&changes->let_in, over || !atomic_read(&changes->starved),
			  TASK_UNINTERRUPTIBLE, 0, 0,
			  ({ schedule_hrtimeout(&time, HRTIMER_MODE_REL); over = true; }));
}

/**
 * vma_let_readers_in() - give starving readers a time without write sections
 * @mm: the address space
 *
 * Context: mmap_lock of @mm held for writing, no write section. Sleeps for 2 ms at
 * most, once in 20 ms. Exported for mmap_write_unlock().
 */
void vma_let_readers_in(struct mm_struct *mm)
{
	struct vma_changes *changes = &mm->vma_changes;
	unsigned int now = jiffies;

	if (now - changes->let_in < VMA_LET_IN_PAUSE)
		return;
	changes->let_in = now;
	/* End the section before looking for sleepers; pairs with vma_reader_sleep(). */
	smp_mb();
	wake_up_var(&changes->starved);
	vma_wait_for_starved(changes);
}
EXPORT_SYMBOL(vma_let_readers_in);
