/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VMA_LOCK_REPORT_H
#define _VMA_LOCK_REPORT_H

#include <linux/types.h>

#ifdef __SANITIZE_THREAD__
const char *__tsan_default_suppressions(void);
#endif
void report_start(const char *number, unsigned int plan);
void report_begin(const char *name);
u64 report_round(unsigned long round);
void report_end(void);
void report_must_meet(const char *what, unsigned long number);
double report_clock(void);

#endif
