/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine that does one step of one context at a time, with a memory as weak
 * as the rules of the kernel allow.
 */
#ifndef _VMA_LOCK_MACHINE_H
#define _VMA_LOCK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#define CONTEXTS	3	/* a writer and two readers */

/**
 * struct machine_stats - what happened
 * @steps: memory accesses, and calls of shim_yield()
 * @switches: from one context to another
 * @stale: reads of a value that another context had replaced already
 * @delayed: writes that others saw later than a write that came after them
 * @sleeps: waits for a wake-up
 * @graces: grace periods of RCU
 */
struct machine_stats {
	unsigned long steps;
	unsigned long switches;
	unsigned long stale;
	unsigned long delayed;
	unsigned long sleeps;
	unsigned long graces;
};

extern struct machine_stats machine_stats;

void machine_run(u64 seed, void (*writer)(void), void (*reader)(void));
void machine_step(void);
unsigned int machine_context(void);
bool machine_is_stack(uintptr_t address);

void memory_reset(u64 seed);
void memory_flush(unsigned int context);
void memory_drift(unsigned int context);
u64 memory_now(void);
void memory_not_before(unsigned int context, u64 time);

#endif
