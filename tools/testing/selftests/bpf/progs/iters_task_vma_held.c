// SPDX-License-Identifier: GPL-2.0
/* Walk the VMAs of a task in a fork of it, in interrupts, and for all tasks. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "bpf_experimental.h"
#include "bpf_misc.h"

#include "../iters_task_vma_held.h"

char _license[] SEC("license") = "GPL";

/* Weak: on a kernel without it nothing is said to be skipped. */
extern __u64 bpf_iter_task_vma_skipped(struct bpf_iter_task_vma *it__iter) __weak __ksym;

__u32 target = 0;

/* These VMAs of the target do not change. */
__u64 kept_start = 0;
__u64 kept_end = 0;
__u64 kept_nr = 0;

/* The target unmaps these; how many of them one step skips */
__u64 unmapped = 0;
__u64 most_skipped = 0;

/* One walk */
struct iters_vma vmas[ITERS_VMA_MAX] = {};
__u32 nr_vmas = 0;

struct iters_walks in_fork = {};
struct iters_walks in_interrupt = {};

SEC("raw_tp/sys_enter")
int walk(void *ctx)
{
	struct vm_area_struct *vma;
	__u32 nr = 0;

	bpf_for_each(task_vma, vma, bpf_get_current_task_btf(), 0) {
		if (bpf_cmp_unlikely(nr, >=, ITERS_VMA_MAX))
			break;
		vmas[nr].start = vma->vm_start;
		vmas[nr].end = vma->vm_end;
		nr++;
	}
	nr_vmas = nr;
	return 0;
}

static __always_inline void count_walk(struct task_struct *task, struct iters_walks *walks)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	__u64 seen = 0, skipped = 0;

	if (bpf_iter_task_vma_new(&it, task, 0)) {
		walks->failed++;
	} else {
		while ((vma = bpf_iter_task_vma_next(&it)))
			seen += vma->vm_start >= kept_start && vma->vm_end <= kept_end;
		if (bpf_ksym_exists(bpf_iter_task_vma_skipped))
			skipped = bpf_iter_task_vma_skipped(&it);
		if (seen == kept_nr)
			walks->complete++;
		else if (skipped)
			walks->skipped++;
		else
			walks->silent++;
	}
	bpf_iter_task_vma_destroy(&it);
}

/* The target forks, and allocates memory for a VMA of its child. */
SEC("raw_tp/kmem_cache_alloc")
int walk_in_fork(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->pid == target)
		count_walk(task, &in_fork);
	return 0;
}

/* The target has write-locked what it unmaps, and allocates memory for the tree. */
SEC("raw_tp/kmem_cache_alloc")
int walk_in_munmap(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_iter_task_vma it;
	__u64 skipped = 0;

	if (task->pid != target || !bpf_ksym_exists(bpf_iter_task_vma_skipped))
		return 0;
	if (!bpf_iter_task_vma_new(&it, task, unmapped)) {
		bpf_iter_task_vma_next(&it);
		skipped = bpf_iter_task_vma_skipped(&it);
	}
	bpf_iter_task_vma_destroy(&it);
	if (skipped > most_skipped)
		most_skipped = skipped;
	return 0;
}

SEC("perf_event")
int walk_in_interrupt(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	/* A thread that exits loses its address space first. */
	if (task->tgid == target && task->pid != target && task->mm)
		count_walk(task, &in_interrupt);
	return 0;
}

static __always_inline int each(struct bpf_iter__task *ctx)
{
	struct iters_task_error line = {};
	struct task_struct *task = ctx->task;
	struct bpf_iter_task_vma it;

	if (!task)
		return 0;
	line.pid = task->pid;
	line.err = bpf_iter_task_vma_new(&it, task, 0);
	while (bpf_iter_task_vma_next(&it))
		line.seen++;
	bpf_iter_task_vma_destroy(&it);
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	return each(ctx);
}

/* This one may fault, so it gets copies. */
SEC("iter.s/task")
int each_task_sleepable(struct bpf_iter__task *ctx)
{
	return each(ctx);
}
