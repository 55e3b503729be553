/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of libprocmap share.
 */
#ifndef LIBPROCMAP_INTERNAL_H
#define LIBPROCMAP_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>
#include "libprocmap.h"

/* Filters that the kernel knows too. */
#define PROCMAP_FILTERS \
	(PROCMAP_READ | PROCMAP_WRITE | PROCMAP_EXEC | PROCMAP_SHARED | PROCMAP_FILE)

/*
 * Do not fetch longer names. This is far above what the text of any kernel can
 * hold.
 */
#define PROCMAP_NAME_LIMIT (1024U * 1024)

/**
 * struct procmap_text - state of the reader of the text
 * @buf: bytes that were read and not yet dropped
 * @alloc: size of @buf
 * @head: offset in @buf of the first byte after the current line
 * @tail: offset in @buf of the first byte not read
 * @pos: position in the file that belongs to @tail
 * @line: the current line, if @have_line; its @name is not used
 * @name: the name as it is in the line, inside @buf
 * @name_len: length of the name in bytes
 * @prev_end: end of the line before the current one
 * @have_line: there is a current line
 * @any: at least one line was read since the last rewind
 * @eof: the end was reached
 */
struct procmap_text {
	char *buf;
	size_t alloc;
	size_t head;
	size_t tail;
	off_t pos;
	struct procmap_vma line;
	const char *name;
	size_t name_len;
	uint64_t prev_end;
	bool have_line;
	bool any;
	bool eof;
};

/*
 * Index of a cache. CODE: it has only the VMAs of PROCMAP_EXEC | PROCMAP_FILE.
 * BUILD_ID: with build IDs, for which the kernel may have to wait; so who does
 * not want them has another cache.
 */
enum {
	PROCMAP_CACHE_CODE	= 1,
	PROCMAP_CACHE_BUILD_ID	= 2,
	PROCMAP_CACHES		= 4,
};

struct procmap_record;

/**
 * struct procmap_piece - all VMAs of a range of addresses
 * @low: first address of the range
 * @high: first address behind it
 * @nr: number of records
 * @records: the VMAs, ascending
 * @names: what their @name points into
 *
 * One block of memory, which begins with this struct.
 */
struct procmap_piece {
	uint64_t low;
	uint64_t high;
	size_t nr;
	struct procmap_record *records;
	char *names;
};

/**
 * struct procmap_cache - what the kernel has said, and for how long it holds
 * @pieces: ascending; they do not overlap
 * @nr: number of them
 * @alloc: for how many there is room
 * @nr_records: number of records in all of them
 * @generation: they hold as long as the address space has this one; 0: nobody
 *	can tell, and there is at most one piece
 * @want: PROCMAP_SCAN_NAMES and _BUILD_IDS, as far as all records have them
 * @hits: answers since the last scan that filled anything
 */
struct procmap_cache {
	struct procmap_piece **pieces;
	size_t nr;
	size_t alloc;
	size_t nr_records;
	uint64_t generation;
	unsigned int want;
	size_t hits;
};

/**
 * struct procmap - a handle
 * @fd: descriptor of /proc/PID/maps
 * @own_fd: close the descriptor with the handle
 * @backend: PROCMAP_BACKEND_SCAN, PROCMAP_BACKEND_QUERY or PROCMAP_BACKEND_TEXT
 * @text: reader of the text; with scans and queries, only for names that are
 *	too long for these
 * @cache: what scans have found
 * @area: where scans put records and names
 * @area_records: for how many records there is room
 */
struct procmap {
	int fd;
	bool own_fd;
	enum procmap_backend backend;
	struct procmap_text text;
	struct procmap_cache cache[PROCMAP_CACHES];
	void *area;
	size_t area_records;
};

/**
 * procmap_scan_probe() - ask whether the kernel has scans
 * @pm: the handle
 *
 * Return: 0 if it has; -1 with errno, which is ENOTTY if it has not.
 */
int procmap_scan_probe(struct procmap *pm);

/**
 * procmap_scan_changed() - procmap_changed() by a scan
 * @pm: the handle
 * @flags: see there
 * @generation: see there
 *
 * Return: as procmap_changed().
 */
int procmap_scan_changed(struct procmap *pm, unsigned int flags, uint64_t *generation);

/**
 * procmap_scan_fetch() - scan a range
 * @pm: the handle
 * @cache: the cache for the answer
 * @low: first address of the range
 * @high: first address behind it, UINT64_MAX: to the end
 * @still: only ask whether @cache still holds, and scan if it does not
 * @piece: filled: what was found, to be freed with free(); NULL if @cache still
 *	holds
 * @generation: filled: the generation of the piece, 0 if it has none
 *
 * Return: 0, or -1 with errno; ENAMETOOLONG if the first VMA has a name that is
 * too long for a scan.
 */
int procmap_scan_fetch(struct procmap *pm, const struct procmap_cache *cache, uint64_t low,
		       uint64_t high, bool still, struct procmap_piece **piece,
		       uint64_t *generation);

/**
 * procmap_cache_find() - find a VMA in what scans have found, and scan
 * @pm: the handle
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @fresh: the answer shall be the current state; else it may be the state of
 *	the last call with @fresh
 * @vma: filled
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_cache_find(struct procmap *pm, uint64_t addr, unsigned int flags, bool fresh,
		       struct procmap_vma *vma);

/**
 * procmap_cache_free() - free what the caches of a handle hold
 * @pm: the handle
 */
void procmap_cache_free(struct procmap *pm);

/**
 * procmap_query_find() - find a VMA by a query
 * @pm: the handle
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @vma: filled
 *
 * Return: 0, or -1 with errno as for procmap_find(), or ENOTTY if the kernel
 * has no queries.
 */
int procmap_query_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		       struct procmap_vma *vma);

/**
 * procmap_text_find() - find a VMA in the text
 * @pm: the handle
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @vma: filled
 *
 * Goes on from the current position of the reader, so the answer may come from
 * text that an earlier call has read. Starts again only if @addr lies before
 * that position. See procmap_text_rewind().
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_text_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		      struct procmap_vma *vma);

/**
 * procmap_text_rewind() - make the next look-up read the text again
 * @text: the reader
 */
void procmap_text_rewind(struct procmap_text *text);

/**
 * procmap_vma_clear() - forget the answer in a VMA, but keep its name buffer
 * @vma: the VMA
 */
void procmap_vma_clear(struct procmap_vma *vma);

/**
 * procmap_vma_reserve_name() - make room for a name
 * @vma: the VMA; its buffer is enlarged if necessary
 * @size: bytes, with the terminating NUL
 *
 * Return: 0, or -1 with errno ENOMEM.
 */
int procmap_vma_reserve_name(struct procmap_vma *vma, size_t size);

#endif /* LIBPROCMAP_INTERNAL_H */
