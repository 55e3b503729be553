// SPDX-License-Identifier: GPL-2.0
/* Build IDs of user stacks for BPF programs that must not sleep. A held VMA keeps its file open. */
#include <linux/bpf.h>
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/err.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>

#include "stack_build_id.h"

/* Read from the VMA of a frame; @end: 0 if none was found; @base: file offset = @base + address. */
struct bpf_stack_vma {
	unsigned long start;
	unsigned long end;
	u64 base;
	bool has_id;
	unsigned char id[BUILD_ID_SIZE_MAX];
};

static void bpf_stack_vma_read(struct bpf_stack_vma *stack_vma, unsigned long ip)
{
	struct vm_area_struct *vma;
	struct vma_search search;
	unsigned int size;

	stack_vma->end = 0;
	stack_vma->has_id = false;
	vma_search_begin(&search, current->mm, ip);
	search.covering = true;
	/* A writer may wait for the VMA. */
	preempt_disable_nort();
	vma = vma_search_rcu(&search);
	if (!IS_ERR_OR_NULL(vma)) {
		stack_vma->start = vma->vm_start;
		stack_vma->end = vma->vm_end;
		stack_vma->base = ((u64)vma->vm_pgoff << PAGE_SHIFT) - vma->vm_start;
		stack_vma->has_id = vma->vm_file &&
				    !build_id_read_atomic(vma->vm_file, stack_vma->id, &size);
		vma_hold_end(vma);
	}
	preempt_enable_nort();
}

/**
 * bpf_stack_build_ids() - replace addresses of a user stack by build IDs and offsets
 * @ids: the frames of the current task; one keeps its address if it has no VMA or
 *	a writer is changing that, or if its file has no build ID in memory
 * @nr: how many there are
 *
 * Context: any, NMI included. The current task has an address space.
 */
void bpf_stack_build_ids(struct bpf_stack_build_id *ids, u32 nr)
{
	struct bpf_stack_vma stack_vma = {};
	u32 i;

	for (i = 0; i < nr; i++) {
		/* A program may have the frames in a map, which others write. */
		u64 ip = READ_ONCE(ids[i].ip);

		if (ip < stack_vma.start || ip >= stack_vma.end)
			bpf_stack_vma_read(&stack_vma, ip);
		if (stack_vma.has_id) {
			memcpy(ids[i].build_id, stack_vma.id, BUILD_ID_SIZE_MAX);
			ids[i].offset = stack_vma.base + ip;
			ids[i].status = BPF_STACK_BUILD_ID_VALID;
		} else {
			memset(ids[i].build_id, 0, BUILD_ID_SIZE_MAX);
			ids[i].ip = ip;
			ids[i].status = BPF_STACK_BUILD_ID_IP;
		}
	}
}
