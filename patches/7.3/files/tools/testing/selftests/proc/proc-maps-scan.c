// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_SCAN of a process that does not change: each record is what the text
 * and a query say, whatever the areas, the range and the conditions are; and the
 * errors that <linux/procmap_scan.h> lists.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fs.h>
#include <linux/procmap_scan.h>
#include "kselftest_harness.h"

#define RECORDS		512
#define NAMES		0x10000
#define EXTRAS		(PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS)
/* The bits that conditions may name, and those of a query */
#define CONDITIONS	0x7ff2fULL
#define PERM		0xfULL

/* What one or more calls have found */
struct list {
	struct procmap_record record[RECORDS];
	char names[NAMES];
	__u32 nr;
	__u32 names_len;
	__u64 generation;
	__u64 code_generation;
};

/* A stopped process, and what a scan of all of it finds */
FIXTURE(scan)
{
	pid_t pid;
	int maps;
	char path[32];
	char *advised;
	char *unlinked;
	size_t page;
	struct list *all;
	struct list *some;
	struct procmap_scan s;
};

static const struct {
	int advice;		/* 0: mlock() */
	__u64 bit;
} advised[] = {
	{ 0, PROCMAP_RECORD_LOCKED },
	{ MADV_HUGEPAGE, PROCMAP_RECORD_HUGE },
	{ MADV_NOHUGEPAGE, PROCMAP_RECORD_NO_HUGE },
	{ MADV_DONTDUMP, PROCMAP_RECORD_NO_DUMP },
	{ MADV_DONTFORK, PROCMAP_RECORD_NO_FORK },
	{ MADV_WIPEONFORK, PROCMAP_RECORD_WIPE_ON_FORK },
};

/* Is in every second page of the area at @at; 2 if the kernel lacks it. */
static int advise(char *at, size_t page, size_t i)
{
	at += 2 * i * page;
	if (mprotect(at, page, PROT_READ | PROT_WRITE))
		return 1;
	if (!advised[i].advice)
		return !!mlock(at, page);
	if (!madvise(at, page, advised[i].advice))
		return 0;
	return advised[i].bit & (PROCMAP_RECORD_HUGE | PROCMAP_RECORD_NO_HUGE) ? 2 : 1;
}

static void child(const struct _test_data_scan *self)
{
	int ret = 0, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at;

	/* VMAs of one file in a row */
	at = mmap(NULL, 8 * self->page, PROT_READ, MAP_PRIVATE, fd, 0);
	ret |= at == MAP_FAILED || mprotect(at + self->page, self->page, PROT_NONE) ||
	       mprotect(at + 3 * self->page, self->page, PROT_READ | PROT_EXEC);
	for (size_t i = 0; i < ARRAY_SIZE(advised); i++)
		ret |= advise(self->advised, self->page, i) & 1;
	at = mmap(NULL, self->page, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
	ret |= at == MAP_FAILED;
	if (ret)
		_exit(1);
	raise(SIGSTOP);
	_exit(0);
}

static bool same_record(const struct list *one, size_t i, const struct list *two, size_t k)
{
	struct procmap_record a = one->record[i], b = two->record[k];
	const char *a_name = a.name == PROCMAP_RECORD_NO_NAME ? "" : one->names + a.name;
	const char *b_name = b.name == PROCMAP_RECORD_NO_NAME ? "" : two->names + b.name;

	a.name = 0;
	b.name = 0;
	return !memcmp(&a, &b, sizeof(a)) && !strcmp(a_name, b_name);
}

/*
 * Scan until the end with areas of these sizes, and append to the list. Returns
 * an errno; -1 if the answer is not consistent.
 */
static int scan_list(int maps, struct procmap_scan s, struct list *list)
{
	const __u64 end = s.end ?: ~0ULL;
	__u32 records_len = s.records_len, names_size = s.names_size;
	__u64 start;

	list->nr = 0;
	list->names_len = 0;
	s.size = sizeof(s);
	s.record_size = sizeof(list->record[0]);
	do {
		start = s.start;
		s.records = (uintptr_t)(list->record + list->nr);
		s.names = (uintptr_t)(list->names + list->names_len);
		s.records_len = records_len;
		if (s.records_len > RECORDS - list->nr)
			s.records_len = RECORDS - list->nr;
		s.names_size = names_size;
		if (s.names_size > NAMES - list->names_len)
			s.names_size = NAMES - list->names_len;
		if (ioctl(maps, PROCMAP_SCAN, &s))
			return errno;
		if (s.records_filled > s.records_len || s.names_filled > s.names_size ||
		    (s.next == start && s.next != end) || !s.generation)
			return -1;
		for (__u32 i = list->nr; i < list->nr + s.records_filled; i++)
			if (list->record[i].name != PROCMAP_RECORD_NO_NAME)
				list->record[i].name += list->names_len;
		list->nr += s.records_filled;
		list->names_len += s.names_filled;
		s.start = s.next;
	} while (s.next != end);
	list->generation = s.generation;
	list->code_generation = s.code_generation;
	return 0;
}

FIXTURE_SETUP(scan)
{
	char name[] = "/tmp/proc-maps-scan.XXXXXX";
	int status, fd = mkstemp(name);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unlink(name));
	self->page = getpagesize();
	ASSERT_EQ(0, ftruncate(fd, self->page));
	self->unlinked = mmap(NULL, self->page, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, self->unlinked);
	close(fd);
	self->advised = mmap(NULL, 2 * ARRAY_SIZE(advised) * self->page, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->advised);

	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		child(self);
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	snprintf(self->path, sizeof(self->path), "/proc/%d/maps", self->pid);
	self->maps = open(self->path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->maps);

	self->all = malloc(sizeof(*self->all));
	self->some = malloc(sizeof(*self->some));
	ASSERT_NE(NULL, self->all);
	ASSERT_NE(NULL, self->some);
	self->s = (struct procmap_scan) {
		.flags = EXTRAS,
		.records_len = RECORDS,
		.names_size = NAMES,
	};
	ASSERT_EQ(0, scan_list(self->maps, self->s, self->all));
	ASSERT_LT(10, self->all->nr);
	/* Arguments of a single call */
	self->s.size = sizeof(self->s);
	self->s.record_size = sizeof(self->some->record[0]);
	self->s.records = (uintptr_t)self->some->record;
	self->s.names = (uintptr_t)self->some->names;
}

FIXTURE_TEARDOWN(scan)
{
	int status;

	kill(self->pid, SIGKILL);
	waitpid(self->pid, &status, 0);
	close(self->maps);
	munmap(self->unlinked, self->page);
	munmap(self->advised, 2 * ARRAY_SIZE(advised) * self->page);
	free(self->all);
	free(self->some);
}

/* Compare a record with a line of the text. */
static bool same_as_line(const struct list *list, size_t i, char *line)
{
	const struct procmap_record *r = &list->record[i];
	const char *name = r->name == PROCMAP_RECORD_NO_NAME ? "" : list->names + r->name;
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char perm[5];
	int len;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, perm, &offset, &major,
		   &minor, &inode, &len) != 7)
		return false;
	line += len + strspn(line + len, " ");
	return start == r->start && end == r->end && offset == r->offset &&
	       major == r->dev_major && minor == r->dev_minor && inode == r->inode &&
	       (perm[0] == 'r') == !!(r->flags & PROCMAP_QUERY_VMA_READABLE) &&
	       (perm[1] == 'w') == !!(r->flags & PROCMAP_QUERY_VMA_WRITABLE) &&
	       (perm[2] == 'x') == !!(r->flags & PROCMAP_QUERY_VMA_EXECUTABLE) &&
	       (perm[3] == 's') == !!(r->flags & PROCMAP_QUERY_VMA_SHARED) &&
	       !strcmp(line, name);
}

TEST_F(scan, is_what_the_text_says)
{
	FILE *text = fopen(self->path, "r");
	char line[8192];
	size_t i = 0;

	ASSERT_NE(NULL, text);
	while (fgets(line, sizeof(line), text)) {
		/* It is none of the process. */
		if (strstr(line, "[vsyscall]"))
			continue;
		ASSERT_GT(self->all->nr, i);
		EXPECT_TRUE(same_as_line(self->all, i++, line));
	}
	EXPECT_EQ(self->all->nr, i);
	fclose(text);
}

TEST_F(scan, is_what_queries_say)
{
	int ids = 0;

	for (size_t i = 0; i < self->all->nr; i++) {
		const struct procmap_record *r = &self->all->record[i];
		unsigned char id[20] = {};
		struct procmap_query q = {
			.size = sizeof(q),
			.query_addr = r->start,
			.build_id_addr = (uintptr_t)id,
			.build_id_size = sizeof(id),
		};

		ASSERT_EQ(0, ioctl(self->maps, PROCMAP_QUERY, &q));
		EXPECT_EQ(q.vma_end, r->end);
		EXPECT_EQ(q.vma_flags, r->flags & PERM);
		EXPECT_EQ(q.vma_page_size, 1ULL << r->page_shift);
		EXPECT_EQ(!!q.inode, !!(r->flags & PROCMAP_QUERY_FILE_BACKED_VMA));
		EXPECT_EQ(q.build_id_size, r->build_id_size);
		EXPECT_EQ(0, memcmp(id, r->build_id, sizeof(id)));
		EXPECT_EQ(0, r->reserved);
		ids += !!r->build_id_size;
	}
	if (!ids)
		SKIP(return, "needs a linker that adds build IDs");
}

TEST_F(scan, tells_what_was_advised)
{
	bool found[ARRAY_SIZE(advised)] = {}, unlinked = false, down = false;
	__u64 advice = 0;
	size_t i, k;

	for (k = 0; k < ARRAY_SIZE(advised); k++)
		advice |= advised[k].bit;
	for (i = 0; i < self->all->nr; i++) {
		const struct procmap_record *r = &self->all->record[i];

		for (k = 0; k < ARRAY_SIZE(advised); k++)
			if (r->start == (uintptr_t)self->advised + 2 * k * self->page)
				found[k] = (r->flags & advice) == advised[k].bit;
		if (r->start == (uintptr_t)self->unlinked)
			unlinked = r->flags & PROCMAP_RECORD_UNLINKED;
		down |= !!(r->flags & PROCMAP_RECORD_GROWS_DOWN);
	}
	for (k = 0; k < ARRAY_SIZE(advised); k++)
		if (advise(self->advised, self->page, k) != 2)
			EXPECT_TRUE(found[k]);
	EXPECT_TRUE(unlinked);
	EXPECT_TRUE(down);
}

static bool same_list(const struct list *one, const struct list *two)
{
	if (one->nr != two->nr || one->generation != two->generation ||
	    one->code_generation != two->code_generation)
		return false;
	for (size_t i = 0; i < one->nr; i++)
		if (!same_record(one, i, two, i))
			return false;
	return true;
}

TEST_F(scan, does_not_depend_on_the_areas)
{
	__u32 longest = 0, len, size;

	for (size_t i = 0; i < self->all->nr; i++) {
		if (self->all->record[i].name == PROCMAP_RECORD_NO_NAME)
			continue;
		len = strlen(self->all->names + self->all->record[i].name) + 1;
		if (len > longest)
			longest = len;
	}
	for (size = 1; size <= self->all->nr + 1; size++) {
		self->s.records_len = size;
		ASSERT_EQ(0, scan_list(self->maps, self->s, self->some));
		ASSERT_TRUE(same_list(self->all, self->some));
	}
	self->s.records_len = RECORDS;
	for (size = longest; size < longest + 300; size++) {
		self->s.names_size = size;
		ASSERT_EQ(0, scan_list(self->maps, self->s, self->some));
		ASSERT_TRUE(same_list(self->all, self->some));
	}
	self->s.names_size = longest - 1;
	EXPECT_EQ(ENAMETOOLONG, scan_list(self->maps, self->s, self->some));
}

TEST_F(scan, writes_one_name_for_a_file)
{
	int shared = 0;

	for (size_t i = 1; i < self->all->nr; i++) {
		const struct procmap_record *r = &self->all->record[i - 1];

		if (r[0].name == PROCMAP_RECORD_NO_NAME || r[0].name != r[1].name)
			continue;
		EXPECT_EQ(r[0].inode, r[1].inode);
		shared++;
	}
	EXPECT_LE(3, shared);
}

TEST_F(scan, does_not_wait_where_no_writer_is)
{
	self->s.flags = PROCMAP_SCAN_NAMES;
	ASSERT_EQ(0, scan_list(self->maps, self->s, self->all));
	self->s.flags |= PROCMAP_SCAN_NOWAIT;
	ASSERT_EQ(0, scan_list(self->maps, self->s, self->some));
	EXPECT_TRUE(same_list(self->all, self->some));
}

/* Does a scan find those of the list that are in the range and have the bits? */
static bool finds(const struct _test_data_scan *self)
{
	const struct procmap_scan *s = &self->s;
	size_t i, k = 0;

	if (scan_list(self->maps, *s, self->some))
		return false;
	for (i = 0; i < self->all->nr; i++) {
		const struct procmap_record *r = &self->all->record[i];

		if (r->end <= s->start || (s->end && r->start >= s->end) ||
		    (r->flags & s->all_of) != s->all_of ||
		    (s->any_of && !(r->flags & s->any_of)) || (r->flags & s->none_of))
			continue;
		if (k == self->some->nr || !same_record(self->all, i, self->some, k++))
			return false;
	}
	return k == self->some->nr;
}

TEST_F(scan, finds_what_is_in_the_range)
{
	for (size_t i = 0; i < self->all->nr; i++) {
		const struct procmap_record *r = &self->all->record[i];
		const __u64 edge[] = { r->start, r->start + 1, r->end - 1, r->end };

		for (size_t k = 0; k < ARRAY_SIZE(edge); k++) {
			self->s.start = edge[k];
			self->s.end = 0;
			ASSERT_TRUE(finds(self));
			self->s.end = edge[k] + 4 * self->page;
			ASSERT_TRUE(finds(self));
			self->s.start = 0;
			self->s.end = edge[k];
			ASSERT_TRUE(finds(self));
		}
	}
}

TEST_F(scan, finds_what_has_the_bits)
{
	for (__u64 one = 1; one <= CONDITIONS; one <<= 1) {
		for (__u64 two = 1; two <= CONDITIONS; two <<= 1) {
			if (!(one & CONDITIONS) || !(two & CONDITIONS))
				continue;
			self->s.all_of = one;
			self->s.any_of = 0;
			self->s.none_of = two;
			ASSERT_TRUE(finds(self));
			self->s.all_of = one | two;
			self->s.none_of = 0;
			ASSERT_TRUE(finds(self));
			self->s.all_of = 0;
			self->s.any_of = one | two;
			ASSERT_TRUE(finds(self));
		}
	}
}

/* The errno of a call that leaves the struct as it was, 0 of one that succeeds. */
static int scan_errno(int maps, struct procmap_scan *s)
{
	struct procmap_scan before = *s;

	if (!ioctl(maps, PROCMAP_SCAN, s))
		return 0;
	return memcmp(s, &before, sizeof(before)) ? -1 : errno;
}

TEST_F(scan, takes_larger_structs)
{
	const size_t size = 200;
	char records[4 * 200 + 1];
	__u64 start;
	struct {
		struct procmap_scan s;
		__u64 tail;
	} more = { .s = self->s };

	more.s.size = sizeof(more);
	EXPECT_EQ(0, scan_errno(self->maps, &more.s));
	EXPECT_EQ(0, ioctl(self->maps, _IOWR('f', 30, more), &more));
	more.s.records = (uintptr_t)records;
	more.s.records_len = 4;
	more.s.record_size = size;
	memset(records, 1, sizeof(records));
	ASSERT_EQ(0, scan_errno(self->maps, &more.s));
	ASSERT_EQ(4, more.s.records_filled);
	for (size_t i = 0; i < 4; i++) {
		memcpy(&start, records + i * size, sizeof(start));
		EXPECT_EQ(self->all->record[i].start, start);
		for (size_t k = sizeof(struct procmap_record); k < size; k++)
			ASSERT_EQ(0, records[i * size + k]);
	}
	EXPECT_EQ(1, records[4 * size]);
	more.tail = 1;
	EXPECT_EQ(E2BIG, scan_errno(self->maps, &more.s));
	more.s.size = self->page + 1;
	EXPECT_EQ(E2BIG, scan_errno(self->maps, &more.s));
}

TEST_F(scan, refuses_bad_arguments)
{
	struct procmap_scan bad[] = {
		[0 ... 11] = self->s,
	};

	bad[0].size = PROCMAP_SCAN_SIZE_VER0 - 1;
	bad[1].flags |= 0x20;
	bad[2].flags |= 1ULL << 63;
	bad[3].flags |= PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED;
	bad[4].all_of = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	bad[5].any_of = PROCMAP_RECORD_NAME_TOO_LONG;
	bad[6].none_of = PROCMAP_RECORD_BUILD_ID_UNKNOWN;
	bad[7].start = self->page;
	bad[7].end = self->page;
	bad[8].record_size = PROCMAP_RECORD_SIZE_VER0 - 1;
	bad[9].record_size = self->page + 1;
	bad[10].reserved = 1;
	bad[11].all_of = 1ULL << 63;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(EINVAL, scan_errno(self->maps, &bad[i]));
}

TEST_F(scan, writes_all_or_nothing_to_the_struct)
{
	char *two = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t size = sizeof(self->s);

	ASSERT_NE(MAP_FAILED, two);
	EXPECT_EQ(-1, ioctl(self->maps, PROCMAP_SCAN, NULL));
	EXPECT_EQ(EFAULT, errno);
	self->s.generation = 1;
	self->s.code_generation = 2;
	for (size_t over = 8; over < size; over += 8) {
		void *at = two + self->page - over;

		memcpy(at, &self->s, size);
		ASSERT_EQ(0, mprotect(two + self->page, self->page, PROT_READ));
		ASSERT_EQ(EFAULT, scan_errno(self->maps, at));
		ASSERT_EQ(0, mprotect(two + self->page, self->page, PROT_READ | PROT_WRITE));
		/* The first page can have only what is not written. */
		if (over <= offsetof(struct procmap_scan, records_filled))
			continue;
		ASSERT_EQ(0, mprotect(two, self->page, PROT_READ));
		ASSERT_EQ(EFAULT, scan_errno(self->maps, at));
		ASSERT_EQ(0, mprotect(two, self->page, PROT_READ | PROT_WRITE));
	}
	munmap(two, 2 * self->page);
}

TEST_F(scan, fails_where_an_area_cannot_be_written)
{
	self->s.records = (uintptr_t)self->unlinked;
	EXPECT_EQ(EFAULT, scan_errno(self->maps, &self->s));
	self->s.records = (uintptr_t)self->some->record;
	self->s.names = (uintptr_t)self->unlinked;
	EXPECT_EQ(EFAULT, scan_errno(self->maps, &self->s));
}

TEST_F(scan, is_not_known_elsewhere)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	EXPECT_EQ(ENOTTY, scan_errno(fd, &self->s));
	close(fd);
	EXPECT_EQ(-1, ioctl(self->maps, _IOWR('f', 31, struct procmap_scan), &self->s));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->maps, _IOWR('f', 30, struct procmap_record), &self->s));
	EXPECT_EQ(ENOTTY, errno);
}

TEST_F(scan, fails_when_the_process_is_gone)
{
	int status;

	ASSERT_EQ(0, kill(self->pid, SIGKILL));
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	EXPECT_EQ(ESRCH, scan_errno(self->maps, &self->s));
	self->s.flags |= PROCMAP_SCAN_IF_CHANGED;
	self->s.known_generation = self->all->generation;
	EXPECT_EQ(ESRCH, scan_errno(self->maps, &self->s));
}

TEST_HARNESS_MAIN
