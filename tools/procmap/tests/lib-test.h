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

/**
 * open_table() - give the fake kernel mappings, and open them
 * @table: the mappings
 * @backend: how to look at them
 *
 * Return: the handle.
 */
struct procmap *open_table(const struct table *table, enum procmap_backend backend);

/**
 * right() - is this the right answer, as far as the backend can know it?
 * @pm: the handle
 * @vma: the answer
 * @truth: what it should be
 * @flags: PROCMAP_* flags of the look-up
 *
 * Return: true if it is.
 */
bool right(const struct procmap *pm, const struct procmap_vma *vma,
	   const struct procmap_vma *truth, unsigned int flags);

/**
 * truth_find() - find a VMA in the simplest way: look at each
 * @table: the mappings
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 *
 * Return: the VMA or NULL.
 */
const struct procmap_vma *truth_find(const struct table *table, uint64_t addr,
				     unsigned int flags);

/**
 * check_find() - look up an address, and check the answer
 * @pm: the handle
 * @table: the mappings
 * @addr: the address
 * @flags: PROCMAP_* flags of the look-up
 * @vma: for the answer
 */
void check_find(struct procmap *pm, const struct table *table, uint64_t addr, unsigned int flags,
		struct procmap_vma *vma);

/**
 * check_walk() - go through the VMAs, and check each
 * @pm: the handle
 * @table: the mappings
 * @flags: PROCMAP_* flags of the walk
 *
 * Return: number of VMAs.
 */
size_t check_walk(struct procmap *pm, const struct table *table, unsigned int flags);

/* Start a child that runs until it is killed. */
pid_t start_child(void);

/**
 * cache_tests() - test what the library keeps of scans
 */
void cache_tests(void);

/**
 * file_tests() - test what tells a mapped file from another, and descriptors
 */
void file_tests(void);

#endif /* PROCMAP_LIB_TEST_H */
