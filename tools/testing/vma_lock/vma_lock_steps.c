// SPDX-License-Identifier: GPL-2.0
/*
 * Search between any two memory accesses of a writer, on a machine with weakly
 * ordered memory. Usage: vma_lock_steps [SECONDS | rounds=ROUNDS [SEED [ROUND]]]
 *
 * With ROUND, do that round alone. The seed alone decides what happens in a
 * round.
 */
#include "writer.h"
#include "machine.h"
#include "reader.h"
#include "report.h"

#define CALLS_MAX	60
/* What is not met in so many rounds is never met. */
#define MEET_ROUNDS	100000

static struct space watched, other;
static struct reader readers[CONTEXTS];
static unsigned long calls;
static u64 choice;

static void write_calls(void)
{
	unsigned int i;

	for (i = below(&choice, CALLS_MAX); i; i--, calls++)
		space_call(below(&choice, 4) ? &watched : &other, &choice);
	space_exit(&watched);
	/* Old pointers lead to memory that others use now. */
	for (i = below(&choice, CALLS_MAX); i; i--)
		space_call(&other, &choice);
}

static void read_until_end(void)
{
	struct reader *reader = &readers[machine_context()];

	bool over;

	/* The last search is one of an address space that is gone. */
	do {
		over = !watched.mm.mm_users.counter;
		reader_search(reader);
	} while (!over);
}

static void steps_round(unsigned long round)
{
	unsigned int i;

	choice = report_round(round);
	world_reset();
	space_start(&watched, true);
	space_start(&other, false);
	for (i = below(&choice, 30); i; i--)
		space_call(&watched, &choice);
	for (i = 0; i < CONTEXTS; i++)
		reader_begin(&readers[i], &watched, random64(&choice));
	machine_run(random64(&choice), write_calls, read_until_end);
	space_exit(&other);
	if (vmas_in_use())
		wrong("VMAs were lost", vmas_in_use());
}

static struct reader_stats stats_now(void)
{
	struct reader_stats sum = { };
	unsigned int i;

	for (i = 0; i < CONTEXTS; i++)
		reader_add(&sum, &readers[i].stats);
	return sum;
}

static bool all_met(void)
{
	const struct reader_stats sum = stats_now();

	return machine_stats.sleeps && machine_stats.stale && machine_stats.delayed &&
	       sum.copied && sum.snapshots && sum.code && sum.over;
}

static void must_meet_all(const struct reader_stats *sum)
{
	report_must_meet("writers that slept", machine_stats.sleeps);
	report_must_meet("reads of old values", machine_stats.stale);
	report_must_meet("writes in another order", machine_stats.delayed);
	report_must_meet("VMAs copied without a lock", sum->copied);
	report_must_meet("walks in one generation", sum->snapshots);
	report_must_meet("walks of code in one generation", sum->code);
	report_must_meet("ends of address spaces", sum->over);
}

int main(int argc, char **argv)
{
	const struct report_length length = report_length(argc > 1 ? argv[1] : "20");
	struct reader_stats sum;
	unsigned long round = 0;

	report_same_addresses(argv);
	report_start(argc > 2 ? argv[2] : "1", 2);
	tree_start();
	kernel_start();
	report_begin("searches between the steps of a writer, in weakly ordered memory");
	if (argc > 3) {
		round = strtoul(argv[3], NULL, 0);
		steps_round(round++);
	} else {
		while (report_goes_on(&length, round) || (!all_met() && round < MEET_ROUNDS))
			steps_round(round++);
	}
	report_end();

	if (shim_starving())
		wrong("readers starve when nobody searches", shim_starving());
	sum = stats_now();
	report_begin("writers, sleeps, old values and ends were met");
	if (argc <= 3)
		must_meet_all(&sum);
	report_end();
	printf("# rounds %lu, system calls %lu, steps %lu, switches %lu, sleeps %lu\n", round,
	       calls, machine_stats.steps, machine_stats.switches, machine_stats.sleeps);
	printf("# old values read %lu, writes in another order %lu, grace periods %lu\n",
	       machine_stats.stale, machine_stats.delayed, machine_stats.graces);
	reader_print(&sum);
	return 0;
}
