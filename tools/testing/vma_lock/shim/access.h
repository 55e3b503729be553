/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marked accesses, atomic operations and barriers.
 *
 * With VMA_STEPS they are calls of the simulated memory in memory.c. Otherwise
 * they are those of the compiler, with a pause before each where VMA_PAUSES asks
 * for it.
 */
#ifndef _SHIM_ACCESS_H
#define _SHIM_ACCESS_H

#include <stdbool.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/types.h>

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_mb
#undef smp_rmb
#undef smp_wmb
#undef smp_load_acquire
#undef smp_store_release

#ifdef VMA_STEPS

enum access_order { ACCESS_ONCE, ACCESS_ORDERED };
enum access_barrier { ACCESS_READS, ACCESS_WRITES, ACCESS_ALL };

u64 access_load(const void *from, unsigned int size, enum access_order order);
void access_store(void *to, unsigned int size, u64 value, enum access_order order);
void access_barrier(enum access_barrier barrier);
/* Begin an operation that reads and writes @word at once. */
void access_modify(void *word, unsigned int size, enum access_order order);

/* Others may see some words of these, and others not yet. */
void *access_fill(void *to, int byte, unsigned long size);
void *access_copy(void *to, const void *from, unsigned long size);
#define memset(to, byte, size)		access_fill(to, byte, size)
#define memcpy(to, from, size)		access_copy(to, from, size)

#define ACCESS_LOAD(x, order) ({						\
	union { typeof(x) value; u64 raw; } __l;				\
										\
	__l.raw = access_load(&(x), sizeof(x), order);				\
	__l.value;								\
})
#define ACCESS_STORE(x, what, order) ({						\
	union { typeof(x) value; u64 raw; } __s = { .raw = 0 };			\
										\
	__s.value = (what);							\
	access_store(&(x), sizeof(x), __s.raw, order);				\
})

#define READ_ONCE(x)			ACCESS_LOAD(x, ACCESS_ONCE)
#define WRITE_ONCE(x, what)		ACCESS_STORE(x, what, ACCESS_ONCE)
/* Later accesses are not done before. */
#define smp_load_acquire(p)		ACCESS_LOAD(*(p), ACCESS_ORDERED)
/* Earlier accesses are seen before. */
#define smp_store_release(p, what)	ACCESS_STORE(*(p), what, ACCESS_ORDERED)
/* A full barrier. */
#define smp_mb()			access_barrier(ACCESS_ALL)
/* For reads. */
#define smp_rmb()			access_barrier(ACCESS_READS)
/* For writes. */
#define smp_wmb()			access_barrier(ACCESS_WRITES)

#else /* !VMA_STEPS */

#ifdef VMA_PAUSES
void access_pause(void);
#else
static inline void access_pause(void)
{
}
#endif

/* The compiler cannot assign to a variable of a const type. */
#define ACCESS_LOAD(x, order) \
	({ access_pause(); (typeof(x))__atomic_load_n(&(x), order); })
#define READ_ONCE(x)			ACCESS_LOAD(x, __ATOMIC_RELAXED)
#define WRITE_ONCE(x, what) \
	({ access_pause(); __atomic_store_n(&(x), what, __ATOMIC_RELAXED); })
/* Later accesses are not done before. */
#define smp_load_acquire(p)		ACCESS_LOAD(*(p), __ATOMIC_ACQUIRE)
/* Earlier accesses are seen before. */
#define smp_store_release(p, what) \
	({ access_pause(); __atomic_store_n(p, what, __ATOMIC_RELEASE); })
/* A full barrier. */
#define smp_mb()			ACCESS_FENCE(__ATOMIC_SEQ_CST)
/* For reads. */
#define smp_rmb()			ACCESS_FENCE(__ATOMIC_ACQUIRE)
/* For writes. */
#define smp_wmb()			ACCESS_FENCE(__ATOMIC_RELEASE)
#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not know fences. */
static inline void access_fence(void)
{
	__asm__ __volatile__("mfence" : : : "memory");
}

#define ACCESS_FENCE(order)		access_fence()
#else
#define ACCESS_FENCE(order)		__atomic_thread_fence(order)
#endif

#define access_modify(word, size, order)	access_pause()

#endif /* VMA_STEPS */

#define ACCESS_MODIFY(v, order)	access_modify(&(v)->counter, sizeof((v)->counter), order)

#undef atomic_read
#undef atomic_set
#undef atomic_inc
#undef atomic_dec_and_test
#define atomic_read(v)			READ_ONCE((v)->counter)
#define atomic_set(v, i)		WRITE_ONCE((v)->counter, i)
#define atomic_long_read(v)		READ_ONCE((v)->counter)
#define atomic_long_set(v, i)		WRITE_ONCE((v)->counter, i)
/* Ordered as their names say. */
#define atomic_long_read_acquire(v)	smp_load_acquire(&(v)->counter)
/* The same. */
#define atomic_long_set_release(v, i)	smp_store_release(&(v)->counter, i)

#ifdef VMA_STEPS
/* The machine takes a step by itself, so the compiler adds none. */
#define ACCESS_STEPPED	__attribute__((no_sanitize("thread")))
#else
#define ACCESS_STEPPED
#endif

static inline ACCESS_STEPPED int atomic_dec_return(atomic_t *v)
{
	ACCESS_MODIFY(v, ACCESS_ORDERED);
	return __atomic_sub_fetch(&v->counter, 1, __ATOMIC_SEQ_CST);
}

static inline ACCESS_STEPPED long atomic_long_dec_return(atomic_long_t *v)
{
	ACCESS_MODIFY(v, ACCESS_ORDERED);
	return __atomic_sub_fetch(&v->counter, 1, __ATOMIC_SEQ_CST);
}

/* Only for removals.py. */
static inline ACCESS_STEPPED long atomic_long_dec_return_relaxed(atomic_long_t *v)
{
	ACCESS_MODIFY(v, ACCESS_ONCE);
	return __atomic_sub_fetch(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline ACCESS_STEPPED long atomic_long_fetch_add(long add, atomic_long_t *v)
{
	ACCESS_MODIFY(v, ACCESS_ORDERED);
	return __atomic_fetch_add(&v->counter, add, __ATOMIC_SEQ_CST);
}

static inline ACCESS_STEPPED long atomic_long_fetch_or(long bits, atomic_long_t *v)
{
	ACCESS_MODIFY(v, ACCESS_ORDERED);
	return __atomic_fetch_or(&v->counter, bits, __ATOMIC_SEQ_CST);
}

static inline ACCESS_STEPPED void atomic_long_andnot(long bits, atomic_long_t *v)
{
	ACCESS_MODIFY(v, ACCESS_ONCE);
	__atomic_fetch_and(&v->counter, ~bits, __ATOMIC_RELAXED);
}

static inline ACCESS_STEPPED bool atomic_long_try_cmpxchg(atomic_long_t *v, long *old, long new)
{
	ACCESS_MODIFY(v, ACCESS_ORDERED);
	return __atomic_compare_exchange_n(&v->counter, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

#endif
