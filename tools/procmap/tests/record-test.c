// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of how procmap record handles samples, with generated records and a
 * fake kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "../record.h"
#include "fake.h"
#include "tap.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define HEADER(type, words) ((uint64_t)(type) | (8ULL * (words)) << 48)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER ((uint64_t)PERF_CONTEXT_USER)
#define X (PROCMAP_READ | PROCMAP_EXEC)

/* Two samples, with all that the kernel puts around and between addresses. */
static const uint64_t good[] = {
	HEADER(PERF_RECORD_SAMPLE, 7), 5, USER, 0x2010, 0x2101, 0, 0x3001,
	HEADER(PERF_RECORD_LOST, 3), 1, 7,
	HEADER(PERF_RECORD_THROTTLE, 4), 1, 2, 3,
	HEADER(PERF_RECORD_SAMPLE, 5), 3, KERNEL, USER, 0x2010,
	HEADER(PERF_RECORD_SAMPLE, 2), 0,
	HEADER(PERF_RECORD_LOST, 3), 1, 4,
};

static struct procmap_vma vmas[] = {
	{ .start = 0x1000, .end = 0x2000, .flags = PROCMAP_READ | PROCMAP_FILE, .name = "/prog" },
	{ .start = 0x2000, .end = 0x4000, .offset = 0x1000, .inode = 1, .flags = X | PROCMAP_FILE,
	  .build_id_size = 2, .build_id = { 0xab, 0x01 }, .name = "/prog" },
	{ .start = 0x5000, .end = 0x6000, .offset = 0x7000, .inode = 2, .flags = X | PROCMAP_FILE,
	  .name = "/a;b\nc d (deleted)" },
	{ .start = 0x8000, .end = 0x9000, .flags = X },
	{ .start = 0xa000, .end = 0xb000, .flags = X, .name = "[vdso]" },
};

/*
 * Symbols of process 42: the offsets from 0x1000 to before 0x1020 of /prog with
 * a build ID.
 */
struct record_symbols {
	int opened;
};

static struct record_symbols fake_symbols;

bool record_symbols_available(void)
{
	return true;
}

struct record_symbols *record_symbols_open(pid_t pid, const struct procmap_vma *vma)
{
	if (pid != 42 || strcmp(vma->name, "/prog") || vma->build_id_size != 2)
		return NULL;
	fake_symbols.opened++;
	return &fake_symbols;
}

const char *record_symbols_find(struct record_symbols *symbols, uint64_t offset)
{
	if (symbols != &fake_symbols || offset < 0x1000 || offset >= 0x1020)
		return NULL;
	return offset < 0x1010 ? "low" : "high;in<a, b>";
}

void record_symbols_close(struct record_symbols *symbols)
{
	if (symbols)
		symbols->opened--;
}

static void test_parse(void)
{
	static const uint64_t addrs[] = { 0x2010, 0x2100, 0x3000, 0x2010 };
	static const size_t ends[] = { 3, 4, 4 };
	struct record_samples samples = { 0 };
	int i;

	tap_begin("record: samples are taken, what is not an address is left out");
	for (i = 0; i < 2; i++) {
		CHECK(!record_parse(good, sizeof(good), &samples));
		CHECK(samples.nr == 3 && samples.nr_addrs == 4);
		CHECK(!memcmp(samples.addrs, addrs, sizeof(addrs)));
		CHECK(!memcmp(samples.ends, ends, sizeof(ends)));
		CHECK(samples.lost == 11U * (i + 1));
		record_samples_clear(&samples);
	}
	CHECK(!record_parse(NULL, 0, &samples) && !samples.nr);
	record_samples_free(&samples);
	tap_end();
}

static void test_parse_many(void)
{
	struct record_samples samples = { 0 };
	size_t i;

	tap_begin("record: many samples in many pieces");
	for (i = 0; i < 1000; i++)
		CHECK(!record_parse(good, sizeof(good), &samples));
	CHECK(samples.nr == 3000 && samples.nr_addrs == 4000);
	for (i = 0; i < samples.nr; i++)
		CHECK(samples.ends[i] == i / 3 * 4 + (i % 3 ? 4 : 3));
	record_samples_free(&samples);
	tap_end();
}

static void test_parse_bad(void)
{
	static const uint64_t bad[][3] = {
		{ HEADER(PERF_RECORD_SAMPLE, 0), 0, 0 },
		{ HEADER(PERF_RECORD_SAMPLE, 4), 0, 0 },
		{ HEADER(PERF_RECORD_SAMPLE, 3), 2, 0 },
		{ HEADER(PERF_RECORD_SAMPLE, 3), UINT64_MAX, 0 },
		{ HEADER(PERF_RECORD_SAMPLE, 3), 1ULL << 61, 0 },
		{ HEADER(PERF_RECORD_LOST, 2), 0, HEADER(PERF_RECORD_SAMPLE, 1) },
		{ HEADER(PERF_RECORD_LOST, 2) + (1ULL << 48), 0, 0 },
	};
	struct record_samples samples = { 0 };
	size_t i;

	tap_begin("record: records that are none are refused");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		CHECK(record_parse(bad[i], sizeof(bad[i]), &samples) == -1 && errno == EPROTO);
	}
	CHECK(record_parse(good, sizeof(good) - 1, &samples) == -1 && errno == EPROTO);
	record_samples_free(&samples);
	tap_end();
}

static struct procmap *open_fake(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("maps", MFD_CLOEXEC);
	fake = (struct fake){ .table = vmas, .nr = ARRAY_SIZE(vmas) };
	return procmap_open_fd(fd, PROCMAP_BACKEND_QUERY);
}

/* Count a stack @times times. Its list of addresses ends with 0. */
static int add(struct record_stacks *stacks, struct procmap *pm, int times, const uint64_t *addrs)
{
	struct record_samples sample = { .addrs = (uint64_t *)addrs, .nr = 1 };
	int i, ret = 0;

	while (addrs[sample.nr_addrs])
		sample.nr_addrs++;
	sample.ends = &sample.nr_addrs;
	for (i = 0; i < times && !ret; i++)
		ret = record_stacks_add(stacks, pm, &sample);
	return ret;
}

#define ADD(stacks, pm, times, ...) add(stacks, pm, times, (const uint64_t[]){ __VA_ARGS__, 0 })

static bool prints(const struct record_stacks *stacks, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool same;

	if (!out)
		return false;
	same = !record_stacks_print(stacks, out);
	fclose(out);
	same = same && !strcmp(text, want);
	if (!same)
		printf("# got:\n# %s# not:\n# %s", text, want);
	free(text);
	return same;
}

static void test_fold(void)
{
	struct record_stacks *stacks = record_stacks_new("pro;g", 0);
	struct procmap *pm = open_fake();

	tap_begin("record: folded stacks, outermost first, with offset and build ID");
	CHECK(stacks && pm);
	CHECK(prints(stacks, ""));
	CHECK(!ADD(stacks, pm, 3, 0x2010, 0x3fff, 0x2000));
	CHECK(!ADD(stacks, pm, 2, 0x5123, 0x2001));
	CHECK(!ADD(stacks, pm, 1, 0xa010));
	CHECK(!ADD(stacks, pm, 1, 0x8000, 0xa010));
	CHECK(!ADD(stacks, pm, 4, 0x2010, 0x3fff, 0x2000));
	CHECK(record_stacks_samples(stacks) == 11);
	CHECK(prints(stacks,
		     "pro\\073g;/prog+0x1000@ab01;/prog+0x2fff@ab01;/prog+0x1010@ab01 7\n"
		     "pro\\073g;/prog+0x1001@ab01;/a\\073b\\012c d (deleted)+0x7123 2\n"
		     "pro\\073g;[vdso]+0x10 1\n"
		     "pro\\073g;[vdso]+0x10;[anonymous] 1\n"));
	record_stacks_free(stacks);
	procmap_close(pm);
	tap_end();
}

static void test_symbols(void)
{
	struct record_stacks *stacks = record_stacks_new("[vdso]", 42);
	struct procmap *pm = open_fake();

	tap_begin("record: symbols in place of offsets, stacks with the same are one line");
	CHECK(!ADD(stacks, pm, 1, 0x2010, 0x2000));
	CHECK(!ADD(stacks, pm, 2, 0x2011, 0x2001));
	CHECK(!ADD(stacks, pm, 4, 0x201f, 0x2010));
	CHECK(!ADD(stacks, pm, 8, 0x2010, 0x2020));
	CHECK(!ADD(stacks, pm, 16, 0x5123, 0x2001));
	CHECK(!ADD(stacks, pm, 32, 0x8000, 0xa010));
	CHECK(!ADD(stacks, pm, 64, 0x9999, 0xa020));
	CHECK(fake_symbols.opened == 1);
	CHECK(prints(stacks,
		     "[vdso];/prog+0x1020@ab01;high;in<a, b> 8\n"
		     "[vdso];[vdso];[anonymous] 32\n"
		     "[vdso];[vdso];[unmapped] 64\n"
		     "[vdso];high;in<a, b>;high;in<a, b> 4\n"
		     "[vdso];low;/a\\073b\\012c d (deleted)+0x7123 16\n"
		     "[vdso];low;high;in<a, b> 3\n"));
	CHECK(record_stacks_samples(stacks) == 127);
	record_stacks_free(stacks);
	CHECK(!fake_symbols.opened);
	procmap_close(pm);
	tap_end();
}

/* A file that has been replaced has the same path. */
static void test_replaced(void)
{
	struct record_stacks *stacks = record_stacks_new("p", 42);
	struct procmap *pm = open_fake();
	struct procmap_vma before = vmas[1];

	tap_begin("record: files with one path and other inodes or build IDs are others");
	CHECK(!ADD(stacks, pm, 1, 0x2010));
	vmas[1].build_id_size = 1;
	CHECK(!ADD(stacks, pm, 2, 0x2010));
	vmas[1].build_id[0] ^= 1;
	CHECK(!ADD(stacks, pm, 4, 0x2010));
	vmas[1] = before;
	vmas[1].inode++;
	CHECK(!ADD(stacks, pm, 8, 0x2010));
	CHECK(fake_symbols.opened == 2);
	vmas[1] = before;
	CHECK(!ADD(stacks, pm, 16, 0x2010));
	CHECK(fake_symbols.opened == 2);
	CHECK(prints(stacks, "p;/prog+0x1010@aa 4\np;/prog+0x1010@ab 2\np;high;in<a, b> 25\n"));
	record_stacks_free(stacks);
	procmap_close(pm);
	tap_end();
}

static void test_fold_garbage(void)
{
	struct record_stacks *stacks = record_stacks_new("p", 0);
	struct record_samples none = { .nr = 1, .ends = (size_t[]){ 0 } };
	struct procmap *pm = open_fake();

	tap_begin("record: a stack ends before a caller that is no code");
	CHECK(!ADD(stacks, pm, 1, 0x2010, 0x2020, 0x1010, 0x2030));
	CHECK(!ADD(stacks, pm, 1, 0x2010, 0x2020, 0x9999, 0x2030));
	CHECK(!ADD(stacks, pm, 1, 0x9999, 0x2020));
	CHECK(!ADD(stacks, pm, 1, 0x9999, 0x1010));
	CHECK(!record_stacks_add(stacks, pm, &none));
	CHECK(record_stacks_samples(stacks) == 5);
	CHECK(prints(stacks, "p 1\np;/prog+0x1020@ab01;/prog+0x1010@ab01 2\n"
		     "p;/prog+0x1020@ab01;[unmapped] 1\np;[unmapped] 1\n"));
	record_stacks_free(stacks);
	procmap_close(pm);
	tap_end();
}

static void test_gone(void)
{
	struct record_stacks *stacks = record_stacks_new("p", 0);
	struct procmap *pm = open_fake();

	tap_begin("record: an address space that is gone is told, what was counted stays");
	CHECK(!ADD(stacks, pm, 2, 0x2010));
	fake.query_errno = ESRCH;
	errno = 0;
	CHECK(ADD(stacks, pm, 1, 0x2010, 0x2020) == -1 && errno == ESRCH);
	CHECK(prints(stacks, "p;/prog+0x1010@ab01 2\n"));
	fake.query_errno = 0;
	CHECK(!record_stacks_rename(stacks, "[vdso]") && !ADD(stacks, pm, 1, 0xa010));
	CHECK(prints(stacks, "[vdso];[vdso]+0x10 1\np;/prog+0x1010@ab01 2\n"));
	record_stacks_free(stacks);
	procmap_close(pm);
	tap_end();
}

static void test_no_memory(void)
{
	struct record_samples samples = { 0 };
	struct record_stacks *stacks;
	struct procmap *pm;
	FILE *out = tmpfile();
	unsigned long nr;
	int failed = 0, ret = -1;

	tap_begin("record: each allocation fails in turn");
	pm = open_fake();
	for (nr = 1; ret && nr < 100; nr++) {
		fake.allocs = 0;
		fake.alloc_fail = nr;
		errno = 0;
		ret = record_parse(good, sizeof(good), &samples);
		stacks = ret ? NULL : record_stacks_new("p", 0);
		if (!ret)
			ret = stacks ? record_stacks_add(stacks, pm, &samples) : -1;
		if (!ret)
			ret = record_stacks_print(stacks, out);
		failed += ret != 0;
		CHECK(!ret || errno == ENOMEM);
		CHECK(!ret == (ftell(out) > 0));
		record_stacks_free(stacks);
		record_samples_free(&samples);
	}
	CHECK(!ret && failed > 15);
	fclose(out);
	procmap_close(pm);
	tap_end();
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("TAP version 13");
	test_parse();
	test_parse_many();
	test_parse_bad();
	test_fold();
	test_symbols();
	test_replaced();
	test_fold_garbage();
	test_gone();
	test_no_memory();
	return tap_finish();
}
