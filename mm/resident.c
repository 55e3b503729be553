// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults that never wait.
 *
 * FOLL_NOWAIT and FAULT_FLAG_RETRY_NOWAIT keep a fault from waiting for the IO that it started.
 * They do not keep it from starting some: readahead, which waits for a free request of a stalled
 * file system; nor from the locks of file systems, swap-in, or reclaim. A resident fault starts
 * nothing. It maps in what is in memory: pages of the page cache and of the swap cache that nobody
 * has locked, new anonymous pages if there is free memory, copies on write of all these. For the
 * rest it returns VM_FAULT_RETRY, with mmap_lock held throughout.
 *
 * What could wait is kept out in one of three ways:
 *
 * - by the VMA, which cannot change under mmap_lock: resident_fault_allowed();
 * - by FAULT_FLAG_RESIDENT, at the place that would wait, since page tables change under mmap_lock:
 *   what was a resident page a moment ago may be swapped out when the fault looks;
 * - by memalloc_nowait_save(), for all allocations.
 */
#include <linux/hugetlb.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/userfaultfd_k.h>

#include "resident.h"

/* May a page of the page cache be mapped without ->fault(), under the folio lock alone? */
static bool resident_page_cache(struct vm_area_struct *vma)
{
	struct address_space *mapping;

	if (!vma->vm_file || vma_is_dax(vma))
		return false;
	if (vma->vm_ops->map_pages == filemap_map_pages)
		return true;

	/*
	 * SysV shared memory has a ->fault() that calls that of shmem. XFS takes a lock, so that
	 * nothing is read from blocks that are freed; nothing is read here. AFS asks the server.
	 */
	mapping = vma->vm_file->f_mapping;
	return shmem_mapping(mapping) || mapping->host->i_sb->s_magic == XFS_SUPER_MAGIC;
}

/* ->page_mkwrite() waits for writeback, space, a thaw: shared memory has none of these. */
static bool resident_shared_write(struct vm_area_struct *vma)
{
	return vma->vm_file && shmem_mapping(vma->vm_file->f_mapping);
}

static bool resident_fault_allowed(struct vm_area_struct *vma, unsigned int flags)
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
	if (vma->vm_flags & VM_MIXEDMAP)
		return false;

	if (!(flags & FAULT_FLAG_WRITE))
		return true;

	if ((vma->vm_flags & VM_SHARED) && !resident_shared_write(vma))
		return false;

	/* Who mirrors the page tables may wait for a device before they are changed */
	return !mm_has_notifiers(vma->vm_mm);
}

/**
 * resident_fault - handle a page fault from what is in memory
 * @vma: VMA that covers @address; its flags and the caller's rights were checked
 * @address: user address
 * @flags: FAULT_FLAG_WRITE, FAULT_FLAG_REMOTE or both
 *
 * Never waits for IO, a page lock, writeback, userfaultfd, reclaim or a lock of a file system.
 * Spinlocks are taken.
 *
 * Context: Process context. mmap_lock of the VMA's mm is held for reading, also on return.
 * Return: 0 or VM_FAULT_* bits without an error: look at the page table again, somebody may have
 * raced. VM_FAULT_RETRY: the page is not there without waiting. VM_FAULT_ERROR bits: as of
 * handle_mm_fault(); VM_FAULT_OOM where no memory is free.
 */
vm_fault_t resident_fault(struct vm_area_struct *vma, unsigned long address, unsigned int flags)
{
	unsigned int noreclaim;
	vm_fault_t ret;

	mmap_assert_locked(vma->vm_mm);

	if (!resident_fault_allowed(vma, flags))
		return VM_FAULT_RETRY;

	flags |= FAULT_FLAG_RESIDENT | FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT;
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

/* As in filemap_fault(): truncation makes the file shorter, then locks what it takes out. */
static bool resident_beyond_end(struct vm_fault *vmf)
{
	loff_t size = i_size_read(vmf->vma->vm_file->f_mapping->host);

	return vmf->pgoff >= DIV_ROUND_UP(size, PAGE_SIZE);
}

/* May this folio, which is locked, be mapped? */
static vm_fault_t resident_check_folio(struct folio *folio, struct vm_fault *vmf)
{
	if (folio->mapping != vmf->vma->vm_file->f_mapping ||
	    !folio_contains(folio, vmf->pgoff) || !folio_test_uptodate(folio))
		return VM_FAULT_RETRY;
	if (resident_beyond_end(vmf))
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
