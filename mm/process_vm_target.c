// SPDX-License-Identifier: GPL-2.0
/* The address space of a process, by its pidfd. */
#include <linux/err.h>
#include <linux/mm_ref.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "process_vm.h"

/* If the leader has exited, another thread has the memory; *@thread gets a reference. */
static struct mm_struct *process_vm_thread_mm(struct task_struct *task, unsigned long flags,
					      struct task_struct **thread)
{
	struct mm_struct *mm = mm_ref_get(task);
	struct task_struct *t = task;

	rcu_read_lock();
	if (!mm && (flags & PROCESS_VM_PIDFD)) {
		for_each_thread(task, t) {
			mm = mm_ref_get(t);
			if (mm)
				break;
		}
	}
	if (mm)
		*thread = get_task_struct(t);
	rcu_read_unlock();
	return mm;
}

/**
 * process_vm_grab - get a reference (mm_count) to the memory of a target, if permitted
 * @task: the task; the leader of the process with PROCESS_VM_PIDFD
 * @flags: PROCESS_VM_* flags
 * @mode: PTRACE_MODE_* of the access
 *
 * Context: exec_update_lock of @task held: credentials and memory stay as they are.
 * Does not sleep. Takes no mm_users: a caller without permission must not drop the last.
 * Return: the address space, to be released with mmdrop(). -ESRCH: there is none;
 * -EACCES: the caller lacks permission.
 */
struct mm_struct *process_vm_grab(struct task_struct *task, unsigned long flags, unsigned int mode)
{
	struct task_struct *thread;
	struct mm_struct *mm = process_vm_thread_mm(task, flags, &thread);

	if (!mm)
		return ERR_PTR(-ESRCH);
	if (mm != current->mm && !ptrace_may_access(thread, mode)) {
		mmdrop(mm);
		mm = ERR_PTR(-EACCES);
	}
	put_task_struct(thread);
	return mm;
}

/**
 * process_vm_access - mm_access() for all threads of a process with PROCESS_VM_PIDFD
 * @task: the task; the leader of the process with PROCESS_VM_PIDFD
 * @flags: PROCESS_VM_* flags
 *
 * Context: process context. Waits, killably, for exec_update_lock of @task.
 * Return: the address space, to be released with mmput(). -ESRCH: there is none;
 * -EACCES: the caller lacks permission; -EINTR: killed while waiting.
 */
struct mm_struct *process_vm_access(struct task_struct *task, unsigned long flags)
{
	struct mm_struct *mm, *used;
	int err;

	err = down_read_killable(&task->signal->exec_update_lock);
	if (err)
		return ERR_PTR(err);
	mm = process_vm_grab(task, flags, PTRACE_MODE_ATTACH_REALCREDS);
	if (!IS_ERR(mm)) {
		used = mmget_not_zero(mm) ? mm : ERR_PTR(-ESRCH);
		mmdrop(mm);
		mm = used;
	}
	up_read(&task->signal->exec_update_lock);
	return mm;
}
