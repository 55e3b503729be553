/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MAPLE_LEAF_TAP_H
#define _MAPLE_LEAF_TAP_H

void tap_start(const char *number, unsigned int plan);
unsigned long tap_begin(const char *name);
void tap_end(void);
void tap_must_meet(const char *what, unsigned long number);
void differ(unsigned long index, const char *what, unsigned long expected, unsigned long found);

#endif
