// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the search for VMAs under RCU concurrent with writers, on an address
 * space of their own.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/vma_generation.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>

#include "vma_read.h"

/*
 * The VMAs, in pages from BASE. After each is a hole of one page, after the
 * last a far larger one.
 */
#define BASE		0x10000000UL
#define NR_VMAS		40
#define STRIDE		4UL
#define LENGTH		3UL
/* This VMA maps a file, all others are anonymous. */
#define FILE_VMA	30

/* Wait SOON for what must happen, and NEVER for what must not. */
#define SOON		(10 * HZ)
#define NEVER		(HZ / 5)

static unsigned long start_of(unsigned int nr)
{
	return BASE + nr * STRIDE * PAGE_SIZE;
}

static unsigned long end_of(unsigned int nr)
{
	return start_of(nr) + LENGTH * PAGE_SIZE;
}

/* Map this address. The thread of a test has no address space: it uses @mm for the call. */
static bool map(struct mm_struct *mm, struct file *file, unsigned long addr, unsigned long len,
		unsigned long prot)
{
	unsigned long flags = MAP_PRIVATE | MAP_FIXED | (file ? 0 : MAP_ANONYMOUS);
	bool good;

	kthread_use_mm(mm);
	good = vm_mmap(file, addr, len, prot, flags, 0) == addr;
	kthread_unuse_mm(mm);
	return good;
}

static bool map_one(struct mm_struct *mm, struct file *file, unsigned int nr, unsigned long prot)
{
	return map(mm, file, start_of(nr), LENGTH * PAGE_SIZE, prot);
}

static int unmap(struct mm_struct *mm, unsigned long addr, unsigned long len)
{
	int err;

	kthread_use_mm(mm);
	err = vm_munmap(addr, len);
	kthread_unuse_mm(mm);
	return err;
}

static int unmap_one(struct mm_struct *mm, unsigned int nr)
{
	return unmap(mm, start_of(nr), LENGTH * PAGE_SIZE);
}

/* The caller holds mmap_lock for writing, and continues in this write section. */
static int remove_one(struct mm_struct *mm, unsigned int nr)
{
	LIST_HEAD(uf);
	int err;

	kthread_use_mm(mm);
	err = do_munmap(mm, start_of(nr), LENGTH * PAGE_SIZE, &uf);
	kthread_unuse_mm(mm);
	return err;
}

static bool map_all(struct mm_struct *mm)
{
	struct file *file = shmem_kernel_file_setup("vma_lock_kunit", LENGTH * PAGE_SIZE, 0);
	bool good = !IS_ERR(file);
	unsigned int i;

	for (i = 0; good && i < NR_VMAS; i++)
		good = map_one(mm, i == FILE_VMA ? file : NULL, i, PROT_READ | PROT_WRITE);
	if (!IS_ERR(file))
		fput(file);
	return good;
}

/*
 * vma_lock_test_exit() must be reached with nothing held, so use expectations
 * and no assertions: a failed assertion ends the thread.
 */
static int vma_lock_test_init(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();
	struct rlimit stack = { .rlim_cur = _STK_LIM, .rlim_max = RLIM_INFINITY };

	if (!mm)
		return -ENOMEM;
	arch_pick_mmap_layout(mm, &stack);
	test->priv = mm;
	return map_all(mm) ? 0 : -ENOMEM;
}

static void vma_lock_test_exit(struct kunit *test)
{
	if (test->priv)
		mmput(test->priv);
}

/* Expect to find VMA number @nr from @addr, or none if @nr is NR_VMAS. */
static void expect_vma(struct kunit *test, unsigned long addr, unsigned int nr)
{
	struct vm_area_struct *vma = find_and_lock_vma_rcu(test->priv, addr);

	if (nr == NR_VMAS) {
		KUNIT_EXPECT_PTR_EQ(test, vma, NULL);
		if (!IS_ERR_OR_NULL(vma))
			vma_hold_end(vma);
		return;
	}
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, vma);
	if (IS_ERR_OR_NULL(vma))
		return;
	KUNIT_EXPECT_EQ(test, start_of(nr), vma->vm_start);
	KUNIT_EXPECT_EQ(test, end_of(nr), vma->vm_end);
	KUNIT_EXPECT_PTR_EQ(test, vma->vm_mm, (struct mm_struct *)test->priv);
	vma_hold_end(vma);
}

/* Expect -EAGAIN: the caller would have to take mmap_lock. */
static void expect_again(struct kunit *test, unsigned long addr)
{
	struct vm_area_struct *vma = find_and_lock_vma_rcu(test->priv, addr);

	KUNIT_EXPECT_EQ(test, PTR_ERR(vma), (long)-EAGAIN);
	if (!IS_ERR_OR_NULL(vma))
		vma_hold_end(vma);
}

/* Return the start of the next VMA, or 0 if there is none, or -EAGAIN. */
static long search(struct vma_search *search)
{
	struct vm_area_struct *vma = vma_search_rcu(search);
	unsigned long start;

	if (IS_ERR_OR_NULL(vma))
		return PTR_ERR(vma);
	start = vma->vm_start;
	vma_hold_end(vma);
	return start;
}

static long search_covering(struct kunit *test, unsigned long addr)
{
	struct vma_search covering;

	vma_search_begin(&covering, test->priv, addr);
	covering.covering = true;
	return search(&covering);
}

static long search_files(struct kunit *test, unsigned long addr)
{
	struct vma_search files;

	vma_search_begin(&files, test->priv, addr);
	files.file_only = true;
	return search(&files);
}

static long search_flags(struct kunit *test, unsigned long addr, unsigned long flags)
{
	struct vma_search some;

	vma_search_begin(&some, test->priv, addr);
	some.flags = flags;
	return search(&some);
}

/* Find a VMA from its first byte, its last byte, and the byte before it. */
static void find_covering_and_next(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_VMAS; i++) {
		expect_vma(test, start_of(i), i);
		expect_vma(test, end_of(i) - 1, i);
		expect_vma(test, start_of(i) - 1, i);
		expect_vma(test, end_of(i), i + 1);
	}
	expect_vma(test, 0, 0);
	expect_vma(test, ULONG_MAX, NR_VMAS);
}

static void find_nothing_in_an_empty_space(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, unmap(test->priv, start_of(0), start_of(NR_VMAS) - start_of(0)));
	expect_vma(test, 0, NR_VMAS);
	expect_vma(test, start_of(3), NR_VMAS);
	KUNIT_EXPECT_TRUE(test, map_one(test->priv, NULL, 5, PROT_READ));
	expect_vma(test, 0, 5);
	expect_vma(test, end_of(5), NR_VMAS);
}

static void walk_only_what_covers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (long)start_of(7), search_covering(test, start_of(7)));
	KUNIT_EXPECT_EQ(test, (long)start_of(7), search_covering(test, end_of(7) - 1));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(7)));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, start_of(7) - 1));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, 0));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(NR_VMAS - 1)));
}

static void walk_with_filters(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (long)start_of(FILE_VMA), search_files(test, 0));
	KUNIT_EXPECT_EQ(test, 0L, search_files(test, end_of(FILE_VMA)));
	KUNIT_EXPECT_EQ(test, (long)start_of(0), search_flags(test, 0, VM_READ | VM_WRITE));
	KUNIT_EXPECT_EQ(test, 0L, search_flags(test, 0, VM_EXEC));
	KUNIT_EXPECT_TRUE(test, map_one(test->priv, NULL, 20, PROT_READ | PROT_EXEC));
	KUNIT_EXPECT_EQ(test, (long)start_of(20), search_flags(test, 0, VM_EXEC));
	KUNIT_EXPECT_EQ(test, (long)start_of(21), search_flags(test, start_of(20), VM_WRITE));
	KUNIT_EXPECT_EQ(test, 0L, search_flags(test, 0, VM_EXEC | VM_WRITE));
}

/* A write-locked VMA cannot be locked until the writer releases mmap_lock. */
static void write_locked_vma_cannot_be_locked(struct kunit *test)
{
	struct mm_struct *mm = test->priv;
	struct vm_area_struct *vma;

	mmap_write_lock(mm);
	vma = find_vma(mm, start_of(10));
	vma_change_begin(vma);
	expect_again(test, start_of(10));
	expect_again(test, end_of(10) - 1);
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_covering(test, start_of(10)));
	expect_vma(test, start_of(9), 9);
	expect_vma(test, start_of(11), 11);
	expect_vma(test, start_of(0), 0);
	expect_vma(test, start_of(NR_VMAS - 1), NR_VMAS - 1);
	mmap_write_unlock(mm);
	expect_vma(test, start_of(10), 10);
}

/* Return the start of the next VMA as seen from NMI, 0, or an error. */
static long search_from_nmi(struct kunit *test, unsigned long addr, bool covering)
{
	struct vm_area_struct *vma;
	struct vma_search search;
	long ret;

	vma_search_begin(&search, test->priv, addr);
	search.covering = covering;
	local_irq_disable();
	nmi_enter();
	vma = vma_search_rcu(&search);
	ret = IS_ERR_OR_NULL(vma) ? PTR_ERR(vma) : vma->vm_start;
	if (!IS_ERR_OR_NULL(vma))
		vma_hold_end(vma);
	nmi_exit();
	local_irq_enable();
	return ret;
}

/* The writer that is interrupted keeps to itself what it changes, and no more. */
static void nmi_finds_what_is_not_changed(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	KUNIT_EXPECT_EQ(test, (long)start_of(10), search_from_nmi(test, start_of(10), false));
	KUNIT_EXPECT_EQ(test, (long)start_of(11), search_from_nmi(test, end_of(10), false));
	KUNIT_EXPECT_EQ(test, 0L, search_from_nmi(test, end_of(10), true));
	KUNIT_EXPECT_EQ(test, 0L, search_from_nmi(test, end_of(NR_VMAS - 1), false));
	mmap_write_lock(mm);
	vma_change_begin(find_vma(mm, start_of(10)));
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_from_nmi(test, start_of(10), false));
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_from_nmi(test, start_of(10), true));
	KUNIT_EXPECT_EQ(test, (long)start_of(11), search_from_nmi(test, end_of(10), false));
	KUNIT_EXPECT_EQ(test, 0L, search_from_nmi(test, end_of(10), true));
	mmap_write_unlock(mm);
	KUNIT_EXPECT_EQ(test, (long)start_of(10), search_from_nmi(test, start_of(10), true));
}

/* The write-locks also end when the writer downgrades mmap_lock. */
static void write_locks_end_with_a_downgrade(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	mmap_write_lock(mm);
	vma_change_begin(find_vma(mm, start_of(10)));
	mmap_write_downgrade(mm);
	expect_vma(test, start_of(10), 10);
	mmap_read_unlock(mm);
}

/* A writer elsewhere hides neither a hole nor the VMA after it. */
static void holes_are_believed_beside_a_writer(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	mmap_write_lock(mm);
	vma_change_begin(find_vma(mm, start_of(10)));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(20)));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, 0));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(9)));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(10)));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, ULONG_MAX));
	expect_vma(test, end_of(20), 21);
	expect_vma(test, end_of(10), 11);
	expect_vma(test, end_of(NR_VMAS - 1), NR_VMAS);
	KUNIT_EXPECT_EQ(test, (long)start_of(FILE_VMA), search_files(test, end_of(10)));
	KUNIT_EXPECT_EQ(test, 0L, search_files(test, end_of(FILE_VMA)));
	mmap_write_unlock(mm);
}

/*
 * A write section may fill a range that it has removed before it ends. All else
 * is visible. A filter does not matter, as nobody knows what was there.
 */
static void removed_range_is_not_believed(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	mmap_write_lock(mm);
	KUNIT_EXPECT_EQ(test, 0, remove_one(mm, 10));
	expect_again(test, start_of(10));
	expect_again(test, end_of(10) - 1);
	expect_again(test, end_of(9));
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_covering(test, start_of(10)));
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_flags(test, end_of(9), VM_READ));
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_files(test, 0));
	expect_vma(test, start_of(9), 9);
	expect_vma(test, start_of(11), 11);
	KUNIT_EXPECT_EQ(test, (long)start_of(FILE_VMA), search_files(test, start_of(11)));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(20)));
	mmap_write_unlock(mm);
	expect_vma(test, start_of(10), 11);
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, start_of(10)));
	KUNIT_EXPECT_EQ(test, (long)start_of(FILE_VMA), search_files(test, 0));
}

/* Two removed ranges far apart do not hide what lies between them. */
static void two_removed_ranges_hide_nothing_else(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	mmap_write_lock(mm);
	KUNIT_EXPECT_EQ(test, 0, remove_one(mm, 4));
	KUNIT_EXPECT_EQ(test, 0, remove_one(mm, 35));
	expect_again(test, start_of(4));
	expect_again(test, start_of(35));
	expect_vma(test, start_of(20), 20);
	expect_vma(test, end_of(20), 21);
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(20)));
	KUNIT_EXPECT_EQ(test, (long)start_of(FILE_VMA), search_files(test, end_of(4)));
	mmap_write_unlock(mm);
}

/*
 * shmdt() may remove more ranges than are noted: the last one covers the rest,
 * with what lies between, until the writer ends.
 */
static void the_last_removed_range_covers_the_rest(struct kunit *test)
{
	const unsigned int last = 4 + 8 * VMA_REMOVALS;
	struct mm_struct *mm = test->priv;
	unsigned int i;

	mmap_write_lock(mm);
	for (i = 4; i <= last; i += 8)
		KUNIT_EXPECT_EQ(test, 0, remove_one(mm, i));
	for (i = 4; i <= last; i += 8)
		expect_again(test, start_of(i));
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(last - 12)));
	KUNIT_EXPECT_EQ(test, (long)-EAGAIN, search_covering(test, end_of(last - 4)));
	expect_vma(test, start_of(last - 4), last - 4);
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(last)));
	mmap_write_unlock(mm);
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, end_of(last - 4)));
}

/* A VMA with as many readers as its word can count takes no more of them. */
static void readers_are_limited(struct kunit *test)
{
	struct mm_struct *mm = test->priv;
	struct vm_area_struct *vma;
	long word;

	mmap_read_lock(mm);
	vma = find_vma(mm, start_of(10));
	word = atomic_long_read(&vma->vm_hold);
	KUNIT_EXPECT_EQ(test, 0L, word & VMA_HOLD_READERS);
	atomic_long_add(VMA_HOLD_READERS - VMA_HOLD_READER, &vma->vm_hold);
	expect_vma(test, start_of(10), 10);
	atomic_long_add(VMA_HOLD_READER, &vma->vm_hold);
	expect_again(test, start_of(10));
	expect_vma(test, start_of(9), 9);
	atomic_long_sub(VMA_HOLD_READERS, &vma->vm_hold);
	KUNIT_EXPECT_EQ(test, word, atomic_long_read(&vma->vm_hold));
	mmap_read_unlock(mm);
	expect_vma(test, start_of(10), 10);
}

/* Begin a walk and pass @nr VMAs. */
static void walk_over(struct kunit *test, struct vma_walk *walk, unsigned int nr)
{
	struct vm_area_struct *vma;
	unsigned int i;

	vma_walk_begin(walk, test->priv, 0);
	for (i = 0; i < nr; i++) {
		vma = vma_walk_next(walk);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, vma);
		if (!IS_ERR_OR_NULL(vma))
			KUNIT_EXPECT_EQ(test, start_of(i), vma->vm_start);
	}
	vma_search_end(&walk->search);
}

/*
 * Expect that the walk continues with the VMAs from number @from on, except
 * @skip.
 */
static void expect_rest(struct kunit *test, struct vma_walk *walk, unsigned int from,
			unsigned int skip)
{
	struct vm_area_struct *vma;
	unsigned int i;

	for (i = from; i < NR_VMAS; i++) {
		if (i == skip)
			continue;
		vma = vma_walk_next(walk);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, vma);
		if (IS_ERR_OR_NULL(vma))
			return;
		KUNIT_EXPECT_EQ(test, start_of(i), vma->vm_start);
	}
	KUNIT_EXPECT_PTR_EQ(test, vma_walk_next(walk), NULL);
}

/* Has the walk kept its leaf? */
static bool keeps_leaf(const struct vma_walk *walk)
{
	return !(walk->seq & 1);
}

static void walk_keeps_its_leaf(struct kunit *test)
{
	struct vma_walk walk;
	unsigned int i, kept = 0;

	for (i = 0; i <= NR_VMAS; i++) {
		walk_over(test, &walk, i);
		kept += keeps_leaf(&walk);
		expect_rest(test, &walk, i, NR_VMAS);
	}
	/* A leaf has 16 slots at most, half of them for holes here. */
	KUNIT_EXPECT_GE(test, kept, NR_VMAS - NR_VMAS / 3);
}

/* At each place: a leaf that was kept is not used after a change. */
static void walk_sees_a_new_vma(struct kunit *test)
{
	struct vm_area_struct *vma;
	struct vma_walk walk;
	unsigned int i;

	for (i = 1; i < NR_VMAS; i++) {
		unsigned long hole = end_of(i - 1);

		walk_over(test, &walk, i);
		KUNIT_EXPECT_TRUE(test, map(test->priv, NULL, hole, PAGE_SIZE, PROT_EXEC));
		vma = vma_walk_next(&walk);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, vma);
		if (!IS_ERR_OR_NULL(vma))
			KUNIT_EXPECT_EQ(test, hole, vma->vm_start);
		expect_rest(test, &walk, i, NR_VMAS);
		KUNIT_EXPECT_EQ(test, 0, unmap(test->priv, hole, PAGE_SIZE));
	}
}

static void walk_does_not_see_a_removed_vma(struct kunit *test)
{
	struct vma_walk walk;
	unsigned int i;

	for (i = 0; i < NR_VMAS; i++) {
		if (i == FILE_VMA)
			continue;
		walk_over(test, &walk, i);
		KUNIT_EXPECT_EQ(test, 0, unmap_one(test->priv, i));
		expect_rest(test, &walk, i, i);
		KUNIT_EXPECT_TRUE(test, map_one(test->priv, NULL, i, PROT_READ | PROT_WRITE));
	}
}

/* The caller may set the address between two calls. */
static void walk_goes_where_it_is_sent(struct kunit *test)
{
	struct vma_walk walk;

	walk_over(test, &walk, 2);
	walk.search.addr = start_of(20);
	expect_rest(test, &walk, 20, NR_VMAS);
	walk.search.addr = 0;
	expect_rest(test, &walk, 0, NR_VMAS);
}

/*
 * The VMAs may be freed as soon as there are no users: a search that begins
 * after that does not read them.
 */
static void dead_space_is_not_searched(struct kunit *test)
{
	struct mm_struct *mm = test->priv;
	struct vma_search search;
	struct vma_walk walk;
	int users;

	walk_over(test, &walk, 1);
	vma_search_begin(&search, mm, start_of(10));
	users = atomic_xchg(&mm->mm_users, 0);
	expect_vma(test, start_of(10), NR_VMAS);
	KUNIT_EXPECT_EQ(test, (long)-ESRCH, PTR_ERR_OR_ZERO(vma_search_next(&search)));
	KUNIT_EXPECT_EQ(test, (long)-ESRCH, PTR_ERR_OR_ZERO(vma_walk_next(&walk)));
	atomic_set(&mm->mm_users, users);
	vma_search_end(&search);
	vma_search_end(&walk.search);
	expect_vma(test, start_of(10), 10);
}

/* Expect the VMA, or this errno, of a search without patience. */
static void expect_at_once(struct kunit *test, unsigned int nr, long err)
{
	struct vma_search search;
	struct vm_area_struct *vma;

	vma_search_begin(&search, test->priv, start_of(nr));
	search.patience = 0;
	vma = vma_search_next(&search);
	KUNIT_EXPECT_EQ(test, err, PTR_ERR_OR_ZERO(vma));
	if (!IS_ERR_OR_NULL(vma))
		KUNIT_EXPECT_EQ(test, start_of(nr), vma->vm_start);
	vma_search_end(&search);
}

static void no_patience_is_no_wait_for_a_writer(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	mmap_write_lock(mm);
	vma_change_begin(find_vma(mm, start_of(10)));
	expect_at_once(test, 9, 0);
	expect_at_once(test, 10, -EAGAIN);
	expect_at_once(test, 11, 0);
	mmap_write_unlock(mm);
	expect_at_once(test, 10, 0);
}

static void generation_tells_of_changes(struct kunit *test)
{
	struct mm_struct *mm = test->priv;
	struct vma_search search;
	unsigned long first;

	vma_search_begin(&search, mm, 0);
	first = vma_search_seq(&search);
	KUNIT_EXPECT_NE(test, 0UL, first);
	expect_vma(test, start_of(10), 10);
	KUNIT_EXPECT_EQ(test, first, vma_search_seq(&search));
	/* mmap_lock without a write-locked VMA changes nothing. */
	mmap_write_lock(mm);
	KUNIT_EXPECT_EQ(test, first, vma_search_seq(&search));
	vma_change_begin(find_vma(mm, start_of(10)));
	KUNIT_EXPECT_EQ(test, 0UL, vma_search_seq(&search));
	mmap_write_unlock(mm);
	KUNIT_EXPECT_NE(test, 0UL, vma_search_seq(&search));
	KUNIT_EXPECT_NE(test, first, vma_search_seq(&search));
}

/* A generation without users holds no more: the VMAs may be freed by then. */
static void generation_ends_with_the_users(struct kunit *test)
{
	struct mm_struct *mm = test->priv;
	const struct vma_generations before = vma_generations_now(mm);
	unsigned long seq = READ_ONCE(mm->vma_seq);
	struct vma_generations kept;
	int users;

	kept = vma_generations_kept(mm, before);
	KUNIT_EXPECT_NE(test, (u64)0, before.all);
	KUNIT_EXPECT_NE(test, (u64)0, before.code);
	KUNIT_EXPECT_EQ(test, before.all, kept.all);
	KUNIT_EXPECT_EQ(test, before.code, kept.code);
	KUNIT_EXPECT_FALSE(test, vma_seq_changed(mm, seq));
	users = atomic_xchg(&mm->mm_users, 0);
	kept = vma_generations_kept(mm, before);
	KUNIT_EXPECT_EQ(test, (u64)0, kept.all);
	KUNIT_EXPECT_EQ(test, (u64)0, kept.code);
	KUNIT_EXPECT_TRUE(test, vma_seq_changed(mm, seq));
	atomic_set(&mm->mm_users, users);
}

/* Are these the properties of VMA number @nr? */
static void expect_props(struct kunit *test, const struct vma_props *props, unsigned int nr)
{
	const bool file = nr == FILE_VMA;

	KUNIT_EXPECT_EQ(test, start_of(nr), props->start);
	KUNIT_EXPECT_EQ(test, end_of(nr), props->end);
	KUNIT_EXPECT_EQ(test, (unsigned long)(VM_READ | VM_WRITE),
			props->flags & (VM_READ | VM_WRITE | VM_EXEC | VM_SHARED));
	KUNIT_EXPECT_NE(test, (u64)0, props->generation);
	KUNIT_EXPECT_GE(test, vma_generations_now(test->priv).all, props->generation);
	KUNIT_EXPECT_EQ(test, file, !!props->file);
	KUNIT_EXPECT_EQ(test, file, !!props->ino);
	KUNIT_EXPECT_EQ(test, (u64)0, props->offset);
}

/* Lock the next VMA of a walk for its properties. Returns false at the end. */
static bool lock_one(struct kunit *test, struct vma_walk *walk, struct vma_props *props)
{
	struct vm_area_struct *vma = vma_walk_next(walk);

	KUNIT_EXPECT_FALSE(test, IS_ERR(vma));
	if (IS_ERR_OR_NULL(vma))
		return false;
	vma_props_copy(&walk->search, props);
	vma_search_end(&walk->search);
	return true;
}

/* Copy all VMAs, @size at a time. Returns how many were copied without a lock. */
static unsigned int read_all(struct kunit *test, unsigned int size)
{
	unsigned int i = 0, k, got, unlocked = 0;
	struct vma_props props[8];
	struct vma_walk walk;

	vma_walk_begin(&walk, test->priv, 0);
	for (;;) {
		got = vma_walk_read(&walk, NULL, props, size);
		KUNIT_EXPECT_GE(test, size, got);
		unlocked += got;
		if (!got && !lock_one(test, &walk, props))
			break;
		for (k = 0; k < max(got, 1U); k++)
			expect_props(test, &props[k], i++);
	}
	KUNIT_EXPECT_EQ(test, (unsigned int)NR_VMAS, i);
	return unlocked;
}

static void properties_are_copied_without_a_lock(struct kunit *test)
{
	unsigned int size;

	for (size = 1; size <= 8; size++)
		KUNIT_EXPECT_EQ(test, (unsigned int)NR_VMAS, read_all(test, size));
}

static void properties_are_not_copied_beside_a_writer(struct kunit *test)
{
	struct mm_struct *mm = test->priv;
	struct vma_props props;
	struct vma_walk walk;

	vma_walk_begin(&walk, mm, 0);
	KUNIT_EXPECT_EQ(test, 1U, vma_walk_read(&walk, NULL, &props, 1));
	mmap_write_lock(mm);
	KUNIT_EXPECT_EQ(test, 1U, vma_walk_read(&walk, NULL, &props, 1));
	vma_change_begin(find_vma(mm, start_of(10)));
	KUNIT_EXPECT_EQ(test, 0U, vma_walk_read(&walk, NULL, &props, 1));
	mmap_write_unlock(mm);
	KUNIT_EXPECT_EQ(test, 1U, vma_walk_read(&walk, NULL, &props, 1));
	expect_props(test, &props, 2);
}

static void properties_of_a_changed_vma_are_new(struct kunit *test)
{
	struct vma_props before, after;
	struct vma_walk walk;

	vma_walk_begin(&walk, test->priv, start_of(10));
	KUNIT_EXPECT_EQ(test, 1U, vma_walk_read(&walk, NULL, &before, 1));
	KUNIT_EXPECT_EQ(test, 0, unmap_one(test->priv, 11));
	KUNIT_EXPECT_TRUE(test, map_one(test->priv, NULL, 12, PROT_READ | PROT_EXEC));
	KUNIT_EXPECT_EQ(test, 1U, vma_walk_read(&walk, NULL, &after, 1));
	KUNIT_EXPECT_EQ(test, start_of(12), after.start);
	KUNIT_EXPECT_TRUE(test, after.flags & VM_EXEC);
	KUNIT_EXPECT_EQ(test, vma_generations_now(test->priv).all, after.generation);
	KUNIT_EXPECT_LT(test, before.generation, after.generation);
}

/* Begin a walk and a run at the VMA with a file. */
static void begin_run(struct mm_struct *mm, struct vma_walk *walk, struct vma_run *run)
{
	vma_walk_begin(walk, mm, start_of(FILE_VMA));
	mmap_read_lock(mm);
	run->file = find_vma(mm, start_of(FILE_VMA))->vm_file;
	mmap_read_unlock(mm);
	run->seq = vma_search_seq(&walk->search);
}

/* A run ends at the first VMA of another file, or of none. */
static void a_run_has_one_file(struct kunit *test)
{
	struct vma_props props[8];
	struct vma_walk walk;
	struct vma_run run;

	begin_run(test->priv, &walk, &run);
	KUNIT_EXPECT_EQ(test, 1U, vma_walk_read(&walk, &run, props, 8));
	expect_props(test, &props[0], FILE_VMA);
	KUNIT_EXPECT_EQ(test, 0UL, run.seq);

	/*
	 * Nor does a run continue after a change: the file may be another one
	 * by now.
	 */
	begin_run(test->priv, &walk, &run);
	KUNIT_EXPECT_EQ(test, 0, unmap_one(test->priv, 0));
	KUNIT_EXPECT_EQ(test, 0U, vma_walk_read(&walk, &run, props, 8));
}

/* How many VMAs from number @nr on follow each other without a name. */
static unsigned int count_nameless(struct kunit *test, unsigned int nr)
{
	unsigned int got, sum = 0;
	struct vma_props props[8];
	struct vma_walk walk;
	struct vma_run run = {};

	vma_walk_begin(&walk, test->priv, start_of(nr));
	run.seq = vma_search_seq(&walk.search);
	while ((got = vma_walk_read(&walk, &run, props, ARRAY_SIZE(props)))) {
		expect_props(test, &props[0], nr + sum);
		sum += got;
	}
	return sum;
}

/* Swap the operations of two VMAs. */
static void swap_ops(struct mm_struct *mm, unsigned int one, unsigned int other)
{
	mmap_write_lock(mm);
	swap(find_vma(mm, start_of(one))->vm_ops, find_vma(mm, start_of(other))->vm_ops);
	mmap_write_unlock(mm);
}

/* A run without a file ends before the first VMA that has a name. */
static void a_run_without_a_file_has_no_name(struct kunit *test)
{
	struct mm_struct *mm = test->priv;

	KUNIT_EXPECT_EQ(test, (unsigned int)FILE_VMA, count_nameless(test, 0));
	mm->start_stack = start_of(20);
	KUNIT_EXPECT_EQ(test, 20U, count_nameless(test, 0));
	KUNIT_EXPECT_EQ(test, 0U, count_nameless(test, 20));
	KUNIT_EXPECT_EQ(test, 9U, count_nameless(test, 21));
	mm->start_brk = start_of(10) + 1;
	mm->brk = start_of(12) - 1;
	KUNIT_EXPECT_EQ(test, 10U, count_nameless(test, 0));
	KUNIT_EXPECT_EQ(test, 0U, count_nameless(test, 11));
	KUNIT_EXPECT_EQ(test, 8U, count_nameless(test, 12));
	mm->start_stack = 0;
	mm->start_brk = 0;
	mm->brk = 0;
	swap_ops(mm, 5, FILE_VMA);
	KUNIT_EXPECT_EQ(test, 5U, count_nameless(test, 0));
	swap_ops(mm, 5, FILE_VMA);
}

/* A thread that unmaps a VMA. */
struct unmapper {
	struct mm_struct *mm;
	struct completion done;
	int ret;
};

static int unmap_thread(void *arg)
{
	struct unmapper *unmapper = arg;

	unmapper->ret = unmap_one(unmapper->mm, 10);
	complete(&unmapper->done);
	return 0;
}

/*
 * The writer waits for the reader, which sees no change. A later reader finds
 * the writer.
 */
static void expect_writer_waits(struct kunit *test, void (*release)(struct vm_area_struct *vma))
{
	struct unmapper unmapper = { .mm = test->priv };
	struct vm_area_struct *vma = find_and_lock_vma_rcu(unmapper.mm, start_of(10));
	struct task_struct *thread;

	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, vma);
	if (IS_ERR_OR_NULL(vma))
		return;
	init_completion(&unmapper.done);
	thread = kthread_run(unmap_thread, &unmapper, "vma_lock_kunit");
	if (IS_ERR(thread)) {
		vma_hold_end(vma);
		KUNIT_FAIL(test, "no thread: %ld", PTR_ERR(thread));
		return;
	}
	KUNIT_EXPECT_EQ(test, 0UL, wait_for_completion_timeout(&unmapper.done, NEVER));
	KUNIT_EXPECT_EQ(test, start_of(10), vma->vm_start);
	KUNIT_EXPECT_EQ(test, end_of(10), vma->vm_end);
	expect_again(test, start_of(10));
	release(vma);
	/* The thread uses our stack, so do not return before it is done. */
	if (!wait_for_completion_timeout(&unmapper.done, SOON)) {
		KUNIT_FAIL(test, "the writer is not woken");
		wait_for_completion(&unmapper.done);
	}
	KUNIT_EXPECT_EQ(test, 0, unmapper.ret);
	expect_vma(test, start_of(10), 11);
	KUNIT_EXPECT_EQ(test, 0L, search_covering(test, start_of(10)));
}

static void writer_waits_for_reader(struct kunit *test)
{
	expect_writer_waits(test, vma_hold_end);
}

static void release_without_irqs(struct vm_area_struct *vma)
{
	local_irq_disable();
	vma_hold_end(vma);
	local_irq_enable();
}

static void writer_is_woken_with_irqs_disabled(struct kunit *test)
{
	expect_writer_waits(test, release_without_irqs);
}

static void release_in_nmi(struct vm_area_struct *vma)
{
	local_irq_disable();
	nmi_enter();
	vma_hold_end(vma);
	nmi_exit();
	/* Lockdep is off in NMI. */
	rwsem_release(&vma_lock_map, _RET_IP_);
	local_irq_enable();
}

static void writer_is_woken_from_nmi(struct kunit *test)
{
	expect_writer_waits(test, release_in_nmi);
}

/*
 * The writer that waits has overwritten the number in the lock word: the
 * generation is not known.
 */
static void generation_is_not_known_while_a_writer_waits(struct kunit *test)
{
	struct unmapper unmapper = { .mm = test->priv };
	unsigned long until = jiffies + SOON;
	struct task_struct *thread;
	struct vma_search search;
	struct vma_props props;

	vma_search_begin(&search, unmapper.mm, start_of(10));
	/* A caller that holds a VMA by a search must not sleep. */
	search.vma = find_and_lock_vma_rcu(unmapper.mm, start_of(10));
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, search.vma);
	if (IS_ERR_OR_NULL(search.vma))
		return;
	vma_props_copy(&search, &props);
	KUNIT_EXPECT_NE(test, (u64)0, props.generation);
	init_completion(&unmapper.done);
	thread = kthread_run(unmap_thread, &unmapper, "vma_lock_kunit");
	while (!IS_ERR(thread) && props.generation && time_before(jiffies, until)) {
		schedule_timeout_uninterruptible(1);
		vma_props_copy(&search, &props);
	}
	KUNIT_EXPECT_EQ(test, (u64)0, props.generation);
	KUNIT_EXPECT_EQ(test, start_of(10), props.start);
	vma_hold_end(search.vma);
	if (IS_ERR(thread))
		KUNIT_FAIL(test, "no thread: %ld", PTR_ERR(thread));
	else
		wait_for_completion(&unmapper.done);
}

static struct kunit_case vma_lock_test_cases[] = {
	KUNIT_CASE(find_covering_and_next),
	KUNIT_CASE(find_nothing_in_an_empty_space),
	KUNIT_CASE(walk_only_what_covers),
	KUNIT_CASE(walk_with_filters),
	KUNIT_CASE(write_locked_vma_cannot_be_locked),
	KUNIT_CASE(nmi_finds_what_is_not_changed),
	KUNIT_CASE(write_locks_end_with_a_downgrade),
	KUNIT_CASE(holes_are_believed_beside_a_writer),
	KUNIT_CASE(removed_range_is_not_believed),
	KUNIT_CASE(two_removed_ranges_hide_nothing_else),
	KUNIT_CASE(the_last_removed_range_covers_the_rest),
	KUNIT_CASE(readers_are_limited),
	KUNIT_CASE(walk_keeps_its_leaf),
	KUNIT_CASE(walk_sees_a_new_vma),
	KUNIT_CASE(walk_does_not_see_a_removed_vma),
	KUNIT_CASE(walk_goes_where_it_is_sent),
	KUNIT_CASE(dead_space_is_not_searched),
	KUNIT_CASE(no_patience_is_no_wait_for_a_writer),
	KUNIT_CASE(generation_tells_of_changes),
	KUNIT_CASE(generation_ends_with_the_users),
	KUNIT_CASE(generation_is_not_known_while_a_writer_waits),
	KUNIT_CASE(properties_are_copied_without_a_lock),
	KUNIT_CASE(properties_are_not_copied_beside_a_writer),
	KUNIT_CASE(properties_of_a_changed_vma_are_new),
	KUNIT_CASE(a_run_has_one_file),
	KUNIT_CASE(a_run_without_a_file_has_no_name),
	KUNIT_CASE(writer_waits_for_reader),
	KUNIT_CASE(writer_is_woken_with_irqs_disabled),
	KUNIT_CASE(writer_is_woken_from_nmi),
	{}
};

static struct kunit_suite vma_lock_test_suite = {
	.name = "vma_lock",
	.init = vma_lock_test_init,
	.exit = vma_lock_test_exit,
	.test_cases = vma_lock_test_cases,
};

kunit_test_suite(vma_lock_test_suite);
