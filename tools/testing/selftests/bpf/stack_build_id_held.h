/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTEST_BPF_STACK_BUILD_ID_HELD_H
#define SELFTEST_BPF_STACK_BUILD_ID_HELD_H

/* Powers of two */
#define STACKS		1024
#define FRAMES		4

struct stack {
	struct bpf_stack_build_id frames[FRAMES];
};

#endif /* SELFTEST_BPF_STACK_BUILD_ID_HELD_H */
