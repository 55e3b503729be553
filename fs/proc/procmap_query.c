// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_QUERY: one VMA of an address space, as a struct.
 *
 * A query runs in steps: fetch and check the arguments, find and lock the VMA,
 * copy its properties, unlock it, copy the answer out. No step holds a lock
 * that the next step does not need.
 *
 * A locked VMA keeps its file open, so the query takes no reference to the
 * file. Under this lock it formats the path, and reads the build ID if the page
 * cache has it. Preemption is disabled meanwhile (except with PREEMPT_RT),
 * because a writer may wait for the lock. Only a build ID that must be read
 * from disk needs a reference, and only on file systems that no ordinary user
 * serves. So closing the file waits for none.
 *
 * The descriptor holds mm_count, not mm_users. So a query never has to tear the
 * address space down; see <linux/mm_visit.h>.
 */
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_visit.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vma_base.h>
#include <linux/vma_search.h>
#include "internal.h"

/* Most paths are shorter. Longer ones cost an allocation and a second look. */
#define PROCMAP_NAME_SHORT	256

/* The same properties as bits of a query and as bits of a VMA. */
static const struct {
	u64 query;
	unsigned long vm;
} procmap_query_bits[] = {
	{ PROCMAP_QUERY_VMA_READABLE,	VM_READ },
	{ PROCMAP_QUERY_VMA_WRITABLE,	VM_WRITE },
	{ PROCMAP_QUERY_VMA_EXECUTABLE,	VM_EXEC },
	{ PROCMAP_QUERY_VMA_SHARED,	VM_MAYSHARE },
};

#define PROCMAP_QUERY_FLAGS						\
	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |	\
	 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED |	\
	 PROCMAP_QUERY_COVERING_OR_NEXT_VMA | PROCMAP_QUERY_FILE_BACKED_VMA)

static_assert(sizeof(struct procmap_query) == PROCMAP_QUERY_SIZE_VER0);
static_assert(offsetofend(struct procmap_query, query_addr) == PROCMAP_QUERY_SIZE_MIN);

/**
 * struct procmap_extras - the parts of an answer that are not plain fields
 * @file: the file, with a reference, if its build ID must be read from disk;
 *	else NULL
 * @name: the name, once it is known; else NULL
 * @name_len: bytes of the name that were written, with the NUL
 * @build_id_len: bytes of the build ID; 0 while it is not known
 * @build_id: the build ID
 * @name_room: size of @name_buf in bytes
 * @name_buf: buffer to format the name: @short_name, or memory for a longer
 *	name
 * @short_name: memory for most names
 */
struct procmap_extras {
	struct file *file;
	const char *name;
	u32 name_len;
	u32 build_id_len;
	unsigned char build_id[BUILD_ID_SIZE_MAX];
	size_t name_room;
	char *name_buf;
	char short_name[PROCMAP_NAME_SHORT];
};

/*
 * Fetch a struct of the usual size, and only the input fields. This costs half
 * as much as copy_struct_from_user(). -EAGAIN leaves everything else to the
 * general way: another size, and a struct that cannot be read.
 */
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

static int procmap_query_fetch(struct procmap_query *q, const struct procmap_query __user *uq)
{
	u64 size;
	int err;

	if (likely(!procmap_query_fetch_fast(q, uq)))
		return 0;
	if (get_user(size, &uq->size))
		return -EFAULT;
	if (size < PROCMAP_QUERY_SIZE_MIN)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(q, sizeof(*q), uq, size);
	/* Another thread may have changed it since. Keep the checked size. */
	q->size = size;
	return err;
}

/*
 * Write all answers or none. The struct lies in two pages at most. So write the
 * first and the last word first, with the values that they already have: a
 * fault comes before any value changes.
 */
static int procmap_query_store_fast(const struct procmap_query *q,
				    const struct procmap_extras *extras,
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
	unsafe_put_user(extras->name_len, &uq->vma_name_size, fault);
	unsafe_put_user(extras->build_id_len, &uq->build_id_size, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

static int procmap_query_store(struct procmap_query *q, const struct procmap_extras *extras,
			       struct procmap_query __user *uq)
{
	u8 __user *last = (u8 __user *)uq + q->size - 1;
	u8 byte;

	if (likely(q->size >= sizeof(*q)))
		return procmap_query_store_fast(q, extras, uq);

	q->vma_name_size = extras->name_len;
	q->build_id_size = extras->build_id_len;
	if (put_user(q->size, &uq->size) || get_user(byte, last) || put_user(byte, last) ||
	    copy_to_user(uq, q, q->size))
		return -EFAULT;
	return 0;
}

static int procmap_query_check(const struct procmap_query *q)
{
	if (q->query_flags & ~(u64)PROCMAP_QUERY_FLAGS)
		return -EINVAL;
	if (!q->vma_name_size != !q->vma_name_addr)
		return -EINVAL;
	if (!q->build_id_size != !q->build_id_addr)
		return -EINVAL;
	return 0;
}

static unsigned long procmap_query_to_vm_flags(u64 query_flags)
{
	unsigned long vm_flags = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(procmap_query_bits); i++)
		if (query_flags & procmap_query_bits[i].query)
			vm_flags |= procmap_query_bits[i].vm;
	return vm_flags;
}

static u64 procmap_query_from_vm_flags(unsigned long vm_flags)
{
	u64 query_flags = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(procmap_query_bits); i++)
		if (vm_flags & procmap_query_bits[i].vm)
			query_flags |= procmap_query_bits[i].query;
	return query_flags;
}

/*
 * Format the path of the file, as seen from the caller's root. Use no more room
 * than the caller's buffer has, so that a path that is too long for it fails
 * here. -ENAMETOOLONG: the path does not fit.
 */
static int procmap_query_path(const struct procmap_query *q, struct procmap_extras *extras,
			      struct file *file)
{
	char *path = d_path(vma_file_path(file), extras->name_buf,
			    min_t(size_t, extras->name_room, q->vma_name_size));

	if (IS_ERR(path))
		return PTR_ERR(path);
	extras->name = path;
	return 0;
}

/**
 * procmap_copy_name() - copy the name of a VMA that does not show a path
 * @vma: the VMA, without a file or with a name that the process has given
 * @buf: where to copy it
 * @room: size of @buf in bytes. Such a name has no more than 256 of them
 *
 * The source of the name may go away as soon as the VMA is unlocked.
 *
 * Context: @vma locked, by mmap_lock or by its own lock. Does not sleep.
 * Return: @buf, or NULL if the VMA has no name.
 */
const char *procmap_copy_name(struct vm_area_struct *vma, char *buf, size_t room)
{
	const struct anon_vma_name *given = vma_given_name(vma);
	const char *name = vma->vm_file ? NULL : proc_vma_fixed_name(vma);

	if (name)
		strscpy(buf, name, room);
	else if (given)
		snprintf(buf, room, vma->vm_file ? "[anon_shmem:%s]" : "[anon:%s]", given->name);
	else
		return NULL;
	return buf;
}

/*
 * Read the build ID from the page cache. If that is not possible, take a
 * reference, to read the file after the VMA is unlocked.
 */
static void procmap_query_build_id(struct procmap_extras *extras, struct file *file)
{
	unsigned int size;
	int err = build_id_read_cached(file, extras->build_id, &size);

	if (!err)
		extras->build_id_len = size;
	else if (err == -EAGAIN)
		extras->file = get_file(file);
}

static int procmap_query_snapshot_file(struct procmap_query *q, struct procmap_extras *extras,
				       struct vm_area_struct *vma)
{
	struct file *file = vma->vm_file;
	const struct inode *inode = vma_file_inode(file);
	int err;

	q->vma_offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	q->inode = inode->i_ino;
	q->dev_major = MAJOR(inode->i_sb->s_dev);
	q->dev_minor = MINOR(inode->i_sb->s_dev);
	if (q->vma_name_size && vma_given_name(vma)) {
		extras->name = procmap_copy_name(vma, extras->name_buf, extras->name_room);
	} else if (q->vma_name_size) {
		err = procmap_query_path(q, extras, file);
		if (err)
			return err;
	}
	if (q->build_id_size)
		procmap_query_build_id(extras, file);
	return 0;
}

/*
 * Copy the properties of a locked VMA. Nothing here may sleep or allocate.
 * -ENAMETOOLONG: the buffer is too small for the path.
 */
static int procmap_query_snapshot(struct procmap_query *q, struct procmap_extras *extras,
				  struct vm_area_struct *vma)
{
	q->vma_start = vma->vm_start;
	q->vma_end = vma->vm_end;
	q->vma_flags = procmap_query_from_vm_flags(vma->vm_flags);
	q->vma_page_size = vma_kernel_pagesize(vma);
	if (vma->vm_file)
		return procmap_query_snapshot_file(q, extras, vma);

	q->vma_offset = 0;
	q->inode = 0;
	q->dev_major = 0;
	q->dev_minor = 0;
	if (q->vma_name_size)
		extras->name = procmap_copy_name(vma, extras->name_buf, extras->name_room);
	return 0;
}

/*
 * Allocate a larger buffer for the name. No path that a program can open is
 * longer than PATH_MAX. -ENAMETOOLONG: more room would not help; -ENOMEM: no
 * memory.
 */
static int procmap_query_more_room(const struct procmap_query *q, struct procmap_extras *extras)
{
	if (extras->name_room == PATH_MAX || q->vma_name_size <= extras->name_room)
		return -ENAMETOOLONG;
	extras->name_buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	extras->name_room = PATH_MAX;
	return extras->name_buf ? 0 : -ENOMEM;
}

/* Find the next VMA that matches, and take a snapshot of it. */
static int procmap_query_look(struct vma_search *search, struct procmap_query *q,
			      struct procmap_extras *extras)
{
	struct vm_area_struct *vma = vma_search_next(search);
	int err;

	if (IS_ERR_OR_NULL(vma))
		return vma ? PTR_ERR(vma) : -ENOENT;
	err = procmap_query_snapshot(q, extras, vma);
	vma_search_end(search);
	return err;
}

static int procmap_query_look_up(struct mm_struct *mm, struct procmap_query *q,
				 struct procmap_extras *extras)
{
	struct vma_search search;
	int err;

	if (!mm)
		return -ESRCH;
	/* On a 32-bit kernel no VMA can be at such an address. */
	if (q->query_addr > ULONG_MAX)
		return mm_visit_over(mm) ? -ESRCH : -ENOENT;

	vma_search_begin(&search, mm, q->query_addr);
	search.flags = procmap_query_to_vm_flags(q->query_flags);
	search.file_only = q->query_flags & PROCMAP_QUERY_FILE_BACKED_VMA;
	search.covering = !(q->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA);
	for (;;) {
		err = procmap_query_look(&search, q, extras);
		if (likely(err != -ENAMETOOLONG))
			return err;
		err = procmap_query_more_room(q, extras);
		if (err)
			return err;
		/* The search has passed over everything before this VMA. */
		search.addr = max_t(unsigned long, q->query_addr, q->vma_start);
	}
}

static int procmap_query_put_name(const struct procmap_query *q, struct procmap_extras *extras)
{
	size_t len;

	if (!extras->name)
		return 0;
	len = strlen(extras->name) + 1;
	if (len > q->vma_name_size)
		return -ENAMETOOLONG;
	if (copy_to_user(u64_to_user_ptr(q->vma_name_addr), extras->name, len))
		return -EFAULT;
	extras->name_len = len;
	return 0;
}

/* Read the build ID from disk. Drops the reference to the file. */
static int procmap_query_read_build_id(struct procmap_extras *extras)
{
	unsigned int size;
	int err = build_id_read_file(extras->file, extras->build_id, &size);

	fput(extras->file);
	if (!err)
		extras->build_id_len = size;
	return err == -EINTR ? err : 0;
}

static int procmap_query_put_build_id(const struct procmap_query *q, struct procmap_extras *extras)
{
	if (extras->build_id_len > q->build_id_size)
		return -ENAMETOOLONG;
	if (copy_to_user(u64_to_user_ptr(q->build_id_addr), extras->build_id, extras->build_id_len))
		return -EFAULT;
	return 0;
}

/*
 * Copy the answer out, the struct last. The caller's memory may fault, so
 * nothing of the target may be held any more.
 */
static int procmap_query_answer(struct procmap_query *q, struct procmap_extras *extras,
				struct procmap_query __user *uq)
{
	int err = 0;

	if (extras->file)
		err = procmap_query_read_build_id(extras);
	if (!err && q->vma_name_size)
		err = procmap_query_put_name(q, extras);
	if (!err && extras->build_id_len)
		err = procmap_query_put_build_id(q, extras);
	return err ?: procmap_query_store(q, extras, uq);
}

static int procmap_query(struct mm_struct *mm, struct procmap_query __user *uq)
{
	struct procmap_extras extras;
	struct procmap_query q;
	int err;

	err = procmap_query_fetch(&q, uq);
	if (err)
		return err;
	err = procmap_query_check(&q);
	if (err)
		return err;

	extras.file = NULL;
	extras.name = NULL;
	extras.name_len = 0;
	extras.build_id_len = 0;
	extras.name_buf = extras.short_name;
	extras.name_room = sizeof(extras.short_name);
	err = procmap_query_look_up(mm, &q, &extras);
	if (!err)
		err = procmap_query_answer(&q, &extras, uq);
	if (unlikely(extras.name_buf != extras.short_name))
		kfree(extras.name_buf);
	return err;
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
 *      - the address space is gone (its processes have exited or called execve(2))
 *      - procmap_errors_test: errors.esrch_process_gone; procmap_fd_test: fd.opened_before_exec
 *    * - ESRCH
 *      - there was none when the file was opened (a kernel thread, a process that has exited)
 *      - procmap_perm_test: perm.kernel_thread_has_no_address_space,
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
 *      - ``size`` is larger than a page
 *      - procmap_errors_test: errors.e2big_size_above_page_size
 *    * - E2BIG
 *      - the struct is larger than the kernel knows, and not zero in what it does not know
 *      - procmap_sizes_test: sizes.longer_with_other_tail_is_e2big_and_unchanged
 *    * - ENAMETOOLONG
 *      - the name does not fit its buffer
 *      - procmap_errors_test: errors.enametoolong_name_one_short
 *    * - ENAMETOOLONG
 *      - the name has more than ``PATH_MAX`` bytes, with its NUL
 *      - procmap_names_test: deep.a_path_longer_than_path_max_is_too_long_for_every_buffer,
 *        deep.the_longest_path_fits_exactly_and_in_no_buffer_one_short
 *    * - ENAMETOOLONG
 *      - the build ID does not fit its buffer
 *      - procmap_errors_test: errors.enametoolong_build_id_one_short
 *    * - EFAULT
 *      - the struct cannot be read or written
 *      - procmap_errors_test: errors.efault_argument_unmapped, errors.efault_argument_read_only
 *    * - EFAULT
 *      - the name or the build ID cannot be written to its buffer
 *      - procmap_errors_test: errors.efault_name_buffer_read_only,
 *        errors.efault_build_id_buffer_read_only
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
 * procmap_query_ioctl() - ioctl() on /proc/<pid>/maps
 * @file: the open file, whose address space was authorised when it was opened
 * @cmd: PROCMAP_QUERY
 * @arg: user pointer to a struct procmap_query
 *
 * Context: process context, no locks held. Sleeps, killable.
 * Return: 0, or an errno of the table above.
 */
long procmap_query_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct seq_file *seq = file->private_data;
	struct proc_maps_private *priv = seq->private;

	if (cmd != PROCMAP_QUERY)
		return -ENOTTY;
	return procmap_query(priv->mm, (struct procmap_query __user *)arg);
}
