// SPDX-License-Identifier: GPL-2.0
/* Look up VMAs by bpf_find_vma() where nobody can wait. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "../find_vma_held.h"

char _license[] SEC("license") = "GPL";

pid_t target = 0;

/* One lookup: what is asked, and what was found. */
__u64 addr = 0;
__u64 flags = 0;
int ret = 0;
struct found_vma found = {};

/* A walk, and how it ended */
struct found_vma vmas[FIND_VMA_MAX] = {};
__u32 nr_vmas = 0;

/* Samples of the other threads of the target; those of all in which @addr was not found */
__u64 samples = 0;
__u64 failed = 0;
int failed_ret = 0;

static long note(struct task_struct *task, struct vm_area_struct *vma, struct found_vma *to)
{
	to->start = vma->vm_start;
	to->end = vma->vm_end;
	return 0;
}

static int look_up(struct task_struct *task, __u64 at, struct found_vma *to)
{
	return bpf_find_vma(task, at, note, to, flags);
}

SEC("raw_tp/sys_enter")
int lookup(void *ctx)
{
	struct found_vma vma = {};

	ret = look_up(bpf_get_current_task_btf(), addr, &vma);
	found = vma;
	return 0;
}

struct walk {
	__u64 addr;
};

static long step(__u32 i, struct walk *walk)
{
	struct found_vma vma = {};

	ret = look_up(bpf_get_current_task_btf(), walk->addr, &vma);
	if (ret || i >= FIND_VMA_MAX)
		return 1;
	vmas[i] = vma;
	nr_vmas = i + 1;
	walk->addr = vma.end;
	return 0;
}

SEC("raw_tp/sys_enter")
int walk(void *ctx)
{
	struct walk walk = {};

	nr_vmas = 0;
	bpf_loop(FIND_VMA_MAX, step, &walk, 0);
	return 0;
}

/* In an interrupt, or in NMI */
SEC("perf_event")
int sample(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct found_vma vma = {};
	int err;

	if (task->tgid != target)
		return 0;
	err = look_up(task, addr, &vma);
	if (task->pid != target)
		__sync_fetch_and_add(&samples, 1);
	if (err) {
		__sync_fetch_and_add(&failed, 1);
		failed_ret = err;
	}
	return 0;
}

/* The first two VMAs of each task, or the error */
static __always_inline int first_vmas(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct found_vma first = {}, second = {};
	struct found_task line = {};

	if (!task)
		return 0;
	line.tgid = task->tgid;
	line.pid = task->pid;
	line.ret = bpf_find_vma(task, 0, note, &first, BPF_F_VMA_NEXT);
	if (!line.ret)
		line.ret = bpf_find_vma(task, first.end, note, &second, BPF_F_VMA_NEXT);
	line.first = first;
	line.second = second;
	bpf_seq_write(ctx->meta->seq, &line, sizeof(line));
	return 0;
}

SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	return first_vmas(ctx);
}

/* This one takes mmap_lock. */
SEC("iter.s/task")
int each_task_sleepable(struct bpf_iter__task *ctx)
{
	return first_vmas(ctx);
}
