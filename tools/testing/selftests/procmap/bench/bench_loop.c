// SPDX-License-Identifier: GPL-2.0
/*
 * The loop of a profiler. In each round it finds the file and the offset of a
 * batch of addresses at which a process was running. Between the rounds the
 * process changes its memory and, now and then, its code. Whoever keeps what it
 * has read for too long gives wrong answers then. They are counted, against
 * what the process tells of itself.
 */
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define LOOP_BATCH	100	/* addresses of a round */
#define LOOP_ROUNDS	200	/* of a repetition; code changes in the same ones of each */
#define LOOP_CODE	100	/* code changes once in so many rounds */
#define LOOP_READ	10	/* the text that is kept is read once in so many rounds */
#define LOOP_STEP	101	/* from the addresses of a round to those of the next */

/*
 * In the middle between two reads of the text that is kept, since a program
 * does not know when code changes.
 */
#define LOOP_CHANGE	(LOOP_CODE / 2 + LOOP_READ / 2)

/* Where an address is. Zeroes: in no file. */
struct loop_place {
	__u64 inode;
	__u64 offset;
	__u32 dev_major;
	__u32 dev_minor;
};

/* State of the running case. */
static struct loop {
	const struct bench_set *set;	/* has the files and offsets that it was made with */
	unsigned int *code;		/* numbers of its samples in code */
	unsigned int nr;
	unsigned int vmas;		/* that these are in */
	struct bench_change *now;	/* for each VMA, which file is mapped now, and where */
	struct loop_place *file;	/* inode and device of each, as the text has them */
	unsigned int sample[LOOP_BATCH];	/* of this round, ascending */
	struct loop_place found[LOOP_BATCH];	/* the answers of this round */
	__u64 known;			/* generation of the code that is kept */
} loop;

static void loop_teardown(struct bench *b)
{
	bench_pass_free(&b->pass);
	free(loop.code);
	free(loop.now);
	free(loop.file);
	memset(&loop, 0, sizeof(loop));
	/* It is no longer the program of the set. */
	bench_target_drop();
}

/* Choose from all samples of the program, and know what it maps. */
static int loop_init(struct bench *b)
{
	const struct bench_set *set = b->target->set;
	unsigned int i, last = set->nr;

	loop.set = set;
	loop.code = calloc(set->samples, sizeof(*loop.code));
	loop.now = calloc(set->nr, sizeof(*loop.now));
	loop.file = calloc(set->files, sizeof(*loop.file));
	if (!loop.code || !loop.now || !loop.file)
		return -ENOMEM;
	for (i = 0; i < set->samples; i++) {
		if (!bench_set_is_code(set, set->sample[i].vma))
			continue;
		loop.code[loop.nr++] = i;
		loop.vmas += set->sample[i].vma != last;
		last = set->sample[i].vma;
	}
	for (i = 0; i < set->nr; i++) {
		loop.now[i].file = set->vma[i].file;
		loop.now[i].offset = set->vma[i].offset;
	}
	return loop.nr < LOOP_BATCH ? -ENODATA : 0;
}

/*
 * Learn the files' inodes and devices from the text, while nothing changes:
 * stat() has others on some file systems.
 */
static int loop_learn_files(struct bench_pass *pass)
{
	const struct bench_set_vma *vma = loop.set->vma, *end = vma + loop.set->nr;
	int err = bench_dump_text(pass);
	size_t i = 0;

	for (; !err && vma < end; vma++) {
		if (vma->file < 0)
			continue;
		while (i < pass->nr && pass->vma[i].start < vma->at)
			i++;
		if (i == pass->nr || pass->vma[i].start != vma->at)
			return -ENODATA;
		loop.file[vma->file] = (struct loop_place) {
			.inode = pass->vma[i].inode,
			.dev_major = pass->vma[i].dev_major,
			.dev_minor = pass->vma[i].dev_minor,
		};
	}
	return err;
}

/* Let the process change what it maps, and remember that. */
static int loop_change(struct bench *b, bool code)
{
	const struct bench_change *change = &b->target->change;
	int err = bench_target_order(b->target, code ? BENCH_ORDER_CODE : BENCH_ORDER_MEMORY) ?:
		  bench_target_wait(b->target);

	if (!err && change->vma >= 0)
		loop.now[change->vma] = *change;
	return err;
}

/*
 * Replace all code, and put it back. Code that was replaced has been opened by
 * itself. The kernel makes a name for it alone then, so the text costs more.
 * Let that be so from the beginning.
 */
static int loop_settle(struct bench *b)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 * loop.vmas && !err; i++)
		err = loop_change(b, true);
	return err;
}

static int loop_setup(struct bench *b)
{
	int err;

	/* One that was used may have other code than the set by now. */
	bench_target_drop();
	err = bench_target_get(b);
	if (err)
		return err;
	b->items = LOOP_BATCH;
	err = loop_init(b) ?: bench_pass_init(&b->pass, b->target->child.pid, NULL, 0);
	if (!err)
		err = loop_learn_files(&b->pass) ?: loop_settle(b);
	b->pass.no_names = true;
	return err ? bench_failed(b, "the files of the process", err) : 0;
}

static int loop_setup_query(struct bench *b)
{
	struct procmap_query q = { .size = sizeof(q) };
	int err = loop_setup(b);

	if (!err && bench_call3(SYS_ioctl, b->fd, PROCMAP_QUERY, &q) == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_QUERY");
	return err;
}

static int loop_setup_scan(struct bench *b)
{
	struct procmap_scan scan = { .all_of = BENCH_CODE };
	int err = loop_setup(b);

	if (!err && bench_pass_scan(&b->pass, b->fd, &scan) == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_SCAN");
	return err;
}

/* Choose samples from everywhere in the program, others in each round. */
static void loop_choose(struct bench *b, unsigned int round)
{
	const unsigned int first = round * LOOP_STEP % loop.nr;
	unsigned int i;

	for (i = 0; i < LOOP_BATCH; i++) {
		loop.sample[i] = loop.code[(i * loop.nr + first) / LOOP_BATCH];
		b->address[i] = bench_set_address(loop.set, loop.sample[i]);
	}
	memset(loop.found, 0, sizeof(loop.found));
}

static unsigned int loop_wrong(void)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < LOOP_BATCH; i++) {
		const struct bench_set_sample *sample = &loop.set->sample[loop.sample[i]];
		const struct bench_change *now = &loop.now[sample->vma];
		const struct loop_place *file = &loop.file[now->file], *found = &loop.found[i];

		wrong += found->offset != now->offset + sample->offset ||
			 found->inode != file->inode || found->dev_major != file->dev_major ||
			 found->dev_minor != file->dev_minor;
	}
	return wrong;
}

/* Find the addresses, which ascend, in the VMAs that are kept. */
static int loop_look_up(struct bench *b)
{
	const struct bench_vma *vma = b->pass.vma, *last = vma + b->pass.nr;
	unsigned int i;

	for (i = 0; i < LOOP_BATCH; i++) {
		while (vma < last && vma->end <= b->address[i])
			vma++;
		if (vma == last)
			break;
		if (vma->start > b->address[i])
			continue;
		loop.found[i] = (struct loop_place) {
			.inode = vma->inode,
			.offset = b->address[i] - vma->start + vma->offset,
			.dev_major = vma->dev_major,
			.dev_minor = vma->dev_minor,
		};
	}
	return 0;
}

static int loop_text(struct bench *b, unsigned int round)
{
	return bench_synthesize_text(&b->pass) ?: loop_look_up(b);
}

static int loop_text_cached(struct bench *b, unsigned int round)
{
	return (round % LOOP_READ ? 0 : bench_synthesize_text(&b->pass)) ?: loop_look_up(b);
}

/* Query each address or, with @skip, only those that the last answer leaves. */
static inline int loop_query_each(struct bench *b, const bool skip)
{
	struct procmap_query q = { 0 };
	unsigned int i;
	int err;

	for (i = 0; i < LOOP_BATCH; i++) {
		if (!skip || b->address[i] >= q.vma_end) {
			q = (struct procmap_query) {
				.size = sizeof(q), .query_addr = b->address[i],
			};
			err = bench_call3(SYS_ioctl, b->fd, PROCMAP_QUERY, &q);
			if (err)
				return err;
		}
		loop.found[i] = (struct loop_place) {
			.inode = q.inode,
			.offset = b->address[i] - q.vma_start + q.vma_offset,
			.dev_major = q.dev_major,
			.dev_minor = q.dev_minor,
		};
	}
	return 0;
}

static int loop_query(struct bench *b, unsigned int round)
{
	return loop_query_each(b, false);
}

static int loop_query_skip(struct bench *b, unsigned int round)
{
	return loop_query_each(b, true);
}

static int loop_cache(struct bench *b, unsigned int round)
{
	struct procmap_scan scan = {
		.flags = PROCMAP_SCAN_IF_CODE_CHANGED,
		.all_of = BENCH_CODE,
		.known_generation = loop.known,
	};
	int err = bench_pass_scan(&b->pass, b->fd, &scan);

	/* A generation of 0 never holds. */
	if (!err && (!loop.known || scan.code_generation != loop.known)) {
		err = bench_pass_take_records(&b->pass);
		loop.known = scan.code_generation;
	}
	return err ?: loop_look_up(b);
}

static int loop_op(struct bench *b, unsigned int round)
{
	int (*const resolve)(struct bench *b, unsigned int round) = b->row->resolve;
	unsigned int wrong;
	int err = loop_change(b, round % LOOP_CODE == LOOP_CHANGE);

	if (err)
		return bench_failed(b, "the process cannot change", err);
	loop_choose(b, round);
	bench_begin(b);
	err = resolve(b, round);
	bench_end(b);
	if (err)
		return bench_failed(b, "a round", err);
	wrong = loop_wrong();
	b->answers += LOOP_BATCH;
	b->wrong += wrong;
	/* Only a time limit may be too long. */
	return wrong && resolve != loop_text_cached ?
	       bench_failed(b, "an answer is wrong", -EBADMSG) : 0;
}

#define LOOP		.program = "python3", .layout = BENCH_REPLAY, .batch = LOOP_ROUNDS, \
			.reps = 5, .op = loop_op, .teardown = loop_teardown
#define TEXT		LOOP, .setup = loop_setup, .resolve = loop_text, \
			.what = "round of a profiler that reads the text"
#define TEXT_CACHED	LOOP, .setup = loop_setup, .resolve = loop_text_cached, \
			.what = "the same, the text kept for ten rounds"
#define QUERY		LOOP, .setup = loop_setup_query, .resolve = loop_query, \
			.what = "the same by a query for each address"
#define QUERY_SKIP	LOOP, .setup = loop_setup_query, .resolve = loop_query_skip, \
			.what = "the same without queries for what the last answer covers"
#define CACHE		LOOP, .setup = loop_setup_scan, .resolve = loop_cache, \
			.what = "the same with kept records, asked whether code has changed"

const struct bench_row bench_loop_rows[] = {
	{ .name = "loop/text/python3", TEXT },
	{ .name = "loop/text-cached/python3", TEXT_CACHED },
	{ .name = "loop/query/python3", QUERY },
	{ .name = "loop/query-skip/python3", QUERY_SKIP },
	{ .name = "loop/cache/python3", CACHE },
	{ .name = "loop/text/1000", .vmas = 1000, TEXT },
	{ .name = "loop/text-cached/1000", .vmas = 1000, TEXT_CACHED },
	{ .name = "loop/query/1000", .vmas = 1000, QUERY },
	{ .name = "loop/query-skip/1000", .vmas = 1000, QUERY_SKIP },
	{ .name = "loop/cache/1000", .vmas = 1000, CACHE },
	{ .name = "loop/text/10000", .vmas = 10000, TEXT },
	{ .name = "loop/text-cached/10000", .vmas = 10000, TEXT_CACHED },
	{ .name = "loop/query/10000", .vmas = 10000, QUERY },
	{ .name = "loop/query-skip/10000", .vmas = 10000, QUERY_SKIP },
	{ .name = "loop/cache/10000", .vmas = 10000, CACHE },
	{ }
};
