// SPDX-License-Identifier: GPL-2.0
/* Repeatable random numbers and addresses, and a thread that interferes: see fuzz.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "../../kselftest.h"
#include "fuzz.h"

static __u64 mix(__u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void fuzz_seed(struct fuzz *fuzz, __u64 number)
{
	fuzz->rng.state = mix(fuzz->seed) + mix(number);
}

__u64 fuzz_random(struct fuzz *fuzz)
{
	fuzz->rng.state += 0x9e3779b97f4a7c15ULL;
	return mix(fuzz->rng.state);
}

__u64 fuzz_below(struct fuzz *fuzz, __u64 limit)
{
	return fuzz_random(fuzz) % limit;
}

/* Be true at times. Returns true in @percent of 100 cases. */
bool fuzz_chance(struct fuzz *fuzz, unsigned int percent)
{
	return fuzz_below(fuzz, 100) < percent;
}

__u64 fuzz_pick(struct fuzz *fuzz, const __u64 *from, size_t nr)
{
	return from[fuzz_below(fuzz, nr)];
}

/*
 * Choose an address in an arena or a bad one.
 *
 * Most addresses are near a border of pages. A 32-bit program may get an
 * address of 64 bits, too. There are no bad addresses where another thread
 * interferes: mixed with other ones, parts of them could form an address of the
 * worker's own.
 */
__u64 fuzz_address(struct fuzz *fuzz, const struct fuzz_arena *arena)
{
	static const __u64 deltas[] = {
		0, 0, -1, -2, -4, -7, -8, -15, -16, -20, -21, -23, -24, -32, -64, -96, -100, -103,
		-104, -105, -112, -128, 1, 2, 4, 8, 16,
	};
	const __u64 bad[] = {
		0, 1, 8, 4096 - 8, ~0ULL, ~0ULL - 7, ~0ULL - 103, ~0ULL - 4095, 1ULL << 63,
		0xffff800000000000ULL, 0xffffffff81000000ULL, 0xffffffffff600000ULL,
		(1ULL << 32) + (unsigned long)arena->at,
		(0xffffULL << 48) + (unsigned long)arena->at,
	};
	__u64 at = (unsigned long)arena->at;

	if (!fuzz->racing && fuzz_chance(fuzz, 5))
		return fuzz_pick(fuzz, bad, ARRAY_SIZE(bad));
	at += fuzz_below(fuzz, FUZZ_PAGES) * arena->page;
	if (fuzz_chance(fuzz, 40))
		return at + fuzz_below(fuzz, arena->page);
	return at + fuzz_pick(fuzz, deltas, ARRAY_SIZE(deltas));
}

/*
 * Choose an address in an arena that mostly has space after it.
 * @size: how many bytes there should be space for
 */
__u64 fuzz_space(struct fuzz *fuzz, const struct fuzz_arena *arena, __u64 size)
{
	unsigned int tries = fuzz_below(fuzz, 8);
	__u64 addr = fuzz_address(fuzz, arena);

	while (tries-- && fuzz_arena_span(arena, addr, size, FUZZ_R | FUZZ_W) < size)
		addr = fuzz_address(fuzz, arena);
	return addr;
}

/* Choose an address near a VMA of the target or a bad one. */
__u64 fuzz_target_address(struct fuzz *fuzz)
{
	static const __u64 special[] = {
		0, 1, 4096, 0x7fffffff, 0x80000000, 0xfffff000, 0xffffffff, 1ULL << 32,
		(1ULL << 47) - 4096, 1ULL << 47, 1ULL << 63, ~0ULL, ~0ULL - 4095,
	};
	const struct maps_text *text = &fuzz->target.text;
	const struct maps_vma *vma;

	if (fuzz_chance(fuzz, 10))
		return fuzz_random(fuzz) >> fuzz_below(fuzz, 64);
	if (!text->nr || fuzz_chance(fuzz, 10))
		return fuzz_pick(fuzz, special, ARRAY_SIZE(special));
	vma = &text->vma[fuzz_below(fuzz, text->nr)];
	switch (fuzz_below(fuzz, 4)) {
	case 0:
		return vma->start + fuzz_below(fuzz, 3) - 1;
	case 1:
		return vma->end + fuzz_below(fuzz, 3) - 1;
	default:
		return vma->start + fuzz_below(fuzz, vma->end - vma->start);
	}
}

/* What the interfering thread does. It goes from STOPPING to IDLE by itself. */
enum { IDLE, RACING, STOPPING };

static struct {
	pthread_t thread;
	atomic_int state;
	char *at;
	const char *from[2];
	size_t size;
	char *page;
	size_t page_size;
} racer;

static void change_words(unsigned int which)
{
	unsigned long *to = (unsigned long *)racer.at;
	const unsigned long *from = (const unsigned long *)racer.from[which];
	size_t i;

	for (i = 0; i < racer.size / sizeof(*to); i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static void *interfere(void *arg)
{
	unsigned int round = 0;

	for (;;) {
		int stopping = STOPPING;

		if (atomic_load(&racer.state) != RACING) {
			atomic_compare_exchange_strong(&racer.state, &stopping, IDLE);
			sched_yield();
			continue;
		}
		change_words(round & 1);
		if (++round % 64 == 0)
			mprotect(racer.page, racer.page_size,
				 PROT_READ | (round & 64 ? PROT_WRITE : 0));
	}
	return NULL;
}

/*
 * Start the thread that interferes, idle at first.
 * @fuzz: the worker; a page of its local arena will be writable only at times
 */
int fuzz_race_start(struct fuzz *fuzz)
{
	racer.page = fuzz->local.at + 3 * fuzz->local.page;
	racer.page_size = fuzz->local.page;
	return -pthread_create(&racer.thread, NULL, interfere, NULL);
}

/*
 * Begin to interfere.
 * @at: the memory to change all the time, aligned for a long
 * @one: one content, stored word by word
 */
void fuzz_race(void *at, const void *one, const void *other, size_t size)
{
	racer.at = at;
	racer.from[0] = one;
	racer.from[1] = other;
	racer.size = size;
	atomic_store(&racer.state, RACING);
}

void fuzz_race_pause(void)
{
	int racing = RACING;

	if (!atomic_compare_exchange_strong(&racer.state, &racing, STOPPING))
		return;
	while (atomic_load(&racer.state) != IDLE)
		sched_yield();
}
