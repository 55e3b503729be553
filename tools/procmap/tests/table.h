/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generated address spaces: tests compare answers with them.
 */
#ifndef PROCMAP_TABLE_H
#define PROCMAP_TABLE_H

#include <stddef.h>
#include "../libprocmap.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct table {
	struct procmap_vma *vmas;
	size_t nr;
	int fd;	/* its text, in a file */
};

/* All unusual VMAs and names. */
void table_odd(struct table *table);

void table_large(struct table *table, size_t nr);

/* Two VMAs; the name of the first one is @len times @fill. */
void table_long_name(struct table *table, size_t len, char fill);

void table_free(struct table *table);

/* Returns the descriptor of a file with the text. */
int text_fd(const char *text);

#endif /* PROCMAP_TABLE_H */
