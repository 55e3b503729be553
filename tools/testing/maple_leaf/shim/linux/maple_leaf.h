/* SPDX-License-Identifier: GPL-2.0 */
/* Included by path: -I would also add the kernel's other headers, which do not suit user space. */
#include MAPLE_LEAF_H
