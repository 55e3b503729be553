// SPDX-License-Identifier: GPL-2.0-only
/*
 * PROCMAP_SCAN of the fake kernel. It takes one VMA after the other, as slowly
 * and simply as can be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../procmap-abi.h"
#include "fake.h"

#define FAKE_SCAN_FLAGS (PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS | \
			 PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED)

static bool fake_scan_holds(const struct procmap_scan *scan)
{
	const bool all = scan->flags & PROCMAP_SCAN_IF_CHANGED;
	const bool code = scan->flags & PROCMAP_SCAN_IF_CODE_CHANGED;

	return scan->known_generation &&
	       ((all && scan->known_generation == fake.generation) ||
		(code && scan->known_generation == fake.code_generation));
}

/* Returns false if the area is full. Longer names than a path can be are not told. */
static bool fake_scan_name(struct procmap_scan *scan, const char *name,
			   struct procmap_record *record)
{
	char *names = (char *)(uintptr_t)scan->names;
	const size_t size = name ? strlen(name) + 1 : 0;

	record->name = PROCMAP_RECORD_NO_NAME;
	if (!(scan->flags & PROCMAP_SCAN_NAMES) || !name)
		return true;
	if (size > PATH_MAX && scan->names_size - scan->names_filled >= PATH_MAX) {
		record->flags |= PROCMAP_RECORD_NAME_TOO_LONG;
		return true;
	}
	if (size > scan->names_size - scan->names_filled)
		return false;
	record->name = scan->names_filled;
	memcpy(names + record->name, name, size);
	scan->names_filled += size;
	return true;
}

static bool fake_scan_record(struct procmap_scan *scan, const struct procmap_vma *vma)
{
	struct procmap_record *record = (void *)(uintptr_t)scan->records;

	if (scan->records_filled == scan->records_len)
		return false;
	record += scan->records_filled;
	memset(record, 0, sizeof(*record));
	if (!fake_scan_name(scan, vma->name, record))
		return false;
	record->start = vma->start;
	record->end = vma->end;
	record->offset = vma->offset;
	record->inode = vma->inode;
	record->flags |= vma->flags | PROCMAP_RECORD_LOCKED;
	record->dev_major = vma->dev_major;
	record->dev_minor = vma->dev_minor;
	record->page_shift = __builtin_ctzll(vma->page_size);
	record->generation = fake.generation;
	record->inode_generation = vma->inode_generation;
	if (fake.unlinked && vma->flags & PROCMAP_FILE)
		record->flags |= PROCMAP_RECORD_UNLINKED;
	if (scan->flags & PROCMAP_SCAN_BUILD_IDS) {
		record->build_id_size = vma->build_id_size;
		memcpy(record->build_id, vma->build_id, vma->build_id_size);
		if (fake.unread && vma->flags & PROCMAP_FILE && !vma->build_id_size)
			record->flags |= PROCMAP_RECORD_BUILD_ID_UNKNOWN;
	}
	if (fake.garbage)
		record->end = record->start;
	scan->records_filled++;
	return true;
}

static int fake_scan_all(int fd, struct procmap_scan *scan)
{
	const uint64_t end = scan->end ? scan->end : UINT64_MAX;
	struct procmap_vma live = { 0 };
	const struct procmap_vma *vma;
	uint64_t addr = scan->start;
	bool full = false;

	errno = 0;
	while (!full && addr < end) {
		vma = fake_find(fd, addr, scan->all_of, &live);
		if (!vma || vma->start >= end)
			break;
		full = !fake_scan_record(scan, vma);
		if (!full)
			addr = vma->end;
		free(live.name_buf);
		memset(&live, 0, sizeof(live));
	}
	if (errno == ESRCH)
		return -1;
	if (full && !scan->records_filled && scan->records_len)
		return fake_fail(ENAMETOOLONG);
	scan->next = full ? addr : end;
	fake.records += scan->records_filled;
	fake.cost += FAKE_COST_SCAN + scan->records_filled *
		     (FAKE_COST_RECORD + (scan->flags & PROCMAP_SCAN_NAMES ? FAKE_COST_NAME : 0));
	return 0;
}

/* Without a table, the text of the real kernel ends with the process. */
static bool fake_is_there(int fd)
{
	char byte;

	return fake.table || __real_pread64(fd, &byte, 1, 0) == 1;
}

int fake_scan(int fd, struct procmap_scan *scan)
{
	if (fake.no_scan)
		return fake_fail(ENOTTY);
	fake.scans++;
	fake.build_ids += !!(scan->flags & PROCMAP_SCAN_BUILD_IDS);
	if (fake.query_errno && fake.scans >= fake.query_errno_from)
		return fake_fail(fake.query_errno);
	if (scan->size != sizeof(*scan) || scan->flags & ~FAKE_SCAN_FLAGS ||
	    scan->record_size != sizeof(struct procmap_record) || scan->reserved ||
	    (scan->end && scan->start >= scan->end) || scan->start == UINT64_MAX)
		return fake_fail(EINVAL);
	scan->records_filled = 0;
	scan->names_filled = 0;
	if (!fake_is_there(fd))
		return fake_fail(ESRCH);
	if (!scan->records_len || fake_scan_holds(scan)) {
		scan->next = scan->records_len ? UINT64_MAX : scan->start;
		fake.asks++;
		fake.cost += FAKE_COST_ASK;
	} else if (fake_scan_all(fd, scan)) {
		return -1;
	}
	scan->generation = fake.generation;
	scan->code_generation = fake.code_generation;
	return 0;
}
