// SPDX-License-Identifier: GPL-2.0
/*
 * Copy properties of VMAs, with and without a lock.
 *
 * Who wants all VMAs need not lock each of them. While no writer is at work,
 * nothing changes, so a whole leaf of the tree can be copied under RCU and
 * confirmed afterwards, all at once. A name needs more than RCU: so the first
 * VMA of a file is locked, and those that follow it are copied. That a VMA has
 * no name can be seen without a lock.
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

#ifdef CONFIG_VMA_SEARCH

/**
 * struct vma_generation_base - what the generations of VMAs are counted from
 * @word: the lock word that the most recent mark would have, with all low bits
 * @next: the generation after the one that this mark begins
 */
struct vma_generation_base {
	unsigned long word;
	u64 next;
};

/* The base for lock words that were read beside mm->vma_seq, which was @seq. */
static __always_inline struct vma_generation_base vma_base_at(unsigned long seq)
{
	const unsigned long even = (seq + 1) & ~1UL;

	return (struct vma_generation_base) {
		.word = ((even + 1) << VMA_HOLD_SEQ_SHIFT) - 1,
		.next = vma_generation_at(even) + 1,
	};
}

/*
 * The generation that began with the end of the section of this mark. The low
 * bits of the word do not matter: those of the base are all set.
 */
static __always_inline u64 vma_generation_of(unsigned long word,
					     const struct vma_generation_base *base)
{
	return base->next - ((base->word - word) >> VMA_HOLD_SEQ_SHIFT);
}

/*
 * The generation of a VMA that is held. A writer that waits for us has marked
 * it already, and the mark before is lost: return 0. Such a section does not
 * end before we let go, so a mark that is not of this section has been there
 * all the time.
 */
static u64 vma_generation_held(const struct vm_area_struct *vma, const struct mm_struct *mm)
{
	/*
	 * Acquire: the mark before the sequence, which is that of its section or
	 * a later one; pairs with vma_begin_write_section().
	 */
	unsigned long word = atomic_long_read_acquire(&vma->vm_hold);
	unsigned long seq = READ_ONCE(mm->vma_seq);
	struct vma_generation_base base;

	if (vma_word_write_locked(word, seq))
		return 0;
	base = vma_base_at(seq);
	return vma_generation_of(word, &base);
}

#else /* !CONFIG_VMA_SEARCH */

static u64 vma_generation_held(const struct vm_area_struct *vma, const struct mm_struct *mm)
{
	return 0;
}

#endif /* CONFIG_VMA_SEARCH */

/* Copy what the inode tells. Its file has been open in this RCU section, or still is. */
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
	if (props->file)
		vma_props_inode(props, vma_file_inode(props->file));
	else
		vma_props_no_file(props);
}

#ifdef CONFIG_VMA_SEARCH

/*
 * Copy the words of a VMA that is not locked. They may be those of several VMAs,
 * or half of a word, where memory is copied by bytes. So follow no pointer.
 */
static __always_inline void vma_props_peek(struct vma_props *props,
					   const struct vm_area_struct *vma,
					   const struct vma_generation_base *base)
{
	props->start = vma_peek(vma->vm_start);
	props->end = vma_peek(vma->vm_end);
	props->generation = vma_generation_of(atomic_long_read(&vma->vm_hold), base);
	props->offset = (u64)vma_peek(vma->vm_pgoff) << PAGE_SHIFT;
}

/*
 * Find the inodes. The VMAs were the right ones, all at one instant in this RCU
 * section, so their files were open then. The memory of a file may be used for
 * another one since: the caller confirms the inodes, and only then uses them. A
 * file that has two of them must be locked; its inode stays NULL.
 */
static __always_inline void vma_props_find_inodes(struct vma_props *props, unsigned int nr)
{
	const struct vma_props *end = props + nr;

	for (; props < end; props++) {
		if (!props->file)
			continue;
		/* The file may be another one by now. */
		props->inode = data_race(READ_ONCE(props->file->f_inode));
		if (vma_file_is_backing(props->file))
			props->inode = NULL;
	}
}

/*
 * Must the VMA be locked for its properties? The size of pages may be known only
 * to hugetlbfs, or to the driver of a device.
 */
static __always_inline bool vma_props_need_lock(const struct vma_props *props)
{
	return props->flags & VM_HUGETLB ||
	       (props->file && (!props->inode || !S_ISREG(props->inode->i_mode)));
}

/*
 * Complete the properties. The end of a file frees its inode and its super block
 * only after a grace period. Returns how many could be completed; the next one
 * must be locked.
 */
static __always_inline unsigned int vma_props_complete(struct vma_props *props, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++, props++) {
		if (unlikely(vma_props_need_lock(props)))
			break;
		if (props->file)
			vma_props_inode(props, props->inode);
		else
			vma_props_no_file(props);
	}
	return i;
}

/* The result of reading a leaf. */
enum vma_read {
	VMA_READ_SOME,	/* there are properties, or the next VMA must be locked */
	VMA_READ_MORE,	/* nothing in this leaf */
};

/*
 * Has the kernel no name for a VMA without a file? Its names, but for those of heap
 * and stack, belong to special mappings, which have vm_ops.
 */
static __always_inline bool vma_peek_nameless(const struct mm_struct *mm,
					      const struct vm_area_struct *vma,
					      const struct vma_props *props)
{
	const unsigned long stack = vma_peek(mm->start_stack);

	if (vma_peek(vma->vm_ops))
		return false;
	if (props->start <= vma_peek(mm->brk) && props->end >= vma_peek(mm->start_brk))
		return false;
	return props->start > stack || props->end < stack;
}

/* Is the VMA one more of the run? */
static __always_inline bool vma_peek_in_run(const struct vma_run *run, const struct mm_struct *mm,
					    const struct vm_area_struct *vma,
					    const struct vma_props *props)
{
	return props->file == run->file && !vma_seems_named(vma, props->file) &&
	       (props->file || vma_peek_nameless(mm, vma, props));
}

/*
 * Copy what matches in the rest of the leaf, up to @nr VMAs. The slot moves
 * behind the last; it is behind the end of the leaf if that is all.
 */
static __always_inline unsigned int vma_leaf_peek(const struct vma_walk *walk,
						  struct vma_run *run, struct maple_leaf *leaf,
						  struct vma_props *props, unsigned int nr,
						  unsigned long seq)
{
	const struct vma_generation_base base = vma_base_at(seq);
	struct vma_props *to = props, *end = props + nr;
	const struct vma_search *search = &walk->search;
	const struct vm_area_struct *vma;
	const struct file *file;
	unsigned long flags;

	for (; leaf->slot <= leaf->end; leaf->slot++) {
		vma = maple_leaf_entry(leaf);
		if (!vma)
			continue;
		flags = vma_peek(vma->vm_flags);
		if (search->flags & ~flags)
			continue;
		file = vma_peek(vma->vm_file);
		if (!vma_search_wants(search, flags, file))
			continue;
		to->flags = flags;
		to->file = file;
		vma_props_peek(to, vma, &base);
		if (run && !vma_peek_in_run(run, search->mm, vma, to)) {
			run->generation = 0;
			break;
		}
		if (++to == end) {
			leaf->slot++;
			break;
		}
	}
	return to - props;
}

/*
 * Copy what matches in the rest of a leaf, up to @nr VMAs. The address of the
 * search moves behind the last. *@got stays 0 if a writer was at work.
 */
static __always_inline enum vma_read vma_read_leaf(struct vma_walk *walk, struct vma_run *run,
						   struct vma_props *props, unsigned int nr,
						   unsigned int *got)
{
	struct vma_search *search = &walk->search;
	struct mm_struct *mm = search->mm;
	/*
	 * Acquire: the sequence before the tree and the VMAs; pairs with
	 * vma_changes_end().
	 */
	unsigned long seq = smp_load_acquire(&mm->vma_seq);
	struct maple_leaf leaf;

	if ((seq & 1) || (run && run->generation != seq))
		return VMA_READ_SOME;
	if (!vma_walk_resume(walk, seq, &leaf) &&
	    maple_leaf_find(&mm->mm_mt, search->addr, &leaf))
		return VMA_READ_SOME;
	nr = vma_leaf_peek(walk, run, &leaf, props, nr, seq);
	if (vma_seq_changed(mm, seq))
		return VMA_READ_SOME;
	if (!nr) {
		if (leaf.slot <= leaf.end || leaf.max == ULONG_MAX)
			return VMA_READ_SOME;
		search->addr = leaf.max + 1;
		return VMA_READ_MORE;
	}
	vma_props_find_inodes(props, nr);
	if (vma_seq_changed(mm, seq))
		return VMA_READ_SOME;
	*got = vma_props_complete(props, nr);
	if (unlikely(*got < nr)) {
		if (*got)
			search->addr = props[*got - 1].end;
		/* The VMA to lock is one more of the run, wherever that ends. */
		if (run)
			run->generation = seq;
		return VMA_READ_SOME;
	}
	/* What is behind the last VMA in the leaf need not be seen again. */
	search->addr = leaf.slot > leaf.end && leaf.max != ULONG_MAX ? leaf.max + 1 :
								       props[nr - 1].end;
	vma_walk_keep(walk, seq, &leaf, search->addr);
	return VMA_READ_SOME;
}

/**
 * vma_walk_read() - copy properties of VMAs that match, without a lock
 * @walk: the walk, begun with vma_walk_begin(); it must not hold a VMA
 * @run: copy only VMAs of this run; NULL: all that match. If the next VMA is not
 *	in the run, the run has no generation afterwards
 * @props: out: the properties, in the order of addresses
 * @nr: how many @props has room for, at least one
 *
 * Goes on at @walk->search.addr, and moves that behind the last VMA that it has
 * copied or passed over. All copied properties were true at the same instant,
 * and no VMA that matches lies between them. The caller sets no
 * @walk->search.covering.
 *
 * Context: any except NMI. Takes and releases the RCU read-lock.
 * Return: how many VMAs were copied. 0: the caller must use vma_walk_next(), as
 * there is no such VMA, or a writer is at work, or the next VMA must be locked
 * for its properties, or is not in the run. Always 0 without
 * CONFIG_VMA_SEARCH.
 */
unsigned int vma_walk_read(struct vma_walk *walk, struct vma_run *run,
			   struct vma_props *props, unsigned int nr)
{
	unsigned int steps = VMA_SEARCH_STEPS;
	enum vma_read more = VMA_READ_SOME;
	unsigned int got = 0;

	rcu_read_lock();
	/* As in vma_lookup_rcu(): what __mmput() frees outlasts the section. */
	if (likely(!mm_ref_exited(walk->search.mm))) {
		do {
			more = vma_read_leaf(walk, run, props, nr, &got);
		} while (more == VMA_READ_MORE && walk->search.addr <= walk->search.last &&
			 --steps && !need_resched());
	}
	rcu_read_unlock();
	return got;
}

#else /* !CONFIG_VMA_SEARCH */

unsigned int vma_walk_read(struct vma_walk *walk, struct vma_run *run,
			   struct vma_props *props, unsigned int nr)
{
	return 0;
}

#endif /* CONFIG_VMA_SEARCH */
