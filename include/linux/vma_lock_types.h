/* SPDX-License-Identifier: GPL-2.0 */
/* Per-VMA locks: their part of vm_area_struct and mm_struct; see vma_lock.h. */
#ifndef _LINUX_VMA_LOCK_TYPES_H
#define _LINUX_VMA_LOCK_TYPES_H

#include <linux/atomic.h>
#include <linux/seqlock.h>
#include <linux/types.h>

/*
 * vm_area_struct.vm_hold: the number of readers, two flags, and the value of
 * mm->vma_seq, odd, for which the VMA was write-locked last.
 */
#define VMA_HOLD_READER		0x001L
#define VMA_HOLD_READERS	0x3ffL
#define VMA_HOLD_WAITING	0x400L	/* a writer sleeps for READERS == 0 */
#define VMA_HOLD_DETACHED	0x800L	/* in no tree: no reader may lock it */
#define VMA_HOLD_SEQ_SHIFT	12

/*
 * mremap() removes VMAs at up to three places in one write section: at the new
 * place, at the old place, and what it cuts off the old place when it also
 * shrinks. Only shmdt() can have more, one for each piece of the segment: the
 * last range then covers the rest, and a reader waits for the holes in there
 * until shmdt() ends.
 */
#define VMA_REMOVALS	3

/**
 * struct vma_removal - VMAs that a writer removed from the tree
 * @start: the start of the first
 * @end: the end of the last, exclusive
 */
struct vma_removal {
	unsigned long start;
	unsigned long end;
};

/**
 * struct vma_changes - what the current write section did to the tree
 * @stores: odd while the writer stores to the tree
 * @nr_removed: how many of @removed are in use
 * @removed: holes that the writer may fill again
 * @starved: how many readers wait for a time without write sections, see
 *	mm/vma_wait.c. Only the readers write this
 * @let_in: when they were given one last, in jiffies
 * @code: the generation that began, or will begin, at the end of the last write
 *	section that changed code; see vma_generation.h
 *
 * Only the writer writes the rest. In a write section each range only grows.
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
