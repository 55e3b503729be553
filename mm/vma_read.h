/* SPDX-License-Identifier: GPL-2.0 */
/* Per-VMA locks: readers; see Documentation/mm/vma_lock.rst. */
#ifndef _MM_VMA_READ_H
#define _MM_VMA_READ_H

#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/mm_types.h>
#include <linux/vma_lock.h>
#include <linux/wait.h>

#ifdef CONFIG_VMA_SEARCH

extern struct wait_queue_head vma_hold_writers;
void vma_hold_wake(void);

#ifdef CONFIG_LOCKDEP
extern struct lockdep_map vma_lock_map;
#endif

#ifdef CONFIG_DEBUG_VM
void vma_lock_check(struct vm_area_struct *vma, long word);
#else
static inline void vma_lock_check(struct vm_area_struct *vma, long word) {}
#endif

/* Is @word the lock word of a VMA that is write-locked in the section @seq? */
static inline bool vma_word_write_locked(long word, unsigned long seq)
{
	return !((word ^ (long)(seq << VMA_HOLD_SEQ_SHIFT)) >> VMA_HOLD_SEQ_SHIFT);
}

static inline void vma_hold_drop(struct vm_area_struct *vma)
{
	long word = atomic_long_dec_return(&vma->vm_hold);

	/* @vma may be freed from here on. */
	if (unlikely((word & (VMA_HOLD_READERS | VMA_HOLD_WAITING)) == VMA_HOLD_WAITING))
		vma_hold_wake();
}

/**
 * vma_hold_try() - try to lock a VMA
 * @vma: a VMA that was found in the tree of @mm; it may have left that tree
 * @mm: the address space
 *
 * Context: RCU read-lock held since @vma was found. Does not sleep.
 * Return: true with the lock held, for vma_hold_end(); it may belong to another mm
 * by now: check vm_mm before anything else. False if a writer has write-locked or
 * removed it, or its word can count no more readers.
 */
static inline bool vma_hold_try(struct vm_area_struct *vma, const struct mm_struct *mm)
{
	long old = atomic_long_read(&vma->vm_hold);
	long new;

	do {
		new = old + VMA_HOLD_READER;
		/* No reader in the sum: the count was full, and has overflowed into the flags. */
		if ((old & VMA_HOLD_DETACHED) || !(new & VMA_HOLD_READERS))
			return false;
		/* An optimization: do not write the word in vain. */
		if (vma_word_write_locked(old, READ_ONCE(mm->vma_seq)))
			return false;
	} while (!atomic_long_try_cmpxchg(&vma->vm_hold, &old, new));

	/*
	 * Exchange before this read of vma_seq; pairs with vma_begin_write_section(). The
	 * test above is not enough: the word may have been that of another address space
	 * (ABA). Acquire: a reader that sees the end of the section also sees the changes;
	 * pairs with vma_end_write_section().
	 */
	if (unlikely(vma_word_write_locked(new, smp_load_acquire(&mm->vma_seq)))) {
		vma_hold_drop(vma);
		return false;
	}
	rwsem_acquire_read(&vma_lock_map, 0, 1, _RET_IP_);
	return true;
}

/* May a VMA of @mm have changed, or the end of @mm have freed it, since vma_seq was @seq? */
static inline bool vma_seq_changed(const struct mm_struct *mm, unsigned long seq)
{
	/* Read the VMAs before vma_seq and users; pairs with vma_begin_write_section(), mmput(). */
	smp_rmb();
	return (seq & 1) || READ_ONCE(mm->vma_seq) != seq || !atomic_read(&mm->mm_users);
}

void vma_reader_starves(struct mm_struct *mm);
void vma_reader_leaves(struct mm_struct *mm);
void vma_reader_sleep(struct mm_struct *mm);

#else /* !CONFIG_VMA_SEARCH */

static inline void vma_reader_leaves(struct mm_struct *mm) {}

#endif /* CONFIG_VMA_SEARCH */
#endif /* _MM_VMA_READ_H */
