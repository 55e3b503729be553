// SPDX-License-Identifier: GPL-2.0
/*
 * Readers that scan. Each record is an answer to the question what comes after
 * the record before. The oracle judges it as it judges the answer to a query:
 * see torture.h.
 *
 * If a scan has a generation, its records are a snapshot: each region as a whole
 * must have been in one of the states that the scan may have met. If the
 * generation still holds at a later call, one of the states that this call may
 * have met must look the same.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scan.h"
#include "torture.h"

#define SCAN_RECORDS	2048
#define SCAN_NAMES	(SCAN_RECORDS * 32)
#define SCAN_CODE	(PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_FILE_BACKED_VMA)

/**
 * struct scan_reader - a reader that scans
 * @first: the first region that is scanned
 * @filters: what records must have
 * @space: how many records a call has space for
 * @generation: of all calls; 0 if they had none, or not all the same
 * @low: the states that had been reached before the first call
 * @query: the states that a call may have met, and a record as an answer
 * @record: the records of all calls
 * @name: for each record its name
 * @call: the records of one call
 * @names: their names
 * @judged: number of scans, for lies
 */
struct scan_reader {
	struct torture *t;
	int maps;
	unsigned int random;
	unsigned int first;
	unsigned int last;
	__u64 filters;
	unsigned int space;
	__u64 generation;
	__u64 low[TORTURE_REGIONS];
	struct torture_query query;
	unsigned int nr;
	struct procmap_record record[SCAN_RECORDS];
	char name[SCAN_RECORDS][TORTURE_NAME_ROOM];
	struct procmap_record call[SCAN_RECORDS];
	char names[SCAN_NAMES];
	unsigned int judged;
};

static bool is_code(const struct scan_reader *r)
{
	return (r->filters & SCAN_CODE) == SCAN_CODE;
}

/*
 * A record that is gone is noticed at once. The other lies are noticed only if
 * the region has changed meanwhile, so they are told whenever they can be.
 */
static bool lies_now(const struct scan_reader *r, enum torture_lie lie)
{
	if (r->t->lie != lie || (lie == LIE_RECORD_GONE && r->judged % TORTURE_LIE_EVERY))
		return false;
	torture_count(&r->t->lies);
	return true;
}

static __u64 region_end(const struct torture_region *region)
{
	return region->base + region->units * region->unit;
}

/* Mostly one region, so that a scan often comes between two changes. */
static void choose(struct scan_reader *r)
{
	unsigned int nr = r->t->nr_regions;

	/* Nobody knows what is between the arena and the heap, the last region. */
	nr -= r->t->region[nr - 1].kind == REGION_HEAP;
	r->first = torture_random(&r->random, nr);
	r->last = r->first;
	if (!torture_random(&r->random, 4))
		r->last += torture_random(&r->random, nr - r->first);
	r->filters = torture_random(&r->random, 3) ? 0 : SCAN_CODE;
	r->space = torture_random(&r->random, 4) ? SCAN_RECORDS : 1 + torture_random(&r->random, 8);
}

static int call(struct scan_reader *r, struct procmap_scan *scan)
{
	int ret;

	torture_before(r->t, &r->query);
	ret = scan_ioctl(r->maps, scan);
	torture_after(r->t, &r->query);
	return ret;
}

static __u64 generation_of(const struct scan_reader *r, const struct procmap_scan *scan)
{
	return is_code(r) ? scan->code_generation : scan->generation;
}

/* The record as the answer to a query at @addr. */
static void as_answer(struct scan_reader *r, __u64 addr, const struct procmap_record *record,
		      const char *name)
{
	struct procmap_query *q = &r->query.q;

	q->query_addr = addr;
	q->query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA | r->filters;
	q->vma_start = record->start;
	q->vma_end = record->end;
	q->vma_flags = record->flags & UNIT_VISIBLE;
	q->vma_page_size = 1ULL << record->page_shift;
	q->vma_offset = record->offset;
	q->inode = record->inode;
	q->dev_major = record->dev_major;
	q->dev_minor = record->dev_minor;
	q->vma_name_size = *name ? strlen(name) + 1 : 0;
	snprintf(r->query.name, sizeof(r->query.name), "%s", name);
	r->query.name_size = TORTURE_NAME_ROOM;
	r->query.record_flags = record->flags;
	r->query.scan = true;
	r->query.ret = 0;
}

/* Keep the records of one call, and judge each. */
static bool judge_call(struct scan_reader *r, const struct procmap_scan *scan)
{
	__u64 addr = scan->start;
	unsigned int i;

	for (i = 0; i < scan->records_filled && r->nr < SCAN_RECORDS; i++) {
		const struct procmap_record *record = &r->call[i];
		const char *name = record->name == PROCMAP_RECORD_NO_NAME ? "" :
				   r->names + record->name;

		torture_count(&r->t->asks[ASK_RECORD]);
		if (i + 1 < scan->records_filled && lies_now(r, LIE_RECORD_GONE))
			continue;
		as_answer(r, addr, record, name);
		if (!torture_judge(r->t, &r->query))
			return false;
		addr = record->end;
		r->record[r->nr] = *record;
		strcpy(r->name[r->nr++], r->query.name);
	}
	if (i == scan->records_filled && scan->next < scan->end)
		return true;
	r->query.q.query_addr = addr;
	r->query.q.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA | r->filters;
	r->query.ret = -ENOENT;
	return torture_judge(r->t, &r->query);
}

/* Do the records of a region look like one of its states from @low to @high? */
static bool is_state(struct scan_reader *r, unsigned int i, const __u64 *low, const __u64 *high)
{
	const struct torture_region *region = &r->t->region[i];
	unsigned int first = 0, nr, k;
	__u64 number;

	while (first < r->nr && r->record[first].end <= region->base)
		first++;
	for (nr = 0; first + nr < r->nr && r->record[first + nr].start < region_end(region); nr++)
		;
	for (number = low[i]; number <= high[i]; number++) {
		for (k = 0; k < nr; k++) {
			as_answer(r, 0, &r->record[first + k], r->name[first + k]);
			if (!torture_fits(r->t, &r->query, region, number))
				break;
		}
		if (k == nr && torture_count_vmas(region, number, r->filters) == nr)
			return true;
	}
	return false;
}

/* Was each region in one state, as a whole? Return false if the run is over. */
static bool judge_snapshot(struct scan_reader *r, const __u64 *low, const char *what)
{
	unsigned int i;

	for (i = r->first; i <= r->last; i++) {
		if (is_state(r, i, low, r->query.high))
			continue;
		memcpy(r->query.low, low, sizeof(r->query.low));
		if (torture_lapped(r->t, &r->query))
			break;
		torture_fail(r->t, "%s: returned %u records, region at %llx, states %llu to %llu",
			     what, r->nr, r->t->region[i].base, low[i], r->query.high[i]);
		return false;
	}
	return !torture_stopped(r->t);
}

/* Scan the regions in as many calls as it takes, and judge all records. */
static bool scan_regions(struct scan_reader *r)
{
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.flags = PROCMAP_SCAN_NAMES,
		.start = r->t->region[r->first].base,
		.end = region_end(&r->t->region[r->last]),
		.all_of = r->filters,
		.records = (unsigned long)r->call,
		.records_len = r->space,
		.record_size = sizeof(r->call[0]),
		.names = (unsigned long)r->names,
		.names_size = sizeof(r->names),
	};
	bool first;
	int ret;

	r->query.limit = scan.end;
	r->nr = 0;
	for (first = true; first || scan.start < scan.end; first = false) {
		ret = call(r, &scan);
		if (ret) {
			if (ret != -ESRCH || !torture_stopped(r->t))
				torture_fail(r->t, "a scan returned %d", ret);
			return false;
		}
		if (first) {
			memcpy(r->low, r->query.low, sizeof(r->low));
			r->generation = generation_of(r, &scan);
		} else if (generation_of(r, &scan) != r->generation) {
			r->generation = 0;
		}
		if (!judge_call(r, &scan))
			return false;
		scan.start = scan.next;
	}
	torture_count(&r->t->asks[ASK_SCAN]);
	return true;
}

/* If the generation still holds, the regions must still look the same. */
static bool ask_again(struct scan_reader *r)
{
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.flags = is_code(r) ? PROCMAP_SCAN_IF_CODE_CHANGED : PROCMAP_SCAN_IF_CHANGED,
		.record_size = sizeof(r->call[0]),
		.known_generation = r->generation,
	};

	if (call(r, &scan))
		return false;
	if (generation_of(r, &scan) != r->generation && !lies_now(r, LIE_STILL))
		return true;
	torture_count(&r->t->asks[ASK_STILL]);
	return judge_snapshot(r, r->query.low, "a generation that no longer holds");
}

static bool scan(struct scan_reader *r)
{
	r->judged++;
	choose(r);
	if (!scan_regions(r))
		return false;
	if (!r->generation && !lies_now(r, LIE_SNAPSHOT))
		return true;
	torture_count(&r->t->asks[is_code(r) ? ASK_CODE_SNAPSHOT : ASK_SNAPSHOT]);
	if (!judge_snapshot(r, r->low, "a snapshot that never was"))
		return false;
	if (!r->generation)
		return true;
	/* Others may run meanwhile. */
	if (r->t->lie == LIE_STILL || !torture_random(&r->random, 4))
		usleep(100);
	return ask_again(r);
}

int torture_scans(struct torture *t, unsigned int actor)
{
	static struct scan_reader reader;

	reader.t = t;
	reader.random = torture_seed(t, actor);
	reader.maps = torture_open(t);
	do {
		torture_count(&t->beat[actor]);
	} while (!torture_stopped(t) && scan(&reader));
	close(reader.maps);
	return 0;
}
