// SPDX-License-Identifier: GPL-2.0
/*
 * Look at a leaf between any two steps of a store, and store between any two
 * steps of a look. Usage: maple_leaf_steps [ROUNDS [SEED]]
 *
 * Reader and writer are two contexts of one thread. The compiler inserts a call
 * before each memory access, as for ThreadSanitizer. This file provides these
 * calls in its place. At some of them the thread switches to the other context.
 * The seed alone decides when, so a run can be repeated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "look.h"
#include "steps.h"

#define STACK	262144
#define STORES	3000
#define CASES	2
/* What is not met in so many rounds is never met. */
#define MEET_ROUNDS	10000

enum { READER, WRITER };

static struct world world;
static struct look_stats stats;
static unsigned long switches, stores;
static ucontext_t rest, contexts[2];
static unsigned int running;
static bool finished;
/* Thread-local: the thread that frees nodes must not step. */
static __thread bool stepping;
static unsigned int steps_left;
static u64 choice;

/* Sometimes a context runs for one step, sometimes for a few stores. */
static unsigned int steps_until_switch(void)
{
	return 1 + below(&choice, 1U << below(&choice, 13));
}

static void go_over(void)
{
	unsigned int from = running;

	running = from == READER ? WRITER : READER;
	steps_left = steps_until_switch();
	switches++;
	swapcontext(&contexts[from], &contexts[running]);
}

static void step(void)
{
	if (stepping && !--steps_left)
		go_over();
}

static void read_on(void)
{
	while (!finished)
		look(&world, look_index(&world, &choice), &stats);
	setcontext(&rest);
}

static void write_on(void)
{
	world_stores(&world, STORES);
	stores += STORES;
	stepping = false;
	finished = true;
	/* The reader finishes its current look, and with it the RCU read section. */
	setcontext(&contexts[READER]);
}

static void context_init(ucontext_t *context, void (*run)(void), void *stack)
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK;
	context->uc_link = NULL;
	makecontext(context, run, 0);
}

static void steps_round(u64 *rng)
{
	static const unsigned int places[] = { 2, 3, 12, 40, 150, 600, WORLD_PLACES };
	static char stacks[2][STACK];

	world_init(&world, random64(rng), places[below(rng, ARRAY_SIZE(places))],
		   MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, below(rng, 2));
	world_stores(&world, below(rng, 3) * world.places);
	choice = random64(rng);
	context_init(&contexts[READER], read_on, stacks[READER]);
	context_init(&contexts[WRITER], write_on, stacks[WRITER]);
	running = WRITER;
	finished = false;
	steps_left = steps_until_switch();
	stepping = true;
	swapcontext(&rest, &contexts[WRITER]);
	world_destroy(&world);
	rcu_barrier();
}

static bool all_met(void)
{
	return stats.again && stats.astray && stats.nodeless && stats.quiet;
}

int main(int argc, char **argv)
{
	const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 320;
	unsigned long round;
	u64 rng;

	tap_start(argc > 2 ? argv[2] : "1", CASES);
	rcu_register_thread();
	tree_start();
	rng = tap_begin("a look between the steps of stores, and stores between those of a look");
	for (round = 0; round < rounds || (!all_met() && round < MEET_ROUNDS); round++)
		steps_round(&rng);
	tap_end();
	rcu_unregister_thread();

	tap_begin("nodes that a store had replaced, and leaves that it was changing, were met");
	tap_must_meet("looks that met a replaced node", stats.again);
	tap_must_meet("entries of other times or places", stats.astray);
	tap_must_meet("trees without nodes", stats.nodeless);
	tap_must_meet("looks that no store came between", stats.quiet);
	tap_end();
	printf("# stores %lu, switches %lu; ", stores, switches);
	look_print(&stats);
	return 0;
}

/* Called by the compiler at a memory access, under many names. */
void steps_access(void)
{
	step();
}

/* Called by the compiler for rcu_dereference(). Returns the value at the address. */
u64 __tsan_atomic64_load(const u64 *address, int order)
{
	step();
	return READ_ONCE(*address);
}
