/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_BPF_STACK_BUILD_ID_H
#define _KERNEL_BPF_STACK_BUILD_ID_H

#include <linux/types.h>

struct bpf_stack_build_id;

void bpf_stack_build_ids(struct bpf_stack_build_id *ids, u32 nr);

#endif /* _KERNEL_BPF_STACK_BUILD_ID_H */
