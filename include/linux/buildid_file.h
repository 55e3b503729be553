/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BUILDID_FILE_H
#define _LINUX_BUILDID_FILE_H

#include <linux/types.h>

struct file;

bool build_id_file_allowed(const struct file *file);
int build_id_read_atomic(struct file *file, unsigned char *build_id, unsigned int *size);
int build_id_read_cached(struct file *file, unsigned char *build_id, unsigned int *size);
int build_id_read_file(struct file *file, unsigned char *build_id, unsigned int *size);

#endif /* _LINUX_BUILDID_FILE_H */
