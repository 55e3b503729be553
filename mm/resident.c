// SPDX-License-Identifier: GPL-2.0
/*
 * Find what is in memory, without waiting.
 *
 * resident_page() finds the page that a read fault would find, without the
 * fault. It maps, allocates, charges and starts nothing. It takes no lock whose
 * holder may sleep.
 *
 * A write may need a fault: to copy a page, or to get a first one. FOLL_NOWAIT
 * and FAULT_FLAG_RETRY_NOWAIT keep a fault from waiting for the IO that it
 * started. They do not keep it from starting readahead, which waits for a free
 * request of a stalled file system. Nor do they keep it from locks of file
 * systems, swap-in, or reclaim. A resident fault starts nothing. It maps in
 * what is in memory: pages of the page cache and of the swap cache that nobody
 * has locked, new anonymous pages if there is free memory, and copies on write
 * of all these. For the rest it returns VM_FAULT_RETRY, with mmap_lock held
 * throughout.
 *
 * Three things keep a resident fault from waiting:
 *
 * - resident_fault_allowed() tests the VMA, which cannot change under
 *   mmap_lock.
 * - FAULT_FLAG_RESIDENT is tested at each place that would wait. A test
 *   beforehand is not enough, since page tables change under mmap_lock: a page
 *   that was resident a moment ago may be swapped out when the fault looks.
 * - memalloc_nowait_save() covers all allocations.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/oom.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/userfaultfd_k.h>

#include "internal.h"
#include "resident.h"
#include "swap.h"

/*
 * May a page of the page cache be mapped here without asking the file system?
 */
static bool resident_page_cache(struct vm_area_struct *vma)
{
	struct address_space *mapping;

	if (!vma->vm_file)
		return false;
	if (vma->vm_ops->map_pages == filemap_map_pages)
		return true;

	/*
	 * Another ->map_pages() may take a lock, as in XFS, so that nothing is
	 * read from freed blocks. But nothing is read here. Or it asks a server
	 * whether the page is still valid, as in AFS. A file system on a block
	 * device has no server to ask.
	 */
	mapping = vma->vm_file->f_mapping;
	if (vma->vm_ops->map_pages && mapping->host->i_sb->s_bdev)
		return true;

	/*
	 * The ->fault() of SysV shm calls that of shmem; it has no
	 * ->map_pages().
	 */
	return shmem_mapping(mapping);
}

/*
 * May a page that is not in the page tables be looked for elsewhere in memory?
 */
static bool resident_vma(struct vm_area_struct *vma)
{
	/*
	 * A fault needs a mutex that others hold while they allocate huge
	 * pages.
	 */
	if (is_vm_hugetlb_page(vma))
		return false;

	/* A fault asks the file system for blocks, and it takes its locks. */
	if (vma_is_dax(vma))
		return false;

	/*
	 * A mapping of a driver, even if its file is in shmem: it does not map
	 * what is in the page cache. And the kernel copies memory without
	 * struct page from the current address space, which is not the
	 * target's.
	 */
	return !(vma->vm_flags & VM_MIXEDMAP);
}

/*
 * May a write make a page of a shared mapping writable? ->page_mkwrite() may
 * wait for writeback, for space, or for a thaw. shmem has no ->page_mkwrite().
 */
static bool resident_shared_write(struct vm_area_struct *vma)
{
	return vma->vm_file && shmem_mapping(vma->vm_file->f_mapping);
}

static bool resident_fault_allowed(struct vm_area_struct *vma)
{
	if (!resident_vma(vma))
		return false;

	if ((vma->vm_flags & VM_SHARED) && !resident_shared_write(vma))
		return false;

	/* A notifier may wait for a device before the page tables change. */
	return !mm_has_notifiers(vma->vm_mm);
}

/**
 * resident_fault - handle a write fault from what is in memory
 * @vma: VMA that covers @address; the caller has checked its flags and its own
 *	rights
 * @address: user address
 *
 * Never waits for IO, a page lock, writeback, userfaultfd, reclaim or a lock of
 * a file system. Takes spinlocks. Clears or copies one small page at most,
 * never a huge one. Charges page tables to the active memory cgroup, and the
 * page to that of the VMA's mm.
 *
 * Context: Process context. mmap_lock of the VMA's mm is held for reading, also
 * on return.
 * Return: 0 or VM_FAULT_* bits without an error: look at the page table again,
 * somebody may have raced. VM_FAULT_RETRY: the fault would have to wait.
 * VM_FAULT_ERROR bits: as returned by handle_mm_fault(); VM_FAULT_OOM if no
 * memory is free.
 */
vm_fault_t resident_fault(struct vm_area_struct *vma, unsigned long address)
{
	unsigned int flags = FAULT_FLAG_RESIDENT | FAULT_FLAG_WRITE | FAULT_FLAG_REMOTE |
			     FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT;
	unsigned int noreclaim;
	vm_fault_t ret;

	mmap_assert_locked(vma->vm_mm);

	if (!resident_fault_allowed(vma))
		return VM_FAULT_RETRY;

	noreclaim = memalloc_nowait_save();
	ret = handle_mm_fault(vma, address, flags, NULL);
	memalloc_nowait_restore(noreclaim);
	return ret;
}

/*
 * Fault in [vdso] and the like. On all architectures, their ->fault() finds a
 * page of the kernel's own.
 */
static vm_fault_t resident_special_fault(struct vm_fault *vmf)
{
	vm_fault_t ret = vmf->vma->vm_ops->fault(vmf);

	if (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE | VM_FAULT_LOCKED))
		return ret;
	if (trylock_page(vmf->page))
		return ret | VM_FAULT_LOCKED;
	put_page(vmf->page);
	return VM_FAULT_RETRY;
}

/*
 * The same test as in filemap_fault(): truncation first makes the file shorter,
 * then removes the pages.
 */
static bool resident_beyond_end(struct vm_area_struct *vma, pgoff_t pgoff)
{
	loff_t size = i_size_read(vma->vm_file->f_mapping->host);

	return pgoff >= DIV_ROUND_UP(size, PAGE_SIZE);
}

/* May this locked folio be mapped? */
static vm_fault_t resident_check_folio(struct folio *folio, struct vm_fault *vmf)
{
	if (folio->mapping != vmf->vma->vm_file->f_mapping ||
	    !folio_contains(folio, vmf->pgoff) || !folio_test_uptodate(folio))
		return VM_FAULT_RETRY;
	if (resident_beyond_end(vmf->vma, vmf->pgoff))
		return VM_FAULT_SIGBUS;
	/*
	 * __do_fault() would unmap it everywhere, and wait for locks to do so.
	 */
	if (PageHWPoison(folio_file_page(folio, vmf->pgoff)))
		return VM_FAULT_HWPOISON;
	return 0;
}

/**
 * resident_file_fault - replace ->fault(), using the page cache alone
 * @vmf: the fault, with FAULT_FLAG_RESIDENT
 *
 * A file system with filemap_map_pages() as ->map_pages() allows others to map
 * pages of the page cache without asking it. The folio lock is enough to map
 * such a page: to remove a page from the page cache, one must lock it first,
 * and then unmap it.
 *
 * Context: Process context, mmap_lock held for reading.
 * Return: VM_FAULT_LOCKED, with the page in vmf->page, locked and with a
 * reference; VM_FAULT_RETRY if the page is not there, not read yet, or locked,
 * or if userfaultfd must be told of it; VM_FAULT_SIGBUS beyond the end of the
 * file; VM_FAULT_HWPOISON for a broken page. For a special mapping, what its
 * ->fault() returns, or VM_FAULT_RETRY if its page is locked.
 */
vm_fault_t resident_file_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct folio *folio;
	vm_fault_t ret;

	if (vma_is_special_mapping(vma, vma->vm_private_data))
		return resident_special_fault(vmf);

	if (!resident_page_cache(vma) || userfaultfd_minor(vma))
		return VM_FAULT_RETRY;

	folio = filemap_get_folio(vma->vm_file->f_mapping, vmf->pgoff);
	if (!folio)
		return VM_FAULT_RETRY;
	ret = VM_FAULT_RETRY;
	if (!folio_trylock(folio))
		goto put;
	ret = resident_check_folio(folio, vmf);
	if (ret)
		goto unlock;
	vmf->page = folio_file_page(folio, vmf->pgoff);
	return VM_FAULT_LOCKED;

unlock:
	folio_unlock(folio);
put:
	folio_put(folio);
	return ret;
}

static struct page *resident_zeros(unsigned long address)
{
	struct page *page = ZERO_PAGE(address);

	get_page(page);
	return page;
}

/* Like resident_special_fault(), but return the page unlocked. */
static struct page *resident_special_page(struct vm_area_struct *vma, unsigned long address)
{
	struct vm_fault vmf = {
		.vma = vma,
		.address = address,
		.real_address = address,
		.flags = FAULT_FLAG_RESIDENT | FAULT_FLAG_REMOTE,
		.pgoff = linear_page_index(vma, address),
	};
	vm_fault_t ret = vma->vm_ops->fault(&vmf);

	if (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE | VM_FAULT_RETRY))
		return NULL;
	if (ret & VM_FAULT_LOCKED)
		unlock_page(vmf.page);
	return vmf.page;
}

/*
 * Copying from a page of the page cache needs no lock: filemap_read() takes
 * none either. The page is tested for being up to date before the size of the
 * file is read. So a truncation that changes the page later is no older than
 * the copy. A task that removes the page from the page cache meanwhile does not
 * change its contents.
 */
static struct page *resident_folio_page(struct folio *folio, struct vm_area_struct *vma,
					pgoff_t pgoff)
{
	struct page *page = folio_file_page(folio, pgoff);

	if (folio_test_uptodate(folio) && !resident_beyond_end(vma, pgoff) && !PageHWPoison(page))
		return page;
	folio_put(folio);
	return NULL;
}

static struct page *resident_file_page(struct vm_area_struct *vma, unsigned long address)
{
	struct address_space *mapping = vma->vm_file->f_mapping;
	pgoff_t pgoff = linear_page_index(vma, address);
	struct folio *folio = __filemap_get_folio(mapping, pgoff, FGP_ENTRY, 0);

	/* In shmem the page is swapped out; elsewhere it was evicted. */
	if (xa_is_value(folio))
		return NULL;
	if (folio)
		return resident_folio_page(folio, vma, pgoff);

	/*
	 * In shmem no entry means a hole: a page that is swapped out leaves an
	 * entry for its place on the swap device.
	 */
	if (!shmem_mapping(mapping) || userfaultfd_missing(vma) || resident_beyond_end(vma, pgoff))
		return NULL;
	return resident_zeros(address);
}

/* Find what a read fault would find where the page table is empty. */
static struct page *resident_unmapped_page(struct vm_area_struct *vma, unsigned long address)
{
	if (vma_is_anonymous(vma))
		return userfaultfd_missing(vma) ? NULL : resident_zeros(address);
	if (vma_is_special_mapping(vma, vma->vm_private_data))
		return resident_special_page(vma, address);
	if (!resident_page_cache(vma) || userfaultfd_minor(vma))
		return NULL;
	return resident_file_page(vma, address);
}

/*
 * The caller holds the page table lock, and this page table holds one reference
 * of the swap entry. So nobody can reuse the entry for another page, and
 * swapoff() cannot finish. The page at this place in the swap cache is the one
 * that was swapped out.
 */
static struct page *resident_swap_page(swp_entry_t entry)
{
	struct folio *folio = filemap_get_folio(swap_address_space(entry), swp_offset(entry));
	struct page *page;

	if (!folio)
		return NULL;
	page = folio_file_page(folio, swp_offset(entry));
	if (folio_test_uptodate(folio) && !PageHWPoison(page))
		return page;
	folio_put(folio);
	return NULL;
}

/* The entry, or the whole page table, is empty here. */
static struct page *resident_absent_page(struct vm_area_struct *vma, unsigned long address)
{
	/*
	 * The OOM reaper may have emptied it, which sets this flag first. What
	 * was there is lost, not zero.
	 */
	if (test_bit(MMF_UNSTABLE, &vma->vm_mm->flags))
		return NULL;
	return resident_unmapped_page(vma, address);
}

static struct page *resident_pte_page(struct vm_area_struct *vma, unsigned long address, pte_t pte)
{
	swp_entry_t entry;

	if (pte_none(pte))
		return resident_absent_page(vma, address);
	if (pte_present(pte))
		return ERR_PTR(-EAGAIN);

	entry = pte_to_swp_entry(pte);
	/*
	 * A marker of write protection, without a page, does not affect
	 * reading.
	 */
	if (pte_marker_entry_uffd_wp(entry) && !vma_is_anonymous(vma))
		return resident_absent_page(vma, address);
	return non_swap_entry(entry) ? NULL : resident_swap_page(entry);
}

static struct page *resident_table_page(struct vm_area_struct *vma, unsigned long address,
					pmd_t *pmd)
{
	spinlock_t *ptl = pte_lockptr(vma->vm_mm, pmd);
	pte_t *pte = pte_offset_map(pmd, address);
	struct page *page;

	spin_lock(ptl);
	page = resident_pte_page(vma, address, *pte);
	pte_unmap_unlock(pte, ptl);
	return page;
}

/**
 * resident_page - find the page that a read fault would map, and map nothing
 * @vma: VMA that covers @address; the caller has checked its flags and its own
 *	rights
 * @address: user address, at the start of a page
 *
 * Memory that nobody has touched is the zero page. Takes spinlocks, and no
 * other locks.
 *
 * Context: mmap_lock of the VMA's mm is held for reading. Does not sleep,
 * except with PREEMPT_RT.
 * Return: The page, with a reference, to be read from. NULL: a read fault would
 * have to wait, or would fail. -EAGAIN: the page table has the page, or may
 * have it by now: follow_page() finds it.
 */
struct page *resident_page(struct vm_area_struct *vma, unsigned long address)
{
	pmd_t *pmd;

	if (!resident_vma(vma))
		return NULL;

	pmd = mm_find_pmd(vma->vm_mm, address);
	if (!pmd || pmd_none(pmd_read_atomic(pmd))) {
		/*
		 * No lock orders this: read the pmd before the flag of the OOM
		 * reaper and before the page cache. Pairs with the full barrier
		 * in the atomic exchange that clears a huge pmd.
		 */
		smp_rmb();
		return resident_absent_page(vma, address);
	}
	if (pmd_trans_unstable(pmd))
		return ERR_PTR(-EAGAIN);
	return resident_table_page(vma, address, pmd);
}
