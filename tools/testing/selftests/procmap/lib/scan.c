// SPDX-License-Identifier: GPL-2.0
/* Calls of PROCMAP_SCAN that check what the kernel writes: see scan.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "scan.h"

#define ALL_RECORDS	4096
#define ALL_NAMES	0x40000
#define NO_NAME_SIZE	1

/*
 * Set up a call for everything, with poisoned areas. Returns 0 or -ENOMEM.
 * @scan: what to set up; @scan->s may be changed afterwards
 * @names: bytes of names that there is space for
 */
int scan_init(struct scan *scan, __u32 records, __u32 names)
{
	memset(scan, PROCMAP_POISON, sizeof(*scan));
	scan->records_size = (size_t)records * sizeof(*scan->records);
	scan->names_size = names;
	scan->records = malloc(scan->records_size + PROCMAP_GUARD_SIZE);
	scan->names = malloc(scan->names_size + PROCMAP_GUARD_SIZE);
	if (!scan->records || !scan->names)
		return -ENOMEM;
	memset(scan->records, PROCMAP_POISON, scan->records_size + PROCMAP_GUARD_SIZE);
	memset(scan->names, PROCMAP_POISON, scan->names_size + PROCMAP_GUARD_SIZE);
	scan->s = (struct procmap_scan) {
		.size = sizeof(scan->s),
		.flags = SCAN_EXTRAS,
		.records = (unsigned long)scan->records,
		.records_len = records,
		.record_size = sizeof(*scan->records),
		.names = (unsigned long)scan->names,
		.names_size = names,
	};
	return 0;
}

void scan_free(struct scan *scan)
{
	free(scan->records);
	free(scan->names);
}

/* PROCMAP_SCAN without any check. */
int scan_ioctl(int fd, void *arg)
{
	int ret = ioctl(fd, PROCMAP_SCAN, arg);

	return ret < 0 ? -errno : ret;
}

/*
 * Scan for the VMA that covers an address. Returns 0, -ENOENT if there is none,
 * or another -errno.
 * @name: gets its name if @flags has PROCMAP_SCAN_NAMES; unchanged if it has none
 */
int scan_one(int fd, const void *addr, __u64 flags, struct procmap_record *record, char *name,
	     size_t name_size)
{
	struct procmap_scan s = {
		.size = sizeof(s),
		.flags = flags,
		.start = (unsigned long)addr,
		.end = (unsigned long)addr + 1,
		.records = (unsigned long)record,
		.records_len = 1,
		.record_size = sizeof(*record),
		.names = (unsigned long)name,
		.names_size = name_size,
	};

	return scan_ioctl(fd, &s) ?: s.records_filled ? 0 : -ENOENT;
}

/* Has the call written outputs only, and no more of the areas than it says? */
static bool scan_intact(const struct scan *scan, const struct procmap_scan *was, int ret)
{
	const struct procmap_scan *is = &scan->s;
	struct procmap_scan inputs = *is;
	const char *records = (const char *)scan->records;
	size_t records_end, names_end;

	inputs.records_filled = was->records_filled;
	inputs.names_filled = was->names_filled;
	inputs.next = was->next;
	inputs.generation = was->generation;
	inputs.code_generation = was->code_generation;
	if (memcmp(&inputs, was, sizeof(inputs)) || (ret && memcmp(is, was, sizeof(*is)))) {
		fprintf(stderr, "# the kernel changed what is not an output\n");
		return false;
	}
	if (!procmap_is_poison("before the struct", scan->guard_front, &scan->s) ||
	    !procmap_is_poison("after the struct", scan->guard_scan, &scan->records))
		return false;
	/* An error may leave records and names after, but not after the areas. */
	records_end = ret ? scan->records_size : (size_t)is->records_filled * is->record_size;
	names_end = ret ? scan->names_size : is->names_filled;
	return procmap_is_poison("records", records + records_end,
				 records + scan->records_size + PROCMAP_GUARD_SIZE) &&
	       procmap_is_poison("names", scan->names + names_end,
				 scan->names + scan->names_size + PROCMAP_GUARD_SIZE);
}

/*
 * PROCMAP_SCAN with a look at every byte around the answer. Returns 0, -errno,
 * or PROCMAP_OVERRUN if the kernel wrote where it must not.
 * @scan: the call, set up by scan_init(); a call that follows must be set up
 *	anew
 */
int scan_call(int fd, struct scan *scan)
{
	struct procmap_scan was;
	int ret;

	scan->s.records_filled = 0xdeadbeef;
	scan->s.names_filled = 0xdeadbeef;
	scan->s.next = 0xdeadbeef;
	was = scan->s;
	ret = scan_ioctl(fd, &scan->s);
	return scan_intact(scan, &was, ret) ? ret : PROCMAP_OVERRUN;
}

static int scan_append(struct scan_list *list, const struct scan *scan)
{
	const struct procmap_scan *s = &scan->s;
	struct procmap_record *record;
	char *names;
	__u32 i;

	record = realloc(list->record, (list->nr + s->records_filled + 1) * sizeof(*record));
	if (record)
		list->record = record;
	names = realloc(list->names, list->names_size + s->names_filled + NO_NAME_SIZE);
	if (names)
		list->names = names;
	if (!record || !names)
		return -ENOMEM;
	memcpy(record + list->nr, scan->records, s->records_filled * sizeof(*record));
	memcpy(names + list->names_size, scan->names, s->names_filled);
	for (i = 0; i < s->records_filled; i++)
		if (record[list->nr + i].name != PROCMAP_RECORD_NO_NAME)
			record[list->nr + i].name += list->names_size;
	list->nr += s->records_filled;
	list->names_size += s->names_filled;
	if (!list->calls++) {
		list->generation = s->generation;
		list->code_generation = s->code_generation;
	}
	if (list->generation != s->generation)
		list->generation = 0;
	if (list->code_generation != s->code_generation)
		list->code_generation = 0;
	return 0;
}

/*
 * Scan, with as many calls as it takes. Returns 0; -errno; -ELOOP if a call
 * brings no progress; PROCMAP_OVERRUN.
 * @list: gets what was found; to be freed with scan_list_free(), also after an
 *	error
 */
int scan_list(int fd, const struct scan_how *how, struct scan_list *list)
{
	const __u64 end = how->end ?: ~0ULL;
	__u64 next = how->start;
	struct scan scan;
	int ret;

	memset(list, 0, sizeof(*list));
	do {
		ret = scan_init(&scan, how->records, how->names);
		scan.s.flags = how->flags;
		scan.s.start = next;
		scan.s.end = how->end;
		scan.s.all_of = how->all_of;
		scan.s.any_of = how->any_of;
		scan.s.none_of = how->none_of;
		if (!ret)
			ret = scan_call(fd, &scan);
		if (!ret && scan.s.next <= next && scan.s.next != end)
			ret = -ELOOP;
		if (!ret)
			ret = scan_append(list, &scan);
		next = scan.s.next;
		scan_free(&scan);
	} while (!ret && next != end);
	return ret;
}

/* Scan the whole address space, with names and build IDs. Returns as scan_list(). */
int scan_everything(int fd, struct scan_list *list)
{
	const struct scan_how how = {
		.flags = SCAN_EXTRAS,
		.records = ALL_RECORDS,
		.names = ALL_NAMES,
	};

	return scan_list(fd, &how, list);
}

void scan_list_free(struct scan_list *list)
{
	free(list->record);
	free(list->names);
}

/*
 * Get the name of a record. Returns the name; "" if it has none; NULL if it
 * does not lie in the names.
 */
const char *scan_name(const struct scan_list *list, const struct procmap_record *record)
{
	if (record->name == PROCMAP_RECORD_NO_NAME)
		return "";
	if (record->name >= list->names_size ||
	    !memchr(list->names + record->name, 0, list->names_size - record->name))
		return NULL;
	return list->names + record->name;
}

/* Are two records equal, wherever their names are? */
bool scan_same_record(const struct scan_list *one, const struct procmap_record *left,
		      const struct scan_list *two, const struct procmap_record *right)
{
	const char *name = scan_name(one, left), *other = scan_name(two, right);
	struct procmap_record a = *left, b = *right;

	a.name = 0;
	b.name = 0;
	return !memcmp(&a, &b, sizeof(a)) && name && other && !strcmp(name, other);
}

/*
 * Are two lists equal, however their calls were cut? Returns true if all
 * records and names are equal.
 */
bool scan_same(const struct scan_list *one, const struct scan_list *two)
{
	size_t i;

	for (i = 0; i < one->nr && i < two->nr; i++) {
		if (!scan_same_record(one, &one->record[i], two, &two->record[i])) {
			fprintf(stderr, "# record %zu differs: 0x%llx-0x%llx, 0x%llx-0x%llx\n", i,
				one->record[i].start, one->record[i].end, two->record[i].start,
				two->record[i].end);
			return false;
		}
	}
	if (one->nr != two->nr)
		fprintf(stderr, "# %zu records, the other list has %zu\n", one->nr, two->nr);
	return one->nr == two->nr;
}

/*
 * Is this what the generation of code tells of? Returns true for a VMA of a
 * file that can be executed.
 */
bool scan_is_code(const struct procmap_record *record)
{
	return (record->flags & PROCMAP_QUERY_VMA_EXECUTABLE) &&
	       (record->flags & PROCMAP_QUERY_FILE_BACKED_VMA);
}

/* Names the field of a record that a query does not confirm; NULL: none. */
static const char *differs_from_query(int fd, const struct procmap_record *record)
{
	struct procmap_call call;
	bool file;

	if (procmap_ask(fd, record->start, 0, &call))
		return "start, the query";
	if (record->end != call.q.vma_end || record->start != call.q.vma_start)
		return "end";
	if ((record->flags & 0xf) != call.q.vma_flags)
		return "flags";
	if (record->inode != call.q.inode)
		return "inode";
	if (1ULL << record->page_shift != call.q.vma_page_size)
		return "page_shift";
	if (record->build_id_size && record->flags & PROCMAP_RECORD_BUILD_ID_UNKNOWN)
		return "BUILD_ID_UNKNOWN";
	if (record->build_id_size != call.q.build_id_size ||
	    memcmp(record->build_id, call.build_id, record->build_id_size))
		return "build_id";
	file = !procmap_ask(fd, record->start, PROCMAP_QUERY_FILE_BACKED_VMA, &call);
	return file == !!(record->flags & PROCMAP_QUERY_FILE_BACKED_VMA) ? NULL : "file flag";
}

/* Names the field of a record that the line of text does not confirm. */
static const char *differs_from_text(const struct maps_vma *vma, const struct scan_list *list,
				     const struct procmap_record *record)
{
	const char *name = scan_name(list, record);
	struct procmap_call call;

	procmap_call_init(&call, 0, 0);
	call.q.vma_start = record->start;
	call.q.vma_end = record->end;
	call.q.vma_flags = record->flags & 0xf;
	call.q.vma_page_size = vma->page_size;
	call.q.vma_offset = record->offset;
	call.q.inode = record->inode;
	call.q.dev_major = record->dev_major;
	call.q.dev_minor = record->dev_minor;
	if (!name || strlen(name) >= sizeof(call.name))
		return "name";
	/* A name that a program gave to shared memory is not the path of its file. */
	if (record->flags & PROCMAP_RECORD_UNLINKED && !strstr(name, " (deleted)") &&
	    strncmp(name, "[anon_shmem:", 12))
		return "UNLINKED";
	call.q.vma_name_size = record->name == PROCMAP_RECORD_NO_NAME ? 0 : strlen(name) + 1;
	strcpy(call.name, name);
	return procmap_differs(vma, &call);
}

/* Names a field that cannot be as it is. */
static const char *impossible(const struct scan_list *list, const struct procmap_record *record)
{
	static const __u8 zero[sizeof(record->build_id)];

	if (record->reserved)
		return "reserved";
	if (record->build_id_size > sizeof(record->build_id) ||
	    memcmp(record->build_id + record->build_id_size, zero,
		   sizeof(zero) - record->build_id_size))
		return "build_id after its end";
	/* Generations grow; the difference is right if the counter wraps, too. */
	if (list->generation && record->generation &&
	    (__s64)(list->generation - record->generation) < 0)
		return "generation";
	return NULL;
}

/*
 * Compare a list with the text and with queries. Returns 0 if all agree, else
 * -EUCLEAN with the difference on stderr.
 * @fd: descriptor of the maps file, of a process that does not change
 * @list: what scan_everything() has found
 */
int scan_check(int fd, const struct maps_text *text, const struct scan_list *list)
{
	const char *wrong = NULL;
	size_t i;

	for (i = 0; i < list->nr && i < text->nr && !wrong; i++) {
		const struct procmap_record *record = &list->record[i];

		wrong = differs_from_text(&text->vma[i], list, record);
		if (!wrong)
			wrong = differs_from_query(fd, record);
		if (!wrong)
			wrong = impossible(list, record);
		if (wrong)
			fprintf(stderr, "# record %zu, 0x%llx-0x%llx flags 0x%llx: %s is wrong\n",
				i, record->start, record->end, record->flags, wrong);
	}
	if (!wrong && list->nr != text->nr) {
		wrong = "the number";
		fprintf(stderr, "# %zu records, %zu lines\n", list->nr, text->nr);
	}
	return wrong ? -EUCLEAN : 0;
}
