/* SPDX-License-Identifier: GPL-2.0 */
/* The properties of a VMA that a query asks for, as bits of the VMA. */
#ifndef _PROC_PROCMAP_FLAGS_H
#define _PROC_PROCMAP_FLAGS_H

#include <linux/build_bug.h>
#include <linux/mm.h>
#include <uapi/linux/procmap.h>

static_assert(PROCMAP_QUERY_VMA_READABLE == VM_READ);
static_assert(PROCMAP_QUERY_VMA_WRITABLE == VM_WRITE);
static_assert(PROCMAP_QUERY_VMA_EXECUTABLE == VM_EXEC);

static inline u64 procmap_flags_from_vm(unsigned long vm)
{
	return (vm & (VM_READ | VM_WRITE | VM_EXEC)) |
	       (vm & VM_MAYSHARE ? PROCMAP_QUERY_VMA_SHARED : 0);
}

static inline unsigned long procmap_flags_to_vm(u64 flags)
{
	return (flags & (VM_READ | VM_WRITE | VM_EXEC)) |
	       (flags & PROCMAP_QUERY_VMA_SHARED ? VM_MAYSHARE : 0);
}

#endif /* _PROC_PROCMAP_FLAGS_H */
