// SPDX-License-Identifier: GPL-2.0
/*
 * Measure what queries cost, and what their locks cost other tasks.
 *
 * Run it under QEMU with "-accel tcg,thread=single -icount shift=0,sleep=off".
 * There one tick of the clock is one guest instruction, and two runs give the
 * same figures. It also works on hardware, where the figures are clock ticks.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include "bench.h"
#include "bench_options.h"
#include "bench_report.h"
#include "bench_scene.h"

/* Cases measure one operation at a time, scenes several programs at once. */
static const struct {
	const struct bench_case *rows;
	const unsigned int *nr;
} case_tables[] = {
	{ bench_mm_cases, &bench_mm_nr },
	{ bench_query_cases, &bench_query_nr },
	{ bench_scan_cases, &bench_scan_nr },
	{ bench_pass_cases, &bench_pass_nr },
	{ bench_loop_cases, &bench_loop_nr },
};

static const struct {
	const struct bench_scene *rows;
	const unsigned int *nr;
} scene_tables[] = {
	{ bench_load_scenes, &bench_load_nr },
	{ bench_wait_scenes, &bench_wait_nr },
};

static struct bench_environment environment;
static cpu_set_t allowed;

/* Record why a case cannot run here. Returns BENCH_UNAVAILABLE. */
int bench_unavailable(struct bench *b, const char *reason)
{
	snprintf(b->reason, sizeof(b->reason), "%s", reason);
	return BENCH_UNAVAILABLE;
}

/*
 * Record why a case failed. Returns @err.
 * @err: -errno, not 0
 */
int bench_failed(struct bench *b, const char *what, int err)
{
	snprintf(b->reason, sizeof(b->reason), "%s: %s", what, strerror(-err));
	return err;
}

static int repeat_once(struct bench *b, double *value)
{
	unsigned int i;
	int err = 0;

	b->sum = 0;
	for (i = 0; i < b->row->batch && !err; i++)
		err = b->row->op(b, i);
	*value = (double)b->sum / ((double)b->row->batch * b->units);
	return err;
}

static int repeat(struct bench *b, struct bench_result *result)
{
	const unsigned int reps = bench_at_most(b->row->reps, bench_options.reps);
	const unsigned int warm_up = bench_at_most(b->row->reps, bench_options.warm_up);
	double unused;
	unsigned int i;
	int err = 0;

	for (i = 0; i < warm_up && !err; i++)
		err = repeat_once(b, &unused);
	b->answers = 0;
	b->wrong = 0;
	for (i = 0; i < reps && !err; i++)
		err = repeat_once(b, &result->raw[i]);
	result->reps = i;
	return err;
}

static void run_case(const struct bench_case *row, struct bench_result *result)
{
	static struct bench b;
	int err;

	memset(&b, 0, sizeof(b));
	b.row = row;
	b.units = row->units ?: 1;
	b.fd = -1;
	err = row->setup(&b);
	if (!err)
		err = repeat(&b, result);
	if (row->teardown)
		row->teardown(&b);
	result->row = row;
	result->units = row->batch * b.units;
	result->items = b.items;
	result->answers = b.answers;
	result->wrong = b.wrong;
	result->err = err;
	memcpy(result->reason, b.reason, sizeof(result->reason));
	bench_result_settle(result);
}

/* Returns the number of results. */
static unsigned int run_cases(struct bench_result *results)
{
	unsigned int t, i, done = 0;

	for (t = 0; t < ARRAY_SIZE(case_tables); t++)
		for (i = 0; i < *case_tables[t].nr; i++)
			if (bench_selected(case_tables[t].rows[i].name))
				run_case(&case_tables[t].rows[i], &results[done++]);
	return done;
}

static unsigned int list(void)
{
	unsigned int t, i, nr = 0;

	for (t = 0; t < ARRAY_SIZE(case_tables); t++) {
		for (i = 0; i < *case_tables[t].nr; i++) {
			const struct bench_case *row = &case_tables[t].rows[i];

			if (bench_selected(row->name))
				nr += printf("%-28s %s\n", row->name, row->what) > 0;
		}
	}
	for (t = 0; t < ARRAY_SIZE(scene_tables); t++) {
		for (i = 0; i < *scene_tables[t].nr; i++) {
			const struct bench_scene *row = &scene_tables[t].rows[i];

			if (bench_selected(row->name))
				nr += printf("%-28s %s\n", row->name, row->what) > 0;
		}
	}
	return nr;
}

/* Make every run use the same addresses. Returns only if it already does. */
static void fix_layout(char **argv)
{
	int now = personality(0xffffffff);

	if (now < 0 || now & ADDR_NO_RANDOMIZE || getenv("PROCMAP_BENCH_STARTED"))
		return;
	setenv("PROCMAP_BENCH_STARTED", "1", 1);
	if (personality(now | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

static int pin(void)
{
	cpu_set_t one;
	long cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	environment.cpu = cpu;
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : 0;
}

static void prepare(void)
{
	int err = pin();

	if (err) {
		fprintf(stderr, "procmap_bench: cannot run on processor %ld: %s\n", environment.cpu,
			strerror(-err));
		exit(2);
	}
	if (bench_clock_calibrate()) {
		fprintf(stderr, "procmap_bench: the processor's clock stands still\n");
		exit(1);
	}
	environment.reps = bench_options.reps;
	environment.warm_up = bench_options.warm_up;
	environment.milliseconds = bench_options.milliseconds;
	environment.accelerator = bench_options.accelerator;
	environment.config_hash = bench_options.config_hash;
}

static void interrupted(int number)
{
	bench_live_end();
	bench_wait_end();
	bench_target_drop();
	bench_system_restore();
	_exit(128 + number);
}

static int report(const struct bench_result *results, unsigned int nr,
		  struct bench_scene_state *const *scenes, const unsigned int *played)
{
	const bool json = bench_options.json;
	unsigned int t;
	int failed;

	bench_report_begin(&environment, json);
	failed = bench_report_cases(results, nr, json);
	for (t = 0; t < ARRAY_SIZE(scene_tables); t++)
		failed |= bench_report_scenes(scenes[t], played[t], json);
	return bench_report_end(json) | failed;
}

static int run_all(void)
{
	struct bench_scene_state *scenes[ARRAY_SIZE(scene_tables)];
	unsigned int played[ARRAY_SIZE(scene_tables)], max = 0, nr, t, sum;
	struct bench_result *results;
	int failed = 2;

	for (t = 0; t < ARRAY_SIZE(case_tables); t++)
		max += *case_tables[t].nr;
	results = calloc(max, sizeof(*results));
	nr = results ? run_cases(results) : 0;
	sum = nr;
	/* Scenes choose their own processors. */
	sched_setaffinity(0, sizeof(allowed), &allowed);
	bench_target_drop();
	for (t = 0; t < ARRAY_SIZE(scene_tables); t++) {
		scenes[t] = bench_scenes_run(scene_tables[t].rows, *scene_tables[t].nr, &played[t]);
		sum += played[t];
		if (!results || !scenes[t]) {
			fprintf(stderr, "procmap_bench: no memory\n");
			return 1;
		}
	}
	bench_target_drop();
	bench_system_restore();
	if (sum)
		failed = report(results, nr, scenes, played);
	else
		fprintf(stderr, "procmap_bench: no case fits --select; see --list\n");
	for (t = 0; t < ARRAY_SIZE(scene_tables); t++)
		bench_scenes_free(scenes[t], played[t]);
	free(results);
	return failed;
}

int main(int argc, char **argv)
{
	bench_options_parse(argc, argv);
	bench_pass_init_cases();
	bench_load_init_scenes();
	bench_wait_init_scenes();
	if (bench_options.list) {
		if (list())
			return 0;
		fprintf(stderr, "procmap_bench: no case fits --select; see --list\n");
		return 2;
	}
	if (bench_options.pid) {
		signal(SIGINT, interrupted);
		signal(SIGTERM, interrupted);
		return bench_clock_calibrate() ? 1 : bench_live();
	}
	fix_layout(argv);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	prepare();
	return run_all();
}
