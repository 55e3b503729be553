// SPDX-License-Identifier: MIT
/*
 * libprocmap: calls of the PROCMAP_SCAN ioctl, and walks by it.
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
 * How many VMAs the first scan of a walk fetches, and the most, and space for
 * their names. The shortest space is enough for any name that a scan returns.
 */
#define PROCMAP_SCAN_FIRST	8
#define PROCMAP_SCAN_MOST	512
#define PROCMAP_NAMES_MIN	PATH_MAX
#define PROCMAP_NAMES_EACH	64

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

int procmap_scan_probe(struct procmap *pm)
{
	pm->ask.size = sizeof(pm->ask);
	pm->ask.record_size = sizeof(struct procmap_record);
	return ioctl(pm->fd, PROCMAP_SCAN, &pm->ask);
}

/* VMAs that are merged meanwhile may overlap the record before, but ends ascend. */
static bool procmap_record_sane(const struct procmap_record *record, uint64_t last,
				size_t names_size)
{
	return record->end > record->start && record->end > last &&
	       (record->name == PROCMAP_RECORD_NO_NAME || record->name < names_size) &&
	       record->build_id_size <= PROCMAP_BUILD_ID_MAX && record->page_shift < 64;
}

static bool procmap_scan_sane(const struct procmap_scan *scan)
{
	const struct procmap_record *record = (const void *)(uintptr_t)scan->records;
	char *names = (char *)(uintptr_t)scan->names;
	uint64_t last = scan->start;
	size_t i;

	if (scan->records_filled > scan->records_len || scan->names_filled > scan->names_size ||
	    scan->next <= scan->start)
		return false;
	for (i = 0; i < scan->records_filled; i++, record++) {
		if (!procmap_record_sane(record, last, scan->names_filled))
			return false;
		last = record->end;
	}
	if (scan->names_filled)
		names[scan->names_filled - 1] = '\0';
	return true;
}

/* Scan for at most @nr VMAs, with names after them. */
static int procmap_scan_call(struct procmap *pm, struct procmap_scan *scan, unsigned int flags,
			     struct procmap_record *records, size_t nr)
{
	scan->size = sizeof(*scan);
	scan->all_of = flags & PROCMAP_FILTERS;
	scan->records = (uintptr_t)records;
	scan->records_len = nr;
	scan->record_size = sizeof(*records);
	if (flags & PROCMAP_BUILD_ID)
		scan->flags |= PROCMAP_SCAN_BUILD_IDS;
	if (flags & PROCMAP_NAME) {
		scan->flags |= PROCMAP_SCAN_NAMES;
		scan->names = (uintptr_t)(records + nr);
		scan->names_size = nr * PROCMAP_NAMES_EACH + PROCMAP_NAMES_MIN;
	}
	if (ioctl(pm->fd, PROCMAP_SCAN, scan))
		return -1;
	if (procmap_scan_sane(scan))
		return 0;
	errno = EPROTO;
	return -1;
}

static void procmap_record_copy(const struct procmap_record *record, const char *names,
				unsigned int flags, struct procmap_vma *vma)
{
	procmap_vma_clear(vma);
	vma->start = record->start;
	vma->end = record->end;
	vma->offset = record->offset;
	vma->inode = record->inode;
	vma->page_size = UINT64_C(1) << record->page_shift;
	vma->dev_major = record->dev_major;
	vma->dev_minor = record->dev_minor;
	vma->flags = record->flags & PROCMAP_FILTERS;
	vma->known = procmap_wanted(flags);
	if (record->flags & PROCMAP_RECORD_BUILD_ID_UNKNOWN)
		vma->known &= ~PROCMAP_KNOWN_BUILD_ID;
	if (record->flags & PROCMAP_RECORD_NAME_TOO_LONG)
		vma->known &= ~PROCMAP_KNOWN_NAME;
	if (flags & PROCMAP_BUILD_ID) {
		vma->build_id_size = record->build_id_size;
		memcpy(vma->build_id, record->build_id, record->build_id_size);
	}
	if (record->name != PROCMAP_RECORD_NO_NAME)
		vma->name = names + record->name;
	if (flags & PROCMAP_DETAILS) {
		vma->generation = record->generation;
		vma->record_flags = record->flags;
		vma->inode_generation = record->inode_generation;
	}
}

int procmap_scan_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		      struct procmap_vma *vma)
{
	/* No VMA has the last address, and a range cannot begin there. */
	struct procmap_scan scan = { .start = addr < UINT64_MAX ? addr : UINT64_MAX - 1 };
	struct {
		struct procmap_record record;
		char names[PROCMAP_NAMES_EACH + PROCMAP_NAMES_MIN];
	} area;

	if (!(flags & PROCMAP_OR_NEXT))
		scan.end = scan.start + 1;
	if (procmap_scan_call(pm, &scan, flags, &area.record, 1))
		return -1;
	if (!scan.records_filled) {
		errno = ENOENT;
		return -1;
	}
	procmap_record_copy(&area.record, area.names, flags, vma);
	return procmap_vma_own_name(vma);
}

/* A walk that goes on fetches more each time. After an error there is none to go on with. */
static int procmap_walk_fill(struct procmap *pm, uint64_t addr, unsigned int flags)
{
	struct procmap_walk *walk = &pm->walk;
	size_t space = walk->last ? walk->space * 4 : PROCMAP_SCAN_FIRST;
	struct procmap_scan scan = { .start = addr };
	void *records;

	if (space > PROCMAP_SCAN_MOST)
		space = PROCMAP_SCAN_MOST;
	if (!walk->records || space != walk->space) {
		records = realloc(walk->records, space * (sizeof(*walk->records) +
				  PROCMAP_NAMES_EACH) + PROCMAP_NAMES_MIN);
		if (!records)
			return -1;
		walk->records = records;
		walk->space = space;
	}
	walk->nr = 0;
	walk->at = 0;
	walk->last = 0;
	if (procmap_scan_call(pm, &scan, flags, walk->records, space))
		return -1;
	walk->nr = scan.records_filled;
	walk->next = scan.next;
	walk->flags = flags;
	return 0;
}

/* The next record of a walk, or NULL with errno; ENOENT at the end. */
static const struct procmap_record *procmap_walk_record(struct procmap *pm, unsigned int flags)
{
	struct procmap_walk *walk = &pm->walk;

	if (walk->at == walk->nr && walk->next < UINT64_MAX &&
	    procmap_walk_fill(pm, walk->next, flags))
		return NULL;
	if (walk->at == walk->nr) {
		errno = ENOENT;
		return NULL;
	}
	walk->last = walk->records[walk->at].end;
	return &walk->records[walk->at++];
}

int procmap_scan_next(struct procmap *pm, uint64_t addr, unsigned int flags,
		      struct procmap_vma *vma)
{
	struct procmap_walk *walk = &pm->walk;
	const struct procmap_record *record;

	if (!addr || addr != walk->last || flags != walk->flags) {
		walk->last = 0;
		walk->at = walk->nr;
		walk->next = addr;
	}
	record = procmap_walk_record(pm, flags);
	if (!record) {
		procmap_vma_clear(vma);
		return -1;
	}
	procmap_record_copy(record, (const char *)(walk->records + walk->space), flags, vma);
	return 0;
}
