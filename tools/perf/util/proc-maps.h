/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mappings of a process, by PROCMAP_SCAN or PROCMAP_QUERY instead of the text
 * of /proc/<pid>/maps.
 */
#ifndef __PERF_PROC_MAPS_H
#define __PERF_PROC_MAPS_H

#include <linux/procmap.h>
#include <linux/procmap_scan.h>
#include <linux/types.h>
#include <stdbool.h>

struct perf_record_mmap2;

/**
 * enum proc_maps_call - what tells about mappings
 * @PROC_MAPS_SCAN: PROCMAP_SCAN: many in a call
 * @PROC_MAPS_QUERY: PROCMAP_QUERY: one in a call
 * @PROC_MAPS_TEXT: the text, which the caller reads
 */
enum proc_maps_call {
	PROC_MAPS_SCAN,
	PROC_MAPS_QUERY,
	PROC_MAPS_TEXT
};

#define PROC_MAPS_RECORDS	64
/* Room for the longest name, and for those of many libraries. */
#define PROC_MAPS_NAMES		16384

/**
 * struct proc_maps - a walk over the mappings of a process
 * @fd: descriptor of the file maps
 * @call: what tells about mappings
 * @data: also mappings that are readable, and not executable
 * @build_ids: with build IDs
 * @ended: there are no more
 * @next: where the next call begins
 * @told: end of the mapping that was returned last, 0 before
 * @at: the record to return next
 * @nr: how many records there are
 * @last: the record that was returned last, NULL if none was
 * @records: what a call has told
 * @names: the names in @records
 */
struct proc_maps {
	int fd;
	enum proc_maps_call call;
	bool data;
	bool build_ids;
	bool ended;
	__u64 next;
	__u64 told;
	unsigned int at;
	unsigned int nr;
	const struct procmap_record *last;
	struct procmap_record records[PROC_MAPS_RECORDS];
	char names[PROC_MAPS_NAMES];
};

void proc_maps__begin(struct proc_maps *maps, int fd, bool data, bool build_ids);
int proc_maps__next(struct proc_maps *maps, struct perf_record_mmap2 *event);
bool proc_maps__put_build_id(const struct proc_maps *maps, struct perf_record_mmap2 *event);

int proc_maps__allow(const char *name);
const char *proc_maps__name(enum proc_maps_call call);
enum proc_maps_call proc_maps__best(void);

#endif /* __PERF_PROC_MAPS_H */
