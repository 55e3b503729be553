// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: what takes the place of record-symbols.c where libdw or
 * libiberty is missing.
 */
#include <stddef.h>
#include "record.h"

bool record_symbols_available(void)
{
	return false;
}

struct record_symbols *record_symbols_open(pid_t pid, const struct procmap_vma *vma)
{
	(void)pid;
	(void)vma;
	return NULL;
}

const char *record_symbols_find(struct record_symbols *symbols, uint64_t offset)
{
	(void)symbols;
	(void)offset;
	return NULL;
}

void record_symbols_close(struct record_symbols *symbols)
{
	(void)symbols;
}
