// SPDX-License-Identifier: GPL-2.0
/*
 * The generations of PROCMAP_SCAN: what changes them and what does not, and what
 * a caller can rely on that sees the same one twice.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fs.h>
#include <linux/procmap_scan.h>
#include "kselftest_harness.h"

#define PAGES		8
#define RECORDS		512
/* A race takes so many scans, of which so many are snapshots, and so many rounds. */
#define SCANS		3000
#define SNAPSHOTS	100
#define ROUNDS		1000

/* The process looks at itself. Nothing here allocates. */
FIXTURE(changes)
{
	int maps;
	int code;
	size_t page;
	char *anon;
	char *file;
	struct procmap_scan now;
};

static struct procmap_record records[RECORDS], before[RECORDS];

static int look(struct _test_data_changes *self)
{
	self->now = (struct procmap_scan) {
		.size = sizeof(self->now),
		.record_size = sizeof(records[0]),
	};
	return ioctl(self->maps, PROCMAP_SCAN, &self->now);
}

/* Anonymous pages and those of a file, with holes around. */
FIXTURE_SETUP(changes)
{
	char *area;

	self->page = getpagesize();
	self->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->maps);
	self->code = memfd_create("code", MFD_CLOEXEC);
	ASSERT_LE(0, self->code);
	ASSERT_EQ(0, ftruncate(self->code, PAGES * self->page));
	area = mmap(NULL, 6 * PAGES * self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, munmap(area, 6 * PAGES * self->page));
	self->anon = mmap(area + PAGES * self->page, PAGES * self->page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	self->file = mmap(area + 3 * PAGES * self->page, PAGES * self->page, PROT_READ,
			  MAP_PRIVATE | MAP_FIXED, self->code, 0);
	ASSERT_NE(MAP_FAILED, self->anon);
	ASSERT_NE(MAP_FAILED, self->file);
	ASSERT_EQ(0, look(self));
	ASSERT_NE(0, self->now.generation);
	ASSERT_NE(0, self->now.code_generation);
}

FIXTURE_TEARDOWN(changes)
{
	close(self->code);
	close(self->maps);
}

enum { NONE, DATA, CODE };

/* What has changed since the last look? -1: the answer cannot be right. */
static int changed(struct _test_data_changes *self)
{
	const __u64 was = self->now.generation, was_code = self->now.code_generation;
	const struct procmap_scan *now = &self->now;

	if (look(self) || !now->generation || !now->code_generation)
		return -1;
	if (now->code_generation != was_code)
		return now->generation != was ? CODE : -1;
	return now->generation != was ? DATA : NONE;
}

TEST_F(changes, none_by_what_only_looks_or_uses)
{
	struct procmap_query q = { .size = sizeof(q), .query_addr = (uintptr_t)self->anon };
	char byte;

	EXPECT_EQ(NONE, changed(self));
	EXPECT_EQ(0, ioctl(self->maps, PROCMAP_QUERY, &q));
	EXPECT_EQ(1, pread(self->maps, &byte, 1, 0));
	memset(self->anon, 1, PAGES * self->page);
	EXPECT_EQ(0, __atomic_load_n(self->file, __ATOMIC_RELAXED));
	EXPECT_EQ(NONE, changed(self));
	EXPECT_EQ(0, madvise(self->anon, PAGES * self->page, MADV_DONTNEED));
	EXPECT_EQ(0, msync(self->anon, self->page, MS_SYNC));
	EXPECT_EQ(MAP_FAILED, mmap(self->anon, self->page, PROT_READ, MAP_PRIVATE, -1, 0));
	EXPECT_EQ(NONE, changed(self));
}

TEST_F(changes, none_by_fork)
{
	const size_t size = PAGES * self->page;
	pid_t pid;
	int status;

	memset(self->anon, 1, size);
	ASSERT_EQ(0, look(self));
	for (int i = 0; i < 10; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(munmap(self->anon, size) ||
			      mprotect(self->file, size, PROT_READ | PROT_EXEC));
		EXPECT_EQ(NONE, changed(self));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		/* Pages that both have are copied. */
		memset(self->anon, i, size);
		EXPECT_EQ(NONE, changed(self));
	}
}

/* The address space of a child has generations of its own. */
TEST_F(changes, of_a_child_are_its_own)
{
	pid_t pid = fork();
	int status;

	ASSERT_LE(0, pid);
	if (!pid) {
		struct _test_data_changes own = *self;

		/* The same descriptor is still about the parent. */
		if (changed(&own))
			_exit(1);
		own.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
		_exit(changed(&own) != CODE || changed(&own) != NONE);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(changes, of_data)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	size_t page = self->page;
	char *anon = self->anon, *other = anon + 6 * page, *map;

	ASSERT_EQ(0, munmap(other, page));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(other, mmap(other, page, PROT_READ, flags, -1, 0));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(0, mprotect(other, page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(DATA, changed(self));
	/* Without a file it is no code. */
	ASSERT_EQ(0, mprotect(other, page, PROT_READ | PROT_EXEC));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(0, madvise(other, page, MADV_DONTFORK));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(0, mlock(anon, page));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(0, munlock(anon, page));
	EXPECT_EQ(DATA, changed(self));
	map = mremap(other, page, 2 * page, MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(0, munmap(map, 2 * page));
	EXPECT_EQ(DATA, changed(self));
	/* In place */
	ASSERT_EQ(self->file, mremap(self->file, PAGES * page, 7 * page, 0));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(self->file, mremap(self->file, 7 * page, PAGES * page, 0));
	EXPECT_EQ(DATA, changed(self));
	ASSERT_EQ(0, mprotect(self->file, page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(DATA, changed(self));
	if (!prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, anon, page, "name"))
		EXPECT_EQ(DATA, changed(self));
}

TEST_F(changes, of_code)
{
	const int rx = PROT_READ | PROT_EXEC, flags = MAP_PRIVATE | MAP_FIXED;
	size_t page = self->page;
	char *file = self->file, *at = file + 3 * page, *to = file + 9 * page;

	ASSERT_EQ(0, mprotect(file + 2 * page, 4 * page, rx));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(0, mprotect(file + 2 * page, page, PROT_READ));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(0, munmap(at, page));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(at, mmap(at, page, rx, flags, self->code, 3 * page));
	EXPECT_EQ(CODE, changed(self));
	/* Anonymous memory in its place */
	ASSERT_EQ(at, mmap(at, page, rx, flags | MAP_ANONYMOUS, -1, 0));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(0, madvise(file + 4 * page, page, MADV_DONTFORK));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(0, mlock(file + 5 * page, page));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(to, mremap(file + 5 * page, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	EXPECT_EQ(CODE, changed(self));
	ASSERT_EQ(0, munmap(to, page));
	EXPECT_EQ(CODE, changed(self));
	/* A file that cannot be executed, next to code */
	ASSERT_EQ(0, munmap(file, 2 * page));
	EXPECT_EQ(DATA, changed(self));
}

TEST_F(changes, of_a_stack_that_grows)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	size_t page = self->page;
	char *area = mmap(NULL, 512 * page, PROT_NONE, flags, -1, 0), *stack;

	ASSERT_NE(MAP_FAILED, area);
	stack = area + 511 * page;
	ASSERT_EQ(0, munmap(area, 512 * page));
	ASSERT_EQ(stack, mmap(stack, page, PROT_READ | PROT_WRITE,
			      flags | MAP_GROWSDOWN | MAP_FIXED, -1, 0));
	ASSERT_EQ(0, look(self));
	__atomic_store_n(stack - page, 1, __ATOMIC_RELAXED);
	EXPECT_EQ(DATA, changed(self));
	__atomic_store_n(stack - page, 1, __ATOMIC_RELAXED);
	EXPECT_EQ(NONE, changed(self));
}

TEST_F(changes, of_the_heap)
{
	const unsigned long brk = syscall(SYS_brk, 0);
	const unsigned long end = (brk + self->page - 1) & -self->page;

	ASSERT_EQ(end + self->page, syscall(SYS_brk, end + self->page));
	EXPECT_EQ(DATA, changed(self));
	/* Within a page */
	ASSERT_EQ(end + 8, syscall(SYS_brk, end + 8));
	EXPECT_EQ(NONE, changed(self));
	ASSERT_EQ(brk, syscall(SYS_brk, brk));
	EXPECT_EQ(DATA, changed(self));
}

/* What is named [heap] and [stack] is what the process says. */
TEST_F(changes, of_what_is_named_heap_or_stack)
{
	const unsigned long brk = syscall(SYS_brk, 0), code = (unsigned long)look;
	struct prctl_mm_map map = {
		.start_code = code,
		.end_code = code + 1,
		.start_data = code,
		.end_data = code + 1,
		.start_brk = brk,
		.brk = brk,
		.start_stack = (unsigned long)self->anon,
		.arg_start = code,
		.arg_end = code,
		.env_start = code,
		.env_end = code,
		.exe_fd = -1,
	};

	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0))
		TH_LOG("PR_SET_MM_MAP: %m");
	else
		EXPECT_EQ(DATA, changed(self));
	if (prctl(PR_SET_MM, PR_SET_MM_START_STACK, self->file, 0, 0)) {
		ASSERT_EQ(EPERM, errno);
		SKIP(return, "needs CAP_SYS_RESOURCE");
	}
	EXPECT_EQ(DATA, changed(self));
}

/* Scan if this is not known any more; returns an errno. */
static int scan_if(struct _test_data_changes *self, __u64 flags, __u64 known,
		   struct procmap_scan *s)
{
	*s = (struct procmap_scan) {
		.size = sizeof(*s),
		.flags = flags,
		.records = (uintptr_t)records,
		.records_len = RECORDS,
		.record_size = sizeof(records[0]),
		.known_generation = known,
	};
	return ioctl(self->maps, PROCMAP_SCAN, s) ? errno : 0;
}

TEST_F(changes, are_asked_for_in_one_call)
{
	const __u64 all = PROCMAP_SCAN_IF_CHANGED, code = PROCMAP_SCAN_IF_CODE_CHANGED;
	struct procmap_scan s;

	ASSERT_EQ(0, scan_if(self, all, self->now.generation, &s));
	EXPECT_EQ(0, s.records_filled);
	EXPECT_EQ(~0ULL, s.next);
	EXPECT_EQ(self->now.generation, s.generation);
	EXPECT_EQ(self->now.code_generation, s.code_generation);
	ASSERT_EQ(0, scan_if(self, all, self->now.generation + 1, &s));
	EXPECT_LT(5, s.records_filled);
	ASSERT_EQ(0, scan_if(self, all, 0, &s));
	EXPECT_LT(5, s.records_filled);

	ASSERT_EQ(0, munmap(self->anon, self->page));
	ASSERT_EQ(0, scan_if(self, code, self->now.code_generation, &s));
	EXPECT_EQ(0, s.records_filled);
	ASSERT_EQ(0, scan_if(self, all, self->now.generation, &s));
	EXPECT_LT(5, s.records_filled);
	EXPECT_EQ(~0ULL, s.next);
	EXPECT_NE(self->now.generation, s.generation);
	EXPECT_EQ(self->now.code_generation, s.code_generation);

	ASSERT_EQ(0, mprotect(self->file, self->page, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, scan_if(self, code, self->now.code_generation, &s));
	EXPECT_LT(5, s.records_filled);
}

struct storm {
	char *at;
	size_t page;
	int code;
	bool stop;
	bool failed;
	unsigned long rounds;
};

/*
 * Three states of eight pages, one system call apart: all readable; the middle
 * can be executed; the middle is gone.
 */
static void *storm(void *arg)
{
	struct storm *storm = arg;
	char *middle = storm->at + 2 * storm->page;
	const size_t size = 4 * storm->page;

	while (!__atomic_load_n(&storm->stop, __ATOMIC_RELAXED)) {
		if (mprotect(middle, size, PROT_READ | PROT_EXEC) || munmap(middle, size) ||
		    mmap(middle, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, storm->code,
			 2 * storm->page) != middle)
			storm->failed = true;
		__atomic_add_fetch(&storm->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static bool is_code(const struct procmap_record *r)
{
	return r->flags & PROCMAP_QUERY_VMA_EXECUTABLE;
}

static bool is_a_state(const struct storm *storm, const struct procmap_record *r, __u32 nr)
{
	const __u64 at = (uintptr_t)storm->at, page = storm->page;

	switch (nr) {
	case 1:
		return r[0].start == at && r[0].end == at + PAGES * page && !is_code(r);
	case 2:
		return r[0].start == at && r[0].end == at + 2 * page &&
		       r[1].start == at + 6 * page && r[1].end == at + PAGES * page;
	case 3:
		return r[0].start == at && r[0].end == at + 2 * page && is_code(&r[1]) &&
		       r[1].start == at + 2 * page && r[1].end == at + 6 * page &&
		       r[2].start == at + 6 * page && r[2].end == at + PAGES * page;
	}
	return false;
}

/* A snapshot is a state that there was; the same generation means the same state. */
static void race(struct __test_metadata *const _metadata, struct _test_data_changes *self,
		 __u64 flags)
{
	struct storm what = { .at = self->file, .page = self->page, .code = self->code };
	unsigned long scans = 0, snapshots = 0, of_code = 0, waits = 0;
	struct procmap_scan s, was = {};
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, storm, &what));
	while (scans < SCANS || snapshots < SNAPSHOTS || of_code < SNAPSHOTS ||
	       __atomic_load_n(&what.rounds, __ATOMIC_RELAXED) < ROUNDS) {
		s = (struct procmap_scan) {
			.size = sizeof(s),
			.flags = flags,
			.start = (uintptr_t)self->file,
			.end = (uintptr_t)self->file + PAGES * self->page,
			.all_of = scans & 4 ? PROCMAP_QUERY_VMA_EXECUTABLE : 0,
			.records = (uintptr_t)records,
			.records_len = RECORDS,
			.record_size = sizeof(records[0]),
		};
		scans++;
		if (ioctl(self->maps, PROCMAP_SCAN, &s)) {
			ASSERT_EQ(EAGAIN, errno);
			ASSERT_TRUE(flags & PROCMAP_SCAN_NOWAIT);
			waits++;
			continue;
		}
		/* Without waiting it may end before the end. */
		if (s.next != s.end) {
			ASSERT_TRUE(flags & PROCMAP_SCAN_NOWAIT);
			continue;
		}
		snapshots += !!s.generation;
		of_code += s.all_of && s.code_generation;
		if (s.generation && !s.all_of)
			ASSERT_TRUE(is_a_state(&what, records, s.records_filled));
		if (s.all_of == was.all_of &&
		    ((s.generation && s.generation == was.generation) ||
		     (s.all_of && s.code_generation && s.code_generation == was.code_generation)))
			ASSERT_EQ(0, s.records_filled != was.records_filled ||
				  memcmp(records, before, s.records_filled * sizeof(records[0])));
		was = s;
		memcpy(before, records, s.records_filled * sizeof(records[0]));
	}
	__atomic_store_n(&what.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_FALSE(what.failed);
	TH_LOG("%lu scans, %lu snapshots, %lu of code, %lu waits; %lu rounds", scans, snapshots,
	       of_code, waits, what.rounds);
}

TEST_F(changes, beside_a_snapshot)
{
	race(_metadata, self, 0);
}

TEST_F(changes, beside_a_snapshot_that_does_not_wait)
{
	race(_metadata, self, PROCMAP_SCAN_NOWAIT);
}

TEST_HARNESS_MAIN
