// SPDX-License-Identifier: MIT
/*
 * libprocmap: a cache of what scans have found.
 *
 * It consists of pieces: ranges of addresses with all their VMAs, which one scan
 * has filled. All pieces have the same generation, so together they are one
 * snapshot. A look-up asks the kernel whether this generation still holds. If
 * it does not, the same call has scanned the range of the look-up again, and all
 * other pieces are dropped. A look-up for which no piece is there makes one.
 *
 * While the process is changing its VMAs there is no generation. Then there is
 * only the piece of the last scan, for the call or the walk that needed it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "procmap-abi.h"
#include "libprocmap-internal.h"

/* Keep no more: who looks at more VMAs than this hardly looks at any of them twice. */
#define PROCMAP_CACHE_MOST	65536

#define PROCMAP_CODE		(PROCMAP_EXEC | PROCMAP_FILE)

static void procmap_cache_drop(struct procmap_cache *cache)
{
	while (cache->nr)
		free(cache->pieces[--cache->nr]);
	cache->nr_records = 0;
	cache->generation = 0;
}

void procmap_cache_free(struct procmap *pm)
{
	int i;

	for (i = 0; i < PROCMAP_CACHES; i++) {
		procmap_cache_drop(&pm->cache[i]);
		free(pm->cache[i].pieces);
	}
	free(pm->area);
}

/* The index of the first piece that ends above @addr. */
static size_t procmap_cache_index(const struct procmap_cache *cache, uint64_t addr)
{
	size_t low = 0, high = cache->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (cache->pieces[mid]->high > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static const struct procmap_piece *procmap_cache_piece(const struct procmap_cache *cache,
						       uint64_t addr)
{
	const size_t index = procmap_cache_index(cache, addr);

	if (index < cache->nr && cache->pieces[index]->low <= addr)
		return cache->pieces[index];
	return NULL;
}

/* Where a piece must end that begins at @addr. */
static uint64_t procmap_cache_gap_end(const struct procmap_cache *cache, uint64_t addr)
{
	const size_t index = procmap_cache_index(cache, addr);

	return index < cache->nr ? cache->pieces[index]->low : UINT64_MAX;
}

static int procmap_cache_insert(struct procmap_cache *cache, struct procmap_piece *piece)
{
	const size_t index = procmap_cache_index(cache, piece->low);
	struct procmap_piece **pieces;
	size_t want;

	if (cache->nr == cache->alloc) {
		want = cache->alloc ? cache->alloc * 2 : 16;
		pieces = reallocarray(cache->pieces, want, sizeof(*pieces));
		if (!pieces)
			return -1;
		cache->pieces = pieces;
		cache->alloc = want;
	}
	memmove(&cache->pieces[index + 1], &cache->pieces[index],
		(cache->nr - index) * sizeof(*cache->pieces));
	cache->pieces[index] = piece;
	cache->nr++;
	cache->nr_records += piece->nr;
	return 0;
}

/* The scan that begins at @addr; see procmap_scan_fetch(). */
static int procmap_cache_scan(struct procmap *pm, struct procmap_cache *cache, uint64_t addr,
			      bool still)
{
	uint64_t generation, end = still ? UINT64_MAX : procmap_cache_gap_end(cache, addr);
	struct procmap_piece *piece;

	if (procmap_scan_fetch(pm, cache, addr, end, still, &piece, &generation))
		return -1;
	if (!piece)
		return 0;
	cache->hits = 0;
	if (!generation || generation != cache->generation ||
	    cache->nr_records + piece->nr > PROCMAP_CACHE_MOST)
		procmap_cache_drop(cache);
	cache->generation = generation;
	if (!procmap_cache_insert(cache, piece))
		return 0;
	free(piece);
	return -1;
}

/*
 * Have a piece for @addr. With *@fresh, it holds now: the first piece that a call
 * looks at is asked for, and all others hold with it.
 */
static const struct procmap_piece *procmap_cache_get(struct procmap *pm,
						     struct procmap_cache *cache, uint64_t addr,
						     bool *fresh)
{
	const struct procmap_piece *piece;

	if (*fresh && !cache->generation)
		procmap_cache_drop(cache);
	piece = procmap_cache_piece(cache, addr);
	if (piece && !*fresh)
		return piece;
	if (procmap_cache_scan(pm, cache, addr, piece))
		return NULL;
	*fresh = false;
	return procmap_cache_piece(cache, addr);
}

/* The first record of a piece that ends above @addr and has @filters, or NULL. */
static const struct procmap_record *procmap_piece_find(const struct procmap_piece *piece,
						       uint64_t addr, unsigned int filters)
{
	size_t low = 0, high = piece->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (piece->records[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	while (low < piece->nr && (piece->records[low].flags & filters) != filters)
		low++;
	return low < piece->nr ? &piece->records[low] : NULL;
}

static int procmap_record_copy(const struct procmap_piece *piece,
			       const struct procmap_record *record, unsigned int flags,
			       struct procmap_vma *vma)
{
	const char *name = NULL;

	procmap_vma_clear(vma);
	if ((flags & PROCMAP_NAME) && record->name != PROCMAP_RECORD_NO_NAME) {
		name = piece->names + record->name;
		if (procmap_vma_reserve_name(vma, strlen(name) + 1))
			return -1;
		vma->name = strcpy(vma->name_buf, name);
	}
	vma->start = record->start;
	vma->end = record->end;
	vma->offset = record->offset;
	vma->inode = record->inode;
	vma->page_size = UINT64_C(1) << record->page_shift;
	vma->dev_major = record->dev_major;
	vma->dev_minor = record->dev_minor;
	vma->flags = record->flags & PROCMAP_FILTERS;
	vma->known = PROCMAP_KNOWN_PAGE_SIZE;
	if (flags & PROCMAP_NAME)
		vma->known |= PROCMAP_KNOWN_NAME;
	if (flags & PROCMAP_BUILD_ID) {
		vma->known |= PROCMAP_KNOWN_BUILD_ID;
		vma->build_id_size = record->build_id_size;
		memcpy(vma->build_id, record->build_id, record->build_id_size);
	}
	return 0;
}

/* The cache for a look-up. One without names is of no use to who wants them. */
static struct procmap_cache *procmap_cache_choose(struct procmap *pm, unsigned int flags)
{
	unsigned int index = 0, want = 0;
	struct procmap_cache *cache;

	if ((flags & PROCMAP_CODE) == PROCMAP_CODE)
		index |= PROCMAP_CACHE_CODE;
	if (flags & PROCMAP_BUILD_ID) {
		index |= PROCMAP_CACHE_BUILD_ID;
		want |= PROCMAP_SCAN_BUILD_IDS;
	}
	if (flags & PROCMAP_NAME)
		want |= PROCMAP_SCAN_NAMES;
	cache = &pm->cache[index];
	if (want & ~cache->want) {
		procmap_cache_drop(cache);
		cache->want |= want;
	}
	return cache;
}

int procmap_cache_find(struct procmap *pm, uint64_t addr, unsigned int flags, bool fresh,
		       struct procmap_vma *vma)
{
	struct procmap_cache *cache = procmap_cache_choose(pm, flags);
	const struct procmap_record *record;
	const struct procmap_piece *piece;
	/* No VMA has the last address, and a range cannot begin there. */
	uint64_t at = addr < UINT64_MAX ? addr : UINT64_MAX - 1;

	do {
		piece = procmap_cache_get(pm, cache, at, &fresh);
		/* A scan has no room for this name, but the text has. */
		if (!piece && errno == ENAMETOOLONG)
			return procmap_query_find(pm, at, flags, vma);
		if (!piece)
			return -1;
		record = procmap_piece_find(piece, at, flags & PROCMAP_FILTERS);
		if (record) {
			cache->hits++;
			if (record->start <= addr || (flags & PROCMAP_OR_NEXT))
				return procmap_record_copy(piece, record, flags, vma);
			break;
		}
		at = piece->high;
	} while ((flags & PROCMAP_OR_NEXT) && at < UINT64_MAX);
	procmap_vma_clear(vma);
	errno = ENOENT;
	return -1;
}
