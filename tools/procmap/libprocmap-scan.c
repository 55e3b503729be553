// SPDX-License-Identifier: MIT
/*
 * libprocmap: calls of the PROCMAP_SCAN ioctl.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include "procmap-abi.h"
#include "libprocmap-internal.h"

/*
 * The most VMAs of one scan, and room for their names. The shortest room is
 * enough for any name that a scan returns.
 */
#define PROCMAP_SCAN_MOST	512
#define PROCMAP_NAMES_MIN	PATH_MAX
#define PROCMAP_NAMES_EACH	64

#define PROCMAP_CODE	(PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_FILE_BACKED_VMA)

/* Of the system's headers or of ours: procmap-abi.h is to be plain C90 and C++. */
static_assert(sizeof(struct procmap_scan) == 128, "size of struct procmap_scan");
static_assert(offsetof(struct procmap_scan, records) == 56, "records");
static_assert(offsetof(struct procmap_scan, records_filled) == 84, "records_filled");
static_assert(offsetof(struct procmap_scan, next) == 96, "next");
static_assert(offsetof(struct procmap_scan, known_generation) == 104, "known_generation");
static_assert(sizeof(struct procmap_record) == 96, "size of struct procmap_record");
static_assert(offsetof(struct procmap_record, flags) == 32, "flags");
static_assert(offsetof(struct procmap_record, generation) == 56, "generation");
static_assert(offsetof(struct procmap_record, build_id) == 72, "build_id");

static bool procmap_is_code(const struct procmap *pm, const struct procmap_cache *cache)
{
	return (cache - pm->cache) & PROCMAP_CACHE_CODE;
}

static __u64 *procmap_scan_generation(struct procmap_scan *scan, bool code)
{
	return code ? &scan->code_generation : &scan->generation;
}

int procmap_scan_probe(struct procmap *pm)
{
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.record_size = sizeof(struct procmap_record),
	};

	return ioctl(pm->fd, PROCMAP_SCAN, &scan);
}

int procmap_scan_changed(struct procmap *pm, unsigned int flags, uint64_t *generation)
{
	const bool code = (flags & PROCMAP_CODE) == PROCMAP_CODE;
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.record_size = sizeof(struct procmap_record),
	};
	const uint64_t old = *generation;

	if (ioctl(pm->fd, PROCMAP_SCAN, &scan))
		return -1;
	*generation = *procmap_scan_generation(&scan, code);
	return !old || *generation != old;
}

/*
 * How many VMAs to fetch. Each hit has saved more than a record costs, so what
 * is fetched in vain never costs more than what was saved. Walks soon fetch
 * hundreds at once. A process that is always changing its VMAs costs little
 * more than queries do.
 */
static size_t procmap_scan_room(const struct procmap_cache *cache)
{
	const size_t room = 2 + 2 * cache->hits;

	return room < PROCMAP_SCAN_MOST ? room : PROCMAP_SCAN_MOST;
}

/* Make room for @nr records, and names behind them. */
static int procmap_scan_reserve(struct procmap *pm, size_t nr)
{
	void *area;

	if (nr <= pm->area_records)
		return 0;
	area = malloc(nr * (sizeof(struct procmap_record) + PROCMAP_NAMES_EACH) +
		      PROCMAP_NAMES_MIN);
	if (!area)
		return -1;
	free(pm->area);
	pm->area = area;
	pm->area_records = nr;
	return 0;
}

/* VMAs that are merged meanwhile may overlap the record before, but ends ascend. */
static bool procmap_records_sane(const struct procmap_record *records, size_t nr,
				 size_t names_size)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (records[i].end <= records[i].start)
			return false;
		if (i && records[i].end <= records[i - 1].end)
			return false;
		if (records[i].name != PROCMAP_RECORD_NO_NAME && records[i].name >= names_size)
			return false;
		if (records[i].build_id_size > PROCMAP_BUILD_ID_MAX || records[i].page_shift > 63)
			return false;
	}
	return true;
}

/* Copy what a scan has filled into a block of just the necessary size. */
static struct procmap_piece *procmap_piece_new(const struct procmap_scan *scan)
{
	const size_t size = scan->records_filled * sizeof(struct procmap_record);
	const void *records = (const void *)(uintptr_t)scan->records;
	struct procmap_piece *piece;

	piece = malloc(sizeof(*piece) + size + scan->names_filled);
	if (!piece)
		return NULL;
	piece->low = scan->start;
	piece->high = scan->next;
	piece->nr = scan->records_filled;
	piece->records = (struct procmap_record *)(piece + 1);
	piece->names = (char *)piece->records + size;
	memcpy(piece->records, records, size);
	if (scan->names_filled) {
		memcpy(piece->names, (const void *)(uintptr_t)scan->names, scan->names_filled);
		piece->names[scan->names_filled - 1] = '\0';
	}
	return piece;
}

static bool procmap_scan_sane(const struct procmap_scan *scan)
{
	return scan->records_filled <= scan->records_len &&
	       scan->names_filled <= scan->names_size && scan->next > scan->start &&
	       procmap_records_sane((const void *)(uintptr_t)scan->records, scan->records_filled,
				    scan->names_filled);
}

static void procmap_scan_prepare(const struct procmap *pm, const struct procmap_cache *cache,
				 size_t room, struct procmap_scan *scan)
{
	scan->size = sizeof(*scan);
	scan->flags = cache->want;
	scan->all_of = procmap_is_code(pm, cache) ? PROCMAP_CODE : 0;
	scan->records = (uintptr_t)pm->area;
	scan->records_len = room;
	scan->record_size = sizeof(struct procmap_record);
	if (!(cache->want & PROCMAP_SCAN_NAMES))
		return;
	scan->names = scan->records + room * sizeof(struct procmap_record);
	scan->names_size = room * PROCMAP_NAMES_EACH + PROCMAP_NAMES_MIN;
}

int procmap_scan_fetch(struct procmap *pm, const struct procmap_cache *cache, uint64_t low,
		       uint64_t high, bool still, struct procmap_piece **piece,
		       uint64_t *generation)
{
	const bool code = procmap_is_code(pm, cache);
	const size_t room = procmap_scan_room(cache);
	struct procmap_scan scan = {
		.start = low,
		.end = high == UINT64_MAX ? 0 : high,
	};
	__u64 *now = procmap_scan_generation(&scan, code);

	if (procmap_scan_reserve(pm, room))
		return -1;
	procmap_scan_prepare(pm, cache, room, &scan);
	if (still) {
		scan.flags |= code ? PROCMAP_SCAN_IF_CODE_CHANGED : PROCMAP_SCAN_IF_CHANGED;
		scan.known_generation = cache->generation;
	}
	if (ioctl(pm->fd, PROCMAP_SCAN, &scan))
		return -1;
	*generation = *now;
	*piece = NULL;
	if (still && *now == cache->generation)
		return 0;
	if (!procmap_scan_sane(&scan)) {
		errno = EPROTO;
		return -1;
	}
	*piece = procmap_piece_new(&scan);
	return *piece ? 0 : -1;
}
