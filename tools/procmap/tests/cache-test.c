// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of what libprocmap keeps of scans: it is used, and it is never stale.
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

static void find_all(struct procmap *pm, const struct table *table, unsigned int flags)
{
	struct procmap_vma vma = { 0 };
	size_t i;

	for (i = 0; i < table->nr; i++) {
		check_find(pm, table, table->vmas[i].start, flags, &vma);
		check_find(pm, table, table->vmas[i].end - 1, flags, &vma);
		check_find(pm, table, table->vmas[i].end, flags, &vma);
	}
	procmap_vma_free(&vma);
}

static void test_used(void)
{
	struct procmap *pm;
	struct table table;

	tap_begin("cache: what holds is not fetched again");
	table_large(&table, 3000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	find_all(pm, &table, PROCMAP_NAME);
	CHECK(fake.records <= table.nr * 2);
	fake.scans = 0;
	fake.records = 0;
	find_all(pm, &table, PROCMAP_NAME);
	CHECK(!fake.records && fake.scans == 3 * table.nr);
	/* A walk asks once. */
	fake.scans = 0;
	check_walk(pm, &table, PROCMAP_NAME);
	check_walk(pm, &table, 0);
	CHECK(!fake.records && fake.scans == 2);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_batch_asks_once(void)
{
	static const uint64_t addrs[] = { 0x100000, 0x103000, 0x200000, 0x300000 };
	struct procmap_batch batch;
	struct procmap *pm;
	struct table table;
	int i;

	tap_begin("cache: a batch asks once for all addresses");
	table_large(&table, 3000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	for (i = 0; i < 2; i++) {
		fake.scans = 0;
		CHECK(!procmap_resolve_many(pm, addrs, ARRAY_SIZE(addrs), 0, &batch));
		procmap_batch_free(&batch);
	}
	CHECK(fake.scans == 1);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_never_stale(void)
{
	struct procmap_vma vma = { 0 };
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

static void test_code(void)
{
	struct procmap_vma vma = { 0 };
	struct procmap *pm;
	struct table table;

	tap_begin("cache: of code, it survives all changes of other memory");
	table_large(&table, 3000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	check_walk(pm, &table, CODE | PROCMAP_NAME | PROCMAP_BUILD_ID);
	CHECK(fake.records == 30);
	fake.records = 0;
	change(&table, 1);
	find_all(pm, &table, CODE | PROCMAP_NAME | PROCMAP_BUILD_ID);
	find_all(pm, &table, CODE | PROCMAP_READ | PROCMAP_BUILD_ID);
	CHECK(!fake.records);
	change(&table, 100);
	check_find(pm, &table, table.vmas[100].start, CODE | PROCMAP_BUILD_ID, &vma);
	CHECK(fake.records);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_busy(void)
{
	struct procmap_vma vma = { 0 };
	struct procmap *pm;
	struct table table;
	unsigned long before;
	size_t i, round;

	tap_begin("cache: of a process that is always at work, it costs no more than queries");
	table_large(&table, 3000);
	for (round = 0; round < 2; round++) {
		pm = open_table(&table, PROCMAP_BACKEND_SCAN);
		if (round)
			fake.generation = 0;
		for (i = 0; i < table.nr; i++) {
			before = fake.scans;
			change(&table, i * 7 % table.nr);
			check_find(pm, &table, table.vmas[i * 11 % table.nr].start, 0, &vma);
			CHECK(fake.scans == before + 1);
		}
		CHECK(fake.records <= 4 * table.nr);
		CHECK(check_walk(pm, &table, PROCMAP_NAME) == table.nr);
		find_all(pm, &table, 0);
		procmap_close(pm);
	}
	procmap_vma_free(&vma);
	table_free(&table);
	tap_end();
}

static void test_build_ids_apart(void)
{
	struct procmap_vma vma = { 0 };
	struct procmap *pm;
	struct table table;

	tap_begin("cache: who wants no build ID does not wait for one");
	table_odd(&table);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	check_find(pm, &table, 0x2000, PROCMAP_BUILD_ID, &vma);
	CHECK(fake.build_ids == 1);
	change(&table, 0);
	check_find(pm, &table, 0x2000, 0, &vma);
	check_find(pm, &table, 0x2000, PROCMAP_NAME, &vma);
	CHECK(fake.build_ids == 1);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_limit(void)
{
	struct procmap *pm;
	struct table table;

	tap_begin("cache: does not grow without limit");
	table_large(&table, 100000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	CHECK(check_walk(pm, &table, 0) == table.nr);
	fake.records = 0;
	/* The first part had to give way. */
	CHECK(check_walk(pm, &table, 0) == table.nr);
	CHECK(fake.records);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

/* Ranges are fetched in any order; look-ups hit and miss; VMAs change at times. */
static void test_random(void)
{
	struct procmap_vma vma = { 0 };
	struct procmap *pm;
	struct table table;
	size_t i, nr;

	tap_begin("cache: 100,000 random look-ups beside random changes");
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
	test_busy();
	test_build_ids_apart();
	test_limit();
	test_random();
	test_changed();
}
