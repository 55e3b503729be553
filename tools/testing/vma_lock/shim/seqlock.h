/* SPDX-License-Identifier: GPL-2.0 */
/* The part of the kernel's sequence counters that the lock uses. */
#ifndef _SHIM_SEQLOCK_H
#define _SHIM_SEQLOCK_H

#include "access.h"

struct seqcount {
	unsigned int sequence;
};

#define seqcount_t	struct seqcount

static inline void seqcount_init(seqcount_t *s)
{
	s->sequence = 0;
}

/* Stores after this are seen after the odd number. */
static inline void raw_write_seqcount_begin(seqcount_t *s)
{
	WRITE_ONCE(s->sequence, s->sequence + 1);
	smp_wmb(); /* see above */
}

/* Stores before this are seen before the even number. */
static inline void raw_write_seqcount_end(seqcount_t *s)
{
	smp_wmb(); /* see above */
	WRITE_ONCE(s->sequence, s->sequence + 1);
}

static inline unsigned int raw_read_seqcount(const seqcount_t *s)
{
	unsigned int sequence = READ_ONCE(s->sequence);

	smp_rmb(); /* what is read later */
	return sequence;
}

static inline int read_seqcount_retry(const seqcount_t *s, unsigned int start)
{
	smp_rmb(); /* what was read before */
	return READ_ONCE(s->sequence) != start;
}

#endif
