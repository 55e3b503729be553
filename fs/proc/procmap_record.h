/* SPDX-License-Identifier: GPL-2.0 */
/* Records of PROCMAP_SCAN. */
#ifndef _PROC_PROCMAP_RECORD_H
#define _PROC_PROCMAP_RECORD_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/vma_search.h>
#include <uapi/linux/procmap.h>
#include <uapi/linux/procmap_scan.h>
#include "procmap.h"

/* The last term has all bits from GROWS_DOWN up to, not including, UNLINKED. */
#define PROCMAP_CONDITIONS						\
	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |	\
	 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED |	\
	 PROCMAP_QUERY_FILE_BACKED_VMA | PROCMAP_RECORD_UNLINKED |	\
	 (PROCMAP_RECORD_UNLINKED - PROCMAP_RECORD_GROWS_DOWN))

/* The end of a record, the same for all VMAs of a run. */
struct procmap_tail {
	u32 name;
	struct procmap_build_id build_id;
	u32 reserved;
};

static_assert(sizeof(struct procmap_record) == PROCMAP_RECORD_SIZE_VER0);
static_assert(offsetof(struct procmap_record, name) + sizeof(struct procmap_tail) ==
	      sizeof(struct procmap_record));
static_assert(offsetof(struct procmap_record, build_id) - offsetof(struct procmap_record, name) ==
	      offsetof(struct procmap_tail, build_id.bytes));

struct procmap_records {
	struct procmap_scan args;
	u32 filled;	/* how many were written */
	u32 page_shift;	/* of the next VMAs */
	u64 flags;	/* PROCMAP_RECORD_* bits about their name and build ID */
	union {
		struct procmap_tail tail;	/* the end of their records */
		u64 tail_words[sizeof(struct procmap_tail) / sizeof(u64)];
	};
};

static inline bool procmap_has_conditions(const struct procmap_scan *s)
{
	return s->all_of || s->any_of || s->none_of;
}

unsigned long procmap_record_to_vm_flags(u64 flags);
bool procmap_record_wanted(const struct procmap_scan *s, const struct vma_props *props);
int procmap_records_copy_out(struct procmap_records *records, const struct vma_props *props,
			     unsigned int nr);

#endif /* _PROC_PROCMAP_RECORD_H */
