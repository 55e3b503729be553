// SPDX-License-Identifier: GPL-2.0
/*
 * procmap-scan PID - read addresses from standard input, one in a line, and
 * print which executable file is mapped there
 *
 * Keeps the list of these files, and asks for each address whether it still
 * holds: one short system call, which gets a new list only if there is one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/fs.h>

#ifndef AREA
#define AREA	4096	/* mappings that one call has space for */
#endif
#define MOST	65536	/* mappings that a process may have by default */

static struct procmap_record records[MOST];
static char names[64 * MOST];
static unsigned int nr_records;
static __u64 generation; /* of this list, 0: it may be stale */

/* Get the list anew if it is stale. Returns 0, or -1 with errno */
static int update(int fd)
{
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.flags = PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS |
			 PROCMAP_SCAN_IF_CODE_CHANGED,
		.all_of = PROCMAP_QUERY_VMA_EXECUTABLE |
			  PROCMAP_QUERY_FILE_BACKED_VMA,
		.record_size = sizeof(records[0]),
		.known_generation = generation,
	};
	unsigned int nr = 0, used = 0, i;
	__u64 now = 0;

	do {
		if (nr == MOST) {
			errno = E2BIG;
			return -1;
		}
		scan.records = (uintptr_t)(records + nr);
		scan.records_len = MOST - nr < AREA ? MOST - nr : AREA;
		scan.names = (uintptr_t)(names + used);
		scan.names_size = sizeof(names) - used;
		if (ioctl(fd, PROCMAP_SCAN, &scan))
			return -1;
		if (generation && scan.code_generation == generation)
			return 0;
		for (i = nr; i < nr + scan.records_filled; i++)
			if (records[i].name != PROCMAP_RECORD_NO_NAME)
				records[i].name += used;
		/* Calls of one generation make one list. */
		now = !nr || now == scan.code_generation ?
		      scan.code_generation : 0;
		nr += scan.records_filled;
		used += scan.names_filled;
		scan.start = scan.next;
	} while (scan.next != ~0ULL);
	nr_records = nr;
	generation = now;
	return 0;
}

/* Is the address below, in or above the mapping? */
static int compare(const void *key, const void *element)
{
	const struct procmap_record *record = element;
	const __u64 addr = *(const __u64 *)key;

	if (addr < record->start)
		return -1;
	return addr >= record->end;
}

static void print(__u64 addr)
{
	const struct procmap_record *record;
	const char *no_id = "none";
	unsigned int i;

	record = bsearch(&addr, records, nr_records, sizeof(records[0]),
			 compare);
	if (!record) {
		printf("%llx no executable file\n", (unsigned long long)addr);
		return;
	}
	if (record->flags & PROCMAP_RECORD_BUILD_ID_UNKNOWN)
		no_id = "not known";
	printf("%llx offset %llx build ID ", (unsigned long long)addr,
	       (unsigned long long)(addr - record->start + record->offset));
	for (i = 0; i < record->build_id_size; i++)
		printf("%02x", record->build_id[i]);
	printf("%s %s\n", record->build_id_size ? "" : no_id,
	       record->name == PROCMAP_RECORD_NO_NAME ?
	       "" : names + record->name);
}

/* Say what errno means here */
static void complain(const char *path)
{
	if (errno == ESRCH)
		fputs("the process is gone, or has called execve()\n", stderr);
	else if (errno == ENOTTY)
		fprintf(stderr, "no PROCMAP_SCAN: read the text of %s\n", path);
	else
		perror("PROCMAP_SCAN");
}

int main(int argc, char **argv)
{
	char path[64], line[64];
	int fd, err = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s PID\n", argv[0]);
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	while (!err && fgets(line, sizeof(line), stdin)) {
		err = update(fd);
		if (err)
			complain(path);
		else
			print(strtoull(line, NULL, 16));
	}
	close(fd);
	return err ? 1 : 0;
}
