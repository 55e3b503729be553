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

/**
 * struct procmap - a handle
 * @fd: descriptor of /proc/PID/maps
 * @own_fd: close the descriptor with the handle
 * @backend: PROCMAP_BACKEND_QUERY or PROCMAP_BACKEND_TEXT
 * @text: reader of the text; with queries, only for names that are too long for
 *	a query
 */
struct procmap {
	int fd;
	bool own_fd;
	enum procmap_backend backend;
	struct procmap_text text;
};

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
