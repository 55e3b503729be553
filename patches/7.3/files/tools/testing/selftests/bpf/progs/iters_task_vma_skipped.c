// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "bpf_experimental.h"
#include "bpf_misc.h"

extern __u64 bpf_iter_task_vma_skipped(struct bpf_iter_task_vma *it__iter) __weak __ksym;

__u32 target_tid;
unsigned int complete, skipped, silent;

/* Walk the VMAs of a task that forks, and allocates memory for a VMA of its child. */
SEC("raw_tp/kmem_cache_alloc")
int walk_in_fork(const void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	__u64 missed = 0;
	int seen = 0;

	if (task->pid != target_tid)
		return 0;

	if (!bpf_iter_task_vma_new(&it, task, 0)) {
		while ((vma = bpf_iter_task_vma_next(&it)))
			seen++;
		if (bpf_ksym_exists(bpf_iter_task_vma_skipped))
			missed = bpf_iter_task_vma_skipped(&it);
		if (missed)
			skipped++;
		else if (seen == task->mm->map_count)
			complete++;
		else
			silent++;
	}
	bpf_iter_task_vma_destroy(&it);
	return 0;
}

char _license[] SEC("license") = "GPL";
