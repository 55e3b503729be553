/* SPDX-License-Identifier: GPL-2.0 */
/* Find what part of an address space is in memory: see resident.c. */
#ifndef _MM_RESIDENT_H
#define _MM_RESIDENT_H

struct page;
struct vm_area_struct;

struct page *resident_page(struct vm_area_struct *vma, unsigned long address);

#endif /* _MM_RESIDENT_H */
