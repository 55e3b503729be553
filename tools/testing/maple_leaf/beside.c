// SPDX-License-Identifier: GPL-2.0
/* Threads that look at a tree while another thread writes to it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "beside.h"

#define READERS	3
#define STORES	20000
/* This many nodes may wait for RCU: memory is limited. */
#define NODES	200000

struct reader {
	pthread_t thread;
	struct world *world;
	const bool *stop;
	unsigned int *started;
	u64 rng;
	struct look_stats stats;
};

static void *reader_run(void *arg)
{
	struct reader *reader = arg;

	rcu_register_thread();
	__atomic_add_fetch(reader->started, 1, __ATOMIC_RELAXED);
	while (!READ_ONCE(*reader->stop))
		look(reader->world, look_index(reader->world, &reader->rng), &reader->stats);
	rcu_unregister_thread();
	return NULL;
}

static void reader_start(struct reader *reader)
{
	if (pthread_create(&reader->thread, NULL, reader_run, reader)) {
		perror("pthread_create");
		exit(2);
	}
}

/* One tree has this number of entries at most: see WORLD_IDS. */
static void write_on(struct world *world)
{
	unsigned int stores = 0, nr;

	while (stores < STORES) {
		nr = 1 + below(&world->rng, 100);
		world_stores(world, nr);
		stores += nr;
		if (tree_nodes() > NODES)
			rcu_barrier();
		/* Readers must also find a tree that does not change. */
		if (!below(&world->rng, 8))
			sched_yield();
	}
}

/**
 * beside_round() - look at one tree and write to it
 * @world: the world
 * @rng: the state of the random numbers
 * @stats: the counts to add to
 */
void beside_round(struct world *world, u64 *rng, struct look_stats *stats)
{
	static const unsigned int places[] = { 2, 3, 12, 40, 150, 600, WORLD_PLACES };
	struct reader readers[READERS];
	unsigned int started = 0;
	bool stop = false;
	unsigned int i;

	world_init(world, random64(rng), places[below(rng, ARRAY_SIZE(places))],
		   MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, below(rng, 2));
	world_stores(world, below(rng, 3) * world->places);
	for (i = 0; i < READERS; i++) {
		readers[i] = (struct reader) {
			.world = world, .stop = &stop, .started = &started, .rng = random64(rng),
		};
		reader_start(&readers[i]);
	}
	while (__atomic_load_n(&started, __ATOMIC_RELAXED) < READERS)
		sched_yield();
	write_on(world);
	WRITE_ONCE(stop, true);
	for (i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		look_add(stats, &readers[i].stats);
	}
	world_destroy(world);
	rcu_barrier();
}
