/* SPDX-License-Identifier: GPL-2.0 */
/* Allocation of struct vm_area_struct with its lock word. */
#ifndef _LINUX_VMA_LOCK_INIT_H
#define _LINUX_VMA_LOCK_INIT_H

#include <linux/atomic.h>
#include <linux/mm_types.h>
#include <linux/string.h>
#include <linux/vma_lock_types.h>

#ifdef CONFIG_VMA_SEARCH

/* A reader may test a free VMA: its memory must remain a VMA's. */
#define VMA_LOCK_SLAB_FLAGS	SLAB_TYPESAFE_BY_RCU

/**
 * vma_zero_except_hold() - zero a VMA except for its lock, which becomes detached
 * @vma: a VMA that is in no tree; readers with an old pointer find it detached
 *
 * Context: any.
 */
static inline void vma_zero_except_hold(struct vm_area_struct *vma)
{
	memset(vma, 0, offsetof(struct vm_area_struct, vm_hold));
	memset_after(vma, 0, vm_hold);
	atomic_long_set(&vma->vm_hold, VMA_HOLD_DETACHED);
}

/**
 * vma_copy_except_hold() - copy a VMA except for its lock, which is detached
 * @new: a VMA from the cache, in no tree
 * @orig: the VMA to copy
 *
 * Context: the caller keeps @orig from changing, except for its shared.rb, and for what readers
 * note in it (CONFIG_DEBUG_VM).
 */
static inline void vma_copy_except_hold(struct vm_area_struct *new,
					const struct vm_area_struct *orig)
{
	const size_t after = offsetofend(struct vm_area_struct, vm_hold);

	/* It is detached already, unless it is new to the cache: then no reader can know it. */
	atomic_long_set(&new->vm_hold, VMA_HOLD_DETACHED);
	/* Others may change orig->shared.rb. The owner of @new sets its own. */
	data_race(memcpy(new, orig, offsetof(struct vm_area_struct, vm_hold)));
	/* The same. */
	data_race(memcpy((void *)new + after, (const void *)orig + after, sizeof(*new) - after));
}

#else /* !CONFIG_VMA_SEARCH */

#define VMA_LOCK_SLAB_FLAGS	0

static inline void vma_zero_except_hold(struct vm_area_struct *vma)
{
	memset(vma, 0, sizeof(*vma));
}

static inline void vma_copy_except_hold(struct vm_area_struct *new,
					const struct vm_area_struct *orig)
{
	/* Others may change orig->shared.rb. The owner of @new sets its own. */
	data_race(memcpy(new, orig, sizeof(*new)));
}

#endif /* CONFIG_VMA_SEARCH */
#endif /* _LINUX_VMA_LOCK_INIT_H */
