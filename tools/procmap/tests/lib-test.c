// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of libprocmap: each case runs with scans and with queries, which a fake
 * kernel answers, and with the text.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../procmap-abi.h"
#include "fake.h"
#include "lib-test.h"
#include "tap.h"

const enum procmap_backend backends[NR_BACKENDS] = {
	PROCMAP_BACKEND_SCAN, PROCMAP_BACKEND_QUERY, PROCMAP_BACKEND_TEXT,
};

static const enum procmap_backend *const backends_end = backends + NR_BACKENDS;

struct procmap *open_table(const struct table *table, enum procmap_backend backend)
{
	struct procmap *pm;

	fake = (struct fake){ .table = table->vmas, .nr = table->nr };
	fake.generation = 1;
	fake.code_generation = 1;
	pm = procmap_open_fd(table->fd, backend);
	if (!CHECK(pm))
		exit(1);
	CHECK(procmap_get_backend(pm) == backend);
	fake.queries = 0;
	fake.scans = 0;
	fake.reads = 0;
	return pm;
}

static bool same_string(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The text shows such names in the same way as others: see test_escapes(). */
static bool ambiguous(const char *name)
{
	return strchr(name, '\n') || strstr(name, "\\012");
}

bool right(const struct procmap *pm, const struct procmap_vma *vma,
	   const struct procmap_vma *truth, unsigned int flags)
{
	bool query = procmap_get_backend(pm) != PROCMAP_BACKEND_TEXT;
	bool build_id = query && (flags & PROCMAP_BUILD_ID);
	uint32_t known = 0;

	if (query)
		known |= PROCMAP_KNOWN_PAGE_SIZE;
	/* For a query, a file that it could not read looks like one without a build ID. */
	if (build_id && (truth->build_id_size || !(truth->flags & PROCMAP_FILE)))
		known |= PROCMAP_KNOWN_BUILD_ID;
	else if (build_id && procmap_get_backend(pm) == PROCMAP_BACKEND_SCAN)
		known |= vma->known & PROCMAP_KNOWN_BUILD_ID;
	if ((flags & PROCMAP_NAME) && (query || !truth->name || !ambiguous(truth->name)))
		known |= PROCMAP_KNOWN_NAME;

	return vma->start == truth->start && vma->end == truth->end &&
	       vma->offset == truth->offset && vma->inode == truth->inode &&
	       vma->dev_major == truth->dev_major && vma->dev_minor == truth->dev_minor &&
	       vma->flags == truth->flags && vma->known == known &&
	       vma->page_size == (query ? truth->page_size : 0) &&
	       vma->build_id_size == (build_id ? truth->build_id_size : 0) &&
	       !memcmp(vma->build_id, truth->build_id, vma->build_id_size) &&
	       (same_string(vma->name, flags & PROCMAP_NAME ? truth->name : NULL) ||
		(!query && strstr(truth->name, "\\012")));
}

const struct procmap_vma *truth_find(const struct table *table, uint64_t addr,
				     unsigned int flags)
{
	const unsigned int filters = flags & 0x2f;
	const struct procmap_vma *vma;

	for (vma = table->vmas; vma < table->vmas + table->nr; vma++) {
		if (addr >= vma->end || (vma->flags & filters) != filters)
			continue;
		return addr >= vma->start || (flags & PROCMAP_OR_NEXT) ? vma : NULL;
	}
	return NULL;
}

void check_find(struct procmap *pm, const struct table *table, uint64_t addr, unsigned int flags,
		struct procmap_vma *vma)
{
	const struct procmap_vma *truth = truth_find(table, addr, flags);
	int ret = procmap_find(pm, addr, flags, vma);

	if (truth ? ret || !right(pm, vma, truth, flags) : ret != -1 || errno != ENOENT) {
		printf("# backend %d, address %#jx, flags %#x\n", procmap_get_backend(pm),
		       (uintmax_t)addr, flags);
		CHECK(!"the answer is right");
	} else {
		CHECK(true);
	}
}

static void test_find(void)
{
	const enum procmap_backend *b;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	unsigned int flags;
	size_t i;

	tap_begin("find: each VMA, its edges and the holes, with all combinations of flags");
	table_odd(&table);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		for (flags = 0; flags < 0x40; flags++) {
			for (i = 0; i < table.nr; i++) {
				const struct procmap_vma *t = &table.vmas[i];

				check_find(pm, &table, t->start, flags | PROCMAP_NAME, &vma);
				check_find(pm, &table, t->start - 1, flags, &vma);
				check_find(pm, &table, t->end - 1, flags | 0x300, &vma);
				check_find(pm, &table, t->end, flags | PROCMAP_BUILD_ID, &vma);
			}
		}
		check_find(pm, &table, UINT64_MAX, PROCMAP_OR_NEXT, &vma);
		/* The text shows this page, but it is no VMA. */
		check_find(pm, &table, 0xffffffffff600000, 0, &vma);
		procmap_close(pm);
	}
	procmap_vma_free(&vma);
	table_free(&table);
	tap_end();
}

size_t check_walk(struct procmap *pm, const struct table *table, unsigned int flags)
{
	const unsigned int filters = flags & 0x2f;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	size_t i, seen = 0;
	int ret = 0;

	for (i = 0; i < table->nr; i++) {
		if ((table->vmas[i].flags & filters) != filters)
			continue;
		ret = procmap_next(pm, flags, &vma);
		if (ret != 1 || !right(pm, &vma, &table->vmas[i], flags))
			CHECK(!"the walk is right");
		seen++;
	}
	/* At the end it is empty: the next call begins anew. */
	CHECK(procmap_next(pm, flags, &vma) == 0 && !vma.end && !vma.name);
	procmap_vma_free(&vma);
	return seen;
}

static void test_walk(void)
{
	const enum procmap_backend *b;
	struct procmap *pm;
	struct table table;
	unsigned int flags;

	tap_begin("walk: with all combinations of filters");
	table_odd(&table);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		for (flags = 0; flags < 0x40; flags++) {
			check_walk(pm, &table, flags | PROCMAP_NAME);
			check_walk(pm, &table, flags | PROCMAP_BUILD_ID);
		}
		CHECK(check_walk(pm, &table, 0) == table.nr);
		procmap_close(pm);
	}
	table_free(&table);
	tap_end();
}

static void test_small_reads(void)
{
	static const size_t sizes[] = { 1, 7, 80, 4096 };
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("text: lines that come in pieces");
	table_odd(&table);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		pm = open_table(&table, PROCMAP_BACKEND_TEXT);
		fake.read_max = sizes[i];
		CHECK(check_walk(pm, &table, PROCMAP_NAME) == table.nr);
		procmap_close(pm);
	}
	table_free(&table);
	tap_end();
}

static void test_interleaved(void)
{
	const enum procmap_backend *b;
	struct procmap_vma vma = PROCMAP_VMA_INIT, other = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("walk: goes on after the handle was used for something else");
	table_odd(&table);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		vma.end = 0;
		for (i = 0; i < table.nr; i++) {
			CHECK(procmap_next(pm, PROCMAP_NAME, &vma) == 1);
			CHECK(right(pm, &vma, &table.vmas[i], PROCMAP_NAME));
			check_find(pm, &table, table.vmas[i * 7 % table.nr].start, 0, &other);
		}
		CHECK(procmap_next(pm, 0, &vma) == 0);
		procmap_vma_free(&vma);
		procmap_close(pm);
	}
	procmap_vma_free(&other);
	table_free(&table);
	tap_end();
}

/* Take two steps of a walk, then the address space changes. */
static struct procmap *walk_and_change(const struct table *before, const struct table *after,
				       enum procmap_backend backend, struct procmap_vma *vma)
{
	struct procmap *pm = open_table(before, backend);

	vma->end = 0;
	CHECK(procmap_next(pm, 0, vma) == 1 && procmap_next(pm, 0, vma) == 1);
	fake.table = after->vmas;
	fake.generation++;
	return pm;
}

static void test_walk_after_find(void)
{
	const enum procmap_backend *b;
	struct procmap_vma vma = PROCMAP_VMA_INIT, found = PROCMAP_VMA_INIT;
	struct table before, after;
	struct procmap *pm;
	size_t i;

	tap_begin("walk: begins with the VMA of a look-up, and finds what is there now");
	table_odd(&before);
	table_odd(&after);
	for (i = 2; i < after.nr; i++)
		after.vmas[i].flags ^= PROCMAP_EXEC;
	for (b = backends; *b != PROCMAP_BACKEND_TEXT; b++) {
		pm = walk_and_change(&before, &after, *b, &vma);
		check_find(pm, &after, 0x1000, 0, &vma);
		CHECK(procmap_next(pm, 0, &vma) == 1 && right(pm, &vma, &after.vmas[2], 0));
		procmap_close(pm);

		/* Nor what one has that comes by, from below, later. */
		pm = walk_and_change(&before, &after, *b, &vma);
		check_find(pm, &after, 0x5000, 0, &found);
		CHECK(procmap_next(pm, 0, &vma) == 1 && procmap_next(pm, 0, &vma) == 1);
		CHECK(vma.end == found.end);
		CHECK(procmap_next(pm, 0, &found) == 1 && right(pm, &found, &after.vmas[4], 0));
		procmap_close(pm);
	}
	table_free(&before);
	table_free(&after);
	tap_end();
}

/* Return both ends of all VMAs and the addresses next to them, each twice. */
static uint64_t *batch_addrs(const struct table *table, size_t *nr)
{
	uint64_t *addrs = calloc(table->nr * 8, sizeof(*addrs)), last = 0, next[4];
	size_t i, j;

	*nr = 0;
	for (i = 0; i < table->nr; i++) {
		next[0] = table->vmas[i].start ? table->vmas[i].start - 1 : 0;
		next[1] = table->vmas[i].start;
		next[2] = table->vmas[i].end - 1;
		next[3] = table->vmas[i].end;
		for (j = 0; j < 8; j++) {
			if (next[j / 2] < last)
				continue;
			last = next[j / 2];
			addrs[(*nr)++] = last;
		}
	}
	return addrs;
}

static void check_batch(struct procmap *pm, const struct table *table, unsigned int flags)
{
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	const struct procmap_vma *truth;
	uint64_t *addrs;
	size_t i, nr;

	addrs = batch_addrs(table, &nr);
	if (CHECK(!procmap_resolve_many(pm, addrs, nr, flags, &batch))) {
		for (i = 0; i < nr; i++) {
			truth = truth_find(table, addrs[i], flags);
			if (truth)
				CHECK(batch.index[i] < batch.nr_vmas &&
				      right(pm, &batch.vmas[batch.index[i]], truth, flags));
			else
				CHECK(batch.index[i] == PROCMAP_UNMAPPED);
		}
		for (i = 1; i < batch.nr_vmas; i++)
			CHECK(batch.vmas[i].start > batch.vmas[i - 1].start);
		procmap_batch_free(&batch);
		procmap_batch_free(&batch);
	}
	free(addrs);
}

static void test_batch(void)
{
	static const uint64_t bad[] = { 0x3000, 0x2000 };
	const enum procmap_backend *b;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	struct procmap *pm;
	struct table table;
	unsigned int flags;

	tap_begin("batch: the same answers as one by one");
	table_odd(&table);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		for (flags = 0; flags < 0x40; flags++)
			check_batch(pm, &table, flags | PROCMAP_NAME | PROCMAP_BUILD_ID);
		CHECK(procmap_resolve_many(pm, bad, 2, 0, &batch) == -1 && errno == EINVAL);
		CHECK(!batch.index && !batch.vmas);
		CHECK(!procmap_resolve_many(pm, NULL, 0, 0, &batch) && !batch.nr_vmas);
		procmap_batch_free(&batch);
		procmap_close(pm);
	}
	table_free(&table);
	tap_end();
}

static void test_batch_reads_once(void)
{
	static const uint64_t addrs[] = { 0x0, 0x1000, 0x2000, 0x5000, 0x6000, 0x10000, 0x43000 };
	/* Nothing matches below the last address; or nothing at all. */
	static const unsigned int flags[] = {
		PROCMAP_SHARED, PROCMAP_SHARED | PROCMAP_OR_NEXT,
		PROCMAP_EXEC | PROCMAP_WRITE, PROCMAP_EXEC | PROCMAP_WRITE | PROCMAP_OR_NEXT,
	};
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("batch: reads the text once, also for addresses that the filters skip");
	table_odd(&table);
	pm = open_table(&table, PROCMAP_BACKEND_TEXT);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		fake.reads = 0;
		CHECK(!procmap_resolve_many(pm, addrs, ARRAY_SIZE(addrs), flags[i], &batch));
		CHECK(batch.nr_vmas == (i == 0 ? 1 : i == 1 ? 2 : 0));
		/* The text, its end, and whether the process is still there. */
		CHECK(fake.reads <= 3);
		procmap_batch_free(&batch);
	}
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void test_large(void)
{
	const enum procmap_backend *b;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	struct procmap *pm;
	struct table table;
	uint64_t *addrs;
	size_t i, nr;

	tap_begin("100,000 VMAs: one query each, 300 scans, the text read once");
	table_large(&table, 100000);
	addrs = batch_addrs(&table, &nr);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		CHECK(check_walk(pm, &table, PROCMAP_NAME) == table.nr);
		if (*b == PROCMAP_BACKEND_QUERY)
			CHECK(fake.queries == table.nr + 1);
		else if (*b == PROCMAP_BACKEND_SCAN)
			CHECK(fake.records == table.nr && fake.scans < 300);
		else
			CHECK((off_t)(fake.reads - 3) * 32768 <= lseek(table.fd, 0, SEEK_END) * 2);
		fake.queries = 0;
		fake.reads = 0;
		CHECK(!procmap_resolve_many(pm, addrs, nr, PROCMAP_NAME, &batch));
		CHECK(batch.nr_vmas == table.nr);
		for (i = 0; i < batch.nr_vmas; i++)
			if (!right(pm, &batch.vmas[i], &table.vmas[i], PROCMAP_NAME))
				CHECK(!"the batch is right");
		procmap_batch_free(&batch);
		/* Each of the four addresses in a hole costs a query. */
		if (*b == PROCMAP_BACKEND_QUERY)
			CHECK(fake.queries <= table.nr + 4 * (table.nr / 3 + 2));
		else if (*b == PROCMAP_BACKEND_SCAN)
			CHECK(fake.scans < 600);
		else
			CHECK((off_t)(fake.reads - 3) * 32768 <= lseek(table.fd, 0, SEEK_END) * 2);
		procmap_close(pm);
	}
	free(addrs);
	table_free(&table);
	tap_end();
}

/* The first VMA has a name of @len bytes. Too long ones are not known. */
static void check_long_name(size_t len, char fill, unsigned long queries)
{
	const enum procmap_backend *b;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;

	table_long_name(&table, len, fill);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		CHECK(!procmap_find(pm, 0x2000, PROCMAP_NAME, &vma));
		CHECK(right(pm, &vma, &table.vmas[0], len < PATH_MAX ? PROCMAP_NAME : 0));
		if (*b == PROCMAP_BACKEND_QUERY)
			CHECK(fake.queries == queries && !fake.reads);
		CHECK(procmap_next(pm, PROCMAP_NAME, &vma) == 1);
		CHECK(right(pm, &vma, &table.vmas[1], PROCMAP_NAME));
		CHECK(!procmap_next(pm, PROCMAP_NAME, &vma));
		procmap_close(pm);
		procmap_vma_free(&vma);
	}
	table_free(&table);
}

/* What else was asked for is known all the same. */
static void check_long_name_details(void)
{
	const unsigned int flags = PROCMAP_NAME | PROCMAP_BUILD_ID | PROCMAP_DETAILS;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;

	table_long_name(&table, 5000, 'n');
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	CHECK(!procmap_find(pm, 0x1000, flags, &vma) && !vma.name);
	CHECK(vma.known == (PROCMAP_KNOWN_PAGE_SIZE | PROCMAP_KNOWN_BUILD_ID |
			    PROCMAP_KNOWN_DETAILS));
	CHECK(vma.record_flags & PROCMAP_RECORD_NAME_TOO_LONG);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
}

static void test_long_names(void)
{
	size_t len;

	tap_begin("names: as long as a path can be, and a longer one is not known");
	check_long_name(255, 'n', 1);
	check_long_name(256, 'n', 2);
	check_long_name(PATH_MAX - 1, 'n', 3);
	check_long_name(PATH_MAX - 1, '\n', 3);
	check_long_name(PATH_MAX, 'n', 4);
	check_long_name(PATH_MAX, '\n', 4);
	/* About the size of the buffer for the text, and well above */
	for (len = 32600; len < 32800; len++)
		check_long_name(len, 'n', 4);
	check_long_name(8300, '\n', 4);
	check_long_name(1000000, 'n', 4);
	check_long_name(1000000, '\n', 4);
	check_long_name_details();
	tap_end();
}

static void test_escapes(void)
{
	static const char text[] =
		"1000-2000 r--p 00000000 08:01 5 /a\\012b\\0123\\n\\011\n"
		"2000-3000 r--p 00000000 00:00 0 [anon:a\\012b]\n";
	int fd = text_fd(text);
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;

	tap_begin("text: escapes are undone in paths only, and then the name is not sure");
	pm = procmap_open_fd(fd, PROCMAP_BACKEND_TEXT);
	CHECK(!procmap_find(pm, 0x1000, PROCMAP_NAME, &vma));
	CHECK(same_string(vma.name, "/a\nb\n3\\n\\011") && !vma.known);
	CHECK(!procmap_find(pm, 0x2000, PROCMAP_NAME, &vma));
	CHECK(same_string(vma.name, "[anon:a\\012b]") && vma.known == PROCMAP_KNOWN_NAME);
	procmap_close(pm);
	procmap_vma_free(&vma);
	close(fd);
	tap_end();
}

static void test_torn_text(void)
{
	/*
	 * What a reader sees if VMAs are split, merged and grown between its
	 * reads.
	 */
	static const char text[] =
		"1000-3000 r--p 00000000 00:00 0 x\n"
		"1000-4000 rw-p 00000000 00:00 0 x\n"
		"2000-4000 r-xp 00000000 00:00 0 x\n"
		"3000-8000 rw-p 00000000 00:00 0 x\n";
	static const uint64_t ends[] = { 0x3000, 0x4000, 0x8000 };
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	int fd = text_fd(text);
	struct procmap *pm;
	size_t i;

	tap_begin("text: lines that overlap do not go back");
	pm = procmap_open_fd(fd, PROCMAP_BACKEND_TEXT);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		CHECK(procmap_next(pm, 0, &vma) == 1 && vma.end == ends[i]);
	CHECK(procmap_next(pm, 0, &vma) == 0);
	CHECK(!procmap_find(pm, 0x3800, 0, &vma) && vma.end == 0x4000);
	procmap_close(pm);
	close(fd);
	tap_end();
}

static void rewrite(int fd, const char *text)
{
	CHECK(!ftruncate(fd, 0) && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
}

static void test_fresh_text(void)
{
	static const char first[] = "1000-2000 r--p 00000000 00:00 0 x\n";
	static const char second[] = "1000-2000 rw-p 00000000 00:00 0 x\n";
	const uint64_t addr = 0x1000;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	int fd = text_fd(first);
	struct procmap *pm;

	tap_begin("text: each look-up, walk and batch begins with new text");
	pm = procmap_open_fd(fd, PROCMAP_BACKEND_TEXT);
	CHECK(!procmap_find(pm, addr, 0, &vma) && vma.flags == PROCMAP_READ);
	rewrite(fd, second);
	CHECK(!procmap_find(pm, addr, 0, &vma) && vma.flags == (PROCMAP_READ | PROCMAP_WRITE));
	rewrite(fd, first);
	vma.end = 0;
	CHECK(procmap_next(pm, 0, &vma) == 1 && vma.flags == PROCMAP_READ);
	rewrite(fd, second);
	CHECK(!procmap_resolve_many(pm, &addr, 1, 0, &batch));
	CHECK(batch.vmas[0].flags == (PROCMAP_READ | PROCMAP_WRITE));
	procmap_batch_free(&batch);
	rewrite(fd, first);
	vma.end = 0;
	CHECK(procmap_next(pm, 0, &vma) == 1 && vma.flags == PROCMAP_READ);
	CHECK(procmap_next(pm, 0, &vma) == 0);
	procmap_close(pm);
	close(fd);
	tap_end();
}

static void test_bad_text(void)
{
	static const char * const texts[] = {
		"x", "\n", "1000-2000 r--p 00000000 00:00 0 no newline", "1000-2000\n",
		"1000 2000 r--p 00000000 00:00 0 x\n", "1000-2000 r--p 00000000 00:00 0\n",
		"1000-2000 r--? 00000000 00:00 0 x\n", "1000-2000 rr-p 00000000 00:00 0 x\n",
		"1000-2000 r--p 0000000g 00:00 0 x\n", "1000-2000 r--p 00000000 00-00 0 x\n",
		"1000-2000 r--p 00000000 00:00 f x\n", "2000-2000 r--p 00000000 00:00 0 x\n",
		"3000-2000 r--p 00000000 00:00 0 x\n", "-2000 r--p 00000000 00:00 0 x\n",
		"1000-10000000000000000 r--p 00000000 00:00 0 x\n",
		"1000-2000 r--p 00000000 00:00 18446744073709551616 x\n",
	};
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	size_t i;
	int fd;

	tap_begin("text: what makes no sense is EPROTO");
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		fd = text_fd(texts[i]);
		pm = procmap_open_fd(fd, PROCMAP_BACKEND_TEXT);
		if (!CHECK(procmap_find(pm, 0x1000, PROCMAP_NAME, &vma) == -1 && errno == EPROTO))
			printf("# text %zu\n", i);
		CHECK(procmap_next(pm, 0, &vma) == -1 && errno == EPROTO);
		procmap_close(pm);
		close(fd);
	}
	procmap_vma_free(&vma);
	tap_end();
}

static void test_garbage(void)
{
	static const unsigned int flags[] = { 0, PROCMAP_NAME, PROCMAP_BUILD_ID };
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("scan, query: an answer that cannot be is EPROTO");
	table_odd(&table);
	for (i = 0; i < 2 * ARRAY_SIZE(flags); i++) {
		pm = open_table(&table, i % 2 ? PROCMAP_BACKEND_QUERY : PROCMAP_BACKEND_SCAN);
		fake.garbage = true;
		CHECK(procmap_find(pm, 0x1000, flags[i / 2], &vma) == -1 && errno == EPROTO);
		procmap_close(pm);
	}
	procmap_vma_free(&vma);
	table_free(&table);
	tap_end();
}

static size_t open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static void test_open_errors(void)
{
	const size_t before = open_descriptors();
	int fd = open("/proc/self/maps", O_RDONLY);

	tap_begin("open: errors");
	fake = (struct fake){ 0 };
	CHECK(!procmap_open(0, PROCMAP_BACKEND_AUTO) && errno == EINVAL);
	CHECK(!procmap_open(-1, PROCMAP_BACKEND_AUTO) && errno == EINVAL);
	CHECK(!procmap_open(getpid(), 4) && errno == EINVAL);
	CHECK(!procmap_open_fd(fd, 4) && errno == EINVAL);
	CHECK(!procmap_open(0x7fffffff, PROCMAP_BACKEND_AUTO) && errno == ENOENT);
	CHECK(!procmap_open_fd(-1, PROCMAP_BACKEND_AUTO) && errno == EBADF);
	CHECK(!procmap_open_fd(-1, PROCMAP_BACKEND_TEXT) && errno == EBADF);
	CHECK(!procmap_open_fd(12345, PROCMAP_BACKEND_QUERY) && errno == EBADF);
	fake.query_errno = ENOTTY;
	CHECK(!procmap_open(getpid(), PROCMAP_BACKEND_QUERY) && errno == ENOTTY);
	CHECK(!procmap_open_fd(fd, PROCMAP_BACKEND_QUERY) && errno == ENOTTY);
	CHECK(!procmap_open(getpid(), PROCMAP_BACKEND_SCAN) && errno == ENOTTY);
	CHECK(!procmap_open_fd(fd, PROCMAP_BACKEND_SCAN) && errno == ENOTTY);
	CHECK(fcntl(fd, F_GETFD) >= 0);
	close(fd);
	procmap_close(NULL);
	CHECK(open_descriptors() == before);
	tap_end();
}

static void test_abi(void)
{
	tap_begin("the ABI: numbers and sizes of the ioctls");
	CHECK(PROCMAP_QUERY == 0xc0686611);
	CHECK(sizeof(struct procmap_query) == 104);
	CHECK(offsetof(struct procmap_query, vma_name_addr) == 88);
	CHECK(PROCMAP_SCAN == 0xc080661e);
	CHECK(sizeof(struct procmap_scan) == 128 && sizeof(struct procmap_record) == 96);
	tap_end();
}

static void test_refused(void)
{
	static const int errors[] = { ENOTTY, EPERM, EACCES, EINVAL, EOPNOTSUPP };
	static const int answers[] = { ENOENT, ESRCH, ENOMEM, EINTR, EFAULT };
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	size_t i;

	tap_begin("open: the text where seccomp refuses the ioctls, whatever its errno");
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake = (struct fake){ .query_errno = errors[i] };
		pm = procmap_open(getpid(), PROCMAP_BACKEND_AUTO);
		CHECK(pm && procmap_get_backend(pm) == PROCMAP_BACKEND_TEXT);
		CHECK(!procmap_find(pm, (uintptr_t)test_abi, PROCMAP_EXEC | PROCMAP_FILE, &vma));
		procmap_close(pm);
		CHECK(!procmap_open(getpid(), PROCMAP_BACKEND_QUERY) && errno == errors[i]);
		CHECK(!procmap_open(getpid(), PROCMAP_BACKEND_SCAN) && errno == errors[i]);
	}
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		fake = (struct fake){ .query_errno = answers[i] };
		pm = procmap_open(getpid(), PROCMAP_BACKEND_AUTO);
		CHECK(pm && procmap_get_backend(pm) == PROCMAP_BACKEND_SCAN);
		CHECK(procmap_find(pm, 0, 0, &vma) == -1 && errno == answers[i]);
		procmap_close(pm);
	}
	tap_end();
}

static void test_fallback(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;

	tap_begin("open: queries where only scans are ENOTTY");
	fake = (struct fake){ .no_scan = true };
	pm = procmap_open(getpid(), PROCMAP_BACKEND_AUTO);
	CHECK(pm && procmap_get_backend(pm) == PROCMAP_BACKEND_QUERY);
	procmap_close(pm);

	fake.query_errno = ESRCH;
	pm = procmap_open(getpid(), PROCMAP_BACKEND_AUTO);
	CHECK(pm && procmap_get_backend(pm) == PROCMAP_BACKEND_QUERY);
	CHECK(procmap_find(pm, 0, 0, &vma) == -1 && errno == ESRCH);
	procmap_close(pm);
	tap_end();
}

static void test_find_errors(void)
{
	static const int errors[] = { ESRCH, ENOMEM, EINTR, EFAULT, EPERM, ENAMETOOLONG };
	const enum procmap_backend *b;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	const uint64_t addr = 0x1000;
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("look-ups: errors of the kernel come through, unknown flags are EINVAL");
	table_odd(&table);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		CHECK(procmap_find(pm, addr, 0x40, &vma) == -1 && errno == EINVAL);
		CHECK(procmap_next(pm, 0x1000, &vma) == -1 && errno == EINVAL);
		CHECK(procmap_resolve_many(pm, &addr, 1, 0x80, &batch) == -1 && errno == EINVAL);
		CHECK(!fake.scans && !fake.queries && !fake.reads);
		for (i = 0; i < ARRAY_SIZE(errors); i++) {
			fake.query_errno = errors[i];
			fake.read_errno = errors[i];
			vma.end = 0;
			CHECK(procmap_find(pm, addr, 0, &vma) == -1 && errno == errors[i]);
			CHECK(procmap_next(pm, 0, &vma) == -1 && errno == errors[i]);
			CHECK(procmap_resolve_many(pm, &addr, 1, 0, &batch) == -1 &&
			      errno == errors[i]);
		}
		/* The handle must still work. */
		fake.query_errno = 0;
		fake.read_errno = 0;
		check_find(pm, &table, addr, PROCMAP_NAME, &vma);
		procmap_close(pm);
	}
	procmap_vma_free(&vma);
	table_free(&table);
	tap_end();
}

pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	while (!pid)
		pause();
	return pid;
}

static void check_gone(struct procmap *pm)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	const uint64_t addr = 0x1000;

	CHECK(procmap_find(pm, addr, PROCMAP_OR_NEXT, &vma) == -1 && errno == ESRCH);
	CHECK(procmap_next(pm, 0, &vma) == -1 && errno == ESRCH);
	CHECK(procmap_resolve_many(pm, &addr, 1, 0, &batch) == -1 && errno == ESRCH);
	procmap_vma_free(&vma);
}

static void check_exit(enum procmap_backend backend)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	pid_t pid = start_child();
	struct procmap *pm;
	siginfo_t info;

	pm = procmap_open(pid, backend);
	CHECK(pm && procmap_next(pm, 0, &vma) == 1);
	kill(pid, SIGKILL);
	CHECK(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	/* The process is a zombie first, then gone. */
	check_gone(pm);
	CHECK(waitpid(pid, NULL, 0) == pid);
	check_gone(pm);
	procmap_close(pm);
	CHECK(!procmap_open(pid, backend) && errno == ENOENT);
	procmap_vma_free(&vma);
}

static void test_exit(void)
{
	const enum procmap_backend *b;

	tap_begin("a process that exits: ESRCH");
	fake = (struct fake){ 0 };
	for (b = backends; b < backends_end; b++)
		check_exit(*b);
	tap_end();
}

static void test_exit_midway(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	int ret;

	tap_begin("a process that exits while its text is read: ESRCH, not an early end");
	table_odd(&table);
	pm = open_table(&table, PROCMAP_BACKEND_TEXT);
	fake.read_max = 500;
	fake.read_eof_from = 3;
	do {
		ret = procmap_next(pm, 0, &vma);
	} while (ret == 1);
	CHECK(ret == -1 && (errno == ESRCH || errno == EPROTO));
	procmap_close(pm);

	/* The text ends at the end of a line, as the kernel does it. */
	pm = open_table(&table, PROCMAP_BACKEND_TEXT);
	/* sizeof() counts the terminating NUL, here for the newline. */
	fake.read_max = sizeof("00000000-00001000 r--p 00000000 00:00 0 ");
	fake.read_eof_from = 2;
	vma.end = 0;
	CHECK(procmap_next(pm, 0, &vma) == 1 && vma.end == 0x1000);
	CHECK(procmap_next(pm, 0, &vma) == -1 && errno == ESRCH);
	procmap_close(pm);
	procmap_vma_free(&vma);
	table_free(&table);
	tap_end();
}

static void test_descriptor(void)
{
	const enum procmap_backend *b;
	const size_t before = open_descriptors();
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;

	tap_begin("descriptors: position not moved, closed only if own");
	table_odd(&table);
	for (b = backends; b < backends_end; b++) {
		pm = open_table(&table, *b);
		CHECK(lseek(table.fd, 17, SEEK_SET) == 17);
		check_find(pm, &table, 0x2000, PROCMAP_NAME, &vma);
		check_walk(pm, &table, 0);
		CHECK(lseek(table.fd, 0, SEEK_CUR) == 17);
		CHECK(procmap_get_fd(pm) == table.fd);
		procmap_close(pm);
		CHECK(fcntl(table.fd, F_GETFD) >= 0);

		fake.table = NULL;
		pm = procmap_open(getpid(), *b);
		CHECK(pm && (fcntl(procmap_get_fd(pm), F_GETFD) & FD_CLOEXEC));
		errno = 99;
		procmap_close(pm);
		CHECK(errno == 99);
	}
	table_free(&table);
	CHECK(open_descriptors() == before);
	procmap_vma_free(&vma);
	tap_end();
}

/* Use all functions of the library. Succeeds, or fails with ENOMEM. */
static bool use_all(const struct table *table, enum procmap_backend backend)
{
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x2fff, 0x9000, 0x46000 };
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	struct procmap *pm;
	int ret;

	pm = procmap_open_fd(table->fd, backend);
	if (!pm)
		return CHECK(errno == ENOMEM) && false;
	do {
		ret = procmap_next(pm, PROCMAP_NAME, &vma);
	} while (ret == 1);
	if (!ret)
		ret = procmap_find(pm, 0x1000, PROCMAP_NAME, &vma);
	if (!ret)
		ret = procmap_resolve_many(pm, addrs, ARRAY_SIZE(addrs), PROCMAP_NAME, &batch);
	if (ret)
		CHECK(errno == ENOMEM);
	else
		procmap_batch_free(&batch);
	procmap_vma_free(&vma);
	procmap_close(pm);
	return !ret;
}

static void test_no_memory(void)
{
	const enum procmap_backend *b;
	struct table odd, named;
	unsigned long n;
	bool ok;
	int i;

	tap_begin("no memory: each allocation in turn fails with ENOMEM");
	table_odd(&odd);
	table_long_name(&named, 5000, 'n');
	for (b = backends; b < backends_end; b++) {
		for (i = 0; i < 2; i++) {
			const struct table *table = i ? &named : &odd;

			n = 0;
			do {
				fake = (struct fake){ .table = table->vmas, .nr = table->nr };
				fake.generation = i;
				fake.alloc_fail = ++n;
				ok = use_all(table, *b);
				/* Without memory for its cache, the library still works. */
			} while (fake.allocs >= n);
			CHECK(n > 3 && ok);
		}
	}
	fake = (struct fake){ 0 };
	table_free(&named);
	table_free(&odd);
	tap_end();
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("TAP version 13");
	test_abi();
	test_find();
	test_walk();
	test_small_reads();
	test_interleaved();
	test_walk_after_find();
	test_batch();
	test_batch_reads_once();
	test_large();
	test_long_names();
	test_escapes();
	test_torn_text();
	test_fresh_text();
	test_bad_text();
	test_garbage();
	test_open_errors();
	test_refused();
	test_fallback();
	test_find_errors();
	test_exit();
	test_exit_midway();
	test_descriptor();
	test_no_memory();
	cache_tests();
	file_tests();
	return tap_finish();
}
