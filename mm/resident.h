/* SPDX-License-Identifier: GPL-2.0 */
/* Find what is in memory, by page tables and swap cache. */
#ifndef _MM_RESIDENT_H
#define _MM_RESIDENT_H

#include <linux/filemap_cached.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>

#include "swap.h"

struct page *resident_page(struct vm_area_struct *vma, unsigned long address);

/*
 * The page mapped at @address, with a reference; NULL: none. FOLL_FORCE also finds one that
 * NUMA balancing has removed access to. The caller holds mmap_lock.
 */
static inline struct page *resident_mapped_page(struct vm_area_struct *vma, unsigned long address)
{
	return follow_page(vma, address, FOLL_GET | FOLL_FORCE);
}

/* Pin mapped pages. The caller holds mmap_lock, and keeps it. */
static inline long resident_pin(struct mm_struct *mm, unsigned long start, unsigned long nr,
				unsigned int flags, struct page **pages)
{
	return pin_user_pages_remote(mm, start, nr, flags, pages, NULL, NULL);
}

/* The address as a VMA has it. The caller holds mmap_lock. */
static inline unsigned long resident_untagged(struct mm_struct *mm, unsigned long address)
{
	return untagged_addr(address);
}

/* Map the page table and lock it. Returns false if there is none, or it is going away. */
static inline bool resident_lock_table(struct vm_area_struct *vma, unsigned long address,
				       pmd_t *pmd, pte_t **pte, spinlock_t **ptl)
{
	if (pmd_trans_unstable(pmd))
		return false;
	*pte = pte_offset_map_lock(vma->vm_mm, pmd, address, ptl);
	return true;
}

/* The folio of the swap cache, with a reference; NULL: none. */
static inline struct folio *resident_swap_folio(swp_entry_t entry)
{
	return filemap_cached_folio(swap_address_space(entry), swp_offset(entry));
}

#endif /* _MM_RESIDENT_H */
