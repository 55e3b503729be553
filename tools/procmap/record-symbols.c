// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: symbols of files, with the libdw of elfutils and the
 * demangler of libiberty.
 *
 * A file is opened when it is first seen: later its process may be gone.
 * Sampling goes on meanwhile, so what takes time is left for the end: to read
 * debugging information.
 */
#define _GNU_SOURCE
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <libiberty/demangle.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "record.h"

/* The longest chain of references that is followed. */
#define RECORD_CHAIN_MAX 16

/* What is known of an offset in a file: its functions, or NULL. */
struct record_known {
	uint64_t offset;
	char *names;
};

/**
 * struct record_symbols - symbols of a file
 * @dwfl: libdw's session for this file
 * @module: the file in it
 * @known: tree of struct record_known
 */
struct record_symbols {
	Dwfl *dwfl;
	Dwfl_Module *module;
	void *known;
};

static const Dwfl_Callbacks record_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

bool record_symbols_available(void)
{
	return true;
}

/*
 * Without a build ID it must be the same inode. Where stat() shows another
 * device than the mapping, there are then no symbols.
 */
static bool record_is_same_file(Dwfl_Module *module, const struct stat *st,
				const struct procmap_vma *vma)
{
	const unsigned char *build_id;
	GElf_Addr addr;

	if (vma->build_id_size)
		return dwfl_module_build_id(module, &build_id, &addr) == (int)vma->build_id_size &&
		       !memcmp(build_id, vma->build_id, vma->build_id_size);
	return st->st_ino == vma->inode && st->st_dev == makedev(vma->dev_major, vma->dev_minor);
}

/*
 * The process chose the path, perhaps that of a FIFO, or of a device that does
 * something when it is opened.
 */
static int record_open_regular(const char *path, struct stat *st)
{
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	int fd = -1, handle = open(path, O_PATH | O_CLOEXEC);

	if (handle < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", handle);
	if (!fstat(handle, st) && S_ISREG(st->st_mode))
		fd = open(name, O_RDONLY | O_CLOEXEC);
	close(handle);
	return fd;
}

static bool record_load(struct record_symbols *symbols, const char *path,
			const struct procmap_vma *vma)
{
	struct stat st;
	int fd = record_open_regular(path, &st);

	if (fd < 0)
		return false;
	symbols->module = NULL;
	symbols->dwfl = dwfl_begin(&record_callbacks);
	if (symbols->dwfl)
		symbols->module = dwfl_report_elf(symbols->dwfl, vma->name, vma->name, fd, 0, true);
	/* A module owns the descriptor. */
	if (!symbols->module)
		close(fd);
	else if (!dwfl_report_end(symbols->dwfl, NULL, NULL) &&
		 record_is_same_file(symbols->module, &st, vma))
		return true;
	dwfl_end(symbols->dwfl);
	return false;
}

/*
 * The first is the file itself, wherever it is, but only for root. The name is
 * the path as this program sees it or, in another mount namespace, the process.
 */
static bool record_load_any(struct record_symbols *symbols, pid_t pid,
			    const struct procmap_vma *vma)
{
	char path[PATH_MAX + sizeof("/proc//root") + 3 * sizeof(pid)];

	if (vma->name[0] != '/')
		return false;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%jx-%jx", pid, (uintmax_t)vma->start,
		 (uintmax_t)vma->end);
	if (record_load(symbols, path, vma))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, vma->name);
	return record_load(symbols, path, vma) || record_load(symbols, vma->name, vma);
}

struct record_symbols *record_symbols_open(pid_t pid, const struct procmap_vma *vma)
{
	struct record_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	if (record_load_any(symbols, pid, vma))
		return symbols;
	free(symbols);
	return NULL;
}

static void record_free_known(void *node)
{
	struct record_known *known = node;

	free(known->names);
	free(known);
}

void record_symbols_close(struct record_symbols *symbols)
{
	if (!symbols)
		return;
	tdestroy(symbols->known, record_free_known);
	dwfl_end(symbols->dwfl);
	free(symbols);
}

/* The address in libdw's session of code at an offset in the file. */
static bool record_code_addr(Dwfl_Module *module, uint64_t offset, Dwarf_Addr *addr)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	GElf_Phdr phdr;
	size_t i, nr;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X) || offset < phdr.p_offset ||
		    offset - phdr.p_offset >= phdr.p_filesz)
			continue;
		*addr = offset - phdr.p_offset + phdr.p_vaddr + bias;
		return true;
	}
	return false;
}

/* Begin a frame. */
static void record_put_separator(FILE *line)
{
	if (ftell(line))
		putc(';', line);
}

/* Print the name that the linker knows. */
static void record_put_linkage_name(FILE *line, const char *name)
{
	char *demangled = cplus_demangle(name, DMGL_NO_OPTS);

	record_put_separator(line);
	record_put_name(line, demangled ?: name);
	free(demangled);
}

/* Where a function is declared. A chain without an end is none. */
static void record_declaration(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	int chain;

	for (chain = 0; chain < RECORD_CHAIN_MAX; chain++)
		if ((!dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
		     !dwarf_attr(die, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, die))
			return;
}

/* Print the namespaces and classes that a function is in. */
static void record_put_qualifiers(FILE *line, Dwarf_Die die)
{
	Dwarf_Die *scopes;
	const char *name;
	int i, nr, tag;

	record_declaration(&die);
	nr = dwarf_getscopes_die(&die, &scopes);
	for (i = nr - 1; i > 0; i--) {
		tag = dwarf_tag(&scopes[i]);
		if (tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
		    tag != DW_TAG_structure_type)
			continue;
		name = dwarf_diename(&scopes[i]);
		record_put_name(line, name ?: "(anonymous namespace)");
		fputs("::", line);
	}
	if (nr > 0)
		free(scopes);
}

/* A function that the linker does not see has no name for it. */
static void record_put_function(FILE *line, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr)) {
		name = dwarf_formstring(&attr);
		if (name)
			record_put_linkage_name(line, name);
	} else if (name) {
		record_put_separator(line);
		record_put_qualifiers(line, *die);
		record_put_name(line, name);
	}
}

/*
 * The scopes from the innermost to that of the function. Others around it are
 * no callers.
 */
static int record_scopes(Dwfl_Module *module, Dwarf_Addr addr, Dwarf_Die **scopes)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(module, addr, &bias);
	Dwarf_Die innermost;
	int i, nr;

	nr = cu ? dwarf_getscopes(cu, addr - bias, scopes) : 0;
	if (nr <= 0)
		return 0;
	/* These scopes leave callers out from the first inlined one on. */
	innermost = (*scopes)[0];
	free(*scopes);
	nr = dwarf_getscopes_die(&innermost, scopes);
	for (i = 0; i < nr; i++)
		if (dwarf_tag(&(*scopes)[i]) == DW_TAG_subprogram)
			return i + 1;
	if (nr > 0)
		free(*scopes);
	return 0;
}

static void record_put_inlined(FILE *line, Dwfl_Module *module, Dwarf_Addr addr)
{
	Dwarf_Die *scopes;
	int nr = record_scopes(module, addr, &scopes);
	int i, tag;

	for (i = nr - 1; i >= 0; i--) {
		tag = dwarf_tag(&scopes[i]);
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			record_put_function(line, &scopes[i]);
	}
	if (nr)
		free(scopes);
}

/* A symbol without a size may be any label that comes before. */
static void record_put_symbol(FILE *line, Dwfl_Module *module, Dwarf_Addr addr)
{
	const char *name;
	GElf_Off offset;
	GElf_Sym sym;

	name = dwfl_module_addrinfo(module, addr, &offset, &sym, NULL, NULL, NULL);
	if (name && offset < sym.st_size)
		record_put_linkage_name(line, name);
}

/* The functions at an offset, or NULL. */
static char *record_names(Dwfl_Module *module, uint64_t offset)
{
	char *names = NULL;
	Dwarf_Addr addr;
	size_t size;
	FILE *line;

	if (!record_code_addr(module, offset, &addr))
		return NULL;
	line = open_memstream(&names, &size);
	if (!line)
		return NULL;
	record_put_inlined(line, module, addr);
	if (!ftell(line))
		record_put_symbol(line, module, addr);
	if (!fclose(line) && size)
		return names;
	free(names);
	return NULL;
}

static int record_compare_known(const void *a, const void *b)
{
	const struct record_known *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

const char *record_symbols_find(struct record_symbols *symbols, uint64_t offset)
{
	struct record_known key = { .offset = offset };
	struct record_known **found = tfind(&key, &symbols->known, record_compare_known);
	struct record_known *known;

	if (found)
		return (*found)->names;
	known = malloc(sizeof(*known));
	if (!known)
		return NULL;
	key.names = record_names(symbols->module, offset);
	*known = key;
	if (tsearch(known, &symbols->known, record_compare_known))
		return known->names;
	record_free_known(known);
	return NULL;
}
