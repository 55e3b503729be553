/* SPDX-License-Identifier: GPL-2.0 */
/* Find what is in memory, by page tables and swap cache. */
#ifndef _MM_RESIDENT_H
#define _MM_RESIDENT_H

#include <linux/filemap_cached.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>

#include "swap.h"

struct page *resident_page(struct vm_area_struct *vma, unsigned long address);

/*
 * The page mapped at @address, with a reference; NULL: none. Also finds one that NUMA
 * balancing has removed access to. The caller holds mmap_lock.
 */
static inline struct page *resident_mapped_page(struct vm_area_struct *vma, unsigned long address)
{
	struct folio_walk fw;
	struct page *page;

	if (!folio_walk_start(&fw, vma, address, FW_ZEROPAGE))
		return NULL;
	/* The walk does not give out pages of zeros. */
	page = fw.page ?: ZERO_PAGE(address);
	get_page(page);
	folio_walk_end(&fw, vma);
	return page;
}

/* Pin mapped pages. The caller holds mmap_lock, and keeps it. */
static inline long resident_pin(struct mm_struct *mm, unsigned long start, unsigned long nr,
				unsigned int flags, struct page **pages)
{
	return pin_user_pages_remote(mm, start, nr, flags, pages, NULL);
}

/* The address as a VMA has it. The caller holds mmap_lock. */
static inline unsigned long resident_untagged(struct mm_struct *mm, unsigned long address)
{
	return untagged_addr_remote(mm, address);
}

/* Map the page table and lock it. Returns false if there is none, or it is going away. */
static inline bool resident_lock_table(struct vm_area_struct *vma, unsigned long address,
				       pmd_t *pmd, pte_t **pte, spinlock_t **ptl)
{
	*pte = pte_offset_map_lock(vma->vm_mm, pmd, address, ptl);
	if (!*pte)
		return false;
	/* Sparse sees only pte_unmap_unlock() leave the RCU read section that this entered. */
	__acquire(RCU);
	return true;
}

/* The folio of the swap cache, with a reference; NULL: none. */
static inline struct folio *resident_swap_folio(swp_entry_t entry)
{
	return filemap_cached_folio(swap_address_space(entry), swap_cache_index(entry));
}

#endif /* _MM_RESIDENT_H */
