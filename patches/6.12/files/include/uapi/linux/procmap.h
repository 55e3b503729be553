/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PROCMAP_H
#define _UAPI_LINUX_PROCMAP_H

/* PROCMAP_QUERY and struct procmap_query */
#include <linux/fs.h>

/* Sizes of struct procmap_query: the smallest accepted, the first published. */
#define PROCMAP_QUERY_SIZE_MIN	24
#define PROCMAP_QUERY_SIZE_VER0	104

#endif /* _UAPI_LINUX_PROCMAP_H */
