/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flags of process_vm_readv(2) and process_vm_writev(2).
 */
#ifndef _MM_PROCESS_VM_H
#define _MM_PROCESS_VM_H

#include <linux/mm_types.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <uapi/linux/process_vm.h>

struct task_struct;

#define PROCESS_VM_FLAGS	(PROCESS_VM_PIDFD | PROCESS_VM_NOWAIT)

int process_vm_target(int which, unsigned long flags, struct task_struct **task,
		      struct mm_struct **mm);
int process_vm_rw_nowait(const struct iovec *remote, struct iov_iter *iter, struct mm_struct *mm,
			 struct page **pages, unsigned int max_pages, int vm_write);

/**
 * process_vm_put_mm - release the address space of process_vm_target()
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
