/* SPDX-License-Identifier: GPL-2.0 */
/* Not by -I: the kernel's other headers are not for user space. */
#include MAPLE_LEAF_H
