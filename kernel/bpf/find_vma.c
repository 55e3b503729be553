// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_find_vma() of programs that are not sleepable: it holds the VMA, not mmap_lock.
 * Sleepable ones use that of task_iter.c: code that may fault must not hold a VMA.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/err.h>
#include <linux/filter.h>
#include <linux/irqflags.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>

#include "find_vma.h"

static struct vm_area_struct *bpf_vma_hold(struct mm_struct *mm, u64 start, u64 flags)
{
	struct vma_search search;

	if (!mm)
		return NULL;
	vma_search_begin(&search, mm, start);
	search.covering = !(flags & BPF_F_VMA_NEXT);
	return vma_search_rcu(&search);
}

/*
 * While alloc_lock is held here, the other task cannot leave its address space; while a VMA of
 * that is held, it is not freed. Only try the lock: this may have interrupted its owner.
 */
static struct vm_area_struct *bpf_vma_hold_other(struct task_struct *task, u64 start, u64 flags)
{
	struct vm_area_struct *vma = NULL;

	/* A spinlock that sleeps cannot be tried there. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && irqs_disabled())
		return ERR_PTR(-EBUSY);
	if (!spin_trylock(&task->alloc_lock))
		return ERR_PTR(-EBUSY);
	if (!(READ_ONCE(task->flags) & PF_KTHREAD))
		vma = bpf_vma_hold(task->mm, start, flags);
	spin_unlock(&task->alloc_lock);
	return vma;
}

BPF_CALL_5(bpf_find_vma_held, struct task_struct *, task, u64, start,
	   bpf_callback_t, callback_fn, void *, callback_ctx, u64, flags)
{
	struct vm_area_struct *vma;

	if (bpf_callback_may_sleep())
		return bpf_find_vma_proto.func((long)task, start, (long)callback_fn,
					       (long)callback_ctx, flags);
	if (flags & ~BPF_F_VMA_NEXT)
		return -EINVAL;
	if (!task)
		return -ENOENT;
	/* A writer may wait for the VMA. */
	preempt_disable_nort();
	if (task == current)
		vma = bpf_vma_hold(task->mm, start, flags);
	else
		vma = bpf_vma_hold_other(task, start, flags);
	if (!IS_ERR_OR_NULL(vma)) {
		callback_fn((u64)(long)task, (u64)(long)vma, (u64)(long)callback_ctx, 0, 0);
		vma_hold_end(vma);
	}
	preempt_enable_nort();
	if (IS_ERR(vma))
		return -EBUSY;
	return vma ? 0 : -ENOENT;
}

const struct bpf_func_proto bpf_find_vma_held_proto = {
	.func		= bpf_find_vma_held,
	.ret_type	= RET_INTEGER,
	.arg1_type	= ARG_PTR_TO_BTF_ID,
	.arg1_btf_id	= &btf_tracing_ids[BTF_TRACING_TYPE_TASK],
	.arg2_type	= ARG_ANYTHING,
	.arg3_type	= ARG_PTR_TO_FUNC,
	.arg4_type	= ARG_PTR_TO_STACK_OR_NULL,
	.arg5_type	= ARG_ANYTHING,
};
