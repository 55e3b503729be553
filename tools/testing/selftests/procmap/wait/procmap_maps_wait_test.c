// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the text of a process whose mmap_lock a writer holds for long, and
 * readers that are killed. A FUSE server that does not answer stops the writer.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

#define PAGES		4
#define TEXT_ROOM	0x10000
#define SMAPS_ROOM	0x100000
#define AREA_PAGES	(16 * PAGES)
#define SPOT_PAGE	(8 * PAGES)

/* VMAs of a large process; without root as many as there may be by default */
#define MANY		100000
#define MANY_USER	60000
#define KILLS		20
/* Nice enough to lose the processor to everybody */
#define LAST		19

static const struct fuse_server_file server_files[] = {
	{ .size = PAGES * 65536 },
};

PROCMAP_REQUIRE(fuse_server_lacking())

/**
 * struct scene - a process whose writer is held up
 * @replaces: the writer maps over a VMA, else into a hole
 * @direct: descriptor of the file without the page cache
 * @child: the process
 * @maps: its maps file
 * @spot: where the writer maps
 * @before: the text before the writer began
 */
struct scene {
	bool replaces;
	int direct;
	struct procmap_child child;
	int maps;
	__u64 spot;
	char before[TEXT_ROOM];
};

static char *map_area(const struct scene *scene)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, AREA_PAGES * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *spot = base + SPOT_PAGE * page;
	const int prot = PROT_READ | PROT_WRITE;

	/* Let the VMAs on both sides of the spot be other ones. */
	if (base == MAP_FAILED || munmap(spot - page, (PAGES + 2) * page))
		return NULL;
	if (scene->replaces && mmap(spot, PAGES * page, prot, MAP_PRIVATE | MAP_ANONYMOUS |
				    MAP_FIXED, -1, 0) != spot)
		return NULL;
	return spot;
}

/*
 * Map the file without the page cache. The kernel first drops what the page
 * cache has, and waits for a page that the server does not send.
 */
static int writes_for_long(struct procmap_child *child, void *arg)
{
	const struct scene *scene = arg;
	char *spot = map_area(scene);

	if (!HOLDS(spot) || !HOLDS(!procmap_send(child, (unsigned long)spot)) ||
	    !HOLDS(!procmap_sync(child)) ||
	    !HOLDS(mmap(spot, PAGES * sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_FIXED,
			scene->direct, 0) == spot))
		return 1;
	return procmap_tell(child, 0);
}

FIXTURE(text) {
	struct fuse_server server;
	struct scene scene;
};

FIXTURE_SETUP(text)
{
	ASSERT_EQ(0, stall_drop_root());
	ASSERT_EQ(0, fuse_server_start(&self->server, server_files, ARRAY_SIZE(server_files), 0));
}

/* When the server ends, everything that still waits for it ends, too. */
FIXTURE_TEARDOWN(text)
{
	fuse_server_stop(&self->server);
}

static int start_target(struct fuse_server *server, struct scene *scene)
{
	scene->direct = fuse_server_open_direct(server, 0);
	if (scene->direct < 0)
		return scene->direct;
	scene->maps = procmap_child_open(&scene->child, writes_for_long, scene, &scene->spot);
	close(scene->direct);
	return scene->maps < 0 ? scene->maps : 0;
}

/* Start a process whose writer then holds its mmap_lock until it is let go. */
static int hold_up(struct fuse_server *server, struct scene *scene)
{
	ssize_t len;
	int ret = start_target(server, scene);

	if (ret)
		return ret;
	len = procmap_read_all(scene->maps, scene->before, sizeof(scene->before));
	if (len < 0 || lseek(scene->maps, 0, SEEK_SET))
		return len < 0 ? len : -errno;
	ret = fuse_server_hold_page(server, 0);
	return ret ? ret : stall_send_stuck(&scene->child);
}

static int let_go(struct fuse_server *server, struct scene *scene)
{
	int ret = fuse_server_release(server, 0, FUSE_READ);

	if (!ret && !stall_comes(&scene->child))
		ret = -ETIMEDOUT;
	return ret ? ret : procmap_sync(&scene->child);
}

/**
 * struct reader - a process that reads a file from its start
 * @child: the process
 * @fd: the file; no other process may wait in a read of this descriptor
 * @size: bytes of each read
 * @got: what it has got, in memory shared with it
 */
struct reader {
	struct procmap_child child;
	int fd;
	size_t size;
	struct got {
		size_t len;
		char space[SMAPS_ROOM];
	} *got;
};

static int reads(struct procmap_child *child, void *arg)
{
	const struct reader *reader = arg;
	size_t len = 0;
	ssize_t got;

	do {
		if (!HOLDS(len + reader->size < sizeof(reader->got->space)))
			return 1;
		got = pread(reader->fd, reader->got->space + len, reader->size, len);
		if (got > 0)
			len += got;
		__atomic_store_n(&reader->got->len, len, __ATOMIC_RELEASE);
	} while (got > 0);
	return HOLDS(!got) ? 0 : 1;
}

static int start_reader(struct reader *reader, int fd, size_t size)
{
	if (fd < 0)
		return fd;
	reader->fd = fd;
	reader->size = size;
	reader->got = procmap_share(sizeof(*reader->got));
	if (!reader->got)
		return -ENOMEM;
	return procmap_child_start(&reader->child, reads, reader);
}

/* Does a new reader come to the end, with the text that was there before? */
static bool reads_what_was(const struct scene *scene, size_t size)
{
	struct reader reader;
	bool good;
	int ret;

	if (!HOLDS(!start_reader(&reader, maps_open(scene->child.pid), size)))
		return false;
	ret = stall_wait(&reader.child);
	if (ret < 0)
		procmap_child_kill(&reader.child);
	good = HOLDS(!ret) && HOLDS(!strcmp(reader.got->space, scene->before));
	munmap(reader.got, sizeof(*reader.got));
	close(reader.fd);
	return good;
}

static const size_t sizes[] = { 100, 4096, SMAPS_ROOM / 2 };

/* The writer maps into a hole. Until it is done, there is nothing to wait for. */
TEST_F(text, comes_while_a_writer_holds_mmap_lock_for_long)
{
	struct scene *scene = &self->scene;
	struct reader locker;
	unsigned int i;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, hold_up(&self->server, scene));
	/* Smaps shows that mmap_lock is taken. */
	ASSERT_EQ(0, start_reader(&locker, stall_smaps_open(scene->child.pid), SMAPS_ROOM / 2));
	ASSERT_TRUE(stall_gets_stuck(locker.child.pid, locker.child.pid));

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_TRUE(reads_what_was(scene, sizes[i]));
	EXPECT_FALSE(stall_has_come(&locker.child));
	EXPECT_FALSE(stall_has_come(&scene->child));

	ASSERT_EQ(0, let_go(&self->server, scene));
	ASSERT_EQ(0, stall_wait(&locker.child));
	EXPECT_EQ(0, procmap_child_finish(&scene->child));
}

/*
 * The start of the line before the one that is before the spot. A read of one
 * byte prints no line that it does not need, but it looks for the line after
 * the one that it prints.
 */
static size_t sure_bytes(const struct scene *scene)
{
	char start[32], *line;
	int before = 2;

	snprintf(start, sizeof(start), "\n%llx-", scene->spot);
	line = strstr(scene->before, start);
	while (line && line > scene->before && before--)
		for (line--; line > scene->before && *line != '\n';)
			line--;
	return line ? line - scene->before : 0;
}

/*
 * The writer maps over a VMA, and has taken it out of the tree. A reader gets
 * everything before it, and then waits.
 */
TEST_F(text, waits_killably_where_a_writer_is_at_work)
{
	struct scene *scene = &self->scene;
	struct reader killed, waiting;
	static char after[TEXT_ROOM];
	size_t sure, len;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	scene->replaces = true;
	ASSERT_EQ(0, hold_up(&self->server, scene));
	sure = sure_bytes(scene);
	ASSERT_LT(0, sure);
	ASSERT_EQ(0, start_reader(&killed, maps_open(scene->child.pid), SMAPS_ROOM / 2));
	ASSERT_EQ(0, start_reader(&waiting, maps_open(scene->child.pid), 1));
	ASSERT_TRUE(stall_gets_stuck(killed.child.pid, killed.child.pid));
	ASSERT_TRUE(stall_gets_stuck(waiting.child.pid, waiting.child.pid));

	ASSERT_EQ(256 + SIGKILL, stall_kill(&killed.child));
	ASSERT_TRUE(stall_gets_stuck(waiting.child.pid, waiting.child.pid));
	EXPECT_FALSE(stall_has_come(&waiting.child));
	len = __atomic_load_n(&waiting.got->len, __ATOMIC_ACQUIRE);
	EXPECT_LE(sure, len);
	EXPECT_EQ(0, memcmp(scene->before, waiting.got->space, len));

	/* The rest is the new state, also of the VMA that was waited for. */
	ASSERT_EQ(0, let_go(&self->server, scene));
	ASSERT_EQ(0, stall_wait(&waiting.child));
	ASSERT_LT(0, procmap_read_all(scene->maps, after, sizeof(after)));
	EXPECT_NE(0, strcmp(scene->before, after));
	EXPECT_EQ(0, strcmp(after, waiting.got->space));
	EXPECT_EQ(0, procmap_child_finish(&scene->child));
}

/* struct many - a process with so many VMAs that its text takes long */
FIXTURE(many) {
	unsigned long limit;
	unsigned int vmas;
	struct procmap_child child;
	int maps;
	size_t size;
};

/* Returns the bytes of the text or -errno. */
static ssize_t text_size(int maps)
{
	static char space[SMAPS_ROOM];
	ssize_t got, size = 0;

	while ((got = read(maps, space, sizeof(space))) > 0)
		size += got;
	return got ? -errno : size;
}

FIXTURE_SETUP(many)
{
	self->vmas = stall_vmas(geteuid() ? MANY_USER : MANY);
	self->limit = stall_map_limit(geteuid() ? 0 : MANY + 1000);
	ASSERT_LT(0, self->limit);
	self->maps = procmap_child_open(&self->child, stall_maps_many, &self->vmas, NULL);
	ASSERT_LE(0, self->maps);
	self->size = text_size(self->maps);
	ASSERT_LT(self->vmas, self->size);
}

FIXTURE_TEARDOWN(many)
{
	EXPECT_EQ(0, procmap_child_finish(&self->child));
	if (!geteuid())
		EXPECT_LT(0, stall_map_limit(self->limit));
}

/**
 * struct end_reader - a process that reads the last byte of the text
 * @child: the process
 * @maps: the text
 * @at: where the byte is
 * @shared: what it tells, in memory shared with it: does it read, how often it
 *	    had lost the processor before, and the byte
 */
struct end_reader {
	struct procmap_child child;
	int maps;
	size_t at;
	struct {
		bool reads;
		long before;
		char byte;
	} *shared;
};

/* Read one byte near the end, which prints everything before it, too. */
static int reads_the_end(struct procmap_child *child, void *arg)
{
	const struct end_reader *reader = arg;
	struct rusage usage;

	if (!HOLDS(nice(LAST) == LAST) || !HOLDS(!getrusage(RUSAGE_SELF, &usage)))
		return 1;
	reader->shared->before = usage.ru_nivcsw;
	__atomic_store_n(&reader->shared->reads, true, __ATOMIC_RELEASE);
	return HOLDS(pread(reader->maps, &reader->shared->byte, 1, reader->at) == 1) ? 0 : 1;
}

/* How often has a process lost the processor to another? */
static long lost_processor(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return procmap_value(path, "nonvoluntary_ctxt_switches:");
}

/*
 * Keep the processor, and so let the reader do little of its read at a time.
 * Returns whether it has lost the processor within its read. The first time
 * may be just before.
 */
static bool is_in_its_read(const struct end_reader *reader)
{
	while (!stall_has_come(&reader->child))
		if (__atomic_load_n(&reader->shared->reads, __ATOMIC_ACQUIRE) &&
		    lost_processor(reader->child.pid) > reader->shared->before + 1)
			return true;
	return false;
}

/*
 * Kill a reader within its read. The last thing that the read does is to copy
 * the byte. Returns 1 if it did not come that far, 0 if it did, or -errno.
 */
static int stops_reading(struct end_reader *reader)
{
	int ret;

	memset(reader->shared, 0, sizeof(*reader->shared));
	ret = procmap_child_start(&reader->child, reads_the_end, reader);
	if (ret)
		return ret;
	if (!is_in_its_read(reader))
		return procmap_child_wait(&reader->child) ? -EIO : 0;
	if (kill(reader->child.pid, SIGKILL) || !stall_comes(&reader->child))
		return -ETIMEDOUT;
	procmap_child_wait(&reader->child);
	return !reader->shared->byte;
}

/*
 * A reader that does not look for signals copies its byte however early it is
 * killed. It shares the processor with who kills it, so its read goes on no
 * further while that one looks. Only a read that comes to its end between two
 * looks is not stopped; then try again.
 */
TEST_F(many, a_reader_killed_in_a_long_pread_ends_at_once)
{
	struct end_reader reader = { .maps = self->maps, .at = self->size - 1 };
	int stopped = 0;
	unsigned int i;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	reader.shared = procmap_share(sizeof(*reader.shared));
	ASSERT_NE(NULL, (void *)reader.shared);
	ASSERT_EQ(0, procmap_pin(sched_getcpu()));
	for (i = 0; i < KILLS && !stopped; i++) {
		/* An open file of its own, which no read has left a place in */
		reader.maps = maps_open(self->child.pid);
		ASSERT_LE(0, reader.maps);
		stopped = stops_reading(&reader);
		close(reader.maps);
	}
	fprintf(stderr, "# %u VMAs: kill %u: %d\n", self->vmas, i, stopped);
	EXPECT_EQ(1, stopped);
	munmap(reader.shared, sizeof(*reader.shared));
}

TEST_HARNESS_MAIN
