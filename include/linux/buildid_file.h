/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BUILDID_FILE_H
#define _LINUX_BUILDID_FILE_H

struct file;

int build_id_read_cached(struct file *file, unsigned char *build_id, unsigned int *size);
int build_id_read_file(struct file *file, unsigned char *build_id, unsigned int *size);

#endif /* _LINUX_BUILDID_FILE_H */
