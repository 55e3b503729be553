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
#include <linux/procmap_scan.h>

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

/* The same of scans, each of all VMAs; a kernel without them says so. */
static void measure_scan(const char *what, struct procmap_scan s, unsigned int rounds)
{
	static struct procmap_record records[NR_VMAS + 100];
	static char names[1 << 16];
	unsigned long long start;
	unsigned int i;

	s.size = sizeof(s);
	s.records = (uintptr_t)records;
	s.records_len = NR_VMAS + 100;
	s.record_size = sizeof(records[0]);
	s.names = (uintptr_t)names;
	s.names_size = sizeof(names);
	start = now();
	for (i = 0; i < rounds; i++) {
		s.start = 0;
		if (ioctl(maps, PROCMAP_SCAN, &s)) {
			printf("%-50s %8s\n", what, "-");
			return;
		}
	}
	printf("%-50s %8llu\n", what, (now() - start) / rounds);
}

static void measure_scans(void)
{
	struct procmap_scan s = { .size = sizeof(s), .record_size = PROCMAP_RECORD_SIZE_VER0 };

	if (!ioctl(maps, PROCMAP_SCAN, &s))
		s.known_generation = s.generation;
	s.flags = PROCMAP_SCAN_IF_CHANGED;
	measure_scan("scan, nothing has changed", s, ROUNDS);
	s.flags = 0;
	measure_scan("scan, all VMAs", s, 20);
	s.flags = PROCMAP_SCAN_NAMES;
	measure_scan("scan, all VMAs and names", s, 20);
	s.all_of = PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_FILE_BACKED_VMA;
	measure_scan("scan, VMAs of files that can be executed", s, 20);
}

/* Calls that change VMAs, which are counted */
static void measure_changes(size_t page)
{
	unsigned long long start = now();
	char *at = NULL;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		at = mmap(NULL, page, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		munmap(at, page);
	}
	printf("%-50s %8llu\n", "mmap() and munmap()", (now() - start) / ROUNDS);
	at = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	start = now();
	for (i = 0; i < ROUNDS; i++) {
		mprotect(at + page, page, PROT_READ);
		mprotect(at + page, page, PROT_NONE);
	}
	printf("%-50s %8llu\n", "mprotect() twice, split and merge", (now() - start) / ROUNDS);
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
	measure_scans();
	measure_changes(getpagesize());
	return 0;
}
