// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the answers that libprocmap keeps: they are used, they are never stale,
 * and they never cost much more than queries do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"
#include "lib-test.h"
#include "tap.h"

#define CODE (PROCMAP_EXEC | PROCMAP_FILE)

/* The process changes a VMA: one that is code, or another. */
static void change(struct table *table, size_t i)
{
	struct procmap_vma *vma = &table->vmas[i];

	vma->flags ^= PROCMAP_WRITE;
	vma->inode += vma->flags & PROCMAP_FILE ? 1000 : 0;
	if (fake.generation)
		fake.generation++;
	if (fake.code_generation && (vma->flags & CODE) == CODE)
		fake.code_generation++;
}

/* Look up the VMAs @from to @to until the handle has them. */
static void fill_cache(struct procmap *pm, const struct table *table, size_t from, size_t to,
		       unsigned int flags)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	unsigned long before;
	size_t i, round;

	for (round = 0; round < 100; round++) {
		before = fake.queries;
		for (i = from; i < to; i++)
			check_find(pm, table, table->vmas[i].start, flags, &vma);
		if (fake.queries == before)
			break;
	}
	CHECK(round < 100);
	procmap_vma_free(&vma);
}

static void test_used(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;

	tap_begin("cache: where nothing changes, a look-up only asks");
	table_large(&table, 3000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	fill_cache(pm, &table, 0, table.nr, PROCMAP_NAME);
	fake.scans = 0;
	fake.queries = 0;
	fill_cache(pm, &table, 0, table.nr, PROCMAP_NAME);
	fill_cache(pm, &table, 0, table.nr, 0);
	CHECK(!fake.records && !fake.queries && fake.scans == 2 * table.nr);
	check_find(pm, &table, table.vmas[2].end, PROCMAP_OR_NEXT, &vma);
	CHECK(fake.queries == 1);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_batch_asks_once(void)
{
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	uint64_t addrs[100];
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("cache: a batch asks once for all addresses");
	table_large(&table, 3000);
	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		addrs[i] = table.vmas[i * 30].start;
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	for (i = 0; i < 20; i++) {
		fake.scans = 0;
		fake.queries = 0;
		CHECK(!procmap_resolve_many(pm, addrs, ARRAY_SIZE(addrs), PROCMAP_NAME, &batch));
		procmap_batch_free(&batch);
	}
	CHECK(fake.scans == 1 && !fake.queries);
	change(&table, 30);
	fake.scans = 0;
	CHECK(!procmap_resolve_many(pm, addrs, ARRAY_SIZE(addrs), PROCMAP_NAME, &batch));
	CHECK(fake.scans == 1 && fake.queries == ARRAY_SIZE(addrs));
	CHECK(batch.vmas[1].flags == table.vmas[30].flags);
	procmap_batch_free(&batch);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_never_stale(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("cache: after each change the next look-up and walk see it");
	table_large(&table, 300);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	for (i = 0; i < table.nr; i++) {
		/* A writer at work leaves no generation. */
		fake.generation = i % 3 ? i * 10 : 0;
		check_walk(pm, &table, PROCMAP_NAME);
		change(&table, i);
		check_find(pm, &table, table.vmas[i].start, PROCMAP_NAME, &vma);
		change(&table, i);
		check_find(pm, &table, table.vmas[i].start, PROCMAP_NAME, &vma);
		check_walk(pm, &table, PROCMAP_NAME);
		change(&table, i);
		check_walk(pm, &table, PROCMAP_NAME);
	}
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void fill_code(struct procmap *pm, const struct table *table)
{
	size_t i;

	for (i = 0; i < table->nr; i += 100)
		fill_cache(pm, table, i, i + 1, CODE | PROCMAP_NAME);
}

static void test_code(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;

	tap_begin("cache: of code, it survives all changes of other memory");
	table_large(&table, 3000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	fill_code(pm, &table);
	fake.queries = 0;
	change(&table, 1);
	fill_code(pm, &table);
	CHECK(!fake.queries);
	change(&table, 100);
	check_find(pm, &table, table.vmas[100].start, CODE | PROCMAP_NAME, &vma);
	CHECK(fake.queries == 1);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

/* How an address space changes: before which look-ups, and which are these? */
struct pattern {
	const char *what;
	size_t every;	/* look-ups between two changes; 0: none */
	size_t quiet;	/* look-ups without changes before as many with them; 0: none */
	size_t hot;	/* VMAs that are looked up */
	size_t batch;	/* look-ups in one call; 0: procmap_find() */
	bool spite;	/* change only after a look-up that took no query */
	bool writer;	/* there is never a generation */
};

static const struct pattern patterns[] = {
	{ "no change, one VMA", .hot = 1 },
	{ "no change", .hot = 3000 },
	{ "before each, one VMA", .every = 1, .hot = 1 },
	{ "before each", .every = 1, .hot = 3000 },
	{ "before each second", .every = 2, .hot = 20 },
	{ "before each third", .every = 3, .hot = 1 },
	{ "before each tenth, one VMA", .every = 10, .hot = 1 },
	{ "before each tenth", .every = 10, .hot = 20 },
	{ "before each hundredth", .every = 100, .hot = 20 },
	{ "before each hundredth, all VMAs", .every = 100, .hot = 3000 },
	{ "before each thousandth", .every = 1000, .hot = 1000 },
	{ "quiet, then before each", .every = 1, .quiet = 3000, .hot = 20 },
	{ "quiet, then before each second", .every = 2, .quiet = 1500, .hot = 100 },
	{ "after each that was kept", .every = 1, .hot = 20, .spite = true },
	{ "quiet, then after each that was kept", .every = 1, .quiet = 2500, .hot = 5,
	  .spite = true },
	{ "a writer is always at work", .hot = 20, .writer = true },
	{ "batches, before each", .every = 1, .hot = 20, .batch = 10 },
	{ "batches, before each third", .every = 3, .hot = 200, .batch = 100 },
	{ "batches, quiet, then before each", .every = 1, .quiet = 3000, .hot = 1000, .batch = 50 },
};

#define WINDOW		1000
#define LOOKUPS		20000

static int compare_addrs(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One call for @nr addresses. Returns its cost for each. */
static unsigned long look_up(struct procmap *pm, const struct table *table,
			     const struct pattern *p, size_t nr, unsigned int flags)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	uint64_t addrs[100];
	size_t i, vmas;

	fake.cost = 0;
	fake.queries = 0;
	for (i = 0; i < nr; i++)
		addrs[i] = table->vmas[random() % p->hot].start;
	if (!p->batch) {
		check_find(pm, table, addrs[0], flags, &vma);
		procmap_vma_free(&vma);
		return fake.cost;
	}
	qsort(addrs, nr, sizeof(*addrs), compare_addrs);
	CHECK(!procmap_resolve_many(pm, addrs, nr, flags, &batch));
	vmas = batch.nr_vmas;
	procmap_batch_free(&batch);
	/* Queries would be as many as the VMAs, too. */
	return fake.cost / vmas;
}

static bool changes_now(const struct pattern *p, size_t i)
{
	if (!p->every || (p->quiet && i / p->quiet % 2 == 0) || (p->spite && fake.queries))
		return false;
	return i % p->every == 0;
}

/* Are 1,000 look-ups in a row ever dearer than 1.2 times as many queries? */
static void check_pattern(const struct table *table, const struct pattern *p, unsigned int flags)
{
	const unsigned long query = flags & PROCMAP_NAME ? FAKE_COST_QUERY_NAME : FAKE_COST_QUERY;
	static unsigned long costs[LOOKUPS];
	struct procmap *pm = open_table(table, PROCMAP_BACKEND_SCAN);
	unsigned long sum = 0, most = 0, first = 0;
	size_t i;

	if (p->writer)
		fake.generation = 0;
	for (i = 0; i < LOOKUPS; i++) {
		if (changes_now(p, i))
			fake.generation++;
		costs[i] = look_up(pm, table, p, p->batch ? p->batch : 1, flags);
		sum += costs[i] - (i < WINDOW ? 0 : costs[i - WINDOW]);
		most = sum > most ? sum : most;
		first = i < WINDOW / 10 ? sum : first;
	}
	printf("# %s%s: at most %lu %% of queries, at first %lu %%, at last %lu %%\n", p->what,
	       flags & PROCMAP_NAME ? ", names" : "", most * 100 / (WINDOW * query),
	       first * 100 / (WINDOW / 10 * query), sum * 100 / (WINDOW * query));
	CHECK(most * 10 <= WINDOW * query * 12 && first * 10 <= WINDOW / 10 * query * 12);
	procmap_close(pm);
}

static void test_bound(void)
{
	struct table table;
	size_t i;

	tap_begin("cache: 1,000 look-ups never cost more than 1.2 times as many queries");
	srandom(2);
	table_large(&table, 3000);
	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		check_pattern(&table, &patterns[i], 0);
		check_pattern(&table, &patterns[i], PROCMAP_NAME);
	}
	table_free(&table);
	tap_end();
}

static void check_details(struct procmap *pm, struct procmap_vma *vma, uint32_t known)
{
	CHECK(!procmap_find(pm, 0x41000, PROCMAP_BUILD_ID | PROCMAP_DETAILS, vma));
	CHECK(!vma->build_id_size && (vma->known & PROCMAP_KNOWN_BUILD_ID) == known);
}

static void test_build_ids(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;

	tap_begin("cache: what is kept without a build ID is no answer for who wants one");
	table_odd(&table);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	check_find(pm, &table, 0x2000, PROCMAP_NAME, &vma);
	CHECK(!fake.build_ids);
	check_find(pm, &table, 0x2000, PROCMAP_BUILD_ID, &vma);
	CHECK(fake.build_ids == 1);
	check_find(pm, &table, 0x2000, PROCMAP_BUILD_ID, &vma);
	check_find(pm, &table, 0x2000, 0, &vma);
	CHECK(fake.build_ids == 1 && fake.queries == 2);
	/* There may be one later, when its pages are in memory. */
	fake.unread = true;
	check_find(pm, &table, 0x41000, PROCMAP_BUILD_ID, &vma);
	CHECK(fake.queries == 3 && !(vma.known & PROCMAP_KNOWN_BUILD_ID));
	/* Only a scan knows that the file has none, unless it could not be read. */
	fake.unread = false;
	fake.generation++;
	check_find(pm, &table, 0x2000, 0, &vma);
	fake.queries = 3;
	check_find(pm, &table, 0x41000, PROCMAP_BUILD_ID, &vma);
	CHECK(fake.queries == 4 && vma.known & PROCMAP_KNOWN_BUILD_ID);
	check_find(pm, &table, 0x41000, PROCMAP_BUILD_ID, &vma);
	CHECK(fake.queries == 4 && vma.known & PROCMAP_KNOWN_BUILD_ID);
	check_details(pm, &vma, PROCMAP_KNOWN_BUILD_ID);
	vma.end = 0x41000;
	CHECK(procmap_next(pm, PROCMAP_BUILD_ID, &vma) == 1 && vma.start == 0x41000);
	CHECK(!vma.build_id_size && vma.known & PROCMAP_KNOWN_BUILD_ID);
	fake.unread = true;
	check_details(pm, &vma, 0);
	fake.unread = false;
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_no_build_ids(void)
{
	static const unsigned int flags = PROCMAP_BUILD_ID | PROCMAP_NAME;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	int i;

	tap_begin("cache: files without a build ID need no queries; unread ones no memory");
	table_odd(&table);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	for (i = 0; i < 1000; i++)
		check_find(pm, &table, 0x43000, flags, &vma);
	CHECK(fake.queries < 5 && fake.cost < 1000UL * FAKE_COST_QUERY_NAME);
	fake.unread = true;
	fake.allocs = 0;
	fake.queries = 0;
	for (i = 0; i < 1000; i++) {
		check_find(pm, &table, 0x45000, flags, &vma);
		check_find(pm, &table, 0x43000, flags, &vma);
	}
	CHECK(!fake.allocs && fake.queries == 1000);
	fake.cost = 0;
	for (i = 0; i < 1000; i++) {
		fake.generation += !(i % 3);
		check_find(pm, &table, 0x45000, flags, &vma);
	}
	CHECK(fake.cost < 1200UL * FAKE_COST_QUERY_NAME);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_random(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	size_t i, nr;

	tap_begin("cache: 100,000 random look-ups next to random changes");
	srandom(1);
	table_large(&table, 500);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	for (i = 0; i < 100000; i++) {
		nr = random() % table.nr;
		if (!(random() % 50))
			change(&table, random() % table.nr);
		if (!(random() % 500))
			fake.generation = random() % 2 ? i + 1000000 : 0;
		check_find(pm, &table, table.vmas[nr].start + random() % 0x5000,
			   random() & 0x33f, &vma);
	}
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_changed(void)
{
	uint64_t all = 0, code = 0, dummy = 5;
	struct procmap *pm;
	struct table table;

	tap_begin("changed: says whether there was a change, of code or at all");
	table_large(&table, 300);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	CHECK(procmap_changed(pm, 0, &all) == 1 && procmap_changed(pm, CODE, &code) == 1);
	CHECK(procmap_changed(pm, 0, &all) == 0 && procmap_changed(pm, CODE, &code) == 0);
	change(&table, 1);
	CHECK(procmap_changed(pm, 0, &all) == 1 && procmap_changed(pm, CODE, &code) == 0);
	change(&table, 100);
	CHECK(procmap_changed(pm, 0, &all) == 1 && procmap_changed(pm, CODE, &code) == 1);
	fake.generation = 0;
	CHECK(procmap_changed(pm, 0, &all) == 1 && !all);
	CHECK(procmap_changed(pm, 0, &all) == 1);
	CHECK(procmap_changed(pm, PROCMAP_NAME, &all) == -1 && errno == EINVAL);
	fake.query_errno = ESRCH;
	CHECK(procmap_changed(pm, 0, &all) == -1 && errno == ESRCH);
	procmap_close(pm);
	pm = open_table(&table, PROCMAP_BACKEND_QUERY);
	CHECK(procmap_changed(pm, 0, &dummy) == 1 && !dummy && !fake.scans);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

void cache_tests(void)
{
	test_used();
	test_batch_asks_once();
	test_never_stale();
	test_code();
	test_bound();
	test_build_ids();
	test_no_build_ids();
	test_random();
	test_changed();
}
