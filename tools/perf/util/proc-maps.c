// SPDX-License-Identifier: GPL-2.0
/*
 * The mappings of a process, by PROCMAP_SCAN or PROCMAP_QUERY instead of the text
 * of /proc/<pid>/maps.
 *
 * The kernel leaves out what is not wanted, and formats nothing. With a scan it
 * tells many mappings in a call, and their build IDs with them. What a kernel can
 * do is found out by calling it, once.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <perf/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debug.h"
#include "proc-maps.h"

#define FOUR_GIB	BIT_ULL(32)

/*
 * The best call that the kernel is not known to lack. Several threads may find
 * out; all of them find the same.
 */
static enum proc_maps_call proc_maps_best;

static const struct {
	const char *name;
	const char *long_name;
} proc_maps_calls[] = {
	[PROC_MAPS_SCAN] = { "scan", "PROCMAP_SCAN" },
	[PROC_MAPS_QUERY] = { "query", "PROCMAP_QUERY" },
	[PROC_MAPS_TEXT] = { "text", "the text of maps" },
};

/*
 * On some architectures the text ends with a mapping that is no VMA of the
 * process, and that the calls do not tell: [vsyscall] of x86, [vectors] of arm.
 * It is the same in all processes that have it. @start is 0 if there is none.
 */
static struct {
	pthread_once_t once;
	struct procmap_record record;
	char name[32];
} gate = { .once = PTHREAD_ONCE_INIT };

/**
 * proc_maps__allow() - leave out the calls that are better than one
 * @name: the best call to try: "scan", "query" or "text"
 *
 * Return: 0; -EINVAL: no call has this name.
 */
int proc_maps__allow(const char *name)
{
	unsigned int call;

	for (call = 0; call < ARRAY_SIZE(proc_maps_calls); call++) {
		if (!strcmp(name, proc_maps_calls[call].name)) {
			__atomic_store_n(&proc_maps_best, call, __ATOMIC_RELAXED);
			return 0;
		}
	}
	return -EINVAL;
}

/**
 * proc_maps__name() - the name of a call, as proc_maps__allow() takes it
 * @call: the call
 *
 * Return: a constant string.
 */
const char *proc_maps__name(enum proc_maps_call call)
{
	return proc_maps_calls[call].name;
}

/**
 * proc_maps__best() - the best call that the kernel is not known to lack
 *
 * Return: the call; it is certain after a walk.
 */
enum proc_maps_call proc_maps__best(void)
{
	return __atomic_load_n(&proc_maps_best, __ATOMIC_RELAXED);
}

/**
 * proc_maps__begin() - begin a walk over the mappings of a process
 * @maps: out: the walk
 * @fd: descriptor of the file maps of the process; -1: only the text can be used
 * @data: also mappings that are readable, and not executable
 * @build_ids: with build IDs
 */
void proc_maps__begin(struct proc_maps *maps, int fd, bool data, bool build_ids)
{
	maps->fd = fd;
	maps->call = PROC_MAPS_TEXT;
	if (fd >= 0)
		maps->call = proc_maps__best();
	maps->data = data;
	maps->build_ids = build_ids;
	maps->ended = false;
	maps->next = 0;
	maps->told = 0;
	maps->at = 0;
	maps->nr = 0;
	maps->last = NULL;
}

/* The first answer of the kernel decides; say so once. */
static void proc_maps__found(const struct proc_maps *maps)
{
	static bool said;

	if (maps->fd >= 0 && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		pr_debug("mappings of processes: %s\n",
			 proc_maps_calls[proc_maps__best()].long_name);
}

/* The kernel lacks the call. Try the next one, here and in other walks. */
static void proc_maps__fall_back(struct proc_maps *maps)
{
	enum proc_maps_call call = maps->call++;

	__atomic_compare_exchange_n(&proc_maps_best, &call, maps->call, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static int proc_maps__scan(struct proc_maps *maps)
{
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.flags = PROCMAP_SCAN_NAMES | (maps->build_ids ? PROCMAP_SCAN_BUILD_IDS : 0),
		.start = maps->next,
		.any_of = PROCMAP_QUERY_VMA_EXECUTABLE |
			  (maps->data ? PROCMAP_QUERY_VMA_READABLE : 0),
		.records = (uintptr_t)maps->records,
		.records_len = PROC_MAPS_RECORDS,
		.record_size = sizeof(maps->records[0]),
		.names = (uintptr_t)maps->names,
		.names_size = sizeof(maps->names),
	};

	if (ioctl(maps->fd, PROCMAP_SCAN, &scan))
		return -errno;
	maps->next = scan.next;
	maps->nr = scan.records_filled;
	return 0;
}

/* One mapping, as a record. A query cannot ask for what is readable or executable. */
static int proc_maps__query(struct proc_maps *maps)
{
	struct procmap_record *record = &maps->records[0];
	struct procmap_query query = {
		.size = sizeof(query),
		.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA |
			       (maps->data ? 0 : PROCMAP_QUERY_VMA_EXECUTABLE),
		.query_addr = maps->next,
		.vma_name_size = sizeof(maps->names),
		.vma_name_addr = (uintptr_t)maps->names,
		.build_id_size = maps->build_ids ? sizeof(record->build_id) : 0,
		.build_id_addr = maps->build_ids ? (uintptr_t)record->build_id : 0,
	};

	if (ioctl(maps->fd, PROCMAP_QUERY, &query))
		return -errno;
	record->start = query.vma_start;
	record->end = query.vma_end;
	record->offset = query.vma_offset;
	record->inode = query.inode;
	record->flags = query.vma_flags;
	record->dev_major = query.dev_major;
	record->dev_minor = query.dev_minor;
	record->name = query.vma_name_size ? 0 : PROCMAP_RECORD_NO_NAME;
	record->build_id_size = query.build_id_size;
	memset(record->build_id + query.build_id_size, 0,
	       sizeof(record->build_id) - query.build_id_size);
	maps->next = query.vma_end;
	maps->nr = 1;
	return 0;
}

static int proc_maps__ask(struct proc_maps *maps)
{
	int err = -ENOENT;

	if (maps->call == PROC_MAPS_QUERY)
		err = proc_maps__query(maps);
	else if (maps->next != UINT64_MAX)
		err = proc_maps__scan(maps);
	return err == -ENOENT ? 0 : err;
}

/* Fill @maps->records; none, if there are no more mappings. Returns 0 or -errno. */
static int proc_maps__fill(struct proc_maps *maps)
{
	int err = -ENOTTY;

	maps->at = 0;
	maps->nr = 0;
	while (maps->call != PROC_MAPS_TEXT && err == -ENOTTY) {
		err = proc_maps__ask(maps);
		if (err == -ENOTTY)
			proc_maps__fall_back(maps);
	}
	proc_maps__found(maps);
	return err;
}

/* Whether something is mapped at or above an address. */
static bool proc_maps__reaches(const struct proc_maps *maps, __u64 addr)
{
	struct procmap_query query = {
		.size = sizeof(query),
		.query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
		.query_addr = addr,
	};

	return maps->told > addr || !ioctl(maps->fd, PROCMAP_QUERY, &query);
}

/* Take the last line of our text as the gate, if no VMA is there. */
static void gate__take(const char *line, int fd)
{
	struct procmap_query query = {
		.size = sizeof(query),
	};
	struct procmap_record record = {};
	char r, w, x, s;

	if (sscanf(line, "%llx-%llx %c%c%c%c %llx %*x:%*x %*u %31s", &record.start, &record.end,
		   &r, &w, &x, &s, &record.offset, gate.name) != 8)
		return;
	query.query_addr = record.start;
	if (!ioctl(fd, PROCMAP_QUERY, &query) || errno != ENOENT)
		return;
	record.flags = (r == 'r' ? PROCMAP_QUERY_VMA_READABLE : 0) |
		       (w == 'w' ? PROCMAP_QUERY_VMA_WRITABLE : 0) |
		       (x == 'x' ? PROCMAP_QUERY_VMA_EXECUTABLE : 0) |
		       (s == 's' ? PROCMAP_QUERY_VMA_SHARED : 0);
	gate.record = record;
}

static void gate__find(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;

	if (!file)
		return;
	while (getline(&line, &size, file) > 0)
		;
	if (line)
		gate__take(line, fileno(file));
	free(line);
	fclose(file);
}

/*
 * Return the gate, if the process has one, as the last record. A 32-bit process
 * has none above 4 GiB. It has nothing else there, either.
 */
static int proc_maps__end(struct proc_maps *maps)
{
	__u64 start;

	maps->ended = true;
	pthread_once(&gate.once, gate__find);
	start = gate.record.start;
	if (!start || !proc_maps__reaches(maps, start < FOUR_GIB ? 0 : FOUR_GIB))
		return 0;
	maps->records[0] = gate.record;
	memcpy(maps->names, gate.name, sizeof(gate.name));
	maps->nr = 1;
	return 0;
}

/* As in the text, where a newline in a name is written \012. */
static void proc_maps__copy_name(char *to, size_t size, const char *from)
{
	const char *end = to + size - 1;

	for (; *from && to < end; from++) {
		if (*from != '\n') {
			*to++ = *from;
			continue;
		}
		if (end - to < 4)
			break;
		memcpy(to, "\\012", 4);
		to += 4;
	}
	*to = '\0';
}

/* As read_proc_maps_line() does it: @len is the end, and the caller subtracts the start. */
static void proc_maps__put(const struct proc_maps *maps, struct perf_record_mmap2 *event)
{
	const struct procmap_record *record = maps->last;

	event->start = record->start;
	event->len = record->end;
	event->pgoff = record->offset;
	event->maj = record->dev_major;
	event->min = record->dev_minor;
	event->ino = record->inode;
	event->prot = (record->flags & PROCMAP_QUERY_VMA_READABLE ? PROT_READ : 0) |
		      (record->flags & PROCMAP_QUERY_VMA_WRITABLE ? PROT_WRITE : 0) |
		      (record->flags & PROCMAP_QUERY_VMA_EXECUTABLE ? PROT_EXEC : 0);
	event->flags = record->flags & PROCMAP_QUERY_VMA_SHARED ? MAP_SHARED : MAP_PRIVATE;
	event->filename[0] = '\0';
	if (record->name != PROCMAP_RECORD_NO_NAME)
		proc_maps__copy_name(event->filename, sizeof(event->filename),
				     maps->names + record->name);
}

/*
 * Get more records. The process may have exited, or called execve(): then it has
 * no mappings. What else a call cannot do, the text can.
 */
static int proc_maps__more(struct proc_maps *maps)
{
	int err = proc_maps__fill(maps);

	if (err == -ESRCH) {
		maps->ended = true;
		return 0;
	}
	if (err)
		maps->call = PROC_MAPS_TEXT;
	else if (!maps->nr)
		return proc_maps__end(maps);
	return err;
}

/**
 * proc_maps__next() - the next mapping
 * @maps: the walk
 * @event: out: what read_proc_maps_line() fills, with the end in @len
 *
 * Return: 1; 0: there are no more; -ENOTTY: the caller must read the text, from
 * its beginning, and leave out what ends at or below @maps->told.
 */
int proc_maps__next(struct proc_maps *maps, struct perf_record_mmap2 *event)
{
	while (maps->at == maps->nr) {
		if (maps->ended)
			return 0;
		if (proc_maps__more(maps)) {
			maps->last = NULL;
			return -ENOTTY;
		}
	}
	maps->last = &maps->records[maps->at++];
	/* The text has even a name that fits no buffer. */
	if (maps->last->flags & PROCMAP_RECORD_NAME_TOO_LONG) {
		maps->call = PROC_MAPS_TEXT;
		maps->at = maps->nr;
		maps->last = NULL;
		return -ENOTTY;
	}
	maps->told = maps->last->end;
	proc_maps__put(maps, event);
	return 1;
}

/**
 * proc_maps__put_build_id() - the build ID of the mapping that was returned last
 * @maps: the walk
 * @event: in/out: the event of this mapping. The build ID lies where the device
 *	and the inode were.
 *
 * Return: true: the event has its build ID, or the mapping has no file; false: the
 * caller must look into the file.
 */
bool proc_maps__put_build_id(const struct proc_maps *maps, struct perf_record_mmap2 *event)
{
	const struct procmap_record *record = maps->last;

	if (!record)
		return false;
	if (!record->build_id_size)
		return !record->inode;
	event->build_id_size = record->build_id_size;
	event->__reserved_1 = 0;
	event->__reserved_2 = 0;
	memcpy(event->build_id, record->build_id, sizeof(event->build_id));
	event->header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	return true;
}
