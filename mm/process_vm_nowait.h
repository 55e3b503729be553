/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PROCESS_VM_NOWAIT of process_vm_readv(2) and process_vm_writev(2).
 */
#ifndef _MM_PROCESS_VM_NOWAIT_H
#define _MM_PROCESS_VM_NOWAIT_H

#include <linux/uio.h>

struct mm_struct;
struct page;
struct task_struct;

struct mm_struct *process_vm_access_nowait(struct task_struct *task, unsigned long flags);
int process_vm_rw_nowait(const struct iovec *remote, struct iov_iter *iter, struct mm_struct *mm,
			 struct page **pages, unsigned int max_pages, int vm_write);

#endif /* _MM_PROCESS_VM_NOWAIT_H */
