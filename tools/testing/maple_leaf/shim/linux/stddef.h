/* SPDX-License-Identifier: GPL-2.0 */
/* Add what the header in tools/include lacks. */
#ifndef _SHIM_LINUX_STDDEF_H
#define _SHIM_LINUX_STDDEF_H

#include_next <linux/stddef.h>
#include <stddef.h>

#ifndef offsetofend
#define sizeof_field(type, ...) sizeof(((type *)0)->__VA_ARGS__)
#define offsetofend(type, ...) (offsetof(type, __VA_ARGS__) + sizeof_field(type, __VA_ARGS__))
#endif

#endif
