// SPDX-License-Identifier: GPL-2.0
/* lib/maple_tree.c of this kernel. */
#include "writer.h"

#include <linux/gfp.h>
#include <linux/types.h>
#include <linux/rcupdate.h>
#include <stdlib.h>
#include "linux/init.h"

#define module_init(x)
#define module_exit(x)
#define MODULE_AUTHOR(x)
#define MODULE_LICENSE(x)
#define dump_stack()	abort()
#ifndef fallthrough
#define fallthrough	__attribute__((__fallthrough__))
#endif

#include "lib/maple_tree.c"

/* Initialize; call it before everything else. */
void tree_start(void)
{
	maple_tree_init();
}
