/* SPDX-License-Identifier: MIT */
/*
 * What the files of libprocmap share.
 */
#ifndef LIBPROCMAP_H
#define LIBPROCMAP_H

#include <stdbool.h>
#include <sys/types.h>
#include "procmap.h"

/* Filters that the kernel knows too. */
#define PROCMAP_FILTERS \
	(PROCMAP_READ | PROCMAP_WRITE | PROCMAP_EXEC | PROCMAP_SHARED | PROCMAP_FILE)

/* Beyond this a name is given up; it is far above what the text of any kernel can hold. */
#define PROCMAP_NAME_LIMIT (1024U * 1024)

/**
 * struct procmap_text - where the reader of the text is
 * @buf: what was read and not yet left behind
 * @alloc: size of @buf
 * @head: offset in @buf of the first byte after the current line
 * @tail: offset in @buf of the first byte not read
 * @pos: position in the file that belongs to @tail
 * @line: the current line, if @have_line; its name is not used
 * @name: the name as it stands in the line, inside @buf
 * @name_len: bytes of it
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
 * @own_fd: it is closed with the handle
 * @backend: PROCMAP_BACKEND_QUERY or PROCMAP_BACKEND_TEXT
 * @text: reader of the text; with queries, for names that do not fit into one
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
 * Return: 0, or -1 with errno as for procmap_find(), or ENOTTY if the kernel has no queries.
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
 * Goes on from where the reader is, and so may answer from text that was read by an earlier call;
 * starts again only where @addr lies before that. See procmap_text_rewind().
 *
 * Return: 0, or -1 with errno as for procmap_find().
 */
int procmap_text_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		      struct procmap_vma *vma);

/**
 * procmap_text_rewind() - let the next look-up read the text afresh
 * @text: the reader
 */
void procmap_text_rewind(struct procmap_text *text);

/**
 * procmap_vma_clear() - forget the answer in a VMA, but keep the buffer for the name
 * @vma: the VMA
 */
void procmap_vma_clear(struct procmap_vma *vma);

/**
 * procmap_vma_reserve_name() - have room for a name
 * @vma: the VMA; its buffer is enlarged where needed
 * @size: bytes, with the terminating NUL
 *
 * Return: 0, or -1 with errno ENOMEM.
 */
int procmap_vma_reserve_name(struct procmap_vma *vma, size_t size);

#endif /* LIBPROCMAP_H */
