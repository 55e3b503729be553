// SPDX-License-Identifier: GPL-2.0
/*
 * Queries meet holes while a write section of the target never ends. A FUSE
 * server that does not answer holds the section up after it took some VMAs out
 * of the tree. A query may wait only where these VMAs were, and it can be
 * killed there.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "fuse_server.h"
#include "procmap_harness.h"
#include "scan.h"
#include "stall.h"

#define NR_TARGETS	2
#define MAX_RECORDS	256
#define PAGES		4
#define MB		0x100000UL

/* What the target has in an area of its own, as offsets from its start */
#define AREA		(512 * MB)
#define AT_SPOT		(256 * MB)	/* the target maps or moves over this */
#define AT_FILE		(320 * MB)	/* mremap() moves this to the spot */
#define AT_LOW		0UL
#define AT_HIGH		(448 * MB)
#define AT_FAR		(128 * MB)	/* nothing is here or near */
#define NEAR_PAGES	16		/* size of the holes around the spot */

static const struct fuse_server_file server_files[NR_TARGETS] = {
	{ .size = PAGES * 65536 },
	{ .size = PAGES * 65536 },
};

PROCMAP_REQUIRE(fuse_server_lacking())

static size_t piece(void)
{
	return PAGES * sysconf(_SC_PAGESIZE);
}

/* How far from the spot the files on both sides of it are. */
static size_t near_size(void)
{
	return NEAR_PAGES * sysconf(_SC_PAGESIZE) + piece();
}

/**
 * struct scene - a target, and what is known about it
 * @moves: the target uses mremap(), else mmap()
 * @number: number of its file
 * @file: descriptor of the file; without the page cache if the target uses mmap()
 * @child: the target
 * @maps: its maps file
 * @base: where its area begins
 * @text: text of @maps before the target was held up
 */
struct scene {
	bool moves;
	unsigned int number;
	int file;
	struct procmap_child child;
	int maps;
	char *base;
	struct maps_text text;
};

static bool maps_at(char *addr, int prot, int flags, int fd)
{
	return mmap(addr, piece(), prot, flags | MAP_FIXED, fd, 0) == addr;
}

static bool maps_anonymous(char *addr)
{
	return maps_at(addr, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Map an area with holes, and executable files on both sides of the spot. */
static char *map_area(const struct scene *scene)
{
	char *base = mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			  0);
	size_t near = near_size();
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (base == MAP_FAILED || exe < 0 || munmap(base, AREA))
		return NULL;
	if (!maps_anonymous(base + AT_LOW) || !maps_anonymous(base + AT_SPOT) ||
	    !maps_anonymous(base + AT_HIGH) ||
	    !maps_at(base + AT_SPOT - near, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe) ||
	    !maps_at(base + AT_SPOT + near, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe) ||
	    (scene->moves && !maps_at(base + AT_FILE, PROT_READ | PROT_WRITE, MAP_SHARED,
				      scene->file)))
		return NULL;
	close(exe);
	/*
	 * The move must replace all of the spot. Otherwise half of the spot
	 * would stay, and be write-locked.
	 */
	if (scene->moves && munmap(base + AT_SPOT + piece() / 2, piece() / 2))
		return NULL;
	return base;
}

/*
 * Map the file over the spot, without the page cache. The kernel first drops
 * what the page cache has, and waits for a page that the server does not send.
 */
static bool maps_over(const struct scene *scene, char *base)
{
	return HOLDS(maps_at(base + AT_SPOT, PROT_READ, MAP_PRIVATE, scene->file));
}

/*
 * Move the first half of the mapping to the spot. The kernel first unmaps what
 * is there, and then the other half. To close that half, it waits until the
 * inode is written, and the server does not answer that.
 */
static bool moves_over(const struct scene *scene, char *base)
{
	char *file = base + AT_FILE;

	return HOLDS(mremap(file, piece(), piece() / 2, MREMAP_MAYMOVE | MREMAP_FIXED,
			    base + AT_SPOT) == base + AT_SPOT);
}

static int is_held_up(struct procmap_child *child, void *arg)
{
	struct scene *scene = arg;
	char *base = map_area(scene);

	/* Close the file now: closing it later would wait, too. */
	if (scene->moves)
		close(scene->file);
	if (!HOLDS(base) || !HOLDS(!procmap_send(child, (unsigned long)base)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	if (!(scene->moves ? moves_over(scene, base) : maps_over(scene, base)))
		return 1;
	/* Stay, because queries that have waited look at the spot now. */
	return procmap_tell(child, 0);
}

FIXTURE(holes) {
	struct fuse_server server;
	struct scene scenes[NR_TARGETS];
};

FIXTURE_VARIANT(holes) {
	bool moves;
};

FIXTURE_VARIANT_ADD(holes, mapped_over) { };

/* Two ranges are out of the tree, far from each other. */
FIXTURE_VARIANT_ADD(holes, moved) { .moves = true };

FIXTURE_SETUP(holes)
{
	unsigned int i;

	ASSERT_EQ(0, stall_drop_root());
	ASSERT_EQ(0, fuse_server_start(&self->server, server_files, NR_TARGETS, 0));
	for (i = 0; i < NR_TARGETS; i++) {
		self->scenes[i].number = i;
		self->scenes[i].moves = variant->moves;
	}
}

/* When the server ends, everything that still waits for it ends, too. */
FIXTURE_TEARDOWN(holes)
{
	fuse_server_stop(&self->server);
}

/* Start a target. Afterwards its area and its text are known. */
static int start_target(struct fuse_server *server, struct scene *scene)
{
	__u64 base;

	if (scene->moves)
		scene->file = fuse_server_open(server, scene->number, O_RDWR);
	else
		scene->file = fuse_server_open_direct(server, scene->number);
	if (scene->file < 0)
		return scene->file;
	scene->maps = procmap_child_open(&scene->child, is_held_up, scene, &base);
	close(scene->file);
	scene->base = (char *)(unsigned long)base;
	return scene->maps < 0 ? scene->maps : maps_text_read(scene->maps, &scene->text);
}

static int hold_up(struct fuse_server *server, struct scene *scene)
{
	int ret;

	if (scene->moves)
		ret = fuse_server_hold_inode(server, scene->number);
	else
		ret = fuse_server_hold_page(server, scene->number);
	return ret ? ret : stall_send_stuck(&scene->child);
}

/* Let the writer go on. Afterwards the target waits to be told to end. */
static int let_go(struct fuse_server *server, struct scene *scene)
{
	int ret = fuse_server_release(server, scene->number,
				      scene->moves ? FUSE_SETATTR : FUSE_READ);

	if (!ret && !stall_comes(&scene->child))
		ret = -ETIMEDOUT;
	return ret ? ret : procmap_sync(&scene->child);
}

/**
 * struct question - what a helper asks
 * @child: the helper
 * @scene: the target
 * @at: offset in the area that it asks for
 * @flags: PROCMAP_QUERY_* bits
 */
struct question {
	struct procmap_child child;
	const struct scene *scene;
	unsigned long at;
	__u64 flags;
};

/* As procmap_check(), but without the build ID. */
static bool agrees(const struct scene *scene, __u64 addr, __u64 flags)
{
	const struct maps_vma *vma = maps_text_match(&scene->text, addr, flags);
	struct procmap_call call;
	int ret = stall_ask(scene->maps, addr, flags, &call);
	const char *differs = vma && !ret ? procmap_differs(vma, &call) : NULL;

	if (ret == (vma ? 0 : -ENOENT) && !differs)
		return true;
	fprintf(stderr, "# query of 0x%llx, flags 0x%02llx: %d, %s\n", addr, flags, ret,
		differs ?: "not as the text");
	return false;
}

/* Query each hole of the address space that the text showed, at both ends. */
static int asks_for_holes(struct procmap_child *child, void *arg)
{
	const struct question *question = arg;
	const struct maps_text *text = &question->scene->text;
	size_t i;

	for (i = 0; i < text->nr; i++) {
		__u64 start = i ? text->vma[i - 1].end : 0;
		__u64 end = text->vma[i].start;

		if (start < end && (!HOLDS(agrees(question->scene, start, 0)) ||
				    !HOLDS(agrees(question->scene, end - 1, 0))))
			return 1;
	}
	return HOLDS(agrees(question->scene, text->vma[i - 1].end, 0)) ? 0 : 1;
}

static int asks_for_one(struct procmap_child *child, void *arg)
{
	const struct question *question = arg;
	const struct scene *scene = question->scene;

	return HOLDS(agrees(scene, (unsigned long)scene->base + question->at, question->flags)) ?
	       0 : 1;
}

/* If something that the writer changes lies between these addresses, return its end, else 0. */
static __u64 after_touched(const struct scene *scene, __u64 from, __u64 to)
{
	__u64 spot = (unsigned long)scene->base + AT_SPOT;
	__u64 file = (unsigned long)scene->base + AT_FILE;

	if (from < spot + piece() && spot < to)
		return spot + piece();
	if (scene->moves && from < file + piece() && file < to)
		return file + piece();
	return 0;
}

/* Walk over all VMAs that match, except where the writer is at work. */
static bool walks(const struct scene *scene, __u64 flags)
{
	const struct maps_vma *vma;
	__u64 addr = 0, after;

	flags |= PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	do {
		vma = maps_text_match(&scene->text, addr, flags);
		after = after_touched(scene, addr, vma ? vma->end : ~0ULL);
		if (!after && !agrees(scene, addr, flags))
			return false;
		addr = vma ? vma->end : 0;
		if (after)
			addr = after;
	} while (addr);
	return true;
}

static int walks_with_filters(struct procmap_child *child, void *arg)
{
	const struct question *question = arg;
	__u64 flags;

	for (flags = 0; flags <= PROCMAP_FILTERS; flags++) {
		if (flags & ~(__u64)PROCMAP_FILTERS)
			continue;
		if (!HOLDS(walks(question->scene, flags)))
			return 1;
	}
	return 0;
}

/*
 * Query each VMA that the writer does not touch, by its address and as the next
 * one from the hole before it.
 */
static int asks_for_others(struct procmap_child *child, void *arg)
{
	const struct question *question = arg;
	const struct scene *scene = question->scene;
	__u64 spot = (unsigned long)scene->base + AT_SPOT;
	__u64 file = (unsigned long)scene->base + AT_FILE;
	size_t i;

	for (i = 0; i < scene->text.nr; i++) {
		const struct maps_vma *vma = &scene->text.vma[i];
		__u64 hole = i ? vma[-1].end : 0;

		if (vma->start == spot || (scene->moves && vma->start == file))
			continue;
		if (!HOLDS(agrees(scene, vma->start, 0)) ||
		    !HOLDS(agrees(scene, hole, PROCMAP_QUERY_COVERING_OR_NEXT_VMA)))
			return 1;
	}
	return 0;
}

#define NEXT	PROCMAP_QUERY_COVERING_OR_NEXT_VMA

/* Answers that have to come at once. */
static const struct {
	const char *name;
	int (*fn)(struct procmap_child *child, void *arg);
	unsigned long at;
	__u64 flags;
} prompt[] = {
	{ "every hole", asks_for_holes, 0, 0 },
	{ "a hole far away", asks_for_one, AT_FAR, 0 },
	{ "the next VMA 128 MB away", asks_for_one, AT_FAR, NEXT },
	{ "what matches each filter elsewhere", walks_with_filters, 0, 0 },
	{ "all others", asks_for_others, 0, 0 },
};

/* Returns how many of the answers are wrong or do not come, or -errno. */
static int failures(const struct scene *scene)
{
	unsigned int i;
	int bad = 0;

	for (i = 0; i < ARRAY_SIZE(prompt); i++) {
		struct question question = {
			.scene = scene, .at = prompt[i].at, .flags = prompt[i].flags,
		};
		int ret;

		if (procmap_child_start(&question.child, prompt[i].fn, &question))
			return -errno;
		ret = stall_wait(&question.child);
		if (ret < 0)
			procmap_child_kill(&question.child);
		bad += ret != 0;
		fprintf(stderr, "# target %u, %s: %s\n", scene->number, prompt[i].name,
			ret < 0 ? "missing" : ret ? "wrong" : "right");
	}
	return bad;
}

TEST_F(holes, queries_pass_a_write_section_that_never_ends)
{
	unsigned int i;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	for (i = 0; i < NR_TARGETS; i++)
		ASSERT_EQ(0, start_target(&self->server, &self->scenes[i]));
	for (i = 0; i < NR_TARGETS; i++)
		ASSERT_EQ(0, hold_up(&self->server, &self->scenes[i]));
	for (i = 0; i < NR_TARGETS; i++)
		EXPECT_EQ(0, failures(&self->scenes[i]));
	for (i = 0; i < NR_TARGETS; i++) {
		EXPECT_FALSE(stall_has_come(&self->scenes[i].child));
		ASSERT_EQ(0, let_go(&self->server, &self->scenes[i]));
		EXPECT_EQ(0, procmap_child_finish(&self->scenes[i].child));
	}
}

/*
 * Query the spot as it is afterwards: a mapping of the file. That is not
 * executable; the next one that is comes after it.
 */
static int waits_for_the_spot(struct procmap_child *child, void *arg)
{
	const struct question *question = arg;
	const struct scene *scene = question->scene;
	struct procmap_call call;
	__u64 spot = (unsigned long)scene->base + AT_SPOT;

	if (!HOLDS(!stall_ask(scene->maps, spot - 1 + !question->flags, question->flags, &call)))
		return 1;
	if (question->flags & PROCMAP_QUERY_VMA_EXECUTABLE)
		return HOLDS(call.q.vma_start == spot + near_size()) ? 0 : 1;
	return HOLDS(call.q.vma_start == spot) && HOLDS(call.q.inode) &&
	       HOLDS(strstr(call.name, "file")) ? 0 : 1;
}

/*
 * Ask for the page itself, or for the next VMA from the hole before it. One
 * filter matches the old and the new VMA, the other one neither.
 */
static const __u64 waiting_flags[] = {
	0, NEXT, NEXT | PROCMAP_QUERY_VMA_READABLE, NEXT | PROCMAP_QUERY_VMA_EXECUTABLE,
};

#define NR_WAITING	ARRAY_SIZE(waiting_flags)

/*
 * mmap() may leave the old VMA in the tree until the new one takes its place. A
 * query that neither can match need not wait then, and waits otherwise.
 */
static bool may_be_prompt(const struct scene *scene, __u64 flags)
{
	return !scene->moves && (flags & PROCMAP_QUERY_VMA_EXECUTABLE);
}

TEST_F(holes, a_query_of_what_the_section_has_removed_waits_killably)
{
	struct scene *scene = &self->scenes[0];
	struct question waiting[2][NR_WAITING];
	long sleeps = stall_count("vma_search_sleep");
	unsigned int i;

	if (sleeps < 0)
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, start_target(&self->server, scene));
	ASSERT_EQ(0, hold_up(&self->server, scene));
	for (i = 0; i < 2 * NR_WAITING; i++) {
		struct question *question = &waiting[i / NR_WAITING][i % NR_WAITING];

		question->scene = scene;
		question->flags = waiting_flags[i % NR_WAITING];
		/* Nothing to kill */
		if (i < NR_WAITING && may_be_prompt(scene, question->flags))
			continue;
		ASSERT_EQ(0, procmap_child_start(&question->child, waits_for_the_spot, question));
		ASSERT_TRUE(may_be_prompt(scene, question->flags) ||
			    stall_gets_stuck(question->child.pid, question->child.pid));
	}
	EXPECT_LT(sleeps, stall_count("vma_search_sleep"));
	for (i = 0; i < NR_WAITING; i++) {
		struct procmap_child *child = &waiting[0][i].child;

		if (may_be_prompt(scene, waiting_flags[i]))
			continue;
		ASSERT_EQ(256 + SIGKILL, stall_kill(child));
		EXPECT_FALSE(stall_has_come(&waiting[1][i].child));
	}
	ASSERT_EQ(0, let_go(&self->server, scene));
	for (i = 0; i < NR_WAITING; i++)
		ASSERT_EQ(0, stall_wait(&waiting[1][i].child));
	EXPECT_EQ(0, procmap_child_finish(&scene->child));
}

TEST_F(holes, a_query_that_is_killed_beside_a_writer_is_EINTR)
{
	struct scene *scene = &self->scenes[0];
	struct question question = { .scene = scene };

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, start_target(&self->server, scene));
	ASSERT_EQ(0, hold_up(&self->server, scene));
	ASSERT_EQ(0, procmap_child_start(&question.child, waits_for_the_spot, &question));
	ASSERT_TRUE(stall_gets_stuck(question.child.pid, question.child.pid));
	EXPECT_EQ(-EINTR, procmap_child_kill_in_call(&question.child));
	ASSERT_EQ(0, let_go(&self->server, scene));
	EXPECT_EQ(0, procmap_child_finish(&scene->child));
}

/*
 * Scan the spot as it is afterwards, and what is after it. The writer was at
 * work when the scan began, so the scan is no snapshot.
 */
static int scans_the_spot(struct procmap_child *child, void *arg)
{
	const struct question *question = arg;
	const struct scene *scene = question->scene;
	const struct scan_how how = {
		.start = (unsigned long)scene->base + AT_SPOT,
		.records = MAX_RECORDS,
	};
	struct scan_list list;

	return HOLDS(!scan_list(scene->maps, &how, &list)) && HOLDS(list.nr) &&
	       HOLDS(list.record[0].start == how.start) && HOLDS(list.record[0].inode) &&
	       HOLDS(!list.generation) ? 0 : 1;
}

/*
 * Next to a writer that is held up, a scan finds everything before its spot, as
 * it was. That is no snapshot of all VMAs, but one of the code.
 */
static void scan_below_the_spot(struct __test_metadata *_metadata, const struct scene *scene,
				__u64 code_generation)
{
	const struct scan_how how = {
		.flags = SCAN_EXTRAS,
		.end = (unsigned long)scene->base + AT_SPOT,
		.records = MAX_RECORDS,
		.names = MAX_RECORDS * 64,
	};
	struct scan_list list;
	size_t i;

	ASSERT_EQ(0, scan_list(scene->maps, &how, &list));
	EXPECT_EQ(0, list.generation);
	EXPECT_EQ(code_generation, list.code_generation);
	for (i = 0; i < list.nr; i++) {
		EXPECT_EQ(scene->text.vma[i].start, list.record[i].start);
		EXPECT_EQ(scene->text.vma[i].end, list.record[i].end);
		EXPECT_STREQ(scene->text.vma[i].name, scan_name(&list, &list.record[i]));
	}
	EXPECT_EQ(how.end, scene->text.vma[i].start);
	scan_list_free(&list);
}

/*
 * A scan that does not wait ends before the spot of the writer. It is EAGAIN if
 * it has found nothing by then.
 */
TEST_F(holes, a_scan_that_does_not_wait_is_EAGAIN)
{
	struct scene *scene = &self->scenes[0];
	struct scan_list before;
	struct scan scan;
	__u64 spot;

	ASSERT_EQ(0, start_target(&self->server, scene));
	ASSERT_EQ(0, scan_everything(scene->maps, &before));
	ASSERT_EQ(0, hold_up(&self->server, scene));
	spot = (unsigned long)scene->base + AT_SPOT;

	ASSERT_EQ(0, scan_init(&scan, MAX_RECORDS, MAX_RECORDS * 64));
	scan.s.flags = SCAN_EXTRAS | PROCMAP_SCAN_NOWAIT;
	scan.s.start = spot;
	EXPECT_EQ(-EAGAIN, scan_call(scene->maps, &scan));
	scan.s.start = 0;
	if (!stall_has_vma_locks()) {
		/* Without per-VMA locks a writer has all VMAs. */
		EXPECT_EQ(-EAGAIN, scan_call(scene->maps, &scan));
	} else {
		ASSERT_EQ(0, scan_call(scene->maps, &scan));
		ASSERT_LT(0, scan.s.records_filled);
		EXPECT_EQ(0, scan.s.generation);
		EXPECT_LE(scan.records[scan.s.records_filled - 1].end, scan.s.next);
		EXPECT_GE(spot, scan.s.next);
		EXPECT_EQ(spot, before.record[scan.s.records_filled].start);
	}
	scan_free(&scan);
	scan_list_free(&before);
	ASSERT_EQ(0, let_go(&self->server, scene));
	EXPECT_EQ(0, procmap_child_finish(&scene->child));
}

TEST_F(holes, a_scan_that_is_killed_beside_a_writer_is_EINTR)
{
	struct scene *scene = &self->scenes[0];
	struct question killed = { .scene = scene }, waiting = { .scene = scene };
	struct procmap_scan before = {
		.size = sizeof(before),
		.record_size = sizeof(struct procmap_record),
	};

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, start_target(&self->server, scene));
	ASSERT_EQ(0, scan_ioctl(scene->maps, &before));
	ASSERT_NE(0, before.generation);
	ASSERT_NE(0, before.code_generation);
	ASSERT_EQ(0, hold_up(&self->server, scene));
	scan_below_the_spot(_metadata, scene, before.code_generation);
	ASSERT_EQ(0, procmap_child_start(&killed.child, scans_the_spot, &killed));
	ASSERT_EQ(0, procmap_child_start(&waiting.child, scans_the_spot, &waiting));
	ASSERT_TRUE(stall_gets_stuck(killed.child.pid, killed.child.pid));
	ASSERT_TRUE(stall_gets_stuck(waiting.child.pid, waiting.child.pid));
	EXPECT_EQ(-EINTR, procmap_child_kill_in_call(&killed.child));
	EXPECT_FALSE(stall_has_come(&waiting.child));
	ASSERT_EQ(0, let_go(&self->server, scene));
	ASSERT_EQ(0, stall_wait(&waiting.child));
	EXPECT_EQ(0, procmap_child_finish(&scene->child));
}

TEST_HARNESS_MAIN
