/* SPDX-License-Identifier: GPL-2.0 */
/* The context in which bpf_find_vma() is called. */
#ifndef _KERNEL_BPF_FIND_VMA_H
#define _KERNEL_BPF_FIND_VMA_H

#include <linux/types.h>

/* Can a callback of a program that is not sleepable run where it may sleep? Not on this kernel. */
static inline bool bpf_callback_may_sleep(void)
{
	return false;
}

#endif /* _KERNEL_BPF_FIND_VMA_H */
