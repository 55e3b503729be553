// SPDX-License-Identifier: GPL-2.0
/*
 * The passes of procmap_bench over the text, and build IDs as a program must read
 * them that has only the text. Of a line that is not needed, the passes parse
 * only enough to know that. They read nothing after the last address. So the text
 * does not lose because it is read badly.
 */
#include <fcntl.h>
#include <string.h>
#include <linux/elf.h>
#include "bench.h"

#define ID_HEAD		4096	/* first read; it is enough for nearly all files */
#define ID_HEADERS	64	/* the most program headers that it looks at */
#define ID_TYPE		3	/* NT_GNU_BUILD_ID */

/* A file whose first bytes are in memory. */
struct id_file {
	int fd;
	size_t have;
	char head[ID_HEAD];
};

/* Copy bytes of the file; false if the file does not have them. */
static bool id_get(const struct id_file *file, __u64 at, void *to, size_t size)
{
	if (at <= file->have && size <= file->have - at) {
		memcpy(to, file->head + at, size);
		return true;
	}
	return pread(file->fd, to, size, at) == (ssize_t)size;
}

static bool id_note(const struct id_file *file, __u64 at, __u64 size, __u64 align,
		    unsigned char *build_id, __u32 *id_size)
{
	const __u64 end = at + size, mask = align == 8 ? 7 : 3;
	struct elf64_note note;
	char name[4];

	while (at < end && id_get(file, at, &note, sizeof(note))) {
		__u64 name_at = at + sizeof(note);
		__u64 desc_at = name_at + ((note.n_namesz + mask) & ~mask);

		if (note.n_type == ID_TYPE && note.n_namesz == 4 && note.n_descsz &&
		    note.n_descsz <= BENCH_BUILD_ID_MAX && id_get(file, name_at, name, 4) &&
		    !memcmp(name, "GNU", 4) && id_get(file, desc_at, build_id, note.n_descsz)) {
			*id_size = note.n_descsz;
			return true;
		}
		at = desc_at + ((note.n_descsz + mask) & ~mask);
	}
	return false;
}

/* Search only files of the own word size: a benchmark meets no others. */
static void id_search(const struct id_file *file, unsigned char *build_id, __u32 *size)
{
#if __SIZEOF_LONG__ == 8
	struct elf64_hdr ehdr;
	struct elf64_phdr phdr;
#else
	struct elf32_hdr ehdr;
	struct elf32_phdr phdr;
#endif
	unsigned int i;

	if (!id_get(file, 0, &ehdr, sizeof(ehdr)) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG))
		return;
	for (i = 0; i < ehdr.e_phnum && i < ID_HEADERS; i++) {
		if (!id_get(file, ehdr.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return;
		if (phdr.p_type == PT_NOTE &&
		    id_note(file, phdr.p_offset, phdr.p_filesz, phdr.p_align, build_id, size))
			return;
	}
}

/* Read the build ID of a file; its size is 0 if it has none. */
static int id_read(const char *path, unsigned char *build_id, __u32 *size)
{
	struct id_file file;
	ssize_t done;

	*size = 0;
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file.fd < 0)
		return -errno;
	done = pread(file.fd, file.head, sizeof(file.head), 0);
	if (done >= 0) {
		file.have = done;
		id_search(&file, build_id, size);
	}
	close(file.fd);
	return done < 0 ? -EIO : 0;
}

#define TEXT_BUFFER	65536
#define TEXT_LINE	40	/* bytes that each line has, at least */

/* Reads the text line by line. */
struct text {
	int fd;
	char *buffer;
	size_t head;		/* first byte after the current line */
	size_t tail;		/* first byte that was not read */
};

static int text_open(struct text *text, struct bench_pass *pass)
{
	memset(text, 0, sizeof(*text));
	text->buffer = pass->buffer;
	text->fd = maps_open(pass->pid);
	return text->fd < 0 ? text->fd : 0;
}

/* Read more. The rest, less than a line, moves to the front. Returns 1, 0 at the end, or -errno. */
static int text_fill(struct text *text)
{
	ssize_t done;

	text->tail -= text->head;
	memmove(text->buffer, text->buffer + text->head, text->tail);
	text->head = 0;
	if (text->tail == TEXT_BUFFER)
		return -E2BIG;
	done = read(text->fd, text->buffer + text->tail, TEXT_BUFFER - text->tail);
	if (done <= 0)
		return done ? -errno : 0;
	text->tail += done;
	return 1;
}

/* Return 1 with a line that ends with a newline, 0 at the end, or -errno. */
static int text_line(struct text *text, char **line)
{
	size_t seen = text->head;
	char *newline;
	int more;

	for (;;) {
		newline = memchr(text->buffer + seen, '\n', text->tail - seen);
		if (newline) {
			*line = text->buffer + text->head;
			text->head = newline + 1 - text->buffer;
			return 1;
		}
		seen = text->tail - text->head;
		more = text_fill(text);
		if (more <= 0)
			return more;
	}
}

static inline __u64 text_hex(char **at)
{
	__u64 value = 0;
	unsigned char c;

	for (;; ++*at) {
		c = **at;
		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10);
		else
			return value;
	}
}

static inline __u64 text_decimal(char **at)
{
	__u64 value = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + **at - '0';
	return value;
}

/* Parse a line from the offset on. Returns the place of the name. */
static inline char *text_file(char *at, struct bench_vma *vma)
{
	vma->offset = text_hex(&at);
	at++;
	vma->dev_major = text_hex(&at);
	at++;
	vma->dev_minor = text_hex(&at);
	at++;
	vma->inode = text_decimal(&at);
	while (*at == ' ')
		at++;
	return at;
}

/* Read the build ID of the mapped file, if it can have one. */
static int text_build_id(struct bench_pass *pass, struct bench_vma *vma)
{
	const struct bench_vma *same;
	char path[96];

	if (!vma->inode && !vma->dev_major && !vma->dev_minor)
		return 0;
	same = bench_pass_same_file(pass);
	if (same) {
		vma->build_id_size = same->build_id_size;
		memcpy(vma->build_id, same->build_id, sizeof(vma->build_id));
		return 0;
	}
	/*
	 * Not by its path: another file may have that path by now, or the
	 * process may have another root.
	 */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pass->pid, vma->start,
		 vma->end);
	return id_read(path, vma->build_id, &vma->build_id_size);
}

/* Parse the rest of the current line from the offset on: @at is after the permissions. */
static int text_take(struct bench_pass *pass, const struct text *text, __u64 start, __u64 end,
		     char *at)
{
	const char *newline = text->buffer + text->head - 1;
	struct bench_vma head = { .start = start, .end = end }, *vma;

	at = text_file(at + 1, &head);
	vma = bench_pass_add(pass, at, pass->no_names ? 0 : newline - at);
	if (!vma)
		return -ENOMEM;
	head.name = vma->name;
	*vma = head;
	return pass->build_id ? text_build_id(pass, vma) : 0;
}

/*
 * Store the last VMA, or none, for all addresses before @end. Returns the
 * number of the next address.
 */
static size_t text_index(struct bench_pass *pass, size_t i, __u64 start, __u64 end, bool found)
{
	for (; i < pass->addresses && pass->address[i] < end; i++)
		pass->index[i] = found && pass->address[i] >= start ? pass->nr - 1 :
				 BENCH_NOT_MAPPED;
	return i;
}

int bench_symbolize_text(struct bench_pass *pass)
{
	struct text text;
	__u64 start, end;
	char *line;
	size_t i = 0;
	int err;

	bench_pass_begin(pass);
	err = text_open(&text, pass);
	if (err)
		return err;
	while (i < pass->addresses && (err = text_line(&text, &line)) > 0) {
		bool hit;

		start = text_hex(&line);
		line++;
		end = text_hex(&line);
		/* Addresses in the hole before this VMA have no VMA. */
		i = text_index(pass, i, start, start, false);
		hit = i < pass->addresses && pass->address[i] < end;
		/* The text ends with [vsyscall], which is no VMA of the process. */
		if (hit && start >= 1ull << 63)
			break;
		err = hit ? text_take(pass, &text, start, end, line + 5) : 0;
		if (err)
			break;
		i = text_index(pass, i, start, end, hit);
	}
	close(text.fd);
	if (err >= 0)
		text_index(pass, i, 0, ~0ull, false);
	return err < 0 ? err : 0;
}

int bench_synthesize_text(struct bench_pass *pass)
{
	struct text text;
	char *line, *at;
	__u64 start;
	int err;

	bench_pass_begin(pass);
	err = text_open(&text, pass);
	if (err)
		return err;
	while ((err = text_line(&text, &line)) > 0) {
		/* The position of the permissions depends on the number of digits. */
		for (at = line; *at != ' ';)
			at++;
		if (at[3] != 'x')
			continue;
		start = text_hex(&line);
		line++;
		err = text_take(pass, &text, start, text_hex(&line), at + 5);
		if (err)
			break;
		if (!pass->vma[pass->nr - 1].inode)
			pass->nr--;
	}
	close(text.fd);
	return err < 0 ? err : 0;
}

/* Take all whole lines of the buffer, which begins with one. There is space. */
static void dump_lines(struct bench_pass *pass, struct text *text)
{
	char *end = memrchr(text->buffer, '\n', text->tail), *newline;
	struct bench_vma *vma = pass->vma + pass->nr;
	char *name = pass->names + pass->used;
	char *at = text->buffer;

	while (at < end) {
		vma->start = text_hex(&at);
		at++;
		vma->end = text_hex(&at);
		vma->flags = (at[1] == 'r') | (at[2] == 'w') << 1 | (at[3] == 'x') << 2 |
			     (at[4] == 's') << 3;
		at = text_file(at + 6, vma);
		newline = memchr(at, '\n', end + 1 - at);
		vma->name = name - pass->names;
		vma++;
		memcpy(name, at, newline - at);
		name += newline - at;
		*name++ = 0;
		at = newline + 1;
	}
	text->head = at - text->buffer;
	pass->nr = vma - pass->vma;
	pass->used = name - pass->names;
}

int bench_dump_text(struct bench_pass *pass)
{
	struct text text;
	int err;

	bench_pass_begin(pass);
	err = text_open(&text, pass);
	if (err)
		return err;
	while ((err = text_fill(&text)) > 0) {
		err = bench_pass_space(pass, TEXT_BUFFER / TEXT_LINE, TEXT_BUFFER);
		if (err)
			break;
		dump_lines(pass, &text);
	}
	close(text.fd);
	/* The text ends with [vsyscall], which is no VMA of the process. */
	if (pass->nr && pass->vma[pass->nr - 1].start >= 1ull << 63)
		pass->nr--;
	return err;
}
