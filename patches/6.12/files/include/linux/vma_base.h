/* SPDX-License-Identifier: GPL-2.0 */
/* What kernels differ in: the name, the path and the inode that a VMA shows. */
#ifndef _LINUX_VMA_BASE_H
#define _LINUX_VMA_BASE_H

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/mm_types.h>

#ifdef CONFIG_ANON_VMA_NAME

/* @vma is locked. A VMA of shmem may have a file and a name. */
static inline const struct anon_vma_name *vma_given_name(const struct vm_area_struct *vma)
{
	return vma->anon_name;
}

/* @vma is not locked: the caller confirms the result. */
static inline bool vma_seems_named(const struct vm_area_struct *vma, const struct file *file)
{
	/* A writer may be changing it. */
	return data_race(READ_ONCE(vma->anon_name));
}

#else /* !CONFIG_ANON_VMA_NAME */

static inline const struct anon_vma_name *vma_given_name(const struct vm_area_struct *vma)
{
	return NULL;
}

static inline bool vma_seems_named(const struct vm_area_struct *vma, const struct file *file)
{
	return false;
}

#endif /* CONFIG_ANON_VMA_NAME */

/* The path and the inode that the maps output shows for a mapped file. */
static inline const struct path *vma_file_path(const struct file *file)
{
	return file_user_path((struct file *)file);
}

static inline const struct inode *vma_file_inode(const struct file *file)
{
	return file_user_inode(file);
}

/* Has the path another inode than file->f_inode? */
static inline bool vma_file_is_backing(const struct file *file)
{
	/* The file may be another one by now. */
	return data_race(READ_ONCE(file->f_mode)) & FMODE_BACKING;
}

#endif /* _LINUX_VMA_BASE_H */
