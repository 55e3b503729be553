// SPDX-License-Identifier: GPL-2.0
/*
 * Per-VMA locks: slow paths, and the search under RCU that ends with the lock.
 *
 * Documentation/mm/vma_lock.rst has the rules and the argument why they hold.
 */
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/vma_lock.h>
#include <linux/vmstat.h>
#include <linux/wait_bit.h>

/* A query holds the lock for some hundred instructions: rarely worth a sleep. */
#define VMA_LOCK_SPINS		256
/* Looks at one place before mmap_lock is taken: longer than most write sections. */
#define VMA_WALK_TRIES		64
/* Steps, each to the end of a leaf at most, in one RCU section. */
#define VMA_WALK_STEPS		64

/*
 * Read what a writer may be changing, or what may have become something else;
 * the result is put to the test afterwards.
 */
#define vma_peek(what)	data_race(READ_ONCE(what))

/* Is this the lock word of a VMA that is marked for this write section? */
static bool vma_lock_word_marked(long word, unsigned long seq)
{
	return !((word ^ (long)(seq << VMA_LOCK_SEQ_SHIFT)) >> VMA_LOCK_SEQ_SHIFT);
}

#ifdef CONFIG_DEBUG_VM
/*
 * x86 changes VM_PAT of a mapping it zaps under no lock of the VMA at all; no
 * reader may look at it.
 */
#ifdef CONFIG_X86
#define VMA_LOCK_UNSTABLE_FLAGS	VM_PAT
#else
#define VMA_LOCK_UNSTABLE_FLAGS	0UL
#endif

static unsigned long vma_lock_hash(const struct vm_area_struct *vma)
{
	unsigned long state[] = {
		vma->vm_start, vma->vm_end, vma->vm_pgoff,
		vma->vm_flags & ~VMA_LOCK_UNSTABLE_FLAGS,
		(unsigned long)vma->vm_file,
		vma->vm_file ? 0 : (unsigned long)vma->anon_name,
	};

	return jhash2((u32 *)state, sizeof(state) / (sizeof(u32)), 0);
}

/*
 * While a VMA is not marked it does not change. Called with the VMA stable and
 * its marks over: notes what it looks like the first time after a mark, and
 * compares every other time. Readers may note at once: they note the same.
 */
static void vma_lock_check(struct vm_area_struct *vma, long word)
{
	unsigned long mark = (unsigned long)word >> VMA_LOCK_SEQ_SHIFT;
	unsigned long hash;

	if (word & VMA_LOCK_DETACHED)
		return;
	hash = vma_lock_hash(vma);
	/* Acquire: the mark before the hash, pairs with the release below. */
	if (smp_load_acquire(&vma->vm_lock_noted) != mark + 1) {
		WRITE_ONCE(vma->vm_lock_hash, hash);
		/* Hash before mark: who sees the mark compares with this hash. */
		smp_store_release(&vma->vm_lock_noted, mark + 1);
	} else if (READ_ONCE(vma->vm_lock_hash) != hash) {
		dump_vma(vma);
		WARN_ONCE(1, "VMA changed without vma_start_write()");
	}
}
#else
static void vma_lock_check(struct vm_area_struct *vma, long word) {}
#endif

/**
 * vma_lock_ctor() - constructor of the cache of VMAs
 * @vma: a struct vm_area_struct
 *
 * The lock word outlives the VMA: a reader with an old pointer tests it.
 */
void vma_lock_ctor(void *vma)
{
	atomic_long_set(&((struct vm_area_struct *)vma)->vm_lock, VMA_LOCK_DETACHED);
}

#ifdef CONFIG_LOCKDEP
/*
 * One for all: whoever waits for mmap_lock with a VMA locked, and the writer
 * who waits for that VMA with mmap_lock held, wait for each other.
 */
static struct lockdep_map vma_lock_map = STATIC_LOCKDEP_MAP_INIT("vma_lock", &vma_lock_map);
#endif

/**
 * vma_lock_init_mm() - initialise the write sequence of an address space
 * @mm: the address space, not yet visible to others
 *
 * mm->vma_seq is odd while a writer has VMAs marked, else even. An even value
 * that has not changed means that no VMA of @mm has changed. It begins anywhere:
 * a VMA that is freed and used again in another address space shall not have
 * the lock word that it had in this one.
 */
void vma_lock_init_mm(struct mm_struct *mm)
{
	mm->vma_seq = get_random_long() & ~1UL;
	seqcount_init(&mm->vma_changes.stores);
}

/* The word forbids new readers; wait for those that are there. */
static void vma_lock_wait_for_readers(struct vm_area_struct *vma)
{
	atomic_long_t *lock = &vma->vm_lock;
	unsigned int spins;

	for (spins = 0; spins < VMA_LOCK_SPINS; spins++) {
		if (!(atomic_long_read_acquire(lock) & VMA_LOCK_READERS))
			return;
		cpu_relax();
	}
	/* Ordered against the reader's decrement, which looks for the flag. */
	atomic_long_fetch_or(VMA_LOCK_WAITING, lock);
	wait_var_event(lock, !(atomic_long_read_acquire(lock) & VMA_LOCK_READERS));
	atomic_long_andnot(VMA_LOCK_WAITING, lock);
}

/* Mark an attached VMA, with more flags; false if it is in no tree. */
static bool vma_lock_mark(struct vm_area_struct *vma, long flags)
{
	long old = atomic_long_read(&vma->vm_lock);
	long new;

	might_sleep();
	if (old & VMA_LOCK_DETACHED)
		return false;
	lock_map_acquire(&vma_lock_map);
	lock_map_release(&vma_lock_map);
	vma_begin_write_section(vma->vm_mm);
	do {
		new = vma_lock_marked(vma->vm_mm) | flags | (old & VMA_LOCK_READERS);
	} while (!atomic_long_try_cmpxchg(&vma->vm_lock, &old, new));
	if (unlikely(new & VMA_LOCK_READERS))
		vma_lock_wait_for_readers(vma);
	if (!vma_lock_word_marked(old, vma->vm_mm->vma_seq))
		vma_lock_check(vma, old);
	vma_lock_forget(vma);
	return true;
}

/**
 * __vma_start_write() - mark a VMA before it is changed, slow path
 * @vma: the VMA, not marked yet
 *
 * Context: as vma_start_write(), which is to be called.
 */
void __vma_start_write(struct vm_area_struct *vma)
{
	vma_lock_mark(vma, 0);
}

/**
 * vma_begin_removal() - VMAs of one range are about to leave the tree
 * @mm: the address space
 *
 * To be followed by vma_start_remove() for each of them. Each such range in a
 * write section is kept apart: what lies between them is none of the writer's.
 *
 * Context: mmap_lock of @mm held for writing.
 */
void vma_begin_removal(struct mm_struct *mm)
{
	struct vma_changes *changes = &mm->vma_changes;
	struct vma_removal *range;

	vma_begin_write_section(mm);
	if (changes->nr_removed == VMA_REMOVALS)
		return;
	range = &changes->removed[changes->nr_removed];
	WRITE_ONCE(range->start, ULONG_MAX);
	WRITE_ONCE(range->end, 0);
	WRITE_ONCE(range->flags, 0);
	WRITE_ONCE(range->file, false);
	/* The range before its number; pairs with vma_hole_counts(). */
	smp_store_release(&changes->nr_removed, changes->nr_removed + 1);
}

/* Readers may look at any time, and find values between the old and the new ones. */
static void vma_note_removal(const struct vm_area_struct *vma)
{
	struct vma_changes *changes = &vma->vm_mm->vma_changes;
	struct vma_removal *range;

	VM_WARN_ON_ONCE(!changes->nr_removed);
	range = &changes->removed[changes->nr_removed - 1];
	WRITE_ONCE(range->start, min(range->start, vma->vm_start));
	WRITE_ONCE(range->end, max(range->end, vma->vm_end));
	WRITE_ONCE(range->flags, range->flags | vma->vm_flags);
	WRITE_ONCE(range->file, range->file || vma->vm_file);
}

/**
 * vma_start_remove() - mark a VMA that will be removed from its tree
 * @vma: the VMA
 *
 * As vma_start_write(), but the mark outlasts the release of mmap_lock: an old
 * pointer to the VMA will not get its lock. Until the end of the write section
 * the place of the VMA is no hole for a reader who might look for it.
 *
 * Context: mmap_lock of the address space held for writing, vma_begin_removal()
 * called. May sleep.
 */
void vma_start_remove(struct vm_area_struct *vma)
{
	bool attached;

	mmap_assert_write_locked(vma->vm_mm);
	vma_note_removal(vma);
	/* A full barrier between the note and the hole; pairs with vma_hole_counts(). */
	attached = vma_lock_mark(vma, VMA_LOCK_DETACHED);
	VM_WARN_ON_ONCE(!attached);
}

/**
 * vma_cancel_remove() - a VMA stays in its tree after all
 * @vma: a VMA that was given to vma_start_remove()
 *
 * It stays marked as after vma_start_write().
 *
 * Context: mmap_lock held for writing since vma_start_remove().
 */
void vma_cancel_remove(struct vm_area_struct *vma)
{
	mmap_assert_write_locked(vma->vm_mm);
	atomic_long_andnot(VMA_LOCK_DETACHED, &vma->vm_lock);
}

/**
 * vma_lock_release() - a VMA is about to be closed or freed
 * @vma: the VMA, in no tree; or the address space has no users
 *
 * Returns when nobody holds the lock of @vma, and nobody will again: neither a
 * reader of this address space, who needs no user of it, nor one of another,
 * who met @vma in the memory of a VMA that it was looking for.
 *
 * Context: may sleep.
 */
void vma_lock_release(struct vm_area_struct *vma)
{
	long old = atomic_long_read(&vma->vm_lock);

	if (!(old & VMA_LOCK_DETACHED)) {
		/* It was in the tree until now, where somebody may look for it. */
		VM_WARN_ONCE(atomic_read(&vma->vm_mm->mm_users) &&
			     !vma_lock_word_marked(old, vma->vm_mm->vma_seq),
			     "VMA freed without vma_start_write()");
		old = atomic_long_fetch_or(VMA_LOCK_DETACHED, &vma->vm_lock);
	}
	if (unlikely(old & VMA_LOCK_READERS))
		vma_lock_wait_for_readers(vma);
}

/* May a VMA of @mm with this lock word be read? The word was read with acquire. */
static bool vma_lock_readable(long word, const struct mm_struct *mm)
{
	/*
	 * Acquire: the word first, since a mark is written after the sequence
	 * that it is for; and when the marks are over, so are the changes.
	 * Pairs with vma_begin_write_section() and vma_end_write_all().
	 */
	unsigned long seq = smp_load_acquire(&mm->vma_seq);

	return !(word & VMA_LOCK_DETACHED) && !vma_lock_word_marked(word, seq);
}

static void __vma_end_read(struct vm_area_struct *vma)
{
	atomic_long_t *lock = &vma->vm_lock;
	long word = atomic_long_dec_return(lock);

	/* From here on only the address of the lock is used: @vma may be gone. */
	if (unlikely((word & (VMA_LOCK_READERS | VMA_LOCK_WAITING)) == VMA_LOCK_WAITING))
		wake_up_var(lock);
}

/*
 * Try to lock a VMA that was found in the tree of @mm, under RCU. It may have
 * left that tree: when the lock was got, the caller must look at vm_mm first.
 */
static bool vma_start_read(struct vm_area_struct *vma, const struct mm_struct *mm)
{
	unsigned long seq;
	long old, new;

	do {
		old = atomic_long_read_acquire(&vma->vm_lock);
		new = old + VMA_LOCK_READER;
		if (!vma_lock_readable(old, mm) || !(new & VMA_LOCK_READERS))
			return false;
	} while (!atomic_long_try_cmpxchg(&vma->vm_lock, &old, new));

	/*
	 * The sequence wraps where long is short: a writer takes a very old
	 * mark for its own and does not touch the word. Both it and we have a
	 * full barrier between our write (mm->vma_seq, vm_lock) and our read of
	 * the other's: one of us sees the other. Acquire: if that writer is
	 * done already, so are its changes; pairs with vma_end_write_all().
	 */
	seq = smp_load_acquire(&mm->vma_seq);
	if (unlikely(vma_lock_word_marked(new, seq))) {
		__vma_end_read(vma);
		return false;
	}
	rwsem_acquire_read(&vma_lock_map, 0, 1, _RET_IP_);
	return true;
}

/**
 * vma_end_read() - unlock a VMA
 * @vma: the VMA; the caller must not touch it after this
 *
 * Context: any in which wake_up() may be called.
 */
void vma_end_read(struct vm_area_struct *vma)
{
	rwsem_release(&vma_lock_map, _RET_IP_);
	__vma_end_read(vma);
}
EXPORT_SYMBOL_GPL(vma_end_read);

/* Has a VMA of @mm changed since mm->vma_seq was @seq? Or may it, meanwhile? */
static bool vma_seq_changed(const struct mm_struct *mm, unsigned long seq)
{
	/* What was read before the sequence; pairs with the writers' smp_mb(). */
	smp_rmb();
	return (seq & 1) || READ_ONCE(mm->vma_seq) != seq;
}

/*
 * A place in a leaf of the tree. A writer can replace the leaf at any time; its
 * slots stay as they were then, while what is needed to free it overwrites some
 * pivots. So the wrong VMA or a wrong hole may be found, but no wild pointer;
 * the VMA, mm->vma_seq or mm->vma_changes tell what to believe.
 */
static_assert(offsetofend(struct maple_node, ma_flags) <= offsetof(struct maple_range_64, slot));

struct vma_leaf {
	const struct maple_range_64 *node;
	unsigned int slot;
	unsigned int end;	/* the last slot in use */
	unsigned long max;	/* the last address below the leaf */
};

static const struct maple_node *vma_tree_node(const void *entry)
{
	return (const struct maple_node *)((unsigned long)entry & ~MAPLE_NODE_MASK);
}

static enum maple_type vma_tree_type(const void *entry)
{
	return ((unsigned long)entry >> MAPLE_NODE_TYPE_SHIFT) & MAPLE_NODE_TYPE_MASK;
}

/* The first slot whose pivot is not below @addr; the last slot needs no pivot. */
static __always_inline unsigned int vma_tree_slot(const unsigned long *pivots, unsigned int end,
						  unsigned long addr)
{
	const unsigned long *pivot = pivots, *last = pivots + end;

	/* As vma_peek(), but a pivot that is read twice does no more harm than a wrong one. */
	if (end && data_race(pivots[end / 2]) < addr)
		pivot += end / 2 + 1;
	/* The same. */
	while (pivot < last && data_race(*pivot) < addr)
		pivot++;
	return pivot - pivots;
}

/* The last slot in use: a leaf that is not full keeps it in its last slot. */
static unsigned int vma_leaf_end(const struct maple_range_64 *node, unsigned long max)
{
	unsigned long pivot = READ_ONCE(node->pivot[MAPLE_RANGE64_SLOTS - 2]);

	if (!pivot)
		return READ_ONCE(node->meta.end);
	return pivot == max ? MAPLE_RANGE64_SLOTS - 2 : MAPLE_RANGE64_SLOTS - 1;
}

/*
 * Had a writer replaced the node when its pivots and slots were read? Both are
 * overwritten later: by the head for call_rcu(), and by mte_dead_leaves().
 */
static bool vma_tree_replaced(const struct maple_arange_64 *node)
{
	/* All else before the parent, which is itself then; pairs with mte_set_node_dead(). */
	smp_rmb();
	return ((unsigned long)vma_peek(node->parent) & ~MAPLE_NODE_MASK) ==
	       (unsigned long)node;
}

/*
 * Go down to the leaf and the slot for @addr. -ENOENT if the tree is empty;
 * -EAGAIN if a writer was met, or the end of the address space. An inner node
 * must not have been replaced when it was read: its slots can lead anywhere
 * then, and a wrong maximum would make the last slot of a leaf, which can hold
 * metadata, look like a VMA.
 */
static __always_inline int vma_leaf_find(struct mm_struct *mm, unsigned long addr,
					 struct vma_leaf *leaf)
{
	const void *entry = rcu_dereference(mm->mm_mt.ma_root);

	leaf->max = ULONG_MAX;
	if (unlikely(!xa_is_node(entry)))
		return -ENOENT;

	while (vma_tree_type(entry) == maple_arange_64) {
		const struct maple_arange_64 *node = &vma_tree_node(entry)->ma64;
		unsigned int end = READ_ONCE(node->meta.end);
		unsigned int slot = vma_tree_slot(node->pivot, end, addr);

		if (slot < end)
			leaf->max = vma_peek(node->pivot[slot]);
		entry = rcu_dereference(node->slot[slot]);
		if (unlikely(vma_tree_replaced(node)))
			return -EAGAIN;
	}

	if (unlikely(vma_tree_type(entry) != maple_leaf_64))
		return -EAGAIN;
	leaf->node = &vma_tree_node(entry)->mr64;
	leaf->end = vma_leaf_end(leaf->node, leaf->max);
	leaf->slot = vma_tree_slot(leaf->node->pivot, leaf->end, addr);
	return 0;
}

static struct vm_area_struct *vma_leaf_entry(const struct vma_leaf *leaf)
{
	return rcu_dereference(leaf->node->slot[leaf->slot]);
}

/* Lock @vma if it matches; it may be any VMA by now, or none. */
static bool vma_walk_lock(const struct vma_walk *walk, struct vm_area_struct *vma)
{
	if (!vma_start_read(vma, walk->mm))
		return false;
	if (unlikely(vma->vm_mm != walk->mm))
		goto unlock;
	vma_lock_check(vma, atomic_long_read(&vma->vm_lock));
	if (likely(walk->addr < vma->vm_end && (!walk->covering || vma->vm_start <= walk->addr) &&
		   vma_walk_wants(walk, vma->vm_flags, vma->vm_file)))
		return true;
unlock:
	vma_end_read(vma);
	return false;
}

/* Is there nothing more to look at behind @last? If there is, go on there. */
static bool vma_walk_ends(struct vma_walk *walk, unsigned long last)
{
	if (walk->covering || last == ULONG_MAX)
		return true;
	walk->addr = last + 1;
	return false;
}

/* The first VMA in the rest of the leaf that looks as if it matched. */
static struct vm_area_struct *vma_leaf_search(const struct vma_walk *walk, struct vma_leaf *leaf)
{
	unsigned int end = walk->covering ? leaf->slot : leaf->end;
	struct vm_area_struct *vma;

	for (; leaf->slot <= end; leaf->slot++) {
		vma = vma_leaf_entry(leaf);
		if (vma && vma_walk_wants(walk, vma_peek(vma->vm_flags), vma_peek(vma->vm_file)))
			return vma;
	}
	return NULL;
}

/*
 * Look at the rest of a leaf while no writer is at work. What is passed over,
 * VMAs and holes, is passed over because mm->vma_seq stayed @seq throughout.
 *
 * Return: a locked VMA, NULL at the end, -EINPROGRESS to go on, -EAGAIN if a
 * writer was met.
 */
static struct vm_area_struct *vma_walk_quiet(struct vma_walk *walk, unsigned long seq)
{
	struct mm_struct *mm = walk->mm;
	struct vm_area_struct *vma = NULL;
	struct vma_leaf leaf;
	int err = vma_leaf_find(mm, walk->addr, &leaf);

	if (unlikely(err == -EAGAIN))
		return ERR_PTR(err);
	if (likely(!err))
		vma = vma_leaf_search(walk, &leaf);
	if (!vma) {
		if (vma_seq_changed(mm, seq))
			return ERR_PTR(-EAGAIN);
		return vma_walk_ends(walk, leaf.max) ? NULL : ERR_PTR(-EINPROGRESS);
	}
	if (!vma_walk_lock(walk, vma))
		return ERR_PTR(-EAGAIN);
	/* Nothing was passed over when the VMA covers the address. */
	if (vma->vm_start > walk->addr && vma_seq_changed(mm, seq)) {
		vma_end_read(vma);
		return ERR_PTR(-EAGAIN);
	}
	return vma;
}

/*
 * Does the hole from walk->addr to @last lie outside of a range whose VMAs are
 * out of the tree for now? Where only its end does not, cut that off. A range
 * whose VMAs do not match is passed over as it was before the writer came.
 */
static bool vma_hole_outside(const struct vma_walk *walk, const struct vma_removal *range,
			     unsigned long *last)
{
	unsigned long start = READ_ONCE(range->start);

	if (READ_ONCE(range->end) <= walk->addr || start > *last)
		return true;
	if (!vma_walk_wants(walk, READ_ONCE(range->flags), READ_ONCE(range->file)))
		return true;
	if (start <= walk->addr)
		return false;
	*last = start - 1;
	return true;
}

/*
 * Is what was read in the tree since it was stored to @stores times, and what was
 * read of the VMAs in it, the tree of one instant? A writer may be at work on it
 * before and after, but he did not store to it meanwhile.
 */
static bool vma_tree_unchanged(struct mm_struct *mm, unsigned int stores)
{
	/* Its barrier, the tree before the number, pairs with vma_tree_store(). */
	return !(stores & 1) && !read_seqcount_retry(&mm->vma_changes.stores, stores);
}

/*
 * The tree had a hole from walk->addr to @last. Had the process? A writer who
 * replaces VMAs takes them out first. What he has taken out he has noted, and he
 * is still the same: then a hole elsewhere is a hole.
 */
static bool vma_hole_counts(const struct vma_walk *walk, unsigned long seq, unsigned long *last)
{
	struct vma_changes *changes = &walk->mm->vma_changes;
	unsigned int i, nr = 0;

	/* The caller has the tree before this; pairs with vma_start_remove(). */
	if (seq & 1) {
		/* The number before the ranges; pairs with vma_begin_removal(). */
		nr = smp_load_acquire(&changes->nr_removed);
	}
	for (i = 0; i < nr; i++)
		if (!vma_hole_outside(walk, &changes->removed[i], last))
			return false;
	/* The ranges before the sequence; pairs with vma_begin_write_section(). */
	smp_rmb();
	return READ_ONCE(walk->mm->vma_seq) == seq;
}

/* Lock @vma, which covers the address and looks as if it matched. */
static struct vm_area_struct *vma_walk_lock_covering(const struct vma_walk *walk,
						     struct vm_area_struct *vma)
{
	if (!vma_walk_lock(walk, vma))
		return ERR_PTR(-EAGAIN);
	if (likely(vma->vm_start <= walk->addr))
		return vma;
	vma_end_read(vma);
	return ERR_PTR(-EAGAIN);
}

/*
 * Look at one VMA or one hole beside writers. A VMA that matches answers for
 * itself. One that does not is passed over if it was in the tree like that at one
 * instant: also one that is marked, since a change that is under way was not made
 * yet, or was made already. Costs a descent of the tree for each.
 *
 * Return: as vma_walk_quiet().
 */
static noinline struct vm_area_struct *vma_walk_careful(struct vma_walk *walk, unsigned long seq)
{
	unsigned int stores = raw_read_seqcount(&walk->mm->vma_changes.stores);
	struct vm_area_struct *vma = NULL;
	struct vma_leaf leaf;
	unsigned long last = ULONG_MAX;
	int err = vma_leaf_find(walk->mm, walk->addr, &leaf);

	if (err == -EAGAIN)
		return ERR_PTR(err);
	if (!err) {
		vma = vma_leaf_entry(&leaf);
		last = leaf.slot < leaf.end ? READ_ONCE(leaf.node->pivot[leaf.slot]) : leaf.max;
	}
	if (vma && vma_walk_wants(walk, vma_peek(vma->vm_flags), vma_peek(vma->vm_file)))
		return vma_walk_lock_covering(walk, vma);
	if (!vma_tree_unchanged(walk->mm, stores) || last < walk->addr)
		return ERR_PTR(-EAGAIN);
	if (!vma && !vma_hole_counts(walk, seq, &last))
		return ERR_PTR(-EAGAIN);
	return vma_walk_ends(walk, last) ? NULL : ERR_PTR(-EINPROGRESS);
}

/*
 * Look at one place until a writer lets go of it. Ends: after so many looks the
 * caller is sent to mmap_lock. Return: as vma_walk_quiet().
 */
static noinline struct vm_area_struct *vma_walk_beside(struct vma_walk *walk)
{
	struct vm_area_struct *vma;
	unsigned int tries;
	unsigned long seq;

	for (tries = 0; tries < VMA_WALK_TRIES; tries++) {
		/* Before what it stands for; pairs with vma_end_write_all(). */
		seq = smp_load_acquire(&walk->mm->vma_seq);
		vma = vma_walk_careful(walk, seq);
		if (vma != ERR_PTR(-EAGAIN))
			return vma;
		count_vm_event(VMA_LOCK_RETRY);
		cpu_relax();
	}
	return ERR_PTR(-EAGAIN);
}

static __always_inline struct vm_area_struct *vma_walk_step(struct vma_walk *walk)
{
	/* Before what it stands for; pairs with vma_end_write_all(). */
	unsigned long seq = smp_load_acquire(&walk->mm->vma_seq);
	struct vm_area_struct *vma;

	if (likely(!(seq & 1))) {
		vma = vma_walk_quiet(walk, seq);
		if (likely(vma != ERR_PTR(-EAGAIN)))
			return vma;
		count_vm_event(VMA_LOCK_RETRY);
	}
	return vma_walk_beside(walk);
}

/**
 * vma_walk_rcu() - find the first VMA that matches, and lock it
 * @walk: the search
 *
 * Never sleeps; VMAs that do not match are not locked. A VMA that matched
 * during the whole call is not missed; one that never did is not returned.
 *
 * Context: any but NMI, with mm_count of @walk->mm held. Takes and leaves RCU;
 * does not need mmap_lock. Returns after at most one leaf of the tree when the
 * scheduler wants the processor.
 * Return: the VMA, read-locked, to be released with vma_end_read(); NULL if
 * there is none, or if the address space has no users; -EINPROGRESS when it is
 * time to reschedule and call again; -EAGAIN when the caller must look at
 * @walk->addr under mmap_lock, because a writer is at work there.
 */
struct vm_area_struct *vma_walk_rcu(struct vma_walk *walk)
{
	unsigned int steps = VMA_WALK_STEPS;
	struct vm_area_struct *vma;

	rcu_read_lock();
	do {
		vma = vma_walk_step(walk);
	} while (vma == ERR_PTR(-EINPROGRESS) && --steps && !need_resched());
	rcu_read_unlock();
	if (!IS_ERR(vma))
		count_vm_event(VMA_LOCK_RCU);
	return vma;
}

/**
 * vma_lock_count_fallback() - count a look-up that took mmap_lock
 */
void vma_lock_count_fallback(void)
{
	count_vm_event(VMA_LOCK_MMAP);
}

/**
 * find_and_lock_vma_rcu() - find_vma() under RCU, with the lock of the VMA
 * @mm: the address space
 * @address: the address
 *
 * While the VMA is locked it can be neither changed nor freed. Keep it short: a
 * writer waits for it, with mmap_lock held.
 *
 * Context: any but NMI, with mm_count of @mm held. Does not need mmap_lock.
 * Return: the first VMA with @address < vm_end, read-locked, to be released
 * with vma_end_read(); NULL if there is none, or if no user of @mm is left;
 * -EAGAIN when the caller must take mmap_lock and use find_vma() instead.
 */
struct vm_area_struct *find_and_lock_vma_rcu(struct mm_struct *mm, unsigned long address)
{
	struct vma_walk walk = { .mm = mm, .addr = address };
	struct vm_area_struct *vma;

	do {
		vma = vma_walk_rcu(&walk);
	} while (vma == ERR_PTR(-EINPROGRESS));
	return vma;
}
EXPORT_SYMBOL_GPL(find_and_lock_vma_rcu);
