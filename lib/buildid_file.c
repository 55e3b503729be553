// SPDX-License-Identifier: GPL-2.0
/*
 * Read the build ID of a mapped file: at once from the page cache, or in sleepable context
 * from the disk. The caller does, and pays for, all of it.
 *
 * The bytes come from the page cache, which is what the mapping shows: ->read_iter() may do
 * anything, and vfs_read() would tell LSMs, fanotify and the access time. A hole of a file
 * that exists only in memory reads as zeros and stays a hole. A page in swap stays there:
 * no build ID meanwhile.
 *
 * Only build_id_read_file() brings in what is missing, one page at a time by readahead, and
 * waits for it killably. A signal does not end the wait for a file system that reads
 * metadata, or data (squashfs), before it returns, nor for a truncation that takes the
 * invalidate_lock after the reader tried it.
 */
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/dax.h>
#include <linux/filemap_cached.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/secretmem.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "buildid_elf.h"

static_assert(BUILD_ID_ELF_MAX == BUILD_ID_SIZE_MAX);

/*
 * Limits while the VMA is locked and preemption is disabled. A usual file needs one window
 * and 20 reads. build_id_read_file() does the rest.
 */
#define BUILD_ID_CACHED_PAGES	4
#define BUILD_ID_CACHED_READS	1000

/* Upper bound of the accounted __GFP_NOFAIL allocations as a file system starts a read. */
#define BUILD_ID_CHARGE		(16 * PAGE_SIZE)

struct build_id_file {
	struct build_id_reader r;
	struct file *file;
	struct page *page;	/* of the window, with a reference; or NULL */
	unsigned int pages;	/* how often the window may still be moved */
	bool sleeps;	/* the reader may sleep, and bring in pages */
};

/* Does the file exist only in memory? Then a missing page is a hole. */
static bool build_id_mapping_memory(struct address_space *mapping)
{
	return shmem_mapping(mapping) || mapping->a_ops == &ram_aops;
}

/* A page that is up to date, or the zero page for a hole, with a reference; else NULL. */
static struct page *build_id_page_cached(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = filemap_cached_entry(mapping, index);

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
 * Is the file system out of the control of ordinary users? A user can serve FUSE, mount
 * what has FS_USERNS_MOUNT, and stack ecryptfs on either: such a server may never answer.
 * For overlayfs, @mapping is that of the lower file.
 */
static bool build_id_mapping_answers(const struct address_space *mapping)
{
	const struct super_block *sb = mapping->host->i_sb;

	return sb->s_magic != FUSE_SUPER_MAGIC && sb->s_user_ns == &init_user_ns &&
	       !sb->s_stack_depth;
}

/*
 * At the limit of the caller's cgroup, an allocation that must not fail would make the OOM
 * killer kill. Make space beforehand, or learn that there is none.
 */
static bool build_id_try_charge(void)
{
	void *memory = kvmalloc(BUILD_ID_CHARGE, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	bool charged = memory;

	kvfree(memory);
	return charged;
}

/*
 * Start the read of the page at @index, which is inside the file, unless there is a page
 * already. Readahead allocates with __GFP_NORETRY and without __GFP_FS. -EINTR: killed.
 */
static int build_id_page_start(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct file_ra_state ra = {};
	DEFINE_READAHEAD(ractl, file, &ra, mapping, index);

	if (!build_id_try_charge())
		return -EIO;
	/* Readahead takes this lock, too, but not killably. */
	if (down_read_killable(&mapping->invalidate_lock))
		return -EINTR;
	up_read(&mapping->invalidate_lock);
	page_cache_ra_unbounded(&ractl, 1, 0);
	return 0;
}

/*
 * -EIO: the page may not be brought in, or cannot be read. -EINTR: killed. An unevictable
 * mapping, of ramfs or the like, exists only in memory.
 */
static struct page *build_id_page_read(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct page *page = ERR_PTR(-EIO);
	struct folio *folio;
	int err;

	if (build_id_mapping_memory(mapping) || mapping_unevictable(mapping) ||
	    !build_id_mapping_answers(mapping))
		return page;
	err = build_id_page_start(file, index);
	if (err)
		return ERR_PTR(err);
	folio = filemap_cached_folio(mapping, index);
	if (!folio)
		return page;
	err = folio_wait_locked_killable(folio);
	if (err)
		page = ERR_PTR(err);
	else if (folio_test_uptodate(folio))
		return folio_file_page(folio, index);
	folio_put(folio);
	return page;
}

/* Bring the page in if the reader may sleep. -EAGAIN if it may not. */
static struct page *build_id_file_page(struct build_id_file *f, pgoff_t index)
{
	struct page *page = build_id_page_cached(f->file->f_mapping, index);

	if (page)
		return page;
	return f->sleeps ? build_id_page_read(f->file, index) : ERR_PTR(-EAGAIN);
}

static void build_id_file_release(struct build_id_file *f)
{
	if (!f->page)
		return;
	kunmap_local(f->r.win);
	put_page(f->page);
	f->page = NULL;
}

/* -EAGAIN: only a reader that sleeps may. -ENODATA: nobody may. -EINTR: killed. */
static int build_id_file_may_move(struct build_id_file *f)
{
	if (!f->pages)
		return f->sleeps ? -ENODATA : -EAGAIN;
	f->pages--;
	if (!f->sleeps)
		return 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

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
	 * The file may have shrunk meanwhile, see filemap_read(). A page that has left it
	 * keeps what the file had: our reference prevents other uses.
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

/**
 * build_id_file_allowed - may a reader read pages of this file?
 * @file: the file; the caller keeps it open
 *
 * Context: any, NMI included.
 * Return: true if it may. Not of memfd_secret(), which is not even mapped in the
 * kernel, nor of proc, sysfs and the like: mappings do not show the page cache.
 */
bool build_id_file_allowed(const struct file *file)
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

/* Dropping the last reference must not wait for a server. Files in memory have none. */
static bool build_id_file_may_hold(const struct file *file)
{
	return build_id_mapping_memory(file->f_mapping) ||
	       build_id_mapping_answers(file->f_mapping);
}

/**
 * build_id_read_cached - read the build ID of a file if that needs no waiting
 * @file: the file; the caller keeps it open, for example by the lock of its VMA
 * @build_id: out: the ID, padded with zeros to BUILD_ID_SIZE_MAX bytes
 * @size: out: the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Context: any except interrupts. Does not sleep; preemption may be disabled.
 * Return: 0 if there is a build ID; -ENODATA if there is none, or if the file may
 * not be read; -EIO if the answer needs more than this, and that would wait for
 * an ordinary user; -EAGAIN if it needs more, and the caller should take a
 * reference and call build_id_read_file(). On an error, @build_id and @size stay
 * unchanged.
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
	return err == -EAGAIN && !build_id_file_may_hold(file) ? -EIO : err;
}

/**
 * build_id_read_file - read the build ID of an ELF file, from disk if necessary
 * @file: the file; the caller has a reference, which it may take only after
 *	-EAGAIN of build_id_read_cached()
 * @build_id: out: the ID, padded with zeros to BUILD_ID_SIZE_MAX bytes
 * @size: out: the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Context: process context, no locks held. Sleeps, killably, until the disk
 * answers.
 * Return: 0 if there is a build ID; -ENODATA if there is none, or if the file may
 * not be read; -EIO if a page that is needed cannot be had: an error, no memory,
 * or in swap; -EINTR if, and only if, a fatal signal is pending. On an error,
 * @build_id and @size stay unchanged.
 */
int build_id_read_file(struct file *file, unsigned char *build_id, unsigned int *size)
{
	struct build_id_file f = {
		.r.seek = build_id_file_seek,
		.r.reads = BUILD_ID_FILE_READS,
		.file = file,
		.pages = BUILD_ID_FILE_PAGES,
		.sleeps = true,
	};
	int err;

	might_sleep();
	if (!build_id_file_allowed(file))
		return -ENODATA;
	err = build_id_elf_parse(&f.r, build_id, size);
	build_id_file_release(&f);
	return err;
}
