// SPDX-License-Identifier: GPL-2.0
/* Pauses before marked accesses: most of them none, some short, few long. */
#include <sched.h>

#include "shim/access.h"
#include "world.h"

/* Wait for a random time. */
void access_pause(void)
{
	static __thread u64 rng;
	unsigned int kind, turns;

	if (!rng)
		rng = (u64)(unsigned long)&rng;
	kind = below(&rng, 4096);
	if (!kind) {
		sched_yield();
	} else if (kind < 64) {
		for (turns = below(&rng, 1 + (kind < 4 ? 20000 : 200)); turns; turns--)
			__asm__ __volatile__("" : : : "memory");
	}
}
