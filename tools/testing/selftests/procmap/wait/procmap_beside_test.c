// SPDX-License-Identifier: GPL-2.0
/*
 * A reader that rarely runs walks over VMAs with holes between them. Next to it
 * a writer works in quite another place. The walk must not take longer than the
 * waits for mmap_lock that the text of 6.1 needs, and may sleep for the writer
 * at most once a pass.
 *
 * The test compares two times. The result is exact if the machine has one
 * processor. If its processors are virtual, the result is as good as the host.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "procmap_harness.h"
#include "stall.h"

/* Size of the memory that the writer changes all the time. Its pages are there. */
#define UNRELATED	(16UL << 20)
#define MIN_VMAS	100
/*
 * All processes share this processor, as a hog does. A process that the reader
 * wakes there runs in place of the reader.
 */
#define CPU		0
/* VMAs whose lines fill a page: the text of 6.1 takes mmap_lock once for them. */
#define PAGE_VMAS	60

/**
 * struct figures - what the reader measured, in shared memory
 * @lock_ns: time of all passes with mmap_lock
 * @query_ns: time of as many passes by query; one query makes a pass and finds
 *	the file after all VMAs
 * @sleeps: how often a query slept for a writer in these passes
 * @passes: number of passes that the reader has made
 */
struct figures {
	__u64 lock_ns;
	__u64 query_ns;
	long sleeps;
	unsigned int passes;
};

struct scene {
	unsigned int nr;
	unsigned int passes;
	struct procmap_child target;
	struct procmap_child hog;
	struct procmap_child reader;
	int maps;
	int pagemap;
	__u64 start;
	struct figures *figures;
};

/* Map @nr pages with a hole after each, and then a file. Returns where they begin, or NULL. */
static char *map_with_holes(unsigned int nr)
{
	size_t page = sysconf(_SC_PAGESIZE), size = (2 * nr + 2) * page;
	char *start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned int i;

	if (start == MAP_FAILED || exe < 0)
		return NULL;
	for (i = 0; i < nr; i++)
		if (mprotect(start + 2 * i * page, page, PROT_READ | PROT_WRITE) ||
		    munmap(start + (2 * i + 1) * page, page))
			return NULL;
	if (mmap(start + 2 * nr * page, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, exe, 0) ==
	    MAP_FAILED)
		return NULL;
	close(exe);
	return start;
}

static int writes_elsewhere(struct procmap_child *child, void *arg)
{
	const struct scene *scene = arg;
	char *start = map_with_holes(scene->nr);
	char *unrelated = mmap(NULL, UNRELATED, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (!HOLDS(start) || !HOLDS(unrelated != MAP_FAILED) || !HOLDS(!procmap_pin(CPU)) ||
	    !HOLDS(!procmap_send(child, (unsigned long)start)))
		return 1;
	for (;;)
		if (!HOLDS(!mprotect(unrelated, UNRELATED, PROT_READ)) ||
		    !HOLDS(!mprotect(unrelated, UNRELATED, PROT_READ | PROT_WRITE)))
			return 1;
}

/* Look at all pages and holes. Each read takes mmap_lock. */
static bool pass_by_lock(const struct scene *scene)
{
	static __u64 words[2 * PAGE_VMAS];
	__u64 page = scene->start / sysconf(_SC_PAGESIZE);
	unsigned int i;

	for (i = 0; i < scene->nr; i += PAGE_VMAS)
		if (pread(scene->pagemap, words, sizeof(words),
			  (page + 2 * i) * sizeof(words[0])) != sizeof(words))
			return false;
	return true;
}

static bool pass_by_query(const struct scene *scene)
{
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = PROCMAP_QUERY_FILE_BACKED_VMA | PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
		.query_addr = scene->start,
	};
	__u64 file = scene->start + 2ULL * scene->nr * sysconf(_SC_PAGESIZE);

	return !procmap_ioctl(scene->maps, &q) && q.vma_start == file;
}

static int reads_rarely(struct procmap_child *child, void *arg)
{
	const struct scene *scene = arg;
	struct figures *figures = scene->figures;
	__u64 start, between;
	long sleeps;
	unsigned int i;

	if (!HOLDS(!procmap_pin(CPU)) || !HOLDS(!stall_idle()))
		return 1;
	/* Do not count this pass: a process that has just started gets the processor anyway. */
	if (!HOLDS(pass_by_lock(scene)))
		return 1;
	for (i = 0; i < scene->passes; i++) {
		start = stall_now_ns();
		if (!HOLDS(pass_by_lock(scene)))
			return 1;
		between = stall_now_ns();
		figures->lock_ns += between - start;
		sleeps = stall_count("vma_search_sleep");
		between = stall_now_ns();
		if (!HOLDS(pass_by_query(scene)))
			return 1;
		figures->query_ns += stall_now_ns() - between;
		figures->sleeps += stall_count("vma_search_sleep") - sleeps;
		figures->passes++;
	}
	return 0;
}

FIXTURE(beside) {
	struct scene scene;
};

FIXTURE_VARIANT(beside) {
	unsigned int nr;
	unsigned int passes;
};

FIXTURE_VARIANT_ADD(beside, few) { .nr = 200, .passes = 4 };
FIXTURE_VARIANT_ADD(beside, many) { .nr = 1000, .passes = 2 };

FIXTURE_SETUP(beside)
{
	struct scene *scene = &self->scene;

	/* Map fewer VMAs on a slow kernel, but enough to tell a sleep for each from none. */
	scene->nr = stall_scaled(variant->nr);
	if (scene->nr < MIN_VMAS)
		scene->nr = MIN_VMAS;
	scene->passes = variant->passes;
	scene->figures = procmap_share(sizeof(*scene->figures));
	ASSERT_NE(NULL, (void *)scene->figures);
}

/* Target and hog die with the test. */
FIXTURE_TEARDOWN(beside)
{
}

TEST_F(beside, a_walk_over_holes_is_not_slower_than_mmap_lock)
{
	struct scene *scene = &self->scene;
	struct figures *figures = scene->figures;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	scene->maps = procmap_child_open(&scene->target, writes_elsewhere, scene, &scene->start);
	ASSERT_LE(0, scene->maps);
	scene->pagemap = procmap_open(scene->target.pid, "pagemap");
	ASSERT_LE(0, scene->pagemap);
	ASSERT_EQ(0, stall_start_hog(&scene->hog));
	ASSERT_EQ(0, procmap_child_start(&scene->reader, reads_rarely, scene));
	EXPECT_TRUE(stall_comes(&scene->reader));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&scene->hog));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&scene->target));
	EXPECT_EQ(0, procmap_child_wait(&scene->reader));

	fprintf(stderr,
		"# %u passes over %u VMAs: mmap_lock %llu us, queries %llu us, %ld sleeps\n",
		figures->passes, scene->nr, figures->lock_ns / 1000, figures->query_ns / 1000,
		figures->sleeps);
	EXPECT_GE(figures->lock_ns, figures->query_ns);
	EXPECT_GE(scene->passes, figures->sleeps);
}

TEST_HARNESS_MAIN
