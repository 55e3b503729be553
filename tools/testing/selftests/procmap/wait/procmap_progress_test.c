// SPDX-License-Identifier: GPL-2.0
/*
 * A process changes one VMA all the time. Readers of this VMA get their answer
 * all the same, within a bounded time. Readers that get no processor do not stop
 * the process.
 *
 * The test measures times. The machine has one processor, and its clock counts
 * instructions, so they are the same on each run.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/procmap_scan.h>

#include "procmap_harness.h"
#include "stall.h"

/* Size of the VMA that changes. Its pages are there, so a change takes long. */
#define HOT		(64UL << 20)
#define MAX_WRITERS	4
#define LOOKS		20
#define LATER_NS	(700 * 1000L)
#define RECORDS		64
#define TEXT_ROOM	0x10000
/* No answer may take longer. */
#define BOUND_NS	(100 * 1000 * 1000ULL)

/* How often a writer of idle priority is preempted, each time at another moment */
#define STOPS		400

#define IDLERS		8
/* Changes whose time is measured, after so many to begin with. */
#define ROUNDS		400
#define FIRST_ROUNDS	100
/*
 * Percent of the time without readers. A writer stops for 2 ms in 20 ms: 111;
 * switching to others and back is not free.
 */
#define MAX_PERCENT	115

/**
 * struct scene - a process that changes a VMA
 * @writers: how many of its threads do
 * @rest_us: how long each of them rests between two changes
 * @child: the process
 * @maps: its maps file
 * @hot: where the VMA is
 * @rounds: how many changes there were, in memory shared with it
 */
struct scene {
	unsigned int writers;
	unsigned int rest_us;
	struct procmap_child child;
	int maps;
	__u64 hot;
	atomic_ulong *rounds;
};

/* The VMA, with pages around it that keep it from merging. */
static char *map_hot(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, HOT + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED || mprotect(base + page, HOT, PROT_READ | PROT_WRITE) ||
	    madvise(base + page, HOT, MADV_NOHUGEPAGE))
		return NULL;
	memset(base + page, 1, HOT);
	return base + page;
}

static void *writes(void *arg)
{
	const struct scene *scene = arg;
	void *hot = (void *)scene->hot;
	const struct timespec rest = { .tv_nsec = scene->rest_us * 1000L };

	for (;;) {
		if (mprotect(hot, HOT, PROT_READ) || mprotect(hot, HOT, PROT_READ | PROT_WRITE))
			return NULL;
		atomic_fetch_add(scene->rounds, 1);
		if (scene->rest_us)
			nanosleep(&rest, NULL);
	}
}

static int changes(struct procmap_child *child, void *arg)
{
	struct scene *scene = arg;
	pthread_t thread;
	unsigned int i;

	scene->hot = (unsigned long)map_hot();
	if (!HOLDS(scene->hot) || !HOLDS(!procmap_send(child, scene->hot)))
		return 1;
	for (i = 1; i < scene->writers; i++)
		if (!HOLDS(!pthread_create(&thread, NULL, writes, scene)))
			return 1;
	writes(scene);
	return HOLDS(!"mprotect() works");
}

static int start_scene(struct scene *scene)
{
	scene->rounds = procmap_share(sizeof(*scene->rounds));
	if (!scene->rounds)
		return -ENOMEM;
	scene->maps = procmap_child_open(&scene->child, changes, scene, &scene->hot);
	return scene->maps < 0 ? scene->maps : 0;
}

static int end_scene(struct scene *scene)
{
	close(scene->maps);
	munmap(scene->rounds, sizeof(*scene->rounds));
	return procmap_child_kill(&scene->child);
}

/* Wait until so many changes more have been made. */
static void wait_for_rounds(const struct scene *scene, unsigned long nr)
{
	const unsigned long end = atomic_load(scene->rounds) + nr;
	const struct timespec nap = { .tv_nsec = 1000 * 1000 };

	while (atomic_load(scene->rounds) < end)
		nanosleep(&nap, NULL);
}

static bool is_hot(const struct scene *scene, __u64 start, __u64 end)
{
	return start == scene->hot && end == scene->hot + HOT;
}

static bool queries(const struct scene *scene)
{
	struct procmap_query q = { .size = sizeof(q), .query_addr = scene->hot };

	return !procmap_ioctl(scene->maps, &q) && is_hot(scene, q.vma_start, q.vma_end);
}

static bool scans(const struct scene *scene)
{
	static struct procmap_record records[RECORDS];
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.start = scene->hot,
		.records = (unsigned long)records,
		.records_len = RECORDS,
		.record_size = sizeof(records[0]),
	};

	return !ioctl(scene->maps, PROCMAP_SCAN, &scan) && scan.records_filled &&
	       is_hot(scene, records[0].start, records[0].end);
}

/* One read of the text that comes to the VMA. */
static bool reads(const struct scene *scene)
{
	static char space[TEXT_ROOM];
	char line[64];
	ssize_t len, got;

	snprintf(line, sizeof(line), "%llx-%llx ", scene->hot, scene->hot + HOT);
	for (len = 0; len < TEXT_ROOM - 1; len += got) {
		got = pread(scene->maps, space + len, TEXT_ROOM - 1 - len, len);
		if (got <= 0)
			return false;
		space[len + got] = '\0';
		if (strstr(space, line))
			return true;
	}
	return false;
}

/* Returns how long the longest look took, or 0 if one has failed. One too long is enough. */
static __u64 longest_ns(const struct scene *scene, bool (*look)(const struct scene *scene))
{
	struct timespec later = { 0 };
	__u64 longest = 1, start;
	unsigned int i;

	for (i = 0; i < LOOKS && longest <= BOUND_NS; i++) {
		wait_for_rounds(scene, 1);
		/* Another moment of a change, or of a rest, each time */
		later.tv_nsec = i * LATER_NS;
		nanosleep(&later, NULL);
		start = stall_now_ns();
		if (!look(scene))
			return 0;
		start = stall_now_ns() - start;
		longest = start > longest ? start : longest;
	}
	return longest;
}

FIXTURE(reader) {
	struct scene scene;
};

FIXTURE_VARIANT(reader) {
	unsigned int writers;
	unsigned int rest_us;
};

FIXTURE_VARIANT_ADD(reader, one_writer) { .writers = 1 };
FIXTURE_VARIANT_ADD(reader, four_writers) { .writers = MAX_WRITERS };
FIXTURE_VARIANT_ADD(reader, a_writer_that_rests) { .writers = 1, .rest_us = 10 * 1000 };

FIXTURE_SETUP(reader)
{
	self->scene.writers = variant->writers;
	self->scene.rest_us = variant->rest_us;
	ASSERT_EQ(0, start_scene(&self->scene));
}

FIXTURE_TEARDOWN(reader)
{
	EXPECT_EQ(256 + SIGKILL, end_scene(&self->scene));
}

TEST_F(reader, has_each_answer_within_100_ms)
{
	__u64 query, scan, text;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	query = longest_ns(&self->scene, queries);
	scan = longest_ns(&self->scene, scans);
	text = longest_ns(&self->scene, reads);
	fprintf(stderr, "# %u looks each, the longest: query %llu us, scan %llu us, text %llu us\n",
		LOOKS, query / 1000, scan / 1000, text / 1000);
	ASSERT_NE(0, query);
	ASSERT_NE(0, scan);
	ASSERT_NE(0, text);
	EXPECT_GE(BOUND_NS, query);
	EXPECT_GE(BOUND_NS, scan);
	EXPECT_GE(BOUND_NS, text);
}

/* At idle priority, replace a mapping all the time. */
static int stores(struct procmap_child *child, void *arg)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!HOLDS(at != MAP_FAILED) || !HOLDS(!stall_idle()) || !HOLDS(!procmap_send(child, 0)))
		return 1;
	while (!munmap(at, page) && mmap(at, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
					 MAP_FIXED_NOREPLACE, -1, 0) == at)
		;
	return HOLDS(!"mmap() works");
}

/* How long a query for a hole takes that takes the processor from the writer. 0: no answer. */
static __u64 beside_hog_ns(int maps, pid_t hog)
{
	struct procmap_query q = { .size = sizeof(q) };
	__u64 start;
	int ret;

	if (kill(hog, SIGCONT))
		return 0;
	start = stall_now_ns();
	ret = procmap_ioctl(maps, &q);
	start = stall_now_ns() - start;
	return !kill(hog, SIGSTOP) && ret == -ENOENT ? start : 0;
}

/*
 * On a kernel that is preemptible this may happen in a store to the tree, during
 * which no hole is found. The writer then does not get the processor again soon.
 */
TEST(a_writer_that_is_preempted_keeps_no_reader_from_a_hole_elsewhere)
{
	struct timespec later = { .tv_nsec = LATER_NS };
	struct procmap_child hog, writer;
	__u64 time, longest = 1, start;
	unsigned int i;
	int maps;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	maps = procmap_child_open(&writer, stores, NULL, &start);
	ASSERT_LE(0, maps);
	ASSERT_EQ(0, stall_start_hog(&hog));
	ASSERT_EQ(0, kill(hog.pid, SIGSTOP));
	for (i = 0; i < STOPS && longest <= BOUND_NS; i++) {
		later.tv_nsec += 97;
		nanosleep(&later, NULL);
		time = beside_hog_ns(maps, hog.pid);
		ASSERT_NE(0, time);
		longest = time > longest ? time : longest;
	}
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&hog));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&writer));
	close(maps);
	fprintf(stderr, "# %u queries for a hole, the longest: %llu us\n", i, longest / 1000);
	EXPECT_GE(BOUND_NS, longest);
}

static int idles(struct procmap_child *child, void *arg)
{
	const struct scene *scene = arg;

	if (!HOLDS(!stall_idle()) || !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		if (!HOLDS(queries(scene)))
			return 1;
}

static __u64 time_of_rounds(const struct scene *scene)
{
	__u64 start;

	wait_for_rounds(scene, FIRST_ROUNDS);
	start = stall_now_ns();
	wait_for_rounds(scene, ROUNDS);
	return stall_now_ns() - start;
}

/*
 * Another process takes the processor whenever the writer leaves it. So the
 * readers hardly ever run, and a writer that waits for them waits in vain.
 */
TEST(readers_without_a_processor_do_not_stop_the_writer)
{
	struct scene scene = { .writers = 1 };
	struct procmap_child hog, idlers[IDLERS];
	__u64 alone, beside;
	unsigned int i;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, start_scene(&scene));
	ASSERT_EQ(0, stall_start_hog(&hog));
	alone = time_of_rounds(&scene);
	for (i = 0; i < IDLERS; i++) {
		ASSERT_EQ(0, procmap_child_start(&idlers[i], idles, &scene));
		ASSERT_EQ(0, procmap_sync(&idlers[i]));
	}
	beside = time_of_rounds(&scene);
	for (i = 0; i < IDLERS; i++)
		EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&idlers[i]));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&hog));
	EXPECT_EQ(256 + SIGKILL, end_scene(&scene));
	fprintf(stderr, "# %u changes: alone %llu us, next to %u readers %llu us\n", ROUNDS,
		alone / 1000, IDLERS, beside / 1000);
	EXPECT_GE(alone * MAX_PERCENT, beside * 100);
}

TEST_HARNESS_MAIN
