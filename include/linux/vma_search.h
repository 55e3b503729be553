/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Search an address space for VMAs, and hold the one that is found.
 *
 * This is the only way to a VMA of another process: begin, next, end. The
 * caller need not know how the search finds and holds a VMA, nor what it does
 * when it meets a writer. Documentation/mm/vma_lock.rst describes that.
 */
#ifndef _LINUX_VMA_SEARCH_H
#define _LINUX_VMA_SEARCH_H

#include <linux/mm_types.h>

/**
 * struct vma_search - a search for VMAs that match, and the one that it holds
 * @mm: the address space; the caller holds its mm_count
 * @addr: where the search goes on. It has looked at everything between the
 *	address where it began and this one
 * @flags: VM_* bits that the VMA must have
 * @file_only: only VMAs with a file
 * @covering: only the VMA that covers @addr
 *
 * The caller sets @flags, @file_only and @covering after vma_search_begin(). It
 * may set @addr between two calls of vma_search_next().
 */
struct vma_search {
	struct mm_struct *mm;
	unsigned long addr;
	unsigned long flags;
	bool file_only;
	bool covering;
	/* private: the VMA that is held, or NULL */
	struct vm_area_struct *vma;
	/* private: where it met a writer last, rounds there, last sleep */
	unsigned long busy_addr;
	unsigned int busy_rounds;
	int nap;
};

struct vm_area_struct *vma_search_next(struct vma_search *search);
void vma_search_end(struct vma_search *search);
struct vm_area_struct *vma_search_rcu(struct vma_search *search);
struct vm_area_struct *find_and_lock_vma_rcu(struct mm_struct *mm, unsigned long address);

/**
 * vma_search_begin() - begin a search without filters
 * @search: the search
 * @mm: the address space; the caller holds its mm_count until vma_search_end()
 * @addr: the first address to look at
 *
 * Context: any.
 */
static inline void vma_search_begin(struct vma_search *search, struct mm_struct *mm,
				    unsigned long addr)
{
	search->mm = mm;
	search->addr = addr;
	search->flags = 0;
	search->file_only = false;
	search->covering = false;
	search->vma = NULL;
	search->busy_rounds = 0;
}

#endif /* _LINUX_VMA_SEARCH_H */
