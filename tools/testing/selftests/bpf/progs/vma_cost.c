// SPDX-License-Identifier: GPL-2.0
/* Call a helper many times. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

__u64 addr = 0;
__u32 calls = 0;

/* Calls that did what they should */
__u64 good = 0;

static long nothing(struct task_struct *task, struct vm_area_struct *vma, void *data)
{
	return 0;
}

static long call_nothing(__u32 i, void *data)
{
	good++;
	return 0;
}

static long call_find_vma(__u32 i, void *data)
{
	good += !bpf_find_vma(bpf_get_current_task_btf(), addr, nothing, NULL, 0);
	return 0;
}

static long call_stack(__u32 i, void *data)
{
	__u64 ip;

	good += bpf_get_task_stack(bpf_get_current_task_btf(), &ip, sizeof(ip),
				   BPF_F_USER_STACK) == sizeof(ip);
	return 0;
}

static long call_stack_build_id(__u32 i, void *data)
{
	struct bpf_stack_build_id frame = {};

	good += bpf_get_task_stack(bpf_get_current_task_btf(), &frame, sizeof(frame),
				   BPF_F_USER_STACK | BPF_F_USER_BUILD_ID) == sizeof(frame) &&
		frame.status == BPF_STACK_BUILD_ID_VALID;
	return 0;
}

SEC("raw_tp/sys_enter")
int cost_nothing(void *ctx)
{
	bpf_loop(calls, call_nothing, NULL, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int cost_find_vma(void *ctx)
{
	bpf_loop(calls, call_find_vma, NULL, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int cost_stack(void *ctx)
{
	bpf_loop(calls, call_stack, NULL, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int cost_stack_build_id(void *ctx)
{
	bpf_loop(calls, call_stack_build_id, NULL, 0);
	return 0;
}
