// SPDX-License-Identifier: GPL-2.0
/*
 * Offsets in files that uprobes are attached at, against the program headers of
 * the loaded objects, as the dynamic linker knows them.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <test_progs.h>

struct wanted {
	uintptr_t addr;
	ssize_t offset;
	bool executable;
};

static int maps_lookup_data = 1;

/* iterate_phdr callback: is the address in a segment of this object, and where in its file? */
static int find_segment(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *w = data;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const typeof(*info->dlpi_phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_LOAD && w->addr >= at && w->addr - at < phdr->p_filesz) {
			w->offset = w->addr - at + phdr->p_offset;
			w->executable = phdr->p_flags & PF_X;
			return 1;
		}
	}
	return 0;
}

static void check_symbol(const char *name, const void *addr, bool executable)
{
	struct wanted w = { .addr = (uintptr_t)addr };
	ssize_t rel_offset = get_rel_offset(w.addr), uprobe_offset = get_uprobe_offset(addr);

	if (!ASSERT_EQ(dl_iterate_phdr(find_segment, &w), 1, name))
		return;
	printf("%s: offset %zd, for a uprobe %zd\n", name, rel_offset, uprobe_offset);
	ASSERT_EQ(w.executable, executable, name);
	ASSERT_EQ(rel_offset, w.offset, name);
	ASSERT_EQ(uprobe_offset, executable ? w.offset : -ESRCH, name);
}

static void check_symbols(void)
{
	check_symbol("check_symbol", check_symbol, true);
	check_symbol("get_uprobe_offset", get_uprobe_offset, true);
	check_symbol("maps_lookup_data", &maps_lookup_data, false);
	check_symbol("qsort", dlsym(RTLD_DEFAULT, "qsort"), true);
	check_symbol("bpf_object__open", dlsym(RTLD_DEFAULT, "bpf_object__open"), true);
	check_symbol("stdout", dlsym(RTLD_DEFAULT, "_IO_2_1_stdout_"), false);
}

/* First, middle and last byte of a mapping that neither starts at 0 in its file nor is alone */
static void check_own_mapping(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p;
	FILE *f;

	f = tmpfile();
	if (!ASSERT_OK_PTR(f, "tmpfile"))
		return;
	if (!ASSERT_OK(ftruncate(fileno(f), 8 * page), "ftruncate"))
		goto out;
	p = mmap(NULL, 6 * page, PROT_READ, MAP_PRIVATE, fileno(f), 2 * page);
	if (!ASSERT_NEQ(p, MAP_FAILED, "mmap"))
		goto out;
	ASSERT_OK(mprotect(p + 2 * page, 2 * page, PROT_READ | PROT_EXEC), "mprotect");
	ASSERT_OK(munmap(p + 5 * page, page), "munmap");

	ASSERT_EQ(get_rel_offset((uintptr_t)p), 2 * page, "first byte");
	ASSERT_EQ(get_uprobe_offset(p + 2 * page - 1), -ESRCH, "before the executable part");
	ASSERT_EQ(get_uprobe_offset(p + 2 * page), 4 * page, "its first byte");
	ASSERT_EQ(get_uprobe_offset(p + 3 * page + 7), 5 * page + 7, "inside");
	ASSERT_EQ(get_uprobe_offset(p + 4 * page - 1), 6 * page - 1, "its last byte");
	ASSERT_EQ(get_uprobe_offset(p + 4 * page), -ESRCH, "after it");
	ASSERT_EQ(get_rel_offset((uintptr_t)p + 5 * page - 1), 7 * page - 1, "last byte");
	ASSERT_EQ(get_rel_offset((uintptr_t)p + 5 * page), -EINVAL, "not mapped");
	ASSERT_EQ(get_uprobe_offset(p + 5 * page), -ESRCH, "not mapped, executable");
	munmap(p, 5 * page);
out:
	fclose(f);
}

void test_maps_lookup(void)
{
	if (test__start_subtest("symbols"))
		check_symbols();
	if (test__start_subtest("own_mapping"))
		check_own_mapping();
	if (test__start_subtest("nothing")) {
		ASSERT_EQ(get_rel_offset(0), -EINVAL, "null, any");
		ASSERT_EQ(get_uprobe_offset(NULL), -ESRCH, "null, executable");
		ASSERT_EQ(get_rel_offset(-1UL), -EINVAL, "last address");
	}
}
