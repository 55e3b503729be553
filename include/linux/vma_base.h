/* SPDX-License-Identifier: GPL-2.0 */
/* What kernels differ in: the name, the path and the inode that a VMA shows. */
#ifndef _LINUX_VMA_BASE_H
#define _LINUX_VMA_BASE_H

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/kconfig.h>
#include <linux/mm_types.h>

/* @vma is locked. On this kernel a process can only name VMAs without a file. */
static inline const struct anon_vma_name *vma_given_name(const struct vm_area_struct *vma)
{
	return IS_ENABLED(CONFIG_ANON_VMA_NAME) && !vma->vm_file ? vma->anon_name : NULL;
}

/* @vma is not locked: the caller confirms the result. */
static inline bool vma_seems_named(const struct vm_area_struct *vma, const struct file *file)
{
	/* A writer may be changing it. */
	return IS_ENABLED(CONFIG_ANON_VMA_NAME) && !file && data_race(READ_ONCE(vma->anon_name));
}

/* The path and the inode that the maps output shows for a mapped file. */
static inline const struct path *vma_file_path(const struct file *file)
{
	return &file->f_path;
}

static inline const struct inode *vma_file_inode(const struct file *file)
{
	return file_inode(file);
}

/*
 * Has the path another inode than file->f_inode? Only overlayfs maps such files: with its own path,
 * and the inode of a file system below.
 */
static inline bool vma_file_is_backing(const struct file *file)
{
	/* posix_fadvise() may be changing another bit. */
	return data_race(READ_ONCE(file->f_mode)) & FMODE_NOACCOUNT;
}

#endif /* _LINUX_VMA_BASE_H */
