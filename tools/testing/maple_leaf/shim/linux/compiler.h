/* SPDX-License-Identifier: GPL-2.0 */
/* Add what the header in tools/include lacks. */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#ifndef data_race
/* No race detector uses this. */
#define data_race(expr) (expr)
#endif

#endif
