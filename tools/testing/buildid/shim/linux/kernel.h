/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of kernel headers that lib/buildid_elf.c needs in user space. */
#ifndef _SHIM_LINUX_KERNEL_H
#define _SHIM_LINUX_KERNEL_H

#include <linux/const.h>
#include <linux/types.h>

#define ALIGN(x, a) __ALIGN_KERNEL((x), (a))
#define likely(x) __builtin_expect(!!(x), 1)

static inline void barrier(void)
{
	__asm__ __volatile__("" : : : "memory");
}

#endif
