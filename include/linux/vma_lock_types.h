/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What struct mm_struct holds for those who search its tree of VMAs without
 * mmap_lock; see vma_lock.h.
 */
#ifndef _LINUX_VMA_LOCK_TYPES_H
#define _LINUX_VMA_LOCK_TYPES_H

#include <linux/seqlock.h>
#include <linux/types.h>

/*
 * mremap() takes VMAs out of the tree at up to three places in one write
 * section: at the new place, behind the new end, at the old place. Nothing else
 * in the kernel has more than one place; should something, the last range grows.
 */
#define VMA_REMOVALS	3

/**
 * struct vma_removal - VMAs that a writer took out of the tree
 * @start: where they begin
 * @end: where they end, exclusive
 * @flags: all VM_* bits that any of them had
 * @file: one of them at least had a file
 */
struct vma_removal {
	unsigned long start;
	unsigned long end;
	unsigned long flags;
	bool file;
};

/**
 * struct vma_changes - what the present write section did to the tree
 * @stores: odd while the tree is being stored to
 * @nr_removed: how many of @removed are in use
 * @removed: holes that may be about to be filled again
 *
 * Written by the writer only. In a write section each range only ever grows.
 */
struct vma_changes {
	seqcount_t stores;
	unsigned int nr_removed;
	struct vma_removal removed[VMA_REMOVALS];
};

#endif /* _LINUX_VMA_LOCK_TYPES_H */
