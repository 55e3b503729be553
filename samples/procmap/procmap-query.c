// SPDX-License-Identifier: GPL-2.0
/*
 * procmap-query PID [ADDRESS] - print what is mapped at an address, or all
 * executable files of a process
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/fs.h>

/* Everything that a query can answer about one mapping */
struct answer {
	struct procmap_query query;
	char name[PATH_MAX];
	unsigned char build_id[20];
};

/* Returns 0, or -1 with errno; ENOENT means that there is no such mapping */
static int ask(int fd, __u64 addr, __u64 flags, struct answer *answer)
{
	answer->query = (struct procmap_query) {
		.size = sizeof(answer->query),
		.query_flags = flags,
		.query_addr = addr,
		.vma_name_addr = (uintptr_t)answer->name,
		.vma_name_size = sizeof(answer->name),
		.build_id_addr = (uintptr_t)answer->build_id,
		.build_id_size = sizeof(answer->build_id),
	};
	return ioctl(fd, PROCMAP_QUERY, &answer->query);
}

static void print(__u64 addr, const struct answer *answer)
{
	const struct procmap_query *query = &answer->query;
	unsigned int i;

	printf("%llx offset %llx build ID ", (unsigned long long)addr,
	       (unsigned long long)(addr - query->vma_start + query->vma_offset));
	for (i = 0; i < query->build_id_size; i++)
		printf("%02x", answer->build_id[i]);
	printf("%s %s\n", query->build_id_size ? "" : "none",
	       query->vma_name_size ? answer->name : "anonymous");
}

/*
 * Ask only for mappings with all of these properties. Others cost very little
 */
static int print_executable_files(int fd)
{
	struct answer answer;
	__u64 addr = 0;

	while (!ask(fd, addr, PROCMAP_QUERY_COVERING_OR_NEXT_VMA | PROCMAP_QUERY_VMA_EXECUTABLE |
		    PROCMAP_QUERY_FILE_BACKED_VMA, &answer)) {
		print(answer.query.vma_start, &answer);
		addr = answer.query.vma_end;
	}
	return errno == ENOENT ? 0 : -1;
}

static int print_address(int fd, __u64 addr)
{
	struct answer answer;

	if (ask(fd, addr, 0, &answer))
		return -1;
	print(addr, &answer);
	return 0;
}

/* Say what errno means here */
static void complain(const char *path)
{
	if (errno == ENOENT)
		fputs("no mapping there\n", stderr);
	else if (errno == ENOTTY)
		fprintf(stderr, "this kernel has no PROCMAP_QUERY: read the text of %s\n", path);
	else
		perror("PROCMAP_QUERY");
}

int main(int argc, char **argv)
{
	char path[64];
	int fd, err;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s PID [ADDRESS]\n", argv[0]);
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	err = argc == 3 ? print_address(fd, strtoull(argv[2], NULL, 16)) :
			  print_executable_files(fd);
	if (err)
		complain(path);
	close(fd);
	return err ? 1 : 0;
}
