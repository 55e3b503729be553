// SPDX-License-Identifier: GPL-2.0
/* The process that is tortured, and its threads: see torture.h. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "torture_writers.h"

/* Pages of each file: more than the regions map of it. */
#define FILE_PAGES	(256 * TORTURE_UNITS)
/* Pages of a unit of the region that takes long to unmap. */
#define BIG_PAGES	64
/* Pages of a unit of the heap. The program uses a part of the heap already. */
#define HEAP_PAGES	8
/* Few, so that the file of all of them is soon another one. */
#define FILES_UNITS	2
/* Pages; more than the gap that the kernel keeps below a stack. */
#define STACK_GAP	1024

/* The sentinels have a file of their own, so they cannot merge with the regions. */
enum { FILE_REGIONS, FILE_SENTINELS, FILE_NEW };

/* A thread of the target that is no writer. */
struct other {
	struct torture *t;
	unsigned int actor;
	int (*fn)(struct torture *t, unsigned int actor);
};

static int open_file(struct torture_file *file, const char *name)
{
	struct stat st;

	file->fd = memfd_create(name, MFD_CLOEXEC);
	if (file->fd < 0 || ftruncate(file->fd, (off_t)FILE_PAGES * getpagesize()) ||
	    fstat(file->fd, &st))
		return -errno;
	file->inode = st.st_ino;
	file->dev_major = major(st.st_dev);
	file->dev_minor = minor(st.st_dev);
	snprintf(file->name, sizeof(file->name), "/memfd:%s (deleted)", name);
	return 0;
}

static struct torture_region *add_region(struct torture *t, enum torture_kind kind,
					 unsigned int units, unsigned int pages)
{
	struct torture_region *region = &t->region[t->nr_regions++];

	region->kind = kind;
	region->base = t->arena_end;
	region->unit = (__u64)pages * getpagesize();
	region->units = units;
	region->file = kind == REGION_SENTINEL ? FILE_SENTINELS :
		       kind == REGION_FILES ? FILE_NEW : FILE_REGIONS;
	t->arena_end += units * region->unit;
	return region;
}

static void add_hole(struct torture *t, unsigned int pages)
{
	t->arena_end += (__u64)pages * getpagesize();
}

/* @unit has no offset: each sentinel maps another part of the file. */
static void add_sentinel(struct torture *t, unsigned int units, __u32 unit)
{
	unsigned int number = t->nr_regions * 4, i;
	struct torture_region *region = add_region(t, REGION_SENTINEL, units, 1);

	for (i = 0; i < units; i++)
		region->state[0].unit[i] = UNIT_MAPPED | unit |
			(unit & UNIT_FILE ? (number + i) << UNIT_OFFSET_SHIFT : 0);
}

/*
 * Add one sentinel of each kind, each with another protection. The first one
 * could merge with its neighbours, so it gets holes on both sides.
 */
static void add_sentinels(struct torture *t, unsigned int prot)
{
	add_hole(t, 1);
	add_sentinel(t, 2, prot % 8);
	add_hole(t, 1);
	add_sentinel(t, 1, UNIT_FILE | (prot + 3) % 8);
	add_sentinel(t, 3, UNIT_FILE | UNIT_SHARED | (prot + 5) % 8);
}

int torture_lay_out(struct torture *t)
{
	unsigned int i;
	/* Of the last one, only the name is of use. */
	int ret = open_file(&t->file[FILE_REGIONS], "torture") ?:
		  open_file(&t->file[FILE_SENTINELS], "sentinel") ?:
		  open_file(&t->file[FILE_NEW], TORTURE_NEW_FILE);

	t->arena_end = TORTURE_ARENA;
	for (i = 0; i < TORTURE_MIXED; i++) {
		add_sentinels(t, i);
		add_region(t, REGION_MIXED, TORTURE_UNITS, 1);
	}
	add_sentinels(t, i++);
	add_region(t, REGION_BIG, TORTURE_UNITS, BIG_PAGES);
	add_sentinels(t, i++);
	add_hole(t, STACK_GAP);
	add_region(t, REGION_STACK, TORTURE_UNITS, 1);
	add_sentinels(t, i++);
	add_region(t, REGION_FILES, FILES_UNITS, 1);
	while (i < 8)
		add_sentinels(t, i++);
	/* The last sentinel passes every filter. */
	add_sentinel(t, 1, UNIT_FILE | UNIT_SHARED | UNIT_READ | UNIT_WRITE | UNIT_EXEC);
	return ret;
}

static bool map_sentinel(const struct torture *t, const struct torture_region *region)
{
	__u32 unit = region->state[0].unit[0];
	char *addr = (char *)(unsigned long)region->base;
	int flags = MAP_FIXED_NOREPLACE | (unit & UNIT_SHARED ? MAP_SHARED : MAP_PRIVATE) |
		    (unit & UNIT_FILE ? 0 : MAP_ANONYMOUS);

	return mmap(addr, region->units * region->unit, torture_prot(unit), flags,
		    unit & UNIT_FILE ? t->file[region->file].fd : -1,
		    (unit >> UNIT_OFFSET_SHIFT) * region->unit) == addr;
}

/*
 * Make a region of the end of the heap, rounded up to whole units. It is a VMA
 * of its own if the rest of the heap was touched before the target was forked.
 * Returns the number of units that are in use, 0 on failure.
 */
static unsigned int find_heap(struct torture *t, int maps)
{
	struct torture_region *region = &t->region[t->nr_regions++];
	struct procmap_query q = { .size = sizeof(q) };
	unsigned int used, i;

	region->kind = REGION_HEAP;
	region->unit = (__u64)HEAP_PAGES * getpagesize();
	region->units = TORTURE_UNITS;
	if (sbrk(region->unit) == (void *)-1)
		return 0;
	q.query_addr = (unsigned long)sbrk(0) - 1;
	if (procmap_ioctl(maps, &q))
		return 0;
	region->base = q.vma_start;
	used = (q.vma_end - q.vma_start + region->unit - 1) / region->unit;
	if (used >= region->units || brk((char *)(unsigned long)q.vma_start + used * region->unit))
		return 0;
	for (i = 0; i < used; i++)
		region->state[0].unit[i] = UNIT_MAPPED | UNIT_READ | UNIT_WRITE | UNIT_HEAP;
	return used;
}

/* Starting a thread may need the heap, so change nothing before all threads run. */
static void wait_for_all(struct torture *t)
{
	while (!__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) && !torture_stopped(t))
		usleep(1000);
}

static void *writer(void *arg)
{
	struct torture_owner *o = arg;

	wait_for_all(o->t);
	torture_write(o);
	return NULL;
}

static void *other(void *arg)
{
	struct other *o = arg;

	wait_for_all(o->t);
	o->fn(o->t, o->actor);
	return NULL;
}

struct threads {
	pthread_t thread[TORTURE_THREADS];
	unsigned int nr;
	struct torture_owner owner[TORTURE_THREADS];
	struct other other[TORTURE_THREADS];
};

static bool start(struct threads *threads, void *(*fn)(void *arg), void *arg)
{
	return !pthread_create(&threads->thread[threads->nr++], NULL, fn, arg);
}

static bool start_writer(struct torture *t, struct threads *threads,
			 struct torture_region *region, unsigned int heap, int maps)
{
	struct torture_owner *o = &threads->owner[threads->nr];

	o->t = t;
	o->region = region;
	o->actor = threads->nr;
	o->random = torture_seed(t, threads->nr);
	o->maps = maps;
	o->heap_least = heap;
	o->file = -1;
	o->uffd = region->kind == REGION_MIXED ? procmap_uffd_open() : -1;
	if (region->kind == REGION_MIXED && o->uffd < 0) {
		t->without[OP_UFFD_REGISTER] = true;
		t->without[OP_UFFD_UNREGISTER] = true;
	}
	return start(threads, writer, o);
}

static bool start_other(struct torture *t, struct threads *threads,
			int (*fn)(struct torture *t, unsigned int actor))
{
	struct other *o = &threads->other[threads->nr];

	*o = (struct other){ .t = t, .actor = threads->nr, .fn = fn };
	return start(threads, other, o);
}

static bool start_all(struct torture *t, struct threads *threads, unsigned int heap, int maps)
{
	unsigned int i;
	bool good = true;

	for (i = 0; i < t->nr_regions; i++) {
		struct torture_region *region = &t->region[i];

		if (region->kind == REGION_SENTINEL)
			good = good && map_sentinel(t, region);
		else
			good = good && start_writer(t, threads, region, heap, maps);
	}
	for (i = 0; i < TORTURE_READERS; i++)
		good = good && start_other(t, threads, torture_read);
	if (t->text)
		good = good && start_other(t, threads, torture_read_texts);
	return good && start_other(t, threads, torture_forks);
}

/* The process that is tortured. Returns the exit status. */
int torture_target(struct torture *t, unsigned int actor)
{
	static struct threads threads;
	int maps = maps_open(0);
	unsigned int heap = maps < 0 ? 0 : find_heap(t, maps);
	unsigned int i;

	t->target = getpid();
	if (!heap || !start_all(t, &threads, heap, maps))
		torture_fail(t, "the target cannot be set up: errno %d", errno);
	__atomic_store_n(&t->ready, 1, __ATOMIC_RELEASE);
	for (i = 0; i < threads.nr; i++)
		pthread_join(threads.thread[i], NULL);
	return 0;
}
