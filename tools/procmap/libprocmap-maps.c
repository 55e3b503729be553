// SPDX-License-Identifier: MIT
/*
 * libprocmap: answers from the text of /proc/PID/maps.
 *
 * A reader goes through the lines once, from low to high addresses, and keeps
 * only one of them. The text is no snapshot: the process goes on running
 * between two reads. So a line may overlap the one before, but it always ends
 * above the end of that one.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "libprocmap-internal.h"

#define PROCMAP_TEXT_BUF (32U * 1024)

/* How the text shows a newline in a path. It escapes no other character. */
static const char procmap_text_newline[] = { '\\', '0', '1', '2' };

/* A line that is being parsed. @bad is never cleared. */
struct procmap_cursor {
	const char *p;
	const char *end;
	bool bad;
};

static void procmap_cursor_skip(struct procmap_cursor *cur, char c)
{
	if (cur->p < cur->end && *cur->p == c)
		cur->p++;
	else
		cur->bad = true;
}

static int procmap_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

static uint64_t procmap_cursor_number(struct procmap_cursor *cur, unsigned int base)
{
	const char *begin = cur->p;
	uint64_t value = 0;
	unsigned int digit;

	for (; cur->p < cur->end; cur->p++) {
		digit = procmap_digit(*cur->p);
		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			cur->bad = true;
		value = value * base + digit;
	}
	if (cur->p == begin)
		cur->bad = true;
	return value;
}

static unsigned int procmap_cursor_perm(struct procmap_cursor *cur, char on, char off,
					unsigned int flag)
{
	if (cur->p < cur->end && *cur->p == on) {
		cur->p++;
		return flag;
	}
	procmap_cursor_skip(cur, off);
	return 0;
}

static int procmap_text_parse(struct procmap_text *text, const char *begin, const char *end)
{
	struct procmap_cursor cur = { .p = begin, .end = end };
	struct procmap_vma *vma = &text->line;

	vma->start = procmap_cursor_number(&cur, 16);
	procmap_cursor_skip(&cur, '-');
	vma->end = procmap_cursor_number(&cur, 16);
	procmap_cursor_skip(&cur, ' ');
	vma->flags = procmap_cursor_perm(&cur, 'r', '-', PROCMAP_READ);
	vma->flags |= procmap_cursor_perm(&cur, 'w', '-', PROCMAP_WRITE);
	vma->flags |= procmap_cursor_perm(&cur, 'x', '-', PROCMAP_EXEC);
	vma->flags |= procmap_cursor_perm(&cur, 's', 'p', PROCMAP_SHARED);
	procmap_cursor_skip(&cur, ' ');
	vma->offset = procmap_cursor_number(&cur, 16);
	procmap_cursor_skip(&cur, ' ');
	vma->dev_major = procmap_cursor_number(&cur, 16);
	procmap_cursor_skip(&cur, ':');
	vma->dev_minor = procmap_cursor_number(&cur, 16);
	procmap_cursor_skip(&cur, ' ');
	vma->inode = procmap_cursor_number(&cur, 10);
	procmap_cursor_skip(&cur, ' ');
	if (cur.bad || vma->start >= vma->end) {
		errno = EPROTO;
		return -1;
	}
	/*
	 * No file system has device 0:0, so this tells whether there is a file.
	 */
	if (vma->inode || vma->dev_major || vma->dev_minor)
		vma->flags |= PROCMAP_FILE;

	/*
	 * Skip padding. No name begins with a space, but a name may end with
	 * one.
	 */
	while (cur.p < end && *cur.p == ' ')
		cur.p++;
	text->name = cur.p;
	text->name_len = end - cur.p;
	return 0;
}

/*
 * The text shows a page that all processes share. It is no VMA of the process.
 */
static bool procmap_text_is_gate(const struct procmap_text *text)
{
	static const char gate[] = "[vsyscall]";

	return text->name_len == sizeof(gate) - 1 && !memcmp(text->name, gate, text->name_len);
}

/*
 * Make space after the tail: drop the lines that are done. Of a line that fills the
 * buffer keep the beginning. However much comes after it, its name is too long, also
 * if it has newlines only.
 */
static int procmap_text_make_space(struct procmap_text *text)
{
	static_assert(PROCMAP_TEXT_BUF - PROCMAP_NAME_LIMIT > 5 * PROCMAP_NAME_LIMIT, "buffer");

	if (!text->buf)
		text->buf = malloc(PROCMAP_TEXT_BUF);
	if (!text->buf)
		return -1;
	memmove(text->buf, text->buf + text->head, text->tail - text->head);
	text->tail -= text->head;
	text->head = 0;
	if (text->tail == PROCMAP_TEXT_BUF)
		text->tail -= PROCMAP_NAME_LIMIT;
	return 0;
}

/* Read until there is a whole line. Return: 1; 0 at the end; -1 with errno. */
static int procmap_text_fill(struct procmap_text *text, int fd, char **newline)
{
	size_t seen = text->head;
	ssize_t got;

	for (;;) {
		*newline = NULL;
		if (text->tail > seen)
			*newline = memchr(text->buf + seen, '\n', text->tail - seen);
		if (*newline)
			return 1;
		if (procmap_text_make_space(text))
			return -1;
		seen = text->tail;
		/*
		 * Not read(): others may share the descriptor and its position. They must
		 * not read now: see procmap_open_fd().
		 */
		got = pread(fd, text->buf + text->tail, PROCMAP_TEXT_BUF - text->tail, text->pos);
		if (got < 0)
			return -1;
		if (!got)
			break;
		text->tail += got;
		text->pos += got;
	}
	if (text->tail != text->head) {
		errno = EPROTO;
		return -1;
	}
	return 0;
}

/*
 * The text has ended. Is this the end of the mappings, or did the process exit?
 * After an exit the text just ends. While the process exists, the text has a
 * first line, unless everything is unmapped and there is no [vsyscall].
 */
static int procmap_text_end(struct procmap_text *text, int fd)
{
	ssize_t got = 0;
	char c;

	if (text->any) {
		got = pread(fd, &c, 1, 0);
		if (got < 0)
			return -1;
	}
	if (!got) {
		errno = ESRCH;
		return -1;
	}
	text->eof = true;
	return 0;
}

/* Go to the next line. Return: 1; 0 at the end; -1 with errno. */
static int procmap_text_advance(struct procmap_text *text, int fd)
{
	char *newline;
	int ret;

	if (text->eof)
		return 0;
	if (text->have_line)
		text->prev_end = text->line.end;
	text->have_line = false;
	do {
		ret = procmap_text_fill(text, fd, &newline);
		if (ret < 0)
			return -1;
		if (!ret)
			return procmap_text_end(text, fd);
		text->any = true;
		if (procmap_text_parse(text, text->buf + text->head, newline))
			return -1;
		text->head = newline + 1 - text->buf;
	} while (procmap_text_is_gate(text));
	text->have_line = true;
	return 1;
}

/* Copy the name. Undo the escaping, which the text does only for paths. */
static int procmap_text_copy_name(const struct procmap_text *text, struct procmap_vma *vma)
{
	const char *from = text->name, *end = from + text->name_len;
	const size_t escape = sizeof(procmap_text_newline);
	bool exact = true;
	char *to;

	if (procmap_vma_reserve_name(vma, text->name_len + 1))
		return -1;
	for (to = vma->name_buf; from < end; to++) {
		if ((vma->flags & PROCMAP_FILE) && (size_t)(end - from) >= escape &&
		    !memcmp(from, procmap_text_newline, escape)) {
			*to = '\n';
			from += escape;
			exact = false;
		} else {
			*to = *from++;
		}
	}
	if (to - vma->name_buf >= (ptrdiff_t)PROCMAP_NAME_LIMIT)
		return 0;
	*to = '\0';
	vma->name = vma->name_buf;
	if (exact)
		vma->known |= PROCMAP_KNOWN_NAME;
	return 0;
}

static int procmap_text_answer(const struct procmap_text *text, unsigned int flags,
			       struct procmap_vma *vma)
{
	const struct procmap_vma *line = &text->line;

	vma->start = line->start;
	vma->end = line->end;
	vma->offset = line->offset;
	vma->inode = line->inode;
	vma->dev_major = line->dev_major;
	vma->dev_minor = line->dev_minor;
	vma->flags = line->flags;
	if (!(flags & PROCMAP_NAME))
		return 0;
	if (text->name_len)
		return procmap_text_copy_name(text, vma);
	vma->known |= PROCMAP_KNOWN_NAME;
	return 0;
}

static void procmap_text_rewind(struct procmap_text *text)
{
	text->head = 0;
	text->tail = 0;
	text->pos = 0;
	text->prev_end = 0;
	text->have_line = false;
	text->any = false;
	text->eof = false;
}

int procmap_text_find(struct procmap *pm, uint64_t addr, unsigned int flags, bool going_on,
		      struct procmap_vma *vma)
{
	struct procmap_text *text = &pm->text;
	const struct procmap_vma *line = &text->line;
	unsigned int filters = flags & PROCMAP_FILTERS;
	int ret;

	procmap_vma_clear(vma);
	if (!going_on ||
	    (addr < text->prev_end && (addr < text->addr || filters != text->filters)))
		procmap_text_rewind(text);
	text->addr = addr;
	text->filters = filters;
	for (;;) {
		if (text->have_line && line->start > addr && !(flags & PROCMAP_OR_NEXT))
			break;
		if (text->have_line && line->end > addr && (line->flags & filters) == filters)
			return procmap_text_answer(text, flags, vma);
		ret = procmap_text_advance(text, pm->fd);
		if (ret < 0)
			return -1;
		if (!ret)
			break;
	}
	errno = ENOENT;
	return -1;
}
