/* SPDX-License-Identifier: GPL-2.0 */
/* The context in which bpf_find_vma() is called. */
#ifndef _KERNEL_BPF_FIND_VMA_H
#define _KERNEL_BPF_FIND_VMA_H

#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/types.h>

/*
 * May the program that runs now sleep, although it is not sleepable? A callback of bpf_wq may.
 * It runs in a worker. Nothing else tells it from other programs there.
 */
static inline bool bpf_callback_may_sleep(void)
{
	return in_task() && (current->flags & PF_WQ_WORKER);
}

#endif /* _KERNEL_BPF_FIND_VMA_H */
