// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts, sleeping and RCU of the machine. The seed alone decides when one
 * context goes on in place of another, so a run can be repeated.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#include "machine.h"
#include "shim/kernel.h"
#include "world.h"

#define STACK		(256 * 1024)
#define SLEEP_MAX	10000000	/* steps */

/**
 * struct context - one thread of the machine
 * @start: where it begins
 * @started: it has begun
 * @jump: where it goes on
 * @waits: wake_up_var() of this variable wakes it; NULL: it runs
 * @woken: that was done since
 * @asleep: it does not go on until it is woken
 * @slept: when it began to sleep, in steps
 * @nesting: of its RCU read sections
 * @done: it has returned
 */
static struct context {
	ucontext_t start;
	bool started;
	jmp_buf jump;
	const void *waits;
	bool woken;
	bool asleep;
	unsigned long slept;
	unsigned int nesting;
	bool done;
} contexts[CONTEXTS];

struct machine_stats machine_stats;

static char stacks[CONTEXTS][STACK] __aligned(64);
static void (*functions[CONTEXTS])(void);
static unsigned int running, steps_left;

/*
 * How long a context runs, and writes stay pending: another power of two in each
 * round, so that rare orders become common.
 */
static unsigned int run_bits, drift_bits;
static bool stepping;
static u64 choice;
static jmp_buf rest;

/* What call_rcu() has got, oldest first; and the last grace period that ended. */
static struct rcu_head *callbacks;
static u64 grace;

/* Who runs. Returns the number of the context. */
unsigned int machine_context(void)
{
	return running;
}

/* Is this memory of one context alone? Returns true if so, and true if the machine does not run. */
bool machine_is_stack(uintptr_t address)
{
	return !stepping || address - (uintptr_t)stacks < sizeof(stacks);
}

static bool can_run(const struct context *context)
{
	return !context->done && (!context->asleep || context->woken);
}

static void check_sleepers(void)
{
	unsigned int i;

	for (i = 0; i < CONTEXTS; i++) {
		const struct context *context = &contexts[i];

		if (context->asleep && !context->woken &&
		    machine_stats.steps - context->slept > SLEEP_MAX)
			wrong("a writer sleeps, and nobody wakes it", i);
	}
}

static void go_on_with(unsigned int next)
{
	struct context *from = &contexts[running];

	machine_stats.switches++;
	running = next;
	if (_setjmp(from->jump))
		return;
	if (contexts[next].started)
		_longjmp(contexts[next].jump, 1);
	/* Later switches need no system call. */
	contexts[next].started = true;
	setcontext(&contexts[next].start);
}

/* Let another context run, if there is one that can. */
static void go_over(void)
{
	unsigned int next, tries;

	check_sleepers();
	steps_left = 1 + below(&choice, 1U << below(&choice, run_bits));
	next = below(&choice, CONTEXTS);
	for (tries = 0; tries < CONTEXTS; tries++, next = (next + 1) % CONTEXTS) {
		if (next != running && can_run(&contexts[next])) {
			go_on_with(next);
			return;
		}
	}
	if (!can_run(&contexts[running]))
		wrong("all contexts sleep", running);
}

/* Before each memory access. */
void machine_step(void)
{
	if (!stepping)
		return;
	machine_stats.steps++;
	if (!--steps_left)
		go_over();
	if (!below(&choice, 1U << drift_bits))
		memory_drift(below(&choice, CONTEXTS));
}

/* Let others run. */
void shim_yield(void)
{
	if (!stepping)
		return;
	/* Who waits for a sleeper in a loop takes steps, too: check_sleepers() counts them. */
	machine_stats.steps++;
	go_over();
}

/* From here on, wake_up_var() wakes this context. */
void shim_prepare_to_wait(const void *var)
{
	struct context *context = &contexts[running];

	if (!stepping)
		return;
	context->woken = false;
	context->waits = var;
	smp_mb(); /* In the queue before the condition; pairs with wake_up_var(). */
}

/* Sleep, and prepare to wait again. */
void shim_schedule(void)
{
	if (!stepping)
		wrong("a writer sleeps, and is alone", 0);
	contexts[running].slept = machine_stats.steps;
	contexts[running].asleep = true;
	machine_stats.sleeps++;
	while (!contexts[running].woken)
		go_over();
	contexts[running].asleep = false;
	shim_prepare_to_wait(contexts[running].waits);
}

/* No more sleep. */
void shim_finish_wait(void)
{
	contexts[running].waits = NULL;
}

/* Is the writer asleep? Returns 0: no; else how often it has gone to sleep. */
unsigned long shim_writer_sleeps(void)
{
	return contexts[0].asleep && !contexts[0].woken ? machine_stats.sleeps : 0;
}

/* Wake who sleeps for a variable. */
void wake_up_var(const void *var)
{
	unsigned int i;

	machine_step();
	for (i = 0; i < CONTEXTS; i++)
		if (contexts[i].waits == var)
			contexts[i].woken = true;
}

/* Run what no reader holds up any more. */
static void rcu_run(void)
{
	const bool was_stepping = stepping;
	struct rcu_head **link = &callbacks, *head;

	stepping = false;
	while ((head = *link)) {
		if (head->waits) {
			link = &head->next;
			continue;
		}
		*link = head->next;
		machine_stats.graces++;
		if (grace < head->start)
			grace = head->start;
		head->func(head);
		/* It may have called call_rcu(). */
		link = &callbacks;
	}
	stepping = was_stepping;
}

/*
 * No grace period waits for this context any more. From here on it sees what was
 * written before those periods that have begun.
 */
static void rcu_quiescent(void)
{
	struct rcu_head *head;

	for (head = callbacks; head; head = head->next) {
		if (!(head->waits & 1U << running))
			continue;
		head->waits &= ~(1U << running);
		memory_not_before(running, head->start);
	}
	rcu_run();
}

/*
 * A grace period begins. Must it wait for a context? If that is in a read
 * section, yes. Else it may wait for the next one of this context, or take it
 * for passed already. Then the context sees all that was written before.
 */
static bool rcu_waits_for(unsigned int context)
{
	if (contexts[context].done || context == running)
		return false;
	if (contexts[context].nesting || below(&choice, 2))
		return true;
	memory_not_before(context, memory_now());
	return false;
}

/*
 * Begin a read section.
 *
 * Who begins after a grace period sees all that was written before it.
 */
void rcu_read_lock(void)
{
	machine_step();
	if (!contexts[running].nesting++)
		memory_not_before(running, grace);
}

/* End a read section. */
void rcu_read_unlock(void)
{
	machine_step();
	if (!--contexts[running].nesting)
		rcu_quiescent();
}

/* Call a function after a grace period. */
void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	struct rcu_head **link = &callbacks;
	unsigned int i;

	memory_flush(running);
	head->next = NULL;
	head->func = func;
	head->start = memory_now();
	head->waits = 0;
	for (i = 0; i < CONTEXTS; i++)
		if (rcu_waits_for(i))
			head->waits |= 1U << i;
	while (*link)
		link = &(*link)->next;
	*link = head;
	rcu_run();
}

static bool all_done(void)
{
	unsigned int i;

	for (i = 0; i < CONTEXTS; i++)
		if (!contexts[i].done)
			return false;
	return true;
}

static void context_main(void)
{
	functions[running]();
	memory_flush(running);
	if (contexts[running].nesting)
		wrong("a context ends in a read section of RCU", running);
	contexts[running].done = true;
	rcu_quiescent();
	if (!all_done())
		go_over();
	stepping = false;
	_longjmp(rest, 1);
}

static void context_prepare(unsigned int i)
{
	ucontext_t *start = &contexts[i].start;

	contexts[i] = (struct context) { };
	getcontext(start);
	start->uc_stack.ss_sp = stacks[i];
	start->uc_stack.ss_size = STACK;
	start->uc_link = NULL;
	makecontext(start, context_main, 0);
}

/*
 * Run the contexts until all have returned.
 * @writer: what the first does
 * @reader: what all others do
 */
void machine_run(u64 seed, void (*writer)(void), void (*reader)(void))
{
	unsigned int i;

	choice = seed;
	run_bits = 2 + below(&choice, 11);
	drift_bits = below(&choice, 12);
	memory_reset(seed + 1);
	grace = 0;
	for (i = 0; i < CONTEXTS; i++) {
		functions[i] = i ? reader : writer;
		context_prepare(i);
	}
	if (_setjmp(rest))
		return;
	running = 0;
	steps_left = 1;
	stepping = true;
	contexts[0].started = true;
	setcontext(&contexts[0].start);
}
