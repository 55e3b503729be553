// SPDX-License-Identifier: GPL-2.0
/* The errors of PROCMAP_QUERY that <linux/fs.h> lists. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fs.h>
#include "kselftest_harness.h"

FIXTURE(query)
{
	struct procmap_query q;
	char name[4096];
	char *map;		/* a page of the program, whose name is its path */
	int maps;
};

FIXTURE_SETUP(query)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	self->map = mmap(NULL, getpagesize(), PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, self->map);
	close(fd);
	self->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->maps);
	self->q.size = sizeof(self->q);
	self->q.query_addr = (uintptr_t)self->map;
	self->q.vma_name_addr = (uintptr_t)self->name;
	self->q.vma_name_size = sizeof(self->name);
}

FIXTURE_TEARDOWN(query)
{
	munmap(self->map, getpagesize());
	close(self->maps);
}

/* The errno of a query that leaves the struct as it was, 0 of one that succeeds, -1 otherwise. */
static int query(int maps, struct procmap_query *q)
{
	struct procmap_query before = *q;

	if (!ioctl(maps, PROCMAP_QUERY, q))
		return 0;
	return memcmp(q, &before, sizeof(before)) ? -1 : errno;
}

TEST_F(query, succeeds)
{
	EXPECT_EQ(0, query(self->maps, &self->q));
	EXPECT_EQ((uintptr_t)self->map, self->q.vma_start);
	EXPECT_EQ(strlen(self->name) + 1, self->q.vma_name_size);
}

TEST_F(query, efault)
{
	EXPECT_EQ(-1, ioctl(self->maps, PROCMAP_QUERY, NULL));
	EXPECT_EQ(EFAULT, errno);
	self->q.vma_name_addr = (uintptr_t)self->map;
	EXPECT_EQ(EFAULT, query(self->maps, &self->q));
}

TEST_F(query, einval)
{
	struct procmap_query q = self->q;

	q.size = offsetof(struct procmap_query, query_addr);
	EXPECT_EQ(EINVAL, query(self->maps, &q));
	q = self->q;
	q.query_flags = 1ULL << 63;
	EXPECT_EQ(EINVAL, query(self->maps, &q));
	q = self->q;
	q.vma_name_addr = 0;
	EXPECT_EQ(EINVAL, query(self->maps, &q));
	q = self->q;
	q.build_id_size = 20;
	EXPECT_EQ(EINVAL, query(self->maps, &q));
}

TEST_F(query, e2big)
{
	struct {
		struct procmap_query q;
		char tail;
	} more = { .q = self->q, .tail = 1 };

	self->q.size = getpagesize() + 1;
	EXPECT_EQ(E2BIG, query(self->maps, &self->q));
	more.q.size = sizeof(more.q) + 1;
	EXPECT_EQ(E2BIG, query(self->maps, &more.q));
	more.tail = 0;
	EXPECT_EQ(0, query(self->maps, &more.q));
}

TEST_F(query, enoent)
{
	ASSERT_EQ(0, munmap(self->map, getpagesize()));
	EXPECT_EQ(ENOENT, query(self->maps, &self->q));
}

TEST_F(query, enametoolong)
{
	ASSERT_EQ(0, query(self->maps, &self->q));
	self->q.vma_name_size--;
	EXPECT_EQ(ENAMETOOLONG, query(self->maps, &self->q));
}

TEST_F(query, enametoolong_build_id)
{
	char id[20];

	self->q.build_id_addr = (uintptr_t)id;
	self->q.build_id_size = sizeof(id);
	ASSERT_EQ(0, query(self->maps, &self->q));
	if (!self->q.build_id_size)
		SKIP(return, "needs a linker that adds build IDs");
	self->q.vma_name_size = sizeof(self->name);
	self->q.build_id_size--;
	EXPECT_EQ(ENAMETOOLONG, query(self->maps, &self->q));
}

TEST_F(query, esrch)
{
	char path[64];
	int maps, status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* Not before its parent has opened the file */
		raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, maps);
	EXPECT_EQ(0, query(maps, &self->q));
	self->q.vma_name_size = sizeof(self->name);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(ESRCH, query(maps, &self->q));
	close(maps);
}

TEST_HARNESS_MAIN
