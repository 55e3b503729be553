// SPDX-License-Identifier: GPL-2.0
/* Per-VMA locks: report VMAs that change without being write-locked. */
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/vma_base.h>
#include <linux/vma_lock.h>

#include "vma_read.h"

/* x86 clears VM_PAT when it zaps a mapping, under no lock of the VMA. */
#ifdef CONFIG_X86
#define VMA_LOCK_UNSTABLE_FLAGS	VM_PAT
#else
#define VMA_LOCK_UNSTABLE_FLAGS	0UL
#endif

static unsigned long vma_lock_hash(const struct vm_area_struct *vma)
{
	unsigned long state[] = {
		vma->vm_start, vma->vm_end, vma->vm_pgoff, vma->vm_flags & ~VMA_LOCK_UNSTABLE_FLAGS,
		(unsigned long)vma->vm_file, (unsigned long)vma_given_name(vma),
	};

	return jhash2((u32 *)state, sizeof(state) / (sizeof(u32)), 0);
}

/**
 * vma_lock_check() - warn if a VMA has changed without being write-locked
 * @vma: the VMA, read-locked or just write-locked
 * @word: its lock word; of a VMA that was just write-locked, the one from before
 *
 * Context: any. The first call after a write-lock has ended notes a hash, later ones
 * compare; a VMA that is write-locked may change.
 */
void vma_lock_check(struct vm_area_struct *vma, long word)
{
	unsigned long number = (unsigned long)word >> VMA_HOLD_SEQ_SHIFT;
	unsigned long hash;

	if ((word & VMA_HOLD_DETACHED) ||
	    vma_word_write_locked(word, READ_ONCE(vma->vm_mm->vma_seq)))
		return;
	hash = vma_lock_hash(vma);
	/* Acquire: read the number before the hash; pairs with the release below. */
	if (smp_load_acquire(&vma->vm_hold_noted) != number + 1) {
		WRITE_ONCE(vma->vm_hold_hash, hash);
		/* Release: publish the hash before the number; pairs with the acquire above. */
		smp_store_release(&vma->vm_hold_noted, number + 1);
	} else if (READ_ONCE(vma->vm_hold_hash) != hash) {
		dump_vma(vma);
		WARN_ONCE(1, "VMA changed without vma_change_begin()");
	}
}
