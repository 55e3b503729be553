/* SPDX-License-Identifier: GPL-2.0 */
/* How the search for VMAs waits for writers; see vma_wait.c. */
#ifndef _MM_VMA_WAIT_H
#define _MM_VMA_WAIT_H

struct mm_struct;

#ifdef CONFIG_VMA_SEARCH
void vma_reader_starves(struct mm_struct *mm);
void vma_reader_leaves(struct mm_struct *mm);
void vma_reader_sleep(struct mm_struct *mm);
#else
static inline void vma_reader_starves(struct mm_struct *mm) {}
static inline void vma_reader_leaves(struct mm_struct *mm) {}
static inline void vma_reader_sleep(struct mm_struct *mm) {}
#endif

#endif /* _MM_VMA_WAIT_H */
