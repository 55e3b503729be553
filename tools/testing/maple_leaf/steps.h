/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_STEPS_H
#define _MAPLE_LEAF_STEPS_H

#include <linux/types.h>

/* Compiler-generated code calls these. */
void steps_access(void);
u64 __tsan_atomic64_load(const u64 *address, int order);

#endif
