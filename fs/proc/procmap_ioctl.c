// SPDX-License-Identifier: GPL-2.0
/* ioctl() on /proc/<pid>/maps. */
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/seq_file.h>
#include "internal.h"

/**
 * procmap_ioctl() - ioctl() on /proc/<pid>/maps
 * @file: the open file, whose address space was authorised when it was opened
 * @cmd: PROCMAP_QUERY, or PROCMAP_SCAN with a struct of any size
 * @arg: user pointer to the struct of the operation
 *
 * Context: process context, no locks held. Sleeps, killable.
 * Return: 0, or an errno of the table of the operation. -ENOTTY: another @cmd.
 */
long procmap_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct seq_file *seq = file->private_data;
	struct proc_maps_private *priv = seq->private;

	if (cmd == PROCMAP_QUERY)
		return procmap_query(priv->mm, (struct procmap_query __user *)arg);
	/* The struct tells its size: a program may have been built with a larger one. */
	if ((cmd & ~IOCSIZE_MASK) == (PROCMAP_SCAN & ~IOCSIZE_MASK))
		return procmap_scan(priv->mm, (struct procmap_scan __user *)arg);
	return -ENOTTY;
}
