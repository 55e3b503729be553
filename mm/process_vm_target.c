// SPDX-License-Identifier: GPL-2.0
/*
 * Find the target of process_vm_readv(2) and process_vm_writev(2), depending on
 * their flags.
 */
#include <linux/err.h>
#include <linux/mm_visit.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "process_vm.h"

static struct task_struct *process_vm_task(int which, unsigned long flags)
{
	struct task_struct *task;
	unsigned int file_flags;

	if (flags & PROCESS_VM_PIDFD)
		return pidfd_get_task(which, &file_flags);

	task = find_get_task_by_vpid(which);
	return task ? task : ERR_PTR(-ESRCH);
}

/*
 * Get the address space of a task. A pidfd stands for the whole process: if the
 * leader has exited, another thread still has the memory. If there is an
 * address space, store its thread in *@thread, with a reference.
 */
static struct mm_struct *process_vm_thread_mm(struct task_struct *task, unsigned long flags,
					      struct task_struct **thread)
{
	struct mm_struct *mm = mm_visit_get(task);
	struct task_struct *t = task;

	rcu_read_lock();
	if (!mm && (flags & PROCESS_VM_PIDFD)) {
		for_each_thread(task, t) {
			mm = mm_visit_get(t);
			if (mm)
				break;
		}
	}
	if (mm)
		*thread = get_task_struct(t);
	rcu_read_unlock();
	return mm;
}

/*
 * To log a denied access, Yama reads the target's command line, which may wait
 * for the target. So do not let it log with PROCESS_VM_NOWAIT.
 */
static unsigned int process_vm_ptrace_mode(unsigned long flags)
{
	if (flags & PROCESS_VM_NOWAIT)
		return PTRACE_MODE_ATTACH_REALCREDS | PTRACE_MODE_NOAUDIT;
	return PTRACE_MODE_ATTACH_REALCREDS;
}

/*
 * The caller holds exec_update_lock, so exec cannot change the credentials or
 * the memory of the thread between the two looks. Hold only mm_count: a caller
 * without permission must not keep the address space alive, nor tear it down.
 */
static struct mm_struct *process_vm_visit_mm(struct task_struct *task, unsigned long flags)
{
	struct task_struct *thread;
	struct mm_struct *mm;

	mm = process_vm_thread_mm(task, flags, &thread);
	if (!mm)
		return ERR_PTR(-ESRCH);

	if (mm != current->mm && !ptrace_may_access(thread, process_vm_ptrace_mode(flags))) {
		mmdrop(mm);
		mm = ERR_PTR(-EACCES);
	}
	put_task_struct(thread);
	return mm;
}

/*
 * Turn mm_count into mm_users, as mm_access() returns it: without
 * PROCESS_VM_NOWAIT the transfer sleeps with mmap_lock held.
 */
static struct mm_struct *process_vm_use_mm(struct mm_struct *visited)
{
	struct mm_struct *mm = mmget_not_zero(visited) ? visited : ERR_PTR(-ESRCH);

	mmdrop(visited);
	return mm;
}

static struct mm_struct *process_vm_access_waiting(struct task_struct *task, unsigned long flags)
{
	struct mm_struct *mm;
	int err;

	err = down_read_killable(&task->signal->exec_update_lock);
	if (err)
		return ERR_PTR(err);
	mm = process_vm_visit_mm(task, flags);
	if (!IS_ERR(mm))
		mm = process_vm_use_mm(mm);
	up_read(&task->signal->exec_update_lock);
	return mm;
}

/*
 * Calling ptrace_may_access() with preemption disabled is allowed: it decides
 * under a spinlock.
 */
static struct mm_struct *process_vm_access_nowait(struct task_struct *task, unsigned long flags)
{
	struct mm_struct *mm = ERR_PTR(-EAGAIN);

	mm_visit_hold();
	if (down_read_trylock(&task->signal->exec_update_lock)) {
		mm = process_vm_visit_mm(task, flags);
		up_read(&task->signal->exec_update_lock);
	}
	mm_visit_let_go();
	return mm;
}

/**
 * DOC: errno of PROCESS_VM_PIDFD and PROCESS_VM_NOWAIT
 *
 * .. list-table::
 *    :header-rows: 1
 *    :widths: 14 44 42
 *
 *    * - errno
 *      - when
 *      - tested by
 *    * - EINVAL
 *      - ``flags`` has an unknown bit
 *      - process_vm_flags_test: flags.a_probe_gets_EINVAL_for_every_other_bit,
 *        flags.an_unknown_bit_is_EINVAL_and_copies_nothing
 *    * - EBADF
 *      - ``PROCESS_VM_PIDFD``: the argument is not a descriptor, or not one of a pidfd
 *      - process_vm_pidfd_test: what_is_no_pidfd_is_EBADF
 *    * - ESRCH
 *      - the process has exited
 *      - process_vm_pidfd_test: an_exited_process_is_ESRCH_before_and_after_it_is_reaped
 *    * - ESRCH
 *      - the process is a kernel thread
 *      - process_vm_pidfd_test: a_kernel_thread_has_no_memory
 *    * - ESRCH
 *      - ``PROCESS_VM_NOWAIT``: the process exits during the call, and nothing was transferred
 *      - process_vm_exit_test:
 *        last.NOWAIT.calls_that_race_with_the_death_of_a_large_target_return
 *    * - EPERM
 *      - the caller lacks the permission that a call without flags needs, too
 *      - process_vm_pidfd_test: another_user_s_process_is_EPERM,
 *        a_process_that_is_not_dumpable_is_EPERM
 *    * - EFAULT
 *      - ``PROCESS_VM_NOWAIT``: the first byte would have to be waited for
 *      - process_vm_stall_test: stall.uffd_missing.NOWAIT_returns,
 *        stall.fuse_page.NOWAIT_returns, stall.swapped.NOWAIT_returns
 *    * - EFAULT
 *      - ``PROCESS_VM_NOWAIT``: the first byte to write is not mapped writable at this moment
 *      - process_vm_resident_test:
 *        memory.untouched.NOWAIT_write_ends_at_a_fault_and_changes_nothing,
 *        memory.forked.NOWAIT_write_ends_at_a_fault_and_changes_nothing
 *    * - EAGAIN
 *      - ``PROCESS_VM_NOWAIT``: someone else has locked the address space at this moment, and
 *        nothing was transferred
 *      - process_vm_stall_test: stall.mmap_written.NOWAIT_returns,
 *        stall.mmap_queued.NOWAIT_returns
 *    * - EAGAIN
 *      - ``PROCESS_VM_NOWAIT``: the process is in the middle of execve(2)
 *      - process_vm_stall_test: stall.exec.NOWAIT_returns, stall.exec_old_mm.NOWAIT_returns
 *    * - EINTR
 *      - the caller was killed, and nothing was transferred
 *      - process_vm_stall_test: a_call_that_is_killed_is_EINTR
 */

static struct mm_struct *process_vm_access(struct task_struct *task, unsigned long flags)
{
	if (flags & PROCESS_VM_NOWAIT)
		return process_vm_access_nowait(task, flags);
	return process_vm_access_waiting(task, flags);
}

/**
 * process_vm_target - get the target of a call that has flags
 * @which: thread ID in the caller's PID namespace, or a pidfd with
 *	PROCESS_VM_PIDFD
 * @flags: PROCESS_VM_* flags
 * @task: where to store the task, with a reference; the leader of the process
 *	with PROCESS_VM_PIDFD
 * @mm: where to store the address space, for process_vm_put_mm()
 *
 * Like find_get_task_by_vpid() and mm_access(), but for all threads of a
 * process with PROCESS_VM_PIDFD, and without waiting with PROCESS_VM_NOWAIT. In
 * the latter case the caller gets mm_count instead of mm_users, and can visit
 * the address space (see <linux/mm_visit.h>).
 *
 * Context: Process context. Takes and drops exec_update_lock and task_lock() of
 * the task. Waits for exec_update_lock, killably, but only tries it with
 * PROCESS_VM_NOWAIT.
 * Return: 0, or an error with nothing stored. -EBADF: @which is no pidfd;
 * -ESRCH: there is no such thread, the process has been reaped, its address
 * space is gone, or it never had one; -EPERM: the caller lacks permission;
 * -EAGAIN: with PROCESS_VM_NOWAIT, the task is in execve(); -EINTR: without
 * PROCESS_VM_NOWAIT, the caller was killed while waiting.
 */
int process_vm_target(int which, unsigned long flags, struct task_struct **task,
		      struct mm_struct **mm)
{
	struct task_struct *found = process_vm_task(which, flags);
	struct mm_struct *accessed;

	if (IS_ERR(found))
		return PTR_ERR(found);

	accessed = process_vm_access(found, flags);
	if (IS_ERR(accessed)) {
		put_task_struct(found);
		/* As without flags: EPERM is what programs expect */
		return accessed == ERR_PTR(-EACCES) ? -EPERM : PTR_ERR(accessed);
	}
	*task = found;
	*mm = accessed;
	return 0;
}
