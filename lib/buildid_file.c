// SPDX-License-Identifier: GPL-2.0
/*
 * Read the build ID of a mapped file: at once from the page cache, or in
 * sleepable context wherever its pages are.
 *
 * What is read, and what is not
 *
 * The bytes come from the page cache, which is what the mapping itself shows.
 * The reader does not use ->read_iter(), which may do anything. Nor does it use
 * vfs_read(), which would also tell LSMs, fanotify and the access time of a
 * read that the mapped process never did. ->read_folio() brings in missing
 * pages, as uprobes do to look at an instruction; shmem brings in those of its
 * own files. A file without either is not read at all: sockets, devices, pipes,
 * memfd_secret(), hugetlbfs, DAX.
 *
 * If the pages of a file cannot be evicted, the reader looks at those that are
 * there and never brings others in. A hole reads as zeros and stays a hole in
 * shmem and in ramfs, whose files exist only in memory.
 *
 * Who can make whom wait
 *
 * The reader looks at the page cache with the VMA locked, for a bounded time.
 * It calls the file system only for the rest. That may wait for ever, and not
 * killably: FUSE does so once its server has fetched the request, and other
 * file systems for their metadata. So does the invalidate_lock, without which a
 * page that is brought in could survive a hole punched meanwhile. So a worker
 * calls the file system, and the asker sleeps killably and holds nothing. The
 * worker does all of the parsing, and drops the reference to the file: closing
 * it may wait as well.
 *
 * So the owner of a file system that does not answer can make an asker wait
 * until the asker is killed. But this works only for the first few reads of
 * that file system: further reads end without a build ID after some seconds, or
 * at once. It does not work for askers about files that other users have
 * opened: buildid_queue.c says why.
 *
 * Who pays
 *
 * A page that is brought in is charged to the memory cgroup of the address
 * space that maps the file, as if that process had touched it, and not to the
 * asker. At the limit, the kernel reclaims pages of that cgroup. If this does
 * not help, the read fails; no process is killed. A page that comes from swap
 * stays with the cgroup that it belonged to before. Reading the disk counts for
 * the block cgroup of the asker. The processor time of a worker is charged to
 * nobody, so it is bounded: by BUILD_ID_FILE_READS for the parser, and by
 * BUILD_ID_FILE_PAGES for the pages.
 */
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/dax.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/memcontrol.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/secretmem.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include "buildid_elf.h"
#include "buildid_queue.h"

static_assert(BUILD_ID_ELF_MAX == BUILD_ID_SIZE_MAX);

/*
 * Limits while the VMA is locked and preemption is disabled. A usual file needs
 * one window and 20 reads. The worker does the rest.
 */
#define BUILD_ID_CACHED_PAGES	4
#define BUILD_ID_CACHED_READS	1000

/**
 * struct build_id_file - a file that is being read
 * @r: the window
 * @file: the file
 * @page: the page of the window, with a reference; NULL if there is none
 * @pages: how often the window may still be moved
 * @job: the job if a worker reads; NULL to look at the page cache only
 */
struct build_id_file {
	struct build_id_reader r;
	struct file *file;
	struct page *page;
	unsigned int pages;
	const struct build_id_job *job;
};

/* Does the file exist only in memory? Then a missing page is a hole. */
static bool build_id_mapping_memory(struct address_space *mapping)
{
	return shmem_mapping(mapping) || mapping->a_ops == &ram_aops;
}

/*
 * Return the page at @index, with a reference, if it is in the page cache and
 * up to date; the zero page for a hole; else NULL.
 */
static struct page *build_id_page_cached(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = __filemap_get_folio(mapping, index, FGP_ENTRY, 0);

	if (!folio && build_id_mapping_memory(mapping)) {
		get_page(ZERO_PAGE(0));
		return ZERO_PAGE(0);
	}
	if (!folio || xa_is_value(folio))
		return NULL;
	if (folio_test_uptodate(folio))
		return folio_file_page(folio, index);
	folio_put(folio);
	return NULL;
}

/*
 * If there is no page yet, add an empty one for ->read_folio() to fill.
 * read_mapping_page() would add one, too, but its allocation could make the OOM
 * killer kill a process.
 */
static int build_id_page_add(struct address_space *mapping, pgoff_t index)
{
	/* This has __GFP_NORETRY and __GFP_NOWARN. */
	gfp_t gfp = readahead_gfp_mask(mapping);
	struct folio *folio = filemap_alloc_folio(gfp, 0);
	int err;

	if (!folio)
		return -ENOMEM;
	err = filemap_add_folio(mapping, folio, index, gfp);
	if (!err)
		folio_unlock(folio);
	folio_put(folio);
	return err == -EEXIST ? 0 : err;
}

/* Like build_id_page_add(), but charge @memcg. */
static int build_id_page_charge(struct address_space *mapping, pgoff_t index,
				struct mem_cgroup *memcg)
{
	struct mem_cgroup *old_memcg = set_active_memcg(memcg);
	int err = -ENOMEM;
	void *room;

	/*
	 * With the page, file systems charge small objects such as buffer
	 * heads. These allocations must not fail, so at the limit they could
	 * still make the OOM killer kill a process. Make room for them
	 * beforehand.
	 */
	room = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	if (room)
		err = build_id_page_add(mapping, index);
	kfree(room);
	set_active_memcg(old_memcg);
	return err;
}

static struct page *build_id_page_read(const struct build_id_job *job, pgoff_t index)
{
	struct address_space *mapping = job->file->f_mapping;
	struct page *page = ERR_PTR(-ENODATA);
	int err;

	filemap_invalidate_lock_shared(mapping);
	/*
	 * Only this lock keeps a truncation from leaving the new page in the
	 * page cache beyond the end of the file.
	 */
	if ((loff_t)index << PAGE_SHIFT < i_size_read(mapping->host)) {
		err = build_id_page_charge(mapping, index, job->memcg);
		page = err ? ERR_PTR(err) : read_mapping_page(mapping, index, job->file);
	}
	filemap_invalidate_unlock_shared(mapping);
	return page;
}

/*
 * Get a page of shmem that is in swap, or on its way to or from there. It stays
 * charged to the cgroup that it was charged to before. If somebody punches a
 * hole at this moment, the hole may get a page, as by a read of the mapping.
 */
static struct page *build_id_page_swap(const struct build_id_job *job, pgoff_t index)
{
	struct address_space *mapping = job->file->f_mapping;
	struct mem_cgroup *old_memcg = set_active_memcg(job->memcg);
	struct page *page;

	page = shmem_read_mapping_page_gfp(mapping, index, readahead_gfp_mask(mapping));
	set_active_memcg(old_memcg);
	/* -EINVAL: the page is now behind the end of the file. */
	return page == ERR_PTR(-EINVAL) ? ERR_PTR(-ENODATA) : page;
}

static struct page *build_id_page_fetch(const struct build_id_job *job, pgoff_t index)
{
	struct address_space *mapping = job->file->f_mapping;

	if (mapping_unevictable(mapping))
		return ERR_PTR(-ENODATA);
	if (shmem_mapping(mapping))
		return build_id_page_swap(job, index);
	return build_id_page_read(job, index);
}

/*
 * Like build_id_page_cached(), but bring the page in if a worker reads. Returns
 * an ERR_PTR instead of NULL; -EAGAIN without a worker.
 */
static struct page *build_id_file_page(struct build_id_file *f, pgoff_t index)
{
	struct page *page = build_id_page_cached(f->file->f_mapping, index);

	if (page)
		return page;
	return f->job ? build_id_page_fetch(f->job, index) : ERR_PTR(-EAGAIN);
}

static void build_id_file_release(struct build_id_file *f)
{
	if (!f->page)
		return;
	kunmap_local(f->r.win);
	put_page(f->page);
	f->page = NULL;
}

/*
 * May the window be moved once more? -EAGAIN: only a worker may move it so
 * often. -ENODATA: not even a worker. -EINTR: nobody waits any more for what
 * this worker reads.
 */
static int build_id_file_may_move(struct build_id_file *f)
{
	if (!f->pages)
		return f->job ? -ENODATA : -EAGAIN;
	f->pages--;
	if (!f->job)
		return 0;
	cond_resched();
	return READ_ONCE(f->job->left) ? -EINTR : 0;
}

/* Move the window to the page that holds @pos, cut at the end of the file. */
static int build_id_file_seek(struct build_id_reader *r, u64 pos)
{
	struct build_id_file *f = container_of(r, struct build_id_file, r);
	struct address_space *mapping = f->file->f_mapping;
	u64 start = round_down(pos, PAGE_SIZE);
	struct page *page;
	u64 size;
	int err;

	build_id_file_release(f);
	if (pos >= i_size_read(mapping->host))
		return -ENODATA;
	err = build_id_file_may_move(f);
	if (err)
		return err;
	page = build_id_file_page(f, pos >> PAGE_SHIFT);
	if (IS_ERR(page))
		return PTR_ERR(page);

	/*
	 * The file may have shrunk meanwhile, see filemap_read(). A page that has
	 * left it keeps what the file had: our reference prevents other uses.
	 */
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
 * May the reader look at pages of this file? Those of memfd_secret() are not
 * even mapped in the kernel. It has no ->read_folio() today, but do not rely on
 * that. Files of proc, sysfs and the like look like regular files. But a
 * mapping of them does not show the page cache, and nobody can execute them.
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
 * build_id_file_parse - read the build ID of a file, in a worker
 * @job: its file; receives build ID and size
 *
 * Context: kernel thread. Sleeps for as long as the file system takes, not
 * killably.
 *
 * Return: 0; -ENODATA if there is no build ID or the file may not be read;
 * -ENOMEM if there was no memory; -EIO for all other errors: a file system or
 * its server can return any errno, and none of them may look like a signal.
 */
int build_id_file_parse(struct build_id_job *job)
{
	struct build_id_file f = {
		.r.seek = build_id_file_seek,
		.r.reads = BUILD_ID_FILE_READS,
		.file = job->file,
		.pages = BUILD_ID_FILE_PAGES,
		.job = job,
	};
	int err;

	if (!build_id_file_allowed(job->file))
		return -ENODATA;
	err = build_id_elf_parse(&f.r, job->build_id, &job->size);
	build_id_file_release(&f);
	return !err || err == -ENODATA || err == -ENOMEM ? err : -EIO;
}

/**
 * build_id_read_cached - read the build ID of a file if that needs no waiting
 * @file: the file; the caller keeps it open, for example by the lock of its
 *	VMA, and needs no reference
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX
 *	bytes
 * @size: receives the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Looks only at pages that are in the page cache and up to date. Looks at
 * BUILD_ID_CACHED_PAGES of them at most, with BUILD_ID_CACHED_READS reads at
 * most.
 *
 * Context: any except interrupts. Does not sleep; preemption may be disabled.
 *
 * Return: 0 if there is a build ID; -ENODATA if there is none, if the file may
 * not be read, or if its file system does not answer now; -EAGAIN if the answer
 * needs more than this: the caller should take a reference and call
 * build_id_read_file(). On an error, @build_id and @size stay unchanged.
 */
int build_id_read_cached(struct file *file, unsigned char *build_id, unsigned int *size)
{
	struct build_id_file f = {
		.r.seek = build_id_file_seek,
		.r.reads = BUILD_ID_CACHED_READS,
		.file = file,
		.pages = BUILD_ID_CACHED_PAGES,
	};
	int err;

	if (!build_id_file_allowed(file))
		return -ENODATA;
	err = build_id_elf_parse(&f.r, build_id, size);
	build_id_file_release(&f);
	/* The parser gives up when it has no reads left. */
	if (err == -ENODATA && !f.r.reads)
		err = -EAGAIN;
	return err == -EAGAIN && build_id_queue_refuses(file) ? -ENODATA : err;
}

/**
 * build_id_read_file - read the build ID of an ELF file
 * @file: the file, for a mapping its vm_file. The function consumes the
 *	caller's reference, also on an error, so that the caller never closes a
 *	file
 * @mm: the address space that maps the file. Its memory cgroup pays for pages
 *	that are brought in. It may have no users any more; the caller holds
 *	mm_count
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX
 *	bytes
 * @size: receives the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * A worker reads the necessary pages of the file, at most BUILD_ID_FILE_PAGES:
 * from the page cache or, if they are not there, from the file system. Others
 * may write, truncate or remove the file meanwhile.
 *
 * Context: process context, no locks held. Sleeps until the file system
 * answers, or until a fatal signal.
 *
 * Return: 0 if there is a build ID; -ENODATA if there is none or the file may
 * not be read; -EIO if it could not be read, or is not read because its file
 * system does not answer; -ENOMEM if there was no memory for a page, or none
 * that @mm may use; -EINTR if, and only if, a fatal signal is pending. On an
 * error, @build_id and @size stay unchanged.
 */
int build_id_read_file(struct file *file, struct mm_struct *mm, unsigned char *build_id,
		       unsigned int *size)
{
	might_sleep();
	return build_id_queue_read(file, mm, build_id, size);
}
