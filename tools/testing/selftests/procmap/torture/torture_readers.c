// SPDX-License-Identifier: GPL-2.0
/* Queries of all kinds. The oracle judges each answer: see torture.h. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "torture.h"
#include "uprobe.h"

/* How often to yield, at most, while an answer grows old. */
#define LIE_YIELDS	1000

static void prepare(struct torture_query *query, __u64 addr, __u64 flags, __u32 name_size)
{
	memset(&query->q, 0, sizeof(query->q));
	query->q.size = sizeof(query->q);
	query->q.query_addr = addr;
	query->q.query_flags = flags;
	query->q.vma_name_size = name_size;
	query->q.vma_name_addr = name_size ? (unsigned long)query->name : 0;
	query->name_size = name_size;
	query->text = false;
	query->scan = false;
	query->name[name_size] = (char)PROCMAP_POISON;
}

static void query_once(const struct torture *t, struct torture_query *query, int maps)
{
	query->limit = t->arena_end;
	torture_before(t, query);
	query->ret = procmap_ioctl(maps, &query->q);
	torture_after(t, query);
	if (query->name[query->name_size] != (char)PROCMAP_POISON)
		query->ret = PROCMAP_OVERRUN;
}

/* Lie as if the kernel had passed over the VMA that it found. */
static void lie_skip(const struct torture *t, struct torture_query *query, int maps)
{
	__u64 addr = query->q.query_addr;
	__u64 low[TORTURE_REGIONS];
	struct torture_query more;

	if (!(query->q.query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA))
		return;
	memcpy(low, query->low, sizeof(low));
	prepare(&more, query->q.vma_end, query->q.query_flags, query->name_size);
	query_once(t, &more, maps);
	if (more.ret)
		return;
	*query = more;
	query->q.query_addr = addr;
	memcpy(query->low, low, sizeof(low));
}

/* Lie as if the answer came from a state that has ended. */
void torture_grow_old(const struct torture *t, struct torture_query *query)
{
	__u64 high[TORTURE_REGIONS];
	unsigned int i, moved = 0, yields;

	memcpy(high, query->high, sizeof(high));
	for (yields = 0; yields < LIE_YIELDS && moved < TORTURE_MIXED; yields++) {
		sched_yield();
		torture_before(t, query);
		for (moved = 0, i = 0; i < t->nr_regions; i++)
			moved += query->low[i] > high[i] + 1;
	}
	torture_after(t, query);
}

static void lie(const struct torture *t, struct torture_query *query, int maps)
{
	struct procmap_query *q = &query->q;

	switch (t->lie) {
	case LIE_END:
		q->vma_end += getpagesize();
		break;
	case LIE_FLAGS:
		q->vma_flags ^= PROCMAP_QUERY_VMA_READABLE;
		break;
	case LIE_OFFSET:
		q->vma_offset += getpagesize();
		break;
	case LIE_NAME:
		if (query->name_size && q->vma_name_size)
			query->name[0] ^= 1;
		break;
	case LIE_HOLE:
		query->ret = -ENOENT;
		break;
	case LIE_SKIP:
		lie_skip(t, query, maps);
		break;
	case LIE_OLD:
		torture_grow_old(t, query);
		break;
	default:
		break;
	}
}

/*
 * Do one query, and let the oracle judge it. Returns false if the run is over,
 * because of this answer or for another reason.
 * @query: out: the query and its answer
 * @name_size: size of the buffer for the name; 0: no buffer
 */
bool torture_ask(struct torture *t, struct torture_query *query, int maps, __u64 addr,
		 __u64 flags, __u32 name_size)
{
	static __thread unsigned int asked;

	prepare(query, addr, flags, name_size);
	query_once(t, query, maps);
	/* The target ends only when it is told to. */
	if (query->ret == -ESRCH && torture_stopped(t))
		return false;
	if (t->lie && t->lie < LIE_LINE_GONE && !query->ret &&
	    !(++asked % TORTURE_LIE_EVERY)) {
		torture_count(&t->lies);
		lie(t, query, maps);
	}
	if (!torture_judge(t, query))
		return false;
	if (torture_moved(t, query))
		torture_count(&t->moved);
	return true;
}

/*
 * Return an address in a region or near it. Not near the heap and not after
 * the arena, as the oracle does not know what is there.
 */
static __u64 random_addr(const struct torture *t, const struct torture_region *region,
			 unsigned int *random)
{
	const unsigned int around = region->kind == REGION_HEAP ? 0 : 2 * getpagesize();
	__u64 addr = region->base - around +
		     torture_random(random, region->units * region->unit + 2 * around);

	return addr < t->arena_end ? addr : t->arena_end - 1;
}

/* Mostly use few filters, so that much matches; sometimes use any set. */
static __u64 random_filters(unsigned int *random)
{
	__u64 some = 1ULL << torture_random(random, 6);

	if (torture_random(random, 4))
		return some & PROCMAP_FILTERS;
	return torture_random(random, 64) & PROCMAP_FILTERS;
}

/* Return the size of some name with or without its NUL, or any small size. */
static __u32 random_name_size(const struct torture *t, const struct torture_region *region,
			      unsigned int *random)
{
	__u32 unit = torture_random(random, 2) ? UNIT_FILE :
		     (1 + torture_random(random, 3)) << UNIT_NAME_SHIFT;

	if (!torture_random(random, 4))
		return 1 + torture_random(random, 8);
	return strlen(torture_name(t, region, unit)) + torture_random(random, 2);
}

/* Prefer a region that is changing: look for one in a few tries. */
static const struct torture_region *random_region(const struct torture *t, unsigned int *random)
{
	const struct torture_region *region;
	unsigned int tries = 8;

	do {
		region = &t->region[torture_random(random, t->nr_regions)];
	} while (--tries && __atomic_load_n(&region->announced, __ATOMIC_RELAXED) ==
		 __atomic_load_n(&region->reached, __ATOMIC_RELAXED));
	return region;
}

static bool ask_something(struct torture *t, struct torture_query *query, int maps,
			  unsigned int *random)
{
	const struct torture_region *region = random_region(t, random);
	enum torture_ask ask = torture_random(random, ASK_SMALL_NAME + 1);
	__u64 flags = 0;
	__u32 name_size = 0;

	switch (ask) {
	case ASK_NEXT:
		flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
		break;
	case ASK_FILTERED:
		flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA | random_filters(random);
		break;
	case ASK_NAME:
		flags = torture_random(random, 2) ? PROCMAP_QUERY_COVERING_OR_NEXT_VMA : 0;
		name_size = TORTURE_NAME_ROOM;
		break;
	case ASK_SMALL_NAME:
		name_size = random_name_size(t, region, random);
		break;
	default:
		flags = torture_random(random, 4) ? 0 : random_filters(random);
	}
	if (region->kind == REGION_HEAP)
		flags &= ~(__u64)PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	torture_count(&t->asks[ask]);
	return torture_ask(t, query, maps, random_addr(t, region, random), flags, name_size);
}

/*
 * Walk over all VMAs of the arena that match. The walk ends because the last
 * sentinel passes every filter.
 */
static bool walk(struct torture *t, struct torture_query *query, int maps, unsigned int *random)
{
	__u64 flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	__u32 name_size = torture_random(random, 2) ? TORTURE_NAME_ROOM : 0;
	__u64 addr = TORTURE_ARENA;

	if (torture_random(random, 2))
		flags |= random_filters(random);
	torture_count(&t->asks[ASK_WALK]);
	while (addr < t->arena_end) {
		torture_count(&t->asks[ASK_STEP]);
		if (!torture_ask(t, query, maps, addr, flags, name_size))
			return false;
		addr = query->q.vma_end;
	}
	return true;
}

int torture_open(struct torture *t)
{
	int maps = maps_open(t->target);

	if (maps < 0)
		torture_fail(t, "cannot open the target's maps: errno %d", -maps);
	return maps;
}

int torture_read(struct torture *t, unsigned int actor)
{
	unsigned int random = torture_seed(t, actor);
	int maps = torture_open(t);
	struct torture_query query;
	bool go_on = true;

	while (go_on) {
		torture_count(&t->beat[actor]);
		if (torture_random(&random, 64))
			go_on = ask_something(t, &query, maps, &random);
		else
			go_on = walk(t, &query, maps, &random);
	}
	close(maps);
	return 0;
}

/*
 * Walk through an address space that may vanish at any time. The oracle does
 * not know what it holds.
 */
static void walk_child(struct torture *t, int maps)
{
	struct torture_query query;
	__u64 addr = 0;

	for (;;) {
		prepare(&query, addr, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, TORTURE_NAME_ROOM);
		query.ret = procmap_ioctl(maps, &query.q);
		torture_count(&t->asks[ASK_CHILD]);
		if (query.ret == -ENOENT || query.ret == -ESRCH || query.ret == -ENAMETOOLONG)
			return;
		if (query.ret || query.q.vma_start >= query.q.vma_end ||
		    query.q.vma_end <= addr || query.q.vma_flags & ~(__u64)UNIT_VISIBLE) {
			torture_fail(t, "in a child: at %llx returned %d, %llx-%llx flags %llx",
				     addr, query.ret, query.q.vma_start, query.q.vma_end,
				     query.q.vma_flags);
			return;
		}
		if (query.q.vma_name_size && !strcmp(query.name, UPROBE_AREA))
			torture_count(&t->asks[ASK_UPROBES]);
		addr = query.q.vma_end;
	}
}

int torture_read_children(struct torture *t, unsigned int actor)
{
	int maps;

	while (!torture_stopped(t)) {
		pid_t child = __atomic_load_n(&t->child, __ATOMIC_SEQ_CST);

		torture_count(&t->beat[actor]);
		maps = child ? maps_open(child) : -ESRCH;
		if (maps < 0) {
			usleep(100);
			continue;
		}
		walk_child(t, maps);
		if (t->text)
			torture_read_child_text(t, maps);
		close(maps);
	}
	return 0;
}
