/* SPDX-License-Identifier: GPL-2.0 */
/* RCU of the machine: a grace period ends as early as it may. */
#ifndef _SHIM_RCUPDATE_H
#define _SHIM_RCUPDATE_H

#include "access.h"

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
	u64 start;
	unsigned int waits;
};

void rcu_read_lock(void);
void rcu_read_unlock(void);
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));

/* What depends on the pointer is not read before the pointer. */
#define rcu_dereference(p)			smp_load_acquire(&(p))
#define rcu_dereference_raw(p)			rcu_dereference(p)
#define rcu_dereference_protected(p, cond)	rcu_dereference(p)
#define rcu_dereference_check(p, cond)		rcu_dereference(p)
/* What the pointer leads to is seen before the pointer. */
#define rcu_assign_pointer(p, v)		smp_store_release(&(p), v)
#define RCU_INIT_POINTER(p, v)			WRITE_ONCE(p, v)

#endif
