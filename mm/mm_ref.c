// SPDX-License-Identifier: GPL-2.0
/* References to an address space without mm_users; see <linux/mm_ref.h>. */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm_ref.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/wait_bit.h>

/**
 * mm_ref_get() - get a reference to the address space of a task, without mm_users
 * @task: the task
 *
 * Context: process context. Takes and drops task_lock() of @task.
 * Return: the address space, to be released with mmdrop(); NULL if @task has none
 * of its own: it has exited or is a kernel thread.
 */
struct mm_struct *mm_ref_get(struct task_struct *task)
{
	struct mm_struct *mm;

	/* Until it clears ->mm under this lock, a task is a user. PF_KTHREAD does not change. */
	task_lock(task);
	mm = READ_ONCE(task->flags) & PF_KTHREAD ? NULL : task->mm;
	if (mm)
		mmgrab(mm);
	task_unlock(task);
	return mm;
}

/**
 * mm_ref_access() - mm_access() without mm_users
 * @task: the task
 * @mode: PTRACE_MODE_* of the access
 *
 * Context: process context. Waits, killably, for exec_update_lock of @task.
 * Takes and drops task_lock() of @task.
 * Return: the address space, to be released with mmdrop(). -ESRCH: @task has
 * none; -EACCES: the caller lacks permission; -EINTR: killed while waiting.
 */
struct mm_struct *mm_ref_access(struct task_struct *task, unsigned int mode)
{
	struct mm_struct *mm;
	int err;

	err = down_read_killable(&task->signal->exec_update_lock);
	if (err)
		return ERR_PTR(err);
	mm = mm_ref_get(task);
	if (!mm) {
		mm = ERR_PTR(-ESRCH);
	} else if (mm != current->mm && !ptrace_may_access(task, mode)) {
		mmdrop(mm);
		mm = ERR_PTR(-EACCES);
	}
	up_read(&task->signal->exec_update_lock);
	return mm;
}

static void mm_ref_uncount(struct mm_struct *mm)
{
	/* Full barrier: the count before mm_users; pairs with mmput() and mm_ref_drain(). */
	if (atomic_dec_and_test(&mm->ref_lockers) && unlikely(mm_ref_exited(mm)))
		wake_up_var(&mm->ref_lockers);
}

/**
 * mm_ref_trylock() - lock an address space for reading if its mmap_lock is free
 * @mm: the address space, its mm_count held
 *
 * Context: as mmap_read_trylock(), after preempt_disable_nort(): the process may
 * wait for the caller.
 * Return: true with mmap_lock held for reading, for mm_ref_unlock(); false if a
 * writer has it, somebody waits for it, or no user of the address space is left.
 */
bool mm_ref_trylock(struct mm_struct *mm)
{
	atomic_inc(&mm->ref_lockers);
	/* Count before mm_users; pairs with mmput(), whose decrement is a full barrier. */
	smp_mb__after_atomic();
	if (likely(!mm_ref_exited(mm)) && mmap_read_trylock(mm))
		return true;
	mm_ref_uncount(mm);
	return false;
}

/**
 * mm_ref_unlock() - release what mm_ref_trylock() has locked
 * @mm: the address space, its mm_count held
 *
 * Context: mmap_lock held for reading by mm_ref_trylock().
 */
void mm_ref_unlock(struct mm_struct *mm)
{
	mmap_read_unlock(mm);
	mm_ref_uncount(mm);
}

/**
 * mm_ref_drain() - wait for those that hold mmap_lock by mm_ref_trylock()
 * @mm: the address space; the caller has just dropped the last of its mm_users
 *
 * Do not wait for others that hold it without mm_users: they may be preempted for long,
 * and any user may reap a process that was killed (process_mrelease(2)).
 *
 * Context: process context. Who has counted itself before mm_users became 0 is not
 * preempted, except with PREEMPT_RT. Who does it later sees the 0, and locks nothing.
 */
void mm_ref_drain(struct mm_struct *mm)
{
	/* Acquire: tear down after the reader's reads; pairs with mm_ref_uncount(). */
	wait_var_event(&mm->ref_lockers, !atomic_read_acquire(&mm->ref_lockers));
}
