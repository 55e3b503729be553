// SPDX-License-Identifier: GPL-2.0
/* The oracle decides which answers are legal: see torture.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scan.h"
#include "torture.h"

#define TORTURE_REPORT	"%s%s: address %llx flags %llx name size %u returned %d, %llx-%llx " \
			"flags %llx offset %llx inode %llu '%.80s'%s"

/* The units that form one VMA in a state of a region. */
struct run {
	unsigned int first;
	unsigned int end;
};

static const struct torture_state *state_of(const struct torture_region *region, __u64 number)
{
	return &region->state[number % TORTURE_STATES];
}

static __u64 unit_addr(const struct torture_region *region, unsigned int unit)
{
	return region->base + unit * region->unit;
}

/*
 * Do two neighbours belong to one VMA?
 * @second: the unit right after it
 *
 * The kernel merges all VMAs that can be merged, as long as no page was
 * touched.
 */
bool torture_same_vma(__u32 first, __u32 second)
{
	if ((first ^ second) & UNIT_VMA || !(first & UNIT_MAPPED))
		return false;
	return !(first & UNIT_FILE) ||
	       (first >> UNIT_OFFSET_SHIFT) + 1 == second >> UNIT_OFFSET_SHIFT;
}

/* Return the VMA of a unit. A unit that is not mapped stands alone. */
static struct run run_of(const struct torture_region *region, const struct torture_state *state,
			 unsigned int unit)
{
	struct run run = { .first = unit, .end = unit + 1 };

	while (run.first &&
	       torture_same_vma(state->unit[run.first - 1], state->unit[run.first]))
		run.first--;
	while (run.end < region->units &&
	       torture_same_vma(state->unit[run.end - 1], state->unit[run.end]))
		run.end++;
	return run;
}

static bool passes(__u32 unit, __u64 flags)
{
	__u64 has = unit & UNIT_VISIBLE;

	if (!(unit & UNIT_MAPPED))
		return false;
	if (unit & UNIT_FILE)
		has |= PROCMAP_QUERY_FILE_BACKED_VMA;
	return !(flags & PROCMAP_FILTERS & ~has);
}

/*
 * A name that writers give to anonymous memory. Returns the name; NULL for
 * @number 0.
 * @number: 1 to 3; 0: no name
 */
const char *torture_anon_name(unsigned int number)
{
	static const char * const names[] = { NULL, "t", "torture of names", "two words" };

	return names[number];
}

/*
 * The name of a VMA. Returns the name as a query shows it, "" for no name. It
 * stays valid until the same thread calls again.
 */
const char *torture_name(const struct torture *t, const struct torture_region *region,
			 __u32 unit)
{
	static __thread char name[64];

	if (unit & UNIT_HEAP)
		return "[heap]";
	if (unit & UNIT_FILE)
		return t->file[region->file].name;
	if (!(unit & UNIT_NAME))
		return "";
	snprintf(name, sizeof(name), "[anon:%s]",
		 torture_anon_name((unit & UNIT_NAME) >> UNIT_NAME_SHIFT));
	return name;
}

static bool name_fits(const struct torture *t, const struct torture_query *query,
		      const struct torture_region *region, __u32 unit)
{
	const char *name = torture_name(t, region, unit);
	__u32 size = query->q.vma_name_size;

	if (!query->name_size)
		return true;
	if (!*name)
		return !size;
	return size == strlen(name) + 1 && !strcmp(query->name, name);
}

static bool file_fits(const struct torture *t, const struct torture_query *query,
		      const struct torture_region *region, const struct torture_state *state,
		      __u32 unit)
{
	const struct torture_file *file = &t->file[region->file];
	const struct procmap_query *q = &query->q;
	__u64 inode = file->inode;

	if (!(unit & UNIT_FILE))
		return !q->vma_offset && !q->inode && !q->dev_major && !q->dev_minor;
	if (region->kind == REGION_FILES)
		inode = state->inode[!!(unit & UNIT_SECOND)];
	return q->vma_offset == (unit >> UNIT_OFFSET_SHIFT) * region->unit &&
	       q->inode == inode && q->dev_major == file->dev_major &&
	       q->dev_minor == file->dev_minor;
}

/* A line of the text begins at the end of the one before, or with its VMA. */
static bool may_begin_at(const struct torture_query *query, const struct torture_region *region,
			 struct run run, unsigned int unit)
{
	if (run.first == unit)
		return true;
	return query->text && query->q.query_addr == unit_addr(region, unit);
}

/* What a record tells beyond the answer to a query. */
static bool record_fits(const struct torture_query *query, __u32 unit)
{
	static const struct {
		__u32 unit;
		__u64 record;
	} bits[] = {
		{ UNIT_FILE, PROCMAP_QUERY_FILE_BACKED_VMA },
		{ UNIT_DONTDUMP, PROCMAP_RECORD_NO_DUMP },
		{ UNIT_DONTFORK, PROCMAP_RECORD_NO_FORK },
		{ UNIT_LOCKED, PROCMAP_RECORD_LOCKED },
		{ UNIT_UFFD, PROCMAP_RECORD_UFFD_MISSING },
	};
	unsigned int i;

	for (i = 0; query->scan && i < sizeof(bits) / sizeof(*bits); i++)
		if (!(unit & bits[i].unit) != !(query->record_flags & bits[i].record))
			return false;
	return true;
}

/* Does this state have the VMA of the answer, and does the VMA pass the filters of the query? */
static bool fits(const struct torture *t, const struct torture_query *query,
		 const struct torture_region *region, const struct torture_state *state)
{
	const struct procmap_query *q = &query->q;
	unsigned int first = (q->vma_start - region->base) / region->unit;
	__u32 unit = state->unit[first];
	struct run run;

	if (!passes(unit, q->query_flags) || q->vma_start != unit_addr(region, first))
		return false;
	run = run_of(region, state, first);
	return may_begin_at(query, region, run, first) &&
	       q->vma_end == unit_addr(region, run.end) &&
	       q->vma_flags == (unit & UNIT_VISIBLE) &&
	       q->vma_page_size == (__u64)getpagesize() &&
	       file_fits(t, query, region, state, unit) && name_fits(t, query, region, unit) &&
	       record_fits(query, unit);
}

/* Does a state have the VMA of an answer? */
bool torture_fits(const struct torture *t, const struct torture_query *query,
		  const struct torture_region *region, __u64 number)
{
	return query->q.vma_start >= region->base &&
	       query->q.vma_start < unit_addr(region, region->units) &&
	       fits(t, query, region, state_of(region, number));
}

/*
 * Count the VMAs of a state. Returns the number of VMAs.
 * @filters: count those that have at least these flags
 */
unsigned int torture_count_vmas(const struct torture_region *region, __u64 number, __u64 filters)
{
	const struct torture_state *state = state_of(region, number);
	unsigned int unit, nr = 0;

	for (unit = 0; unit < region->units; unit = run_of(region, state, unit).end)
		nr += passes(state->unit[unit], filters);
	return nr;
}

static const struct torture_region *region_at(const struct torture *t, __u64 addr)
{
	unsigned int i;

	for (i = 0; i < t->nr_regions; i++) {
		const struct torture_region *region = &t->region[i];

		if (addr >= region->base && addr < unit_addr(region, region->units))
			return region;
	}
	return NULL;
}

static bool was_there(const struct torture *t, const struct torture_query *query)
{
	const struct torture_region *region = region_at(t, query->q.vma_start);
	unsigned int i = region - t->region;
	__u64 number;

	if (!region)
		return false;
	for (number = query->low[i]; number <= query->high[i]; number++)
		if (fits(t, query, region, state_of(region, number)))
			return true;
	return false;
}

/* Did the unit pass the filters in all states that the query may have met? */
static bool matched_throughout(const struct torture_query *query,
			       const struct torture_region *region, unsigned int i,
			       unsigned int unit)
{
	__u64 number;

	for (number = query->low[i]; number <= query->high[i]; number++)
		if (!passes(state_of(region, number)->unit[unit], query->q.query_flags))
			return false;
	return true;
}

/* Did the query have to find anything from its address up to @end? */
static bool was_missed(const struct torture *t, const struct torture_query *query, __u64 end)
{
	__u64 addr = query->q.query_addr;
	unsigned int i, unit;

	for (i = 0; i < t->nr_regions; i++) {
		const struct torture_region *region = &t->region[i];

		if (unit_addr(region, region->units) <= addr || region->base >= end)
			continue;
		for (unit = 0; unit < region->units; unit++)
			if (unit_addr(region, unit + 1) > addr && unit_addr(region, unit) < end &&
			    matched_throughout(query, region, i, unit))
				return true;
	}
	return false;
}

/* Was there a VMA at the address with a name that does not fit the buffer? */
static bool name_was_longer(const struct torture *t, const struct torture_query *query)
{
	const struct procmap_query *q = &query->q;
	const struct torture_region *region = region_at(t, q->query_addr);
	unsigned int i = region - t->region;
	__u64 number;

	if (!region)
		return false;
	for (number = query->low[i]; number <= query->high[i]; number++) {
		__u32 unit = state_of(region, number)->unit[(q->query_addr - region->base) /
							       region->unit];

		if (passes(unit, q->query_flags) &&
		    strlen(torture_name(t, region, unit)) + 1 > query->name_size)
			return true;
	}
	return false;
}

/* Is this a line of something that no region describes, like a program? */
static bool is_unknown(const struct torture *t, const struct torture_query *query)
{
	const struct procmap_query *q = &query->q;
	unsigned int i;

	if (!query->text || (q->vma_end > TORTURE_ARENA && q->vma_start < t->arena_end))
		return false;
	for (i = 0; i < t->nr_regions; i++) {
		const struct torture_region *region = &t->region[i];

		if (q->vma_end > region->base &&
		    q->vma_start < unit_addr(region, region->units))
			return false;
	}
	return true;
}

static const char *wrong_answer(const struct torture *t, const struct torture_query *query)
{
	const struct procmap_query *q = &query->q;
	struct torture_query whole;

	if (q->query_addr >= q->vma_end)
		return "a VMA below the address";
	if (query->text && !query->first && q->query_addr > q->vma_start)
		return "a line that begins inside of the one before";
	if (q->query_addr < q->vma_start) {
		if (!(q->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA))
			return "a VMA that does not cover the address";
		if (was_missed(t, query, q->vma_start))
			return "a VMA after one that matched throughout";
	}
	whole = *query;
	whole.text = query->text && !query->first;
	if (is_unknown(t, query) || was_there(t, &whole))
		return NULL;
	return "a VMA that never existed like that";
}

/* Returns NULL if the answer is legal, else the reason why it is not. */
static const char *wrong(const struct torture *t, const struct torture_query *query)
{
	const struct procmap_query *q = &query->q;
	bool covering = !(q->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA);

	switch (query->ret) {
	case 0:
		return wrong_answer(t, query);
	case -ENOENT:
		if (was_missed(t, query, covering ? q->query_addr + 1 : query->limit))
			return "nothing where something matched throughout";
		return NULL;
	case -ENAMETOOLONG:
		return name_was_longer(t, query) ? NULL : "a name too long that never was";
	case PROCMAP_OVERRUN:
		return "a write outside the buffers";
	default:
		return "an error that cannot be";
	}
}

void torture_before(const struct torture *t, struct torture_query *query)
{
	unsigned int i;

	for (i = 0; i < t->nr_regions; i++)
		query->low[i] = __atomic_load_n(&t->region[i].reached, __ATOMIC_SEQ_CST);
}

void torture_after(const struct torture *t, struct torture_query *query)
{
	unsigned int i;

	for (i = 0; i < t->nr_regions; i++)
		query->high[i] = __atomic_load_n(&t->region[i].announced, __ATOMIC_SEQ_CST);
}

/*
 * Did writers overwrite states before the oracle was done? Returns true if the
 * verdict of the oracle does not count.
 */
bool torture_lapped(const struct torture *t, const struct torture_query *query)
{
	unsigned int i;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < t->nr_regions; i++)
		if (__atomic_load_n(&t->region[i].announced, __ATOMIC_SEQ_CST) - query->low[i] >=
		    TORTURE_STATES - 1)
			return true;
	return false;
}

/* May a region have changed during a query for it? */
bool torture_moved(const struct torture *t, const struct torture_query *query)
{
	const struct procmap_query *q = &query->q;
	const struct torture_region *region = region_at(t, query->ret ? q->query_addr :
							q->vma_start);
	unsigned int i = region - t->region;

	return region && query->low[i] != query->high[i];
}

/*
 * Is a line of the text only a part of its VMA? Returns true if no state that
 * the line may come from has such a VMA.
 * @query: the line, which is legal
 */
bool torture_clipped(const struct torture *t, const struct torture_query *query)
{
	struct torture_query whole;

	if (query->q.vma_start != query->q.query_addr || is_unknown(t, query))
		return false;
	whole = *query;
	whole.text = false;
	return !was_there(t, &whole);
}

bool torture_is_sentinel(const struct torture *t, __u64 addr)
{
	const struct torture_region *region = region_at(t, addr);

	return region && region->kind == REGION_SENTINEL && region->base == addr;
}

/*
 * Report a failure and end the run.
 * @format: the report, as for printf()
 *
 * Only the first TORTURE_REPORTS reports are kept.
 */
void torture_fail(struct torture *t, const char *format, ...)
{
	unsigned int number = __atomic_fetch_add(&t->failed, 1, __ATOMIC_SEQ_CST);
	va_list args;

	if (number >= TORTURE_REPORTS)
		return;
	va_start(args, format);
	vsnprintf(t->report[number], sizeof(t->report[number]), format, args);
	va_end(args);
	__atomic_store_n(&t->stop, 1, __ATOMIC_SEQ_CST);
}

/* Of a line of the text, describe only what is after the line before. */
static size_t describe_state(char *text, size_t size, const struct torture_region *region,
			     __u64 number, const struct torture_query *query)
{
	const struct torture_state *state = state_of(region, number);
	size_t used = snprintf(text, size, "\n#   state %llu by operation %u:", number, state->op);
	unsigned int unit = 0;

	while (unit < region->units && used < size) {
		struct run run = run_of(region, state, unit);

		if (state->unit[unit] & UNIT_MAPPED &&
		    (!query->text || unit_addr(region, run.end) > query->q.query_addr))
			used += snprintf(text + used, size - used, " %llx-%llx:%x",
					 unit_addr(region, run.first), unit_addr(region, run.end),
					 state->unit[unit]);
		unit = run.end;
	}
	return used < size ? used : size;
}

/* End the run because of an illegal answer. */
static void fail_query(struct torture *t, const struct torture_query *query, const char *reason)
{
	const struct procmap_query *q = &query->q;
	const struct torture_region *region = region_at(t, query->text ? q->vma_start :
									 q->query_addr);
	unsigned int i = region - t->region;
	char states[2048] = "";
	size_t used = 0;
	__u64 number;

	/* Start with the state that led to the first one. */
	number = query->low[i] ? query->low[i] - 1 : 0;
	for (; region && number <= query->high[i]; number++)
		used += describe_state(states + used, sizeof(states) - used, region, number,
				       query);
	torture_fail(t, TORTURE_REPORT, query->text ? "in a line, " : "", reason, q->query_addr,
		     q->query_flags, query->name_size, query->ret, q->vma_start, q->vma_end,
		     q->vma_flags, q->vma_offset, q->inode,
		     !query->ret && query->name_size && q->vma_name_size ? query->name : "",
		     states);
}

/*
 * The oracle. Returns false if the run is over, because the answer is illegal or
 * for another reason.
 * @query: the query, its answer, and the states that it may have met
 *
 * If writers overwrote states meanwhile, the verdict does not count.
 */
bool torture_judge(struct torture *t, const struct torture_query *query)
{
	const char *reason = wrong(t, query);

	if (torture_lapped(t, query))
		torture_count(&t->lapped);
	else if (reason)
		fail_query(t, query, reason);
	return !torture_stopped(t);
}
