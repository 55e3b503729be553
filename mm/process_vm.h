/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What process_vm_readv(2) and process_vm_writev(2) do by their flags.
 */
#ifndef _MM_PROCESS_VM_H
#define _MM_PROCESS_VM_H

#include <linux/mm_types.h>
#include <linux/uio.h>
#include <uapi/linux/process_vm.h>

#define PROCESS_VM_FLAGS	(PROCESS_VM_PIDFD | PROCESS_VM_NOWAIT)

struct task_struct *process_vm_task(pid_t pid, unsigned long flags);
struct mm_struct *process_vm_mm(struct task_struct *task, unsigned long flags);
void process_vm_put_mm(struct mm_struct *mm, unsigned long flags);

int process_vm_rw_nowait(const struct iovec *remote, struct iov_iter *iter, struct mm_struct *mm,
			 struct page **pages, unsigned int max_pages, int vm_write);
int process_vm_rw_pages(struct page **pages, unsigned int offset, size_t len, struct iov_iter *iter,
			int vm_write);

#endif /* _MM_PROCESS_VM_H */
