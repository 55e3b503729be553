// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_QUERY: one VMA of an address space, as a struct.
 *
 * A query goes in steps, none of which holds a lock that the next one does not
 * need: fetch and check the arguments, pin the address space, find the VMA and
 * lock it, copy what it is, unlock; then name, build ID and copying out.
 */
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vma_lock.h>
#include <linux/workqueue.h>
#include "internal.h"

/* Most paths are shorter; longer ones cost an allocation. */
#define PROCMAP_NAME_SHORT	256
/* A path that does not fit this is reported as too long, whatever the buffer. */
#define PROCMAP_NAME_MAX	SZ_1M

/* VMAs that one hold of mmap_lock may look at; only where there is no better way. */
#define PROCMAP_LOCKED_STEPS	(IS_ENABLED(CONFIG_PER_VMA_LOCK) ? 1 : 256)
/* Before mmap_lock is waited for: so long, as most changes take less, look again at once, */
#define PROCMAP_PATIENCE_NS	(50 * NSEC_PER_USEC)
/* and so often after a jiffy. */
#define PROCMAP_NAPS		(IS_ENABLED(CONFIG_PER_VMA_LOCK) ? 2 : 0)

/* The properties of a VMA, in both directions. */
static const struct {
	u64 query;
	unsigned long vm;
} procmap_query_bits[] = {
	{ PROCMAP_QUERY_VMA_READABLE,	VM_READ },
	{ PROCMAP_QUERY_VMA_WRITABLE,	VM_WRITE },
	{ PROCMAP_QUERY_VMA_EXECUTABLE,	VM_EXEC },
	{ PROCMAP_QUERY_VMA_SHARED,	VM_MAYSHARE },
};

#define PROCMAP_QUERY_FLAGS						\
	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |	\
	 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED |	\
	 PROCMAP_QUERY_COVERING_OR_NEXT_VMA | PROCMAP_QUERY_FILE_BACKED_VMA)

static_assert(sizeof(struct procmap_query) == PROCMAP_QUERY_SIZE_VER0);
static_assert(offsetofend(struct procmap_query, query_addr) == PROCMAP_QUERY_SIZE_MIN);

/**
 * struct procmap_search - a VMA that is looked for, then held
 * @walk: where and what for
 * @patience: when to stop looking again at once; 0 until mmap_lock was first tried
 * @naps: how often to sleep for a jiffy before mmap_lock is waited for
 * @mmap_locked: the VMA is held by mmap_lock, not by its own lock
 */
struct procmap_search {
	struct vma_walk walk;
	u64 patience;
	unsigned int naps;
	bool mmap_locked;
};

/**
 * struct procmap_extras - what takes more than copying fields
 * @file: file of the VMA, referenced; only if its path or build ID is wanted
 * @name: the name, once known, or NULL
 * @name_len: bytes of the name written, with the NUL
 * @build_id_len: bytes of the build ID written
 * @long_name: memory for a name that does not fit @short_name, or NULL
 * @short_name: memory for other names
 */
struct procmap_extras {
	struct file *file;
	const char *name;
	u32 name_len;
	u32 build_id_len;
	char *long_name;
	char short_name[PROCMAP_NAME_SHORT];
};

/*
 * The usual struct, and only what is read of it: half of what the general way
 * costs. Any other size is left to that.
 */
static int procmap_query_fetch_fast(struct procmap_query *q, const struct procmap_query __user *uq)
{
	/* Not every machine of 32 bits can read a u64 this way. */
	if (!IS_ENABLED(CONFIG_64BIT) || !user_read_access_begin(uq, sizeof(*q)))
		return -EAGAIN;
	unsafe_get_user(q->size, &uq->size, fault);
	if (q->size != sizeof(*q))
		goto fault;
	unsafe_get_user(q->query_flags, &uq->query_flags, fault);
	unsafe_get_user(q->query_addr, &uq->query_addr, fault);
	unsafe_get_user(q->vma_name_size, &uq->vma_name_size, fault);
	unsafe_get_user(q->build_id_size, &uq->build_id_size, fault);
	unsafe_get_user(q->vma_name_addr, &uq->vma_name_addr, fault);
	unsafe_get_user(q->build_id_addr, &uq->build_id_addr, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EAGAIN;
}

static int procmap_query_fetch(struct procmap_query *q, const struct procmap_query __user *uq)
{
	u64 size;
	int err;

	if (likely(!procmap_query_fetch_fast(q, uq)))
		return 0;
	if (get_user(size, &uq->size))
		return -EFAULT;
	if (size < PROCMAP_QUERY_SIZE_MIN)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(q, sizeof(*q), uq, size);
	/* Another thread may have changed it since; this is what was checked. */
	q->size = size;
	return err;
}

/*
 * Write the answers, all or nothing. The struct lies in two pages at most:
 * before a value changes, write to its first and last word what is there.
 */
static int procmap_query_store_fast(const struct procmap_query *q,
				    const struct procmap_extras *extras,
				    struct procmap_query __user *uq)
{
	if (!user_write_access_begin(uq, sizeof(*q)))
		return -EFAULT;
	unsafe_put_user(q->size, &uq->size, fault);
	unsafe_put_user(q->build_id_addr, &uq->build_id_addr, fault);
	unsafe_put_user(q->vma_start, &uq->vma_start, fault);
	unsafe_put_user(q->vma_end, &uq->vma_end, fault);
	unsafe_put_user(q->vma_flags, &uq->vma_flags, fault);
	unsafe_put_user(q->vma_page_size, &uq->vma_page_size, fault);
	unsafe_put_user(q->vma_offset, &uq->vma_offset, fault);
	unsafe_put_user(q->inode, &uq->inode, fault);
	unsafe_put_user(q->dev_major, &uq->dev_major, fault);
	unsafe_put_user(q->dev_minor, &uq->dev_minor, fault);
	unsafe_put_user(extras->name_len, &uq->vma_name_size, fault);
	unsafe_put_user(extras->build_id_len, &uq->build_id_size, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

static int procmap_query_store(struct procmap_query *q, const struct procmap_extras *extras,
			       struct procmap_query __user *uq)
{
	u8 __user *last = (u8 __user *)uq + q->size - 1;
	u8 byte;

	if (likely(q->size >= sizeof(*q)))
		return procmap_query_store_fast(q, extras, uq);

	q->vma_name_size = extras->name_len;
	q->build_id_size = extras->build_id_len;
	if (put_user(q->size, &uq->size) || get_user(byte, last) || put_user(byte, last) ||
	    copy_to_user(uq, q, q->size))
		return -EFAULT;
	return 0;
}

static int procmap_query_check(const struct procmap_query *q)
{
	if (q->query_flags & ~(u64)PROCMAP_QUERY_FLAGS)
		return -EINVAL;
	if (!q->vma_name_size != !q->vma_name_addr)
		return -EINVAL;
	if (!q->build_id_size != !q->build_id_addr)
		return -EINVAL;
	return 0;
}

static unsigned long procmap_query_to_vm_flags(u64 query_flags)
{
	unsigned long vm_flags = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(procmap_query_bits); i++)
		if (query_flags & procmap_query_bits[i].query)
			vm_flags |= procmap_query_bits[i].vm;
	return vm_flags;
}

static u64 procmap_query_from_vm_flags(unsigned long vm_flags)
{
	u64 query_flags = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(procmap_query_bits); i++)
		if (vm_flags & procmap_query_bits[i].vm)
			query_flags |= procmap_query_bits[i].query;
	return query_flags;
}

/*
 * A caller of low priority must not be preempted with the VMA or mmap_lock held:
 * a writer would wait for it. PREEMPT_RT could not wake that writer like this.
 */
static void procmap_query_hold(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static void procmap_query_let_go(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/* Is there reason to look again before mmap_lock is waited for? Sleeps. */
static bool procmap_query_be_patient(struct procmap_search *search)
{
	u64 now;

	if (!search->naps)
		return false;
	now = ktime_get_ns();
	if (!search->patience)
		search->patience = now + PROCMAP_PATIENCE_NS;
	if (now >= search->patience) {
		search->naps--;
		schedule_timeout_killable(1);
	}
	return true;
}

/*
 * Who sleeps for mmap_lock owns it before it runs, and the writer, who goes on
 * mapping and unmapping, waits until it does: the time of a slice where readers
 * share a processor. So look again for a while, and own the lock while running.
 * 0 with mmap_lock held; -EINPROGRESS to look again; -EINTR when killed.
 */
static int procmap_query_lock_mmap(struct procmap_search *search)
{
	struct mm_struct *mm = search->walk.mm;

	procmap_query_hold();
	if (mmap_read_trylock(mm)) {
		vma_lock_count_fallback();
		return 0;
	}
	procmap_query_let_go();

	if (procmap_query_be_patient(search))
		return -EINPROGRESS;
	vma_lock_count_fallback();
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	procmap_query_hold();
	return 0;
}

/*
 * Look on under mmap_lock, for a few steps at most: whoever waits to write
 * does not wait for a long walk. Returns as vma_walk_rcu(), with mmap_lock held
 * if it is a VMA; -EINTR when killed. Does not sleep with mmap_lock held.
 */
static struct vm_area_struct *procmap_query_find_locked(struct procmap_search *search)
{
	struct vma_walk *walk = &search->walk;
	unsigned int steps = PROCMAP_LOCKED_STEPS;
	struct vm_area_struct *vma;
	struct vma_iterator vmi;
	int err;

	err = procmap_query_lock_mmap(search);
	if (err)
		return ERR_PTR(err);

	vma_iter_init(&vmi, walk->mm, walk->addr);
	for_each_vma(vmi, vma) {
		if (walk->covering && vma->vm_start > walk->addr) {
			vma = NULL;
			break;
		}
		if (vma_walk_wants(walk, vma->vm_flags, vma->vm_file)) {
			search->mmap_locked = true;
			return vma;
		}
		if (walk->covering) {
			vma = NULL;
			break;
		}
		walk->addr = vma->vm_end;
		if (!--steps) {
			vma = ERR_PTR(-EINPROGRESS);
			break;
		}
	}
	mmap_read_unlock(walk->mm);
	procmap_query_let_go();
	return vma;
}

/* The VMA, to be released with procmap_query_unlock(); NULL; -EINTR. */
static struct vm_area_struct *procmap_query_find(struct procmap_search *search)
{
	struct vm_area_struct *vma;

	for (;;) {
		procmap_query_hold();
		vma = vma_walk_rcu(&search->walk);
		if (!IS_ERR_OR_NULL(vma))
			return vma;
		procmap_query_let_go();
		if (unlikely(vma == ERR_PTR(-EAGAIN)))
			vma = procmap_query_find_locked(search);
		if (likely(vma != ERR_PTR(-EINPROGRESS)))
			return vma;
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		cond_resched();
	}
}

static void procmap_query_unlock(struct procmap_search *search, struct vm_area_struct *vma)
{
	if (search->mmap_locked)
		mmap_read_unlock(search->walk.mm);
	else
		vma_end_read(vma);
	procmap_query_let_go();
}

/*
 * The name of a VMA without a file. It is short, and what gives it may be gone
 * when the VMA is unlocked: copy it.
 */
static void procmap_query_copy_name(struct procmap_extras *extras, struct vm_area_struct *vma)
{
	const char *name = proc_vma_fixed_name(vma);

	if (name)
		strscpy(extras->short_name, name, sizeof(extras->short_name));
	else if (IS_ENABLED(CONFIG_ANON_VMA_NAME) && vma->anon_name)
		snprintf(extras->short_name, sizeof(extras->short_name), "[anon:%s]",
			 vma->anon_name->name);
	else
		return;
	extras->name = extras->short_name;
}

/* Under the lock of the VMA: copy values, take references, nothing else. */
static void procmap_query_snapshot(struct procmap_query *q, struct procmap_extras *extras,
				   struct vm_area_struct *vma)
{
	struct file *file = vma->vm_file;

	q->vma_start = vma->vm_start;
	q->vma_end = vma->vm_end;
	q->vma_flags = procmap_query_from_vm_flags(vma->vm_flags);
	q->vma_page_size = vma_kernel_pagesize(vma);
	if (file) {
		const struct inode *inode = file_inode(file);

		q->vma_offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
		q->inode = inode->i_ino;
		q->dev_major = MAJOR(inode->i_sb->s_dev);
		q->dev_minor = MINOR(inode->i_sb->s_dev);
		if (q->vma_name_size || q->build_id_size)
			extras->file = get_file(file);
	} else {
		q->vma_offset = 0;
		q->inode = 0;
		q->dev_major = 0;
		q->dev_minor = 0;
		if (q->vma_name_size)
			procmap_query_copy_name(extras, vma);
	}
}

static int procmap_query_look_up(struct mm_struct *mm, struct procmap_query *q,
				 struct procmap_extras *extras)
{
	struct procmap_search search = {
		.walk = {
			.mm = mm,
			.addr = q->query_addr,
			.flags = procmap_query_to_vm_flags(q->query_flags),
			.file_only = q->query_flags & PROCMAP_QUERY_FILE_BACKED_VMA,
			.covering = !(q->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA),
		},
		.naps = PROCMAP_NAPS,
	};
	struct vm_area_struct *vma = NULL;
	int err = 0;

	if (!mm || !mmget_not_zero(mm))
		return -ESRCH;

	/* An address of 64 bits is none where those of the kernel have 32. */
	if (q->query_addr <= ULONG_MAX)
		vma = procmap_query_find(&search);
	if (IS_ERR_OR_NULL(vma)) {
		err = vma ? PTR_ERR(vma) : -ENOENT;
	} else {
		procmap_query_snapshot(q, extras, vma);
		procmap_query_unlock(&search, vma);
	}
	/* Should the process have died meanwhile, its memory is not ours to free. */
	mmput_async(mm);
	return err;
}

/*
 * The path of the file, as seen from the caller's root. Each buffer is no
 * larger than the caller's, so that a path that does not fit there does not
 * fit here.
 */
static int procmap_query_path(struct procmap_extras *extras, size_t size)
{
	size_t len = min_t(size_t, size, PROCMAP_NAME_SHORT);
	char *buf = extras->short_name;
	char *path;

	size = min_t(size_t, size, PROCMAP_NAME_MAX);
	for (;;) {
		path = file_path(extras->file, buf, len);
		if (path != ERR_PTR(-ENAMETOOLONG) || len == size)
			break;
		kvfree(extras->long_name);
		len = min_t(size_t, size, len * 16);
		buf = kvmalloc(len, GFP_KERNEL_ACCOUNT);
		extras->long_name = buf;
		if (!buf)
			return -ENOMEM;
	}
	if (IS_ERR(path))
		return PTR_ERR(path);
	extras->name = path;
	return 0;
}

static int procmap_query_put_name(const struct procmap_query *q, struct procmap_extras *extras)
{
	size_t len;
	int err;

	if (extras->file) {
		err = procmap_query_path(extras, q->vma_name_size);
		if (err)
			return err;
	}
	if (!extras->name)
		return 0;
	len = strlen(extras->name) + 1;
	if (len > q->vma_name_size)
		return -ENAMETOOLONG;
	if (copy_to_user(u64_to_user_ptr(q->vma_name_addr), extras->name, len))
		return -EFAULT;
	extras->name_len = len;
	return 0;
}

static int procmap_query_put_build_id(const struct procmap_query *q, struct procmap_extras *extras)
{
	unsigned char build_id[BUILD_ID_SIZE_MAX];
	unsigned int size;
	int err;

	if (!extras->file)
		return 0;
	err = build_id_read_file(extras->file, build_id, &size);
	if (err)
		return err == -EINTR || err == -ENOMEM ? err : 0;
	if (size > q->build_id_size)
		return -ENAMETOOLONG;
	if (copy_to_user(u64_to_user_ptr(q->build_id_addr), build_id, size))
		return -EFAULT;
	extras->build_id_len = size;
	return 0;
}

struct procmap_file_put {
	struct work_struct work;
	struct file *file;
};

static struct workqueue_struct *procmap_query_fput_wq;

/* Not fput(), which in a worker puts the file in the one queue of all kernel threads. */
static void procmap_query_fput_work(struct work_struct *work)
{
	struct procmap_file_put *put = container_of(work, struct procmap_file_put, work);

	__fput_sync(put->file);
	kfree(put);
}

static int __init procmap_query_init(void)
{
	procmap_query_fput_wq = alloc_workqueue("procmap_fput", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return procmap_query_fput_wq ? 0 : -ENOMEM;
}
subsys_initcall(procmap_query_init);

/*
 * When the process has unmapped and closed the file meanwhile, the last
 * reference is ours. Closing can wait for the file system, which is not the
 * business of the caller, nor of those whose files other kernel threads close:
 * leave it to a worker of our own.
 */
static void procmap_query_fput(struct file *file)
{
	struct procmap_file_put *put;

	if (likely(atomic_long_add_unless(&file->f_count, -1, 1)))
		return;
	put = procmap_query_fput_wq ? kmalloc(sizeof(*put), GFP_KERNEL) : NULL;
	if (!put) {
		fput(file);
		return;
	}
	put->file = file;
	INIT_WORK(&put->work, procmap_query_fput_work);
	queue_work(procmap_query_fput_wq, &put->work);
}

static int procmap_query(struct mm_struct *mm, struct procmap_query __user *uq)
{
	struct procmap_extras extras;
	struct procmap_query q;
	int err;

	err = procmap_query_fetch(&q, uq);
	if (err)
		return err;
	err = procmap_query_check(&q);
	if (err)
		return err;

	extras.file = NULL;
	extras.name = NULL;
	extras.name_len = 0;
	extras.build_id_len = 0;
	extras.long_name = NULL;
	err = procmap_query_look_up(mm, &q, &extras);
	if (err)
		return err;

	if (q.vma_name_size)
		err = procmap_query_put_name(&q, &extras);
	if (!err && q.build_id_size)
		err = procmap_query_put_build_id(&q, &extras);
	if (!err)
		err = procmap_query_store(&q, &extras, uq);

	kvfree(extras.long_name);
	if (extras.file)
		procmap_query_fput(extras.file);
	return err;
}

/**
 * procmap_query_ioctl() - ioctl() on /proc/<pid>/maps
 * @file: the open file, whose address space was authorised when it was opened
 * @cmd: PROCMAP_QUERY
 * @arg: user pointer to a struct procmap_query
 *
 * Context: process context, no locks held. Sleeps, killable.
 * Return: 0, or an errno as <linux/procmap.h> lists them.
 */
long procmap_query_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct seq_file *seq = file->private_data;
	struct proc_maps_private *priv = seq->private;

	if (cmd != PROCMAP_QUERY)
		return -ENOTTY;
	return procmap_query(priv->mm, (struct procmap_query __user *)arg);
}
