// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_for_each(task_vma, ...) without mmap_lock.
 *
 * The program trusts vm_mm and vm_file of its copy of a VMA: the iterator has mm_users, and
 * keeps the file open until it moves on. With interrupts disabled it must not drop what can
 * be the last reference: so it holds the VMA, and leaves mm_users to irq_work. A program
 * that may fault must not hold a VMA: there it has a reference to the file.
 */
#include <linux/bpf.h>
#include <linux/bpf_mem_alloc.h>
#include <linux/btf.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/maple_leaf.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/mm_types.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>

/* VMAs or holes that one call skips at most: interrupts may be disabled. */
#define BPF_ITER_SKIPS	1000

struct bpf_iter_task_vma_kern_data {
	struct task_struct *task;
	struct mm_struct *mm;	/* with mm_users */
	u64 next_addr;
	u64 nr_skipped;
	bool atomic;	/* the program runs with interrupts disabled */
	struct vm_area_struct *held;	/* if @atomic, or NULL */
	struct vm_area_struct copy;	/* for the program; the next step puts its file */
	struct irq_work release;	/* drops the references after an @atomic walk */
};

struct bpf_iter_task_vma {
	__u64 __opaque[1];
} __aligned(8);

struct bpf_iter_task_vma_kern {
	struct bpf_iter_task_vma_kern_data *data;
} __aligned(8);

static void bpf_iter_task_vma_put(struct bpf_iter_task_vma_kern_data *data)
{
	put_task_struct(data->task);
	mmput_async(data->mm);
	/* irq_work touches its memory after the function. */
	bpf_mem_free_rcu(&bpf_global_ma, data);
}

static void bpf_iter_task_vma_release(struct irq_work *work)
{
	bpf_iter_task_vma_put(container_of(work, struct bpf_iter_task_vma_kern_data, release));
}

static struct mm_struct *bpf_task_mm_get(struct task_struct *task)
{
	struct mm_struct *mm;

	/* A spinlock that sleeps cannot be tried there. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && irqs_disabled())
		return ERR_PTR(-EBUSY);
	/* This may have interrupted the owner. */
	if (!spin_trylock(&task->alloc_lock))
		return ERR_PTR(-EBUSY);
	mm = READ_ONCE(task->flags) & PF_KTHREAD ? NULL : task->mm;
	if (mm)
		mmget(mm);
	spin_unlock(&task->alloc_lock);
	return mm ?: ERR_PTR(-ENOENT);
}

static void bpf_iter_task_vma_leave(struct bpf_iter_task_vma_kern_data *data)
{
	struct file *file = data->copy.vm_file;

	data->copy.vm_file = NULL;
	if (data->held)
		vma_hold_end(data->held);
	else if (file)
		fput(file);
	data->held = NULL;
}

/* The end of the VMA or hole at @addr, which a writer is changing; @addr if that is not known. */
static unsigned long bpf_vma_busy_end(struct mm_struct *mm, unsigned long addr)
{
	unsigned int stores = raw_read_seqcount(&mm->vma_changes.stores);
	unsigned long last = addr - 1;
	struct maple_leaf leaf;

	rcu_read_lock();
	if (!maple_leaf_find(&mm->mm_mt, addr, &leaf))
		last = maple_leaf_last(&leaf);
	rcu_read_unlock();
	/* The tree was the same throughout; pairs with vma_tree_store_begin(). */
	if (stores & 1 || read_seqcount_retry(&mm->vma_changes.stores, stores))
		return addr;
	return last + 1;
}

/* NULL: there is none, or @nr_skipped has grown, and the walk ends here. */
static struct vm_area_struct *bpf_iter_task_vma_hold(struct bpf_iter_task_vma_kern_data *data)
{
	unsigned int skips = BPF_ITER_SKIPS;
	struct vma_search search;
	struct vm_area_struct *vma;
	unsigned long end;

	vma_search_begin(&search, data->mm, data->next_addr);
	while (skips--) {
		vma = vma_search_rcu(&search);
		if (!IS_ERR(vma))
			return vma;
		data->nr_skipped++;
		end = bpf_vma_busy_end(data->mm, search.addr);
		if (end <= search.addr)
			return NULL;
		search.addr = end;
		data->next_addr = end;
	}
	return NULL;
}

static struct vm_area_struct *bpf_iter_task_vma_copy(struct bpf_iter_task_vma_kern_data *data,
						     struct vm_area_struct *vma)
{
	/* The lock words change while this holds the VMA, and nobody uses the copies. */
	data_race(memcpy(&data->copy, vma, sizeof(data->copy)));
	data->next_addr = vma->vm_end;
	if (data->atomic) {
		data->held = vma;
		return &data->copy;
	}
	if (vma->vm_file)
		get_file(vma->vm_file);
	vma_hold_end(vma);
	return &data->copy;
}

__bpf_kfunc_start_defs();

/**
 * bpf_iter_task_vma_new() - begin a walk over the VMAs of a task
 * @it: the iterator, not initialized
 * @task: the task
 * @addr: skip the VMAs that end at or below this address
 *
 * Context: any, NMI included.
 * Return: 0; -ENOMEM; -ENOENT: the task has no address space of its own; -EBUSY:
 * its alloc_lock is taken. After an error, bpf_iter_task_vma_next() returns NULL.
 */
__bpf_kfunc int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				      u64 addr)
{
	struct bpf_iter_task_vma_kern *kit = (void *)it;
	struct bpf_iter_task_vma_kern_data *data;
	struct mm_struct *mm;

	BUILD_BUG_ON(sizeof(*kit) != sizeof(*it));
	BUILD_BUG_ON(__alignof__(*kit) != __alignof__(*it));

	kit->data = NULL;
	data = bpf_mem_alloc(&bpf_global_ma, sizeof(*data));
	if (!data)
		return -ENOMEM;
	mm = bpf_task_mm_get(task);
	if (IS_ERR(mm)) {
		bpf_mem_free(&bpf_global_ma, data);
		return PTR_ERR(mm);
	}
	data->task = get_task_struct(task);
	data->mm = mm;
	data->next_addr = addr;
	data->nr_skipped = 0;
	data->atomic = irqs_disabled();
	data->held = NULL;
	data->copy.vm_file = NULL;
	init_irq_work(&data->release, bpf_iter_task_vma_release);
	kit->data = data;
	return 0;
}

/**
 * bpf_iter_task_vma_next() - the next VMA of a walk; the file of the one before may be closed
 * @it: the iterator
 *
 * Context: as bpf_iter_task_vma_new().
 * Return: the VMA; NULL if there is none, or bpf_iter_task_vma_skipped() has grown.
 */
__bpf_kfunc struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it)
{
	struct bpf_iter_task_vma_kern *kit = (void *)it;
	struct bpf_iter_task_vma_kern_data *data = kit->data;
	struct vm_area_struct *vma;

	if (!data)
		return NULL;
	bpf_iter_task_vma_leave(data);
	/* A writer may wait for the VMA. */
	preempt_disable_nort();
	vma = bpf_iter_task_vma_hold(data);
	if (vma)
		vma = bpf_iter_task_vma_copy(data, vma);
	preempt_enable_nort();
	return vma;
}

/**
 * bpf_iter_task_vma_skipped() - how much the iterator has skipped
 * @it__iter: the iterator
 *
 * Context: as bpf_iter_task_vma_new().
 * Return: how many VMAs or holes were skipped because a writer was changing them,
 * or too many readers had them. If that grows when bpf_iter_task_vma_next() returns
 * NULL, it may have stopped there.
 */
__bpf_kfunc u64 bpf_iter_task_vma_skipped(struct bpf_iter_task_vma *it__iter)
{
	struct bpf_iter_task_vma_kern *kit = (void *)it__iter;

	return kit->data ? kit->data->nr_skipped : 0;
}

/**
 * bpf_iter_task_vma_destroy() - end a walk
 * @it: the iterator; its last VMA is not valid any more
 *
 * Context: as bpf_iter_task_vma_new().
 */
__bpf_kfunc void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it)
{
	struct bpf_iter_task_vma_kern *kit = (void *)it;
	struct bpf_iter_task_vma_kern_data *data = kit->data;

	if (!data)
		return;
	bpf_iter_task_vma_leave(data);
	/* The references may be the last ones. */
	if (data->atomic)
		irq_work_queue(&data->release);
	else
		bpf_iter_task_vma_put(data);
}

__bpf_kfunc_end_defs();
