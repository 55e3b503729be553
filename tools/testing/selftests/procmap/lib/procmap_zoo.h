/* SPDX-License-Identifier: GPL-2.0 */
/* An area to query, with VMAs of every protection, sharing mode and backing. */
#ifndef SELFTEST_PROCMAP_ZOO_H
#define SELFTEST_PROCMAP_ZOO_H

#include <stddef.h>

/**
 * struct procmap_zoo - where the VMAs are
 * @base: first address
 * @size: bytes, including the holes
 * @nr: number of VMAs in it
 */
struct procmap_zoo {
	char *base;
	size_t size;
	size_t nr;
};

int procmap_zoo_map(struct procmap_zoo *zoo);
int procmap_zoo_map_many(struct procmap_zoo *zoo, size_t nr);

void *procmap_find_space(size_t size);
int procmap_tmp_dir(char *path, size_t size);
int procmap_tmp_file(const char *path, size_t pages);

#endif /* SELFTEST_PROCMAP_ZOO_H */
