// SPDX-License-Identifier: GPL-2.0
/* Versions of the address space: what a search may have found. */
#include <stdlib.h>
#include <string.h>

#include "shim/kernel.h"
#include "world.h"

/*
 * begun >= recorded >= done. The writer alone writes them. A version is recorded
 * before others can lock what has changed.
 */
static unsigned long begun, recorded, done;
static struct version_of_all versions[VERSIONS_KEPT];

/*
 * A random number.
 * @rng: the state, any value
 */
u64 random64(u64 *rng)
{
	u64 x = *rng += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/*
 * A random number below a limit.
 * @limit: the limit, not 0
 */
unsigned int below(u64 *rng, unsigned int limit)
{
	return (random64(rng) >> 32) * limit >> 32;
}

/* Forget all; nobody searches. */
void world_reset(void)
{
	begun = 0;
	recorded = 0;
	done = 0;
	memset(&versions[0], 0, sizeof(versions[0]));
}

/* A system call that may change something begins. */
void world_begin_call(void)
{
	__atomic_store_n(&begun, begun + 1, __ATOMIC_SEQ_CST);
}

/* Where to put the version that the present call leads to. Returns the place. */
struct version_of_all *world_next(void)
{
	return &versions[begun % VERSIONS_KEPT];
}

/* The version is complete. */
void world_record(void)
{
	__atomic_store_n(&recorded, begun, __ATOMIC_RELEASE);
}

/* Is the version of the present call complete? */
bool world_recorded(void)
{
	return recorded == begun;
}

/* The system call has returned. */
void world_end_call(void)
{
	smp_mb(); /* What the call did before its number; pairs with window_begin(). */
	__atomic_store_n(&done, begun, __ATOMIC_RELEASE);
}

/*
 * A search begins.
 * @window: out: the first version
 */
void window_begin(struct window *window)
{
	window->first = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
	smp_mb(); /* The search reads nothing from before; pairs with world_end_call(). */
}

/*
 * A search has ended. Returns false if the writer has overwritten the first
 * version meanwhile.
 * @window: out: the last version
 *
 * Waits until that is recorded.
 */
bool window_end(struct window *window)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	window->last = __atomic_load_n(&begun, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&recorded, __ATOMIC_ACQUIRE) < window->last)
		shim_yield();
	return !window_lost(window);
}

/*
 * Has the writer overwritten a version of the window? Returns true if so: what
 * was compared with it means nothing.
 */
bool window_lost(const struct window *window)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&begun, __ATOMIC_SEQ_CST) - window->first >= VERSIONS_KEPT - 1;
}

static const struct version_of_all *version_at(unsigned long version)
{
	return &versions[version % VERSIONS_KEPT];
}

/* Are two regions the same in all respects? */
bool region_same(const struct region *a, const struct region *b)
{
	return a->start == b->start && a->end == b->end && a->flags == b->flags &&
	       a->pgoff == b->pgoff && a->file == b->file;
}

/* Does a region match? */
bool search_args_match(const struct search_args *args, const struct region *region)
{
	return region->end && !(args->flags & ~region->flags) &&
	       (region->file || !args->file_only);
}

/* Did the process have this region at any time? */
bool window_had(const struct window *window, const struct region *region)
{
	unsigned long v;

	if (region->start >= region->end || region->end > PAGES)
		return false;
	for (v = window->first; v <= window->last; v++)
		if (region_same(&version_at(v)->page[region->start], region))
			return true;
	return false;
}

/* Were both regions there at one time? */
bool window_had_both(const struct window *window, const struct region *a, const struct region *b)
{
	unsigned long v;

	for (v = window->first; v <= window->last; v++)
		if (region_same(&version_at(v)->page[a->start], a) &&
		    region_same(&version_at(v)->page[b->start], b))
			return true;
	return false;
}

/* Was there a time when nothing that matches covered a page? */
bool window_could_pass(const struct window *window, const struct search_args *args,
		       unsigned int page)
{
	unsigned long v;

	for (v = window->first; v <= window->last; v++)
		if (!search_args_match(args, &version_at(v)->page[page]))
			return true;
	return false;
}

static bool version_has_list(const struct version_of_all *version, const struct search_args *args,
			     unsigned int end, const struct region *list, unsigned int nr)
{
	unsigned int page = args->page, i = 0;

	while (page < end) {
		const struct region *region = &version->page[page];

		if (!region->end) {
			page++;
			continue;
		}
		if (search_args_match(args, region) &&
		    (i == nr || !region_same(region, &list[i++])))
			return false;
		page = region->end;
	}
	return i == nr;
}

/*
 * Were all these regions there at one time, and no other?
 * @args: what matches, and the first page
 * @end: the page after the last
 */
bool window_had_list(const struct window *window, const struct search_args *args,
		     unsigned int end, const struct region *list, unsigned int nr)
{
	unsigned long v;

	for (v = window->first; v <= window->last; v++)
		if (version_has_list(version_at(v), args, end, list, nr))
			return true;
	return false;
}
