// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes of procmap_bench in which readers look at a process that changes its
 * address space meanwhile. It has a processor of its own, and the readers share
 * the others. So it waits for locks, not for the scheduler. A busy neighbour has
 * a cost of its own: it shares the caches, and an emulator may share out few
 * processors. To show that cost, the same readers look at another process
 * ("elsewhere"). The change is the storm: it maps, protects and unmaps memory all
 * the time, and measures how long each call takes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "bench.h"
#include "stall.h"

#define LOAD_MAX_READERS	16
#define LOAD_BUFFER		65536
#define LOAD_NAME		256
#define LOAD_STORM_SHARE	4	/* one query in so many asks for the VMAs that change */
#define STORM_LIVE		8	/* slots that are mapped at a time */
#define STORM_MAPPED		(BENCH_STORM_SLOT / 2)

static int storm_call(enum bench_call kind, char *at)
{
	struct bench_hist *hist = &bench_shared->took[kind];
	__u64 began = bench_clock();
	long ret;

	if (kind == BENCH_MMAP)
		ret = bench_call6(SYS_mmap, at, STORM_MAPPED, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else if (kind == BENCH_MPROTECT)
		ret = bench_call3(SYS_mprotect, at, STORM_MAPPED / 2, PROT_READ);
	else
		ret = bench_call3(SYS_munmap, at, STORM_MAPPED, 0);
	bench_hist_add(hist, bench_clock() - began - bench_overhead);
	return ret < 0 && ret > -4096 ? ret : 0;
}

static char *storm_slot(unsigned long at, unsigned long i)
{
	return (char *)at + i % BENCH_STORM_SLOTS * BENCH_STORM_SLOT;
}

static int storm_until_stopped(unsigned long at)
{
	unsigned long i;
	int err = 0;

	for (i = 0; !err && !__atomic_load_n(&bench_shared->stop, __ATOMIC_RELAXED); i++) {
		err = storm_call(BENCH_MMAP, storm_slot(at, i));
		if (!err)
			err = storm_call(BENCH_MPROTECT, storm_slot(at, i));
		if (!err && i >= STORM_LIVE)
			err = storm_call(BENCH_MUNMAP, storm_slot(at, i - STORM_LIVE));
	}
	munmap((void *)at, BENCH_STORM_SIZE);
	return err;
}

static unsigned long storm_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/* Change the address space until bench_shared->stop is set. */
int bench_storm(unsigned long at)
{
	unsigned long before;
	int err = bench_to_cpu(bench_shared->cpu);

	if (err)
		return err;
	before = storm_sleeps();
	err = storm_until_stopped(at);
	bench_shared->sleeps = storm_sleeps() - before;
	return err;
}

/* One thread that looks at the process. */
struct reader {
	const struct bench *scene;
	pthread_t thread;
	int cpu;
	int err;
	__u64 random;
	struct bench_hist took;	/* how long each look took */
};

static bool readers_stop;

static const struct bench_target *reader_target(const struct bench *scene)
{
	return scene->row->elsewhere ? &bench_shared->twin : &bench_shared->target;
}

static bool reader_goes_on(void)
{
	return !__atomic_load_n(&readers_stop, __ATOMIC_RELAXED);
}

static int reader_text(struct reader *r, int fd, char *buffer)
{
	__u64 began = bench_clock();
	long done;

	while (reader_goes_on()) {
		done = bench_call3(SYS_read, fd, buffer, LOAD_BUFFER);
		if (done < 0)
			return done;
		if (done)
			continue;
		bench_hist_add(&r->took, bench_clock() - began);
		began = bench_clock();
		if (lseek(fd, 0, SEEK_SET))
			return -errno;
	}
	return 0;
}

static unsigned long reader_address(struct reader *r, bool *stays)
{
	const struct bench_target *t = reader_target(r->scene);
	const __u64 random = bench_random(&r->random);

	*stays = random >> 32 & (LOAD_STORM_SHARE - 1);
	if (*stays)
		return t->area + (random & 0xffffffff) % t->made * t->stride;
	return t->storm + (random & 0xffffffff) % BENCH_STORM_SIZE;
}

static int reader_query(struct reader *r, int fd, char *name)
{
	struct procmap_query q = { .size = sizeof(q) };
	unsigned long address;
	__u64 began;
	bool stays;
	long err;

	while (reader_goes_on()) {
		address = reader_address(r, &stays);
		q.query_addr = address;
		q.vma_name_addr = (unsigned long)name;
		q.vma_name_size = LOAD_NAME;
		began = bench_clock();
		err = bench_call3(SYS_ioctl, fd, PROCMAP_QUERY, &q);
		bench_hist_add(&r->took, bench_clock() - began - bench_overhead);
		if (err == -ENOENT && !stays)
			err = 0;
		else if (!err && (address < q.vma_start || address >= q.vma_end))
			err = -EBADMSG;
		if (err)
			return err;
	}
	return 0;
}

static void *reader_main(void *arg)
{
	static char buffer[LOAD_MAX_READERS][LOAD_BUFFER];
	static unsigned int next;
	struct reader *r = arg;
	char *own = buffer[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % LOAD_MAX_READERS];
	int fd;

	r->err = bench_to_cpu(r->cpu);
	if (r->err)
		return NULL;
	fd = maps_open(reader_target(r->scene)->child.pid);
	if (fd < 0) {
		r->err = fd;
		return NULL;
	}
	r->err = r->scene->row->query ? reader_query(r, fd, own) : reader_text(r, fd, own);
	close(fd);
	return NULL;
}

/* The first processor belongs to the writer. */
static int reader_cpu(unsigned int i)
{
	return bench_cpu[1 + i % (bench_cpus - 1)];
}

static int readers_start(const struct bench *b, struct reader *readers)
{
	unsigned int i;
	int err = 0;

	readers_stop = false;
	for (i = 0; i < b->row->readers && !err; i++) {
		readers[i].scene = b;
		readers[i].cpu = reader_cpu(i);
		readers[i].random = 0x9e3779b97f4a7c15 * (i + 1);
		err = -pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]);
		if (err)
			readers[i].thread = 0;
	}
	return err;
}

static int readers_end(const struct bench *b, struct reader *readers)
{
	unsigned int i;
	int err = 0;

	__atomic_store_n(&readers_stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < b->row->readers; i++) {
		if (!readers[i].thread)
			continue;
		pthread_join(readers[i].thread, NULL);
		err = err ?: readers[i].err;
		bench_hist_merge(&bench_now[BENCH_READER], &readers[i].took);
	}
	return err;
}

static int storm_start(const struct bench *b)
{
	memset(bench_shared->took, 0, sizeof(bench_shared->took));
	bench_shared->stop = false;
	bench_shared->cpu = bench_cpu[0];
	return bench_target_order(b->target, BENCH_ORDER_STORM);
}

static int storm_end(const struct bench *b, struct bench_round *round)
{
	unsigned int i;
	int err;

	__atomic_store_n(&bench_shared->stop, true, __ATOMIC_RELAXED);
	err = bench_target_wait(b->target);
	for (i = 0; i < BENCH_READER; i++)
		bench_hist_merge(&bench_now[i], &bench_shared->took[i]);
	round->sleeps = bench_shared->sleeps;
	return err;
}

static int load_play(struct bench *b, struct bench_round *round)
{
	struct reader *readers = calloc(LOAD_MAX_READERS, sizeof(*readers));
	__u64 begin;
	int err, end;

	if (!readers)
		return bench_failed(b, "readers", -ENOMEM);
	begin = stall_now_ns();
	err = readers_start(b, readers);
	end = err ?: storm_start(b);
	if (!end) {
		usleep(bench_options.milliseconds * 1000);
		end = storm_end(b, round);
	}
	round->seconds = (stall_now_ns() - begin) / 1e9;
	err = readers_end(b, readers) ?: err;
	free(readers);
	if (end)
		return bench_failed(b, "the writer", end);
	return err ? bench_failed(b, "a reader", err) : 0;
}

static int load_setup(struct bench *b)
{
	struct procmap_query q = { .size = sizeof(q) };
	int err;

	if (b->row->readers && bench_cpus < 2)
		return bench_unavailable(b, "needs two processors");
	err = bench_target_get(b);
	if (err)
		return err;
	q.query_addr = b->target->area;
	if (b->row->query && bench_call3(SYS_ioctl, b->fd, PROCMAP_QUERY, &q) == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_QUERY");
	return 0;
}

static const unsigned long sizes[] = { 30, 1000, 10000, 100000 };

/* The readers of a process of one size. */
static const struct bench_row casts[] = {
	{ "stall/none", "mmap, mprotect, munmap; nobody reads", .readers = 0 },
	{ "stall/text-1", "the same, 1 reads the text all the time", .readers = 1 },
	{ "stall/text-2", "2 read the text", .readers = 2 },
	{ "stall/text-4", "4 read the text", .readers = 4 },
	{ "stall/text-elsewhere-1", "1 reads the text of another process", .readers = 1,
	  .elsewhere = true },
	{ "stall/text-elsewhere-2", "2 read it", .readers = 2, .elsewhere = true },
	{ "stall/text-elsewhere-4", "4 read it", .readers = 4, .elsewhere = true },
	{ "stall/query-1", "1 queries all the time", .readers = 1, .query = true },
	{ "stall/query-2", "2 query", .readers = 2, .query = true },
	{ "stall/query-4", "4 query", .readers = 4, .query = true },
	{ "stall/elsewhere-1", "1 queries another process all the time", .readers = 1,
	  .query = true, .elsewhere = true },
	{ "stall/elsewhere-2", "2 query another process", .readers = 2, .query = true,
	  .elsewhere = true },
	{ "stall/elsewhere-4", "4 query another process", .readers = 4, .query = true,
	  .elsewhere = true },
};

#define LOAD_ROWS	(ARRAY_SIZE(sizes) * ARRAY_SIZE(casts))

struct bench_row bench_load_rows[LOAD_ROWS + 1];

void bench_load_init_rows(void)
{
	static char names[LOAD_ROWS][32];
	struct bench_row *row;
	unsigned int i;

	for (i = 0; i < LOAD_ROWS; i++) {
		row = &bench_load_rows[i];
		*row = casts[i % ARRAY_SIZE(casts)];
		row->vmas = sizes[i / ARRAY_SIZE(casts)];
		snprintf(names[i], sizeof(names[i]), "%s/%lu", row->name, row->vmas);
		row->name = names[i];
		row->setup = load_setup;
		row->play = load_play;
	}
}
