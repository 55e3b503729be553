// SPDX-License-Identifier: GPL-2.0
/*
 * Readers that get no processor do not stop the end of the process that they
 * read: its exit, its execve(), and its death by the OOM killer.
 *
 * The test measures times. The machine has one processor, and its clock counts
 * instructions, so they are the same on each run.
 */
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/process_vm.h>
#include <linux/procmap_scan.h>

#include "procmap_harness.h"
#include "stall.h"

/* Memory of the target */
#define SIZE		(256UL << 20)
#define READERS		4
#define HOGS		4
/* No exit and no execve() may take longer. */
#define BOUND_NS	(1000 * 1000 * 1000ULL)

#define ROOM		0x10000
#define HUGE_PAGE	(2UL << 20)
/* What is left of the free memory. Another process asks for this much more than that. */
#define SPARE		(64UL << 20)
#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"
#define OOM_SCORE_ADJ	"/proc/self/oom_score_adj"

/**
 * struct scene - a process and how it is read
 * @read: reads once; returns false if there was no answer
 * @target: the process
 * @memory: an address in its memory
 */
struct scene {
	bool (*read)(const struct scene *scene, int fd);
	struct procmap_child target;
	__u64 memory;
};

/* It makes the OOM killer run, and its times are those of one processor. */
PROCMAP_REQUIRE(geteuid() || sysconf(_SC_NPROCESSORS_ONLN) != 1 ?
		"needs root, and a machine with one processor" : NULL)

static bool reads_text(const struct scene *scene, int fd)
{
	static char space[ROOM];

	return !lseek(fd, 0, SEEK_SET) && procmap_read_all(fd, space, sizeof(space)) > 0;
}

static bool queries(const struct scene *scene, int fd)
{
	struct procmap_call call;

	return !procmap_ask(fd, scene->memory, 0, &call);
}

static bool scans(const struct scene *scene, int fd)
{
	static struct procmap_record records[64];
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.records = (unsigned long)records,
		.records_len = ARRAY_SIZE(records),
		.record_size = sizeof(records[0]),
	};

	return !ioctl(fd, PROCMAP_SCAN, &scan) && scan.records_filled;
}

static bool copies(const struct scene *scene, int fd)
{
	static char space[ROOM];
	struct iovec local = { space, sizeof(space) };
	struct iovec remote = { (void *)scene->memory, sizeof(space) };

	return process_vm_readv(scene->target.pid, &local, 1, &remote, 1,
				PROCESS_VM_NOWAIT) == sizeof(space);
}

FIXTURE(reader) {
	struct scene scene;
	struct procmap_child readers[READERS], hogs[HOGS];
};

FIXTURE_VARIANT(reader) {
	bool (*read)(const struct scene *scene, int fd);
};

FIXTURE_VARIANT_ADD(reader, text) { .read = reads_text };
FIXTURE_VARIANT_ADD(reader, query) { .read = queries };
FIXTURE_VARIANT_ADD(reader, scan) { .read = scans };
FIXTURE_VARIANT_ADD(reader, NOWAIT) { .read = copies };

static bool set(const char *path, long value)
{
	FILE *file = fopen(path, "we");

	return file && fprintf(file, "%ld", value) > 0 && !fclose(file);
}

static void *map_pages(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

static int executes(struct procmap_child *child, void *arg)
{
	void *memory = map_pages(SIZE);

	if (HOLDS(memory != MAP_FAILED) && HOLDS(set(OOM_SCORE_ADJ, 1000)) &&
	    HOLDS(!procmap_send(child, (unsigned long)memory)) && HOLDS(!procmap_sync(child)))
		HOLDS(!procmap_exec(child, "procmap_target"));
	return 1;
}

static int idles(struct procmap_child *child, void *arg)
{
	const struct scene *scene = arg;
	int fd = maps_open(scene->target.pid);

	if (!HOLDS(fd >= 0) || !HOLDS(scene->read(scene, fd)) ||
	    !HOLDS(!stall_idle()) || !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		scene->read(scene, fd);
}

/* Other processes take the processor, so the readers hardly ever run. */
FIXTURE_SETUP(reader)
{
	unsigned int i;

	self->scene.read = variant->read;
	ASSERT_TRUE(set(OOM_SCORE_ADJ, -1000));
	ASSERT_EQ(0, procmap_child_start(&self->scene.target, executes, NULL));
	ASSERT_EQ(0, procmap_recv(&self->scene.target, &self->scene.memory));
	for (i = 0; i < READERS; i++) {
		ASSERT_EQ(0, procmap_child_start(&self->readers[i], idles, &self->scene));
		ASSERT_EQ(0, procmap_sync(&self->readers[i]));
	}
	for (i = 0; i < HOGS; i++)
		ASSERT_EQ(0, stall_start_hog(&self->hogs[i]));
}

FIXTURE_TEARDOWN(reader)
{
	unsigned int i;

	for (i = 0; i < HOGS; i++)
		EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->hogs[i]));
	for (i = 0; i < READERS; i++)
		EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->readers[i]));
}

TEST_F(reader, does_not_stop_the_exit)
{
	__u64 time = stall_now_ns();

	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->scene.target));
	time = stall_now_ns() - time;
	TH_LOG("from kill() to wait(): %llu us", time / 1000);
	EXPECT_GE(BOUND_NS, time);
}

TEST_F(reader, does_not_stop_execve)
{
	__u64 time = stall_now_ns();

	ASSERT_EQ(0, procmap_send(&self->scene.target, 0));
	EXPECT_EQ(0, procmap_sync(&self->scene.target));
	time = stall_now_ns() - time;
	TH_LOG("to the first message of the new program: %llu us", time / 1000);
	EXPECT_GE(BOUND_NS, time);
	EXPECT_EQ(0, procmap_child_finish(&self->scene.target));
}

static unsigned long free_memory(void)
{
	return sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

static int needs_more(struct procmap_child *child, void *arg)
{
	return HOLDS(set(OOM_SCORE_ADJ, 500)) && HOLDS(!procmap_sync(child)) &&
	       HOLDS(map_pages(free_memory() + SPARE) != MAP_FAILED) &&
	       HOLDS(!procmap_send(child, 0)) ? 0 : 1;
}

/* The process that would be killed next needs memory. That of the target must do. */
TEST_F(reader, does_not_make_the_OOM_killer_kill_another)
{
	const long kills = stall_count("oom_kill");
	struct procmap_child other;

	ASSERT_EQ(0, procmap_child_start(&other, needs_more, NULL));
	EXPECT_TRUE(set(NR_HUGEPAGES, (free_memory() - SPARE) / HUGE_PAGE));
	EXPECT_EQ(0, procmap_send(&other, 0));
	EXPECT_EQ(0, procmap_sync(&other));
	EXPECT_EQ(0, procmap_child_wait(&other));
	EXPECT_EQ(256 + SIGKILL, procmap_child_wait(&self->scene.target));
	EXPECT_EQ(kills + 1, stall_count("oom_kill"));
	EXPECT_TRUE(set(NR_HUGEPAGES, 0));
}

TEST_HARNESS_MAIN
