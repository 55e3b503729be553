// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of /proc/<pid>/maps that stop after a line, or inside of one, before
 * the process changes. No read runs meanwhile, so each outcome is known.
 *
 * The table has all changes, with the area before and after each of them. The
 * test does each change for each position of the reader. What the reader must
 * get then follows from four rules:
 *
 * - The position is where the next line began, before the change. The rest of
 *   the line that the reader has begun comes as it was then.
 * - One line follows for each VMA that now ends above the position.
 * - All lines are those of whole VMAs. So the first line after the change may
 *   begin below the position, as in the text under mmap_lock.
 *
 * So each address that stays mapped is shown, and none twice but by that line. The
 * test counts this by page, apart from the rules.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "procmap_harness.h"
#include "stall.h"

/* Free in every static program. */
#define AREA		0x60000000UL
#define AREA_PAGES	16U
#define NR_FILES	2
/* More than the offset of any page of the area. */
#define FILE_PAGES	64

#define LINES		64
#define LINE_ROOM	512
#define TEXT_ROOM	(LINES * LINE_ROOM)
/* How much of a line to read to stop inside of it. */
#define PART		10

/**
 * struct kind - what a letter of a drawing stands for
 * @letter: the letter; each one is a page, '.' is a page that is not mapped
 * @perms: the permissions as the text shows them
 * @prot: the permissions as mmap() takes them
 * @flags: of mmap()
 * @advice: for madvise(); 0: none
 * @file: number of the file, -1 for none
 * @shift: offset of the page in the file less its number in the area, in pages
 */
struct kind {
	char letter;
	const char *perms;
	int prot;
	int flags;
	int advice;
	int file;
	unsigned int shift;
};

static const struct kind kinds[] = {
	{ 'n', "---p", PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0, -1, 0 },
	{ 'r', "r--p", PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0, -1, 0 },
	{ 'x', "r-xp", PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, 0, -1, 0 },
	{ 'w', "rw-p", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0, -1, 0 },
	/* The text shows these two like 'w', but they do not merge with it. */
	{ 'd', "rw-p", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MADV_DONTFORK, -1, 0 },
	{ 's', "rw-p", PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, 0, -1,
	  0 },
	{ 'F', "r--p", PROT_READ, MAP_PRIVATE, 0, 0, 0 },
	{ 'E', "r-xp", PROT_READ | PROT_EXEC, MAP_PRIVATE, 0, 0, 0 },
	{ 'M', "r--s", PROT_READ, MAP_SHARED, 0, 0, 0 },
	{ 'H', "r--p", PROT_READ, MAP_PRIVATE, 0, 0, 8 },
	{ 'G', "r--p", PROT_READ, MAP_PRIVATE, 0, 1, 0 },
};

enum verb { DONE, MAP, UNMAP, PROTECT, ADVISE, MOVE, RESIZE, TOUCH };

/**
 * struct step - a call that changes the area
 * @verb: which call
 * @page: where
 * @pages: how many
 * @to: MOVE: the new place; RESIZE: the new number of pages; MAP, PROTECT and
 *	ADVISE: the letter of the result
 */
struct step {
	enum verb verb;
	unsigned int page;
	unsigned int pages;
	unsigned int to;
};

/**
 * struct change - a change, and all that it may do to the area
 * @name: what it does
 * @before: drawing of the area before
 * @after: drawing of the area after it, the only legal one
 * @steps: how to do it
 */
struct change {
	const char *name;
	const char *before;
	const char *after;
	struct step steps[2];
};

/* The pages have the numbers 0123456789abcdef. */
static const struct change changes[] = {
	{ "split: the middle",		"n.wwwwwwww.n",
					"n.wwwxxwww.n", { { PROTECT, 5, 2, 'x' } } },
	{ "split: the head",		"n.wwwwwwww.n",
					"n.xxwwwwww.n", { { PROTECT, 2, 2, 'x' } } },
	{ "split: the tail",		"n.wwwwwwww.n",
					"n.wwwwwwxx.n", { { PROTECT, 8, 2, 'x' } } },
	{ "split: of a file",		"nFFFFFFFFn",
					"nFFFEEFFFn", { { PROTECT, 4, 2, 'E' } } },
	{ "split: into pages",		"nwwwwwn",
					"nwxwxwn", { { PROTECT, 2, 1, 'x' },
						       { PROTECT, 4, 1, 'x' } } },
	{ "split: not to be seen",	"n.wwwwww.n",
					"n.wwddww.n", { { ADVISE, 4, 2, 'd' } } },
	{ "merge: three into one",	"n.wwwxxwww.n",
					"n.wwwwwwww.n", { { PROTECT, 5, 2, 'w' } } },
	{ "merge: three of a file",	"nFFFEEFFFn",
					"nFFFFFFFFn", { { PROTECT, 4, 2, 'F' } } },
	{ "merge: the head",		"nxxwwwwn",
					"nwwwwwwn", { { PROTECT, 1, 2, 'w' } } },
	{ "merge: the tail",		"nwwwwxxn",
					"nwwwwwwn", { { PROTECT, 5, 2, 'w' } } },
	{ "merge: part of the next",	"nwwxxxxn",
					"nwwwwxxn", { { PROTECT, 3, 2, 'w' } } },
	{ "merge: part of the last",	"nwwwwxxn",
					"nwwxxxxn", { { PROTECT, 3, 2, 'x' } } },
	{ "merge: single pages",	"nwxwxwn",
					"nwwwwwn", { { PROTECT, 1, 5, 'w' } } },
	{ "merge: mmap() between",	"n.www..www.n",
					"n.wwwwwwww.n", { { MAP, 5, 2, 'w' } } },
	{ "merge: mmap() of a file",	"nFFF..FFFn",
					"nFFFFFFFFn", { { MAP, 4, 2, 'F' } } },
	{ "merge: mmap() over",		"nFFFGGFFFn",
					"nFFFFFFFFn", { { MAP, 4, 2, 'F' } } },
	{ "merge: not to be seen",	"n.wwddww.n",
					"n.wwwwww.n", { { ADVISE, 4, 2, 'w' } } },
	{ "grow: the end",		"n.www....n",
					"n.wwwww..n", { { MAP, 5, 2, 'w' } } },
	{ "grow: up to the next",	"n.www..rrn",
					"n.wwwwwrrn", { { MAP, 5, 2, 'w' } } },
	{ "grow: the start",		"n....www.n",
					"n..wwwww.n", { { MAP, 3, 2, 'w' } } },
	{ "grow: the start of a file",	"n....FFF.n",
					"n..FFFFF.n", { { MAP, 3, 2, 'F' } } },
	{ "grow: mremap()",		"n.www....n",
					"n.wwwwww.n", { { RESIZE, 2, 3, 6 } } },
	{ "grow: mremap() of a file",	"n.FFF....n",
					"n.FFFFFF.n", { { RESIZE, 2, 3, 6 } } },
	{ "grow: a stack",		"nn.....ssn",
					"nn..sssssn", { { TOUCH, 4, 1, 0 } } },
	{ "grow: a stack, all it can",	"nn.....ssn",
					"nnsssssssn", { { TOUCH, 2, 1, 0 } } },
	{ "shrink: the head",		"n.wwwwww.n",
					"n...wwww.n", { { UNMAP, 2, 2, 0 } } },
	{ "shrink: the tail",		"n.wwwwww.n",
					"n.wwww...n", { { UNMAP, 6, 2, 0 } } },
	{ "shrink: all but one page",	"n.wwwwww.n",
					"n....w...n", { { UNMAP, 2, 3, 0 }, { UNMAP, 6, 2, 0 } } },
	{ "shrink: the middle",		"n.wwwwww.n",
					"n.ww..ww.n", { { UNMAP, 4, 2, 0 } } },
	{ "shrink: the head of a file",	"n.FFFFFF.n",
					"n...FFFF.n", { { UNMAP, 2, 2, 0 } } },
	{ "shrink: mremap()",		"n.wwwwww.n",
					"n.www....n", { { RESIZE, 2, 6, 3 } } },
	{ "shrink: a stack",		"nn..sssssn",
					"nn.....ssn", { { UNMAP, 4, 3, 0 } } },
	{ "move: up",			"n.ww.rrr......xn",
					"n....rrr..ww..xn", { { MOVE, 2, 2, 10 } } },
	{ "move: down",			"n....rrr..ww..xn",
					"n.ww.rrr......xn", { { MOVE, 10, 2, 2 } } },
	{ "move: up, over another",	"n.ww.rrrr.n",
					"n....rwwr.n", { { MOVE, 2, 2, 6 } } },
	{ "move: down, over another",	"n.rrrr.ww.n",
					"n.rwwr....n", { { MOVE, 7, 2, 3 } } },
	{ "move: up, a part",		"n.wwwwww.....n",
					"n.ww..ww.ww..n", { { MOVE, 4, 2, 9 } } },
	{ "move: down, a part",		"n......wwwwwwn",
					"n.ww...ww..wwn", { { MOVE, 9, 2, 2 } } },
	{ "move: up, and merge",	"n.ww..x..ww.n",
					"n.....xwwww.n", { { MOVE, 2, 2, 7 } } },
	{ "move: down, and merge",	"n.ww..x..ww.n",
					"n.wwwwx.....n", { { MOVE, 9, 2, 4 } } },
	{ "move: up, a file",		"n.HH.rr.....n",
					"n....rr...FFn", { { MOVE, 2, 2, 10 } } },
	{ "move: down, a file",		"n....rr...FFn",
					"n.HH.rr.....n", { { MOVE, 10, 2, 2 } } },
	{ "move: two in a row",		"n.ww..xx......n",
					"n.....ww.xx...n", { { MOVE, 6, 2, 9 },
							       { MOVE, 2, 2, 6 } } },
	{ "remap: all",			"n.wwww.n",
					"n.xxxx.n", { { MAP, 2, 4, 'x' } } },
	{ "remap: another file",	"n.FFFF.n",
					"n.GGGG.n", { { MAP, 2, 4, 'G' } } },
	{ "remap: the middle",		"n.FFFFFF.n",
					"n.FFGGFF.n", { { MAP, 4, 2, 'G' } } },
	{ "remap: another offset",	"n.FFFF.n",
					"n.FHHF.n", { { MAP, 3, 2, 'H' } } },
	{ "remap: shared",		"n.FFFF.n",
					"n.MMMM.n", { { MAP, 2, 4, 'M' } } },
	{ "remap: the border of two",	"n.wwwxxx.n",
					"n.wwrrxx.n", { { MAP, 4, 2, 'r' } } },
	{ "remap: several and holes",	"n.w.x.F.n",
					"n.rrrrr.n", { { MAP, 2, 5, 'r' } } },
	{ "munmap: one",		"n.www.xxx.n",
					"n.....xxx.n", { { UNMAP, 2, 3, 0 } } },
	{ "munmap: one of a row",	"nwxrwn",
					"nwx.wn", { { UNMAP, 3, 1, 0 } } },
	{ "munmap: several",		"n.w.xx.F.n",
					"n........n", { { UNMAP, 1, 8, 0 } } },
	{ "munmap: all",		"nwxrw.F",
					".......", { { UNMAP, 0, 7, 0 } } },
	{ "mmap: in a hole",		"n.www.....xxx.n",
					"n.www.rrr.xxx.n", { { MAP, 6, 3, 'r' } } },
	{ "mmap: a whole hole",		"n.www..xxx.n",
					"n.wwwFFxxx.n", { { MAP, 5, 2, 'F' } } },
	{ "mmap: single pages",		"n.w.x.w.n",
					"nrwrx.w.n", { { MAP, 1, 1, 'r' }, { MAP, 3, 1, 'r' } } },
	{ "mmap: before and after",	"....n.w.n",
					"rr..n.w.nF", { { MAP, 0, 2, 'r' }, { MAP, 9, 1, 'F' } } },
};

/**
 * struct line - a line of the text
 * @start: where it begins
 * @end: where it ends
 * @text: all its bytes, with the newline
 */
struct line {
	unsigned long start;
	unsigned long end;
	char text[LINE_ROOM];
};

struct lines {
	unsigned int nr;
	struct line line[LINES];
};

/* The files, which the process inherits. */
static struct {
	int fd;
	struct stat st;
} files[NR_FILES];

static unsigned long addr_of(unsigned int page)
{
	return AREA + (unsigned long)page * getpagesize();
}

static void *at(unsigned int page)
{
	return (void *)addr_of(page);
}

static size_t bytes(unsigned int pages)
{
	return (size_t)pages * getpagesize();
}

static const struct kind *kind_of(char letter)
{
	const struct kind *kind = kinds;

	while (kind->letter != letter)
		kind++;
	return kind;
}

static char page_of(const char *drawing, unsigned int page)
{
	return page < strlen(drawing) ? drawing[page] : '.';
}

/* Return the page after the VMA that begins at @page. */
static unsigned int end_of(const char *drawing, unsigned int page)
{
	unsigned int end = page + 1;

	while (end < AREA_PAGES && page_of(drawing, end) == page_of(drawing, page))
		end++;
	return end;
}

static bool make_files(void)
{
	char name[] = "race-0";
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		name[sizeof(name) - 2] = '0' + i;
		files[i].fd = memfd_create(name, MFD_CLOEXEC);
		if (files[i].fd < 0 || ftruncate(files[i].fd, bytes(FILE_PAGES)) ||
		    fstat(files[i].fd, &files[i].st))
			return false;
	}
	return true;
}

/* MAP_NORESERVE: accounted memory would not merge with what is not. */
static bool map(char letter, unsigned int page, unsigned int pages)
{
	const struct kind *kind = kind_of(letter);
	bool anonymous = kind->file < 0;
	void *map = mmap(at(page), bytes(pages), kind->prot,
			 kind->flags | MAP_FIXED | MAP_NORESERVE,
			 anonymous ? -1 : files[kind->file].fd,
			 anonymous ? 0 : bytes(page + kind->shift));

	return map == at(page) &&
	       (!kind->advice || !madvise(at(page), bytes(pages), kind->advice));
}

static bool draw(const char *drawing)
{
	unsigned int page = 0;

	if (munmap(at(0), bytes(AREA_PAGES)))
		return false;
	for (; page < AREA_PAGES; page = end_of(drawing, page))
		if (page_of(drawing, page) != '.' &&
		    !map(page_of(drawing, page), page, end_of(drawing, page) - page))
			return false;
	return true;
}

static bool take(const struct step *step)
{
	void *from = at(step->page);
	size_t size = bytes(step->pages);

	switch (step->verb) {
	case MAP:
		return map(step->to, step->page, step->pages);
	case UNMAP:
		return !munmap(from, size);
	case PROTECT:
		return !mprotect(from, size, kind_of(step->to)->prot);
	case ADVISE:
		return !madvise(from, size, kind_of(step->to)->advice ?: MADV_DOFORK);
	case MOVE:
		return mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at(step->to)) ==
		       at(step->to);
	case RESIZE:
		return mremap(from, size, bytes(step->to), 0) == from;
	case TOUCH:
		__atomic_store_n((char *)from, 1, __ATOMIC_RELAXED);
		return true;
	default:
		return true;
	}
}

#define CHANGE_IT	0x10000U

/*
 * Say when the area is empty. Then each message is the number of a change: draw
 * its area, or do it.
 */
static int be_changed(struct procmap_child *parent, void *arg)
{
	__u64 message;

	if (procmap_send(parent, draw("")))
		return 1;
	while (!procmap_recv(parent, &message)) {
		const struct change *change = &changes[message % CHANGE_IT];
		bool good;

		if (message & CHANGE_IT)
			good = HOLDS(take(&change->steps[0])) && HOLDS(take(&change->steps[1]));
		else
			good = HOLDS(draw(change->before));
		if (procmap_send(parent, good))
			break;
	}
	return 0;
}

/* A process, and the lines of it that do not change. */
struct process {
	struct procmap_child child;
	unsigned int column;
	struct lines below;
	struct lines above;
};

static bool is_done(struct process *process)
{
	__u64 good;

	return !procmap_recv(&process->child, &good) && good;
}

static bool tell(struct process *process, __u64 message)
{
	return !procmap_send(&process->child, message) && is_done(process);
}

static int open_maps(struct process *process)
{
	return maps_open(process->child.pid);
}

static void print_line(const struct process *process, struct line *line, char letter)
{
	const struct kind *kind = kind_of(letter);
	struct stat none = { 0 }, *st = kind->file < 0 ? &none : &files[kind->file].st;
	__u64 offset = kind->file < 0 ? 0 : line->start - AREA + bytes(kind->shift);
	int used = snprintf(line->text, LINE_ROOM, "%08lx-%08lx %s %08llx %02x:%02x %llu ",
			    line->start, line->end, kind->perms, (unsigned long long)offset,
			    major(st->st_dev), minor(st->st_dev), (unsigned long long)st->st_ino);

	if (kind->file >= 0)
		used += snprintf(line->text + used, LINE_ROOM - used, "%*s/memfd:race-%d (deleted)",
				 (int)process->column - used, "", kind->file);
	strcpy(line->text + used, "\n");
}

/* Apply the rules: add the lines of a drawing for a reader at @position. */
static void add_drawing(const struct process *process, struct lines *lines, const char *drawing,
			unsigned long position)
{
	unsigned int page, end;

	for (page = 0; page < AREA_PAGES; page = end) {
		struct line *line = &lines->line[lines->nr];

		end = end_of(drawing, page);
		if (page_of(drawing, page) == '.' || addr_of(end) <= position)
			continue;
		line->start = addr_of(page);
		line->end = addr_of(end);
		print_line(process, line, page_of(drawing, page));
		lines->nr++;
	}
}

static void add_lines(struct lines *lines, const struct lines *more, unsigned long position)
{
	unsigned int i;

	for (i = 0; i < more->nr; i++)
		if (more->line[i].end > position)
			lines->line[lines->nr++] = more->line[i];
}

/* The lines that a reader at @position must get. */
static void expect(const struct process *process, struct lines *lines, const char *drawing,
		   unsigned long position)
{
	lines->nr = 0;
	add_lines(lines, &process->below, position);
	add_drawing(process, lines, drawing, position);
	add_lines(lines, &process->above, position);
}

static size_t join(const struct lines *lines, char *text)
{
	size_t used = 0;
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < lines->nr; i++)
		used += strlen(strcpy(text + used, lines->line[i].text));
	return used;
}

/* Read to the end. */
static bool read_text(int fd, char *text)
{
	size_t used = 0;
	ssize_t got;

	do {
		got = read(fd, text + used, TEXT_ROOM - 1 - used);
		if (got > 0)
			used += got;
	} while (got > 0);
	text[used] = '\0';
	return !got;
}

/* Read the lines of a process that has nothing in the area. */
static bool learn(struct process *process)
{
	int fd = open_maps(process);
	char text[TEXT_ROOM], *from = text, *end;

	if (fd < 0 || !read_text(fd, text) || close(fd))
		return false;
	for (; *from; from = end + 1) {
		unsigned long start = strtoul(from, NULL, 16);
		struct lines *lines = start < AREA ? &process->below : &process->above;
		struct line *line = &lines->line[lines->nr++];

		end = strchr(from, '\n');
		if (!end || end - from >= LINE_ROOM - 1 || lines->nr == LINES / 2)
			return false;
		line->start = start;
		line->end = strtoul(strchr(from, '-') + 1, NULL, 16);
		memcpy(line->text, from, end + 1 - from);
		if (memchr(from, '/', end - from))
			process->column = (char *)memchr(from, '/', end - from) - from;
	}
	return process->below.nr && process->above.nr && process->column;
}

/* Read exactly this. */
static bool get(int fd, const char *text, size_t size)
{
	char got[LINE_ROOM];
	ssize_t ret = read(fd, got, size);

	if (ret == (ssize_t)size && !memcmp(got, text, size))
		return true;
	fprintf(stderr, "# expected %.*s# got %zd bytes: %.*s\n", (int)size, text, ret,
		(int)(ret < 0 ? 0 : ret), got);
	return false;
}

/**
 * struct reader - how a reader reads, and what it has read
 * @inside: stop inside of the line after the position
 * @by_line: after the change, read one line at a time
 * @fd: its descriptor
 * @begun: how many lines it has begun
 * @read: how many bytes it has read
 * @position: the start of the line after that which it has begun
 * @lines: first the lines before the change; then all that it must get
 */
struct reader {
	bool inside;
	bool by_line;
	int fd;
	unsigned int begun;
	size_t read;
	unsigned long position;
	struct lines lines;
};

/*
 * Read @nr lines. A read() of the length of a line makes the kernel print no
 * more than this line.
 */
static bool read_to(struct process *process, struct reader *reader, const char *drawing,
		    unsigned int nr)
{
	const struct line *line = reader->lines.line;

	expect(process, &reader->lines, drawing, 0);
	reader->position = 0;
	reader->read = 0;
	reader->fd = open_maps(process);
	if (reader->fd < 0 || nr > reader->lines.nr)
		return false;
	for (reader->begun = 0; reader->begun < nr; reader->begun++, line++) {
		size_t size = strlen(line->text);

		if (reader->inside && reader->begun == nr - 1)
			size = PART;
		if (!get(reader->fd, line->text, size))
			return false;
		reader->read += size;
		reader->position = reader->begun + 1 < reader->lines.nr ? line[1].start : line->end;
	}
	return true;
}

/*
 * Each page that stays mapped must be shown once, and none that was never mapped.
 * Only the first of the lines since @begun may show pages once more.
 */
static bool pages_fit(const struct lines *lines, unsigned int begun, const struct change *change)
{
	unsigned int page, i, shown;

	for (page = 0; page < AREA_PAGES; page++) {
		bool was = page_of(change->before, page) != '.';
		bool is = page_of(change->after, page) != '.';

		for (shown = 0, i = 0; i < lines->nr; i++)
			shown += lines->line[i].start <= addr_of(page) &&
				 lines->line[i].end > addr_of(page) && !(i == begun && shown);
		if (shown > 1 || (was && is && !shown) || (!was && !is && shown))
			return false;
	}
	for (i = 1; i < lines->nr; i++)
		if (lines->line[i].start < lines->line[i - 1].end && i != begun)
			return false;
	return true;
}

/* Add what the reader must get after the change. */
static bool expect_rest(const struct process *process, struct reader *reader,
			const struct change *change)
{
	struct lines rest;

	expect(process, &rest, change->after, reader->position);
	reader->lines.nr = reader->begun;
	add_lines(&reader->lines, &rest, 0);
	return HOLDS(pages_fit(&reader->lines, reader->begun, change));
}

/* Read the rest of the line that the reader has begun, then a line at a time. */
static bool read_rest_by_line(struct reader *reader)
{
	const struct line *line = reader->lines.line;
	unsigned int i = reader->begun;
	char byte;

	if (reader->inside && i && !get(reader->fd, line[i - 1].text + PART,
					strlen(line[i - 1].text) - PART))
		return false;
	for (; i < reader->lines.nr; i++)
		if (!get(reader->fd, line[i].text, strlen(line[i].text)))
			return false;
	return !read(reader->fd, &byte, 1);
}

/* Read to the end. It must be @text. */
static bool read_all_of(int fd, const char *text)
{
	char got[TEXT_ROOM];

	if (read_text(fd, got) && !strcmp(got, text))
		return true;
	fprintf(stderr, "# expected:\n%s# got:\n%s", text, got);
	return false;
}

static bool read_rest(struct reader *reader)
{
	char text[TEXT_ROOM];

	if (reader->by_line)
		return read_rest_by_line(reader);
	join(&reader->lines, text);
	return read_all_of(reader->fd, text + reader->read);
}

typedef bool race_fn(struct process *process, struct reader *reader,
		     const struct change *change, unsigned int stop);

static bool do_change(struct process *process, const struct change *change)
{
	return HOLDS(tell(process, CHANGE_IT | (change - changes)));
}

static bool race(struct process *process, struct reader *reader, const struct change *change,
		 unsigned int stop)
{
	return read_to(process, reader, change->before, stop) && do_change(process, change) &&
	       expect_rest(process, reader, change) && read_rest(reader);
}

/* Another reader stops in another place, as far from the end as this from the start. */
static bool race_of_two(struct process *process, struct reader *reader,
			const struct change *change, unsigned int stop)
{
	struct reader other = { .by_line = !reader->by_line };
	bool good;

	expect(process, &other.lines, change->before, 0);
	good = read_to(process, &other, change->before, other.lines.nr - stop) &&
	       race(process, reader, change, stop) &&
	       expect_rest(process, &other, change) && read_rest(&other);
	close(other.fd);
	return good;
}

/*
 * A pread() or lseek() to the start forgets the position. So does a read() at
 * an offset that is not where the last one ended: it counts the bytes of the
 * new text.
 */
static bool start_over(struct process *process, struct reader *reader,
		       const struct change *change, unsigned int stop)
{
	char text[TEXT_ROOM], got[TEXT_ROOM];
	struct lines lines;
	ssize_t size;

	if (!read_to(process, reader, change->before, stop) || !do_change(process, change))
		return false;
	expect(process, &lines, change->after, 0);
	size = join(&lines, text);
	return HOLDS(pread(reader->fd, got, sizeof(got), 0) == size) &&
	       HOLDS(!memcmp(got, text, size)) &&
	       read_all_of(reader->fd, text + (reader->read < size ? reader->read : size)) &&
	       HOLDS(!lseek(reader->fd, 0, SEEK_SET)) && read_all_of(reader->fd, text);
}

/*
 * Stop before the first line, after the last one, and after each line of the
 * area and the line next to it.
 */
static bool race_everywhere(struct process *process, struct reader *reader, race_fn *fn)
{
	const struct change *change;
	unsigned int stop, last;

	for (change = changes; change < changes + ARRAY_SIZE(changes); change++) {
		expect(process, &reader->lines, change->before, 0);
		last = reader->lines.nr;
		for (stop = 0; stop <= last; stop++) {
			bool good;

			if (stop == 1 && process->below.nr > 2)
				stop = process->below.nr - 1;
			else if (stop > last - process->above.nr + 1)
				stop = last;
			good = HOLDS(tell(process, change - changes)) &&
			       fn(process, reader, change, stop);
			close(reader->fd);
			if (good)
				continue;
			fprintf(stderr, "# %s: after %u of %u lines%s\n", change->name, stop, last,
				reader->inside ? " begun" : "");
			return false;
		}
	}
	return true;
}

FIXTURE(race)
{
	struct process process;
	struct reader reader;
};

FIXTURE_VARIANT(race)
{
	bool inside;
	bool by_line;
};

FIXTURE_VARIANT_ADD(race, between_lines) { .by_line = true };
FIXTURE_VARIANT_ADD(race, inside_lines) { .inside = true };

FIXTURE_SETUP(race)
{
	memset(&self->process, 0, sizeof(self->process));
	self->reader.inside = variant->inside;
	self->reader.by_line = variant->by_line;
	/*
	 * Reader and process take turns. On one processor the next has its turn as
	 * soon as the last one waits; another processor would have to be woken each
	 * time.
	 */
	ASSERT_EQ(0, procmap_pin(sched_getcpu()));
	ASSERT_TRUE(make_files());
	ASSERT_EQ(0, procmap_child_start(&self->process.child, be_changed, NULL));
	ASSERT_TRUE(is_done(&self->process));
	ASSERT_TRUE(learn(&self->process));
}

FIXTURE_TEARDOWN(race)
{
	unsigned int i;

	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->process.child));
	for (i = 0; i < NR_FILES; i++)
		close(files[i].fd);
}

TEST_F(race, position_outlives_each_change)
{
	ASSERT_TRUE(race_everywhere(&self->process, &self->reader, race));
}

TEST_F(race, two_readers_have_positions_of_their_own)
{
	ASSERT_TRUE(race_everywhere(&self->process, &self->reader, race_of_two));
}

TEST_F(race, seeking_starts_over)
{
	ASSERT_TRUE(race_everywhere(&self->process, &self->reader, start_over));
}

PROCMAP_REQUIRE(stall_has_vma_locks() ? NULL :
		"text under mmap_lock (kernel without CONFIG_VMA_SEARCH)")

TEST_HARNESS_MAIN
