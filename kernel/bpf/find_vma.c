// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_find_vma() of programs that do not sleep: it holds the VMA, not mmap_lock.
 *
 * A sleepable program may fault in its callback. That must not happen with a VMA
 * held, so it keeps the helper of task_iter.c.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/err.h>
#include <linux/filter.h>
#include <linux/irqflags.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>

/*
 * Keep task->mm as it is. Another task drops it, and maybe its last user, under
 * alloc_lock. Only try the lock: this may have interrupted its owner.
 */
static struct mm_struct *bpf_vma_mm_get(struct task_struct *task)
{
	struct mm_struct *mm;

	if (task == current)
		return task->mm;
	/* A spinlock that sleeps cannot be tried there. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && irqs_disabled())
		return ERR_PTR(-EBUSY);
	if (!spin_trylock(&task->alloc_lock))
		return ERR_PTR(-EBUSY);
	mm = task->flags & PF_KTHREAD ? NULL : task->mm;
	if (!mm)
		spin_unlock(&task->alloc_lock);
	return mm;
}

static void bpf_vma_mm_put(struct task_struct *task)
{
	if (task != current)
		spin_unlock(&task->alloc_lock);
}

BPF_CALL_5(bpf_find_vma_held, struct task_struct *, task, u64, start,
	   bpf_callback_t, callback_fn, void *, callback_ctx, u64, flags)
{
	struct vma_search search;
	struct vm_area_struct *vma;
	struct mm_struct *mm;

	if (flags & ~BPF_F_VMA_NEXT)
		return -EINVAL;
	if (!task)
		return -ENOENT;
	mm = bpf_vma_mm_get(task);
	if (IS_ERR_OR_NULL(mm))
		return mm ? PTR_ERR(mm) : -ENOENT;

	vma_search_begin(&search, mm, start);
	search.covering = !(flags & BPF_F_VMA_NEXT);
	/* A writer may wait for the VMA. */
	mm_ref_preempt_disable();
	vma = vma_search_rcu(&search);
	if (!IS_ERR_OR_NULL(vma)) {
		callback_fn((u64)(long)task, (u64)(long)vma, (u64)(long)callback_ctx, 0, 0);
		vma_hold_end(vma);
	}
	mm_ref_preempt_enable();
	bpf_vma_mm_put(task);
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
