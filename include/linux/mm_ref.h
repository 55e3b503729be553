/* SPDX-License-Identifier: GPL-2.0 */
/*
 * References to an address space without mm_users.
 *
 * The task that drops the last of mm_users tears the address space down. This
 * can block indefinitely on the file systems that the process uses. So a reader
 * of another process holds mm_count, which keeps only the struct. A search for
 * VMAs reads mm_users in each RCU section, see vma_lookup_rcu(). A reader of
 * pages takes mmap_lock. Two rules exclude the teardown meanwhile:
 *
 * - With mmap_lock held, the reader tests mm_users. If that is 0, it gives up.
 * - The task that drops the last of mm_users takes and releases mmap_lock for
 *   writing before it tears anything down.
 *
 * So a reader that saw users under mmap_lock has them until it releases
 * mmap_lock. It may do all that is allowed with mmap_lock and mm_users held.
 */
#ifndef _LINUX_MM_REF_H
#define _LINUX_MM_REF_H

#include <linux/atomic.h>
#include <linux/kconfig.h>
#include <linux/mm_types.h>
#include <linux/preempt.h>

struct task_struct;

struct mm_struct *mm_ref_get(struct task_struct *task);
struct mm_struct *mm_ref_access(struct task_struct *task, unsigned int mode);
bool mm_ref_trylock(struct mm_struct *mm);
void mm_ref_drain(struct mm_struct *mm);

/**
 * mm_ref_exited() - has an address space lost its last user?
 * @mm: the address space, its mm_count held
 *
 * Context: any.
 * Return: true if it has; it will never have a user again. False lasts while
 * mm_ref_trylock() has mmap_lock; else it may be out of date at once.
 */
static inline bool mm_ref_exited(const struct mm_struct *mm)
{
	return !atomic_read(&mm->mm_users);
}

/**
 * mm_ref_preempt_disable() - disable preemption before taking a lock of the process
 *
 * A reader that is preempted with the lock held makes the process wait, for
 * long if it has low priority or a quota. Does nothing with PREEMPT_RT: its
 * spinlocks sleep, and the reader takes some while it holds the lock.
 *
 * Context: any. The caller must not sleep until mm_ref_preempt_enable(), except with
 * PREEMPT_RT.
 */
static inline void mm_ref_preempt_disable(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

/**
 * mm_ref_preempt_enable() - enable preemption after releasing that lock
 *
 * Context: after mm_ref_preempt_disable().
 */
static inline void mm_ref_preempt_enable(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

#endif /* _LINUX_MM_REF_H */
