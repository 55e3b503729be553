// SPDX-License-Identifier: GPL-2.0
/*
 * Read the build ID of a mapped file in any context. Taking a reference to a page loops
 * while its count is frozen, perhaps by the code that this has interrupted. So copy a few
 * bytes without one, by reads that may fail, and look up the page again. If it is the same,
 * the bytes are right, unless it left the file, had other contents and came back meanwhile.
 */
#include <linux/buildid_file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "buildid_elf.h"

/* A usual file needs 2 windows and 20 reads. The limits bound a stack with 127 files, too. */
#define BUILD_ID_ATOMIC_BYTES	512
#define BUILD_ID_ATOMIC_WINDOWS	16
#define BUILD_ID_ATOMIC_READS	200

struct build_id_atomic {
	struct build_id_reader r;
	struct file *file;
	unsigned int windows;	/* how often the window may still be moved */
	u8 bytes[BUILD_ID_ATOMIC_BYTES];	/* of the window */
};

/* The window lies in one page. */
static bool build_id_atomic_copy(struct address_space *mapping, u64 pos, u8 *bytes)
{
	struct folio *folio = xa_load(&mapping->i_pages, pos >> PAGE_SHIFT);
	unsigned long flags;
	u64 offset;

	if (!folio || xa_is_value(folio) || !test_bit(PG_uptodate, &folio->flags))
		return false;
	/* Read the flag before the bytes; pairs with folio_mark_uptodate(). */
	smp_rmb();
	offset = pos - ((u64)READ_ONCE(folio->index) << PAGE_SHIFT);
	/* It has left the file: no folio of a file is larger. */
	if (offset >= PMD_SIZE)
		return false;
	/*
	 * Test for poison: the copy does not survive a machine check. No folio_page(): if the folio
	 * has left the file, it may look up a section of memory that is not there. The pages of a
	 * folio of a file are next to each other.
	 */
	if (get_kernel_nofault(flags, &(&folio->page + (offset >> PAGE_SHIFT))->flags) ||
	    flags & __PG_HWPOISON)
		return false;
	if (copy_from_kernel_nofault(bytes, folio_address(folio) + offset, BUILD_ID_ATOMIC_BYTES))
		return false;
	/* Read the bytes before looking again: the memory of a page that has left is used again. */
	smp_rmb();
	return xa_load(&mapping->i_pages, pos >> PAGE_SHIFT) == folio;
}

static int build_id_atomic_seek(struct build_id_reader *r, u64 pos)
{
	struct build_id_atomic *f = container_of(r, struct build_id_atomic, r);
	struct address_space *mapping = f->file->f_mapping;
	u64 start = round_down(pos, BUILD_ID_ATOMIC_BYTES);
	u64 size = i_size_read(mapping->host);

	if (pos >= size)
		return -ENODATA;
	/* The parser ends at this error: there is no next move. */
	if (!f->windows-- || !build_id_atomic_copy(mapping, start, f->bytes))
		return -EAGAIN;
	r->win = f->bytes;
	r->win_pos = start;
	r->win_len = min_t(u64, size - start, BUILD_ID_ATOMIC_BYTES);
	return 0;
}

/**
 * build_id_read_atomic - read the build ID of a file from the page cache in any context
 * @file: the file; the caller keeps it open, for example by the lock of its VMA
 * @build_id: out: the ID, padded with zeros to BUILD_ID_SIZE_MAX bytes
 * @size: out: the length of the ID, 1 to BUILD_ID_SIZE_MAX
 *
 * Context: any; NMI only with 64 bits, where i_size_read() does not loop.
 * Return: 0; -ENODATA: there is no build ID, the file may not be read, or after
 * BUILD_ID_ATOMIC_READS reads; -EAGAIN: a page cannot be had like this, or after
 * BUILD_ID_ATOMIC_WINDOWS windows. An error leaves @build_id and @size unchanged.
 */
int build_id_read_atomic(struct file *file, unsigned char *build_id, unsigned int *size)
{
	struct build_id_atomic f = {
		.r.seek = build_id_atomic_seek,
		.r.reads = BUILD_ID_ATOMIC_READS,
		.file = file,
		.windows = BUILD_ID_ATOMIC_WINDOWS,
	};
	int err;

	if (!build_id_file_allowed(file))
		return -ENODATA;
	rcu_read_lock();
	err = build_id_elf_parse(&f.r, build_id, size);
	rcu_read_unlock();
	return err;
}
