/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generations: while one stays the same, no VMA of the address space is added, changed or
 * removed. There is one for all VMAs, and one for code: VMAs with a file and VM_EXEC,
 * before or after the change. They have 64 bits, so they do not repeat, and are odd.
 */
#ifndef _LINUX_VMA_GENERATION_H
#define _LINUX_VMA_GENERATION_H

#include <linux/mm_types.h>
#include <linux/vma_lock.h>

/**
 * struct vma_generations - the generations of an address space at one instant
 * @all: of all VMAs; 0: not known, in a write section
 * @code: of code; 0: not known, in a write section that changes code
 */
struct vma_generations {
	u64 all;
	u64 code;
};

#ifdef CONFIG_VMA_SEARCH

/* The generation that begins when mm->vma_seq becomes @seq, an even value; never 0. */
static inline u64 vma_generation_at(unsigned long seq)
{
	return seq + 1;
}

/**
 * vma_generations_now() - read both generations
 * @mm: the address space; the caller holds its mm_count
 *
 * Context: any. What the caller then reads of the VMAs comes after.
 * Return: the generations.
 */
static inline struct vma_generations vma_generations_now(const struct mm_struct *mm)
{
	/* Acquire: read vma_seq before VMAs and .code; pairs with vma_end_write_section(). */
	unsigned long seq = smp_load_acquire(&mm->vma_seq);
	struct vma_generations now = {
		.all = seq & 1 ? 0 : vma_generation_at(seq),
		.code = READ_ONCE(mm->vma_changes.code),
	};

	/*
	 * vma_note_code() has stored s + 2 for section s, an odd number. If seq was read after that
	 * section, code - seq is 1 or less: all its changes are seen. It is 2 if seq was read in
	 * the section, and more if before: then its changes may be seen or not.
	 */
	if ((s64)(now.code - seq) > 1)
		now.code = 0;
	return now;
}

#else /* !CONFIG_VMA_SEARCH */

static inline struct vma_generations vma_generations_now(const struct mm_struct *mm)
{
	return (struct vma_generations){};
}

#endif /* CONFIG_VMA_SEARCH */

/**
 * vma_generations_kept() - which generations have held since an earlier time?
 * @mm: the address space; the caller holds its mm_count
 * @before: the generations at that time
 *
 * Context: any. What the caller has read of the VMAs comes before.
 * Return: @before, with 0 in the place of each that may have ended.
 */
static inline struct vma_generations vma_generations_kept(const struct mm_struct *mm,
							  struct vma_generations before)
{
	struct vma_generations now;

	/*
	 * Read the VMAs before vma_seq, .code and users; pairs with vma_begin_write_section(),
	 * vma_note_code(), and the full barrier in mmput(), after which VMAs are freed.
	 */
	smp_rmb();
	if (!atomic_read(&mm->mm_users))
		return (struct vma_generations) {};
	now = vma_generations_now(mm);
	return (struct vma_generations) {
		.all = now.all == before.all ? now.all : 0,
		.code = now.code == before.code ? now.code : 0,
	};
}

#endif /* _LINUX_VMA_GENERATION_H */
