/* SPDX-License-Identifier: GPL-2.0 */
/* The compiler inserts calls of these before memory accesses. */
#ifndef _VMA_LOCK_TSAN_H
#define _VMA_LOCK_TSAN_H

void tsan_read1(void *at) __asm__("__tsan_read1");
void tsan_unaligned_read1(void *at) __asm__("__tsan_unaligned_read1");
void tsan_write1(void *at) __asm__("__tsan_write1");
void tsan_unaligned_write1(void *at) __asm__("__tsan_unaligned_write1");
void tsan_read2(void *at) __asm__("__tsan_read2");
void tsan_unaligned_read2(void *at) __asm__("__tsan_unaligned_read2");
void tsan_write2(void *at) __asm__("__tsan_write2");
void tsan_unaligned_write2(void *at) __asm__("__tsan_unaligned_write2");
void tsan_read4(void *at) __asm__("__tsan_read4");
void tsan_unaligned_read4(void *at) __asm__("__tsan_unaligned_read4");
void tsan_write4(void *at) __asm__("__tsan_write4");
void tsan_unaligned_write4(void *at) __asm__("__tsan_unaligned_write4");
void tsan_read8(void *at) __asm__("__tsan_read8");
void tsan_unaligned_read8(void *at) __asm__("__tsan_unaligned_read8");
void tsan_write8(void *at) __asm__("__tsan_write8");
void tsan_unaligned_write8(void *at) __asm__("__tsan_unaligned_write8");
void tsan_read16(void *at) __asm__("__tsan_read16");
void tsan_unaligned_read16(void *at) __asm__("__tsan_unaligned_read16");
void tsan_write16(void *at) __asm__("__tsan_write16");
void tsan_unaligned_write16(void *at) __asm__("__tsan_unaligned_write16");
void tsan_read_range(void *at, unsigned long size) __asm__("__tsan_read_range");
void tsan_write_range(void *at, unsigned long size) __asm__("__tsan_write_range");
void tsan_init(void *unused) __asm__("__tsan_init");
void tsan_func_entry(void *call) __asm__("__tsan_func_entry");
void tsan_func_exit(void *unused) __asm__("__tsan_func_exit");

#endif
