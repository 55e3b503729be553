/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of mm.c need of the kernel.
 *
 * The test harness of the kernel tree has most of what lib/maple_tree.c
 * needs. This file adds the rest. The Makefile writes a header that includes
 * this one for each name in its list.
 */
#ifndef _SHIM_KERNEL_H
#define _SHIM_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <linux/types.h>
#include <linux/compiler.h>
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <urcu/uatomic.h>

#include "access.h"

#define CONFIG_VMA_SEARCH	1
#define CONFIG_ANON_VMA_NAME	1

#ifndef offsetofend
#define sizeof_field(type, ...) sizeof(((type *)0)->__VA_ARGS__)
#define offsetofend(type, ...) (offsetof(type, __VA_ARGS__) + sizeof_field(type, __VA_ARGS__))
#endif
#define memset_after(obj, v, member) ({					\
	__auto_type __o = (obj);					\
	unsigned long __from = offsetofend(typeof(*__o), member);	\
									\
	memset((char *)__o + __from, v, sizeof(*__o) - __from);		\
})

/* A warning is an error. */
void shim_warn(const char *what);
#define SHIM_WARN(cond, what) ({ bool __w = (cond); if (__w) shim_warn(what); __w; })
#ifdef CONFIG_DEBUG_VM
#define VM_WARN_ON_ONCE(cond)		SHIM_WARN(cond, #cond)
#define VM_WARN_ONCE(cond, what...)	SHIM_WARN(cond, #cond)
#else
#define VM_WARN_ON_ONCE(cond)		((void)sizeof(cond))
#define VM_WARN_ONCE(cond, what...)	((void)sizeof(cond))
#endif
#undef WARN_ONCE
#define WARN_ONCE(cond, what...)	SHIM_WARN(cond, #cond)

/* No lockdep here: the debug kernel has it. */
#define lockdep_is_held(lock)			1
#define lockdep_assert_held_write(lock)		do {} while (0)
#define mmap_assert_write_locked(mm)		do {} while (0)
#define lock_map_acquire(map)			do {} while (0)
#define lock_map_release(map)			do {} while (0)
#define rwsem_acquire_read(map, sub, try, ip)	do {} while (0)
#define rwsem_release(map, ip)			do {} while (0)
#define might_sleep()				do {} while (0)
#define __might_sleep(file, line)		do {} while (0)

/* Nobody is preempted in the middle of something, or killed. */
#undef preempt_disable
#undef preempt_enable
#define preempt_disable()		do {} while (0)
#define preempt_enable()		do {} while (0)
#define need_resched()			false
#define irqs_disabled()			false
#define fatal_signal_pending(task)	((void)(task), false)
#define current				NULL
#define HZ				250
#define cond_resched()			shim_yield()
#define cpu_relax()			shim_yield()
#define schedule_timeout_killable(nap)	((void)(nap), shim_nap())
#define jiffies				shim_jiffies()
void shim_yield(void);
void shim_nap(void);
unsigned long shim_jiffies(void);
unsigned long shim_starving(void);

/* A writer sleeps until the condition holds, and somebody has woken it. */
void shim_prepare_to_wait(const void *var);
void shim_schedule(void);
void shim_finish_wait(void);
void wake_up_var(const void *var);
unsigned long shim_writer_sleeps(void);
#define wait_var_event(var, cond) do {		\
	shim_prepare_to_wait(var);		\
	while (!(cond))				\
		shim_schedule();		\
	shim_finish_wait();			\
} while (0)

/* In place of mm/vma_wake.c. */
extern struct wait_queue_head {
	char unused;
} vma_hold_writers;
#define wait_event(queue, cond)		wait_var_event(&(queue), cond)

enum vm_event { VMA_SEARCH, VMA_SEARCH_RETRY, VMA_SEARCH_SLEEP, NR_VM_EVENTS };
extern unsigned long vm_events[NR_VM_EVENTS];
#define count_vm_event(event)	((void)uatomic_add(&vm_events[event], 1))

unsigned long get_random_long(void);

#define PAGE_SHIFT	12
#define VM_READ		0x00000001UL
#define VM_WRITE	0x00000002UL
#define VM_EXEC		0x00000004UL
#define VM_SHARED	0x00000008UL
#define VM_HUGETLB	0x00400000UL

struct super_block {
	dev_t s_dev;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	u32 i_generation;
	unsigned int i_nlink;
	struct super_block *i_sb;
};

/* Its dentry is its inode. */
struct path {
	struct inode *dentry;
};

#define d_inode(dentry)	(dentry)

struct anon_vma_name;

/* A bit of f_mode: the file is another one's. The inode here is the same. */
#define FMODE_BACKING	0x2000000U
#define FMODE_NOACCOUNT	FMODE_BACKING

struct file {
	struct inode *f_inode;
	unsigned int f_mode;
	struct path f_path;
	long count;
	struct inode inode;
	struct rcu_head rcu;
};

static inline struct inode *file_inode(const struct file *file)
{
	return file->f_inode;
}

#define file_user_inode(file)	file_inode(file)
#define file_user_path(file)	(&(file)->f_path)

#include <linux/maple_tree.h>
#include <linux/seqlock.h>
#include <linux/vma_lock_types.h>

struct mm_struct {
	struct maple_tree mm_mt;
	atomic_t mm_users;
	unsigned long vma_seq;
	struct vma_changes vma_changes;
	unsigned long brk, start_brk, start_stack;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	atomic_long_t vm_hold;
	unsigned long vm_pgoff;
	struct file *vm_file;
	struct anon_vma_name *anon_name;
	const void *vm_ops;
#ifdef CONFIG_DEBUG_VM
	unsigned long vm_hold_hash;
	unsigned long vm_hold_noted;
#endif
	/* For the pool of the test. */
	struct vm_area_struct *next_free;
};

#define dump_vma(vma)	do {} while (0)

/* Only searches without per-VMA locks use these. */
static inline void mmap_read_unlock(struct mm_struct *mm)
{
}

#endif
