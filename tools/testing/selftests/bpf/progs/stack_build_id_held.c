// SPDX-License-Identifier: GPL-2.0
/* Build IDs of user stacks, from interrupts. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "../stack_build_id_held.h"

char _license[] SEC("license") = "GPL";

pid_t target = 0;

/* Stacks of the other threads of the target, and how many */
struct stack stacks[STACKS] = {};
__u32 nr_stacks = 0;

/* Stacks that could not be had at all */
__u32 failed = 0;

SEC("perf_event")
int sample(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 i;

	if (id >> 32 != target || (__u32)id == target || nr_stacks >= STACKS)
		return 0;
	i = __sync_fetch_and_add(&nr_stacks, 1);
	if (bpf_get_stack(ctx, stacks[i & (STACKS - 1)].frames, sizeof(struct stack),
			  BPF_F_USER_STACK | BPF_F_USER_BUILD_ID) <= 0)
		__sync_fetch_and_add(&failed, 1);
	return 0;
}
