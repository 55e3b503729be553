/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VMA locks: a reader locks one VMA, without mmap_lock: it holds the VMA. A writer, which
 * holds mmap_lock, write-locks a VMA before it changes or removes it, and waits for the readers.
 * Its first write-lock, attachment or removal begins a write section; the release or downgrade of
 * mmap_lock ends it, and all write-locks. See Documentation/mm/vma_lock.rst.
 */
#ifndef _LINUX_VMA_LOCK_H
#define _LINUX_VMA_LOCK_H

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kconfig.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/maple_tree.h>
#include <linux/mm_types.h>
#include <linux/mmdebug.h>
#include <linux/preempt.h>

#ifdef CONFIG_VMA_SEARCH

void vma_lock_init_mm(struct mm_struct *mm);
void __vma_change_begin(struct vm_area_struct *vma);
void vma_start_rename(struct mm_struct *mm);
void vma_note_removal(struct mm_struct *mm, unsigned long start, unsigned long end);
void vma_write_detach(struct vm_area_struct *vma);
void vma_cancel_detach(struct vm_area_struct *vma);
void vma_note_code(struct vm_area_struct *vma, unsigned long flags);
void __vma_lock_retire(struct vm_area_struct *vma);
void vma_let_readers_in(struct mm_struct *mm);
void vma_hold_end(struct vm_area_struct *vma);

/* The lock word of a VMA without readers that is write-locked in the section @seq. */
static inline long vma_change_word(unsigned long seq)
{
	return seq << VMA_HOLD_SEQ_SHIFT;
}

/* Make mm->vma_seq odd, unless it is. Returns it. */
static inline unsigned long vma_begin_write_section(struct mm_struct *mm)
{
	const unsigned long seq = mm->vma_seq;

	lockdep_assert_held_write(&mm->mmap_lock);
	if (seq & 1)
		return seq;
	/*
	 * Release, though this section has changed nothing yet: a reader may lock a VMA that the
	 * section before has changed, and read this number without having read the even one;
	 * pairs with vma_hold_try(), vma_lookup_retry().
	 */
	smp_store_release(&mm->vma_seq, seq + 1);
	/*
	 * Store vma_seq before all changes; pairs with vma_hold_try(), vma_seq_changed(),
	 * vma_hole_is_real() and vma_generations_kept().
	 */
	smp_wmb();
	/*
	 * Reset it after vma_seq: a reader reads the ranges, then vma_seq again. If vma_seq has
	 * changed, it does not use them.
	 */
	WRITE_ONCE(mm->vma_changes.nr_removed, 0);
	return seq + 1;
}

/**
 * vma_end_write_section() - end all write-locks
 * @mm: address space whose mmap_lock is about to be released or downgraded
 *
 * Context: mmap_lock of @mm held for writing. May sleep, see vma_let_readers_in().
 */
static inline void vma_end_write_section(struct mm_struct *mm)
{
	const unsigned long seq = mm->vma_seq;

	if (!(seq & 1))
		return;
	/*
	 * Release: publish all changes before the section ends; pairs with vma_hold_try(),
	 * vma_lookup_step(), vma_lookup_retry(), vma_read_leaf() and vma_generations_now().
	 */
	smp_store_release(&mm->vma_seq, seq + 1);
	/* Not might_sleep(): each unlock would be a place to reschedule, with mmap_lock held. */
	__might_sleep(__FILE__, __LINE__);
	if (unlikely(atomic_read(&mm->vma_changes.starved)))
		vma_let_readers_in(mm);
}

/* Warn if a VMA is not write-locked. */
static inline void vma_change_assert(struct vm_area_struct *vma)
{
	const long flags = VMA_HOLD_READERS | VMA_HOLD_WAITING;

	VM_WARN_ONCE((atomic_long_read(&vma->vm_hold) & ~flags) !=
		     vma_change_word(vma->vm_mm->vma_seq),
		     "VMA stored without vma_change_begin()");
}

#ifdef CONFIG_DEBUG_VM
/* The VMA may change from here on: drop its hash. */
static inline void vma_lock_forget(struct vm_area_struct *vma)
{
	vma->vm_hold_noted = 0;
}
#else
static inline void vma_lock_forget(struct vm_area_struct *vma) {}
#endif

/**
 * vma_change_begin() - write-lock a VMA before it is changed
 * @vma: the VMA; nothing happens if it is in no tree
 *
 * Context: mmap_lock held for writing. Sleeps until no reader holds @vma. None gets
 * it until mmap_lock is released or downgraded.
 */
static inline void vma_change_begin(struct vm_area_struct *vma)
{
	lockdep_assert_held_write(&vma->vm_mm->mmap_lock);
	/* Outside of a section vma_seq is even, and no attached VMA has that number. */
	if (atomic_long_read(&vma->vm_hold) != vma_change_word(vma->vm_mm->vma_seq))
		__vma_change_begin(vma);
	else
		vma_lock_forget(vma);
}

/**
 * vma_tree_store_begin() - begin a store to the tree of VMAs
 * @mm: the address space
 *
 * Context: mmap_lock held for writing, in a write section. The memory of the store is
 * allocated. A leaf changes in several steps: the counter keeps readers from relying on
 * a hole in between. During the store they retry at holes, at VMAs that do not match,
 * and below nodes that are replaced. So it is not preempted, except with PREEMPT_RT,
 * where it takes locks that sleep.
 */
static inline void vma_tree_store_begin(struct mm_struct *mm)
{
	VM_WARN_ON_ONCE(!(mm->vma_seq & 1));
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	raw_write_seqcount_begin(&mm->vma_changes.stores);
}

/**
 * vma_tree_store_end() - end a store to the tree of VMAs
 * @mm: the address space
 *
 * Context: as vma_tree_store_begin(), which was called before the store.
 */
static inline void vma_tree_store_end(struct mm_struct *mm)
{
	raw_write_seqcount_end(&mm->vma_changes.stores);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/**
 * vma_change_attach() - attach a VMA that is about to be stored in its tree
 * @vma: a new VMA with all its fields set, or a write-locked one
 *
 * Context: mmap_lock of the address space held for writing.
 */
static inline void vma_change_attach(struct vm_area_struct *vma)
{
	unsigned long seq;

	if (!(atomic_long_read(&vma->vm_hold) & VMA_HOLD_DETACHED)) {
		vma_change_assert(vma);
		return;
	}
	seq = vma_begin_write_section(vma->vm_mm);
	vma_lock_forget(vma);
	if (vma->vm_file)
		vma_note_code(vma, vma->vm_flags);
	/* Release: publish the fields; pairs with vma_hold_try(). No one else writes the word. */
	atomic_long_set_release(&vma->vm_hold, vma_change_word(seq));
}

/**
 * vma_lock_retire() - wait for the last readers of a VMA, and keep others out
 * @vma: the VMA, in no tree, or of an address space without users
 *
 * Context: may sleep. The last readers may be of another address space.
 */
static inline void vma_lock_retire(struct vm_area_struct *vma)
{
	/* Whoever detached it has waited for its readers, and no other can come. */
	if (!(atomic_long_read(&vma->vm_hold) & VMA_HOLD_DETACHED))
		__vma_lock_retire(vma);
}

#else /* !CONFIG_VMA_SEARCH */

static inline void vma_lock_init_mm(struct mm_struct *mm) {}
static inline void vma_end_write_section(struct mm_struct *mm) {}
static inline void vma_change_begin(struct vm_area_struct *vma) {}
static inline void vma_start_rename(struct mm_struct *mm) {}
static inline void vma_note_removal(struct mm_struct *mm, unsigned long start,
				    unsigned long end) {}
static inline void vma_write_detach(struct vm_area_struct *vma) {}
static inline void vma_cancel_detach(struct vm_area_struct *vma) {}
static inline void vma_note_code(struct vm_area_struct *vma, unsigned long flags) {}
static inline void vma_change_attach(struct vm_area_struct *vma) {}
static inline void vma_lock_retire(struct vm_area_struct *vma) {}
static inline void vma_hold_end(struct vm_area_struct *vma) {}
static inline void vma_tree_store_begin(struct mm_struct *mm) {}
static inline void vma_tree_store_end(struct mm_struct *mm) {}

#endif /* CONFIG_VMA_SEARCH */

/**
 * vma_tree_store() - store to the tree of VMAs
 * @mas: the range, in the tree of an address space; its memory is preallocated
 * @vma: the VMA of that range, write-locked or attached; NULL: clear the range
 *
 * Context: mmap_lock held for writing, in a write section.
 */
static inline void vma_tree_store(struct ma_state *mas, struct vm_area_struct *vma)
{
	struct mm_struct *mm = container_of(mas->tree, struct mm_struct, mm_mt);

	vma_tree_store_begin(mm);
	mas_store_prealloc(mas, vma);
	vma_tree_store_end(mm);
}

#endif /* _LINUX_VMA_LOCK_H */
