// SPDX-License-Identifier: GPL-2.0
/* Per-VMA locks: writers, and slow paths; see Documentation/mm/vma_lock.rst. */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/vma_generation.h>
#include <linux/vma_lock.h>
#include <linux/wait.h>

#include "vma_read.h"

/* Most readers hold the lock for a few hundred instructions: a sleep is rarely worth it. */
#define VMA_LOCK_SPINS		256

#ifdef CONFIG_LOCKDEP
/* A reader must not wait for mmap_lock: its holder may wait for this reader. */
struct lockdep_map vma_lock_map = STATIC_LOCKDEP_MAP_INIT("vma_lock", &vma_lock_map);
#endif

/**
 * vma_lock_init_mm() - initialise the write sequence of an address space
 * @mm: the address space, not yet visible to others
 *
 * Context: any. mm->vma_seq is random: a reader that finds a VMA of another address space
 * seldom finds a word equal to its own sequence, and so seldom has to retry. Its highest
 * bit is 0: generations, counted from it, must not wrap.
 */
void vma_lock_init_mm(struct mm_struct *mm)
{
	mm->vma_seq = (get_random_long() >> 1) & ~1UL;
	mm->vma_changes.code = vma_generation_at(mm->vma_seq);
	seqcount_init(&mm->vma_changes.stores);
	atomic_set(&mm->vma_changes.starved, 0);
}

/**
 * vma_note_code() - note that a writer is about to change code
 * @vma: a VMA that the caller is about to write-lock or attach, or has write-locked
 * @flags: its VM_* bits, or those that it is about to get
 *
 * Context: mmap_lock held for writing, in a write section. Write-locking calls
 * this; so does a writer that turns into code what was none.
 */
void vma_note_code(struct vm_area_struct *vma, unsigned long flags)
{
	struct mm_struct *mm;

	if (!(flags & VM_EXEC) || !vma->vm_file)
		return;
	mm = vma->vm_mm;
	WRITE_ONCE(mm->vma_changes.code, vma_generation_at(mm->vma_seq + 1));
	/* Store the note before the change; pairs with vma_generations_kept(). */
	smp_wmb();
}

/*
 * Wait until no reader holds the VMA. New readers of this address space see the write-lock and
 * fail. A reader of another mm may have a stale pointer, from when this memory was a VMA of that
 * mm. It compares the word with the vma_seq of that mm, so it may get the lock even after this
 * wait. Then it reads vm_mm, and unlocks.
 */
static void vma_lock_wait_for_readers(struct vm_area_struct *vma)
{
	atomic_long_t *lock = &vma->vm_hold;
	unsigned int spins;

	for (spins = 0; spins < VMA_LOCK_SPINS; spins++) {
		if (!(atomic_long_read_acquire(lock) & VMA_HOLD_READERS))
			return;
		cpu_relax();
	}
	/* Full barrier: set the flag before counting readers; pairs with vma_hold_drop(). */
	atomic_long_fetch_or(VMA_HOLD_WAITING, lock);
	wait_event(vma_hold_writers, !(atomic_long_read_acquire(lock) & VMA_HOLD_READERS));
	atomic_long_andnot(VMA_HOLD_WAITING, lock);
}

/*
 * Write-lock an attached VMA, and add @flags. Returns false if it is detached. Inline: this is most
 * of what these locks cost a writer.
 */
static __always_inline bool vma_change_lock(struct vm_area_struct *vma, long flags)
{
	long old = atomic_long_read(&vma->vm_hold);
	long new;

	/* First of all: the vm_mm of a VMA that fork() is copying may still be the parent. */
	if (old & VMA_HOLD_DETACHED)
		return false;
	might_sleep();
	lock_map_acquire(&vma_lock_map);
	lock_map_release(&vma_lock_map);
	new = vma_change_word(vma_begin_write_section(vma->vm_mm)) | flags;
	vma_note_code(vma, vma->vm_flags);
	/* Only the number of readers may have changed since. It is kept: add the difference. */
	old = atomic_long_fetch_add(new - (old & ~VMA_HOLD_READERS), &vma->vm_hold);
	if (unlikely(old & VMA_HOLD_READERS))
		vma_lock_wait_for_readers(vma);
	vma_lock_check(vma, old);
	vma_lock_forget(vma);
	return true;
}

/**
 * __vma_change_begin() - slow path of vma_change_begin()
 * @vma: the VMA, not write-locked yet
 *
 * Context: as vma_change_begin(). Exported for modules that set flags of VMAs.
 */
void __vma_change_begin(struct vm_area_struct *vma)
{
	vma_change_lock(vma, 0);
}
EXPORT_SYMBOL(__vma_change_begin);

/**
 * vma_start_rename() - write-lock all VMAs that may get or lose the name of heap or stack
 * @mm: the address space
 *
 * Context: mmap_lock of @mm held for writing, before mm->brk, start_brk or start_stack
 * changes. May sleep. brk() write-locks only the VMAs whose names change.
 */
void vma_start_rename(struct mm_struct *mm)
{
	MA_STATE(mas, &mm->mm_mt, 0, 0);
	struct vm_area_struct *vma;

	mas_for_each(&mas, vma, ULONG_MAX)
		if (!vma->vm_file)
			vma_change_begin(vma);
}

/**
 * vma_note_removal() - note a range whose VMAs are about to leave the tree
 * @mm: the address space
 * @start: start of the range
 * @end: its end; until the end of the section, no reader takes this range for a hole
 *
 * Context: mmap_lock of @mm held for writing. vma_write_detach() follows for each VMA.
 */
void vma_note_removal(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct vma_changes *changes = &mm->vma_changes;
	struct vma_removal *range;

	vma_begin_write_section(mm);
	if (changes->nr_removed == VMA_REMOVALS) {
		range = &changes->removed[VMA_REMOVALS - 1];
		/* Whichever bounds a reader sees, they cover what was noted before. */
		WRITE_ONCE(range->start, min(range->start, start));
		WRITE_ONCE(range->end, max(range->end, end));
		return;
	}
	range = &changes->removed[changes->nr_removed];
	WRITE_ONCE(range->start, start);
	WRITE_ONCE(range->end, end);
	/* Release: publish the range before nr_removed counts it; pairs with vma_hole_is_real(). */
	smp_store_release(&changes->nr_removed, changes->nr_removed + 1);
}

/**
 * vma_write_detach() - write-lock a VMA for good before it leaves its tree
 * @vma: the VMA, in a range that vma_note_removal() has noted in this section
 *
 * Context: mmap_lock held for writing. May sleep.
 */
void vma_write_detach(struct vm_area_struct *vma)
{
	const struct vma_changes *changes = &vma->vm_mm->vma_changes;
	const struct vma_removal *range = &changes->removed[changes->nr_removed - 1];
	bool attached;

	VM_WARN_ON_ONCE(!(vma->vm_mm->vma_seq & 1) || !changes->nr_removed ||
			vma->vm_start < range->start || vma->vm_end > range->end);
	/* Full barrier: note the range before the hole; pairs with vma_hole_is_real(). */
	attached = vma_change_lock(vma, VMA_HOLD_DETACHED);
	VM_WARN_ON_ONCE(!attached);
}

/**
 * vma_cancel_detach() - keep a VMA in its tree after all
 * @vma: the VMA; it stays write-locked as after vma_change_begin()
 *
 * Context: mmap_lock held for writing since vma_write_detach().
 */
void vma_cancel_detach(struct vm_area_struct *vma)
{
	mmap_assert_write_locked(vma->vm_mm);
	atomic_long_andnot(VMA_HOLD_DETACHED, &vma->vm_hold);
}

/**
 * __vma_lock_retire() - slow path of vma_lock_retire()
 * @vma: the VMA, not detached yet
 *
 * Context: as vma_lock_retire().
 */
void __vma_lock_retire(struct vm_area_struct *vma)
{
	/* A reader may have found it until now. */
	const long old = atomic_long_fetch_or(VMA_HOLD_DETACHED, &vma->vm_hold);

	VM_WARN_ONCE(atomic_read(&vma->vm_mm->mm_users) &&
		     !vma_word_write_locked(old, vma->vm_mm->vma_seq),
		     "VMA freed without vma_change_begin()");
	if (unlikely(old & VMA_HOLD_READERS))
		vma_lock_wait_for_readers(vma);
}

/**
 * vma_hold_end() - unlock a VMA
 * @vma: the VMA; the caller must not touch it afterwards
 *
 * Context: any, NMI included.
 */
void vma_hold_end(struct vm_area_struct *vma)
{
	rwsem_release(&vma_lock_map, _RET_IP_);
	vma_hold_drop(vma);
}
