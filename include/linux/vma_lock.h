/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VMA locks: readers of one VMA that do not touch mmap_lock.
 *
 * A writer, who holds mmap_lock for writing, marks each VMA before changing or
 * removing it; all marks end together when mmap_lock is released or downgraded.
 * A reader that holds the lock of a VMA makes the writer wait for it there.
 * Rules, list of writers and memory ordering: Documentation/mm/vma_lock.rst
 */
#ifndef _LINUX_VMA_LOCK_H
#define _LINUX_VMA_LOCK_H

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/maple_tree.h>
#include <linux/mm_types.h>
#include <linux/mmdebug.h>
#include <linux/slab.h>
#include <linux/string.h>

#ifdef CONFIG_PER_VMA_LOCK

/*
 * vm_area_struct.vm_lock: number of readers, two flags, and the value of
 * mm->vma_seq for which the VMA is marked, or was last.
 */
#define VMA_LOCK_READER		0x001L
#define VMA_LOCK_READERS	0x3ffL
#define VMA_LOCK_WAITING	0x400L	/* the writer sleeps until READERS is 0 */
#define VMA_LOCK_DETACHED	0x800L	/* in no tree: never to be locked */
#define VMA_LOCK_SEQ_SHIFT	12

/* Readers may meet a VMA that is free; what they test must survive that. */
#define VMA_LOCK_SLAB_FLAGS	SLAB_TYPESAFE_BY_RCU

void vma_lock_ctor(void *vma);
void vma_lock_init_mm(struct mm_struct *mm);
void __vma_start_write(struct vm_area_struct *vma);
void vma_begin_removal(struct mm_struct *mm);
void vma_start_remove(struct vm_area_struct *vma);
void vma_cancel_remove(struct vm_area_struct *vma);
void vma_lock_release(struct vm_area_struct *vma);
void vma_end_read(struct vm_area_struct *vma);

/* The word of a VMA that is marked for the current write section, unlocked. */
static inline long vma_lock_marked(const struct mm_struct *mm)
{
	return mm->vma_seq << VMA_LOCK_SEQ_SHIFT;
}

/* The first mark after mmap_lock was taken makes mm->vma_seq odd. */
static inline void vma_begin_write_section(struct mm_struct *mm)
{
	lockdep_assert_held_write(&mm->mmap_lock);
	if (mm->vma_seq & 1)
		return;
	/*
	 * Release: whoever sees this section has seen the end of the last one,
	 * pairs with the acquire in vma_start_read() and vma_look().
	 * Barrier: in order before each look at a vm_lock and before each
	 * change, pairs with vma_start_read() and vma_seq_changed().
	 */
	smp_store_release(&mm->vma_seq, mm->vma_seq + 1);
	smp_mb(); /* the second of the two above */
	/* After the sequence: who finds none there must not take it for the last section's. */
	WRITE_ONCE(mm->vma_changes.nr_removed, 0);
}

/**
 * vma_end_write_all() - end all marks
 * @mm: address space whose mmap_lock is about to be released or downgraded
 *
 * Context: mmap_lock of @mm held for writing.
 */
static inline void vma_end_write_all(struct mm_struct *mm)
{
	/* Changes before the end of marks; pairs with vma_start_read(). */
	if (mm->vma_seq & 1)
		smp_store_release(&mm->vma_seq, mm->vma_seq + 1); /* release, as said */
}

/**
 * vma_assert_marked() - a writer must have marked this VMA
 * @vma: the VMA; one that was never in the cache (zero word) passes, tests make some
 */
static inline void vma_assert_marked(struct vm_area_struct *vma)
{
	const long flags = VMA_LOCK_READERS | VMA_LOCK_WAITING;

	VM_WARN_ONCE(atomic_long_read(&vma->vm_lock) &&
		     (atomic_long_read(&vma->vm_lock) & ~flags) != vma_lock_marked(vma->vm_mm),
		     "VMA stored without vma_start_write()");
}

#ifdef CONFIG_DEBUG_VM
/* What the VMA looked like before does not count any more. */
static inline void vma_lock_forget(struct vm_area_struct *vma)
{
	vma->vm_lock_noted = 0;
}
#else
static inline void vma_lock_forget(struct vm_area_struct *vma) {}
#endif

/**
 * vma_start_write() - mark a VMA before it is changed
 * @vma: the VMA; when it is in no tree yet, nothing needs to be done
 *
 * Returns when no reader holds the lock of @vma; none gets it until mmap_lock
 * is released or downgraded.
 *
 * Context: mmap_lock of the address space held for writing. May sleep.
 */
static inline void vma_start_write(struct vm_area_struct *vma)
{
	lockdep_assert_held_write(&vma->vm_mm->mmap_lock);
	if (atomic_long_read(&vma->vm_lock) != vma_lock_marked(vma->vm_mm))
		__vma_start_write(vma);
	else	/* Where long is short, this may be a very old mark. */
		vma_lock_forget(vma);
}

/**
 * vma_tree_store() - store to the tree of VMAs
 * @mas: the range, in the tree of an address space; memory is allocated already
 * @vma: the VMA of that range, marked or attached; NULL for none
 *
 * A leaf is changed in steps. Meanwhile no reader believes in a hole.
 *
 * Context: mmap_lock of the address space held for writing.
 */
static inline void vma_tree_store(struct ma_state *mas, struct vm_area_struct *vma)
{
	struct mm_struct *mm = container_of(mas->tree, struct mm_struct, mm_mt);

	raw_write_seqcount_begin(&mm->vma_changes.stores);
	mas_store_prealloc(mas, vma);
	raw_write_seqcount_end(&mm->vma_changes.stores);
}

/**
 * vma_mark_attached() - a VMA is about to be stored in its tree
 * @vma: the VMA: a new one, all its fields set, or one that is marked
 *
 * Context: mmap_lock of the address space held for writing.
 */
static inline void vma_mark_attached(struct vm_area_struct *vma)
{
	if (!(atomic_long_read(&vma->vm_lock) & VMA_LOCK_DETACHED)) {
		vma_assert_marked(vma);
		return;
	}
	vma_begin_write_section(vma->vm_mm);
	vma_lock_forget(vma);
	/*
	 * No other can write the word of a detached VMA. Release: who finds it
	 * attached finds its fields set, pairs with vma_start_read().
	 */
	atomic_long_set_release(&vma->vm_lock, vma_lock_marked(vma->vm_mm));
}

/**
 * vma_lock_clear() - zero a VMA all but its lock
 * @vma: a VMA that is in no tree
 *
 * A reader with an old pointer may look at the lock at any time, and must find
 * it detached throughout.
 */
static inline void vma_lock_clear(struct vm_area_struct *vma)
{
	memset(vma, 0, offsetof(struct vm_area_struct, vm_lock));
	memset_after(vma, 0, vm_lock);
	atomic_long_set(&vma->vm_lock, VMA_LOCK_DETACHED);
}

/**
 * vma_lock_copy() - copy a VMA all but its lock
 * @new: a VMA from vm_area_alloc()'s cache, in no tree
 * @orig: the VMA to copy
 */
static inline void vma_lock_copy(struct vm_area_struct *new, const struct vm_area_struct *orig)
{
	const size_t behind = offsetofend(struct vm_area_struct, vm_lock);

	data_race(memcpy(new, orig, offsetof(struct vm_area_struct, vm_lock))); /* shared.rb */
	data_race(memcpy((void *)new + behind, (const void *)orig + behind, /* the same */
			 sizeof(*new) - behind));
}

#else /* !CONFIG_PER_VMA_LOCK */

#define VMA_LOCK_SLAB_FLAGS	0
#define vma_lock_ctor		NULL

static inline void vma_lock_init_mm(struct mm_struct *mm) {}
static inline void vma_end_write_all(struct mm_struct *mm) {}
static inline void vma_start_write(struct vm_area_struct *vma) {}
static inline void vma_begin_removal(struct mm_struct *mm) {}
static inline void vma_start_remove(struct vm_area_struct *vma) {}
static inline void vma_cancel_remove(struct vm_area_struct *vma) {}
static inline void vma_mark_attached(struct vm_area_struct *vma) {}
static inline void vma_assert_marked(struct vm_area_struct *vma) {}
static inline void vma_lock_release(struct vm_area_struct *vma) {}
static inline void vma_end_read(struct vm_area_struct *vma) {}

static inline void vma_tree_store(struct ma_state *mas, struct vm_area_struct *vma)
{
	mas_store_prealloc(mas, vma);
}

static inline void vma_lock_clear(struct vm_area_struct *vma)
{
	memset(vma, 0, sizeof(*vma));
}

static inline void vma_lock_copy(struct vm_area_struct *new, const struct vm_area_struct *orig)
{
	*new = data_race(*orig); /* shared.rb may change, and is made anew */
}

#endif /* CONFIG_PER_VMA_LOCK */
#endif /* _LINUX_VMA_LOCK_H */
