// SPDX-License-Identifier: GPL-2.0
/* The files of the kernel that are tested. */
#include "shim/kernel.h"

#include "mm/vma_lock.c"
#ifdef CONFIG_DEBUG_VM
#include "mm/vma_lock_debug.c"
#endif
#include "mm/vma_lookup.c"
#include "mm/vma_search.c"
#include "mm/vma_props.c"
