// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

struct bpf_stack_build_id stack[4];
__u32 target_tid;
long size;

SEC("perf_event")
int sample(void *ctx)
{
	if ((__u32)bpf_get_current_pid_tgid() != target_tid || size)
		return 0;

	size = bpf_get_stack(ctx, stack, sizeof(stack), BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	return 0;
}

char _license[] SEC("license") = "GPL";
