// SPDX-License-Identifier: GPL-2.0
/*
 * Print the build IDs of many files. The program maps each file of a list,
 * which has one path on each line, and asks for its build ID by PROCMAP_QUERY.
 * It prints the path, the build ID in hex or "-", and "warm" if the first page
 * of the file was in the page cache before, else "cold". Tabs separate them.
 *
 *	procmap_buildid_list [--cold] LIST
 *
 * With --cold it empties the page cache first, which needs root.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "procmap_util.h"

#define MAX_ID		20
#define DROP_CACHES	"/proc/sys/vm/drop_caches"

static int ask(int maps, const void *map, unsigned char *id, unsigned int *size)
{
	struct procmap_query query = {
		.size = sizeof(query),
		.query_addr = (unsigned long)map,
		.build_id_size = MAX_ID,
		.build_id_addr = (unsigned long)id,
	};
	int ret = procmap_ioctl(maps, &query);

	*size = query.build_id_size;
	return ret;
}

static void print(const char *path, const unsigned char *id, unsigned int size, bool cached)
{
	unsigned int i;

	printf("%s\t%s", path, size ? "" : "-");
	for (i = 0; i < size; i++)
		printf("%02x", id[i]);
	printf("\t%s\n", cached ? "warm" : "cold");
}

static int look_at(int maps, const char *path)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char id[MAX_ID], cached;
	unsigned int size = 0;
	int ret, fd;
	void *map;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	ret = map == MAP_FAILED ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	ret = mincore(map, page, &cached) ? -errno : ask(maps, map, id, &size);
	munmap(map, page);
	if (!ret)
		print(path, id, size, cached & 1);
	return ret;
}

static int look_at_all(int maps, FILE *list)
{
	size_t space = 0;
	char *path = NULL;
	int ret, failed = 0;

	while (getline(&path, &space, list) > 0) {
		path[strcspn(path, "\n")] = '\0';
		ret = look_at(maps, path);
		if (!ret)
			continue;
		fprintf(stderr, "procmap_buildid_list: %s: %s\n", path, strerror(-ret));
		failed = 1;
	}
	free(path);
	return failed;
}

int main(int argc, char **argv)
{
	bool cold = argc == 3 && !strcmp(argv[1], "--cold");
	int maps = maps_open(0);
	FILE *list;

	if (argc != 2 + cold) {
		fprintf(stderr, "usage: procmap_buildid_list [--cold] LIST\n");
		return 1;
	}
	list = fopen(argv[argc - 1], "r");
	if (!list || maps < 0) {
		fprintf(stderr, "procmap_buildid_list: cannot read %s: %s\n",
			list ? "/proc/self/maps" : argv[argc - 1], strerror(errno));
		return 1;
	}
	if (cold && procmap_write(AT_FDCWD, DROP_CACHES, "3")) {
		fprintf(stderr, "procmap_buildid_list: cannot write " DROP_CACHES ": %m\n");
		return 1;
	}
	return look_at_all(maps, list) || fflush(stdout) ? 1 : 0;
}
