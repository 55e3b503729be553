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

/* Returns what was not met, or NULL. */
static const char *not_met(const struct reader_stats *sum)
{
	if (!machine_stats.sleeps)
		return "writers that slept";
	if (!machine_stats.stale)
		return "reads of old values";
	if (!machine_stats.delayed)
		return "writes in another order";
	return reader_not_met(sum);
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
		sum = reader_sum(readers, CONTEXTS);
	} else {
		do {
			steps_round(round++);
			sum = reader_sum(readers, CONTEXTS);
		} while (report_goes_on(&length, round) || (not_met(&sum) && round < MEET_ROUNDS));
	}
	report_end();

	if (shim_starving())
		wrong("readers starve when nobody searches", shim_starving());
	report_begin("writers, sleeps, old values and ends were met");
	if (argc <= 3 && not_met(&sum))
		wrong(not_met(&sum), 0);
	report_end();
	printf("# rounds %lu, system calls %lu, steps %lu, switches %lu, sleeps %lu\n", round,
	       calls, machine_stats.steps, machine_stats.switches, machine_stats.sleeps);
	printf("# old values read %lu, writes in another order %lu, grace periods %lu\n",
	       machine_stats.stale, machine_stats.delayed, machine_stats.graces);
	reader_print(&sum);
	return 0;
}
