// SPDX-License-Identifier: GPL-2.0
/*
 * The generations of PROCMAP_SCAN: what changes them and what must not, and what
 * a caller may believe who sees the same one twice. procmap_writers_test.c and
 * procmap_writers_flags_test.c look at them after each kind of change.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "procmap_harness.h"
#include "scan.h"
#include "stall.h"

#ifndef SYS_pkey_mprotect
#error "the C library does not know pkey_mprotect()"
#endif

#define PAGES		8
#define STORM_ROUNDS	2000
/* A race takes so many scans, of which so many are snapshots of each kind. */
#define RACE_SCANS	3000
#define RACE_SNAPSHOTS	100
#define RACE_ROUNDS	1000
#define RECORDS		512
#define NAMES		0x10000

PROCMAP_REQUIRE(stall_has_vma_locks() ? NULL :
		"kernel without per-VMA locks (CONFIG_VMA_SEARCH)")

/*
 * The process looks at itself, with buffers that were there before: a change of
 * one page, which the cases make, is the only one.
 */
FIXTURE(generation) {
	int fd;
	int code;
	size_t page;
	char *anon;
	char *file;
	struct procmap_scan now;
};

static int look(struct _test_data_generation *self)
{
	self->now = (struct procmap_scan) {
		.size = sizeof(self->now),
		.record_size = sizeof(struct procmap_record),
	};
	return scan_ioctl(self->fd, &self->now);
}

/* The memory that cases change: anonymous, and of a file, with holes around. */
FIXTURE_SETUP(generation)
{
	char *area;

	self->page = sysconf(_SC_PAGESIZE);
	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	self->code = memfd_create("code", MFD_CLOEXEC);
	ASSERT_LE(0, self->code);
	ASSERT_EQ(0, ftruncate(self->code, PAGES * self->page));
	area = mmap(NULL, 5 * PAGES * self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)area);
	ASSERT_EQ(0, munmap(area, 5 * PAGES * self->page));
	self->anon = mmap(area + PAGES * self->page, PAGES * self->page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	self->file = mmap(area + 3 * PAGES * self->page, PAGES * self->page, PROT_READ,
			  MAP_PRIVATE | MAP_FIXED, self->code, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->anon);
	ASSERT_NE((long)MAP_FAILED, (long)self->file);
	ASSERT_EQ(0, look(self));
}

FIXTURE_TEARDOWN(generation)
{
	close(self->code);
	close(self->fd);
}

/* Did what was done since the last look change all and code, as it should? */
static bool changed(struct _test_data_generation *self, bool all, bool code)
{
	const __u64 was = self->now.generation, was_code = self->now.code_generation;
	const struct procmap_scan *now = &self->now;
	bool good;

	if (look(self))
		return false;
	good = now->generation && now->code_generation && (now->generation != was) == all &&
	       (now->code_generation != was_code) == code &&
	       (__s64)(now->generation - was) >= 0 &&
	       (__s64)(now->code_generation - was_code) >= 0 &&
	       (__s64)(now->generation - now->code_generation) >= 0;
	if (!good)
		fprintf(stderr, "# generation 0x%llx, was 0x%llx; of code 0x%llx, was 0x%llx\n",
			now->generation, was, now->code_generation, was_code);
	return good;
}

TEST_F(generation, stands_still_when_nothing_changes)
{
	struct procmap_call call;
	char byte;
	int i;

	for (i = 0; i < 10; i++)
		ASSERT_TRUE(changed(self, false, false));
	/* What looks or uses, but does not change. */
	EXPECT_EQ(0, procmap_ask(self->fd, (unsigned long)self->anon, 0, &call));
	EXPECT_EQ(1, pread(self->fd, &byte, 1, 0));
	memset(self->anon, 1, PAGES * self->page);
	EXPECT_EQ(0, __atomic_load_n(self->file, __ATOMIC_RELAXED));
	EXPECT_EQ(0, madvise(self->anon, PAGES * self->page, MADV_DONTNEED));
	EXPECT_EQ(0, msync(self->anon, self->page, MS_SYNC));
	EXPECT_TRUE(changed(self, false, false));
}

TEST_F(generation, of_all_but_not_of_code_by_anonymous_memory)
{
	char *anon = self->anon;
	size_t page = self->page;
	char *other = anon + 6 * page, *map;

	EXPECT_TRUE(!munmap(other, page) && changed(self, true, false));
	map = mmap(other, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ((long)other, (long)map);
	EXPECT_TRUE(changed(self, true, false));
	EXPECT_TRUE(!mprotect(other, page, PROT_READ | PROT_WRITE) && changed(self, true, false));
	/* Also if it can be executed: it has no file. */
	EXPECT_TRUE(!mprotect(other, page, PROT_READ | PROT_EXEC) && changed(self, true, false));
	/* arm64, for one, has no such call. */
	if (syscall(SYS_pkey_mprotect, other, page, PROT_READ, -1))
		TH_LOG("pkey_mprotect(): %m");
	else
		EXPECT_TRUE(changed(self, true, false));
	EXPECT_TRUE(!madvise(other, page, MADV_DONTFORK) && changed(self, true, false));
	EXPECT_TRUE(!mlock(anon, page) && changed(self, true, false));
	EXPECT_TRUE(!munlock(anon, page) && changed(self, true, false));
	map = mremap(other, page, 2 * page, MREMAP_MAYMOVE);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(changed(self, true, false));
	EXPECT_TRUE(!munmap(map, 2 * page) && changed(self, true, false));
	if (!prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, anon, page, "name"))
		EXPECT_TRUE(changed(self, true, false));
	ASSERT_NE(-1L, (long)sbrk(16 * page));
	EXPECT_TRUE(changed(self, true, false));
	ASSERT_NE(-1L, (long)sbrk(-16 * (long)page));
	EXPECT_TRUE(changed(self, true, false));
}

TEST_F(generation, of_code_by_files_that_can_be_executed)
{
	const int rx = PROT_READ | PROT_EXEC;
	char *file = self->file, *map;
	size_t page = self->page;

	/* A file that is only read is no code. */
	EXPECT_TRUE(!munmap(file + 7 * page, page) && changed(self, true, false));
	EXPECT_TRUE(!mprotect(file, page, PROT_READ | PROT_WRITE) && changed(self, true, false));
	/* It becomes code, and is code no more. */
	EXPECT_TRUE(!mprotect(file + 2 * page, 4 * page, rx) && changed(self, true, true));
	EXPECT_TRUE(!mprotect(file + 2 * page, page, PROT_READ) && changed(self, true, true));
	EXPECT_TRUE(!munmap(file + 3 * page, page) && changed(self, true, true));
	map = mmap(file + 3 * page, page, rx, MAP_PRIVATE | MAP_FIXED, self->code, 3 * page);
	ASSERT_EQ((long)file + 3 * page, (long)map);
	EXPECT_TRUE(changed(self, true, true));
	/* Anonymous memory in its place. */
	map = mmap(file + 3 * page, page, rx, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ((long)file + 3 * page, (long)map);
	EXPECT_TRUE(changed(self, true, true));
	EXPECT_TRUE(!madvise(file + 4 * page, page, MADV_DONTFORK) && changed(self, true, true));
	EXPECT_TRUE(!mlock(file + 5 * page, page) && changed(self, true, true));
	map = mremap(file + 5 * page, page, page, MREMAP_MAYMOVE | MREMAP_FIXED,
		     file + 9 * page);
	ASSERT_EQ((long)file + 9 * page, (long)map);
	EXPECT_TRUE(changed(self, true, true));
	EXPECT_TRUE(!munmap(map, page) && changed(self, true, true));
	/* A file that cannot be executed, next to code. */
	EXPECT_TRUE(!munmap(file, 2 * page) && changed(self, true, false));
}

/*
 * Has what was done since the last look given this VMA the name, or taken it
 * away, and does its record tell that it was changed?
 */
static bool renamed(struct _test_data_generation *self, const void *addr, const char *name)
{
	struct procmap_record record;
	char got[64] = "";

	if (!changed(self, true, false) ||
	    scan_one(self->fd, addr, PROCMAP_SCAN_NAMES, &record, got, sizeof(got)))
		return false;
	if (!strcmp(got, name) && record.start == (unsigned long)addr &&
	    record.generation == self->now.generation)
		return true;
	fprintf(stderr, "# name \"%s\", generation 0x%llx of 0x%llx\n", got, record.generation,
		self->now.generation);
	return false;
}

/* Does smaps show the VMA as [heap]? Nothing here may move brk. */
static bool shown_as_heap(const void *addr)
{
	static char text[1 << 18];
	char head[32], *line, *end;
	int fd = stall_smaps_open(0);

	if (procmap_read_all(fd, text, sizeof(text)) < 0)
		text[0] = 0;
	close(fd);
	snprintf(head, sizeof(head), "\n%08lx-", (unsigned long)addr);
	line = strstr(text, head);
	end = line ? strchr(line + 1, '\n') : NULL;
	return end && end - line > 6 && !memcmp(end - 6, "[heap]", 6);
}

/*
 * A VMA that begins where the heap ends is named [heap] if it begins at brk, or
 * not: kernels differ. What is not renamed does not change.
 */
TEST_F(generation, of_all_by_a_heap_that_ends_at_another_vma)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	unsigned long page = self->page, brk = syscall(SYS_brk, 0), end;
	bool heap;
	char *next;

	end = (brk + 2 * page - 1) & -page;
	next = (char *)end;
	ASSERT_TRUE(procmap_set_brk(end - 8));
	ASSERT_EQ((long)next, (long)mmap(next, page, PROT_READ, flags, -1, 0));
	ASSERT_EQ(0, look(self));
	/* Within the page */
	EXPECT_TRUE(procmap_set_brk(end - 16));
	EXPECT_TRUE(changed(self, false, false));
	EXPECT_TRUE(procmap_set_brk(end));
	heap = shown_as_heap(next);
	EXPECT_TRUE(heap ? renamed(self, next, "[heap]") : changed(self, false, false));
	EXPECT_TRUE(procmap_set_brk(end));
	EXPECT_TRUE(changed(self, false, false));
	EXPECT_TRUE(procmap_set_brk(end - 8));
	EXPECT_TRUE(heap ? renamed(self, next, "") : changed(self, false, false));
	/* And when the heap loses this page */
	EXPECT_TRUE(procmap_set_brk(end));
	EXPECT_TRUE(heap ? renamed(self, next, "[heap]") : changed(self, false, false));
	EXPECT_TRUE(procmap_set_brk(end - page));
	EXPECT_TRUE(heap ? renamed(self, next, "") : changed(self, true, false));
	EXPECT_EQ(0, munmap(next, page));
}

/* A VMA is named [heap] or [stack] because the process says so. */
TEST_F(generation, of_all_by_a_heap_or_stack_that_is_said_to_be_elsewhere)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	char *two = self->anon + 2 * self->page, *five = self->anon + 5 * self->page;
	unsigned long low = (unsigned long)self->anon + 4 * self->page;
	unsigned long in_two = (unsigned long)two + 8;
	unsigned long brk = syscall(SYS_brk, 0), stack = (unsigned long)&flags;

	/* A page at two, and one at five, with holes around. */
	ASSERT_EQ(0, munmap(self->anon, PAGES * self->page));
	ASSERT_EQ((long)two, (long)mmap(two, self->page, PROT_READ, flags, -1, 0));
	ASSERT_EQ((long)five, (long)mmap(five, self->page, PROT_READ, flags, -1, 0));
	ASSERT_EQ(0, look(self));
	if (procmap_set_mm(low, low, stack)) {
		ASSERT_EQ(EINVAL, errno);
		SKIP(return, "no PR_SET_MM_MAP (CONFIG_CHECKPOINT_RESTORE)");
	}
	ASSERT_EQ(0, look(self));
	ASSERT_EQ(0, procmap_set_mm(in_two, in_two, stack));
	EXPECT_TRUE(renamed(self, two, "[heap]"));
	ASSERT_EQ(0, procmap_set_mm(brk, brk, (unsigned long)five));
	EXPECT_TRUE(renamed(self, five, "[stack]"));
	ASSERT_EQ(0, procmap_set_mm(brk, brk, stack));
	EXPECT_TRUE(renamed(self, two, ""));
	/* One at a time, which needs CAP_SYS_RESOURCE. */
	if (prctl(PR_SET_MM, PR_SET_MM_START_STACK, two, 0, 0)) {
		EXPECT_EQ(EPERM, errno);
		return;
	}
	EXPECT_TRUE(renamed(self, two, "[stack]"));
	ASSERT_EQ(0, prctl(PR_SET_MM, PR_SET_MM_BRK, in_two, 0, 0));
	EXPECT_TRUE(renamed(self, two, "[heap]"));
	ASSERT_EQ(0, prctl(PR_SET_MM, PR_SET_MM_START_BRK, two, 0, 0));
	EXPECT_TRUE(renamed(self, two, "[heap]"));
}

/* Each VMA tells when it was changed last. */
TEST_F(generation, of_one_vma)
{
	const struct scan_how how = { .flags = 0, .records = RECORDS };
	const __u64 was = self->now.generation;
	struct scan_list list;
	size_t i, newer = 0;

	ASSERT_EQ(0, mprotect(self->file + 2 * self->page, self->page, PROT_NONE));
	ASSERT_EQ(0, look(self));
	ASSERT_EQ(0, scan_list(self->fd, &how, &list));
	for (i = 0; i < list.nr; i++) {
		const struct procmap_record *record = &list.record[i];
		const __u64 file = (unsigned long)self->file;
		bool here = record->start >= file && record->start < file + PAGES * self->page;

		/* malloc() in the list may have moved the heap, nothing else. */
		if ((__s64)(record->generation - self->now.generation) > 0)
			continue;
		EXPECT_EQ(here, (__s64)(record->generation - was) > 0);
		newer += here;
		if (here)
			EXPECT_EQ(self->now.generation, record->generation);
	}
	EXPECT_EQ(3, newer);
	scan_list_free(&list);
}

/* Revalidate what is known. */
static int ask_if(struct _test_data_generation *self, __u64 flags, __u64 known,
		  struct procmap_scan *s)
{
	static struct procmap_record records[RECORDS];

	*s = (struct procmap_scan) {
		.size = sizeof(*s),
		.flags = flags,
		.records = (unsigned long)records,
		.records_len = RECORDS,
		.record_size = sizeof(*records),
		.known_generation = known,
	};
	return scan_ioctl(self->fd, s);
}

/* Does it answer at once, or scan? */
static bool answers(struct _test_data_generation *self, __u64 flags, __u64 known, bool at_once)
{
	struct procmap_scan s;

	if (ask_if(self, flags, known, &s))
		return false;
	return !s.records_filled == at_once && s.next == ~0ULL &&
	       s.generation == self->now.generation &&
	       s.code_generation == self->now.code_generation;
}

TEST_F(generation, that_holds_needs_no_scan)
{
	const __u64 wrong[] = { 1, -1, 2, -2, 1ULL << 32, 1ULL << 63 };
	const __u64 all = PROCMAP_SCAN_IF_CHANGED, code = PROCMAP_SCAN_IF_CODE_CHANGED;
	const __u64 now = self->now.generation, now_code = self->now.code_generation;
	size_t i;

	EXPECT_TRUE(answers(self, 0, now, false));
	EXPECT_TRUE(answers(self, all, now, true));
	EXPECT_TRUE(answers(self, all, 0, false));
	EXPECT_TRUE(answers(self, code, now_code, true));
	EXPECT_TRUE(answers(self, code, 0, false));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_TRUE(answers(self, all, now + wrong[i], false));
		EXPECT_TRUE(answers(self, code, now_code + wrong[i], false));
	}
	ASSERT_EQ(0, munmap(mmap(NULL, self->page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			    self->page));
	ASSERT_EQ(0, look(self));
	ASSERT_EQ(now_code, self->now.code_generation);
	EXPECT_TRUE(answers(self, all, now_code, false));
	EXPECT_TRUE(answers(self, code, self->now.generation, false));
}

TEST_F(generation, that_holds_ends_at_the_end_of_the_range)
{
	struct procmap_scan s = self->now;

	s.flags = PROCMAP_SCAN_IF_CHANGED;
	s.known_generation = s.generation;
	s.start = 1;
	s.end = 4711;
	ASSERT_EQ(0, scan_ioctl(self->fd, &s));
	EXPECT_EQ(4711, s.next);
	EXPECT_EQ(0, s.records_filled);
}

/* What a thread does to the address space until it is told to stop. */
struct storm {
	char *at;
	size_t page;
	int code;
	bool stop;
	bool failed;
	unsigned long rounds;
};

static bool storm_goes_on(struct storm *storm)
{
	__atomic_add_fetch(&storm->rounds, 1, __ATOMIC_RELAXED);
	return !__atomic_load_n(&storm->stop, __ATOMIC_ACQUIRE);
}

static void *anonymous_storm(void *arg)
{
	struct storm *storm = arg;

	do {
		char *map = mmap(NULL, storm->page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map == MAP_FAILED || munmap(map, storm->page))
			storm->failed = true;
	} while (storm_goes_on(storm));
	return NULL;
}

/* The cache of code stays valid in the busiest process. */
TEST_F(generation, of_code_stands_still_in_a_storm)
{
	const __u64 before = self->now.generation;
	struct storm storm = { .page = self->page };
	struct procmap_scan s;
	unsigned long rounds;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, anonymous_storm, &storm));
	/* A thread has a stack, which is no code; mapping libraries would be. */
	ASSERT_EQ(0, look(self));
	ASSERT_NE(0, self->now.code_generation);
	rounds = __atomic_load_n(&storm.rounds, __ATOMIC_RELAXED);
	for (i = 0; i < STORM_ROUNDS ||
	     __atomic_load_n(&storm.rounds, __ATOMIC_RELAXED) < rounds + 100; i++) {
		ASSERT_EQ(0, ask_if(self, PROCMAP_SCAN_IF_CODE_CHANGED, self->now.code_generation,
				    &s));
		ASSERT_EQ(0, s.records_filled);
		ASSERT_EQ(self->now.code_generation, s.code_generation);
	}
	__atomic_store_n(&storm.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_FALSE(storm.failed);
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(s.code_generation, self->now.code_generation);
	EXPECT_NE(before, self->now.generation);
	EXPECT_NE(0, self->now.generation);
}

/*
 * Three states of eight pages, one system call apart: all readable; the middle
 * can be executed; the middle is gone.
 */
static void *code_storm(void *arg)
{
	struct storm *storm = arg;
	char *middle = storm->at + 2 * storm->page;
	const size_t size = 4 * storm->page;

	do {
		if (mprotect(middle, size, PROT_READ | PROT_EXEC) || munmap(middle, size) ||
		    mmap(middle, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, storm->code,
			 2 * storm->page) != middle)
			storm->failed = true;
	} while (storm_goes_on(storm));
	return NULL;
}

/* Is this one of the states? */
static bool is_a_state(const struct storm *storm, const struct scan_list *list)
{
	const __u64 at = (unsigned long)storm->at, page = storm->page;
	const struct procmap_record *r = list->record;

	switch (list->nr) {
	case 1:
		return r[0].start == at && r[0].end == at + PAGES * page && !scan_is_code(r);
	case 2:
		return r[0].start == at && r[0].end == at + 2 * page &&
		       r[1].start == at + 6 * page && r[1].end == at + PAGES * page;
	case 3:
		return r[0].start == at && r[0].end == at + 2 * page &&
		       r[1].start == at + 2 * page && r[1].end == at + 6 * page &&
		       scan_is_code(&r[1]) && r[2].start == at + 6 * page &&
		       r[2].end == at + PAGES * page;
	}
	return false;
}

static bool same_range(const struct scan_list *one, const struct scan_list *two, bool code)
{
	size_t i = 0, k = 0;

	for (;;) {
		while (code && i < one->nr && !scan_is_code(&one->record[i]))
			i++;
		while (code && k < two->nr && !scan_is_code(&two->record[k]))
			k++;
		if (i == one->nr || k == two->nr)
			return i == one->nr && k == two->nr;
		if (!scan_same_record(one, &one->record[i++], two, &two->record[k++]))
			return false;
	}
}

/*
 * A snapshot is a state that the process had. Between two answers with the same
 * generation nothing has changed.
 */
TEST_F(generation, of_a_snapshot_beside_a_writer)
{
	struct storm storm = { .page = self->page, .at = self->file, .code = self->code };
	struct scan_how how = { .records = RECORDS, .start = (unsigned long)self->file };
	unsigned long scans = 0, snapshots = 0, of_code = 0, same = 0;
	struct scan_list was = {}, list;
	pthread_t thread;

	how.end = how.start + PAGES * self->page;
	ASSERT_EQ(0, pthread_create(&thread, NULL, code_storm, &storm));
	while (scans < RACE_SCANS || snapshots < RACE_SNAPSHOTS || of_code < RACE_SNAPSHOTS ||
	       __atomic_load_n(&storm.rounds, __ATOMIC_RELAXED) < RACE_ROUNDS) {
		/* Half of the scans are for code only. */
		how.all_of = scans & 2 ? PROCMAP_QUERY_VMA_EXECUTABLE : 0;
		how.flags = scans & 4 ? PROCMAP_SCAN_NAMES : 0;
		how.names = NAMES;
		ASSERT_EQ(0, scan_list(self->fd, &how, &list));
		scans++;
		snapshots += !!list.generation;
		of_code += !!list.code_generation;
		if (list.generation && !how.all_of)
			ASSERT_TRUE(is_a_state(&storm, &list));
		if (list.generation && list.generation == was.generation && !(scans & 1))
			ASSERT_TRUE(same_range(&was, &list, false));
		if (list.code_generation && list.code_generation == was.code_generation &&
		    !(scans & 1)) {
			same++;
			ASSERT_TRUE(same_range(&was, &list, true));
		}
		scan_list_free(&was);
		was = list;
	}
	scan_list_free(&was);
	__atomic_store_n(&storm.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_FALSE(storm.failed);
	fprintf(stderr, "# %lu scans, %lu snapshots, %lu of code, %lu twice; %lu rounds\n", scans,
		snapshots, of_code, same, storm.rounds);
}

/* Parent and child have address spaces of their own. */
static int maps_a_page(struct procmap_child *child, void *arg)
{
	const struct _test_data_generation *self = arg;

	return HOLDS(!munmap(self->anon, self->page)) ? procmap_tell(child, 0) : 1;
}

TEST_F(generation, of_a_child_is_its_own)
{
	struct procmap_child child;
	struct procmap_scan s;
	int fd;

	ASSERT_EQ(0, procmap_child_start(&child, maps_a_page, self));
	EXPECT_TRUE(changed(self, false, false));
	fd = maps_open(child.pid);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, procmap_sync(&child));
	EXPECT_TRUE(changed(self, false, false));
	s = self->now;
	ASSERT_EQ(0, scan_ioctl(fd, &s));
	EXPECT_NE(0, s.generation);
	EXPECT_NE(0, s.code_generation);
	EXPECT_NE(self->now.generation, s.generation);
	EXPECT_EQ(0, procmap_child_finish(&child));
	EXPECT_TRUE(changed(self, false, false));
	close(fd);
}

TEST_HARNESS_MAIN
