// SPDX-License-Identifier: GPL-2.0
/*
 * Copy properties of VMAs, with a lock or, while there is no writer, a whole leaf under
 * RCU, confirmed afterwards. See "Copying without a lock" in Documentation/mm/vma_lock.rst.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/vma_base.h>
#include <linux/vma_generation.h>
#include <linux/vma_search.h>

#include "vma_read.h"
#include "vma_walk.h"

/*
 * The file of @inode is open, or was in this RCU section. @inode may be props->inode, which the
 * store to ->ino overwrites.
 */
static __always_inline void vma_props_inode(struct vma_props *props, const struct inode *inode)
{
	props->ino = READ_ONCE(inode->i_ino);
	props->dev = READ_ONCE(inode->i_sb->s_dev);
	props->inode_generation = READ_ONCE(inode->i_generation);
	props->unlinked = !READ_ONCE(inode->i_nlink);
}

static __always_inline void vma_props_no_file(struct vma_props *props)
{
	props->offset = 0;
	props->ino = 0;
	props->dev = 0;
	props->inode_generation = 0;
	props->unlinked = false;
}

#ifdef CONFIG_VMA_SEARCH

/*
 * Let now be mm->vma_seq, rounded up to even. If section s, an odd number, was the last one to
 * write-lock a VMA, the generation of the VMA is s + 2, which begins when s ends. The lock word
 * has the low 52 bits of s. So count back from now: (now + 2) - (now - s), now - s modulo 2^52.
 */
struct vma_generation_base {
	unsigned long now_word;	/* now, shifted as in a lock word; all 12 bits below it are 1 */
	u64 now_plus_2;
};

/* For lock words that were read when mm->vma_seq was @seq. */
static __always_inline struct vma_generation_base vma_base_at(unsigned long seq)
{
	const unsigned long even = (seq + 1) & ~1UL;

	return (struct vma_generation_base) {
		.now_word = ((even + 1) << VMA_HOLD_SEQ_SHIFT) - 1,
		.now_plus_2 = vma_generation_at(even) + 1,
	};
}

/* The low 12 bits of now_word are ones: the readers and flags of the word borrow nothing. */
static __always_inline u64 vma_generation_of(unsigned long word,
					     const struct vma_generation_base *base)
{
	return base->now_plus_2 - ((base->now_word - word) >> VMA_HOLD_SEQ_SHIFT);
}

/* The generation of a held VMA; 0: a writer, which waits for the reader, has overwritten it. */
static u64 vma_generation_held(const struct vm_area_struct *vma, const struct mm_struct *mm)
{
	/* Acquire: read the word before vma_seq; pairs with vma_begin_write_section(). */
	unsigned long word = atomic_long_read_acquire(&vma->vm_hold);
	unsigned long seq = READ_ONCE(mm->vma_seq);
	struct vma_generation_base base;

	if (vma_word_write_locked(word, seq))
		return 0;
	base = vma_base_at(seq);
	return vma_generation_of(word, &base);
}

/*
 * The files were open at one instant in this RCU section. Where their cache is
 * SLAB_TYPESAFE_BY_RCU one may be another file by now: the caller confirms. The inode of a
 * backing file is NULL: the caller must lock its VMA.
 */
static __always_inline void vma_props_find_inodes(struct vma_props *props, unsigned int nr)
{
	for (; nr; nr--, props++) {
		if (!props->file)
			continue;
		/* The file may be another one by now. */
		props->inode = data_race(READ_ONCE(props->file->f_inode));
		if (vma_file_is_backing(props->file))
			props->inode = NULL;
	}
}

/*
 * Inodes and super blocks are freed a grace period after the file is closed. XFS may use an inode
 * for another file before: the caller confirms. Returns how many were completed: the VMA of
 * the next must be locked.
 */
static __always_inline unsigned int vma_props_complete(struct vma_props *props, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++, props++) {
		/* Only hugetlbfs, or the driver of a device, may know the page size. */
		if (unlikely(props->flags & VM_HUGETLB ||
			     (props->file && (!props->inode || !S_ISREG(props->inode->i_mode)))))
			break;
		if (props->file)
			vma_props_inode(props, props->inode);
		else
			vma_props_no_file(props);
	}
	return i;
}

static __always_inline bool vma_peek_in_run(const struct vma_run *run, const struct mm_struct *mm,
					    const struct vm_area_struct *vma,
					    const struct vma_props *props)
{
	unsigned long stack;

	if (props->file != run->file || vma_seems_named(vma, props->file))
		return false;
	if (props->file)
		return true;
	stack = vma_peek(mm->start_stack);
	/* Special mappings, which have other names of the kernel, have vm_ops. */
	if (vma_peek(vma->vm_ops))
		return false;
	if (props->start <= vma_peek(mm->brk) && props->end >= vma_peek(mm->start_brk))
		return false;
	return props->start > stack || props->end < stack;
}

/* Copy matches from the rest of the leaf, up to @end, and move the slot after the last one. */
static __always_inline unsigned int vma_leaf_peek(const struct vma_walk *walk,
						  const struct vma_run *run,
						  struct maple_leaf *leaf, struct vma_props *props,
						  const struct vma_props *end, unsigned long seq)
{
	const struct vma_generation_base base = vma_base_at(seq);
	const struct vma_search *search = &walk->search;
	struct vma_props *to = props;
	const struct vm_area_struct *vma;
	const struct file *file;
	unsigned long flags;

	for (; leaf->slot <= leaf->end; leaf->slot++) {
		vma = maple_leaf_entry(leaf);
		if (!vma)
			continue;
		flags = vma_peek(vma->vm_flags);
		/* Do not read what file a VMA has that cannot match. */
		if (search->flags & ~flags)
			continue;
		file = vma_peek(vma->vm_file);
		if (!vma_search_wants(search, flags, file))
			continue;
		to->flags = flags;
		to->file = file;
		/* Words, or halves of one, may be those of several VMAs: follow no pointer. */
		to->start = vma_peek(vma->vm_start);
		to->end = vma_peek(vma->vm_end);
		to->generation = vma_generation_of(atomic_long_read(&vma->vm_hold), &base);
		to->offset = (u64)vma_peek(vma->vm_pgoff) << PAGE_SHIFT;
		if (run && !vma_peek_in_run(run, search->mm, vma, to))
			break;
		if (++to == end) {
			leaf->slot++;
			break;
		}
	}
	return to - props;
}

/*
 * Copy up to @nr matches from the rest of a leaf, and move the search after them. Returns how
 * many; 0 if vma_walk_next() must go on; -EAGAIN if nothing here matches: read the next leaf.
 */
static __always_inline int vma_read_leaf(struct vma_walk *walk, struct vma_run *run,
					 struct vma_props *props, unsigned int nr)
{
	struct vma_search *search = &walk->search;
	struct mm_struct *mm = search->mm;
	/* Acquire: read vma_seq before tree and VMAs; pairs with vma_end_write_section(). */
	unsigned long seq = smp_load_acquire(&mm->vma_seq);
	const struct vma_props *end = props + nr;
	unsigned int found, done;
	struct maple_leaf leaf;

	if ((seq & 1) || (run && run->seq != seq))
		return 0;
	if (!vma_walk_resume(walk, seq, &leaf) && maple_leaf_find(&mm->mm_mt, search->addr, &leaf))
		return 0;
	found = vma_leaf_peek(walk, run, &leaf, props, end, seq);
	if (vma_seq_changed(mm, seq))
		return 0;
	if (!found && leaf.slot > leaf.end) {
		if (leaf.max == ULONG_MAX)
			return 0;
		search->addr = leaf.max + 1;
		return -EAGAIN;
	}
	vma_props_find_inodes(props, found);
	if (vma_seq_changed(mm, seq))
		return 0;
	done = vma_props_complete(props, found);
	/* XFS reuses an inode in place, soon after its file is closed. */
	if (vma_seq_changed(mm, seq))
		return 0;
	if (unlikely(done < found)) {
		if (done)
			search->addr = props[done - 1].end;
		return done;
	}
	/* If neither @end nor the leaf's end stopped it, @run, not NULL, lacks the next VMA. */
	if (props + found < end && leaf.slot <= leaf.end)
		run->seq = 0;
	if (!found)
		return 0;
	/* The rest of the leaf has no match: continue after the leaf. */
	search->addr = leaf.slot > leaf.end && leaf.max != ULONG_MAX ? leaf.max + 1 :
								       props[found - 1].end;
	vma_walk_keep(walk, seq, &leaf, search->addr);
	return found;
}

/**
 * vma_walk_read() - copy properties of VMAs that match, without a lock
 * @walk: the walk, not @search.covering; it must not hold a VMA
 * @run: copy only VMAs of this run; NULL: all that match. If the next VMA is not
 *	in the run, @run->seq is 0 afterwards
 * @props: out: properties, in the order of addresses, true at the same instant,
 *	with no other match in between
 * @nr: the size of @props, at least 1
 *
 * Context: any except NMI. Takes and releases the RCU read-lock.
 * Return: how many VMAs were copied; @walk->search.addr is after them and those
 * that were skipped. 0: use vma_walk_next(): no such VMA, a writer, a VMA that must
 * be locked or is not in the run; always without CONFIG_VMA_SEARCH.
 */
unsigned int vma_walk_read(struct vma_walk *walk, struct vma_run *run,
			   struct vma_props *props, unsigned int nr)
{
	unsigned int steps = VMA_SEARCH_STEPS;
	int got = 0;

	rcu_read_lock();
	/* As in vma_lookup_rcu(): what __mmput() frees outlasts the section. */
	if (likely(!mm_ref_exited(walk->search.mm))) {
		do {
			got = vma_read_leaf(walk, run, props, nr);
		} while (got < 0 && walk->search.addr <= walk->search.last && --steps &&
			 !need_resched());
	}
	rcu_read_unlock();
	return max(got, 0);
}

#else /* !CONFIG_VMA_SEARCH */

static u64 vma_generation_held(const struct vm_area_struct *vma, const struct mm_struct *mm)
{
	return 0;
}

unsigned int vma_walk_read(struct vma_walk *walk, struct vma_run *run,
			   struct vma_props *props, unsigned int nr)
{
	return 0;
}

#endif /* CONFIG_VMA_SEARCH */

/**
 * vma_props_copy() - copy the properties of the VMA that a search holds
 * @search: the search
 * @props: out: the properties
 *
 * Context: @search holds a VMA.
 */
void vma_props_copy(const struct vma_search *search, struct vma_props *props)
{
	const struct vm_area_struct *vma = search->vma;

	props->start = vma->vm_start;
	props->end = vma->vm_end;
	props->flags = vma->vm_flags;
	props->generation = vma_generation_held(vma, search->mm);
	props->file = vma->vm_file;
	props->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	if (!props->file) {
		vma_props_no_file(props);
		return;
	}
	vma_props_inode(props, vma_file_inode(props->file));
	/* A lower layer of overlayfs keeps what was removed above. The path has a reference. */
	if (vma_file_is_backing(props->file))
		props->unlinked = !READ_ONCE(d_inode(vma_file_path(props->file)->dentry)->i_nlink);
}
