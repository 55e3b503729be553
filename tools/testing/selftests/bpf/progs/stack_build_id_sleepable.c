// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

struct bpf_stack_build_id frames[8];
long size;

SEC("uprobe.s")
int probe(void *ctx)
{
	size = bpf_get_stack(ctx, frames, sizeof(frames), BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	return 0;
}
