// SPDX-License-Identifier: GPL-2.0
/*
 * The passes of procmap_bench with PROCMAP_QUERY and with PROCMAP_SCAN. The
 * records of a scan are the result, as a program can use them as they are. They
 * become VMAs only where that does not count, or where a program would keep less
 * of them.
 *
 * The symbolizer pass also runs over a process that the user names, for addresses
 * of a file: text and queries in turn.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define QUERY_NAME	4096
#define LIVE_MAX	1000000	/* addresses of a running process */

static void query_prepare(struct procmap_query *q, __u64 address, __u64 flags, char *name)
{
	q->size = sizeof(*q);
	q->query_flags = flags;
	q->query_addr = address;
	q->vma_name_addr = (unsigned long)name;
	q->vma_name_size = QUERY_NAME;
	q->build_id_addr = 0;
	q->build_id_size = 0;
}

/* Query the build ID only if no earlier VMA of the same file has it. */
static int query_build_id(struct bench_pass *pass, int fd, struct bench_vma *vma)
{
	const struct bench_vma *same = bench_pass_same_file(pass);
	struct procmap_query q = { .size = sizeof(q), .query_addr = vma->start };
	int err;

	if (same) {
		vma->build_id_size = same->build_id_size;
		memcpy(vma->build_id, same->build_id, sizeof(vma->build_id));
		return 0;
	}
	q.build_id_addr = (unsigned long)vma->build_id;
	q.build_id_size = sizeof(vma->build_id);
	err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
	vma->build_id_size = q.build_id_size;
	return err;
}

static int query_take(struct bench_pass *pass, int fd, const struct procmap_query *q,
		      const char *name)
{
	struct bench_vma *vma;

	vma = bench_pass_add(pass, name, q->vma_name_size ? q->vma_name_size - 1 : 0);
	if (!vma)
		return -ENOMEM;
	vma->start = q->vma_start;
	vma->end = q->vma_end;
	vma->offset = q->vma_offset;
	vma->inode = q->inode;
	vma->dev_major = q->dev_major;
	vma->dev_minor = q->dev_minor;
	if (!pass->build_id || (!vma->inode && !vma->dev_major && !vma->dev_minor))
		return 0;
	return query_build_id(pass, fd, vma);
}

/*
 * Find the VMAs of the addresses with queries. An address in the VMA of the
 * previous one needs none.
 */
int bench_symbolize_query(struct bench_pass *pass)
{
	char name[QUERY_NAME];
	struct procmap_query q = { 0 };
	int fd = maps_open(pass->pid), err = 0;
	__u64 end = 0;
	size_t i;

	bench_pass_begin(pass);
	if (fd < 0)
		return fd;
	for (i = 0; i < pass->addresses && !err; i++) {
		if (pass->address[i] < end) {
			pass->index[i] = pass->nr - 1;
			continue;
		}
		query_prepare(&q, pass->address[i], 0, name);
		err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
		if (err == -ENOENT) {
			pass->index[i] = BENCH_NOT_MAPPED;
			err = 0;
			continue;
		}
		if (!err)
			err = query_take(pass, fd, &q, name);
		pass->index[i] = pass->nr - 1;
		end = q.vma_end;
	}
	close(fd);
	return err;
}

/* Query one VMA after the other, as far as they fit the filter. */
static __always_inline int query_all(struct bench_pass *pass, const __u64 filter, const bool dump)
{
	char name[QUERY_NAME];
	struct procmap_query q = { 0 };
	int fd = maps_open(pass->pid), err = 0;

	bench_pass_begin(pass);
	if (fd < 0)
		return fd;
	while (!err) {
		query_prepare(&q, q.vma_end, PROCMAP_QUERY_COVERING_OR_NEXT_VMA | filter, name);
		err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
		if (!err)
			err = query_take(pass, fd, &q, name);
		if (!err && dump)
			pass->vma[pass->nr - 1].flags = q.vma_flags;
	}
	close(fd);
	return err == -ENOENT ? 0 : err;
}

int bench_synthesize_query(struct bench_pass *pass)
{
	return query_all(pass, BENCH_CODE, false);
}

int bench_dump_query(struct bench_pass *pass)
{
	return query_all(pass, 0, true);
}

#define SCAN_RECORDS	1024
#define SCAN_NAMES	4096	/* enough for each name */
#define SCAN_PROTECTION	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE | \
			 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED)

/* Double the space for records and, if they are wanted, that for names. */
static int scan_more_space(struct bench_pass *pass, bool names)
{
	size_t nr = pass->records_max ? 2 * pass->records_max : SCAN_RECORDS;
	void *more = realloc(pass->records, nr * sizeof(*pass->records));

	if (!more)
		return -ENOMEM;
	pass->records = more;
	pass->records_max = nr;
	return names ? bench_pass_space(pass, 0, pass->names_max) : 0;
}

/*
 * Scan into the records of a pass.
 * @pass: out: the records, and the names after the empty one
 * @scan: flags, conditions and known generation; out: the answer
 *
 * Once there is space for all, it is one call.
 */
int bench_pass_scan(struct bench_pass *pass, int fd, struct procmap_scan *scan)
{
	const bool names = scan->flags & PROCMAP_SCAN_NAMES;
	int err = pass->records ? 0 : scan_more_space(pass, names);

	scan->size = sizeof(*scan);
	scan->record_size = sizeof(*pass->records);
	while (!err) {
		scan->records = (unsigned long)pass->records;
		scan->records_len = pass->records_max;
		scan->names = names ? (unsigned long)pass->names + 1 : 0;
		scan->names_size = names ? pass->names_max - 1 : 0;
		err = bench_call3(SYS_ioctl, fd, PROCMAP_SCAN, scan);
		if (err || scan->next == ~0ULL)
			break;
		err = scan_more_space(pass, names);
	}
	pass->found = scan->records_filled;
	return err;
}

/*
 * Turn the records of the last scan into VMAs. Returns 0 or -ENOMEM.
 * @pass: in: records and names; out: the VMAs
 */
int bench_pass_take_records(struct bench_pass *pass)
{
	const struct procmap_record *from = pass->records;
	struct bench_vma *vma;
	int err;

	pass->nr = 0;
	err = bench_pass_space(pass, pass->found, 0);
	if (err)
		return err;
	for (vma = pass->vma; pass->nr < pass->found; vma++, from++, pass->nr++) {
		*vma = (struct bench_vma) {
			.start = from->start,
			.end = from->end,
			.offset = from->offset,
			.inode = from->inode,
			.dev_major = from->dev_major,
			.dev_minor = from->dev_minor,
			/* The kernel counts from after the empty name. */
			.name = from->name == PROCMAP_RECORD_NO_NAME ? 0 : from->name + 1,
			.flags = from->flags & SCAN_PROTECTION,
		};
	}
	return 0;
}

static int scan_pass(struct bench_pass *pass, __u64 all_of)
{
	struct procmap_scan scan = { .flags = PROCMAP_SCAN_NAMES, .all_of = all_of };
	int fd, err;

	bench_pass_begin(pass);
	fd = maps_open(pass->pid);
	if (fd < 0)
		return fd;
	err = bench_pass_scan(pass, fd, &scan);
	close(fd);
	return err;
}

/* Find all executable file VMAs with a scan; the records are the result. */
int bench_synthesize_scan(struct bench_pass *pass)
{
	return scan_pass(pass, BENCH_CODE);
}

/* Take all VMAs with a scan, likewise. */
int bench_dump_scan(struct bench_pass *pass)
{
	return scan_pass(pass, 0);
}

static pid_t live_pid;

/* One way to do the pass. */
struct live_way {
	const char *name;
	int (*run)(struct bench_pass *pass);
	bool build_id;
	struct bench_pass pass;
	double least;
	int err;
};

static int live_compare_addresses(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/*
 * Read the addresses of a file, into as many as LIVE_MAX. Returns their number,
 * or -errno.
 * @address: out: the addresses, ascending, each once
 */
static long live_read_addresses(const char *path, unsigned long *address)
{
	FILE *file = fopen(path, "re");
	char line[128], *end;
	long i, nr = 0, unique = 0;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		errno = 0;
		address[nr++] = strtoul(line, &end, 16);
		if (errno || end == line || *end != '\n' || nr == LIVE_MAX)
			err = -EINVAL;
	}
	fclose(file);
	qsort(address, nr, sizeof(*address), live_compare_addresses);
	for (i = 0; i < nr; i++)
		if (!unique || address[unique - 1] != address[i])
			address[unique++] = address[i];
	return err ?: unique ?: -ENODATA;
}

static void live_time(struct live_way *way)
{
	const double ns = bench_clock_ns();
	unsigned long i;
	double took;
	__u64 began;

	for (i = 0; i < bench_options.reps + bench_options.warm_up && !way->err; i++) {
		began = bench_clock();
		way->err = way->run(&way->pass);
		took = ns * (bench_clock() - began);
		if (i >= bench_options.warm_up && (!way->least || took < way->least))
			way->least = took;
	}
}

static void live_show(const struct live_way *way, const struct live_way *text)
{
	if (way->err)
		printf("%-10s %s\n", way->name, way->err == -ENOTTY ?
		       "not available: the kernel has no PROCMAP_QUERY" : strerror(-way->err));
	else
		printf("%-10s %12.0f ns %10.1f ns an address %8.2f times as fast as the text\n",
		       way->name, way->least, way->least / way->pass.addresses,
		       text->least / way->least);
}

/* Run both ways, with and without build IDs; the answers must agree. */
static int live_compare(pid_t pid, const unsigned long *address, size_t nr)
{
	struct live_way ways[] = {
		{ .name = "text", .run = bench_symbolize_text },
		{ .name = "query", .run = bench_symbolize_query },
		{ .name = "text-id", .run = bench_symbolize_text, .build_id = true },
		{ .name = "query-id", .run = bench_symbolize_query, .build_id = true },
	};
	const char *differ;
	unsigned int i;
	int failed = 0;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ways[i].err = bench_pass_init(&ways[i].pass, pid, address, nr);
		ways[i].pass.build_id = ways[i].build_id;
		live_time(&ways[i]);
	}
	printf("%zu different addresses in %zu mappings\n", nr, ways[0].pass.nr);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		live_show(&ways[i], &ways[0]);
		differ = NULL;
		if (i % 2 && !ways[i].err && !ways[i - 1].err)
			differ = bench_pass_differ(&ways[i - 1].pass, &ways[i].pass);
		if (differ)
			fprintf(stderr, "procmap_bench: %s: %s\n", ways[i].name, differ);
		failed |= !!differ || (ways[i].err && ways[i].err != -ENOTTY &&
				       !ways[i].build_id);
	}
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		bench_pass_free(&ways[i].pass);
	return failed;
}

/* Let the process go on. */
void bench_live_end(void)
{
	if (live_pid)
		kill(live_pid, SIGCONT);
	live_pid = 0;
}

/* Resolve addresses of a running process. Returns the exit status. */
int bench_live(void)
{
	unsigned long *address = calloc(LIVE_MAX, sizeof(*address));
	long nr = address ? live_read_addresses(bench_options.addresses, address) : -ENOMEM;
	int failed = 1;

	if (nr < 0) {
		fprintf(stderr, "procmap_bench: %s: %s\n", bench_options.addresses,
			strerror(-nr));
	} else {
		/* Stop the process, so that all passes see the same VMAs. */
		live_pid = bench_options.pid;
		kill(live_pid, SIGSTOP);
		failed = live_compare(live_pid, address, nr);
		bench_live_end();
	}
	free(address);
	return failed;
}
