/* SPDX-License-Identifier: GPL-2.0 */
/*
 * References to an address space that are not mm_users: the task that drops the last of
 * mm_users may block for ever on file systems. A reader holds mm_count, which keeps the struct.
 * For VMAs it tests mm_ref_exited() after each rcu_read_lock(). For pages it takes
 * mm_ref_trylock(), and __mmput() waits for it.
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
void mm_ref_unlock(struct mm_struct *mm);
void mm_ref_drain(struct mm_struct *mm);

/**
 * mm_ref_exited() - has an address space lost its last user?
 * @mm: the address space, its mm_count held
 *
 * Context: any.
 * Return: true if it has: it never gets a user again. Whoever has mm_ref_trylock()
 * may see true, too: the teardown then waits for mm_ref_unlock().
 */
static inline bool mm_ref_exited(const struct mm_struct *mm)
{
	return !atomic_read(&mm->mm_users);
}

/**
 * preempt_disable_nort() - disable preemption before taking a lock others wait for
 *
 * Context: any. No sleep until preempt_enable_nort(), except with PREEMPT_RT,
 * where the reader takes spinlocks, which sleep, under the lock.
 */
static inline void preempt_disable_nort(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

/**
 * preempt_enable_nort() - enable preemption after releasing that lock
 *
 * Context: after preempt_disable_nort().
 */
static inline void preempt_enable_nort(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

#endif /* _LINUX_MM_REF_H */
