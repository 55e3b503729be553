// SPDX-License-Identifier: GPL-2.0
/*
 * The passes that procmap_bench compares. The symbolizer pass finds the mapping
 * of each address of a profile. The synthesizer pass finds all executable
 * mappings of files, as "perf record" does when it starts to watch a process.
 * The dump takes all mappings. Each pass exists with the text of
 * /proc/<pid>/maps and with queries, the last two also with a scan. All are
 * written as well as possible.
 *
 * Here are their results, and the passes as cases. Each case must find the
 * answer that the text gives, or it fails.
 */
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define PASS_BUFFER	65536
#define PASS_VMAS	1024
#define PASS_NAMES	0x100000	/* initial bytes of all names */
#define PASS_NAME_MAX	4096

/*
 * Allocate space for a pass.
 * @pass: zeroed or not; bench_pass_free() frees it
 * @address: for the symbolizer pass: the addresses, ascending; the caller keeps
 *	them
 * @nr: their number; 0: no addresses
 */
int bench_pass_init(struct bench_pass *pass, pid_t pid, const unsigned long *address, size_t nr)
{
	memset(pass, 0, sizeof(*pass));
	pass->pid = pid;
	pass->address = address;
	pass->addresses = nr;
	pass->vma_max = PASS_VMAS;
	pass->names_max = PASS_NAMES;
	pass->index = malloc((nr ?: 1) * sizeof(*pass->index));
	pass->vma = malloc(pass->vma_max * sizeof(*pass->vma));
	pass->names = malloc(pass->names_max);
	pass->buffer = malloc(PASS_BUFFER);
	if (!pass->index || !pass->vma || !pass->names || !pass->buffer) {
		bench_pass_free(pass);
		return -ENOMEM;
	}
	/* Touch all pages, so that no pass pays for their faults. */
	memset(pass->index, 0, (nr ?: 1) * sizeof(*pass->index));
	memset(pass->vma, 0, pass->vma_max * sizeof(*pass->vma));
	memset(pass->names, 0, pass->names_max);
	memset(pass->buffer, 0, PASS_BUFFER);
	return 0;
}

void bench_pass_free(struct bench_pass *pass)
{
	free(pass->index);
	free(pass->vma);
	free(pass->names);
	free(pass->buffer);
	free(pass->records);
	memset(pass, 0, sizeof(*pass));
}

void bench_pass_begin(struct bench_pass *pass)
{
	pass->nr = 0;
	pass->names[0] = 0;
	pass->used = 1;
}

static int pass_enlarge(void **space, size_t *max, size_t size)
{
	void *more = realloc(*space, 2 * *max * size);

	if (!more)
		return -ENOMEM;
	*space = more;
	*max *= 2;
	return 0;
}

/* Make space for more results. Returns 0 or -ENOMEM. */
int bench_pass_space(struct bench_pass *pass, size_t vmas, size_t names)
{
	int err = 0;

	while (!err && pass->nr + vmas > pass->vma_max)
		err = pass_enlarge((void **)&pass->vma, &pass->vma_max, sizeof(*pass->vma));
	while (!err && pass->used + names > pass->names_max)
		err = pass_enlarge((void **)&pass->names, &pass->names_max, 1);
	return err;
}

/*
 * Add a VMA to the results. Returns the VMA, with only the name set; NULL: no
 * memory.
 * @name: its name, or NULL; the name of the VMA before is not stored twice
 */
struct bench_vma *bench_pass_add(struct bench_pass *pass, const char *name, size_t len)
{
	const struct bench_vma *last = pass->nr ? &pass->vma[pass->nr - 1] : NULL;
	struct bench_vma *vma;

	if (pass->nr == pass->vma_max &&
	    pass_enlarge((void **)&pass->vma, &pass->vma_max, sizeof(*pass->vma)))
		return NULL;
	if (pass->used + PASS_NAME_MAX > pass->names_max &&
	    pass_enlarge((void **)&pass->names, &pass->names_max, 1))
		return NULL;
	last = pass->nr ? &pass->vma[pass->nr - 1] : NULL;
	vma = &pass->vma[pass->nr++];
	vma->name = 0;
	vma->build_id_size = 0;
	if (!len || len >= PASS_NAME_MAX)
		return vma;
	if (last && !memcmp(pass->names + last->name, name, len) &&
	    !pass->names[last->name + len]) {
		vma->name = last->name;
		return vma;
	}
	vma->name = pass->used;
	memcpy(pass->names + pass->used, name, len);
	pass->names[pass->used + len] = 0;
	pass->used += len + 1;
	return vma;
}

/*
 * Find an earlier VMA of the file of the last one. Returns the earlier VMA,
 * whose build ID is known; or NULL.
 * @pass: the pass; its last VMA has device and inode set
 *
 * A file has few VMAs, close to each other, so this looks only at the last few.
 */
const struct bench_vma *bench_pass_same_file(const struct bench_pass *pass)
{
	const struct bench_vma *new = &pass->vma[pass->nr - 1], *vma = new;
	int i;

	for (i = 0; i < 8 && vma > pass->vma; i++) {
		vma--;
		if (vma->inode == new->inode && vma->dev_major == new->dev_major &&
		    vma->dev_minor == new->dev_minor)
			return vma;
	}
	return NULL;
}

static const char *vma_differ(const struct bench_pass *a, const struct bench_pass *b, size_t i)
{
	const struct bench_vma *x = &a->vma[i], *y = &b->vma[i];

	if (x->start != y->start || x->end != y->end)
		return "the ranges of a mapping differ";
	if (x->offset != y->offset || x->inode != y->inode || x->dev_major != y->dev_major ||
	    x->dev_minor != y->dev_minor)
		return "the files of a mapping differ";
	if (a->flags && x->flags != y->flags)
		return "the protection of a mapping differs";
	if (strcmp(a->names + x->name, b->names + y->name))
		return "the names of a mapping differ";
	if (a->build_id && (x->build_id_size != y->build_id_size ||
			    memcmp(x->build_id, y->build_id, x->build_id_size)))
		return "the build IDs of a mapping differ";
	return NULL;
}

/* Do two passes have different results? Returns NULL, or what differs. */
const char *bench_pass_differ(const struct bench_pass *a, const struct bench_pass *b)
{
	const char *what = NULL;
	size_t i;

	if (a->nr != b->nr)
		return "the numbers of mappings differ";
	for (i = 0; i < a->nr && !what; i++)
		what = vma_differ(a, b, i);
	if (!what && a->addresses != b->addresses)
		what = "the numbers of addresses differ";
	if (!what && memcmp(a->index, b->index, a->addresses * sizeof(*a->index)))
		what = "an address is in different mappings";
	return what;
}

/* For the running case: the answer by the text, and the addresses. */
static struct bench_pass expected;
static unsigned long *asked;

/* Ask for the addresses at which the program was running. Returns their number. */
static size_t pass_ask_samples(const struct bench_target *t)
{
	unsigned int i;

	asked = calloc(t->set->samples, sizeof(*asked));
	for (i = 0; asked && i < t->set->samples; i++)
		asked[i] = bench_set_address(t->set, i);
	return t->set->samples;
}

/* Ask for one address in each of @share of 1,000 VMAs, at equal distances. */
static size_t pass_ask_share(const struct bench_target *t, unsigned int share)
{
	const size_t nr = t->made * share / 1000;
	size_t i;

	asked = calloc(nr ?: 1, sizeof(*asked));
	for (i = 0; asked && i < nr; i++)
		asked[i] = t->area + i * t->made / nr * t->stride;
	return nr;
}

static int pass_prepare(struct bench *b, struct bench_pass *pass, size_t nr)
{
	int err = bench_pass_init(pass, b->target->child.pid, asked, nr);

	pass->build_id = b->row->way->build_id;
	pass->flags = b->row->way->by_text == bench_dump_text;
	return err;
}

/* Do it by the text, and once in its own way, to have the space for it. */
static int pass_try(struct bench *b)
{
	int err = b->row->way->by_text(&expected);

	if (err == -EPERM || err == -EACCES)
		return bench_unavailable(b, "build IDs by the text need root (map_files)");
	if (err)
		return bench_failed(b, "the pass over the text", err);
	if (!expected.nr)
		return bench_failed(b, "nothing was found", -ENODATA);
	if (b->row->way->run(&b->pass) == -ENOTTY)
		return bench_unavailable(b, b->pass.records ? "the kernel has no PROCMAP_SCAN" :
					 "the kernel has no PROCMAP_QUERY");
	b->items = expected.addresses ?: expected.nr;
	if (b->row->each)
		b->units = expected.nr;
	return 0;
}

static int pass_setup(struct bench *b)
{
	const bool ask = b->row->way->by_text == bench_symbolize_text;
	size_t nr = 0;
	int err = bench_target_get(b);

	if (err)
		return err;
	if (ask)
		nr = b->row->share ? pass_ask_share(b->target, b->row->share) :
				     pass_ask_samples(b->target);
	if (ask && !asked)
		return bench_failed(b, "addresses", -ENOMEM);
	err = pass_prepare(b, &expected, nr) ?: pass_prepare(b, &b->pass, nr);
	return err ? bench_failed(b, "space for a pass", err) : pass_try(b);
}

static int pass_op(struct bench *b, unsigned int i)
{
	int (*const run)(struct bench_pass *pass) = b->row->way->run;
	const char *differ;
	int err;

	bench_begin(b);
	err = run(&b->pass);
	bench_end(b);
	if (!err && b->pass.records)
		err = bench_pass_take_records(&b->pass);
	if (err)
		return bench_failed(b, "the pass", err);
	differ = bench_pass_differ(&expected, &b->pass);
	return differ ? bench_failed(b, differ, -EBADMSG) : 0;
}

static void pass_teardown(struct bench *b)
{
	bench_pass_free(&b->pass);
	bench_pass_free(&expected);
	free(asked);
	asked = NULL;
}

/* The programs, with their own VMAs and as large ones; and processes that are no program. */
static const struct {
	const char *key;
	const char *program;
	unsigned long vmas;
	unsigned int batch;
	enum bench_layout layout;
} processes[] = {
	{ "busybox", "busybox", 0, 16, BENCH_REPLAY },
	{ "python3", "python3", 0, 4, BENCH_REPLAY },
	{ "30", "busybox", 30, 16, BENCH_REPLAY },
	{ "1000", "python3", 1000, 2, BENCH_REPLAY },
	{ "10000", "python3", 10000, 1, BENCH_REPLAY },
	{ "100000", "python3", 100000, 1, BENCH_REPLAY },
	{ "libraries", NULL, 10000, 1, BENCH_LIBRARIES },
	{ "anonymous", NULL, 10000, 1, BENCH_ADJACENT },
	{ "mixed", NULL, 10000, 1, BENCH_MIXED },
};

#define SYMBOLIZE	.by_text = bench_symbolize_text, .run
#define SYNTHESIZE	.by_text = bench_synthesize_text, .run
#define DUMP		.sized = true, .by_text = bench_dump_text, .run

/* The passes over each of them. */
static const struct bench_way ways[] = {
	{ "symbolize/text", "symbolizer pass by the text", SYMBOLIZE = bench_symbolize_text },
	{ "symbolize/query", "the same by queries", SYMBOLIZE = bench_symbolize_query },
	{ "symbolize/text-id", "symbolizer pass by the text, build IDs from the files",
	  SYMBOLIZE = bench_symbolize_text, .build_id = true },
	{ "symbolize/query-id", "the same by queries, with build IDs",
	  SYMBOLIZE = bench_symbolize_query, .build_id = true },
	{ "synthesize/text", "synthesizer pass by the text", SYNTHESIZE = bench_synthesize_text },
	{ "synthesize/query", "the same by queries", SYNTHESIZE = bench_synthesize_query },
	{ "synthesize/scan", "the same by a scan", SYNTHESIZE = bench_synthesize_scan,
	  .sized = true },
	{ "dump/text", "all mappings by the text", DUMP = bench_dump_text },
	{ "dump/query", "the same by queries", DUMP = bench_dump_query },
	{ "dump/scan", "the same by a scan", DUMP = bench_dump_scan },
};

static const struct bench_way share_ways[] = {
	{ "share/text", "one address in so many % of 10,000 mappings, by the text",
	  SYMBOLIZE = bench_symbolize_text },
	{ "share/query", "the same by queries", SYMBOLIZE = bench_symbolize_query },
};

/* These show from which share of 1,000 VMAs on the text is cheaper. */
static const unsigned int shares[] = { 1, 10, 50, 100, 250, 500, 1000 };

#define PASS_REPS	3	/* few: a pass is long and has many equal steps */
#define PASS_ROWS	(ARRAY_SIZE(processes) * ARRAY_SIZE(ways) + \
			 ARRAY_SIZE(shares) * ARRAY_SIZE(share_ways))

struct bench_row bench_pass_rows[PASS_ROWS + 1];
static unsigned int pass_rows;

static struct bench_row *pass_add(const struct bench_way *way, const char *key,
				  unsigned long vmas)
{
	static char names[PASS_ROWS][40];
	struct bench_row *row = &bench_pass_rows[pass_rows];

	snprintf(names[pass_rows], sizeof(names[0]), "%s/%s", way->key, key);
	row->name = names[pass_rows++];
	row->what = way->what;
	row->way = way;
	row->vmas = vmas;
	row->batch = 1;
	row->reps = PASS_REPS;
	row->setup = pass_setup;
	row->op = pass_op;
	row->teardown = pass_teardown;
	return row;
}

static void pass_add_process(unsigned int i)
{
	struct bench_row *row;
	unsigned int k;

	for (k = 0; k < ARRAY_SIZE(ways); k++) {
		if (!processes[i].vmas && ways[k].sized)
			continue;
		/* Only programs were found running at addresses. */
		if (!processes[i].program && ways[k].by_text == bench_symbolize_text)
			continue;
		row = pass_add(&ways[k], processes[i].key, processes[i].vmas);
		row->layout = processes[i].layout;
		row->program = processes[i].program;
		row->batch = processes[i].batch;
	}
}

static void pass_add_share(unsigned int share)
{
	char percent[16];
	unsigned int k;

	snprintf(percent, sizeof(percent), "%g", share / 10.0);
	for (k = 0; k < ARRAY_SIZE(share_ways); k++)
		pass_add(&share_ways[k], percent, 10000)->share = share;
}

void bench_pass_init_rows(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(processes); i++)
		pass_add_process(i);
	for (i = 0; i < ARRAY_SIZE(shares); i++)
		pass_add_share(shares[i]);
}
