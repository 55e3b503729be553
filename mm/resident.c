// SPDX-License-Identifier: GPL-2.0
/*
 * What is in memory, without waiting.
 *
 * resident_page() finds the page that a read fault would find, without the fault: nothing is
 * mapped, allocated, charged or started, and no lock is taken that somebody sleeps with.
 *
 * A write may need a fault: to copy a page, or to have a first one. FOLL_NOWAIT and
 * FAULT_FLAG_RETRY_NOWAIT keep a fault from waiting for the IO that it started. They do not keep it
 * from starting some: readahead, which waits for a free request of a stalled file system; nor from
 * the locks of file systems, swap-in, or reclaim. A resident fault starts nothing. It maps in what
 * is in memory: pages of the page cache and of the swap cache that nobody has locked, new anonymous
 * pages if there is free memory, copies on write of all these. For the rest it returns
 * VM_FAULT_RETRY, with mmap_lock held throughout.
 *
 * What could wait is kept out of it in one of three ways:
 *
 * - by the VMA, which cannot change under mmap_lock: resident_fault_allowed();
 * - by FAULT_FLAG_RESIDENT, at the place that would wait, since page tables change under mmap_lock:
 *   what was a resident page a moment ago may be swapped out when the fault looks;
 * - by memalloc_nowait_save(), for all allocations.
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

/* Is what is in the page cache what is mapped here, without asking anybody? */
static bool resident_page_cache(struct vm_area_struct *vma)
{
	struct address_space *mapping;

	if (!vma->vm_file)
		return false;
	if (vma->vm_ops->map_pages == filemap_map_pages)
		return true;

	/*
	 * Another ->map_pages() may take a lock, as that of XFS: to read nothing from blocks that
	 * are freed; nothing is read here. Or it asks a server whether the page is still good, as
	 * that of AFS. Where the file system is on a block device, there is no server to ask.
	 */
	mapping = vma->vm_file->f_mapping;
	if (vma->vm_ops->map_pages && mapping->host->i_sb->s_bdev)
		return true;

	/* SysV shared memory has a ->fault() that calls that of shmem, and no ->map_pages(). */
	return shmem_mapping(mapping);
}

/* May what is not in the page tables be elsewhere in memory, and be found there? */
static bool resident_vma(struct vm_area_struct *vma)
{
	/* Under a mutex that others hold while they allocate huge pages */
	if (is_vm_hugetlb_page(vma))
		return false;

	/* The file system is asked for blocks, and takes its locks */
	if (vma_is_dax(vma))
		return false;

	/*
	 * Of a driver, also where its file is one of shmem: what it maps is not what is in the page
	 * cache, and a copy of memory without struct page is made from the caller's address space.
	 */
	return !(vma->vm_flags & VM_MIXEDMAP);
}

/* ->page_mkwrite() waits for writeback, space, a thaw: shared memory has none of these. */
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

	/* Who mirrors the page tables may wait for a device before they are changed */
	return !mm_has_notifiers(vma->vm_mm);
}

/**
 * resident_fault - handle a write fault from what is in memory
 * @vma: VMA that covers @address; its flags and the caller's rights were checked
 * @address: user address
 *
 * Never waits for IO, a page lock, writeback, userfaultfd, reclaim or a lock of a file system.
 * Spinlocks are taken. One small page is cleared or copied at most, never a huge one. Page tables
 * are charged to the active memory cgroup, the page to that of the VMA's mm.
 *
 * Context: Process context. mmap_lock of the VMA's mm is held for reading, also on return.
 * Return: 0 or VM_FAULT_* bits without an error: look at the page table again, somebody may have
 * raced. VM_FAULT_RETRY: the page is not there without waiting. VM_FAULT_ERROR bits: as of
 * handle_mm_fault(); VM_FAULT_OOM where no memory is free.
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

/* [vdso] and the like: ->fault() finds a page of the kernel's own, on all architectures. */
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

/* As in filemap_fault(): truncation makes the file shorter, then takes out the pages. */
static bool resident_beyond_end(struct vm_area_struct *vma, pgoff_t pgoff)
{
	loff_t size = i_size_read(vma->vm_file->f_mapping->host);

	return pgoff >= DIV_ROUND_UP(size, PAGE_SIZE);
}

/* May this folio, which is locked, be mapped? */
static vm_fault_t resident_check_folio(struct folio *folio, struct vm_fault *vmf)
{
	if (folio->mapping != vmf->vma->vm_file->f_mapping ||
	    !folio_contains(folio, vmf->pgoff) || !folio_test_uptodate(folio))
		return VM_FAULT_RETRY;
	if (resident_beyond_end(vmf->vma, vmf->pgoff))
		return VM_FAULT_SIGBUS;
	/* __do_fault() would unmap it everywhere, and wait for others to let it */
	if (PageHWPoison(folio_file_page(folio, vmf->pgoff)))
		return VM_FAULT_HWPOISON;
	return 0;
}

/**
 * resident_file_fault - what ->fault() is for other faults, from the page cache alone
 * @vmf: the fault, with FAULT_FLAG_RESIDENT
 *
 * A file system whose ->map_pages() is filemap_map_pages() lets pages of the page cache be mapped
 * without asking it. Such a page may be mapped under the folio lock alone: whoever takes it out of
 * the page cache locks it first, and unmaps it then.
 *
 * Context: Process context, mmap_lock held for reading.
 * Return: VM_FAULT_LOCKED, and the page in vmf->page, locked and with a reference; VM_FAULT_RETRY
 * where the page is not there, not read yet, locked, or userfaultfd wants to know of it;
 * VM_FAULT_SIGBUS beyond the end of the file; VM_FAULT_HWPOISON for a broken page. For a special
 * mapping, what its ->fault() returns.
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

/* As resident_special_fault(), but the page need not be locked. */
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
 * No lock is needed to copy from a page of the page cache, as filemap_read() does. It was read
 * completely before the file is seen to be so long: what truncation then does to it is no older
 * than the copy. Who takes it out of the page cache meanwhile does not change what is in it.
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

	/* Swapped out, if shared memory; else it is no longer in memory */
	if (xa_is_value(folio))
		return NULL;
	if (folio)
		return resident_folio_page(folio, vma, pgoff);

	/* A hole, since shared memory puts the place on the swap device where the page was. */
	if (!shmem_mapping(mapping) || userfaultfd_missing(vma) || resident_beyond_end(vma, pgoff))
		return NULL;
	return resident_zeros(address);
}

/* What would a read fault find where the page table has nothing? */
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
 * The lock of the page table is held, and one of the uses of the swap entry is that page table's:
 * so the entry cannot be used again for something else, nor can swapoff() end. What is in the swap
 * cache at that place is the page that was swapped out.
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

/* A page table, or a whole part of it, is empty here. */
static struct page *resident_absent_page(struct vm_area_struct *vma, unsigned long address)
{
	/* Emptied by the OOM killer, who has said so before: what was there is lost, not zero */
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
	/* Write protection without a page does not keep anybody from reading */
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
 * @vma: VMA that covers @address; its flags and the caller's rights were checked
 * @address: user address, at the start of a page
 *
 * Memory that nobody has touched is the zero page. Spinlocks are taken, and no others.
 *
 * Context: mmap_lock of the VMA's mm is held for reading. Does not sleep, but with PREEMPT_RT.
 * Return: The page, with a reference, to be read from. NULL: it is not there without waiting.
 * -EAGAIN: the page table has it, or may have it by now: follow_page() finds it.
 */
struct page *resident_page(struct vm_area_struct *vma, unsigned long address)
{
	pmd_t *pmd;

	if (!resident_vma(vma))
		return NULL;

	pmd = mm_find_pmd(vma->vm_mm, address);
	if (!pmd || pmd_none(pmd_read_atomic(pmd))) {
		/* No lock: pairs with the full barrier of who exchanges a huge pmd for nothing */
		smp_rmb();
		return resident_absent_page(vma, address);
	}
	if (pmd_trans_unstable(pmd))
		return ERR_PTR(-EAGAIN);
	return resident_table_page(vma, address, pmd);
}
