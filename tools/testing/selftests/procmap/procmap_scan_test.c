// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_SCAN of processes that do not change: every field against the text
 * and against queries, areas of every size, ranges and conditions.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kinds.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"
#include "scan.h"
#include "stall.h"

#define MANY		100000
#define MANY_USER	60000
#define DIR_ROOM	4096
#define RECORDS		4096
#define NAMES		0x40000
#define ALL_BITS	0x7ff2fULL
/* Those of them that smaps tells, too. */
#define SMAPS_BITS	0x3ff00ULL

/* What the target maps. */
enum target { TARGET_KINDS, TARGET_LONG, TARGET_ZOO, TARGET_ADVISED };

/*
 * A process that does not change; the text of its maps, what a scan finds there,
 * and the names of the files that it has mapped.
 */
FIXTURE(scan) {
	struct procmap_child child;
	char dir[DIR_ROOM];
	int fd;
	struct maps_text text;
	struct scan_list list;
	__u64 advised;
};

FIXTURE_VARIANT(scan) {
	enum target target;
};

FIXTURE_VARIANT_ADD(scan, kinds) { .target = TARGET_KINDS };
FIXTURE_VARIANT_ADD(scan, zoo) { .target = TARGET_ZOO };
FIXTURE_VARIANT_ADD(scan, advised) { .target = TARGET_ADVISED };

/* One VMA for each bit that madvise() and mlock() set; returns their address. */
static char *map_advised(void)
{
	const int advice[] = { MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DONTFORK,
			       MADV_WIPEONFORK };
	const size_t page = sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, 16 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = base;
	size_t i;

	if (base == MAP_FAILED)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(advice); i++, at += 2 * page) {
		if (mprotect(at, page, PROT_READ | PROT_WRITE))
			return NULL;
		/* A kernel without huge pages does not know the first two. */
		if (madvise(at, page, advice[i]) && i > 1)
			return NULL;
	}
	if (mprotect(at, page, PROT_READ | PROT_WRITE) || mlock(at, page))
		return NULL;
	at += 2 * page;
	if (mmap(at, page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0) != at)
		return NULL;
	return base;
}

struct arg {
	enum target target;
	const char *dir;
};

static int maps_target(struct procmap_child *child, void *data)
{
	const struct arg *arg = data;
	struct procmap_zoo zoo;
	__u64 at = 0;
	int ret = 0;

	switch (arg->target) {
	case TARGET_KINDS:
		ret = kinds_map(arg->dir);
		break;
	case TARGET_LONG:
		ret = kinds_map_long(arg->dir);
		break;
	case TARGET_ZOO:
		ret = procmap_zoo_map(&zoo);
		break;
	case TARGET_ADVISED:
		at = (unsigned long)map_advised();
		ret = at ? 0 : -errno;
	}
	return HOLDS(!ret) ? procmap_tell(child, at) : 1;
}

FIXTURE_SETUP(scan)
{
	struct arg arg = { .target = variant->target, .dir = self->dir };

	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	self->fd = procmap_child_open(&self->child, maps_target, &arg, &self->advised);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, maps_text_read(self->fd, &self->text));
	ASSERT_EQ(0, scan_everything(self->fd, &self->list));
}

FIXTURE_TEARDOWN(scan)
{
	EXPECT_EQ(0, procmap_child_finish(&self->child));
	maps_text_free(&self->text);
	scan_list_free(&self->list);
	close(self->fd);
	kinds_remove(self->dir);
}

TEST_F(scan, every_field_is_that_of_the_text_and_of_a_query)
{
	EXPECT_EQ(0, scan_check(self->fd, &self->text, &self->list));
	EXPECT_EQ(1, self->list.calls);
}

/* A scan without some of the extras finds the same without them. */
static bool finds_only(struct _test_data_scan *self, __u64 flags)
{
	const bool names = flags & PROCMAP_SCAN_NAMES, ids = flags & PROCMAP_SCAN_BUILD_IDS;
	const struct scan_how how = {
		.flags = flags,
		.records = RECORDS,
		.names = names ? NAMES : 0,
	};
	struct scan_list list;
	bool good;
	size_t i;

	for (i = 0; i < self->list.nr; i++) {
		struct procmap_record *record = &self->list.record[i];

		if (!names)
			record->name = PROCMAP_RECORD_NO_NAME;
		if (!ids)
			record->build_id_size = 0;
		if (!ids)
			memset(record->build_id, 0, sizeof(record->build_id));
	}
	good = !scan_list(self->fd, &how, &list) && scan_same(&self->list, &list) &&
	       !list.names_size == !names;
	scan_list_free(&list);
	return good;
}

TEST_F(scan, without_names_and_build_ids)
{
	EXPECT_TRUE(finds_only(self, 0));
}

TEST_F(scan, only_names)
{
	EXPECT_TRUE(finds_only(self, PROCMAP_SCAN_NAMES));
}

TEST_F(scan, only_build_ids)
{
	EXPECT_TRUE(finds_only(self, PROCMAP_SCAN_BUILD_IDS));
}

/* However the calls are cut: all together find the same, in one generation. */
static bool same_with(struct _test_data_scan *self, __u32 records, __u32 names)
{
	const struct scan_how how = {
		.flags = SCAN_EXTRAS,
		.records = records,
		.names = names,
	};
	struct scan_list list;
	int ret = scan_list(self->fd, &how, &list);
	bool same = !ret && scan_same(&self->list, &list) &&
		    list.generation == self->list.generation &&
		    list.code_generation == self->list.code_generation;

	if (!same)
		fprintf(stderr, "# %u records and %u bytes of names at once: %d\n", records,
			names, ret);
	scan_list_free(&list);
	return same;
}

TEST_F(scan, areas_of_records_of_every_size)
{
	const __u32 step = 1 + self->list.nr / 100;
	__u32 records;

	for (records = 1; records <= self->list.nr + 1; records += step)
		ASSERT_TRUE(same_with(self, records, NAMES));
}

static __u32 longest_name(const struct scan_list *list)
{
	__u32 size, longest = 0;
	size_t i;

	for (i = 0; i < list->nr; i++) {
		size = strlen(scan_name(list, &list->record[i])) + 1;
		longest = size > longest ? size : longest;
	}
	return longest;
}

TEST_F(scan, areas_of_names_of_every_size)
{
	const __u32 least = longest_name(&self->list), most = self->list.names_size + 1;
	const __u32 step = 1 + (most - least) / 100;
	__u32 names;

	for (names = least; names <= most; names += step)
		ASSERT_TRUE(same_with(self, RECORDS, names));
	ASSERT_TRUE(same_with(self, 1, least));
	ASSERT_TRUE(same_with(self, 7, least));
}

/* A VMA whose name does not fit ends the call; ENAMETOOLONG if it is the first. */
TEST_F(scan, a_name_that_does_not_fit)
{
	const __u32 longest = longest_name(&self->list);
	struct scan scan;
	size_t i = 0;

	while (strlen(scan_name(&self->list, &self->list.record[i])) + 1 < longest)
		i++;
	ASSERT_EQ(0, scan_init(&scan, RECORDS, longest - 1));
	scan.s.start = self->list.record[i].start;
	EXPECT_EQ(-ENAMETOOLONG, scan_call(self->fd, &scan));
	scan_free(&scan);

	if (!i)
		return;
	ASSERT_EQ(0, scan_init(&scan, RECORDS, longest - 1));
	scan.s.start = self->list.record[i - 1].start;
	if (self->list.record[i - 1].name != self->list.record[i].name) {
		ASSERT_EQ(0, scan_call(self->fd, &scan));
		EXPECT_EQ(1, scan.s.records_filled);
		EXPECT_EQ(self->list.record[i - 1].end, scan.s.next);
	}
	scan_free(&scan);
}

/* Without space for a record there is still the answer about generations. */
TEST_F(scan, space_for_no_record)
{
	struct scan scan;

	ASSERT_EQ(0, scan_init(&scan, 0, 0));
	scan.s.start = 17;
	ASSERT_EQ(0, scan_call(self->fd, &scan));
	EXPECT_EQ(0, scan.s.records_filled);
	EXPECT_EQ(0, scan.s.names_filled);
	EXPECT_EQ(17, scan.s.next);
	EXPECT_EQ(self->list.generation, scan.s.generation);
	EXPECT_EQ(self->list.code_generation, scan.s.code_generation);
	scan_free(&scan);
}

/* Which records lie in the range and match, by the list of all. */
static bool finds(struct _test_data_scan *self, const struct scan_how *how)
{
	struct scan_list list, wanted = self->list;
	const __u64 end = how->end ?: ~0ULL;
	size_t i;
	bool good;

	wanted.nr = 0;
	wanted.record = calloc(self->list.nr + 1, sizeof(*wanted.record));
	for (i = 0; i < self->list.nr; i++) {
		const struct procmap_record *record = &self->list.record[i];

		if (record->end > how->start && record->start < end &&
		    (record->flags & how->all_of) == how->all_of &&
		    (!how->any_of || record->flags & how->any_of) &&
		    !(record->flags & how->none_of))
			wanted.record[wanted.nr++] = *record;
	}
	good = !scan_list(self->fd, how, &list) && scan_same(&wanted, &list);
	if (!good)
		fprintf(stderr, "# 0x%llx-0x%llx all of 0x%llx any of 0x%llx none of 0x%llx\n",
			how->start, how->end, how->all_of, how->any_of, how->none_of);
	scan_list_free(&list);
	free(wanted.record);
	return good;
}

TEST_F(scan, ranges)
{
	const size_t step = 1 + self->list.nr / 40;
	struct scan_how how = { .flags = SCAN_EXTRAS, .records = 64, .names = NAMES };
	size_t i, k;

	for (i = 0; i < self->list.nr; i += step) {
		const struct procmap_record *at = &self->list.record[i];
		const __u64 edge[] = { at->start - 1, at->start, at->start + 1, at->end - 1,
				       at->end, at->end + 1 };

		for (k = 0; k < ARRAY_SIZE(edge); k++) {
			how.start = edge[k];
			how.end = 0;
			ASSERT_TRUE(finds(self, &how));
			how.end = at->end + 0x10000;
			ASSERT_TRUE(finds(self, &how));
			how.start = 0;
			how.end = edge[k];
			ASSERT_TRUE(finds(self, &how));
		}
	}
}

TEST_F(scan, conditions)
{
	struct scan_how how = { .flags = SCAN_EXTRAS, .records = RECORDS, .names = NAMES };
	__u64 one, other;

	for (one = 1; one <= ALL_BITS; one <<= 1) {
		if (!(one & ALL_BITS))
			continue;
		how.all_of = 0;
		how.any_of = 0;
		how.none_of = one;
		ASSERT_TRUE(finds(self, &how));
		how.all_of = one;
		ASSERT_TRUE(finds(self, &how));
		how.none_of = 0;
		ASSERT_TRUE(finds(self, &how));
		for (other = 1; other <= ALL_BITS; other <<= 1) {
			if (!(other & ALL_BITS))
				continue;
			how.all_of = one;
			how.any_of = other;
			ASSERT_TRUE(finds(self, &how));
			how.all_of = 0;
			how.any_of = one | other;
			ASSERT_TRUE(finds(self, &how));
			how.all_of = one | other;
			how.any_of = 0;
			ASSERT_TRUE(finds(self, &how));
			how.all_of = 0;
			how.none_of = one | other;
			ASSERT_TRUE(finds(self, &how));
			how.none_of = 0;
		}
	}
	how.all_of = 0;
	how.any_of = ALL_BITS;
	ASSERT_TRUE(finds(self, &how));
}

TEST_F(scan, end_of_the_address_space)
{
	const struct procmap_record *last = &self->list.record[self->list.nr - 1];
	const __u64 beyond[] = { last->end, ~0ULL - 1, ~0ULL, 1ULL << 32, 1ULL << 63 };
	struct scan scan;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(beyond); i++) {
		if (beyond[i] < last->end)
			continue;
		ASSERT_EQ(0, scan_init(&scan, 1, NAMES));
		scan.s.start = beyond[i];
		ASSERT_EQ(0, scan_call(self->fd, &scan));
		EXPECT_EQ(0, scan.s.records_filled);
		EXPECT_EQ(~0ULL, scan.s.next);
		EXPECT_EQ(self->list.generation, scan.s.generation);
		scan_free(&scan);
	}
}

/* When it is complete, a call says so with the end that was asked for. */
TEST_F(scan, next_is_the_end_when_nothing_is_left)
{
	const struct procmap_record *last = &self->list.record[self->list.nr - 1];
	struct scan scan;

	ASSERT_EQ(0, scan_init(&scan, 1, NAMES));
	scan.s.end = self->list.record[0].end;
	ASSERT_EQ(0, scan_call(self->fd, &scan));
	EXPECT_EQ(1, scan.s.records_filled);
	EXPECT_EQ(self->list.record[0].end, scan.s.next);
	scan_free(&scan);

	ASSERT_EQ(0, scan_init(&scan, 2, NAMES));
	scan.s.start = last->start;
	scan.s.end = last->end + 17;
	ASSERT_EQ(0, scan_call(self->fd, &scan));
	EXPECT_EQ(1, scan.s.records_filled);
	EXPECT_EQ(last->end + 17, scan.s.next);
	scan_free(&scan);
}

/*
 * VMAs of one file in a row have one string, if they come from one open() and
 * the scan has a generation.
 */
TEST_F(scan, a_row_has_one_name)
{
	struct scan_list *list = &self->list;
	size_t i, shared = 0;

	for (i = 1; i < list->nr; i++) {
		const struct procmap_record *one = &list->record[i - 1], *two = &list->record[i];

		if (one->name != two->name || one->name == PROCMAP_RECORD_NO_NAME)
			continue;
		shared++;
		EXPECT_EQ(one->inode, two->inode);
		EXPECT_EQ(one->inode_generation, two->inode_generation);
	}
	/* The program itself has one, of three VMAs or, with some linkers, of more. */
	EXPECT_EQ(stall_has_vma_locks(), shared >= 2)
		TH_LOG("%zu VMAs have the name of the one before", shared);
}

/* The VMAs of a device must be locked, and are a row nevertheless. */
TEST(a_row_of_a_device_has_one_name)
{
	const size_t page = getpagesize(), nr = 6, each = sizeof("/dev/zero");
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), maps = maps_open(0);
	char *at = mmap(NULL, nr * page, PROT_READ, MAP_PRIVATE, zero, 0);
	struct scan scan;
	size_t i;

	ASSERT_NE(MAP_FAILED, at);
	for (i = 0; i < nr; i += 2)
		ASSERT_EQ(0, mprotect(at + i * page, page, PROT_NONE));
	ASSERT_EQ(0, scan_init(&scan, 4 * nr, NAMES));
	scan.s.start = (unsigned long)at;
	scan.s.end = (unsigned long)at + nr * page;
	ASSERT_EQ(0, scan_call(maps, &scan));
	EXPECT_EQ(nr, scan.s.records_filled);
	for (i = 0; i < nr; i++)
		EXPECT_EQ(stall_has_vma_locks() ? 0 : i * each, scan.records[i].name);
	EXPECT_EQ(stall_has_vma_locks() ? each : nr * each, scan.s.names_filled);
	scan_free(&scan);
	ASSERT_EQ(0, munmap(at, nr * page));
	close(maps);
	close(zero);
}

/* scan_call() sees to it that nothing after the records is written. */
TEST_F(scan, larger_records_are_cleared_only_where_they_are_filled)
{
	const struct procmap_record *last = &self->list.record[self->list.nr - 1];
	const __u32 size[] = { sizeof(struct procmap_record) + 8, 256, 4096 };
	struct scan scan;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		ASSERT_EQ(0, scan_init(&scan, RECORDS * 4, NAMES));
		scan.s.record_size = size[i];
		scan.s.records_len = scan.records_size / size[i];
		scan.s.any_of = PROCMAP_QUERY_VMA_EXECUTABLE;
		ASSERT_EQ(0, scan_call(self->fd, &scan));
		EXPECT_LT(0, scan.s.records_filled);
		EXPECT_GT(self->list.nr, scan.s.records_filled);
		scan_free(&scan);

		/* What is after the end of the range is no record either. */
		ASSERT_EQ(0, scan_init(&scan, RECORDS * 4, NAMES));
		scan.s.record_size = size[i];
		scan.s.records_len = scan.records_size / size[i];
		scan.s.flags = 0;
		scan.s.start = last[-1].start;
		scan.s.end = last[-1].end;
		ASSERT_EQ(0, scan_call(self->fd, &scan));
		EXPECT_EQ(1, scan.s.records_filled);
		scan_free(&scan);
	}
}

static const struct {
	const char *smaps;
	__u64 record;
} smaps_flags[] = {
	{ "gd", PROCMAP_RECORD_GROWS_DOWN },
	{ "lo", PROCMAP_RECORD_LOCKED },
	{ "hg", PROCMAP_RECORD_HUGE },
	{ "nh", PROCMAP_RECORD_NO_HUGE },
	{ "dd", PROCMAP_RECORD_NO_DUMP },
	{ "dc", PROCMAP_RECORD_NO_FORK },
	{ "wf", PROCMAP_RECORD_WIPE_ON_FORK },
	{ "um", PROCMAP_RECORD_UFFD_MISSING },
	{ "uw", PROCMAP_RECORD_UFFD_WP },
	{ "ui", PROCMAP_RECORD_UFFD_MINOR },
};

/* The bits that a line of smaps, "VmFlags: rd mr ...", shows. */
static __u64 bits_of_smaps(const char *line)
{
	__u64 bits = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(smaps_flags); i++)
		if (strstr(line + strlen("VmFlags:"), smaps_flags[i].smaps))
			bits |= smaps_flags[i].record;
	return bits;
}

static bool rare_bits_agree(pid_t pid, const struct scan_list *list, __u64 *seen)
{
	char path[64], *line = NULL;
	size_t size = 0, i = 0;
	bool good = true;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (good && getline(&line, &size, file) > 0) {
		if (strncmp(line, "VmFlags:", strlen("VmFlags:")) || i == list->nr)
			continue;
		good = bits_of_smaps(line) == (list->record[i].flags & SMAPS_BITS);
		*seen |= bits_of_smaps(line);
		if (!good)
			fprintf(stderr, "# 0x%llx has flags 0x%llx, smaps %s",
				list->record[i].start, list->record[i].flags, line);
		i++;
	}
	free(line);
	fclose(file);
	return good && i == list->nr;
}

TEST_F(scan, rare_bits_are_those_of_smaps)
{
	__u64 least = PROCMAP_RECORD_GROWS_DOWN | PROCMAP_RECORD_LOCKED |
		      PROCMAP_RECORD_NO_DUMP | PROCMAP_RECORD_NO_FORK |
		      PROCMAP_RECORD_WIPE_ON_FORK;
	__u64 seen = 0;

	EXPECT_TRUE(rare_bits_agree(self->child.pid, &self->list, &seen));
	if (self->advised)
		EXPECT_EQ(least, seen & least);
}

/*
 * Paths around 4 KiB, some of which are longer than PATH_MAX. The records of
 * these say so, and have no name.
 */
TEST(paths_of_every_length)
{
	struct arg arg = { .target = TARGET_LONG };
	struct scan_how how = { .records = RECORDS, .names = NAMES };
	unsigned int longest = 0, too_long = 0;
	struct procmap_child child;
	struct scan_list list;
	struct maps_text text;
	char dir[DIR_ROOM];
	__u64 none;
	size_t i;
	int fd;

	ASSERT_EQ(0, procmap_tmp_dir(dir, sizeof(dir)));
	arg.dir = dir;
	fd = procmap_child_open(&child, maps_target, &arg, &none);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, maps_text_read(fd, &text));
	for (i = 0; i < text.nr; i++) {
		const struct maps_vma *vma = &text.vma[i];
		const size_t size = strlen(vma->name) + 1;
		const bool fits = size <= PATH_MAX;

		how.flags = PROCMAP_SCAN_NAMES;
		how.start = vma->start;
		how.end = vma->end;
		ASSERT_EQ(0, scan_list(fd, &how, &list));
		ASSERT_EQ(1, list.nr);
		ASSERT_EQ(0, strcmp(fits ? vma->name : "", scan_name(&list, list.record)));
		ASSERT_EQ(!fits, !!(list.record->flags & PROCMAP_RECORD_NAME_TOO_LONG));
		longest = fits && size > longest ? size : longest;
		too_long += !fits;
		scan_list_free(&list);
	}
	EXPECT_LT(4000, longest);
	EXPECT_LT(0, too_long);
	how = (struct scan_how){ .flags = PROCMAP_SCAN_NAMES, .records = 7, .names = PATH_MAX };
	ASSERT_EQ(0, scan_list(fd, &how, &list));
	EXPECT_EQ(text.nr, list.nr);
	for (i = 0; i < list.nr; i++)
		too_long -= !!(list.record[i].flags & PROCMAP_RECORD_NAME_TOO_LONG);
	EXPECT_EQ(0, too_long);
	scan_list_free(&list);
	/* In an area of less than PATH_MAX a name may be too long for the area alone. */
	how.names = PATH_MAX - 1;
	EXPECT_EQ(-ENAMETOOLONG, scan_list(fd, &how, &list));
	scan_list_free(&list);
	EXPECT_EQ(0, procmap_child_finish(&child));
	maps_text_free(&text);
	close(fd);
	kinds_remove(dir);
}

/* Make a file, and map it. */
static void *maps_file(const char *dir, const char *name)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char path[DIR_ROOM + 16];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return MAP_FAILED;
	at = ftruncate(fd, page) ? MAP_FAILED : mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return at;
}

/* How many records there are for the page: 1, or 0 if it has one of these bits. */
static int records_at(int fd, const void *at, __u64 none_of)
{
	const struct scan_how how = {
		.start = (unsigned long)at,
		.end = (unsigned long)at + 1,
		.none_of = none_of,
		.records = 1,
	};
	struct scan_list list;
	int ret = scan_list(fd, &how, &list);

	if (!ret)
		ret = list.nr;
	scan_list_free(&list);
	return ret;
}

/* A record tells that its file was removed, or replaced by another one. */
TEST(files_that_no_directory_has)
{
	char dir[DIR_ROOM], from[DIR_ROOM + 16], to[DIR_ROOM + 16];
	const __u64 unlinked = PROCMAP_RECORD_UNLINKED;
	void *removed, *replaced, *kept;
	int fd = maps_open(0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, procmap_tmp_dir(dir, sizeof(dir)));
	removed = maps_file(dir, "removed");
	ASSERT_NE(MAP_FAILED, removed);
	replaced = maps_file(dir, "replaced");
	ASSERT_NE(MAP_FAILED, replaced);
	kept = maps_file(dir, "kept");
	ASSERT_NE(MAP_FAILED, kept);
	EXPECT_EQ(1, records_at(fd, removed, unlinked));
	EXPECT_EQ(1, records_at(fd, replaced, unlinked));

	snprintf(to, sizeof(to), "%s/removed", dir);
	ASSERT_EQ(0, unlink(to));
	snprintf(from, sizeof(from), "%s/kept", dir);
	snprintf(to, sizeof(to), "%s/replaced", dir);
	ASSERT_EQ(0, rename(from, to));
	EXPECT_EQ(1, records_at(fd, removed, 0));
	EXPECT_EQ(0, records_at(fd, removed, unlinked));
	EXPECT_EQ(0, records_at(fd, replaced, unlinked));
	EXPECT_EQ(1, records_at(fd, kept, unlinked));
	ASSERT_EQ(0, unlink(to));
	EXPECT_EQ(0, records_at(fd, kept, unlinked));
	ASSERT_EQ(0, rmdir(dir));
	close(fd);
}

/* Remove a file of the lower layer of an overlay. It stays in that layer. */
static int removes_from_overlay(struct procmap_child *child, void *dir)
{
	const __u64 unlinked = PROCMAP_RECORD_UNLINKED;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), file;
	void *at;

	if (!HOLDS(fd >= 0) || !HOLDS(!unshare(CLONE_NEWNS)) ||
	    !HOLDS(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) ||
	    !HOLDS(!mount("none", dir, "tmpfs", 0, NULL)) || !HOLDS(!chdir(dir)) ||
	    !HOLDS(!mkdir("lower", 0700)) || !HOLDS(!mkdir("upper", 0700)) ||
	    !HOLDS(!mkdir("work", 0700)) || !HOLDS(!mkdir("all", 0700)) ||
	    !HOLDS(maps_file("lower", "file") != MAP_FAILED) ||
	    !HOLDS(!mount("none", "all", "overlay", 0,
			  "lowerdir=lower,upperdir=upper,workdir=work")))
		return 1;
	file = open("all/file", O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE, file, 0);
	return HOLDS(file >= 0) && HOLDS(at != MAP_FAILED) && HOLDS(!close(file)) &&
	       HOLDS(records_at(fd, at, unlinked) == 1) && HOLDS(!unlink("all/file")) &&
	       HOLDS(records_at(fd, at, 0) == 1) && HOLDS(!records_at(fd, at, unlinked)) &&
	       HOLDS(!access("lower/file", F_OK)) ? 0 : 1;
}

TEST(files_that_no_directory_of_an_overlay_has)
{
	struct procmap_child child;
	char dir[DIR_ROOM];

	if (geteuid())
		SKIP(return, "%s: mounting an overlay needs root", _metadata->name);
	ASSERT_EQ(0, procmap_tmp_dir(dir, sizeof(dir)));
	ASSERT_EQ(0, procmap_child_start(&child, removes_from_overlay, dir));
	EXPECT_EQ(0, procmap_child_wait(&child));
	EXPECT_EQ(0, rmdir(dir));
}

/* A process registers a part of its memory with userfaultfd for each mode. */
static int registers(struct procmap_child *child, void *arg)
{
	const __u64 mode[] = { UFFDIO_REGISTER_MODE_MISSING, UFFDIO_REGISTER_MODE_WP,
			       UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP };
	const size_t page = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	char *at = mmap(NULL, 8 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (!HOLDS(uffd >= 0) || !HOLDS(at != MAP_FAILED) || !HOLDS(!ioctl(uffd, UFFDIO_API, &api)))
		return 1;
	for (i = 0; i < ARRAY_SIZE(mode); i++) {
		struct uffdio_register range = {
			.range = { .start = (unsigned long)at + 2 * i * page, .len = page },
			.mode = mode[i],
		};

		/* An architecture may lack the second mode. */
		if (!HOLDS(!ioctl(uffd, UFFDIO_REGISTER, &range) ||
			   mode[i] & UFFDIO_REGISTER_MODE_WP))
			return 1;
	}
	return procmap_tell(child, (unsigned long)at);
}

TEST(bits_of_userfaultfd)
{
	struct procmap_child child;
	struct scan_list list;
	__u64 at, seen = 0;
	int fd;

	fd = procmap_child_open(&child, registers, NULL, &at);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, scan_everything(fd, &list));
	EXPECT_TRUE(rare_bits_agree(child.pid, &list, &seen));
	EXPECT_NE(0, seen & PROCMAP_RECORD_UFFD_MISSING);
	EXPECT_EQ(0, procmap_child_finish(&child));
	scan_list_free(&list);
	close(fd);
}

/* Files with the same number one after the other: the generation tells. */
static int maps_one_file(struct procmap_child *child, void *arg)
{
	int fd = *(int *)arg;
	char *at = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);

	return HOLDS(at != MAP_FAILED) ? procmap_tell(child, (unsigned long)at) : 1;
}

struct tmpfs_handle {
	struct file_handle handle;
	__u32 words[8];
};

TEST(generation_of_an_inode)
{
	struct tmpfs_handle fh = { .handle.handle_bytes = sizeof(fh.words) };
	const struct procmap_record *record;
	struct procmap_child child;
	struct scan_list list;
	int file = memfd_create("generation", MFD_CLOEXEC);
	int fd, mount;
	__u64 at;
	size_t i;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, sysconf(_SC_PAGESIZE)));
	/* The first word of a handle of tmpfs is the generation. */
	ASSERT_EQ(0, name_to_handle_at(file, "", &fh.handle, &mount, AT_EMPTY_PATH));

	fd = procmap_child_open(&child, maps_one_file, &file, &at);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, scan_everything(fd, &list));
	for (i = 0; i < list.nr && list.record[i].start != at; i++)
		;
	ASSERT_NE(list.nr, i);
	record = &list.record[i];
	EXPECT_EQ(fh.words[0], record->inode_generation);
	EXPECT_EQ(0, procmap_child_finish(&child));
	scan_list_free(&list);
	close(fd);
	close(file);
}

static int maps_many(struct procmap_child *child, void *arg)
{
	const size_t most = geteuid() ? MANY_USER : MANY;
	struct procmap_zoo zoo;

	if (!HOLDS(!procmap_zoo_map_many(&zoo, stall_vmas(most))))
		return 1;
	return procmap_tell(child, zoo.nr);
}

/* struct many - a process with as many VMAs as there may be */
FIXTURE(many) {
	unsigned long limit;
	struct procmap_child child;
	__u64 nr;
	int fd;
};

/* An ordinary user cannot raise the limit, and has fewer VMAs. */
FIXTURE_SETUP(many)
{
	self->limit = stall_map_limit(geteuid() ? 0 : MANY + 1000);
	ASSERT_LT(0, self->limit);
	self->fd = procmap_child_open(&self->child, maps_many, NULL, &self->nr);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(many)
{
	EXPECT_EQ(0, procmap_child_finish(&self->child));
	close(self->fd);
	if (!geteuid())
		EXPECT_LT(0, stall_map_limit(self->limit));
}

TEST_F(many, are_all_found)
{
	const struct scan_how how[] = {
		{ .records = MANY + 1000 },
		{ .records = 1000 },
		{ .flags = PROCMAP_SCAN_NAMES, .records = RECORDS, .names = NAMES },
	};
	struct scan_list list;
	struct maps_text text;
	size_t i, k;

	ASSERT_EQ(0, maps_text_read(self->fd, &text));
	ASSERT_LT(self->nr, text.nr);
	for (k = 0; k < ARRAY_SIZE(how); k++) {
		ASSERT_EQ(0, scan_list(self->fd, &how[k], &list));
		ASSERT_EQ(text.nr, list.nr);
		EXPECT_EQ(stall_has_vma_locks(), !!list.generation);
		for (i = 0; i < list.nr; i++) {
			ASSERT_EQ(text.vma[i].start, list.record[i].start);
			ASSERT_EQ(text.vma[i].end, list.record[i].end);
			ASSERT_EQ(text.vma[i].flags, list.record[i].flags & 0xf);
		}
		scan_list_free(&list);
	}
	maps_text_free(&text);
}

TEST_HARNESS_MAIN
