// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes of procmap_bench in which readers look at a process that changes its
 * address space meanwhile. It has a processor of its own, and the readers share
 * the others. So it waits for locks, not for the scheduler. A busy neighbour has
 * a cost of its own: it shares the caches, and an emulator may share out few
 * processors. To show that cost, the same readers look at another process
 * ("elsewhere").
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "bench_scene.h"

#define LOAD_MAX_READERS	16
#define LOAD_BUFFER		65536
#define LOAD_NAME		256
#define LOAD_STORM_SHARE	4	/* one query in so many asks for the VMAs that change */

/**
 * struct reader - one thread that looks at the process
 * @scene: its scene
 * @cpu: its processor
 * @err: -errno if it failed
 * @size: bytes of the whole text when it began
 * @lookups: how many lookups it did
 * @took: how long each of them took
 */
struct reader {
	const struct bench_scene_state *scene;
	pthread_t thread;
	int cpu;
	int err;
	unsigned long size;
	double lookups;
	__u64 random;
	struct bench_hist took;
};

static bool readers_stop;

static __u64 reader_random(struct reader *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random;
}

static const struct bench_target *reader_target(const struct bench_scene_state *state)
{
	return state->row->elsewhere ? state->bench->twin : state->bench->target;
}

static bool reader_goes_on(void)
{
	return !__atomic_load_n(&readers_stop, __ATOMIC_RELAXED);
}

static int reader_open(const struct reader *r)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", reader_target(r->scene)->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Read the whole text from the start, again and again; part of a text counts as
 * a fraction.
 */
static int reader_text(struct reader *r, int fd, char *buffer)
{
	unsigned long bytes = 0;
	__u64 began = bench_clock();
	long done;

	while (reader_goes_on()) {
		done = bench_call3(SYS_read, fd, buffer, LOAD_BUFFER);
		if (done < 0)
			return done;
		bytes += done;
		if (done)
			continue;
		bench_hist_add(&r->took, bench_clock() - began);
		began = bench_clock();
		if (lseek(fd, 0, SEEK_SET))
			return -errno;
	}
	r->lookups = (double)bytes / r->size;
	return 0;
}

static unsigned long reader_address(struct reader *r, bool *stays)
{
	const struct bench_target *t = reader_target(r->scene);
	const __u64 random = reader_random(r);

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
		r->lookups++;
	}
	return 0;
}

static void *reader_main(void *arg)
{
	static char buffer[LOAD_MAX_READERS][LOAD_BUFFER];
	static unsigned int next;
	struct reader *r = arg;
	char *own = buffer[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % LOAD_MAX_READERS];
	cpu_set_t cpus;
	int fd;

	CPU_ZERO(&cpus);
	CPU_SET(r->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		r->err = -errno;
		return NULL;
	}
	fd = reader_open(r);
	if (fd < 0) {
		r->err = fd;
		return NULL;
	}
	r->err = r->scene->row->query ? reader_query(r, fd, own) : reader_text(r, fd, own);
	close(fd);
	return NULL;
}

static int text_size(pid_t pid, unsigned long *size)
{
	static char buffer[LOAD_BUFFER];
	char path[64];
	long done;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*size = 0;
	while ((done = read(fd, buffer, sizeof(buffer))) > 0)
		*size += done;
	close(fd);
	return done || !*size ? -EIO : 0;
}

/* The first processor belongs to the writer. */
static int reader_cpu(const struct bench_scene_state *state, unsigned int i)
{
	return state->cpu[1 + i % (state->cpus - 1)];
}

static int readers_start(const struct bench_scene_state *state, struct reader *readers)
{
	unsigned long size = 1;
	unsigned int i;
	int err = 0;

	if (!state->row->query && state->row->readers)
		err = text_size(reader_target(state)->pid, &size);
	readers_stop = false;
	for (i = 0; i < state->row->readers && !err; i++) {
		readers[i].scene = state;
		readers[i].cpu = reader_cpu(state, i);
		readers[i].size = size;
		readers[i].random = 0x9e3779b97f4a7c15 * (i + 1);
		err = -pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]);
		if (err)
			readers[i].thread = 0;
	}
	return err;
}

static int readers_end(struct bench_scene_state *state, struct reader *readers,
		       struct bench_round *round)
{
	unsigned int i;
	int err = 0;

	__atomic_store_n(&readers_stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < state->row->readers; i++) {
		if (!readers[i].thread)
			continue;
		pthread_join(readers[i].thread, NULL);
		err = err ?: readers[i].err;
		round->lookups += readers[i].lookups;
		bench_hist_merge(&state->now[BENCH_SCENE_READER], &readers[i].took);
	}
	return err;
}

static int storm_start(const struct bench_scene_state *state)
{
	unsigned int i;

	for (i = 0; i < BENCH_STORM_CALLS; i++)
		bench_hist_clear(&bench_storm->took[i]);
	bench_storm->stop = false;
	bench_storm->cpu = state->cpu[0];
	return write(state->bench->target->order, "", 1) == 1 ? 0 : -EPIPE;
}

static int storm_end(struct bench_scene_state *state, struct bench_round *round)
{
	unsigned int i;
	char byte;

	__atomic_store_n(&bench_storm->stop, true, __ATOMIC_RELAXED);
	if (read(state->bench->target->report, &byte, 1) != 1)
		return -EPIPE;
	for (i = 0; i < BENCH_STORM_CALLS; i++)
		bench_hist_merge(&state->now[i], &bench_storm->took[i]);
	round->sleeps = bench_storm->sleeps;
	return bench_storm->err;
}

static double seconds_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - begin->tv_sec + (now.tv_nsec - begin->tv_nsec) / 1000000000.0;
}

static int load_play(struct bench_scene_state *state, struct bench_round *round)
{
	const struct timespec time = {
		.tv_sec = state->milliseconds / 1000,
		.tv_nsec = state->milliseconds % 1000 * 1000000,
	};
	struct reader *readers = calloc(LOAD_MAX_READERS, sizeof(*readers));
	struct timespec begin;
	int err, end;

	if (!readers)
		return bench_scene_failed(state, "readers", -ENOMEM);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	err = readers_start(state, readers);
	end = err ?: storm_start(state);
	if (!end) {
		nanosleep(&time, NULL);
		end = storm_end(state, round);
	}
	round->seconds = seconds_since(&begin);
	err = readers_end(state, readers, round) ?: err;
	free(readers);
	if (end)
		return bench_scene_failed(state, "the writer", end);
	return err ? bench_scene_failed(state, "a reader", err) : 0;
}

static int load_setup(struct bench_scene_state *state)
{
	const struct bench_target want = { .layout = BENCH_MIXED, .vmas = state->row->vmas };
	struct bench *b = state->bench;
	struct procmap_query q = { .size = sizeof(q) };
	int err;

	if (state->row->readers && state->cpus < 2)
		return bench_unavailable(b, "needs two processors");
	err = bench_target_get(b, &want);
	if (!err && state->row->elsewhere)
		err = bench_target_get_twin(b, &want);
	if (err)
		return err;
	q.query_addr = b->target->area;
	if (state->row->query &&
	    bench_call3(SYS_ioctl, b->target->maps, PROCMAP_QUERY, &q) == -ENOTTY)
		return bench_unavailable(b, "the kernel has no PROCMAP_QUERY");
	return 0;
}

static const unsigned long sizes[] = { 30, 1000, 10000, 100000 };

/* The readers of a process of one size. */
static const struct {
	const char *key;
	const char *what;
	unsigned int readers;
	bool query;
	bool elsewhere;
} casts[] = {
	{ "stall/none", "mmap, mprotect, munmap; nobody reads", 0, false, false },
	{ "stall/text-1", "the same, 1 reads the text all the time", 1, false, false },
	{ "stall/text-2", "2 read the text", 2, false, false },
	{ "stall/text-4", "4 read the text", 4, false, false },
	{ "stall/text-elsewhere-1", "1 reads the text of another process", 1, false, true },
	{ "stall/text-elsewhere-2", "2 read it", 2, false, true },
	{ "stall/text-elsewhere-4", "4 read it", 4, false, true },
	{ "stall/query-1", "1 queries all the time", 1, true, false },
	{ "stall/query-2", "2 query", 2, true, false },
	{ "stall/query-4", "4 query", 4, true, false },
	{ "stall/elsewhere-1", "1 queries another process all the time", 1, true, true },
	{ "stall/elsewhere-2", "2 query another process", 2, true, true },
	{ "stall/elsewhere-4", "4 query another process", 4, true, true },
};

#define LOAD_SCENES	(ARRAY_SIZE(sizes) * ARRAY_SIZE(casts))

struct bench_scene bench_load_scenes[LOAD_SCENES];
unsigned int bench_load_nr;

/* Fill the table. */
void bench_load_init_scenes(void)
{
	static char names[LOAD_SCENES][32];
	struct bench_scene *row = bench_load_scenes;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < ARRAY_SIZE(casts); k++, row++) {
			snprintf(names[bench_load_nr], sizeof(names[0]), "%s/%lu", casts[k].key,
				 sizes[i]);
			row->name = names[bench_load_nr++];
			row->what = casts[k].what;
			row->vmas = sizes[i];
			row->readers = casts[k].readers;
			row->query = casts[k].query;
			row->elsewhere = casts[k].elsewhere;
			row->setup = load_setup;
			row->play = load_play;
		}
	}
}
