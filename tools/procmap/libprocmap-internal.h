/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of libprocmap share.
 */
#ifndef LIBPROCMAP_INTERNAL_H
#define LIBPROCMAP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include "libprocmap.h"
#include "procmap-abi.h"

/* Filters that the kernel knows too. */
#define PROCMAP_FILTERS \
	(PROCMAP_READ | PROCMAP_WRITE | PROCMAP_EXEC | PROCMAP_SHARED | PROCMAP_FILE)

/* VMAs of code have a generation of their own. */
#define PROCMAP_CODE (PROCMAP_EXEC | PROCMAP_FILE)

/*
 * PATH_MAX: no scan and no query tells a name that needs more bytes, and the process
 * decides how many. So that it cannot hold up a look-up, such a name is not known.
 */
#define PROCMAP_NAME_LIMIT 4096U

/**
 * struct procmap_text - state of the reader of the text
 * @buf: bytes that were read and not yet dropped
 * @head: offset in @buf of the first byte after the current line
 * @tail: offset in @buf of the first byte not read
 * @pos: position in the file that belongs to @tail
 * @line: the current line, if @have_line; its @name is not used
 * @name: the name as it is in the line, inside @buf
 * @name_len: length of the name in bytes
 * @prev_end: end of the line before the current one
 * @addr: address that was looked up last
 * @filters: filters of that look-up: no line before the current one matches at @addr or above
 * @have_line: there is a current line
 * @any: at least one line was read since the last rewind
 * @eof: the end was reached
 */
struct procmap_text {
	char *buf;
	size_t head;
	size_t tail;
	off_t pos;
	struct procmap_vma line;
	const char *name;
	size_t name_len;
	uint64_t prev_end;
	uint64_t addr;
	unsigned int filters;
	bool have_line;
	bool any;
	bool eof;
};

/* One cache for all VMAs, and one for those of PROCMAP_CODE. */
#define PROCMAP_CACHES 2

struct procmap_chunk;

/**
 * struct procmap_entry - a VMA, in a tree that is sorted by addresses
 * @left: VMAs that end below
 * @right: VMAs that end above
 * @next: the VMA that follows
 * @priority: a random number, above those of the trees below: so the tree is flat
 * @flags: those of the VMA, and PROCMAP_NAME and PROCMAP_BUILD_ID if it is good for
 *	such look-ups
 * @vma: the VMA; its name is @name
 * @name: the name
 */
struct procmap_entry {
	struct procmap_entry *left;
	struct procmap_entry *right;
	struct procmap_entry *next;
	uint32_t priority;
	uint32_t flags;
	struct procmap_vma vma;
	char name[];
};

/**
 * struct procmap_cache - what the kernel has said, and for how long it holds
 * @root: the VMAs, a tree
 * @first: the first of them
 * @last: the last one that was an answer, or NULL
 * @generation: they hold as long as the address space has this one; 0: not known
 * @chunks: memory for them
 * @chunk: the one in use
 * @used: bytes of it that are in use
 * @memory: bytes of all chunks
 */
struct procmap_cache {
	struct procmap_entry *root;
	struct procmap_entry *first;
	struct procmap_entry *last;
	uint64_t generation;
	struct procmap_chunk *chunks;
	struct procmap_chunk *chunk;
	size_t used;
	size_t memory;
};

/**
 * struct procmap_walk - VMAs that a scan has found for the walk that goes on
 * @records: the VMAs, and their names after them
 * @space: for how many VMAs there is space
 * @nr: number of them
 * @at: the next one
 * @flags: flags of the walk
 * @last: end of the VMA that the walk has got last
 * @next: where the next scan begins, UINT64_MAX: there is none
 */
struct procmap_walk {
	struct procmap_record *records;
	size_t space;
	size_t nr;
	size_t at;
	unsigned int flags;
	uint64_t last;
	uint64_t next;
};

/**
 * struct procmap - a handle
 * @fd: descriptor of /proc/PID/maps
 * @own_fd: close the descriptor with the handle
 * @backend: PROCMAP_BACKEND_SCAN, PROCMAP_BACKEND_QUERY or PROCMAP_BACKEND_TEXT
 * @going_on: with scans: this call has asked whether the caches hold; with the text: it
 *	may go on from where the reader is
 * @text: reader of the text; with scans and queries, only for names that are
 *	too long for these
 * @ask: a scan that fills nothing, and tells generations
 * @walk: what scans have found
 * @cache: what queries have found, as long as scans say that it holds
 * @credit: what the caches may cost in vain, in instructions
 * @memory: what they may use, in bytes
 * @random: state of a generator
 */
struct procmap {
	int fd;
	bool own_fd;
	enum procmap_backend backend;
	bool going_on;
	struct procmap_text text;
	struct procmap_scan ask;
	struct procmap_walk walk;
	struct procmap_cache cache[PROCMAP_CACHES];
	long credit;
	size_t memory;
	uint64_t random;
};

/* The bits that procmap_vma.known can have if a look-up has these flags. */
static inline unsigned int procmap_wanted(unsigned int flags)
{
	return PROCMAP_KNOWN_PAGE_SIZE | (flags & PROCMAP_NAME ? PROCMAP_KNOWN_NAME : 0) |
	       (flags & PROCMAP_BUILD_ID ? PROCMAP_KNOWN_BUILD_ID : 0) |
	       (flags & PROCMAP_DETAILS ? PROCMAP_KNOWN_DETAILS : 0);
}

/* Does this entry have what the look-up wants? */
static inline bool procmap_entry_answers(const struct procmap_entry *entry, unsigned int flags)
{
	return !(flags & ~PROCMAP_OR_NEXT & ~entry->flags);
}

/*
 * Answer by an entry, but leave the caller's size and name buffer. Copy in parts
 * that a compiler has short code for: this is most of what a look-up costs here.
 */
static inline void procmap_entry_copy(const struct procmap_entry *entry, unsigned int flags,
				      struct procmap_vma *vma)
{
	const size_t start = offsetof(struct procmap_vma, start);
	const size_t middle = offsetof(struct procmap_vma, dev_major);
	const size_t end = offsetof(struct procmap_vma, name);

	memcpy((char *)vma + start, (const char *)&entry->vma + start, middle - start);
	memcpy((char *)vma + middle, (const char *)&entry->vma + middle, end - middle);
	vma->known = procmap_wanted(flags);
	vma->name = flags & PROCMAP_NAME ? entry->vma.name : NULL;
	if (vma->build_id_size && !(flags & PROCMAP_BUILD_ID)) {
		vma->build_id_size = 0;
		memset(vma->build_id, 0, sizeof(vma->build_id));
	}
}

/* The cache for look-ups with these flags. */
static inline struct procmap_cache *procmap_cache_of(struct procmap *pm, unsigned int flags)
{
	return &pm->cache[(flags & PROCMAP_CODE) == PROCMAP_CODE];
}

/**
 * procmap_scan_probe() - ask whether the kernel has scans
 * @pm: the handle
 *
 * Return: 0 if it has; -1 with errno, which is ENOTTY if it has not.
 */
int procmap_scan_probe(struct procmap *pm);

/**
 * procmap_scan_holds() - ask whether a generation is still the one that is
 * @pm: the handle
 * @code: that of code
 * @generation: in: the generation; out: the one that is, 0 if there is none
 *
 * Without space for records a scan fills nothing in any case.
 *
 * Return: 1 if it is, 0 if not, -1 with errno.
 */
static inline int procmap_scan_holds(struct procmap *pm, bool code, uint64_t *generation)
{
	uint64_t now;

	if (ioctl(pm->fd, PROCMAP_SCAN, &pm->ask))
		return -1;
	now = code ? pm->ask.code_generation : pm->ask.generation;
	if (now && now == *generation)
		return 1;
	*generation = now;
	return 0;
}

/**
 * procmap_scan_next() - go on with a walk
 * @pm: the handle
 * @addr: the end of the last VMA, 0 at the beginning
 * @flags: PROCMAP_* flags of the walk
 * @vma: filled; its name may be in memory of the handle, until the next call
 *
 * Return: 0, or -1 with errno; ENOENT at the end.
 */
int procmap_scan_next(struct procmap *pm, uint64_t addr, unsigned int flags,
		      struct procmap_vma *vma);

/**
 * procmap_scan_find() - find a VMA by a scan
 * @pm: the handle
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @vma: filled
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_scan_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		      struct procmap_vma *vma);

/**
 * procmap_fd_check() - is this a descriptor of /proc/PID/maps?
 * @fd: the descriptor
 *
 * Return: 0, or -1 with errno EBADF or EINVAL.
 */
int procmap_fd_check(int fd);

/**
 * procmap_pidfd_pid() - get the PID of a pidfd
 * @pidfd: the pidfd
 *
 * Return: the PID, as the caller's /proc has it; or -1 with errno EBADF (this is
 * no pidfd), ENOENT (there is no /proc), ESRCH or another error of open(2).
 */
pid_t procmap_pidfd_pid(int pidfd);

/**
 * procmap_cache_find() - find a VMA in the cache, or by a query
 * @pm: the handle
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @vma: filled
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_cache_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		       struct procmap_vma *vma);

/**
 * procmap_cache_query() - query, and keep the answer
 * @pm: the handle
 * @cache: keeps the answer, if it has a generation
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @vma: filled
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_cache_query(struct procmap *pm, struct procmap_cache *cache, uint64_t addr,
			unsigned int flags, struct procmap_vma *vma);

/**
 * procmap_cache_saved() - account for answers that needed no query
 * @pm: the handle
 * @flags: PROCMAP_* flags of the look-ups
 * @nr: number of them
 */
void procmap_cache_saved(struct procmap *pm, unsigned int flags, size_t nr);

/**
 * procmap_cache_init() - prepare the caches of a new handle
 * @pm: the handle
 */
void procmap_cache_init(struct procmap *pm);

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
 * @going_on: go on from the current position of the reader, unless the answer may lie
 *	before it: so the answer may come from text that an earlier call has read. Else
 *	read from the start
 * @vma: filled
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_text_find(struct procmap *pm, uint64_t addr, unsigned int flags, bool going_on,
		      struct procmap_vma *vma);

/**
 * procmap_vma_clear() - forget the answer in a VMA, but keep its name buffer
 * @vma: the VMA
 */
void procmap_vma_clear(struct procmap_vma *vma);

/**
 * procmap_vma_own_name() - copy a name from memory of the handle to the VMA's own
 * @vma: the VMA
 *
 * Return: 0, or -1 with errno ENOMEM.
 */
int procmap_vma_own_name(struct procmap_vma *vma);

/**
 * procmap_vma_reserve_name() - make space for a name
 * @vma: the VMA; its buffer is enlarged if necessary
 * @size: bytes, with the terminating NUL
 *
 * Return: 0, or -1 with errno ENOMEM.
 */
int procmap_vma_reserve_name(struct procmap_vma *vma, size_t size);

#endif /* LIBPROCMAP_INTERNAL_H */
