// SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note
/*
 * At each sample: which file the code is in, at which offset, and the build ID of
 * the file. Later the process may be gone.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "profile.h"

/* Of a page of this machine; set before this is loaded */
__u32 page_shift = 12;

/* The fields that this reads; libbpf finds out where the kernel has them. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct mm_struct;

struct task_struct {
	struct mm_struct *mm;
	int tgid;
};

#pragma clang attribute pop

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} samples SEC(".maps");

/* Samples that found the buffer full */
__u64 nr_lost;

static long note_vma(struct task_struct *task, struct vm_area_struct *vma,
		     struct profile_sample *sample)
{
	struct file *file = vma->vm_file;

	if (!file)
		return 0;
	sample->offset += (vma->vm_pgoff << page_shift) - vma->vm_start;
	bpf_probe_read_kernel_str(sample->binary, sizeof(sample->binary),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return 0;
}

SEC("perf_event")
int take_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_stack_build_id frame = {};
	struct profile_sample sample = {};

	if (!task->mm ||
	    bpf_get_stack(ctx, &sample.offset, sizeof(sample.offset), BPF_F_USER_STACK) <= 0)
		return 0;
	sample.pid = task->tgid;
	bpf_get_current_comm(sample.comm, sizeof(sample.comm));
	sample.err = bpf_find_vma(task, sample.offset, note_vma, &sample, 0);
	if (bpf_get_stack(ctx, &frame, sizeof(frame), BPF_F_USER_STACK | BPF_F_USER_BUILD_ID) > 0 &&
	    frame.status == BPF_STACK_BUILD_ID_VALID)
		__builtin_memcpy(sample.build_id, frame.build_id, sizeof(sample.build_id));
	if (bpf_ringbuf_output(&samples, &sample, sizeof(sample), 0))
		__sync_fetch_and_add(&nr_lost, 1);
	return 0;
}
