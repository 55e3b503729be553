/* SPDX-License-Identifier: GPL-2.0 */
/* What tools/include lacks of it. */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#ifndef data_race
/* No detector of races looks on. */
#define data_race(expr) (expr)
#endif

#endif
