/* SPDX-License-Identifier: GPL-2.0 */
/* What the views of an address space in /proc/<pid>/maps take from a VMA that they hold. */
#ifndef _PROC_PROCMAP_H
#define _PROC_PROCMAP_H

#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/vma_base.h>
#include "../mount.h"

/* Most paths are shorter, and so are all names that are no paths. */
#define PROCMAP_NAME_SHORT	256

struct procmap_name {
	char *buf;	/* the caller's own, or memory of PATH_MAX bytes */
	size_t size;
	const char *str;	/* the name, if there is one */
	size_t len;	/* of the name with its NUL; 0: none */
};

const char *procmap_vma_name(struct vm_area_struct *vma, char *buf, size_t size);
int procmap_name_grow(struct procmap_name *name, size_t limit);

/**
 * procmap_name_copy() - copy the name of a held VMA
 * @name: the space; out: the name
 * @vma: the VMA
 * @limit: how many bytes the caller takes
 *
 * Context: as procmap_vma_name().
 * Return: 0; -ENAMETOOLONG: it does not fit, see procmap_name_grow().
 */
static inline int procmap_name_copy(struct procmap_name *name, struct vm_area_struct *vma,
				    size_t limit)
{
	const size_t size = min(name->size, limit);
	const char *str = procmap_vma_name(vma, name->buf, size);

	if (IS_ERR(str))
		return PTR_ERR(str);
	name->str = str;
	if (!str)
		name->len = 0;
	else if (str == name->buf)
		name->len = strlen(str) + 1;
	else
		name->len = name->buf + size - str;
	return 0;
}

/**
 * procmap_name_copy_out() - copy a name to user memory
 * @name: the name
 * @to: where to
 * @limit: how many bytes there may be
 *
 * Context: process context. Handles page faults.
 * Return: 0; -ENAMETOOLONG: it is longer; -EFAULT: it cannot be written.
 */
static inline int procmap_name_copy_out(const struct procmap_name *name, void __user *to,
					size_t limit)
{
	if (name->len > limit)
		return -ENAMETOOLONG;
	return copy_to_user(to, name->str, name->len) ? -EFAULT : 0;
}

/* Free what procmap_name_grow() has allocated. */
static inline void procmap_name_free(struct procmap_name *name)
{
	if (unlikely(name->size == PATH_MAX))
		kfree(name->buf);
}

struct procmap_build_id {
	u32 size;
	unsigned char bytes[BUILD_ID_SIZE_MAX];
};

/*
 * Dropping the last reference to a file can end the mount that it was opened by, and mounts on
 * it. It may then wait for ever, for the server of a user's file system.
 */
static inline bool procmap_mount_is_of_user(const struct file *file)
{
	const struct mnt_namespace *ns;
	bool ret;

	/* A mount leaves its namespace under this lock, before that is freed. */
	read_seqlock_excl(&mount_lock);
	ns = real_mount(vma_file_path(file)->mnt)->mnt_ns;
	/* NULL: it is unmounted, and nobody knows whose it was. */
	ret = ns != MNT_NS_INTERNAL && (!ns || ns->user_ns != &init_user_ns);
	read_sequnlock_excl(&mount_lock);
	return ret;
}

/**
 * procmap_build_id_find() - read the build ID of a held VMA from the page cache
 * @id: out: the build ID; unchanged if there is none, or none is known
 * @file: the file of the VMA
 * @later: where to store @file, with a reference, if its build ID must be read from disk; a
 *	NULL pointer: never take a reference
 *
 * Return: true if @id is final, or will be once @later was read; false if the build ID
 * stays unknown.
 */
static inline bool procmap_build_id_find(struct procmap_build_id *id, struct file *file,
					 struct file **later)
{
	int err = build_id_read_cached(file, id->bytes, &id->size);

	if (err != -EAGAIN || !later || procmap_mount_is_of_user(file))
		return !err || err == -ENODATA;
	*later = get_file(file);
	return true;
}

/**
 * procmap_build_id_read() - read a build ID from disk
 * @id: out: the build ID; unchanged if there is none, or none is known
 * @later: the file; the reference is dropped
 *
 * Return: 0; -EIO: it stays unknown whether there is one; -EINTR: killed.
 */
static inline int procmap_build_id_read(struct procmap_build_id *id, struct file **later)
{
	int err = build_id_read_file(*later, id->bytes, &id->size);

	fput(*later);
	*later = NULL;
	return err == -ENODATA ? 0 : err;
}

#endif /* _PROC_PROCMAP_H */
