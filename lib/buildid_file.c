// SPDX-License-Identifier: GPL-2.0
/*
 * Read the build ID of a mapped file: at once from the page cache, or in sleepable context
 * from the disk. The caller does, and pays for, all of it.
 *
 * It takes pages of the page cache, which the mapping shows. ->read_iter() may do anything, and
 * vfs_read() calls LSMs and fanotify, and sets the access time. A hole of a file in memory reads
 * as zeros, and is not filled. A page in swap stays there: there is no build ID meanwhile.
 *
 * A signal does not end two waits: for a file system whose read callback itself waits for metadata
 * or data (squashfs); and for a truncation that takes the invalidate_lock after our
 * down_read_killable(), so that readahead waits for it.
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
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "buildid_elf.h"

static_assert(BUILD_ID_ELF_MAX == BUILD_ID_SIZE_MAX);

/* Limits while the VMA is locked and preemption is disabled. build_id_read_file() does the rest. */
#define BUILD_ID_CACHED_PAGES	4
#define BUILD_ID_CACHED_READS	1000

/* Upper bound of the accounted __GFP_NOFAIL allocations of a file system that starts a read. */
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
 * A user can serve FUSE, mount what has FS_USERNS_MOUNT, and stack ecryptfs on either: such
 * a server may never answer. For overlayfs, @mapping is that of the lower file.
 */
static bool build_id_mapping_trusted(const struct address_space *mapping)
{
	const struct super_block *sb = mapping->host->i_sb;

	return sb->s_magic != FUSE_SUPER_MAGIC && sb->s_user_ns == &init_user_ns &&
	       !sb->s_stack_depth;
}

/*
 * A file system that starts a read charges buffer heads and the like with __GFP_NOFAIL, which
 * at the limit of the caller's cgroup makes the OOM killer kill. So charge as much on trial:
 * that reclaims, or fails. It can still kill only if another task takes that space in between.
 * Page tables of vmalloc(), which are allocated without __GFP_NORETRY, are not charged.
 */
static bool build_id_cgroup_has_space(void)
{
	void *space = kvmalloc(BUILD_ID_CHARGE, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);

	if (!space)
		return false;
	kvfree(space);
	return true;
}

/*
 * Start the read of the page at @index, which is inside the file, unless there is a page
 * already. Readahead allocates with __GFP_NORETRY and without __GFP_FS.
 */
static int build_id_page_start(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct file_ra_state ra = {};
	DEFINE_READAHEAD(ractl, file, &ra, mapping, index);

	if (!build_id_cgroup_has_space())
		return -EIO;
	/* Readahead takes this lock, too, but not killably. */
	if (down_read_killable(&mapping->invalidate_lock))
		return -EINTR;
	up_read(&mapping->invalidate_lock);
	page_cache_ra_unbounded(&ractl, 1, 0);
	return 0;
}

/*
 * Readahead leaves alone a page that is partly up to date, and may decline: inline data, or
 * a device that is busy. A page fault reads such a page by itself, too.
 */
static int build_id_folio_read(struct file *file, struct folio *folio)
{
	struct address_space *mapping = file->f_mapping;
	int err = 0;

	/* As in page_cache_ra_unbounded(): the blocks of the page are not freed meanwhile. */
	if (down_read_killable(&mapping->invalidate_lock))
		return -EINTR;
	/* If it is locked, somebody else reads it: the caller waits without the lock. */
	if (!folio_trylock(folio))
		goto out;
	if (folio->mapping == mapping && !folio_test_uptodate(folio)) {
		filemap_forget_error(folio);
		err = mapping->a_ops->read_folio(file, folio);
	} else {
		folio_unlock(folio);
	}
out:
	up_read(&mapping->invalidate_lock);
	return err;
}

/*
 * -EIO: the page may not be brought in, or cannot be read. An unevictable mapping, of ramfs
 * or the like, exists only in memory.
 */
static struct page *build_id_page_read(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct folio *folio;
	int err;

	if (build_id_mapping_memory(mapping) || mapping_unevictable(mapping) ||
	    !build_id_mapping_trusted(mapping))
		return ERR_PTR(-EIO);
	err = build_id_page_start(file, index);
	if (err)
		return ERR_PTR(err);
	folio = filemap_cached_folio(mapping, index);
	if (!folio)
		return ERR_PTR(-EIO);
	err = folio_wait_locked_killable(folio);
	if (!err && !folio_test_uptodate(folio))
		err = build_id_folio_read(file, folio) ?: folio_wait_locked_killable(folio);
	if (!err && folio_test_uptodate(folio))
		return folio_file_page(folio, index);
	folio_put(folio);
	return ERR_PTR(err == -EINTR ? -EINTR : -EIO);
}

static void build_id_file_release(struct build_id_file *f)
{
	if (!f->page)
		return;
	kunmap_local(f->r.win);
	put_page(f->page);
	f->page = NULL;
}

/* -EAGAIN: only a reader that sleeps may. -ENODATA: nobody may. */
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
	struct page *page;
	u64 size;
	int err;

	build_id_file_release(f);
	if (pos >= i_size_read(mapping->host))
		return -ENODATA;
	err = build_id_file_may_move(f);
	if (err)
		return err;
	page = build_id_page_cached(mapping, pos >> PAGE_SHIFT);
	if (!page)
		page = f->sleeps ? build_id_page_read(f->file, pos >> PAGE_SHIFT) :
				   ERR_PTR(-EAGAIN);
	if (IS_ERR(page))
		return PTR_ERR(page);

	/*
	 * The file may have shrunk meanwhile, see filemap_read(): read the page cache before
	 * the size. A page that has left the file keeps what it had: our reference prevents
	 * other uses.
	 */
	smp_rmb();
	size = i_size_read(mapping->host);
	if (pos >= size || PageHWPoison(page)) {
		put_page(page);
		return -ENODATA;
	}
	if (mapping_writably_mapped(mapping))
		flush_dcache_page(page);
	f->page = page;
	r->win = kmap_local_page(page);
	r->win_pos = round_down(pos, PAGE_SIZE);
	r->win_len = min_t(u64, size - r->win_pos, PAGE_SIZE);
	return 0;
}

/**
 * build_id_file_allowed - may a reader read pages of this file?
 * @file: the file; the caller keeps it open
 *
 * Context: any, NMI included.
 * Return: true if it may. Not of proc, sysfs and the like: their mappings do not show
 * the page cache.
 */
bool build_id_file_allowed(const struct file *file)
{
	struct address_space *mapping = file->f_mapping;
	const struct inode *inode = file_inode(file);

	if (!(file->f_mode & FMODE_READ) || !S_ISREG(inode->i_mode))
		return false;
	if (inode->i_sb->s_iflags & SB_I_NOEXEC || dax_mapping(mapping))
		return false;
	/* Not memfd_secret(): it is not even mapped in the kernel, and has no ->read_folio(). */
	return mapping->a_ops->read_folio || shmem_mapping(mapping);
}

/* Mapped memory of a device is DAX, too; it is no file that could have a build ID. */
static bool build_id_file_is_dax(const struct file *file)
{
	return S_ISREG(file_inode(file)->i_mode) && dax_mapping(file->f_mapping);
}

/**
 * build_id_read_cached - read the build ID of a file if that needs no waiting
 * @file: the file; the caller keeps it open, for example by the lock of its VMA
 * @build_id: out: the ID, padded with zeros to BUILD_ID_SIZE_MAX bytes
 * @size: out: the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Context: any except interrupts. Does not sleep; preemption may be disabled.
 * Return: 0; an error leaves @build_id and @size unchanged:
 * -ENODATA: there is no build ID, or the file may not be read.
 * -EAGAIN: the page cache does not tell. The caller may take a reference and call
 *	build_id_read_file(), unless the mount is a user's.
 * -EIO: it stays unknown: a DAX file has no page cache, or only a server of a user can
 *	give the pages. Take no reference: to drop the last one may wait for that server.
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
		return build_id_file_is_dax(file) ? -EIO : -ENODATA;
	err = build_id_elf_parse(&f.r, build_id, size);
	build_id_file_release(&f);
	/* The parser gives up when it has no reads left. */
	if (err == -ENODATA && !f.r.reads)
		err = -EAGAIN;
	if (err == -EAGAIN && !build_id_mapping_trusted(file->f_mapping))
		err = -EIO;
	return err;
}

/**
 * build_id_read_file - read the build ID of an ELF file, from disk if necessary
 * @file: the file; the caller has a reference, which it may take only after
 *	-EAGAIN of build_id_read_cached()
 * @build_id: out: the ID, padded with zeros to BUILD_ID_SIZE_MAX bytes
 * @size: out: the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Context: process context, no locks held. Sleeps, killably.
 * Return: 0; -ENODATA: there is no build ID, or the file may not be read; -EIO: a
 * page cannot be had: an error, no memory, or in swap; -EINTR: a fatal signal is
 * pending. An error leaves @build_id and @size unchanged.
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
