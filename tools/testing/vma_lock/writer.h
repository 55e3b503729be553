/* SPDX-License-Identifier: GPL-2.0 */
/* What system calls do to an address space, as far as readers see it. */
#ifndef _VMA_LOCK_WRITER_H
#define _VMA_LOCK_WRITER_H

#include "shim/kernel.h"
#include "world.h"

#define PAGE		4096UL
/* Page 0 of the test is here: below it is a hole. */
#define FIRST_PAGE	16

/**
 * struct space - an address space, as its writer knows it
 * @mm: what readers see
 * @at: the VMA that covers each page
 * @watched: readers search here: versions are recorded
 * @places: where the present call takes VMAs out
 * @touched: pages that the present call has write-locked or taken out
 */
struct space {
	struct mm_struct mm;
	struct vm_area_struct *at[PAGES];
	bool watched;
	unsigned int places;
	bool touched[PAGES];
};

void kernel_start(void);
void space_start(struct space *space, bool watched);
void space_exit(struct space *space);
unsigned long space_writer_sleeps(const struct space *space, unsigned int page);
void space_call(struct space *space, u64 *rng);
long vmas_in_use(void);

static inline unsigned long address_of(unsigned int page)
{
	return (page + FIRST_PAGE) * PAGE;
}

static inline unsigned int page_of(unsigned long address)
{
	return address / PAGE - FIRST_PAGE;
}

void region_of(const struct vm_area_struct *vma, struct region *region);
void tree_start(void);

#endif
