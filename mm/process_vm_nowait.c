// SPDX-License-Identifier: GPL-2.0
/*
 * process_vm_readv(2) and process_vm_writev(2) with PROCESS_VM_NOWAIT.
 *
 * The target and those who serve its memory may be hostile: nothing that they can hold for long is
 * waited for. mmap_lock is only tried, and dropped before anything is copied, since the caller's
 * own buffers may fault. A page of a file is written to with its lock held, which is also only
 * tried: to mark the page dirty later would mean to wait for the lock then.
 */
#include <linux/backing-dev.h>
#include <linux/hugetlb.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_context.h>
#include <linux/pagemap.h>
#include <linux/secretmem.h>

#include "process_vm.h"
#include "resident.h"

/*
 * How often a page is mapped in that is not there when looked at again: somebody else takes it out
 * each time. The next time is not sure to be better.
 */
#define NOWAIT_FAULTS	4

/* How often the caller's buffer, just faulted in, is gone when it is copied from. */
#define NOWAIT_COPIES	16

/* The pages of one turn, and how they are held. */
struct nowait_pages {
	struct mm_struct *mm;
	struct page **pages;
	unsigned long count;
	bool write;
	bool pinned;
};

/* As get_user_pages() does without FOLL_FORCE. */
static bool nowait_vma_permits(struct vm_area_struct *vma, bool write)
{
	if (vma->vm_flags & (VM_IO | VM_PFNMAP) || vma_is_secretmem(vma))
		return false;
	if (!(vma->vm_flags & (write ? VM_WRITE : VM_READ)))
		return false;
	return arch_vma_access_permitted(vma, write, false, true);
}

static int nowait_fault(struct mm_struct *mm, unsigned long addr, bool write)
{
	struct vm_area_struct *vma;
	vm_fault_t ret;

	addr = untagged_addr(addr);
	vma = vma_lookup(mm, addr);
	if (!vma || !nowait_vma_permits(vma, write))
		return -EFAULT;

	ret = resident_fault(vma, addr, FAULT_FLAG_REMOTE | (write ? FAULT_FLAG_WRITE : 0));
	return ret & (VM_FAULT_ERROR | VM_FAULT_RETRY) ? -EFAULT : 0;
}

static void nowait_release(struct nowait_pages *np, unsigned long from, unsigned long count)
{
	if (np->pinned) {
		unpin_user_pages(np->pages + from, count - from);
		return;
	}
	while (count > from)
		put_page(np->pages[--count]);
}

static long nowait_pin(struct nowait_pages *np, unsigned long addr)
{
	unsigned int flags = FOLL_NOFAULT | (np->write ? FOLL_WRITE : 0);

	np->pinned = true;
	return pin_user_pages_remote(np->mm, addr, np->count, flags, np->pages, NULL, NULL);
}

/*
 * A page that is read from needs a reference, but no pin. With FOLL_PIN, a page that is shared with
 * a child would be copied first, to stay the target's; its bytes are the same now. The reference
 * keeps the child from writing to it: it copies the page. But hugetlb looks at the mappings alone
 * for that. There the pin is needed, and is not had while the page is shared.
 */
static long nowait_get(struct nowait_pages *np, unsigned long addr)
{
	long found, plain = 0;

	np->pinned = false;
	found = get_user_pages_remote(np->mm, addr, np->count, FOLL_NOFAULT, np->pages, NULL, NULL);
	while (plain < found && !(PageHuge(np->pages[plain]) && PageAnon(np->pages[plain])))
		plain++;
	if (plain >= found)
		return found;

	nowait_release(np, plain, found);
	return plain ? plain : nowait_pin(np, addr);
}

static long nowait_follow(struct nowait_pages *np, unsigned long addr)
{
	return np->write ? nowait_pin(np, addr) : nowait_get(np, addr);
}

/*
 * Get pages from addr on that are resident, at least one: the next that is missing is for the next
 * turn. After a fault that failed it is looked up once more, somebody else may have mapped it.
 */
static int nowait_get_pages(struct nowait_pages *np, unsigned long addr)
{
	int faults = NOWAIT_FAULTS;
	long found;
	int err = 0;

	if (!mmap_read_trylock(np->mm))
		return -EAGAIN;

	found = nowait_follow(np, addr);
	while (found <= 0 && !err && faults--) {
		err = nowait_fault(np->mm, addr, np->write);
		found = nowait_follow(np, addr);
	}
	mmap_read_unlock(np->mm);

	np->count = found;
	return found > 0 ? 0 : -EFAULT;
}

/*
 * A page that the file system writes back was write-protected when it was cleaned. It is clean
 * now: to dirty it again, the file system would have to be asked, and may wait. Of a dirty one it
 * was asked, if perhaps for another part of it (blocks that files share): no less than without the
 * flag, where nobody looks.
 */
static bool nowait_trylock_page(struct page *page)
{
	struct address_space *mapping;

	if (!trylock_page(page))
		return false;

	mapping = page_mapping(page);
	if (!mapping || !mapping_can_writeback(mapping) || PageDirty(page))
		return true;
	unlock_page(page);
	return false;
}

/* The lock is held, so that nothing of the caller's may fault: copy what is there. */
static size_t nowait_write_locked(struct page *page, unsigned int offset, size_t len,
				  struct iov_iter *iter)
{
	size_t copied = copy_page_from_iter_atomic(page, offset, len, iter);

	if (copied)
		set_page_dirty(page);
	unlock_page(page);
	return copied;
}

static int nowait_write_file_page(struct page *page, unsigned int offset, size_t len,
				  struct iov_iter *iter)
{
	int copies = NOWAIT_COPIES;

	len = min(len, iov_iter_count(iter));
	while (len) {
		size_t copied;

		if (fault_in_iov_iter_readable(iter, len) == len || !copies--)
			return -EFAULT;
		if (!nowait_trylock_page(page))
			return -EFAULT;
		copied = nowait_write_locked(page, offset, len, iter);
		if (copied)
			copies = NOWAIT_COPIES;
		offset += copied;
		len -= copied;
	}
	return 0;
}

/*
 * No file system has to be told of a dirty anonymous page, so that its lock is not needed. Without
 * it the swap cache that the page is in may change, and go by swapoff(): set the flag, which is all
 * that a swap-out looks at.
 */
static int nowait_write_anon_page(struct page *page, unsigned int offset, size_t len,
				  struct iov_iter *iter)
{
	size_t copied = copy_page_from_iter(page, offset, len, iter);

	SetPageDirty(page);
	return copied < len && iov_iter_count(iter) ? -EFAULT : 0;
}

static int nowait_write_page(struct page *page, unsigned int offset, size_t len,
			     struct iov_iter *iter)
{
	if (PageAnon(page))
		return nowait_write_anon_page(page, offset, len, iter);
	return nowait_write_file_page(page, offset, len, iter);
}

static int nowait_read_page(struct page *page, unsigned int offset, size_t len,
			    struct iov_iter *iter)
{
	size_t copied = copy_page_to_iter(page, offset, len, iter);

	return copied < len && iov_iter_count(iter) ? -EFAULT : 0;
}

static int nowait_copy(struct nowait_pages *np, unsigned int offset, size_t len,
		       struct iov_iter *iter)
{
	struct page **page = np->pages;
	int err = 0;

	while (len && iov_iter_count(iter) && !err) {
		size_t chunk = min_t(size_t, len, PAGE_SIZE - offset);

		if (np->write)
			err = nowait_write_page(*page++, offset, chunk, iter);
		else
			err = nowait_read_page(*page++, offset, chunk, iter);
		len -= chunk;
		offset = 0;
	}
	return err;
}

/**
 * process_vm_rw_nowait - transfer what needs no waiting
 * @remote: one range of the target's memory
 * @iter: the caller's buffers, advanced by what was transferred
 * @mm: the target's address space
 * @pages: room for @max_pages pages
 * @max_pages: how many pages are looked up at a time
 * @vm_write: 0: from @remote to @iter, 1: from @iter to @remote
 *
 * Context: Process context. Tries mmap_lock of @mm and drops it. Page faults of the caller's own
 * buffers are handled as always.
 * Return: 0: all of @remote, or as much as @iter takes. -EAGAIN: mmap_lock cannot be had right now.
 * -EFAULT: the next byte is not accessible, on either side, or would mean to wait.
 */
int process_vm_rw_nowait(const struct iovec *remote, struct iov_iter *iter, struct mm_struct *mm,
			 struct page **pages, unsigned int max_pages, int vm_write)
{
	struct nowait_pages np = { .mm = mm, .pages = pages, .write = vm_write };
	unsigned long addr = (unsigned long)remote->iov_base;
	size_t len = remote->iov_len;
	int err = 0;

	while (len && iov_iter_count(iter) && !err) {
		unsigned int offset = offset_in_page(addr);
		size_t chunk;

		np.count = min_t(unsigned long, (len - 1 + offset) / PAGE_SIZE + 1, max_pages);
		err = nowait_get_pages(&np, addr - offset);
		if (err)
			return err;

		chunk = min_t(size_t, len, np.count * PAGE_SIZE - offset);
		err = nowait_copy(&np, offset, chunk, iter);
		nowait_release(&np, 0, np.count);
		addr += chunk;
		len -= chunk;
	}
	return err;
}
