/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generated address spaces: tests compare answers with them.
 */
#ifndef PROCMAP_TABLE_H
#define PROCMAP_TABLE_H

#include <stddef.h>
#include "../libprocmap.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/**
 * struct table - an address space
 * @vmas: its VMAs
 * @nr: number of them
 * @fd: its text, in a file
 */
struct table {
	struct procmap_vma *vmas;
	size_t nr;
	int fd;
};

/**
 * table_odd() - make an address space with all unusual VMAs and names
 * @table: filled
 */
void table_odd(struct table *table);

/**
 * table_large() - make an address space with many VMAs
 * @table: filled
 * @nr: number of them
 */
void table_large(struct table *table, size_t nr);

/**
 * table_long_name() - make an address space with two VMAs
 * @table: filled
 * @len: length of the first one's name
 * @fill: its characters
 */
void table_long_name(struct table *table, size_t len, char fill);

/**
 * table_free() - free a table
 * @table: the table
 */
void table_free(struct table *table);

/**
 * text_fd() - make a file with text
 * @text: the text
 *
 * Return: a descriptor.
 */
int text_fd(const char *text);

#endif /* PROCMAP_TABLE_H */
