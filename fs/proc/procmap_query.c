// SPDX-License-Identifier: GPL-2.0
/* PROCMAP_QUERY: one VMA of an address space. Its file stays open while it is locked. */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/uaccess.h>
#include <linux/vma_base.h>
#include <linux/vma_search.h>
#include "internal.h"
#include "procmap.h"
#include "procmap_flags.h"

#define PROCMAP_QUERY_FLAGS						\
	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |	\
	 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED |	\
	 PROCMAP_QUERY_COVERING_OR_NEXT_VMA | PROCMAP_QUERY_FILE_BACKED_VMA)

static_assert(sizeof(struct procmap_query) == PROCMAP_QUERY_SIZE_VER0);
static_assert(offsetofend(struct procmap_query, query_addr) == PROCMAP_QUERY_SIZE_MIN);

struct procmap_answer {
	struct procmap_name name;
	struct procmap_build_id build_id;	/* its size is 0 while it is not known */
	struct file *file;	/* a reference, if it must be read from disk; or NULL */
	char space[PROCMAP_NAME_SHORT];
};

/**
 * procmap_fetch() - fetch a struct that begins with its size
 * @to: out: the struct, with zeroes for what the caller does not know
 * @known: its size in the kernel
 * @from: the caller's
 * @min: the smallest size that is accepted
 *
 * Return: 0; -EINVAL, -E2BIG: the size is wrong, or the excess bytes are not zero;
 * -EFAULT: it cannot be read.
 */
int procmap_fetch(void *to, size_t known, const void __user *from, size_t min)
{
	u64 size;
	int err;

	if (get_user(size, (const u64 __user *)from))
		return -EFAULT;
	if (size < min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(to, known, from, size);
	/* Another thread may have changed it since. Keep the checked size. */
	*(u64 *)to = size;
	return err;
}

/* Fetch only the input fields, at half the cost. -EAGAIN leaves all else to procmap_fetch(). */
static int procmap_query_fetch_fast(struct procmap_query *q, const struct procmap_query __user *uq)
{
	/* Some 32-bit architectures cannot read a u64 in this way. */
	if (!IS_ENABLED(CONFIG_64BIT) || !user_read_access_begin(uq, sizeof(*q)))
		return -EAGAIN;
	unsafe_get_user(q->size, &uq->size, fault);
	if (q->size != sizeof(*q))
		goto fault;
	unsafe_get_user(q->query_flags, &uq->query_flags, fault);
	unsafe_get_user(q->query_addr, &uq->query_addr, fault);
	unsafe_get_user(q->vma_name_size, &uq->vma_name_size, fault);
	unsafe_get_user(q->build_id_size, &uq->build_id_size, fault);
	unsafe_get_user(q->vma_name_addr, &uq->vma_name_addr, fault);
	unsafe_get_user(q->build_id_addr, &uq->build_id_addr, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EAGAIN;
}

/*
 * Write all answers or none. The struct lies in two pages at most: write its ends first,
 * unchanged, so that a fault comes before any value changes.
 */
static int procmap_query_store_fast(const struct procmap_query *q,
				    const struct procmap_answer *answer,
				    struct procmap_query __user *uq)
{
	if (!user_write_access_begin(uq, sizeof(*q)))
		return -EFAULT;
	unsafe_put_user(q->size, &uq->size, fault);
	unsafe_put_user(q->build_id_addr, &uq->build_id_addr, fault);
	unsafe_put_user(q->vma_start, &uq->vma_start, fault);
	unsafe_put_user(q->vma_end, &uq->vma_end, fault);
	unsafe_put_user(q->vma_flags, &uq->vma_flags, fault);
	unsafe_put_user(q->vma_page_size, &uq->vma_page_size, fault);
	unsafe_put_user(q->vma_offset, &uq->vma_offset, fault);
	unsafe_put_user(q->inode, &uq->inode, fault);
	unsafe_put_user(q->dev_major, &uq->dev_major, fault);
	unsafe_put_user(q->dev_minor, &uq->dev_minor, fault);
	unsafe_put_user(answer->name.len, &uq->vma_name_size, fault);
	unsafe_put_user(answer->build_id.size, &uq->build_id_size, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

static int procmap_query_store(struct procmap_query *q, const struct procmap_answer *answer,
			       struct procmap_query __user *uq)
{
	u8 __user *last = (u8 __user *)uq + q->size - 1;
	u8 byte;

	if (likely(q->size >= sizeof(*q)))
		return procmap_query_store_fast(q, answer, uq);

	q->vma_name_size = answer->name.len;
	q->build_id_size = answer->build_id.size;
	if (put_user(q->size, &uq->size) || get_user(byte, last) || put_user(byte, last) ||
	    copy_to_user(uq, q, q->size))
		return -EFAULT;
	return 0;
}

static int procmap_query_check(const struct procmap_query *q)
{
	if (q->query_flags & ~(u64)PROCMAP_QUERY_FLAGS ||
	    !q->vma_name_size != !q->vma_name_addr || !q->build_id_size != !q->build_id_addr)
		return -EINVAL;
	return 0;
}

static void procmap_query_snapshot_file(struct procmap_query *q, const struct vm_area_struct *vma)
{
	const struct inode *inode;

	if (!vma->vm_file) {
		q->vma_offset = 0;
		q->inode = 0;
		q->dev_major = 0;
		q->dev_minor = 0;
		return;
	}
	inode = vma_file_inode(vma->vm_file);
	q->vma_offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	q->inode = inode->i_ino;
	q->dev_major = MAJOR(inode->i_sb->s_dev);
	q->dev_minor = MINOR(inode->i_sb->s_dev);
}

/* Nothing here may sleep or allocate. */
static int procmap_query_snapshot(struct procmap_query *q, struct procmap_answer *answer,
				  struct vm_area_struct *vma)
{
	int err;

	q->vma_start = vma->vm_start;
	q->vma_end = vma->vm_end;
	q->vma_flags = procmap_flags_from_vm(vma->vm_flags);
	q->vma_page_size = vma_kernel_pagesize(vma);
	procmap_query_snapshot_file(q, vma);
	if (q->vma_name_size) {
		err = procmap_name_copy(&answer->name, vma, q->vma_name_size);
		if (err)
			return err;
	}
	if (q->build_id_size && vma->vm_file)
		procmap_build_id_find(&answer->build_id, vma->vm_file, &answer->file);
	return 0;
}

static int procmap_query_look_up(struct mm_struct *mm, struct procmap_query *q,
				 struct procmap_answer *answer)
{
	struct vm_area_struct *vma;
	struct vma_search search;
	int err;

	if (!mm)
		return -ESRCH;
	/* On a 32-bit kernel no VMA can be at such an address. */
	if (q->query_addr > ULONG_MAX)
		return mm_ref_exited(mm) ? -ESRCH : -ENOENT;

	vma_search_begin(&search, mm, q->query_addr);
	search.flags = procmap_flags_to_vm(q->query_flags);
	search.file_only = q->query_flags & PROCMAP_QUERY_FILE_BACKED_VMA;
	search.covering = !(q->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA);
	for (;;) {
		vma = vma_search_next(&search);
		if (IS_ERR_OR_NULL(vma))
			return vma ? PTR_ERR(vma) : -ENOENT;
		err = procmap_query_snapshot(q, answer, vma);
		vma_search_end(&search);
		if (likely(err != -ENAMETOOLONG))
			return err;
		err = procmap_name_grow(&answer->name, q->vma_name_size);
		if (err)
			return err;
		/* The search has passed over everything before this VMA. */
		search.addr = max_t(unsigned long, q->query_addr, q->vma_start);
	}
}

/* Nothing is written unless both build ID and name fit. */
static int procmap_query_copy_build_id_out(const struct procmap_query *q,
					   const struct procmap_answer *answer)
{
	const struct procmap_build_id *id = &answer->build_id;

	if (id->size > q->build_id_size || answer->name.len > q->vma_name_size)
		return -ENAMETOOLONG;
	return copy_to_user(u64_to_user_ptr(q->build_id_addr), id->bytes, id->size) ? -EFAULT : 0;
}

/* Copy the answer out, the struct last. Nothing of the target is held. */
static int procmap_query_answer(struct procmap_query *q, struct procmap_answer *answer,
				struct procmap_query __user *uq)
{
	int err = 0;

	if (answer->file && procmap_build_id_read(&answer->build_id, &answer->file) == -EINTR)
		return -EINTR;
	if (answer->build_id.size)
		err = procmap_query_copy_build_id_out(q, answer);
	if (!err && answer->name.len)
		err = procmap_name_copy_out(&answer->name, u64_to_user_ptr(q->vma_name_addr),
					    q->vma_name_size);
	return err ?: procmap_query_store(q, answer, uq);
}

/**
 * DOC: errno of PROCMAP_QUERY
 *
 * .. list-table::
 *    :header-rows: 1
 *    :widths: 14 44 42
 *
 *    * - errno
 *      - when
 *      - tested by
 *    * - ENOENT
 *      - no mapping matches
 *      - procmap_errors_test: errors.enoent_hole, errors.enoent_filter,
 *        errors.enoent_nothing_above
 *    * - ESRCH
 *      - the address space is gone (its processes have exited or called execve(2)), or there was
 *        none when the file was opened (a kernel thread, a process that has exited)
 *      - procmap_errors_test: errors.esrch_process_gone; procmap_fd_test: fd.opened_before_exec;
 *        procmap_perm_test: perm.kernel_thread_has_no_address_space,
 *        perm.zombie_has_no_address_space
 *    * - EINVAL
 *      - ``size`` is below 24
 *      - procmap_errors_test: errors.einval_size_too_small
 *    * - EINVAL
 *      - ``query_flags`` has an unknown bit
 *      - procmap_errors_test: errors.einval_unknown_flag
 *    * - EINVAL
 *      - a buffer has a size and no address, or the reverse
 *      - procmap_errors_test: errors.einval_name_size_without_address,
 *        errors.einval_name_address_without_size, errors.einval_build_id_size_without_address,
 *        errors.einval_build_id_address_without_size
 *    * - E2BIG
 *      - ``size`` is larger than a page, or than the kernel's with excess bytes that are not zero
 *      - procmap_errors_test: errors.e2big_size_above_page_size; procmap_sizes_test:
 *        sizes.longer_with_other_tail_is_e2big_and_unchanged
 *    * - ENAMETOOLONG
 *      - the name does not fit its buffer, or ``PATH_MAX`` bytes, with its NUL
 *      - procmap_errors_test: errors.enametoolong_name_one_short; procmap_names_test:
 *        deep.a_path_longer_than_path_max_is_too_long_for_every_buffer,
 *        deep.the_longest_path_fits_exactly_and_in_no_buffer_one_short
 *    * - ENAMETOOLONG
 *      - the build ID does not fit its buffer
 *      - procmap_errors_test: errors.enametoolong_build_id_one_short,
 *        errors.enametoolong_before_efault
 *    * - EFAULT
 *      - the struct cannot be read or written, or the name or build ID cannot be written
 *      - procmap_errors_test: errors.efault_argument_unmapped, errors.efault_argument_read_only,
 *        errors.efault_name_buffer_read_only, errors.efault_build_id_buffer_read_only
 *    * - ENOMEM
 *      - there is no memory for a name of more than 256 bytes
 *      - procmap_faults_test: faults.query_path.right_error_and_nothing_left_behind
 *    * - EINTR
 *      - the caller was killed while it waited (for a disk, for a writer)
 *      - procmap_buildid_disk_test: disk.a_query_that_is_killed_is_EINTR; procmap_holes_test:
 *        holes.a_query_that_is_killed_beside_a_writer_is_EINTR
 *    * - ENOTTY
 *      - the kernel does not know this operation, or not on this file
 *      - procmap_errors_test: errors.enotty_unknown_command, errors.enotty_other_files
 */

/**
 * procmap_query() - PROCMAP_QUERY
 * @mm: the address space, its mm_count held; NULL: none
 * @uq: the caller's struct
 *
 * Context: process context, no locks held. Sleeps, killable.
 * Return: 0, or an errno of the table above.
 */
int procmap_query(struct mm_struct *mm, struct procmap_query __user *uq)
{
	struct procmap_answer answer;
	struct procmap_query q;
	int err = procmap_query_fetch_fast(&q, uq);

	if (unlikely(err))
		err = procmap_fetch(&q, sizeof(q), uq, PROCMAP_QUERY_SIZE_MIN);
	if (!err)
		err = procmap_query_check(&q);
	if (err)
		return err;

	answer.name.buf = answer.space;
	answer.name.size = sizeof(answer.space);
	answer.name.len = 0;
	answer.build_id.size = 0;
	answer.file = NULL;
	err = procmap_query_look_up(mm, &q, &answer);
	if (!err)
		err = procmap_query_answer(&q, &answer, uq);
	procmap_name_free(&answer.name);
	return err;
}
