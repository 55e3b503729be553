// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the text. Each line is an answer to the question what comes at the
 * end of the line before or after it. The oracle judges it as it judges the
 * answer to a query: see torture.h.
 *
 * The kernel prints a line during the read() that returns its first byte, or at
 * the end of the one before if that got only the rest of another line. So the
 * line has one of the states that these calls may have met. In the second case
 * the line after it is the first one that this read() prints: no line of an
 * earlier read() can be replaced, so it may begin inside of the one before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "torture.h"

#define LINE_ROOM	512
#define READ_ROOM	(64 * 1024)

/* The column of the name: see show_vma_header_prefix() in the kernel. */
#define NAME_COLUMN	(25 + 6 * (int)sizeof(long))

/**
 * struct text_reader - a reader of the text
 * @now: the states that the last read() may have met
 * @low: the last state that each region had reached before the read() that has
 *	printed the last line that was begun
 * @ahead_low: the same, before the read() that has printed a line ahead
 * @fresh: this read() has not begun a line yet
 * @ahead: the read() before has printed a line, and not returned a byte of it; or
 *	this one has begun that line, and no other
 * @query: the line as an answer; @query.q.query_addr is the end of the line
 *	before
 * @line: the line, as far as it was read
 * @used: how much of @line was read
 * @before: the line before
 * @sentinels: number of sentinels in this text
 * @judged: number of lines judged, for lies
 */
struct text_reader {
	struct torture *t;
	int maps;
	unsigned int random;
	struct torture_query now;
	__u64 low[TORTURE_REGIONS];
	__u64 ahead_low[TORTURE_REGIONS];
	bool fresh;
	bool ahead;
	struct torture_query query;
	char line[LINE_ROOM];
	size_t used;
	const char *name;
	char before[LINE_ROOM];
	unsigned int sentinels;
	unsigned int judged;
	char buf[READ_ROOM];
};

static bool parse_line(struct text_reader *r)
{
	struct procmap_query *q = &r->query.q;
	char perms[5];
	int used = -1;

	if (sscanf(r->line, "%llx-%llx %4s %llx %x:%x %llu%n", &q->vma_start, &q->vma_end, perms,
		   &q->vma_offset, &q->dev_major, &q->dev_minor, &q->inode, &used) != 7)
		return false;
	q->vma_flags = (perms[0] == 'r' ? UNIT_READ : 0) | (perms[1] == 'w' ? UNIT_WRITE : 0) |
		       (perms[2] == 'x' ? UNIT_EXEC : 0) | (perms[3] == 's' ? UNIT_SHARED : 0);
	r->name = r->line + used + strspn(r->line + used, " ");
	q->vma_name_size = *r->name ? strlen(r->name) + 1 : 0;
	/* The names that the oracle knows are short. */
	snprintf(r->query.name, sizeof(r->query.name), "%s", r->name);
	return true;
}

/* Print again what was understood. A line that is torn comes out otherwise. */
static bool line_is_whole(const struct text_reader *r)
{
	const struct procmap_query *q = &r->query.q;
	char line[LINE_ROOM];
	int used = snprintf(line, sizeof(line), "%08llx-%08llx %c%c%c%c %08llx %02x:%02x %llu ",
			    q->vma_start, q->vma_end, q->vma_flags & UNIT_READ ? 'r' : '-',
			    q->vma_flags & UNIT_WRITE ? 'w' : '-',
			    q->vma_flags & UNIT_EXEC ? 'x' : '-',
			    q->vma_flags & UNIT_SHARED ? 's' : 'p', q->vma_offset, q->dev_major,
			    q->dev_minor, q->inode);

	if (q->vma_name_size)
		snprintf(line + used, sizeof(line) - used, "%*s%s",
			 used < NAME_COLUMN ? NAME_COLUMN - used : 0, "", r->name);
	return !strcmp(line, r->line);
}

static void lie_before(struct text_reader *r)
{
	/* Where both lines have the end address. */
	const size_t end = strlen("2000000000-");

	if (r->t->lie == LIE_LINE_TORN && strlen(r->before) > end)
		strcpy(r->line + end, r->before + end);
}

static void lie_after(struct text_reader *r)
{
	struct procmap_query *q = &r->query.q;

	if (r->t->lie == LIE_LINE_CUT) {
		q->vma_start += getpagesize();
		q->vma_offset += q->inode ? getpagesize() : 0;
	} else if (r->t->lie == LIE_LINE_TWICE) {
		q->query_addr = q->vma_end;
	} else if (r->t->lie == LIE_LINE_OLD) {
		torture_grow_old(r->t, &r->query);
	}
}

static bool lies_now(struct text_reader *r)
{
	if (r->t->lie < LIE_LINE_GONE || ++r->judged % TORTURE_LIE_EVERY)
		return false;
	torture_count(&r->t->lies);
	return true;
}

static bool judge_line(struct text_reader *r)
{
	struct procmap_query *q = &r->query.q;
	bool lies = lies_now(r);

	torture_count(&r->t->asks[ASK_LINE]);
	if (lies && r->t->lie == LIE_LINE_GONE)
		return true;
	if (lies)
		lie_before(r);
	if (!parse_line(r) || !line_is_whole(r)) {
		torture_fail(r->t, "a line that is none: returned '%s' after '%s'", r->line,
			     r->before);
		return false;
	}
	if (lies)
		lie_after(r);
	r->query.ret = 0;
	if (!torture_judge(r->t, &r->query))
		return false;
	if (torture_moved(r->t, &r->query))
		torture_count(&r->t->asks[ASK_MOVED_LINE]);
	if (torture_clipped(r->t, &r->query))
		torture_count(&r->t->asks[ASK_CLIPPED_LINE]);
	r->sentinels += torture_is_sentinel(r->t, q->vma_start);
	q->query_addr = q->vma_end;
	strcpy(r->before, r->line);
	return true;
}

static void begin_line(struct text_reader *r, bool first)
{
	memcpy(r->query.low, first ? r->low : r->now.low, sizeof(r->low));
	memcpy(r->query.high, r->now.high, sizeof(r->now.high));
	r->query.first = first;
	r->fresh = false;
}

static bool judge_bytes(struct text_reader *r, size_t size)
{
	bool first;
	size_t i;

	for (i = 0; i < size; i++) {
		if (!r->used) {
			first = r->fresh || r->ahead;
			r->ahead = r->ahead && r->fresh;
			begin_line(r, first);
		}
		if (r->used == LINE_ROOM - 1) {
			torture_fail(r->t, "a line too long: returned '%.200s'", r->line);
			return false;
		}
		if (r->buf[i] != '\n') {
			r->line[r->used++] = r->buf[i];
			continue;
		}
		r->line[r->used] = '\0';
		r->used = 0;
		if (!judge_line(r))
			return false;
	}
	return true;
}

/* The text ends after all that the oracle knows. */
static bool judge_end(struct text_reader *r)
{
	unsigned int i, sentinels = 0;

	if (torture_stopped(r->t))
		return false;
	for (i = 0; i < r->t->nr_regions; i++)
		sentinels += r->t->region[i].kind == REGION_SENTINEL;
	if (r->used || r->sentinels != sentinels) {
		torture_fail(r->t, "%u of %u sentinels, %zu bytes too many: returned '%s'",
			     r->sentinels, sentinels, r->used, r->before);
		return false;
	}
	begin_line(r, true);
	r->query.ret = -ENOENT;
	return torture_judge(r->t, &r->query);
}

/* Sizes: less than a line, about one line, what most programs use, all. */
static size_t random_size(unsigned int *random)
{
	switch (torture_random(random, 4)) {
	case 0:
		return 1 + torture_random(random, 48);
	case 1:
		return 50 + torture_random(random, 50);
	case 2:
		return 4096;
	default:
		return READ_ROOM;
	}
}

static void begin_text(struct text_reader *r)
{
	memset(&r->query.q, 0, sizeof(r->query.q));
	r->query.q.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	r->query.q.vma_page_size = getpagesize();
	r->query.name_size = TORTURE_NAME_ROOM;
	r->query.text = true;
	r->query.limit = r->t ? r->t->arena_end : 0;
	r->used = 0;
	r->ahead = false;
	r->before[0] = '\0';
	r->sentinels = 0;
}

/* Read and judge one text. Return false if the run is over. */
static bool read_text(struct text_reader *r)
{
	size_t size = random_size(&r->random);
	bool positioned = torture_random(&r->random, 2);
	off_t offset = 0;
	ssize_t got;

	begin_text(r);
	if (lseek(r->maps, 0, SEEK_SET))
		return false;
	torture_before(r->t, &r->now);
	memcpy(r->low, r->now.low, sizeof(r->low));
	do {
		r->fresh = true;
		torture_before(r->t, &r->now);
		got = positioned ? pread(r->maps, r->buf, size, offset) :
				   read(r->maps, r->buf, size);
		torture_after(r->t, &r->now);
		if (got < 0) {
			if (errno != ESRCH || !torture_stopped(r->t))
				torture_fail(r->t, "read() of the text returned errno %d", errno);
			return false;
		}
		offset += got;
		if (!judge_bytes(r, got))
			return false;
		/* The read() that prints a line finds the position of the next one. */
		if (!r->fresh)
			memcpy(r->low, r->ahead ? r->ahead_low : r->now.low, sizeof(r->low));
		/* It got the rest of a line, or the line ahead, to its end. */
		r->ahead = (r->fresh || r->ahead) && !r->used && got == size;
		if (r->ahead)
			memcpy(r->ahead_low, r->now.low, sizeof(r->ahead_low));
	} while (got);
	torture_count(&r->t->asks[ASK_TEXT]);
	return judge_end(r);
}

int torture_read_texts(struct torture *t, unsigned int actor)
{
	static __thread struct text_reader reader;

	reader.t = t;
	reader.random = torture_seed(t, actor);
	reader.maps = torture_open(t);
	do {
		torture_count(&t->beat[actor]);
	} while (!torture_stopped(t) && read_text(&reader));
	close(reader.maps);
	return 0;
}

/*
 * Read the text of a process that may vanish.
 *
 * The oracle does not know what it has. Its lines must be whole, and ascend.
 */
void torture_read_child_text(struct torture *t, int maps)
{
	static struct text_reader r;
	FILE *text = fdopen(dup(maps), "r");
	struct procmap_query *q = &r.query.q;

	begin_text(&r);
	while (text && fgets(r.line, sizeof(r.line), text)) {
		r.line[strcspn(r.line, "\n")] = '\0';
		if (!parse_line(&r) || !line_is_whole(&r) || q->vma_start < q->query_addr ||
		    q->vma_start >= q->vma_end) {
			torture_fail(t, "in a child: at %llx returned '%s'", q->query_addr, r.line);
			break;
		}
		q->query_addr = q->vma_end;
		torture_count(&t->asks[ASK_CHILD_LINE]);
	}
	if (text && ferror(text) && errno != ESRCH)
		torture_fail(t, "the text of a child returned errno %d", errno);
	if (text)
		fclose(text);
}
