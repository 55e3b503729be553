// SPDX-License-Identifier: GPL-2.0
/*
 * The build ID of a mapped file: at once from the page cache, or in sleepable context wherever its
 * pages are.
 *
 * What is read, and what is not
 *
 * The bytes come from the page cache, which is what the mapping itself shows. ->read_iter() of a
 * file may do anything, and vfs_read() besides tells LSMs, fanotify and the access time of a read
 * that the mapped process never did. Pages that are missing are brought in by ->read_folio(), as
 * uprobes do to look at an instruction, and by shmem for its own files. So a file without either is
 * not read at all: sockets, devices, pipes, memfd_secret(), hugetlbfs, DAX.
 *
 * Pages of a file that cannot be evicted are looked at and never brought in. A hole reads as
 * zeros and stays a hole, in shmem and in ramfs, whose files have no other place than memory.
 *
 * Who can make whom wait
 *
 * What is in the page cache is read while the VMA is locked, in a bounded time. Only for the rest
 * is a file system called. That may wait for ever, and not killably: FUSE does once its server has
 * fetched the request, others do for their metadata, and so does the invalidate_lock, without which
 * a page brought in could survive a hole punched meanwhile. So a worker calls it, and the asker
 * sleeps killably and holds nothing. The worker reads the file as a whole, and drops the reference
 * to the file: closing it may wait as well.
 *
 * So the owner of a file system that does not answer can make an asker wait until he is killed, but
 * only if the read was among the first of that file system. Further reads end without a build ID
 * after some seconds, or at once. He cannot make those wait who ask about files that others
 * have opened: buildid_queue.c says why.
 *
 * Who pays
 *
 * A page that is brought in is charged to the memory cgroup of the address space that maps the
 * file, as if the process itself had touched it. It is not charged to the asker. If the limit is
 * reached, pages of that cgroup are reclaimed. If this is of no use, the read fails and no process
 * is killed. A page that comes from swap belongs to the cgroup that it belonged to before. Reading
 * the disk counts for the block cgroup of the asker. The processor time of a worker is nobody's, so
 * it is bounded: by BUILD_ID_FILE_READS for the parser, by BUILD_ID_FILE_PAGES for the pages.
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
 * What may be looked at while the VMA is locked and preemption is disabled: a usual file needs one
 * window, 20 reads. The worker does the rest.
 */
#define BUILD_ID_CACHED_PAGES	4
#define BUILD_ID_CACHED_READS	1000

/**
 * struct build_id_file - a file that is being read
 * @r: the window
 * @file: the file
 * @page: of the window, with a reference; NULL if there is none
 * @pages: how often the window may still be moved
 * @job: of the worker; NULL: look at the page cache only
 */
struct build_id_file {
	struct build_id_reader r;
	struct file *file;
	struct page *page;
	unsigned int pages;
	const struct build_id_job *job;
};

/* Files that are in memory and nowhere else: what is missing is a hole. */
static bool build_id_mapping_memory(struct address_space *mapping)
{
	return shmem_mapping(mapping) || mapping->a_ops == &ram_aops;
}

/* The page at @index if it is in the page cache and up to date, with a reference; or NULL. */
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
 * An empty page for ->read_folio() to fill, if there is none. read_mapping_page() would make one,
 * too, but could have a process killed for it.
 */
static int build_id_page_add(struct address_space *mapping, pgoff_t index)
{
	gfp_t gfp = readahead_gfp_mask(mapping);	/* __GFP_NORETRY and __GFP_NOWARN */
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

/* As build_id_page_add(), on the account of @memcg. */
static int build_id_page_charge(struct address_space *mapping, pgoff_t index,
				struct mem_cgroup *memcg)
{
	struct mem_cgroup *old_memcg = set_active_memcg(memcg);
	int err = -ENOMEM;
	void *room;

	/*
	 * File systems account small things with the page, such as buffer heads, and may not fail
	 * to: that is how a process could be killed nevertheless. See that there is room.
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
	/* Nothing but this lock keeps a truncation from leaving the page behind beyond the end. */
	if ((loff_t)index << PAGE_SHIFT < i_size_read(mapping->host)) {
		err = build_id_page_charge(mapping, index, job->memcg);
		page = err ? ERR_PTR(err) : read_mapping_page(mapping, index, job->file);
	}
	filemap_invalidate_unlock_shared(mapping);
	return page;
}

/*
 * A page of shmem that is in swap, or on its way from or to there. It knows whom it belongs to. A
 * hole that is punched at this moment may get a page, as by a read of the mapping.
 */
static struct page *build_id_page_swap(const struct build_id_job *job, pgoff_t index)
{
	struct address_space *mapping = job->file->f_mapping;
	struct mem_cgroup *old_memcg = set_active_memcg(job->memcg);
	struct page *page;

	page = shmem_read_mapping_page_gfp(mapping, index, readahead_gfp_mask(mapping));
	set_active_memcg(old_memcg);
	/* Behind the end, by now */
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

/* As build_id_page_cached(), or brought in if a worker asks; an ERR_PTR instead of NULL. */
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

/* May the window be moved once more? A worker need not if nobody waits for the answer. */
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

/* The window is the page that holds @pos, as far as it is inside the file. */
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
	 * The size again, now that the page is up to date: the file may have shrunk, see
	 * filemap_read(). A page that has left the file meanwhile has what the file had: the
	 * reference keeps it from being used for anything else.
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
 * build_id_file_parse - read the build ID of a file, in a worker
 * @job: its file; receives build ID and size
 *
 * Context: kernel thread. Sleeps for as long as the file system takes, not killably.
 *
 * Return: 0; -ENODATA if there is no build ID; -ENOMEM; -EIO for all other errors, as those that a
 * file system or its server made up must not be taken for a signal.
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
 * build_id_read_cached - read the build ID of an ELF file if that is possible at once
 * @file: the file; the caller keeps it from going away, for instance by its VMA's lock, and need
 *	  not have a reference
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX bytes
 * @size: receives the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Looks at pages that are in the page cache and up to date, at BUILD_ID_CACHED_PAGES of them and by
 * BUILD_ID_CACHED_READS reads at most.
 *
 * Context: does not sleep; preemption may be disabled. Not in interrupts.
 *
 * Return: 0 if there is a build ID; -ENODATA if there is none, the file is not one to be read, or
 * its file system does not answer at present; -EAGAIN if that cannot be told like this, and the
 * caller should take a reference and ask build_id_read_file(). On an error @build_id and @size are
 * left alone.
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
 * @file: the file; what a mapping shows is its vm_file. The caller's reference is consumed, also on
 *	  an error, so that the caller never closes a file
 * @mm: the address space that maps it, whose memory cgroup pays for pages that are brought in; it
 *	may have no users any more, the caller holds it by mm_count
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX bytes
 * @size: receives the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Has a worker read what is needed of the file, at most BUILD_ID_FILE_PAGES pages of it, from the
 * page cache or, if it is not there, from the file system. The file may be written, truncated or
 * removed meanwhile.
 *
 * Context: may sleep for as long as the file system takes to answer, or until a fatal signal. The
 * caller holds no locks.
 *
 * Return: 0 if there is a build ID; -ENODATA if there is none or the file is not one to be read;
 * -EIO if it could not be read, or is not read because its file system does not answer; -ENOMEM if
 * there was no memory for a page, or none that @mm may use; -EINTR if, and only if, a fatal signal
 * is pending. On an error @build_id and @size are left alone.
 */
int build_id_read_file(struct file *file, struct mm_struct *mm, unsigned char *build_id,
		       unsigned int *size)
{
	might_sleep();
	return build_id_queue_read(file, mm, build_id, size);
}
