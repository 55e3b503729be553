/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of lib-test share.
 */
#ifndef PROCMAP_LIB_TEST_H
#define PROCMAP_LIB_TEST_H

#include <stdbool.h>
#include <sys/types.h>
#include "table.h"

#define NR_BACKENDS 3

extern const enum procmap_backend backends[NR_BACKENDS];

/* Give the fake kernel mappings, and open them. */
struct procmap *open_table(const struct table *table, enum procmap_backend backend);

/* Is this the right answer, as far as the backend can know it? @flags are of the look-up. */
bool right(const struct procmap *pm, const struct procmap_vma *vma,
	   const struct procmap_vma *truth, unsigned int flags);

/* Find a VMA, or NULL, in the simplest way: look at each. */
const struct procmap_vma *truth_find(const struct table *table, uint64_t addr,
				     unsigned int flags);

/* Look up an address, and check the answer. */
void check_find(struct procmap *pm, const struct table *table, uint64_t addr, unsigned int flags,
		struct procmap_vma *vma);

/* Go through the VMAs, and check each. Returns their number. */
size_t check_walk(struct procmap *pm, const struct table *table, unsigned int flags);

/* Start a child that runs until it is killed. */
pid_t start_child(void);

void cache_tests(void);
void file_tests(void);

#endif /* PROCMAP_LIB_TEST_H */
