/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address sets of procmap_bench: the VMAs of a real program, and the addresses
 * at which it was running. A set is captured once and stored as text. A
 * measurement gives another process the same VMAs at other addresses.
 */
#ifndef SELFTEST_PROCMAP_BENCH_SET_H
#define SELFTEST_PROCMAP_BENCH_SET_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define BENCH_SET_DIR	"bench_sets"

/**
 * struct bench_set_vma - one VMA of the program
 * @gap: bytes of the gap below it; the set shrinks large gaps
 * @size: size in bytes
 * @prot: PROT_* bits
 * @shared: MAP_SHARED
 * @file: number of its file, counted from 0; -1: no file
 * @offset: offset of its first byte in the file
 * @at: address in the process that is made, see bench_set_place()
 */
struct bench_set_vma {
	unsigned long gap;
	unsigned long size;
	int prot;
	bool shared;
	int file;
	unsigned long offset;
	unsigned long at;
};

/**
 * struct bench_set_sample - an address at which the program was running
 * @vma: number of the VMA
 * @offset: offset from the start of the VMA
 */
struct bench_set_sample {
	unsigned int vma;
	unsigned long offset;
};

/**
 * struct bench_set - a program
 * @vma: its VMAs, in order of address
 * @nr: their number
 * @path: the paths of its files
 * @files: their number
 * @sample: the addresses, ascending, each once
 * @samples: their number
 * @wide: number of the VMA above the widest gap
 * @space: bytes of address space for all VMAs, after bench_set_place()
 * @padding: address for other VMAs, in the widest gap, after bench_set_place()
 */
struct bench_set {
	struct bench_set_vma *vma;
	unsigned int nr;
	char **path;
	unsigned int files;
	struct bench_set_sample *sample;
	unsigned int samples;
	unsigned int wide;
	unsigned long space;
	unsigned long padding;
};

/* bench_set.c */
int bench_set_load(const char *name, struct bench_set **set, char *reason, size_t size);
void bench_set_place(struct bench_set *set, unsigned long base, unsigned long padding);
bool bench_set_is_code(const struct bench_set *set, unsigned int i);
unsigned long bench_set_address(const struct bench_set *set, unsigned int sample);
int bench_set_make_files(const struct bench_set *set, const char *root);
int bench_set_map(const struct bench_set *set, const char *root);
int bench_set_remap(const struct bench_set *set, unsigned int i, const char *root);

#endif /* SELFTEST_PROCMAP_BENCH_SET_H */
