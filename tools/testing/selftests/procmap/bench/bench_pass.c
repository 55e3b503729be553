// SPDX-License-Identifier: GPL-2.0
/*
 * The results of the passes of procmap_bench, see bench_pass.h, and the passes as
 * cases. Each case must find the answer that the text gives, or it fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "bench_pass.h"
#include "bench_set.h"

#define PASS_BUFFER	65536
#define PASS_VMAS	1024
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
	pass->names_max = BENCH_PASS_NAMES;
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

/*
 * Free the space of a pass.
 * @pass: the pass; afterwards it is zeroed
 */
void bench_pass_free(struct bench_pass *pass)
{
	free(pass->index);
	free(pass->vma);
	free(pass->names);
	free(pass->buffer);
	free(pass->records);
	memset(pass, 0, sizeof(*pass));
}

/* Forget all results. */
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
static int (*pass_run)(struct bench_pass *pass);

#define WAYS		(BENCH_WANT_QUERY | BENCH_WANT_SCAN)
#define WITHOUT		(BENCH_WANT_ALL | BENCH_WANT_DUMP)	/* without addresses */

/* Returns the function that does it. */
static int (*pass_function(unsigned int want))(struct bench_pass *pass)
{
	if (want & BENCH_WANT_DUMP)
		return want & BENCH_WANT_SCAN ? bench_dump_scan :
		       want & BENCH_WANT_QUERY ? bench_dump_query : bench_dump_text;
	if (want & BENCH_WANT_ALL)
		return want & BENCH_WANT_SCAN ? bench_synthesize_scan :
		       want & BENCH_WANT_QUERY ? bench_synthesize_query : bench_synthesize_text;
	return want & BENCH_WANT_QUERY ? bench_symbolize_query : bench_symbolize_text;
}

static int pass_init(struct bench *b, struct bench_pass *pass, size_t nr)
{
	int err = bench_pass_init(pass, b->target->pid, asked, nr);

	pass->build_id = b->row->want & BENCH_WANT_BUILD_ID;
	pass->flags = b->row->want & BENCH_WANT_DUMP;
	return err;
}

/* Ask for the addresses at which the program was running. */
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

static int pass_prepare(struct bench *b, size_t nr)
{
	int err;

	if (!asked && !(b->row->want & WITHOUT))
		return bench_failed(b, "addresses", -ENOMEM);
	err = pass_init(b, &expected, nr) ?: pass_init(b, &b->pass, nr);
	if (!err)
		err = pass_function(b->row->want & ~WAYS)(&expected);
	if (err == -EPERM || err == -EACCES)
		return bench_unavailable(b, "build IDs by the text need root (map_files)");
	if (err)
		return bench_failed(b, "the pass over the text", err);
	b->items = nr ?: expected.nr;
	if (!expected.nr)
		return bench_failed(b, "nothing was found", -ENODATA);
	pass_run = pass_function(b->row->want);
	if (pass_run(&b->pass) == -ENOTTY)
		return bench_unavailable(b, b->row->want & BENCH_WANT_SCAN ?
					 "the kernel has no PROCMAP_SCAN" :
					 "the kernel has no PROCMAP_QUERY");
	return 0;
}

static int pass_setup(struct bench *b)
{
	const struct bench_case *row = b->row;
	const struct bench_target want = {
		.layout = row->layout, .vmas = row->vmas, .program = row->program,
	};
	size_t nr = 0;
	int err = bench_target_get(b, &want);

	if (err)
		return err;
	if (row->share)
		nr = pass_ask_share(b->target, row->share);
	else if (!(row->want & WITHOUT))
		nr = pass_ask_samples(b->target);
	return pass_prepare(b, nr);
}

static int pass_op(struct bench *b, unsigned int i)
{
	const char *differ;
	int err;

	bench_begin(b);
	err = pass_run(&b->pass);
	bench_end(b);
	if (!err && b->row->want & BENCH_WANT_SCAN)
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

/* The programs, with their own VMAs and as large ones. */
static const struct {
	const char *key;
	const char *program;
	unsigned long vmas;
	unsigned int batch;
} programs[] = {
	{ "busybox", "busybox", 0, 16 },
	{ "python3", "python3", 0, 4 },
	{ "30", "busybox", 30, 16 },
	{ "1000", "python3", 1000, 2 },
	{ "10000", "python3", 10000, 1 },
	{ "100000", "python3", 100000, 1 },
};

/* The passes over each of them. */
static const struct {
	const char *key;
	const char *what;
	unsigned int want;
} ways[] = {
	{ "symbolize/text", "symbolizer pass by the text", 0 },
	{ "symbolize/query", "the same by queries", BENCH_WANT_QUERY },
	{ "symbolize/text-id", "symbolizer pass by the text, build IDs from the files",
	  BENCH_WANT_BUILD_ID },
	{ "symbolize/query-id", "the same by queries, with build IDs",
	  BENCH_WANT_BUILD_ID | BENCH_WANT_QUERY },
	{ "synthesize/text", "synthesizer pass by the text", BENCH_WANT_ALL },
	{ "synthesize/query", "the same by queries", BENCH_WANT_ALL | BENCH_WANT_QUERY },
	{ "synthesize/scan", "the same by a scan", BENCH_WANT_ALL | BENCH_WANT_SCAN },
	{ "dump/text", "all mappings by the text", BENCH_WANT_DUMP },
	{ "dump/query", "the same by queries", BENCH_WANT_DUMP | BENCH_WANT_QUERY },
	{ "dump/scan", "the same by a scan", BENCH_WANT_DUMP | BENCH_WANT_SCAN },
};

/* These show from which share of 1,000 VMAs on the text is cheaper. */
static const unsigned int shares[] = { 1, 10, 50, 100, 250, 500, 1000 };

#define SHARE_VMAS	10000
#define PASS_REPS	3	/* few: a pass is long and has many equal steps */
#define PASS_CASES	(ARRAY_SIZE(programs) * ARRAY_SIZE(ways) + 2 * ARRAY_SIZE(shares))

struct bench_case bench_pass_cases[PASS_CASES];
unsigned int bench_pass_nr;

static struct bench_case *pass_add(const char *key, const char *last, const char *what)
{
	static char names[PASS_CASES][40];
	struct bench_case *row = &bench_pass_cases[bench_pass_nr];

	snprintf(names[bench_pass_nr], sizeof(names[0]), "%s/%s", key, last);
	row->name = names[bench_pass_nr++];
	row->what = what;
	row->batch = 1;
	row->reps = PASS_REPS;
	row->setup = pass_setup;
	row->op = pass_op;
	row->teardown = pass_teardown;
	return row;
}

static void pass_add_program(unsigned int i)
{
	struct bench_case *row;
	unsigned int k;

	for (k = 0; k < ARRAY_SIZE(ways); k++) {
		/* These are for plots over the number of VMAs. */
		if (!programs[i].vmas && ways[k].want & (BENCH_WANT_DUMP | BENCH_WANT_SCAN))
			continue;
		row = pass_add(ways[k].key, programs[i].key, ways[k].what);
		row->layout = BENCH_REPLAY;
		row->program = programs[i].program;
		row->vmas = programs[i].vmas;
		row->batch = programs[i].batch;
		row->want = ways[k].want;
	}
}

static void pass_add_share(unsigned int share, unsigned int want)
{
	struct bench_case *row;
	char percent[16];

	snprintf(percent, sizeof(percent), "%g", share / 10.0);
	row = pass_add(want ? "share/query" : "share/text", percent,
		       want ? "the same by queries" :
			      "one address in so many % of 10,000 mappings, by the text");
	row->vmas = SHARE_VMAS;
	row->share = share;
	row->want = want;
}

/* Fill the table. */
void bench_pass_init_cases(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(programs); i++)
		pass_add_program(i);
	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		pass_add_share(shares[i], 0);
		pass_add_share(shares[i], BENCH_WANT_QUERY);
	}
}
