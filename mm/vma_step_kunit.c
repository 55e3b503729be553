// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what BPF programs do in NMI: look up VMAs and build IDs after each
 * instruction of a writer, of a release, and of an operation of the page cache.
 *
 * The debug exception of a single step is like an NMI for the code that it
 * interrupts: it arrives with any lock held, with interrupts disabled or not.
 */
#include <kunit/test.h>
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/completion.h>
#include <linux/elf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hardirq.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/nmi.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>
#include <asm/debugreg.h>
#include <asm/processor-flags.h>

#include "vma_read.h"

#define BASE		0x10000000UL
/* Three VMAs with holes between them; the test changes the one in the middle. */
#define LOW		BASE
#define MIDDLE		(BASE + 2 * PAGE_SIZE)
#define HIGH		(BASE + 6 * PAGE_SIZE)
#define MIDDLE_PAGES	3UL

struct span {
	unsigned long start;
	unsigned long end;
};

/* An address, and what may cover it during a change; an empty span is a hole. */
struct place {
	unsigned long addr;
	struct span before;
	struct span after;
	unsigned long seen;
	unsigned long busy;
	unsigned long wrong;
};

/* What is looked up after each step of @task. */
struct step {
	struct task_struct *task;
	void (*look)(struct step *step);
	struct mm_struct *mm;
	struct place places[3];
	struct file *file;
	unsigned long steps;
	unsigned long irqs_off;
	unsigned long right;
	unsigned long none;
	unsigned long wrong;
	bool lost;
};

static struct step *stepped;

static int step_done(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;
	unsigned long *dr6 = ERR_PTR(args->err);
	struct step *step = stepped;

	if (event != DIE_DEBUG || !step || !(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	*dr6 &= ~DR_STEP;
	/* A switch of tasks keeps TF set for the next one: the steps end here. */
	if (current != step->task || !in_nmi()) {
		step->lost = true;
		args->regs->flags &= ~X86_EFLAGS_TF;
		return NOTIFY_STOP;
	}
	/* The steps of one system call may take a minute with KASAN. */
	touch_softlockup_watchdog();
	rcu_cpu_stall_reset();
	step->steps++;
	step->look(step);
	/* A writer may sleep, and the locks of its wait queue and run queue be held. */
	if (!(args->regs->flags & X86_EFLAGS_IF)) {
		step->irqs_off++;
		vma_hold_wake();
	}
	return NOTIFY_STOP;
}

static struct notifier_block step_notifier = { .notifier_call = step_done };

static void step_begin(struct step *step)
{
	step->task = current;
	stepped = step;
	asm volatile("pushfq; orq %0, (%%rsp); popfq" :: "i" (X86_EFLAGS_TF) : "memory", "cc");
}

static void step_end(struct kunit *test, struct step *step)
{
	asm volatile("pushfq; andq %0, (%%rsp); popfq" :: "i" (~X86_EFLAGS_TF) : "memory", "cc");
	stepped = NULL;
	KUNIT_EXPECT_FALSE(test, step->lost);
	KUNIT_EXPECT_GT(test, step->steps, 100UL);
}

static void look_up_place(struct mm_struct *mm, struct place *place)
{
	struct span span = {};
	struct vm_area_struct *vma;
	struct vma_search search;

	vma_search_begin(&search, mm, place->addr);
	search.covering = true;
	vma = vma_search_rcu(&search);
	if (IS_ERR(vma)) {
		place->busy++;
		return;
	}
	if (vma) {
		span.start = vma->vm_start;
		span.end = vma->vm_end;
		vma_hold_end(vma);
	}
	if (memcmp(&span, &place->before, sizeof(span)) &&
	    memcmp(&span, &place->after, sizeof(span)))
		place->wrong++;
	else
		place->seen++;
}

static void look_up_places(struct step *step)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(step->places); i++)
		look_up_place(step->mm, &step->places[i]);
}

static struct span span_of(unsigned long addr, unsigned long pages)
{
	return (struct span){ pages ? addr : 0, pages ? addr + pages * PAGE_SIZE : 0 };
}

static struct place place_of(unsigned long addr, struct span before, struct span after)
{
	return (struct place){ .addr = addr, .before = before, .after = after };
}

/* What is in the middle changes, what is on both sides of it does not. */
static struct step step_of(struct mm_struct *mm, struct span before, struct span after)
{
	struct span low = span_of(LOW, 1), high = span_of(HIGH, 1);

	return (struct step){
		.look = look_up_places,
		.mm = mm,
		.places = {
			place_of(LOW, low, low),
			place_of(MIDDLE + PAGE_SIZE, before, after),
			place_of(HIGH, high, high),
		},
	};
}

static void expect_places(struct kunit *test, const struct step *step, const char *what)
{
	unsigned int i;

	kunit_info(test, "%s: %lu steps, %lu of them busy where it changes\n", what, step->steps,
		   step->places[1].busy);
	for (i = 0; i < ARRAY_SIZE(step->places); i++) {
		KUNIT_EXPECT_EQ_MSG(test, step->places[i].wrong, 0UL, "%s, place %u", what, i);
		KUNIT_EXPECT_GT_MSG(test, step->places[i].seen, 0UL, "%s, place %u", what, i);
	}
	/* Who interrupts the writer is told of no other place that it is busy. */
	KUNIT_EXPECT_EQ_MSG(test, step->places[0].busy, 0UL, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, step->places[2].busy, 0UL, "%s", what);
}

static bool map(unsigned long addr, unsigned long pages, unsigned long prot)
{
	return vm_mmap(NULL, addr, pages * PAGE_SIZE, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0) == addr;
}

/* Map @pages from @addr, or unmap them if @prot is 0, step by step. */
static void change(struct kunit *test, struct span before, struct span after, unsigned long addr,
		   unsigned long pages, unsigned long prot, const char *what)
{
	struct step step = step_of(test->priv, before, after);
	bool good;

	kthread_use_mm(step.mm);
	step_begin(&step);
	good = prot ? map(addr, pages, prot) : !vm_munmap(addr, pages * PAGE_SIZE);
	step_end(test, &step);
	kthread_unuse_mm(step.mm);
	KUNIT_EXPECT_TRUE_MSG(test, good, "%s", what);
	expect_places(test, &step, what);
}

static void writer_is_interrupted(struct kunit *test)
{
	const struct span all = span_of(MIDDLE, MIDDLE_PAGES), hole = {};
	const struct span one = span_of(MIDDLE + PAGE_SIZE, 1);

	change(test, all, one, MIDDLE + PAGE_SIZE, 1, PROT_READ, "replace");
	change(test, one, all, MIDDLE + PAGE_SIZE, 1, PROT_READ | PROT_WRITE, "merge");
	change(test, all, hole, MIDDLE + PAGE_SIZE, 1, 0, "split");
	change(test, hole, all, MIDDLE + PAGE_SIZE, 1, PROT_READ | PROT_WRITE, "fill");
	change(test, all, hole, MIDDLE, MIDDLE_PAGES, 0, "unmap");
	change(test, hole, all, MIDDLE, MIDDLE_PAGES, PROT_READ | PROT_WRITE, "map");
}

/* A thread that unmaps the VMA in the middle. */
struct unmapper {
	struct mm_struct *mm;
	struct completion done;
};

static int unmap_thread(void *arg)
{
	struct unmapper *unmapper = arg;

	kthread_use_mm(unmapper->mm);
	vm_munmap(MIDDLE, MIDDLE_PAGES * PAGE_SIZE);
	kthread_unuse_mm(unmapper->mm);
	complete(&unmapper->done);
	return 0;
}

/* The release wakes a writer: it takes the locks of its wait queue and run queue. */
static void release_is_interrupted(struct kunit *test)
{
	struct unmapper unmapper = { .mm = test->priv };
	struct step step = step_of(test->priv, span_of(MIDDLE, MIDDLE_PAGES), (struct span){});
	struct vm_area_struct *vma = find_and_lock_vma_rcu(test->priv, MIDDLE);
	struct task_struct *thread;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, vma);
	init_completion(&unmapper.done);
	thread = kthread_run(unmap_thread, &unmapper, "vma_step_kunit");
	while (!IS_ERR(thread) && !(atomic_long_read(&vma->vm_hold) & VMA_HOLD_WAITING))
		schedule_timeout_uninterruptible(1);
	step_begin(&step);
	vma_hold_end(vma);
	step_end(test, &step);
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	wait_for_completion(&unmapper.done);
	kunit_info(test, "%lu steps, %lu of them with interrupts disabled\n", step.steps,
		   step.irqs_off);
	KUNIT_EXPECT_GT(test, step.irqs_off, 100UL);
	KUNIT_EXPECT_EQ(test, step.places[0].wrong + step.places[1].wrong + step.places[2].wrong,
			0UL);
	KUNIT_EXPECT_EQ(test, step.places[0].seen, step.steps);
	KUNIT_EXPECT_EQ(test, step.places[2].seen, step.steps);
}

/* A file that is all headers and one note */
struct image {
	struct elf64_hdr ehdr;
	struct elf64_phdr phdr;
	struct elf64_note nhdr;
	char name[4];
	unsigned char id[BUILD_ID_SIZE_MAX];
};

static const struct image image = {
	.ehdr = {
		.e_ident = ELFMAG "\x02\x01\x01", /* 64 bit, little endian, current */
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, phdr),
		.e_ehsize = sizeof(struct elf64_hdr),
		.e_phentsize = sizeof(struct elf64_phdr),
		.e_phnum = 1,
	},
	.phdr = {
		.p_type = PT_NOTE,
		.p_offset = offsetof(struct image, nhdr),
		.p_filesz = sizeof(struct image) - offsetof(struct image, nhdr),
		.p_align = 4,
	},
	.nhdr = { .n_namesz = 4, .n_descsz = BUILD_ID_SIZE_MAX, .n_type = 3 /* NT_GNU_BUILD_ID */ },
	.name = "GNU",
	.id = "twenty bytes of ID..",
};

static void look_up_build_id(struct step *step)
{
	unsigned char id[BUILD_ID_SIZE_MAX];
	unsigned int size = 0;
	int err = build_id_read_atomic(step->file, id, &size);

	if (err == -EAGAIN || err == -ENODATA)
		step->none++;
	else if (!err && size == BUILD_ID_SIZE_MAX && !memcmp(id, image.id, size))
		step->right++;
	else
		step->wrong++;
}

static struct step step_of_file(struct file *file)
{
	return (struct step){ .look = look_up_build_id, .file = file };
}

static bool write_page(struct file *file, loff_t pos)
{
	return kernel_write(file, &image, sizeof(image), &pos) == sizeof(image);
}

/* Add a page of zeros. Unlike a write, this does not offer the processor to others. */
static bool add_page(struct address_space *mapping, pgoff_t index)
{
	struct page *page = shmem_read_mapping_page(mapping, index);

	if (IS_ERR(page))
		return false;
	put_page(page);
	return true;
}

/* Remove a page as reclaim does, which freezes its count. */
static bool remove_page(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = filemap_lock_folio(mapping, index);
	bool good;

	if (IS_ERR_OR_NULL(folio))
		return false;
	folio_clear_dirty(folio);
	good = remove_mapping(mapping, folio);
	folio_unlock(folio);
	folio_put(folio);
	return good;
}

/*
 * The tree of pages, a node with two of them, loses the second and then the first,
 * which has the build ID. Then it gets both again.
 */
static void page_cache_is_interrupted(struct kunit *test)
{
	struct file *file = shmem_kernel_file_setup("vma_step_kunit", 0, VM_NORESERVE);
	struct step step = step_of_file(file);
	struct address_space *mapping;
	bool good;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	mapping = file->f_mapping;
	KUNIT_EXPECT_TRUE(test, write_page(file, 0) && write_page(file, PAGE_SIZE));
	/* These lists have references, too. */
	lru_add_drain_all();
	step_begin(&step);
	good = remove_page(mapping, 1) && remove_page(mapping, 0);
	good = good && add_page(mapping, 0) && add_page(mapping, 1);
	step_end(test, &step);
	fput(file);
	kunit_info(test, "%lu steps, %lu build IDs\n", step.steps, step.right);
	KUNIT_EXPECT_TRUE(test, good);
	KUNIT_EXPECT_EQ(test, step.wrong, 0UL);
	KUNIT_EXPECT_GT(test, step.right, 0UL);
	KUNIT_EXPECT_GT(test, step.none, 0UL);
}

static int vma_step_test_init(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();
	struct rlimit stack = { .rlim_cur = _STK_LIM, .rlim_max = RLIM_INFINITY };
	bool good;

	if (!mm)
		return -ENOMEM;
	arch_pick_mmap_layout(mm, &stack);
	test->priv = mm;
	register_die_notifier(&step_notifier);
	/* No other thread takes the processor between two steps. */
	sched_set_fifo(current);
	kthread_use_mm(mm);
	good = map(LOW, 1, PROT_READ) && map(HIGH, 1, PROT_READ) &&
	       map(MIDDLE, MIDDLE_PAGES, PROT_READ | PROT_WRITE);
	kthread_unuse_mm(mm);
	return good ? 0 : -ENOMEM;
}

static void vma_step_test_exit(struct kunit *test)
{
	if (!test->priv)
		return;
	sched_set_normal(current, 0);
	unregister_die_notifier(&step_notifier);
	mmput(test->priv);
}

static struct kunit_case vma_step_test_cases[] = {
	KUNIT_CASE(writer_is_interrupted),
	KUNIT_CASE(release_is_interrupted),
	KUNIT_CASE(page_cache_is_interrupted),
	{}
};

static struct kunit_suite vma_step_test_suite = {
	.name = "vma_step",
	.init = vma_step_test_init,
	.exit = vma_step_test_exit,
	.test_cases = vma_step_test_cases,
};

kunit_test_suite(vma_step_test_suite);
