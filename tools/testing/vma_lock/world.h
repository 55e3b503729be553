/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the process had, and when. A system call of the writer leads from one
 * version to the next one.
 */
#ifndef _VMA_LOCK_WORLD_H
#define _VMA_LOCK_WORLD_H

#include <stdbool.h>
#include <linux/compiler.h>
#include <linux/types.h>

#define PAGES		64
#define VERSIONS_KEPT	8192

/**
 * struct region - one VMA, in pages
 * @start: first page; @end: page after it, 0: this is a hole
 * @flags: its flags
 * @pgoff: offset in the file
 * @file: number of the file; 0: none
 */
struct region {
	u8 start;
	u8 end;
	u32 flags;
	u32 pgoff;
	u32 file;
};

/* For each page, the region that covers it. */
struct version_of_all {
	struct region page[PAGES];
};

/**
 * struct window - the versions that the process had while a search lasted
 * @first: the one from before
 * @last: that which the last call that had begun led to
 */
struct window {
	unsigned long first;
	unsigned long last;
};

/**
 * struct search_args - what was searched for
 * @page: first page
 * @flags: that the VMA must have
 * @file_only: only VMAs with a file
 */
struct search_args {
	unsigned int page;
	u32 flags;
	bool file_only;
};

u64 random64(u64 *rng);
unsigned int below(u64 *rng, unsigned int limit);
void __noreturn wrong(const char *what, unsigned long detail);

void world_reset(void);
void world_begin_call(void);
struct version_of_all *world_next(void);
void world_record(void);
bool world_recorded(void);
void world_end_call(void);

void window_begin(struct window *window);
bool window_end(struct window *window);
bool window_lost(const struct window *window);
bool window_had(const struct window *window, const struct region *region);
bool window_had_both(const struct window *window, const struct region *a, const struct region *b);
bool window_could_pass(const struct window *window, const struct search_args *args,
		       unsigned int page);
bool window_had_list(const struct window *window, const struct search_args *args,
		     unsigned int end, const struct region *list, unsigned int nr);

bool region_same(const struct region *a, const struct region *b);
bool search_args_match(const struct search_args *args, const struct region *region);

#endif
