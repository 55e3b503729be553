// SPDX-License-Identifier: GPL-2.0
/*
 * A writer: what system calls do to the tree and to its VMAs, with the write-locks
 * and in the order of mm/mmap.c of Linux 6.1 and of mm/vma.c of 6.12. The search has
 * to bear both on each base.
 */
#include "writer.h"

#include <linux/vma_generation.h>
#include <linux/vma_lock.h>
#include <linux/vma_lock_init.h>

/* Each tree has its own. */
#include <tree_clear.h>

#define VMAS	(4 * PAGES)
#define FILES	32	/* whose numbers are in use */

static struct vm_area_struct pool[VMAS];
static struct vm_area_struct *free_vmas;
static long in_use;

/* Numbers of files: none comes back for as long as anybody may remember it. */
static u32 last_file;
static struct super_block super_block = { .s_dev = 77 };

/* Count VMAs. Returns how many are not free. */
long vmas_in_use(void)
{
	return in_use;
}

/* Initialize; call it before everything else. */
void kernel_start(void)
{
	unsigned int i;

	for (i = 0; i < VMAS; i++) {
		pool[i].next_free = free_vmas;
		free_vmas = &pool[i];
	}
}

/* The VMA that was freed last comes back first: old pointers lead to it. */
static struct vm_area_struct *vma_from_pool(void)
{
	struct vm_area_struct *vma = free_vmas;

	free_vmas = vma->next_free;
	in_use++;
	return vma;
}

static struct vm_area_struct *vm_area_alloc(struct mm_struct *mm)
{
	struct vm_area_struct *vma = vma_from_pool();

	vma_zero_except_hold(vma);
	vma->vm_mm = mm;
	return vma;
}

static void file_free(struct rcu_head *rcu)
{
	struct file *file = container_of(rcu, struct file, rcu);

	memset(file, 0x6b, sizeof(*file));
	free(file);
}

static struct file *file_get(struct file *file)
{
	if (file)
		WRITE_ONCE(file->count, file->count + 1);
	return file;
}

static void file_put(struct file *file)
{
	if (!file)
		return;
	WRITE_ONCE(file->count, file->count - 1);
	if (file->count)
		return;
	/* Another file in the same memory, at once (SLAB_TYPESAFE_BY_RCU): no pointer at first. */
	WRITE_ONCE(file->f_inode, (struct inode *)1);
	WRITE_ONCE(file->f_path.dentry, (struct inode *)1);
	/* Another inode, too, as XFS does. */
	WRITE_ONCE(file->inode.i_generation, 0);
	call_rcu(&file->rcu, file_free);
}

static struct file *file_open(void)
{
	struct file *file = malloc(sizeof(*file));

	last_file++;
	file->f_inode = &file->inode;
	file->f_path.dentry = &file->inode;
	file->f_mode = last_file % 8 ? 0 : FMODE_BACKING;
	file->count = 1;
	file->inode = (struct inode) {
		.i_mode = S_IFREG, .i_ino = last_file, .i_generation = ~last_file,
		.i_nlink = 1, .i_sb = &super_block,
	};
	return file;
}

static struct vm_area_struct *vm_area_dup(struct vm_area_struct *orig)
{
	struct vm_area_struct *vma = vma_from_pool();

	/* What memcpy() copies by bytes is no pointer at first. */
	WRITE_ONCE(vma->vm_file, (struct file *)1);
	vma_copy_except_hold(vma, orig);
	file_get(vma->vm_file);
	return vma;
}

static void vm_area_free(struct vm_area_struct *vma)
{
	vma_lock_retire(vma);
	vma->next_free = free_vmas;
	free_vmas = vma;
	in_use--;
}

/* Close a VMA that is in no tree any more. */
static void remove_vma(struct vm_area_struct *vma)
{
	file_put(vma->vm_file);
	vm_area_free(vma);
}

/*
 * What a VMA looks like.
 * @vma: the VMA: held, or the caller is the writer
 * @region: out: the region
 */
void region_of(const struct vm_area_struct *vma, struct region *region)
{
	*region = (struct region) {
		.start = page_of(vma->vm_start), .end = page_of(vma->vm_end),
		.flags = vma->vm_flags, .pgoff = vma->vm_file ? vma->vm_pgoff : 0,
		.file = vma->vm_file ? vma->vm_file->inode.i_ino : 0,
	};
}

static void space_note(struct space *space, struct vm_area_struct *vma)
{
	unsigned int page;

	for (page = page_of(vma->vm_start); page < page_of(vma->vm_end); page++)
		space->at[page] = vma;
}

static void space_record(struct space *space)
{
	struct version_of_all *version = world_next();
	unsigned int page;

	for (page = 0; page < PAGES; page++) {
		if (space->at[page])
			region_of(space->at[page], &version->page[page]);
		else
			version->page[page] = (struct region) { };
	}
	world_record();
}

/* Release or downgrade mmap_lock. */
static void space_end_write(struct space *space)
{
	/* Once for each call: readers may look at a version that is complete. */
	if (space->watched && !world_recorded())
		space_record(space);
	vma_end_write_section(&space->mm);
}

static void vma_mas_store(struct vm_area_struct *vma)
{
	MA_STATE(mas, &vma->vm_mm->mm_mt, vma->vm_start, vma->vm_end - 1);

	if (mas_preallocate(&mas, vma, GFP_KERNEL))
		abort();
	vma_change_attach(vma);
	vma_tree_store(&mas, vma);
}

/* What is at these pages changes now: who searches there may have to wait. */
static void space_touch(struct space *space, unsigned int first, unsigned int end)
{
	for (; first < end; first++)
		space->touched[first] = true;
}

static void vma_link(struct space *space, struct vm_area_struct *vma)
{
	space_touch(space, page_of(vma->vm_start), page_of(vma->vm_end));
	vma_mas_store(vma);
	space_note(space, vma);
}

/* The last range that is noted covers all that is after the others. */
static void space_note_removal(struct space *space, unsigned int first, unsigned int end)
{
	if (++space->places > VMA_REMOVALS)
		space_touch(space, 0, PAGES);
	else
		space_touch(space, first, end);
	vma_note_removal(&space->mm, address_of(first), address_of(end));
}

static void write_lock_vma(struct space *space, struct vm_area_struct *vma)
{
	long word;

	space_touch(space, page_of(vma->vm_start), page_of(vma->vm_end));
	vma_change_begin(vma);
	/*
	 * The next write-lock in this section shall cost one compare. A reader of
	 * another address space, with an old pointer, may be in the word until
	 * it backs out.
	 */
	word = atomic_long_read(&vma->vm_hold) & ~VMA_HOLD_READERS;
	if (word != vma_change_word(space->mm.vma_seq))
		wrong("vma_change_begin() has not write-locked a VMA", vma->vm_start);
}

static void vma_split(struct space *space, struct vm_area_struct *vma, unsigned long addr,
		      bool new_below)
{
	struct vm_area_struct *new = vm_area_dup(vma);
	unsigned long pages = (addr - vma->vm_start) >> PAGE_SHIFT;

	if (new_below) {
		new->vm_end = addr;
	} else {
		new->vm_start = addr;
		new->vm_pgoff += pages;
	}
	write_lock_vma(space, vma);
	if (new_below) {
		vma->vm_start = addr;
		vma->vm_pgoff += pages;
	} else {
		vma->vm_end = addr;
	}
	vma_link(space, new);
}

static unsigned long pages_of(const struct vm_area_struct *vma)
{
	return (vma->vm_end - vma->vm_start) >> PAGE_SHIFT;
}

/* Is @next what follows @vma, in memory and in the file? */
static bool follows(const struct vm_area_struct *vma, const struct vm_area_struct *next)
{
	return vma->vm_end == next->vm_start && vma->vm_file == next->vm_file &&
	       (!vma->vm_file || vma->vm_pgoff + pages_of(vma) == next->vm_pgoff);
}

static bool can_merge(const struct vm_area_struct *vma, const struct vm_area_struct *next)
{
	return vma->vm_flags == next->vm_flags && follows(vma, next);
}

/* Let @vma swallow what is after it. */
static void vma_swallow(struct space *space, struct vm_area_struct *vma,
			struct vm_area_struct *next)
{
	write_lock_vma(space, vma);
	write_lock_vma(space, next);
	vma->vm_end = next->vm_end;
	vma_mas_store(vma);
	space_note(space, vma);
	remove_vma(next);
}

static void vma_try_merge(struct space *space, struct vm_area_struct *vma)
{
	unsigned int after = page_of(vma->vm_end), before = page_of(vma->vm_start) - 1;

	if (after < PAGES && space->at[after] && can_merge(vma, space->at[after]))
		vma_swallow(space, vma, space->at[after]);
	if (before < PAGES && space->at[before] && can_merge(space->at[before], vma))
		vma_swallow(space, space->at[before], vma);
}

/* Split at the edges of a range. */
static void space_cut(struct space *space, unsigned int first, unsigned int end, u64 *rng)
{
	struct vm_area_struct *vma = space->at[first];

	if (vma && vma->vm_start < address_of(first))
		vma_split(space, vma, address_of(first), below(rng, 2));
	vma = space->at[end - 1];
	if (vma && vma->vm_end > address_of(end))
		vma_split(space, vma, address_of(end), below(rng, 2));
}

/* The VMA at or after a page, up to the end of a range. */
static struct vm_area_struct *space_find(const struct space *space, unsigned int page,
					 unsigned int end)
{
	for (; page < end; page++)
		if (space->at[page])
			return space->at[page];
	return NULL;
}

/* The next VMA of a range. */
static struct vm_area_struct *space_next(const struct space *space,
					 const struct vm_area_struct *vma, unsigned int end)
{
	return space_find(space, page_of(vma->vm_end), end);
}

static void space_clear(struct space *space, unsigned int first, unsigned int end)
{
	MA_STATE(mas, &space->mm.mm_mt, address_of(first), address_of(end) - 1);

	vma_tree_clear(&mas);
	for (; first < end; first++)
		space->at[first] = NULL;
}

/* Take VMAs out of the tree; returns how many @gone has. */
static unsigned int space_detach(struct space *space, unsigned int first, unsigned int end,
				 struct vm_area_struct **gone)
{
	struct vm_area_struct *vma;
	unsigned int nr = 0;

	space_note_removal(space, first, end);
	for (vma = space_find(space, first, end); vma; vma = space_next(space, vma, end)) {
		gone[nr++] = vma;
		vma_write_detach(vma);
	}
	space_clear(space, first, end);
	return nr;
}

static void do_munmap(struct space *space, unsigned int first, unsigned int end, u64 *rng,
		      bool downgrade)
{
	struct vm_area_struct *gone[PAGES];
	unsigned int nr, i;

	if (!space_find(space, first, end))
		return;
	space_cut(space, first, end, rng);
	nr = space_detach(space, first, end, gone);
	if (downgrade)
		space_end_write(space);
	for (i = 0; i < nr; i++)
		remove_vma(gone[i]);
}

/* munmap() that has no memory left for its list in the middle. */
static void do_munmap_fails(struct space *space, unsigned int first, unsigned int end, u64 *rng)
{
	struct vm_area_struct *vma;

	if (!space_find(space, first, end))
		return;
	space_cut(space, first, end, rng);
	space_note_removal(space, first, end);
	for (vma = space_find(space, first, end); vma; vma = space_next(space, vma, end))
		vma_write_detach(vma);
	for (vma = space_find(space, first, end); vma; vma = space_next(space, vma, end))
		vma_cancel_detach(vma);
}

static unsigned long random_flags(u64 *rng)
{
	unsigned long flags = VM_READ;

	if (below(rng, 2))
		flags |= VM_EXEC;
	if (!below(rng, 3))
		flags |= VM_WRITE;
	if (!below(rng, 8))
		flags |= VM_HUGETLB;
	return flags;
}

static void do_mmap(struct space *space, unsigned int first, unsigned int end, u64 *rng)
{
	struct vm_area_struct *vma, *before = first ? space->at[first - 1] : NULL;

	do_munmap(space, first, end, rng, false);
	vma = vm_area_alloc(&space->mm);
	vma->vm_start = address_of(first);
	vma->vm_end = address_of(end);
	vma->vm_flags = random_flags(rng);
	vma->vm_pgoff = below(rng, 1000);
	/* A driver may insert pages before all is set. */
	if (below(rng, 2))
		vma_change_begin(vma);
	if (below(rng, 3)) {
		vma->vm_file = file_open();
	} else if (before && before->vm_file) {
		/* What a program maps next to each other is often one file. */
		vma->vm_file = file_get(before->vm_file);
		vma->vm_pgoff = before->vm_pgoff +
				((before->vm_end - before->vm_start) >> PAGE_SHIFT);
		vma->vm_flags = below(rng, 2) ? before->vm_flags : vma->vm_flags;
	}
	vma_link(space, vma);
	if (below(rng, 2))
		vma_try_merge(space, vma);
}

/*
 * More places than there are ranges to note: the last one covers the rest. shmdt() has as many. It
 * fills none of them again, as this does with the last.
 */
static void do_munmaps(struct space *space, u64 *rng)
{
	unsigned int times = 1 + below(rng, VMA_REMOVALS + 3), page;

	do {
		page = below(rng, PAGES);
		if (space->at[page])
			do_munmap(space, page, page + 1, rng, false);
	} while (--times);
	if (below(rng, 2))
		do_mmap(space, page, page + 1, rng);
}

/*
 * Write-lock up to @limit VMAs for a removal, and leave them in the tree. The last
 * one is split when others are write-locked already. Returns how many @gone has.
 */
static unsigned int space_gather(struct space *space, unsigned int first, unsigned int end,
				 struct vm_area_struct **gone, unsigned int limit)
{
	struct vm_area_struct *vma = space->at[first];
	unsigned int nr = 0;

	if (vma && vma->vm_start < address_of(first))
		vma_split(space, vma, address_of(first), true);
	space_note_removal(space, first, end);
	for (vma = space_find(space, first, end); vma; vma = space_next(space, vma, end)) {
		if (vma->vm_end > address_of(end))
			vma_split(space, vma, address_of(end), false);
		if (nr == limit)
			break;
		gone[nr++] = vma;
		vma_write_detach(vma);
	}
	return nr;
}

/* Let the VMA before a range take it, and perhaps swallow the one after it. */
static void vma_take_range(struct space *space, struct vm_area_struct *vma, unsigned int end)
{
	struct vm_area_struct *next = end < PAGES ? space->at[end] : NULL;
	unsigned long pages = end - page_of(vma->vm_start);

	if (next && (next->vm_start != address_of(end) || vma->vm_file != next->vm_file ||
		     (vma->vm_file && vma->vm_pgoff + pages != next->vm_pgoff)))
		next = NULL;
	space_touch(space, page_of(vma->vm_end), end);
	write_lock_vma(space, vma);
	if (next)
		write_lock_vma(space, next);
	vma->vm_end = next ? next->vm_end : address_of(end);
	vma_mas_store(vma);
	space_note(space, vma);
	if (next)
		remove_vma(next);
}

/* A new VMA replaces in one store all that is there. */
static void vma_replace(struct space *space, unsigned int first, unsigned int end, u64 *rng)
{
	struct vm_area_struct *vma = vm_area_alloc(&space->mm);

	vma->vm_start = address_of(first);
	vma->vm_end = address_of(end);
	vma->vm_flags = random_flags(rng);
	vma->vm_pgoff = below(rng, 1000);
	vma->vm_file = below(rng, 3) ? file_open() : NULL;
	vma_link(space, vma);
}

/* mmap() over others, which leave the tree when something else takes their place. */
static void do_mmap_over(struct space *space, unsigned int first, unsigned int end, u64 *rng)
{
	struct vm_area_struct *gone[PAGES], *before;
	unsigned int way = below(rng, 6), nr, i;

	nr = space_gather(space, first, end, gone, way ? PAGES : below(rng, 4));
	before = first ? space->at[first - 1] : NULL;
	if (!way) {
		/* It fails before it has unmapped a page. */
		for (i = 0; i < nr; i++)
			vma_cancel_detach(gone[i]);
		return;
	}
	if (way == 1)
		/* It fails afterwards, and leaves a gap. */
		space_clear(space, first, end);
	else if (way <= 3 && before)
		vma_take_range(space, before, end);
	else
		vma_replace(space, first, end, rng);
	for (i = 0; i < nr; i++)
		remove_vma(gone[i]);
}

static void do_mprotect(struct space *space, unsigned int first, unsigned int end, u64 *rng)
{
	unsigned long flags = random_flags(rng);
	struct vm_area_struct *vma;

	space_cut(space, first, end, rng);
	for (vma = space_find(space, first, end); vma; vma = space_next(space, vma, end)) {
		write_lock_vma(space, vma);
		vma_note_code(vma, flags);
		vma->vm_flags = flags;
	}
	vma = space_find(space, first, end);
	if (vma && below(rng, 2))
		vma_try_merge(space, vma);
}

static void do_mremap(struct space *space, unsigned int first, unsigned int to, u64 *rng)
{
	struct vm_area_struct *vma = space->at[first], *new;
	unsigned int pages, start, end;

	if (!vma)
		return;
	start = page_of(vma->vm_start);
	end = page_of(vma->vm_end);
	pages = end - start;
	if (to + pages > PAGES || (to < end && start < to + pages))
		return;
	do_munmap(space, to, to + pages, rng, false);
	vma = space->at[start];
	new = vm_area_dup(vma);
	new->vm_start = address_of(to);
	new->vm_end = address_of(to + pages);
	vma_link(space, new);
	write_lock_vma(space, vma);
	do_munmap(space, start, end, rng, below(rng, 2));
}

/* A stack grows down, or a heap up. */
static void do_grow(struct space *space, unsigned int page, u64 *rng)
{
	struct vm_area_struct *vma = space->at[page];
	bool down = below(rng, 2);
	unsigned int beside;

	if (!vma)
		return;
	beside = down ? page_of(vma->vm_start) - 1 : page_of(vma->vm_end);
	if (beside >= PAGES || space->at[beside] || (down && !vma->vm_pgoff))
		return;
	write_lock_vma(space, vma);
	if (down) {
		vma->vm_start -= PAGE;
		vma->vm_pgoff--;
	} else {
		vma->vm_end += PAGE;
	}
	vma_mas_store(vma);
	space_note(space, vma);
}

/* exec() moves its stack: it grows at one end, and the tree loses the other end first. */
static void do_shrink(struct space *space, unsigned int page, u64 *rng)
{
	struct vm_area_struct *vma = space->at[page];
	unsigned int first, end, drop;

	if (below(rng, 2))
		do_grow(space, page, rng);
	if (!vma || pages_of(vma) == 1)
		return;
	first = page_of(vma->vm_start);
	end = page_of(vma->vm_end);
	drop = 1 + below(rng, end - first - 1);
	write_lock_vma(space, vma);
	if (below(rng, 2)) {
		space_clear(space, end - drop, end);
		vma->vm_end -= drop * PAGE;
	} else {
		space_clear(space, first, first + drop);
		vma->vm_start += drop * PAGE;
		vma->vm_pgoff += drop;
	}
}

/* A part of one VMA gets the flags of its neighbour: their border moves. */
static void vma_move_border(struct space *space, struct vm_area_struct *vma,
			    struct vm_area_struct *next, u64 *rng)
{
	bool up = below(rng, 2);
	unsigned long pages = pages_of(up ? next : vma);

	if (pages == 1)
		return;
	pages = 1 + below(rng, pages - 1);
	write_lock_vma(space, vma);
	write_lock_vma(space, next);
	if (up) {
		vma->vm_end += pages * PAGE;
		vma_mas_store(vma);
		next->vm_start += pages * PAGE;
		next->vm_pgoff += pages;
	} else {
		vma->vm_end -= pages * PAGE;
		next->vm_start -= pages * PAGE;
		next->vm_pgoff -= pages;
		vma_mas_store(next);
	}
	space_note(space, vma);
	space_note(space, next);
}

/* A VMA swallows the one before it, which gets its flags. */
static void vma_swallow_before(struct space *space, struct vm_area_struct *vma,
			       struct vm_area_struct *before)
{
	write_lock_vma(space, vma);
	write_lock_vma(space, before);
	vma->vm_start = before->vm_start;
	vma->vm_pgoff = before->vm_pgoff;
	vma_mas_store(vma);
	space_note(space, vma);
	remove_vma(before);
}

/* A VMA gets the flags of both neighbours: the first swallows both others in one store. */
static void vma_swallow_two(struct space *space, struct vm_area_struct *vma,
			    struct vm_area_struct *next, struct vm_area_struct *last)
{
	write_lock_vma(space, vma);
	write_lock_vma(space, next);
	write_lock_vma(space, last);
	vma->vm_end = last->vm_end;
	vma_mas_store(vma);
	space_note(space, vma);
	remove_vma(next);
	remove_vma(last);
}

static struct vm_area_struct *space_following(const struct space *space,
					      const struct vm_area_struct *vma)
{
	unsigned int after = page_of(vma->vm_end);
	struct vm_area_struct *next = after < PAGES ? space->at[after] : NULL;

	return next && follows(vma, next) ? next : NULL;
}

/* mprotect() that makes a VMA, or a part of one, equal to a neighbour. */
static void do_join(struct space *space, unsigned int page, u64 *rng)
{
	struct vm_area_struct *vma = space->at[page], *next, *last;

	next = vma ? space_following(space, vma) : NULL;
	if (!next)
		return;
	last = space_following(space, next);
	if (last && last->vm_flags == vma->vm_flags)
		vma_swallow_two(space, vma, next, last);
	else if (below(rng, 3))
		vma_move_border(space, vma, next, rng);
	else
		vma_swallow_before(space, next, vma);
}

static void space_do(struct space *space, u64 *rng)
{
	unsigned int first = below(rng, PAGES), end = first + 1 + below(rng, 6);

	if (end > PAGES)
		end = PAGES;
	switch (below(rng, 15)) {
	case 0:
	case 1:
	case 2:
		do_mmap(space, first, end, rng);
		break;
	case 11:
		do_mmap_over(space, first, end, rng);
		break;
	case 12:
		do_shrink(space, first, rng);
		break;
	case 13:
		do_join(space, first, rng);
		break;
	case 3:
	case 4:
		do_munmap(space, first, end, rng, below(rng, 2));
		break;
	case 5:
	case 6:
		do_mprotect(space, first, end, rng);
		break;
	case 7:
		do_mremap(space, first, below(rng, PAGES), rng);
		break;
	case 8:
		do_grow(space, first, rng);
		break;
	case 9:
		do_munmap_fails(space, first, end, rng);
		break;
	case 10:
		do_munmaps(space, rng);
		break;
	default:
		if (space->at[first])
			write_lock_vma(space, space->at[first]);
		break;
	}
}

/* One system call that changes an address space. */
void space_call(struct space *space, u64 *rng)
{
	if (space->watched)
		world_begin_call();
	memset(space->touched, 0, sizeof(space->touched));
	space->places = 0;
	space_do(space, rng);
	space_end_write(space);
	if (space->watched)
		world_end_call();
}

/*
 * Does a writer sleep that leaves a page alone? Returns a number that changes
 * when the writer goes on; 0: it does not sleep, or does something to what is
 * there.
 */
unsigned long space_writer_sleeps(const struct space *space, unsigned int page)
{
	unsigned long sleeps = shim_writer_sleeps();

	return sleeps && !space->touched[page] && space->mm.mm_users.counter ? sleeps : 0;
}

/* Make an address space; nobody searches. */
void space_start(struct space *space, bool watched)
{
	memset(space, 0, sizeof(*space));
	mt_init_flags(&space->mm.mm_mt,
		      MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN | MT_FLAGS_USE_RCU);
	vma_lock_init_mm(&space->mm);
	space->mm.mm_users.counter = 1;
	space->watched = watched;
}

/* The last user of an address space leaves; readers may search. */
void space_exit(struct space *space)
{
	struct vm_area_struct *vma;
	unsigned int page;

	atomic_dec_return(&space->mm.mm_users);
	for (vma = space_find(space, 0, PAGES); vma; vma = space_next(space, vma, PAGES)) {
		vma_lock_retire(vma);
		file_put(vma->vm_file);
	}
	for (page = 0; page < PAGES; page = vma ? page_of(vma->vm_end) : page + 1) {
		vma = space->at[page];
		if (vma)
			vm_area_free(vma);
	}
	__mt_destroy(&space->mm.mm_mt);
}
