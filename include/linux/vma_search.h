/* SPDX-License-Identifier: GPL-2.0 */
/* Search for VMAs, and hold the one that is found; see Documentation/mm/vma_lock.rst. */
#ifndef _LINUX_VMA_SEARCH_H
#define _LINUX_VMA_SEARCH_H

#include <linux/maple_leaf.h>
#include <linux/mm_types.h>

/**
 * struct vma_search - a search for VMAs that match, and the one that it holds
 * @mm: the address space; the caller holds its mm_count
 * @addr: where the search continues; may be set between two calls
 * @last: the caller needs nothing beyond this address: do not wait for writers
 *	there. A VMA that begins beyond it may still be returned.
 * @flags: VM_* bits that the VMA must have
 * @file_only: only VMAs with a file
 * @covering: only the VMA that covers @addr
 * @patience: jiffies to wait at one address before -EAGAIN; ULONG_MAX: for ever
 */
struct vma_search {
	struct mm_struct *mm;
	unsigned long addr;
	unsigned long last;
	unsigned long flags;
	bool file_only;
	bool covering;
	unsigned long patience;
	/* private: counted in mm->vma_changes.starved */
	bool starved;
	/* private: the VMA that is held, or NULL */
	struct vm_area_struct *vma;
	/* private: where a writer was met last, since when, rounds there */
	unsigned long busy_addr;
	unsigned long busy_since;
	unsigned int busy_rounds;
};

/* walk->seq if no leaf is kept: odd, so no sequence at which a lookup continues. */
#define VMA_WALK_NO_LEAF	1UL

/**
 * struct vma_walk - a search for all VMAs, without a descent of the tree for each
 * @search: the search
 */
struct vma_walk {
	struct vma_search search;
	/* private: where the next VMA must be, if mm->vma_seq still is @seq */
	struct maple_leaf leaf;
	unsigned long addr;
	unsigned long seq;
};

/**
 * struct vma_props - properties of a VMA
 * @start: first address
 * @end: first address after it
 * @flags: VM_* bits
 * @generation: the one that began with its last change, see vma_generation.h; 0: not known
 * @file: the file, only to be compared; NULL: none, and all below is 0
 * @offset: of @start in the file, in bytes
 * @ino: inode number of the file
 * @inode: private: the inode, until all inodes are confirmed
 * @dev: device of the file's super block
 * @inode_generation: generation of the inode
 * @unlinked: no directory has the file
 */
struct vma_props {
	unsigned long start;
	unsigned long end;
	unsigned long flags;
	u64 generation;
	const struct file *file;
	u64 offset;
	union {
		unsigned long ino;
		const struct inode *inode;
	};
	dev_t dev;
	u32 inode_generation;
	bool unlinked;
};

/**
 * struct vma_run - successive VMAs with the same file, or with neither file nor name
 * @file: the file, only to be compared; or NULL
 * @seq: vma_search_seq() when the first was held; 0: no run
 */
struct vma_run {
	const struct file *file;
	unsigned long seq;
};

struct vm_area_struct *vma_search_next(struct vma_search *search);
struct vm_area_struct *vma_walk_next(struct vma_walk *walk);
unsigned int vma_walk_read(struct vma_walk *walk, struct vma_run *run,
			   struct vma_props *props, unsigned int nr);
void vma_props_copy(const struct vma_search *search, struct vma_props *props);
void vma_search_release(struct vma_search *search);
void vma_search_end(struct vma_search *search);
struct vm_area_struct *vma_search_rcu(struct vma_search *search);
struct vm_area_struct *find_and_lock_vma_rcu(struct mm_struct *mm, unsigned long address);

/**
 * vma_search_begin() - begin a search without filters
 * @search: the search
 * @mm: the address space; the caller holds its mm_count until vma_search_end()
 * @addr: the first address to search
 *
 * Context: any.
 */
static inline void vma_search_begin(struct vma_search *search, struct mm_struct *mm,
				    unsigned long addr)
{
	search->mm = mm;
	search->addr = addr;
	search->last = ULONG_MAX;
	search->flags = 0;
	search->file_only = false;
	search->covering = false;
	search->starved = false;
	search->patience = ULONG_MAX;
	search->vma = NULL;
	search->busy_rounds = 0;
}

/**
 * vma_walk_begin() - begin a walk without filters
 * @walk: the walk; to be ended with vma_search_end(&walk->search)
 * @mm: the address space; the caller holds its mm_count until then
 * @addr: the first address to search
 *
 * Context: any.
 */
static inline void vma_walk_begin(struct vma_walk *walk, struct mm_struct *mm, unsigned long addr)
{
	vma_search_begin(&walk->search, mm, addr);
	walk->seq = VMA_WALK_NO_LEAF;
}

#ifdef CONFIG_VMA_SEARCH
/**
 * vma_search_seq() - a number that stays the same while no VMA changes
 * @search: the search
 *
 * Context: any.
 * Return: mm->vma_seq; 0 in a write section. While it is the same, and not 0, no VMA
 * is added, changed or removed: one held at the second call was the same at the first.
 */
static inline unsigned long vma_search_seq(const struct vma_search *search)
{
	unsigned long seq = READ_ONCE(search->mm->vma_seq);

	return seq & 1 ? 0 : seq;
}
#else
static inline unsigned long vma_search_seq(const struct vma_search *search)
{
	return 0;
}
#endif

#endif /* _LINUX_VMA_SEARCH_H */
