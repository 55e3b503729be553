// SPDX-License-Identifier: GPL-2.0
/* The name of a VMA, as /proc/<pid>/maps shows it. */
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vma_base.h>
#include "internal.h"
#include "procmap.h"

/**
 * procmap_vma_name() - format the name of a held VMA, a path as from the caller's root
 * @vma: the VMA
 * @buf: where to format it
 * @size: size of @buf
 *
 * Context: @vma locked, by mmap_lock or by its own lock. Does not sleep.
 * Return: the name, somewhere in @buf: a path ends with the buffer, another name
 * begins it. NULL: there is none. -ENAMETOOLONG: it does not fit.
 */
const char *procmap_vma_name(struct vm_area_struct *vma, char *buf, size_t size)
{
	const struct anon_vma_name *given = vma_given_name(vma);
	struct file *file = vma->vm_file;
	const char *fixed;
	ssize_t len;

	/* On some kernels shared memory, which has a file, can have a given name, too. */
	if (file && !given)
		return size ? d_path(vma_file_path(file), buf, size) : ERR_PTR(-ENAMETOOLONG);
	fixed = file ? NULL : proc_vma_fixed_name(vma);
	if (fixed)
		len = strscpy(buf, fixed, size);
	else if (given)
		len = snprintf(buf, size, file ? "[anon_shmem:%s]" : "[anon:%s]", given->name);
	else
		return NULL;
	return len < 0 || len >= size ? ERR_PTR(-ENAMETOOLONG) : buf;
}

/**
 * procmap_name_grow() - get the space for the longest path
 * @name: the space, where a name did not fit
 * @limit: how many bytes the caller takes
 *
 * Context: process context. Allocates.
 * Return: 0; -ENAMETOOLONG: more space would not help; -ENOMEM: no memory; @name->buf is NULL.
 */
int procmap_name_grow(struct procmap_name *name, size_t limit)
{
	if (name->size == PATH_MAX || limit <= name->size)
		return -ENAMETOOLONG;
	name->buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!name->buf)
		return -ENOMEM;
	name->size = PATH_MAX;
	return 0;
}
