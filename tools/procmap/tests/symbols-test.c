// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the symbols of procmap record, with libraries whose functions call
 * back. The directory with these is the argument.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "../record.h"
#include "tap.h"

/* What takes longer never ends. */
#define HANG_SECONDS	180

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* What example.cpp calls back from, one after the other. */
static const char *const all[] = {
	"shapes::outer<unsigned long>;shapes::Sum<unsigned long>::twice;"
	"shapes::Sum<unsigned long>::add",
	"shapes::outer<unsigned long>;shapes::Sum<unsigned long>::twice",
	"shapes::outer<unsigned long>",
	"shapes::(anonymous namespace)::hidden",
	"shapes::(anonymous namespace)::Square::draw",
	"<[u8\\073 32] as a::T>::f",
	"fixed",
	"example_run",
};

/* The same in a file that has its dynamic symbols only. */
static const char *const dynamic[] = {
	"shapes::outer<unsigned long>", "shapes::outer<unsigned long>",
	"shapes::outer<unsigned long>", NULL, NULL, "<[u8\\073 32] as a::T>::f", NULL,
	"example_run",
};

static const char *directory;
static uint64_t addrs[ARRAY_SIZE(all)];
static size_t nr_addrs;

static void here(void)
{
	if (nr_addrs < ARRAY_SIZE(addrs))
		addrs[nr_addrs] = (uint64_t)__builtin_return_address(0) - 1;
	nr_addrs++;
}

static void run(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*run_library)(void (*call)(void)) = library ? dlsym(library, "example_run") : NULL;

	nr_addrs = 0;
	if (run_library)
		run_library(here);
	CHECK(nr_addrs == ARRAY_SIZE(addrs));
}

/*
 * A mapping of a file, as a kernel with queries describes it. The file is not
 * mapped there, so that only its path leads to it.
 */
static struct procmap_vma mapping(const char *path)
{
	return (struct procmap_vma){
		.start = 1, .end = 2, .flags = PROCMAP_FILE | PROCMAP_EXEC, .name = path,
		.build_id_size = 4, .build_id = { 0x12, 0x34, 0xab, 0xcd },
	};
}

/* A mapping of a file without build ID. */
static struct procmap_vma mapping_of_inode(const char *path)
{
	struct procmap_vma vma = mapping(path);
	struct stat st;

	CHECK(!stat(path, &st));
	vma.build_id_size = 0;
	vma.inode = st.st_ino;
	vma.dev_major = major(st.st_dev);
	vma.dev_minor = minor(st.st_dev);
	return vma;
}

static bool opens(const struct procmap_vma *vma)
{
	struct record_symbols *symbols = record_symbols_open(getpid(), vma);

	record_symbols_close(symbols);
	return symbols;
}

static bool is(const char *names, const char *want)
{
	bool same = names && want ? !strcmp(names, want) : names == want;

	if (!same)
		printf("# got %s, not %s\n", names ?: "nothing", want ?: "nothing");
	return same;
}

static void check_names(const char *library, const char *const *want)
{
	char path[PATH_MAX];
	struct record_symbols *symbols;
	struct procmap_vma real = { 0 }, vma;
	struct procmap *pm = procmap_open(getpid(), PROCMAP_BACKEND_TEXT);
	size_t i, pass;

	snprintf(path, sizeof(path), "%s/%s", directory, library);
	run(path);
	vma = mapping(path);
	symbols = record_symbols_open(getpid(), &vma);
	CHECK(pm && symbols);
	/* The second time they are remembered. */
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < ARRAY_SIZE(addrs); i++) {
			CHECK(!procmap_find(pm, addrs[i], PROCMAP_EXEC, &real));
			CHECK(is(record_symbols_find(symbols, procmap_file_offset(&real, addrs[i])),
				 want[i]));
		}
	CHECK(!record_symbols_find(symbols, 0));
	CHECK(!record_symbols_find(symbols, 1UL << 30));
	CHECK(!record_symbols_find(symbols, UINT64_MAX));
	record_symbols_close(symbols);
	procmap_vma_free(&real);
	procmap_close(pm);
}

static void test_names(void)
{
	tap_begin("symbols: inlined functions, templates, what only its file sees");
	check_names("example.so", all);
	tap_end();
}

static void test_stripped(void)
{
	tap_begin("symbols: of a stripped library only what it exports");
	check_names("example-stripped.so", dynamic);
	tap_end();
}

static void test_debug_file(void)
{
	tap_begin("symbols: of a stripped library with a debug file all");
	check_names("example-split.so", all);
	tap_end();
}

static void test_other_file(void)
{
	char path[PATH_MAX];
	struct procmap_vma vma;

	tap_begin("symbols: a file that is not the one that is mapped has none");
	snprintf(path, sizeof(path), "%s/example.so", directory);
	vma = mapping(path);
	CHECK(opens(&vma));
	vma.build_id[3]++;
	CHECK(!opens(&vma));
	vma = mapping(path);
	vma.build_id_size--;
	CHECK(!opens(&vma));
	vma = mapping_of_inode(path);
	CHECK(opens(&vma));
	vma.inode++;
	CHECK(!opens(&vma));
	vma = mapping_of_inode(path);
	vma.dev_minor++;
	CHECK(!opens(&vma));
	tap_end();
}

static void test_no_elf(void)
{
	char path[PATH_MAX];
	struct procmap_vma vma;

	tap_begin("symbols: what is no ELF file has none, and is not waited for");
	snprintf(path, sizeof(path), "%s/fifo", directory);
	unlink(path);
	CHECK(!mkfifo(path, 0600));
	alarm(HANG_SECONDS);
	vma = mapping_of_inode(path);
	CHECK(!opens(&vma));
	alarm(0);
	CHECK(!unlink(path));
	vma = mapping_of_inode(directory);
	CHECK(!opens(&vma));
	/* The name of what is no file may be that of a file here. */
	CHECK(!chdir(directory));
	vma = mapping("example.so");
	CHECK(!opens(&vma));
	vma = mapping("/proc/self/maps");
	CHECK(!opens(&vma));
	tap_end();
}

/* Copy the first bytes of a file. */
static void copy(const char *from, const char *to, size_t size)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");

	CHECK(in && out);
	while (size--)
		putc(getc(in), out);
	fclose(in);
	fclose(out);
}

static void test_truncated(void)
{
	char from[PATH_MAX], path[PATH_MAX];
	struct record_symbols *symbols;
	struct procmap_vma vma;
	struct stat st;
	int i, offset;

	tap_begin("symbols: a file that ends anywhere does no harm");
	snprintf(from, sizeof(from), "%s/example.so", directory);
	snprintf(path, sizeof(path), "%s/truncated.so", directory);
	CHECK(!stat(from, &st));
	for (i = 0; i < 32; i++) {
		copy(from, path, st.st_size * i / 32);
		vma = mapping_of_inode(path);
		symbols = record_symbols_open(getpid(), &vma);
		for (offset = 0; symbols && offset < st.st_size; offset += 7)
			record_symbols_find(symbols, offset);
		record_symbols_close(symbols);
	}
	CHECK(!unlink(path));
	tap_end();
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	directory = argc > 1 ? realpath(argv[1], NULL) : NULL;
	if (!directory) {
		fputs("symbols-test: give the directory of example.so\n", stderr);
		return 2;
	}
	puts("TAP version 13");
	test_names();
	test_stripped();
	test_debug_file();
	test_other_file();
	test_no_elf();
	test_truncated();
	return tap_finish();
}
