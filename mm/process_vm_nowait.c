// SPDX-License-Identifier: GPL-2.0
/*
 * process_vm_readv(2) and process_vm_writev(2) with PROCESS_VM_NOWAIT. Target, servers of
 * its memory and caller may be hostile. So the call only tries locks, drops mmap_lock
 * before it copies, as the caller's buffers may fault, and holds no mm_users.
 */
#include <linux/backing-dev.h>
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_context.h>
#include <linux/pagemap.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/secretmem.h>

#include "process_vm.h"
#include "resident.h"

/* Lookups of a page that moves between the page table and another place. */
#define NOWAIT_LOOKUPS	4
/* Attempts to fault in a buffer of the caller that is gone again before the copy. */
#define NOWAIT_COPIES	16

struct nowait_pages {
	struct mm_struct *mm;
	struct page **pages;
	unsigned long count;
	bool write;
	bool pinned;	/* not just referenced */
};

/* The same checks as get_user_pages() without FOLL_FORCE. */
static bool nowait_vma_permits(struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_IO | VM_PFNMAP)) && !vma_is_secretmem(vma) &&
	       vma->vm_flags & VM_READ && arch_vma_access_permitted(vma, false, false, true);
}

static void nowait_release(struct nowait_pages *np)
{
	unsigned long count = np->count;

	if (np->pinned) {
		unpin_user_pages(np->pages, count);
		return;
	}
	while (count)
		put_page(np->pages[--count]);
}

/*
 * Pin mapped pages, up to the first one that would need a fault. fork() copies pinned pages:
 * a child that the target forks later does not see a write. With aliasing caches the time
 * under mmap_lock is not bounded: flush_dcache_page() walks all mappings of a file.
 */
static long nowait_pin(struct nowait_pages *np, unsigned long addr)
{
	/* With FOLL_NOFAULT get_user_pages() neither faults nor reschedules. */
	unsigned int flags = FOLL_NOFAULT | (np->write ? FOLL_WRITE : 0);

	np->pinned = true;
	return resident_pin(np->mm, addr, np->count, flags, np->pages);
}

static struct page *nowait_find(struct vm_area_struct *vma, unsigned long addr)
{
	struct page *page = ERR_PTR(-EAGAIN);
	int lookups = NOWAIT_LOOKUPS;

	while (page == ERR_PTR(-EAGAIN) && lookups--) {
		page = resident_mapped_page(vma, addr);
		if (!page)
			page = resident_page(vma, addr);
	}
	if (IS_ERR_OR_NULL(page))
		return NULL;
	/* The memory of a secure guest of s390 traps if the kernel reads it without this. */
	if (arch_make_folio_accessible(page_folio(page))) {
		put_page(page);
		return NULL;
	}
	return page;
}

/*
 * Take references: to pin a page that is shared with a child, it would have to be copied. After
 * fork() whoever writes to a page with further references gets a copy: so the caller never sees
 * what another process wrote later. hugetlbfs does not look at references: pin its pages, which
 * fails while they are shared. [vsyscall] has no VMA: only get_user_pages(), which pins, knows it.
 */
static long nowait_get(struct nowait_pages *np, unsigned long addr)
{
	struct vm_area_struct *vma = NULL;
	unsigned long found;

	np->pinned = false;
	addr = resident_untagged(np->mm, addr);
	for (found = 0; found < np->count; found++, addr += PAGE_SIZE) {
		if (!vma || addr >= vma->vm_end) {
			vma = vma_lookup(np->mm, addr);
			/* Do not pin in vain: with MMF_HAS_PINNED fork() looks at each page. */
			if (!vma && !in_gate_area(np->mm, addr))
				break;
			if (!vma || is_vm_hugetlb_page(vma))
				return found ? found : nowait_pin(np, addr);
			if (!nowait_vma_permits(vma))
				break;
		}
		np->pages[found] = nowait_find(vma, addr);
		if (!np->pages[found])
			break;
		flush_anon_page(vma, np->pages[found], addr);
	}
	return found;
}

/*
 * Drop a page of DAX or of a device, and those after it: a truncation or an unbind waits for
 * references to it, and the copy may wait for a server.
 */
static void nowait_drop_device_pages(struct nowait_pages *np)
{
	struct nowait_pages rest = *np;
	unsigned long nr = 0;

	while (nr < np->count && !is_zone_device_page(np->pages[nr]))
		nr++;
	rest.pages += nr;
	rest.count -= nr;
	nowait_release(&rest);
	np->count = nr;
}

/* Look up np->count pages at most, not preempted: others may wait for mmap_lock. */
static int nowait_lookup(struct nowait_pages *np, unsigned long addr)
{
	long found;

	preempt_disable_nort();
	if (!mm_ref_trylock(np->mm)) {
		preempt_enable_nort();
		return mm_ref_exited(np->mm) ? -ESRCH : -EAGAIN;
	}
	found = np->write ? nowait_pin(np, addr) : nowait_get(np, addr);
	np->count = max(found, 0L);
	nowait_drop_device_pages(np);
	mm_ref_unlock(np->mm);
	preempt_enable_nort();
	return np->count ? 0 : -EFAULT;
}

/*
 * Lock a page of a file if it may be written to. Before a clean page becomes dirty, its file
 * system must be asked, which may wait. It was asked about a dirty page, though perhaps about
 * another block in it: process_vm_writev() without the flag writes to such a page, too.
 */
static bool nowait_lock_dirty_page(struct page *page)
{
	struct address_space *mapping;

	if (!trylock_page(page))
		return false;
	mapping = folio_mapping(page_folio(page));
	if (!mapping || !mapping_can_writeback(mapping) || PageDirty(page))
		return true;
	unlock_page(page);
	return false;
}

static int nowait_write_file_page(struct page *page, unsigned int offset, size_t len,
				  struct iov_iter *iter)
{
	int copies = NOWAIT_COPIES;

	len = min(len, iov_iter_count(iter));
	while (len) {
		size_t copied;

		if (fault_in_iov_iter_readable(iter, len) == len || !copies-- ||
		    !nowait_lock_dirty_page(page))
			return -EFAULT;
		/* The page is locked, so the caller's buffer must not fault. */
		copied = copy_page_from_iter_atomic(page, offset, len, iter);
		if (copied) {
			set_page_dirty(page);
			copies = NOWAIT_COPIES;
		}
		unlock_page(page);
		offset += copied;
		len -= copied;
	}
	return 0;
}

/*
 * set_page_dirty() follows the mapping of the swap cache, which swapoff() may free unless the
 * page is locked. Swap-out looks only at the flag.
 */
static int nowait_write_anon_page(struct page *page, unsigned int offset, size_t len,
				  struct iov_iter *iter)
{
	size_t copied = copy_page_from_iter(page, offset, len, iter);

	SetPageDirty(page);
	return copied < len && iov_iter_count(iter) ? -EFAULT : 0;
}

static int nowait_read_page(struct page *page, unsigned int offset, size_t len,
			    struct iov_iter *iter)
{
	size_t copied;

	/* With flush_anon_page(): see what the target wrote by its own mapping. */
	flush_dcache_page(page);
	copied = copy_page_to_iter(page, offset, len, iter);
	return copied < len && iov_iter_count(iter) ? -EFAULT : 0;
}

static int nowait_copy(struct nowait_pages *np, unsigned int offset, size_t len,
		       struct iov_iter *iter)
{
	struct page **page = np->pages;
	int err = 0;

	while (len && iov_iter_count(iter) && !err) {
		size_t chunk = min_t(size_t, len, PAGE_SIZE - offset);

		if (!np->write)
			err = nowait_read_page(*page, offset, chunk, iter);
		else if (PageAnon(*page))
			err = nowait_write_anon_page(*page, offset, chunk, iter);
		else
			err = nowait_write_file_page(*page, offset, chunk, iter);
		page++;
		len -= chunk;
		offset = 0;
	}
	return err;
}

/**
 * process_vm_access_nowait - get the mm_count of a target without waiting
 * @task: the task; the leader of the process with PROCESS_VM_PIDFD
 * @flags: PROCESS_VM_* flags
 *
 * Context: process context. Tries exec_update_lock of @task, not preempted. Not
 * audited: Yama would read the command line, which may wait for the target.
 * Return: as process_vm_grab(); -EAGAIN: the task is in execve().
 */
struct mm_struct *process_vm_access_nowait(struct task_struct *task, unsigned long flags)
{
	const unsigned int mode = PTRACE_MODE_ATTACH_REALCREDS | PTRACE_MODE_NOAUDIT;
	struct mm_struct *mm = ERR_PTR(-EAGAIN);

	preempt_disable_nort();
	if (down_read_trylock(&task->signal->exec_update_lock)) {
		mm = process_vm_grab(task, flags, mode);
		up_read(&task->signal->exec_update_lock);
	}
	preempt_enable_nort();
	return mm;
}

/**
 * DOC: errno of PROCESS_VM_PIDFD and PROCESS_VM_NOWAIT
 *
 * .. list-table::
 *    :header-rows: 1
 *    :widths: 14 44 42
 *
 *    * - errno
 *      - when
 *      - tested by
 *    * - EINVAL
 *      - ``flags`` has an unknown bit
 *      - process_vm_flags_test: flags.a_probe_gets_EINVAL_for_every_other_bit,
 *        flags.an_unknown_bit_is_EINVAL_and_copies_nothing
 *    * - EBADF
 *      - ``PROCESS_VM_PIDFD``: the argument is not a descriptor, or not one of a pidfd
 *      - process_vm_pidfd_test: what_is_no_pidfd_is_EBADF
 *    * - ESRCH
 *      - the process has exited
 *      - process_vm_pidfd_test: an_exited_process_is_ESRCH_before_and_after_it_is_reaped
 *    * - ESRCH
 *      - the process is a kernel thread
 *      - process_vm_pidfd_test: a_kernel_thread_has_no_memory
 *    * - ESRCH
 *      - ``PROCESS_VM_NOWAIT``: the process exits during the call, and nothing was transferred
 *      - process_vm_exit_test:
 *        last.NOWAIT.calls_that_race_with_the_death_of_a_large_target_return
 *    * - EPERM
 *      - the caller lacks the permission that a call without flags needs, too
 *      - process_vm_pidfd_test: another_user_s_process_is_EPERM,
 *        a_process_that_is_not_dumpable_is_EPERM
 *    * - EFAULT
 *      - ``PROCESS_VM_NOWAIT``: the first byte would have to be waited for
 *      - process_vm_stall_test: stall.uffd_missing.NOWAIT_returns,
 *        stall.fuse_page.NOWAIT_returns, stall.swapped.NOWAIT_returns
 *    * - EFAULT
 *      - ``PROCESS_VM_NOWAIT``: the first byte to write is not mapped writable at this moment
 *      - process_vm_resident_test:
 *        memory.untouched.NOWAIT_write_ends_at_a_fault_and_changes_nothing,
 *        memory.forked.NOWAIT_write_ends_at_a_fault_and_changes_nothing
 *    * - EAGAIN
 *      - ``PROCESS_VM_NOWAIT``: someone else has locked the address space at this moment, and
 *        nothing was transferred
 *      - process_vm_stall_test: stall.mmap_written.NOWAIT_returns,
 *        stall.mmap_queued.NOWAIT_returns
 *    * - EAGAIN
 *      - ``PROCESS_VM_NOWAIT``: the process is in the middle of execve(2)
 *      - process_vm_stall_test: stall.exec.NOWAIT_returns, stall.exec_old_mm.NOWAIT_returns
 *    * - EINTR
 *      - the caller was killed, and nothing was transferred
 *      - process_vm_stall_test: a_call_that_is_killed_is_EINTR
 */

/**
 * process_vm_rw_nowait - transfer what needs no waiting
 * @remote: one range of the target's memory
 * @iter: the caller's buffers, advanced by what was transferred, also on an error
 * @mm: the target's address space, its mm_count held
 * @pages: space for @max_pages pages
 * @max_pages: how many pages to look up at a time
 * @vm_write: 0: from @remote to @iter, 1: from @iter to @remote
 *
 * Context: Process context. Tries mmap_lock of @mm and drops it. Handles page
 * faults of the caller's own buffers as usual, and may sleep for them.
 * Return: 0: transferred all of @remote, or as much as @iter takes. -EAGAIN:
 * somebody else has mmap_lock now. -EFAULT: the next byte is not accessible, on
 * either side, or not without a wait or a fault in the target. -ESRCH: the
 * address space has no user any more. -EINTR: the caller has been killed.
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

		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		np.count = min_t(unsigned long, (len - 1 + offset) / PAGE_SIZE + 1, max_pages);
		err = nowait_lookup(&np, addr - offset);
		if (err)
			return err;
		chunk = min_t(size_t, len, np.count * PAGE_SIZE - offset);
		err = nowait_copy(&np, offset, chunk, iter);
		nowait_release(&np);
		addr += chunk;
		len -= chunk;
	}
	return err;
}
