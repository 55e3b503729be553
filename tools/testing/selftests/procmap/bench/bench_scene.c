// SPDX-License-Identifier: GPL-2.0
/* Count latencies, and play scenes in turn: see bench_scene.h. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "bench_options.h"
#include "bench_scene.h"

/* Forget all latencies. */
void bench_hist_clear(struct bench_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
}

/* Add the latencies of another histogram. */
void bench_hist_merge(struct bench_hist *to, const struct bench_hist *from)
{
	unsigned int i;

	for (i = 0; i < BENCH_HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
}

/*
 * The latency that a bucket stands for. Returns the shortest latency that it
 * counts, in ticks.
 */
__u64 bench_hist_value(unsigned int bucket)
{
	unsigned int shift = 0;

	if (bucket >= 2 * BENCH_HIST_SUB)
		shift = bucket / BENCH_HIST_SUB - 1;
	return (__u64)(bucket - shift * BENCH_HIST_SUB) << shift;
}

/*
 * A percentile. Returns the latency in ticks that this share does not exceed; 0
 * for an empty histogram.
 * @share: 0.5 for the median, 0.99 for the 99th percentile
 */
__u64 bench_hist_quantile(const struct bench_hist *hist, double share)
{
	const double want = share * hist->nr;
	__u64 seen = 0;
	unsigned int i;

	for (i = 0; i < BENCH_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen && seen >= want)
			return bench_hist_value(i);
	}
	return 0;
}

const char *const bench_scene_hist_names[BENCH_SCENE_HISTS] = {
	"mmap", "mprotect", "munmap", "reader",
};

/*
 * Record why a scene failed. Returns @err.
 * @err: -errno, not 0
 */
int bench_scene_failed(struct bench_scene_state *state, const char *what, int err)
{
	bench_failed(state->bench, what, err);
	return err;
}

static void scene_latencies(struct bench_scene_state *state, struct bench_round *round)
{
	const double ns = bench_clock_ns();
	unsigned int i;

	for (i = 0; i < BENCH_SCENE_HISTS; i++) {
		const struct bench_hist *hist = &state->now[i];
		struct bench_latency *latency = &round->latency[i];

		latency->nr = hist->nr;
		latency->p50 = ns * bench_hist_quantile(hist, 0.5);
		latency->p99 = ns * bench_hist_quantile(hist, 0.99);
		latency->max = ns * hist->max;
	}
}

static bool scene_is_over(const struct bench_scene_state *state)
{
	return state->err ||
	       state->rounds == bench_at_most(state->row->rounds, bench_options.reps);
}

static int scene_play(struct bench_scene_state *state, bool warm_up)
{
	struct bench_round *round = &state->round[state->rounds];
	unsigned int i;
	int err;

	for (i = 0; i < BENCH_SCENE_HISTS; i++)
		bench_hist_clear(&state->now[i]);
	memset(round, 0, sizeof(*round));
	err = state->row->setup(state);
	if (!err)
		err = state->row->play(state, round);
	if (!err && !warm_up) {
		scene_latencies(state, round);
		state->rounds++;
	}
	if (err) {
		state->err = err;
		snprintf(state->reason, sizeof(state->reason), "%s", state->bench->reason);
	}
	return err;
}

/*
 * Play scenes of processes of one size in turn. Each round starts with another
 * scene.
 */
static void scenes_play(struct bench_scene_state *states, unsigned int nr)
{
	const unsigned long warm_up = bench_options.warm_up;
	unsigned long r;
	unsigned int i;

	for (r = 0; r < bench_options.reps + warm_up; r++) {
		for (i = 0; i < nr; i++) {
			struct bench_scene_state *state = &states[(i + r) % nr];

			if (!scene_is_over(state))
				scene_play(state, r < warm_up);
		}
	}
}

static void scene_cpus(struct bench_scene_state *state, const cpu_set_t *allowed)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE && state->cpus < BENCH_MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, allowed))
			state->cpu[state->cpus++] = cpu;
}

/*
 * Play the selected scenes of a table. Returns the scenes, for
 * bench_scenes_free(); NULL: no memory.
 * @rows: the table; scenes of equal size are neighbours
 * @played: out: the number of selected scenes
 */
struct bench_scene_state *bench_scenes_run(const struct bench_scene *rows, unsigned int nr,
					   unsigned int *played)
{
	static struct bench bench = { .fd = -1 };
	struct bench_scene_state *states = calloc(nr, sizeof(*states));
	cpu_set_t allowed;
	unsigned int i, first;

	*played = 0;
	if (!states || sched_getaffinity(0, sizeof(allowed), &allowed))
		return NULL;
	for (i = 0; i < nr; i++) {
		struct bench_scene_state *state = &states[*played];

		if (!bench_selected(rows[i].name))
			continue;
		state->row = &rows[i];
		state->bench = &bench;
		state->milliseconds = bench_options.milliseconds;
		state->round = calloc(bench_options.reps + 1, sizeof(*state->round));
		if (!state->round)
			return NULL;
		scene_cpus(state, &allowed);
		++*played;
	}
	for (first = 0; first < *played; first = i) {
		for (i = first; i < *played && states[i].row->vmas == states[first].row->vmas;)
			i++;
		scenes_play(states + first, i - first);
	}
	return states;
}

/* Free the result of bench_scenes_run(). */
void bench_scenes_free(struct bench_scene_state *states, unsigned int nr)
{
	unsigned int i;

	for (i = 0; states && i < nr; i++)
		free(states[i].round);
	free(states);
}
