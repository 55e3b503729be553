// SPDX-License-Identifier: GPL-2.0
/*
 * The build ID of a mapped file, read in sleepable context whether or not its pages are cached.
 *
 * What is read, and what is not
 *
 * The bytes come from the page cache, which is what the mapping itself shows. ->read_iter() of a
 * file may do anything, and vfs_read() besides tells LSMs, fanotify and the access time of a read
 * that the mapped process never did. Pages that are missing are brought in by ->read_folio(), as
 * uprobes do to look at an instruction, and by shmem for its own files. So a file without either is
 * not read at all: devices, pipes, memfd_secret(), hugetlbfs, DAX.
 *
 * Waiting
 *
 * A fatal signal has to end the wait for a file system that does not answer. No way to read in
 * the caller's own context has that quality: filemap_read() and do_read_cache_folio() call
 * ->readahead() or ->read_folio(), and what these do is up to the file system. FUSE waits
 * uninterruptibly in request_wait_answer() once the server has fetched the request, on every path
 * but readahead with FUSE_ASYNC_READ, which the server may decline; others wait like that for
 * their metadata. The invalidate_lock, without which a page brought in could survive a hole
 * punched meanwhile, is not killable either. So the file system is called from a worker, and the
 * caller waits, holding nothing and killably, until the worker is done. A killed caller leaves
 * the read to the worker, which then drops the result. Only pages that are not cached take this
 * way.
 *
 * So reads of a file system that does not answer pile up. For each file system, callers of one
 * block cgroup, whose limits may hold reads back as well, have at most a share of the workers: who
 * asks for more waits, killably. Others do not, unless so many shares are used up that no worker is
 * left.
 */
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/dax.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/pagemap.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/secretmem.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "buildid_elf.h"

static_assert(BUILD_ID_ELF_MAX == BUILD_ID_SIZE_MAX);

/*
 * Pages that one file may cost, the same page again counted again. The usual file needs one. 2,048
 * are 8 MiB, twice what the largest program header table without the extension takes.
 */
#define BUILD_ID_FILE_PAGES 2048

/* Reads that workers may be in at a time, left ones of killed callers too: in all, of a share */
#define BUILD_ID_IO_MAX WQ_MAX_ACTIVE
#define BUILD_ID_IO_SHARE 16

/* How a caller waits for its turn, and for a worker */
#define BUILD_ID_IO_SLEEP (TASK_KILLABLE | TASK_FREEZABLE)

/*
 * One page to read; shared by the caller and the worker, freed by whoever is last. Each has a
 * reference to the file; that of the worker is dropped by the worker.
 */
struct build_id_io {
	struct work_struct work;
	struct list_head list;
	struct completion done;
	refcount_t refs;
	struct file *file;
	const struct super_block *sb;
	struct mem_cgroup *memcg;
	struct cgroup_subsys_state *blkcg;
	pgoff_t index;
	struct page *page;
};

struct build_id_file {
	struct build_id_reader r;
	struct file *file;
	struct page *page;
	unsigned int pages;
};

static struct workqueue_struct *build_id_io_wq;

/* The reads that workers are in or queued for; the lock protects the list. */
static DEFINE_SPINLOCK(build_id_io_lock);
static LIST_HEAD(build_id_io_running);
static DECLARE_WAIT_QUEUE_HEAD(build_id_io_wait);

/* What a hole in a shmem file reads as, without filling it. */
static struct page *build_id_zero_page(void)
{
	struct page *page = ZERO_PAGE(0);

	get_page(page);
	return page;
}

/* A page of shmem that is in swap, or on its way from or to there. */
static struct page *build_id_io_shmem(struct build_id_io *io)
{
	struct folio *folio;
	int err;

	err = shmem_get_folio(io->file->f_mapping->host, io->index, &folio, SGP_READ);
	if (err)	/* -EINVAL: behind the end, by now */
		return ERR_PTR(err == -EINVAL ? -ENODATA : err);
	if (!folio)
		return build_id_zero_page();
	folio_unlock(folio);
	return folio_file_page(folio, io->index);
}

static struct page *build_id_io_page(struct build_id_io *io)
{
	struct address_space *mapping = io->file->f_mapping;
	struct page *page = ERR_PTR(-ENODATA);

	filemap_invalidate_lock_shared(mapping);
	/* Nothing but this lock keeps a truncation from leaving the page behind beyond the end. */
	if ((loff_t)io->index << PAGE_SHIFT < i_size_read(mapping->host))
		page = read_mapping_page(mapping, io->index, io->file);
	filemap_invalidate_unlock_shared(mapping);
	return page;
}

#ifdef CONFIG_BLK_CGROUP
static struct cgroup_subsys_state *build_id_io_get_blkcg(void)
{
	return task_get_css(current, io_cgrp_id);
}

static void build_id_io_put_blkcg(struct cgroup_subsys_state *blkcg)
{
	css_put(blkcg);
}
#else
static struct cgroup_subsys_state *build_id_io_get_blkcg(void)
{
	return NULL;
}

static void build_id_io_put_blkcg(struct cgroup_subsys_state *blkcg)
{
}
#endif

/*
 * Read on behalf of whoever opened the file: that is whom FUSE in a user namespace and network file
 * systems know, while the caller of the query may be nobody to them. The page is charged to the
 * caller.
 */
static void build_id_io_run(struct build_id_io *io)
{
	const struct cred *old_cred = override_creds(io->file->f_cred);
	struct mem_cgroup *old_memcg = set_active_memcg(io->memcg);

	if (shmem_mapping(io->file->f_mapping))
		io->page = build_id_io_shmem(io);
	else
		io->page = build_id_io_page(io);

	set_active_memcg(old_memcg);
	revert_creds(old_cred);
}

static void build_id_io_put(struct build_id_io *io)
{
	if (!refcount_dec_and_test(&io->refs))
		return;
	if (!IS_ERR_OR_NULL(io->page))
		put_page(io->page);
	mem_cgroup_put(io->memcg);
	build_id_io_put_blkcg(io->blkcg);
	kfree(io);
}

/* Queue the read if there is a worker to spare for its file system and cgroup. */
static bool build_id_io_start(struct build_id_io *io)
{
	unsigned int all = 0, same = 0;
	struct build_id_io *other;
	bool start;

	spin_lock(&build_id_io_lock);
	list_for_each_entry(other, &build_id_io_running, list) {
		all++;
		same += other->sb == io->sb && other->blkcg == io->blkcg;
	}
	start = all < BUILD_ID_IO_MAX && same < BUILD_ID_IO_SHARE;
	if (start) {
		refcount_inc(&io->refs);
		get_file(io->file);
		list_add(&io->list, &build_id_io_running);
		queue_work(build_id_io_wq, &io->work);
	}
	spin_unlock(&build_id_io_lock);
	return start;
}

static void build_id_io_work(struct work_struct *work)
{
	struct build_id_io *io = container_of(work, struct build_id_io, work);

	/* The block layer knows a task by its cgroup; the caller's limits are those that hold. */
	kthread_associate_blkcg(io->blkcg);
	build_id_io_run(io);
	kthread_associate_blkcg(NULL);
	complete(&io->done);

	/* The last reference if the caller was killed; closing a file may take for ever, too. */
	__fput_sync(io->file);
	spin_lock(&build_id_io_lock);
	list_del(&io->list);
	spin_unlock(&build_id_io_lock);
	wake_up(&build_id_io_wait);
	build_id_io_put(io);
}

/* An error that a file system or its server made up must not be taken for a signal. */
static struct page *build_id_io_result(struct page *page)
{
	if (!IS_ERR(page) || PTR_ERR(page) == -ENOMEM || PTR_ERR(page) == -ENODATA)
		return page;
	return ERR_PTR(-EIO);
}

static struct page *build_id_io_here(struct file *file, pgoff_t index)
{
	struct build_id_io io = {
		.file = file,
		.memcg = get_mem_cgroup_from_mm(current->mm),
		.index = index,
	};

	build_id_io_run(&io);
	mem_cgroup_put(io.memcg);
	if (IS_ERR(io.page) && fatal_signal_pending(current))
		return ERR_PTR(-EINTR);
	return build_id_io_result(io.page);
}

static struct page *build_id_io_there(struct file *file, pgoff_t index)
{
	struct page *page = ERR_PTR(-EINTR);
	struct build_id_io *io;

	io = kzalloc(sizeof(*io), GFP_KERNEL_ACCOUNT);
	if (!io)
		return ERR_PTR(-ENOMEM);
	INIT_WORK(&io->work, build_id_io_work);
	init_completion(&io->done);
	refcount_set(&io->refs, 1);
	io->file = file;
	io->sb = file_inode(file)->i_sb;
	io->memcg = get_mem_cgroup_from_mm(current->mm);
	io->blkcg = build_id_io_get_blkcg();
	io->index = index;

	/* Nothing is held here, so that the freezer need not wait for the file system either. */
	if (!wait_event_state(build_id_io_wait, build_id_io_start(io), BUILD_ID_IO_SLEEP) &&
	    !wait_for_completion_state(&io->done, BUILD_ID_IO_SLEEP)) {
		page = build_id_io_result(io->page);
		io->page = NULL;
	}
	build_id_io_put(io);
	return page;
}

static struct page *build_id_io(struct file *file, pgoff_t index)
{
	if (unlikely(!build_id_io_wq))	/* KUnit may run before it is there */
		return build_id_io_here(file, index);
	return build_id_io_there(file, index);
}

static int __init build_id_io_init(void)
{
	build_id_io_wq = alloc_workqueue("build_id", WQ_UNBOUND, BUILD_ID_IO_MAX);
	return build_id_io_wq ? 0 : -ENOMEM;
}
subsys_initcall(build_id_io_init);

/* The page at @index, up to date, with a reference; as a rule it is in the page cache. */
static struct page *build_id_file_page(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct folio *folio;

	folio = __filemap_get_folio(mapping, index, FGP_ENTRY, 0);
	if (!folio && shmem_mapping(mapping))
		return build_id_zero_page();
	if (!folio || xa_is_value(folio))
		return build_id_io(file, index);

	/* Someone else is reading it: no need for a worker that waits for the same. */
	if (!folio_test_uptodate(folio)) {
		int err = folio_wait_locked_killable(folio);

		if (err || !folio_test_uptodate(folio)) {
			folio_put(folio);
			return err ? ERR_PTR(-EINTR) : build_id_io(file, index);
		}
	}
	return folio_file_page(folio, index);
}

static void build_id_file_release(struct build_id_file *f)
{
	if (!f->page)
		return;
	kunmap_local(f->r.win);
	put_page(f->page);
	f->page = NULL;
}

/* The window is the page that holds @pos, as far as it is inside the file. */
static int build_id_file_seek(struct build_id_reader *r, u64 pos)
{
	struct build_id_file *f = container_of(r, struct build_id_file, r);
	struct address_space *mapping = f->file->f_mapping;
	u64 start = round_down(pos, PAGE_SIZE);
	struct page *page;
	u64 size;

	build_id_file_release(f);
	if (!f->pages || pos >= i_size_read(mapping->host))
		return -ENODATA;
	f->pages--;

	cond_resched();
	if (fatal_signal_pending(current))
		return -EINTR;

	page = build_id_file_page(f->file, pos >> PAGE_SHIFT);
	if (IS_ERR(page))
		return PTR_ERR(page);

	/* Again, now that the page is up to date: the file may have shrunk, see filemap_read(). */
	size = i_size_read(mapping->host);
	if (pos >= size || PageHWPoison(page)) {
		put_page(page);
		return -ENODATA;
	}
	if (mapping_writably_mapped(mapping))
		flush_dcache_page(page);

	f->page = page;
	r->win = kmap_local_page(page);
	r->win_pos = start;
	r->win_len = min_t(u64, size - start, PAGE_SIZE);
	return 0;
}

#ifdef CONFIG_SECRETMEM
static bool build_id_mapping_secret(const struct address_space *mapping)
{
	return mapping->a_ops == &secretmem_aops;
}
#else
static bool build_id_mapping_secret(const struct address_space *mapping)
{
	return false;
}
#endif

/*
 * Is it a file whose pages may be looked at? Those of memfd_secret() are not even mapped in the
 * kernel. It has no ->read_folio() today, but that must not be what keeps it out. Files of proc,
 * sysfs and the like look regular, but what is mapped of them is no page cache, and nothing there
 * is ever executed.
 */
static bool build_id_file_allowed(const struct file *file)
{
	struct address_space *mapping = file->f_mapping;
	const struct inode *inode = file_inode(file);

	if (!(file->f_mode & FMODE_READ) || !S_ISREG(inode->i_mode))
		return false;
	if (inode->i_sb->s_iflags & SB_I_NOEXEC)
		return false;
	if (build_id_mapping_secret(mapping) || dax_mapping(mapping))
		return false;
	return mapping->a_ops->read_folio || shmem_mapping(mapping);
}

/**
 * build_id_read_file - read the build ID of an ELF file
 * @file: the file, pinned by the caller; what a mapping shows is its vm_file
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX bytes
 * @size: receives the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Reads what is needed of the file, at most BUILD_ID_FILE_PAGES pages of it, from the page cache
 * or, if it is not there, from the file system. The file may be written, truncated or removed
 * meanwhile.
 *
 * Context: may sleep for as long as the file system takes to answer, or until a fatal signal. The
 * caller holds no locks.
 *
 * Return: 0 if there is a build ID; -ENODATA if there is none or the file is not one to be read;
 * -EIO or -ENOMEM if it could not be read; -EINTR if, and only if, a fatal signal is pending. On an
 * error @build_id and @size are left alone.
 */
int build_id_read_file(struct file *file, unsigned char *build_id, unsigned int *size)
{
	struct build_id_file f = {
		.r.seek = build_id_file_seek,
		.file = file,
		.pages = BUILD_ID_FILE_PAGES,
	};
	int err;

	might_sleep();
	if (!build_id_file_allowed(file))
		return -ENODATA;
	err = build_id_elf_parse(&f.r, build_id, size);
	build_id_file_release(&f);
	return err;
}
