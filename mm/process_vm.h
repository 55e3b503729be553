/* SPDX-License-Identifier: GPL-2.0 */
/* Flags of process_vm_readv(2) and process_vm_writev(2). */
#ifndef _MM_PROCESS_VM_H
#define _MM_PROCESS_VM_H

#include <linux/err.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/uio.h>
#include <uapi/linux/process_vm.h>

struct mm_struct;
struct page;

struct mm_struct *process_vm_grab(struct task_struct *task, unsigned long flags, unsigned int mode);
struct mm_struct *process_vm_access(struct task_struct *task, unsigned long flags);
struct mm_struct *process_vm_access_nowait(struct task_struct *task, unsigned long flags);
int process_vm_rw_nowait(const struct iovec *remote, struct iov_iter *iter, struct mm_struct *mm,
			 struct page **pages, unsigned int max_pages, int vm_write);

/**
 * process_vm_task - get the task that the first argument names
 * @which: thread ID in the caller's PID namespace; a pidfd with PROCESS_VM_PIDFD
 * @flags: PROCESS_VM_* flags
 *
 * Return: the task, with a reference. -EBADF: @which is no pidfd; -ESRCH: there is
 * no such thread, the process has been reaped, or the pidfd is of a thread that does
 * not lead one.
 */
static inline struct task_struct *process_vm_task(int which, unsigned long flags)
{
	struct task_struct *task;
	unsigned int file_flags;

	if (unlikely(flags & PROCESS_VM_PIDFD))
		return pidfd_get_task(which, &file_flags);
	task = find_get_task_by_vpid(which);
	return task ? task : ERR_PTR(-ESRCH);
}

#endif /* _MM_PROCESS_VM_H */
