// SPDX-License-Identifier: GPL-2.0
/*
 * What the calls that the patches change cost, in instructions, on a machine that counts them:
 *
 *	make BASE=7.3 initrd kernel
 *	BASE=7.3 workshop/qemu/vm.py --accel icount --variant base -- cost
 *	BASE=7.3 workshop/qemu/vm.py --accel icount --variant plain -- cost
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

#define NR_VMAS	10000
#define ROUNDS	1000

static int maps;
static char name[4096], id[20];

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void query(const struct procmap_query *q)
{
	struct procmap_query copy = *q;

	if (ioctl(maps, PROCMAP_QUERY, &copy)) {
		perror("PROCMAP_QUERY");
		exit(1);
	}
}

/* @units: how much of what is to be told one query does */
static void measure(const char *what, const struct procmap_query *q, unsigned int rounds,
		    unsigned int units)
{
	unsigned long long start, ns;
	unsigned int i;

	for (i = 0; i < rounds / 10 + 1; i++)
		query(q);
	start = now();
	for (i = 0; i < rounds; i++)
		query(q);
	ns = now() - start;
	printf("%-50s %8llu\n", what, ns / rounds / units);
}

static char *map_vmas(size_t page)
{
	char *area = mmap(NULL, (NR_VMAS + 1) * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	unsigned int i;

	if (area == MAP_FAILED)
		exit(1);
	for (i = 1; i < NR_VMAS; i += 2)
		mprotect(area + i * page, page, PROT_READ | PROT_WRITE);
	mprotect(area + NR_VMAS * page, page, PROT_READ | PROT_EXEC);
	return area;
}

int main(void)
{
	char *area = map_vmas(getpagesize());
	struct procmap_query q = { .size = sizeof(q), .query_addr = (uintptr_t)area };
	unsigned long long start;
	int i;

	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	start = now();
	for (i = 0; i < ROUNDS; i++)
		ioctl(maps, 0);
	printf("%-50s %8llu\n", "unknown ioctl", (now() - start) / ROUNDS);
	measure("query", &q, ROUNDS, 1);
	q.vma_name_addr = (uintptr_t)name;
	q.vma_name_size = sizeof(name);
	measure("query for the name, VMA without one", &q, ROUNDS, 1);
	q.query_addr = (uintptr_t)main;
	measure("query for the name, short path", &q, ROUNDS, 1);
	q.vma_name_addr = 0;
	q.vma_name_size = 0;
	q.build_id_addr = (uintptr_t)id;
	q.build_id_size = sizeof(id);
	measure("query for the build ID", &q, ROUNDS, 1);
	q.build_id_addr = 0;
	q.build_id_size = 0;
	q.query_flags = PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	measure("query with a filter, first VMA passes it", &q, ROUNDS, 1);
	q.query_addr = (uintptr_t)area;
	measure("query with a filter, each VMA that does not pass", &q, 20, NR_VMAS);
	return 0;
}
