/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child that changes its own address space, and is looked at before and after
 * each change: the test compares every query with the text, and on a kernel with
 * CONFIG_DEBUG_VM each look makes the kernel note what unmarked VMAs look like,
 * so that a writer who changes one without a mark is told on at the next look.
 */
#ifndef SELFTEST_WRITERS_TARGET_H
#define SELFTEST_WRITERS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "procmap_util.h"

/* Where the child works: free in every static program, aligned for huge pages. */
#define WRITERS_AREA	0x60000000UL
#define WRITERS_SIZE	0x04000000UL

#define WRITERS_RW	(PROT_READ | PROT_WRITE)

/**
 * typedef writers_fn - what one case does in the child
 * @child: for writers_seen()
 *
 * Return: false if something was not as it should be, which was printed.
 */
typedef bool writers_fn(struct procmap_child *child);

int writers_run(writers_fn *fn);

bool writers_seen(struct procmap_child *child, unsigned int nr);
bool writers_seen_pid(struct procmap_child *child, pid_t pid, unsigned int nr);

char *writers_page(unsigned int page);
size_t writers_bytes(unsigned int pages);
bool writers_map(unsigned int page, unsigned int pages, int prot);
bool writers_map_over(unsigned int page, unsigned int pages, int prot);
bool writers_map_file(unsigned int page, unsigned int pages, int prot, int fd,
		      unsigned int offset);
bool writers_unmap(unsigned int page, unsigned int pages);
bool writers_protect(unsigned int page, unsigned int pages, int prot);
bool writers_advise(unsigned int page, unsigned int pages, int advice);
bool writers_move(unsigned int from, unsigned int old, unsigned int to, unsigned int new,
		  int flags);

#endif /* SELFTEST_WRITERS_TARGET_H */
