/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child changes its own address space. The test looks at it before and after
 * each change, and compares every query with the text. On a kernel with
 * CONFIG_DEBUG_VM each look makes the kernel record what VMAs that are not
 * write-locked look like. If a writer changes a VMA without a write-lock, the
 * kernel reports it at the next look.
 */
#ifndef SELFTEST_WRITERS_TARGET_H
#define SELFTEST_WRITERS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "procmap_util.h"

/* The child works here. The area is free in every static program, and aligned for huge pages. */
#define WRITERS_AREA	0x60000000UL
#define WRITERS_SIZE	0x04000000UL

#define WRITERS_RW	(PROT_READ | PROT_WRITE)

/**
 * typedef writers_fn - what one case does in the child
 * @child: for writers_seen()
 *
 * Return: false if something was wrong; the case has printed what.
 */
typedef bool writers_fn(struct procmap_child *child);

int writers_run(writers_fn *fn);

/* Define a case that runs in a child, as a writers_fn with the parameter t. */
#define WRITERS_TEST(name)				\
static bool name##_case(struct procmap_child *t);	\
							\
TEST(name)						\
{							\
	ASSERT_EQ(0, writers_run(name##_case));		\
}							\
							\
static bool name##_case(struct procmap_child *t)

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
