/* SPDX-License-Identifier: GPL-2.0 */
/* Per-VMA locks: their part of vm_area_struct and mm_struct; see vma_lock.h. */
#ifndef _LINUX_VMA_LOCK_TYPES_H
#define _LINUX_VMA_LOCK_TYPES_H

#include <linux/atomic.h>
#include <linux/seqlock.h>
#include <linux/types.h>

/* vm_area_struct.vm_hold. Bits from 12: the (odd) mm->vma_seq of the last write-lock. */
#define VMA_HOLD_READER		0x001L
#define VMA_HOLD_READERS	0x3ffL
#define VMA_HOLD_WAITING	0x400L	/* a writer sleeps for READERS == 0 */
#define VMA_HOLD_DETACHED	0x800L	/* no reader can lock it */
#define VMA_HOLD_SEQ_SHIFT	12

/*
 * mremap() removes VMAs at three places: at the new address, at an end that is cut off, and where
 * the VMA was. If shmdt() removes more, the last range grows.
 */
#define VMA_REMOVALS	3

/* A range whose VMAs a writer removes from the tree; @end is exclusive. */
struct vma_removal {
	unsigned long start;
	unsigned long end;
};

/**
 * struct vma_changes - what a writer and the readers of an address space tell each other
 * @stores: odd while the writer stores to the tree
 * @nr_removed: ranges of @removed in use
 * @removed: holes that the writer may fill again; a range only grows
 * @starved: readers to be let in, which sleep on its address, see mm/vma_wait.c; the only
 *	field that readers write
 * @let_in: when they were let in last, in jiffies; the writer that does so sleeps on its address
 * @code: generation that begins with the end of the last section that changed code
 */
struct vma_changes {
	seqcount_t stores;
	unsigned int nr_removed;
	struct vma_removal removed[VMA_REMOVALS];
	atomic_t starved;
	unsigned int let_in;
	u64 code;
};

#endif /* _LINUX_VMA_LOCK_TYPES_H */
