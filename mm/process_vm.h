/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flags of process_vm_readv(2) and process_vm_writev(2).
 */
#ifndef _MM_PROCESS_VM_H
#define _MM_PROCESS_VM_H

#include <linux/err.h>
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/uio.h>
#include <uapi/linux/process_vm.h>

#define PROCESS_VM_FLAGS	(PROCESS_VM_PIDFD | PROCESS_VM_NOWAIT)

struct task_struct *process_vm_pidfd_task(int pidfd);
struct mm_struct *process_vm_access_mm(struct task_struct *task, unsigned long flags);
int process_vm_rw_nowait(const struct iovec *remote, struct iov_iter *iter, struct mm_struct *mm,
			 struct page **pages, unsigned int max_pages, int vm_write);

/**
 * process_vm_task - find the task that the first argument names
 * @pid: thread ID in the caller's PID namespace, or a pidfd with
 *	PROCESS_VM_PIDFD
 * @flags: PROCESS_VM_* flags
 *
 * Context: Process context.
 * Return: The task, with a reference. -EBADF: @pid is no pidfd; -ESRCH: there
 * is no such thread, or the process has been reaped.
 */
static inline struct task_struct *process_vm_task(pid_t pid, unsigned long flags)
{
	struct task_struct *task;

	if (unlikely(flags & PROCESS_VM_PIDFD))
		return process_vm_pidfd_task(pid);

	task = find_get_task_by_vpid(pid);
	return task ? task : ERR_PTR(-ESRCH);
}

/**
 * process_vm_mm - get the address space of a task, if the caller may access it
 * @task: the task; with PROCESS_VM_PIDFD, any task of the process
 * @flags: PROCESS_VM_* flags
 *
 * Context: Process context. Waits, killably, for exec_update_lock of the task,
 * except with PROCESS_VM_NOWAIT.
 * Return: The address space, for process_vm_put_mm(), or the errors of
 * process_vm_access_mm().
 */
static inline struct mm_struct *process_vm_mm(struct task_struct *task, unsigned long flags)
{
	if (likely(!flags))
		return mm_access(task, PTRACE_MODE_ATTACH_REALCREDS);
	return process_vm_access_mm(task, flags);
}

/**
 * process_vm_put_mm - release what process_vm_mm() returned
 * @mm: the address space
 * @flags: the same flags
 *
 * With PROCESS_VM_NOWAIT the caller holds mm_count only (see
 * <linux/mm_visit.h>), so it never tears the address space down.
 *
 * Context: Process context; does not sleep with PROCESS_VM_NOWAIT.
 */
static inline void process_vm_put_mm(struct mm_struct *mm, unsigned long flags)
{
	if (unlikely(flags & PROCESS_VM_NOWAIT))
		mmdrop(mm);
	else
		mmput(mm);
}

#endif /* _MM_PROCESS_VM_H */
