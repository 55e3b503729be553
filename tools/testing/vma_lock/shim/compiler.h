/* SPDX-License-Identifier: GPL-2.0 */
/* Replaces a part of the header in tools/include. */
#ifndef _SHIM_COMPILER_H
#define _SHIM_COMPILER_H

#undef data_race
#if defined(__SANITIZE_THREAD__) && !defined(VMA_STEPS)
void tsan_reads_off(const char *file, int line) __asm__("AnnotateIgnoreReadsBegin");
void tsan_reads_on(const char *file, int line) __asm__("AnnotateIgnoreReadsEnd");
void tsan_writes_off(const char *file, int line) __asm__("AnnotateIgnoreWritesBegin");
void tsan_writes_on(const char *file, int line) __asm__("AnnotateIgnoreWritesEnd");
/* ThreadSanitizer looks away. */
#define data_race(expr) ({			\
	tsan_reads_off(__FILE__, __LINE__);	\
	tsan_writes_off(__FILE__, __LINE__);	\
	__auto_type __v = (expr);		\
	tsan_writes_on(__FILE__, __LINE__);	\
	tsan_reads_on(__FILE__, __LINE__);	\
	__v;					\
})
#else
/* Nobody looks. */
#define data_race(expr)	(expr)
#endif

#include "access.h"

#endif
