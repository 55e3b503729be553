/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Visits: to look at an address space without being one of its users.
 *
 * Whoever holds mm_users of somebody else may be the last who does. Then he has
 * to tear the address space down, and that may wait for as long as the file
 * systems of the process like. A visitor holds mm_count, which keeps the struct
 * only, and holds mmap_lock while he looks. Two rules keep the end away:
 *
 * - with mmap_lock held, a visitor looks at mm_users. If it is 0 he leaves;
 * - who drops the last of mm_users takes and releases mmap_lock for writing
 *   before he tears anything down.
 *
 * So whoever saw users under mmap_lock has them for as long as he holds it: what
 * may be done with mmap_lock and mm_users held may be done on a visit.
 */
#ifndef _LINUX_MM_VISIT_H
#define _LINUX_MM_VISIT_H

#include <linux/atomic.h>
#include <linux/kconfig.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/preempt.h>

struct task_struct;

struct mm_struct *mm_visit_get(struct task_struct *task);
struct mm_struct *mm_visit_access(struct task_struct *task, unsigned int mode);
bool mm_visit_trylock(struct mm_struct *mm);
int mm_visit_lock_killable(struct mm_struct *mm);
void mm_visit_end(struct mm_struct *mm);

/**
 * mm_visit_over() - has an address space lost its last user?
 * @mm: the address space, its mm_count held
 *
 * Return: true if it has, and will never have another. False says something
 * about this moment only, but on a visit.
 */
static inline bool mm_visit_over(const struct mm_struct *mm)
{
	return !atomic_read(&mm->mm_users);
}

/**
 * mm_visit_unlock() - end a visit
 * @mm: the address space, as given to mm_visit_trylock() or mm_visit_lock_killable()
 */
static inline void mm_visit_unlock(struct mm_struct *mm)
{
	mmap_read_unlock(mm);
}

/**
 * mm_visit_hold() - keep the processor, before a lock of the process is tried
 *
 * The process would wait for as long as the visitor is off the processor with the
 * lock held, and low priority or a quota may keep him off for long. PREEMPT_RT
 * has spinlocks that sleep, and could not wake a writer like this.
 *
 * Context: any. Nothing may sleep until mm_visit_let_go(), but with PREEMPT_RT.
 */
static inline void mm_visit_hold(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

/**
 * mm_visit_let_go() - when that lock has been released
 *
 * Context: after mm_visit_hold().
 */
static inline void mm_visit_let_go(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

#endif /* _LINUX_MM_VISIT_H */
