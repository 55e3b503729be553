// SPDX-License-Identifier: GPL-2.0
/*
 * Find what is in memory, without waiting: maps, allocates, charges and starts nothing, and
 * takes no lock whose holder may sleep.
 */
#include <linux/filemap_cached.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>

#include "internal.h"
#include "resident.h"

/* May a page of the page cache be used without asking the file system? */
static bool resident_page_cache(struct vm_area_struct *vma)
{
	struct address_space *mapping;

	if (!vma->vm_file)
		return false;
	/* filemap_map_pages() maps cached pages without asking. */
	if (vma->vm_ops->map_pages == filemap_map_pages)
		return true;

	/*
	 * Others do more. Accept file systems on a block device: XFS only takes a lock against
	 * reading freed blocks, and nothing is read from disk here. Refuse others, as network file
	 * systems: AFS has to ask its server whether the page is valid.
	 */
	mapping = vma->vm_file->f_mapping;
	if (vma->vm_ops->map_pages && mapping->host->i_sb->s_bdev)
		return true;

	/* The ->fault() of SysV shm calls that of shmem; it has no ->map_pages(). */
	return shmem_mapping(mapping);
}

/* As in filemap_fault(): truncation shrinks the file, then removes the pages. */
static bool resident_beyond_end(struct vm_area_struct *vma, pgoff_t pgoff)
{
	loff_t size;

	/* Read the page cache before the size. */
	smp_rmb();
	size = i_size_read(vma->vm_file->f_mapping->host);
	return pgoff >= DIV_ROUND_UP(size, PAGE_SIZE);
}

static struct page *resident_zeros(unsigned long address)
{
	struct page *page = ZERO_PAGE(address);

	get_page(page);
	return page;
}

/* [vdso] and the like: ->fault() does not sleep. [vvar] has VM_PFNMAP: the caller refuses it. */
static struct page *resident_special_page(struct vm_area_struct *vma, unsigned long address)
{
	struct vm_fault vmf = {
		.vma = vma,
		.address = address,
		.real_address = address,
		.flags = FAULT_FLAG_REMOTE,
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
 * Copying needs no lock, as in filemap_read(): the size of the file is read after the flag,
 * so a truncation that began before is seen, and one that begins later is concurrent with the
 * copying. A page that is removed from the page cache keeps its contents.
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
	struct folio *folio = filemap_cached_entry(mapping, pgoff);

	/* Swapped out in shmem; evicted elsewhere. */
	if (xa_is_value(folio))
		return NULL;
	if (folio)
		return resident_folio_page(folio, vma, pgoff);

	/* A hole of shmem: a page that is swapped out leaves an entry. */
	if (!shmem_mapping(mapping) || userfaultfd_missing(vma) || resident_beyond_end(vma, pgoff))
		return NULL;
	return resident_zeros(address);
}

static struct page *resident_absent_page(struct vm_area_struct *vma, unsigned long address)
{
	/* The OOM reaper sets this before it empties page tables: what was there is lost. */
	if (test_bit(MMF_UNSTABLE, &vma->vm_mm->flags))
		return NULL;
	if (vma_is_anonymous(vma))
		return userfaultfd_missing(vma) ? NULL : resident_zeros(address);
	/* True for any special mapping: vm_private_data is compared with itself. */
	if (vma_is_special_mapping(vma, vma->vm_private_data))
		return resident_special_page(vma, address);
	if (!resident_page_cache(vma) || userfaultfd_minor(vma))
		return NULL;
	return resident_file_page(vma, address);
}

/*
 * The page table is locked and refers to the swap entry: the entry is not reused, nor does
 * swapoff() finish. So what the swap cache has for it is the page that was swapped out.
 */
static struct page *resident_swap_page(swp_entry_t entry)
{
	struct folio *folio = resident_swap_folio(entry);
	struct page *page;

	if (!folio)
		return NULL;
	page = folio_file_page(folio, swp_offset(entry));
	if (folio_test_uptodate(folio) && !PageHWPoison(page))
		return page;
	folio_put(folio);
	return NULL;
}

static struct page *resident_pte_page(struct vm_area_struct *vma, unsigned long address, pte_t pte)
{
	swp_entry_t entry;

	if (pte_none(pte))
		return resident_absent_page(vma, address);
	if (pte_present(pte))
		return ERR_PTR(-EAGAIN);

	entry = pte_to_swp_entry(pte);
	/* A marker of write protection, without a page, does not affect reading. */
	if (pte_marker_entry_uffd_wp(entry))
		return resident_absent_page(vma, address);
	return non_swap_entry(entry) ? NULL : resident_swap_page(entry);
}

/*
 * A huge pmd that is cleared for a moment is set again under the same lock. If the OOM reaper
 * has cleared it, whoever has had this lock also sees MMF_UNSTABLE.
 */
static bool resident_pmd_none(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *ptl = pmd_lock(mm, pmd);
	bool none = pmd_none(*pmd);

	spin_unlock(ptl);
	return none;
}

/**
 * resident_page - find the page that a read fault would map, and map nothing
 * @vma: VMA that covers @address, not of hugetlbfs; the caller has checked its
 *	flags and its own rights
 * @address: user address, at the start of a page
 *
 * Context: mmap_lock held for reading. Takes only spinlocks.
 * Return: The page, with a reference, to be read from: the zero page if it was
 * never touched. NULL: a read fault would have to wait, or would fail. -EAGAIN: the
 * page table has the page, or may have it by now: resident_mapped_page() finds it.
 */
struct page *resident_page(struct vm_area_struct *vma, unsigned long address)
{
	struct page *page;
	spinlock_t *ptl;	/* of the page table */
	pmd_t *pmd;
	pte_t *pte;

	/*
	 * DAX has no page cache. With VM_MIXEDMAP a driver may map what is not in the page
	 * cache, even for a shmem file, or has no struct page.
	 */
	if (vma_is_dax(vma) || vma->vm_flags & VM_MIXEDMAP)
		return NULL;

	pmd = mm_find_pmd(vma->vm_mm, address);
	if (!pmd || resident_pmd_none(vma->vm_mm, pmd))
		return resident_absent_page(vma, address);
	if (!resident_lock_table(vma, address, pmd, &pte, &ptl))
		return ERR_PTR(-EAGAIN);
	page = resident_pte_page(vma, address, ptep_get(pte));
	pte_unmap_unlock(pte, ptl);
	return page;
}
