// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_QUERY with a filter finds each VMA that passes it, and no other, while a thread changes
 * those that do not pass.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/fs.h>
#include "kselftest_harness.h"

#define NR_MATCHING	8
/* VMAs before each that matches: more than the kernel passes at once */
#define NR_OTHER	300
#define NR_PAGES	(NR_MATCHING * (NR_OTHER + 1))
#define ROUNDS		200

struct process {
	size_t page;
	char *area;
	int maps;
	atomic_bool stop;
	atomic_ulong changes;
};

FIXTURE(filter)
{
	struct process process;
};

FIXTURE_VARIANT(filter)
{
	int prot;		/* of those that match */
	unsigned long flags;	/* of the query */
};

FIXTURE_VARIANT_ADD(filter, executable)
{
	.prot = PROT_READ | PROT_EXEC,
	.flags = PROCMAP_QUERY_VMA_EXECUTABLE,
};

FIXTURE_VARIANT_ADD(filter, file)
{
	.prot = PROT_READ,
	.flags = PROCMAP_QUERY_FILE_BACKED_VMA,
};

static bool is_matching(unsigned int number)
{
	return number % (NR_OTHER + 1) == NR_OTHER;
}

/* Neighbours differ, so that each page is a VMA of its own. */
static int other_prot(unsigned int number)
{
	return number % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
}

FIXTURE_SETUP(filter)
{
	struct process *p = &self->process;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned int i;

	ASSERT_LE(0, fd);
	p->page = getpagesize();
	p->area = mmap(NULL, NR_PAGES * p->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p->area);
	for (i = 0; i < NR_PAGES; i++) {
		char *at = p->area + i * p->page;

		if (!is_matching(i)) {
			ASSERT_EQ(0, mprotect(at, p->page, other_prot(i)));
		} else {
			ASSERT_EQ(at, mmap(at, p->page, variant->prot, MAP_PRIVATE | MAP_FIXED,
					   fd, 0));
		}
	}
	close(fd);
	p->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, p->maps);
}

FIXTURE_TEARDOWN(filter)
{
	struct process *p = &self->process;

	munmap(p->area, NR_PAGES * p->page);
	close(p->maps);
}

/* Unmap, map, split and merge VMAs that do not match. */
static void *change(void *arg)
{
	struct process *p = arg;
	unsigned int i;

	for (i = 0; !p->stop; i = (i + 7) % NR_PAGES) {
		char *at = p->area + i * p->page;

		if (is_matching(i))
			continue;
		munmap(at, p->page);
		mmap(at, p->page, other_prot(i + 1), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
		mprotect(at, p->page, other_prot(i));
		p->changes++;
	}
	return NULL;
}

/* All VMAs of the area that pass the filter; returns how many are as they should be. */
static int walk(struct process *p, unsigned long flags)
{
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = flags | PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
		.query_addr = (uintptr_t)p->area,
	};
	int i;

	for (i = 0; i < NR_MATCHING; i++) {
		char *at = p->area + (i * (NR_OTHER + 1) + NR_OTHER) * p->page;

		if (ioctl(p->maps, PROCMAP_QUERY, &q) || q.vma_start != (uintptr_t)at ||
		    q.vma_end != q.vma_start + p->page)
			break;
		q.query_addr = q.vma_end;
	}
	return i;
}

TEST_F(filter, of_quiet_process)
{
	struct process *p = &self->process;
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = variant->flags | PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
		.query_addr = UINTPTR_MAX - p->page,
	};

	EXPECT_EQ(NR_MATCHING, walk(p, variant->flags));
	EXPECT_EQ(-1, ioctl(p->maps, PROCMAP_QUERY, &q));
	EXPECT_EQ(ENOENT, errno);
	/* Without "or next" a VMA that covers the address and does not match is none. */
	q.query_flags = variant->flags;
	q.query_addr = (uintptr_t)p->area;
	EXPECT_EQ(-1, ioctl(p->maps, PROCMAP_QUERY, &q));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F_TIMEOUT(filter, of_changing_process, 600)
{
	struct process *p = &self->process;
	unsigned long before;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, change, p));
	for (i = 0; i < ROUNDS; i++) {
		/* Something changes in each round. */
		for (before = p->changes; before == p->changes;)
			sched_yield();
		if (walk(p, variant->flags) != NR_MATCHING)
			break;
	}
	p->stop = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(ROUNDS, i);
}

TEST_HARNESS_MAIN
