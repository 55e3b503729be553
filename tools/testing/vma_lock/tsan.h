/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VMA_LOCK_TSAN_H
#define _VMA_LOCK_TSAN_H

/* Define a function that the compiler calls before it accesses memory. */
#define TSAN_ACCESS(name, access, size)		\
void __tsan_##name(void *at)			\
{						\
	access(at, size);			\
}

#endif
