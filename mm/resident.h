/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find what part of an address space is in memory, and handle page faults only
 * from that: see resident.c.
 */
#ifndef _MM_RESIDENT_H
#define _MM_RESIDENT_H

#include <linux/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#ifdef CONFIG_CROSS_MEMORY_ATTACH
struct page *resident_page(struct vm_area_struct *vma, unsigned long address);
vm_fault_t resident_fault(struct vm_area_struct *vma, unsigned long address);
vm_fault_t resident_file_fault(struct vm_fault *vmf);
#else
static inline vm_fault_t resident_file_fault(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}
#endif

/*
 * Can the page of this entry be found without waiting? A migration entry means
 * that somebody moves the page, with its lock held. The other two need a
 * device.
 */
static inline bool resident_entry(swp_entry_t entry)
{
	return !is_migration_entry(entry) && !is_device_exclusive_entry(entry) &&
	       !is_device_private_entry(entry);
}

#endif /* _MM_RESIDENT_H */
