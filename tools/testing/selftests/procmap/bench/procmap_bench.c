// SPDX-License-Identifier: GPL-2.0
/*
 * Measure what queries cost, and what their locks cost other tasks.
 *
 * Run it under QEMU with "-accel tcg,thread=single -icount shift=0,sleep=off".
 * There one tick of the clock is one guest instruction, and two runs give the
 * same figures. It also works on hardware, where the figures are clock ticks.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include "bench.h"

#define DEFAULT_REPS		9
#define DEFAULT_WARM_UP		2
#define DEFAULT_MILLISECONDS	300

struct bench_options bench_options = {
	.reps = DEFAULT_REPS,
	.warm_up = DEFAULT_WARM_UP,
	.milliseconds = DEFAULT_MILLISECONDS,
	.accelerator = "not given",
	.config_hash = "not given",
};

static void print_help(void)
{
	printf("Usage: procmap_bench [option]...\n"
	       "       procmap_bench --pid PID --addresses FILE [option]...\n\n"
	       "Measure PROCMAP_QUERY, the text of /proc/PID/maps, process_vm_readv(), and the system\n"
	       "calls that change an address space. With a process, resolve addresses in it by the\n"
	       "text and by queries, and compare answers and time.\n\n"
	       "  --list             list cases and scenes, run none\n"
	       "  --select PATTERN   only these (shell pattern; may be given again)\n"
	       "  --skip PATTERN     not these (likewise)\n"
	       "  --reps N           repetitions, 1 to %d (default %d)\n"
	       "  --warm-up N        repetitions before those (default %d)\n"
	       "  --play MS          milliseconds of a scene, each time (default %d)\n"
	       "  --json             JSON on standard output instead of a table\n"
	       "  --accel TEXT       what runs the machine, for the record\n"
	       "  --config-hash TEXT hash of the kernel's configuration, for the record\n"
	       "  --pid PID          a process to look at\n"
	       "  --addresses FILE   addresses in it, hexadecimal, one in a line\n"
	       "  --help             this text\n\n"
	       "Exit status: 0, all ran or are not available in this kernel; 1, something failed, or\n"
	       "answers differ; 2, wrong arguments.\n", BENCH_MAX_REPS, DEFAULT_REPS,
	       DEFAULT_WARM_UP, DEFAULT_MILLISECONDS);
}

static void refuse(const char *text)
{
	fprintf(stderr, "procmap_bench: %s; see procmap_bench --help\n", text);
	exit(2);
}

static unsigned long parse_number(const char *option, unsigned long low, unsigned long high)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(optarg, &end, 10);
	if (errno || end == optarg || *end || value < low || value > high) {
		fprintf(stderr, "procmap_bench: --%s %s: give one from %lu to %lu\n", option,
			optarg, low, high);
		exit(2);
	}
	return value;
}

static void parse_pattern(const char **patterns, unsigned int *nr)
{
	if (*nr == BENCH_MAX_SELECT)
		refuse("too many patterns");
	patterns[(*nr)++] = optarg;
}

static void parse_one(int option, const char *name)
{
	struct bench_options *o = &bench_options;

	switch (option) {
	case 's':
		return parse_pattern(o->select, &o->selects);
	case 'S':
		return parse_pattern(o->skip, &o->skips);
	case 'r':
		o->reps = parse_number(name, 1, BENCH_MAX_REPS);
		break;
	case 'w':
		o->warm_up = parse_number(name, 0, BENCH_MAX_REPS);
		break;
	case 'm':
		o->milliseconds = parse_number(name, 1, 60000);
		break;
	case 'P':
		o->pid = parse_number(name, 1, INT_MAX);
		break;
	case 'a':
		o->accelerator = optarg;
		break;
	case 'C':
		o->config_hash = optarg;
		break;
	case 'A':
		o->addresses = optarg;
		break;
	case 'l':
		o->list = true;
		break;
	case 'j':
		o->json = true;
		break;
	case 'h':
		print_help();
		exit(0);
	default:
		exit(2);
	}
}

static void check_options(int left)
{
	const struct bench_options *o = &bench_options;

	if (left)
		refuse("an argument that is no option");
	if (!o->pid != !o->addresses)
		refuse("--pid and --addresses go together");
	if (o->pid && o->json)
		refuse("--json is for cases and scenes");
}

/* Set bench_options; exit for --help and errors. */
static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "select", required_argument, NULL, 's' },
		{ "skip", required_argument, NULL, 'S' },
		{ "reps", required_argument, NULL, 'r' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "play", required_argument, NULL, 'm' },
		{ "accel", required_argument, NULL, 'a' },
		{ "config-hash", required_argument, NULL, 'C' },
		{ "pid", required_argument, NULL, 'P' },
		{ "addresses", required_argument, NULL, 'A' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "+", known, &index)) >= 0)
		parse_one(option, known[index].name);
	check_options(argc - optind);
}

static bool fits(const char *const *patterns, unsigned int nr, const char *name)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!fnmatch(patterns[i], name, 0))
			return true;
	return false;
}

static bool is_selected(const char *name)
{
	const struct bench_options *o = &bench_options;

	if (fits(o->skip, o->skips, name))
		return false;
	return !o->selects || fits(o->select, o->selects, name);
}

/* Cases before scenes. In a table of scenes, those of equal size are neighbours. */
static const struct bench_row *const tables[] = {
	bench_mm_rows, bench_query_rows, bench_pass_rows, bench_loop_rows,
	bench_load_rows, bench_wait_rows,
};

/* The processors that it may use; cases run on the first one. */
int bench_cpu[BENCH_MAX_CPUS];
unsigned int bench_cpus;

/* The latencies of the scene that is played. */
struct bench_hist bench_now[BENCH_CALLS];

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

/* Limit the user's number for what takes long and hardly varies. */
static unsigned long at_most(unsigned int most, unsigned long wanted)
{
	return most && most < wanted ? most : wanted;
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

static int repeat(struct bench *b)
{
	const unsigned int reps = at_most(b->row->reps, bench_options.reps);
	const unsigned int warm_up = at_most(b->row->reps, bench_options.warm_up);
	unsigned int i;
	int err = 0;

	for (i = 0; i < warm_up && !err; i++)
		err = repeat_once(b, &b->raw[0]);
	b->answers = 0;
	b->wrong = 0;
	for (; b->reps < reps && !err; b->reps++)
		err = repeat_once(b, &b->raw[b->reps]);
	return err;
}

static void run_case(struct bench *b)
{
	b->units = b->row->units ?: 1;
	b->err = b->row->setup(b);
	if (!b->err)
		b->err = repeat(b);
	if (b->row->teardown)
		b->row->teardown(b);
}

static void set_latencies(struct bench_round *round)
{
	const double ns = bench_clock_ns();
	unsigned int i;

	for (i = 0; i < BENCH_CALLS; i++) {
		round->latency[i] = (struct bench_latency) {
			.nr = bench_now[i].nr,
			.p50 = ns * bench_hist_quantile(&bench_now[i], 0.5),
			.p99 = ns * bench_hist_quantile(&bench_now[i], 0.99),
			.max = ns * bench_now[i].max,
		};
	}
}

static void play_scene(struct bench *b, bool warm_up)
{
	struct bench_round *round = &b->round[b->reps];

	if (b->err || b->reps == at_most(b->row->reps, bench_options.reps))
		return;
	memset(bench_now, 0, sizeof(bench_now));
	memset(round, 0, sizeof(*round));
	b->err = b->row->setup(b);
	if (!b->err)
		b->err = b->row->play(b, round);
	if (b->err || warm_up)
		return;
	set_latencies(round);
	b->reps++;
}

/*
 * Play scenes of processes of one size in turn, so that disturbances of the
 * machine meet all of them. Each round starts with another scene.
 */
static void play_scenes(struct bench *scenes, unsigned int nr)
{
	unsigned long r;
	unsigned int i;

	for (r = 0; r < bench_options.reps + bench_options.warm_up; r++)
		for (i = 0; i < nr; i++)
			play_scene(&scenes[(i + r) % nr], r < bench_options.warm_up);
}

static bool same_size(const struct bench *a, const struct bench *b)
{
	return a->row->play == b->row->play && a->row->vmas == b->row->vmas;
}

static void run(struct bench *all, unsigned int nr)
{
	unsigned int i, next;

	for (i = 0; i < nr && !all[i].row->play; i++)
		run_case(&all[i]);
	bench_target_drop();
	/* Scenes choose their own processors. */
	bench_to_cpu(-1);
	for (; i < nr; i = next) {
		for (next = i; next < nr && same_size(&all[next], &all[i]);)
			next++;
		play_scenes(&all[i], next - i);
	}
	bench_target_drop();
	bench_system_restore();
}

/*
 * Take the selected rows of all tables. Returns their number.
 * @all: out: each of them; or NULL
 */
static unsigned int select_rows(struct bench *all)
{
	const struct bench_row *row;
	unsigned int t, nr = 0;

	for (t = 0; t < ARRAY_SIZE(tables); t++) {
		for (row = tables[t]; row->name; row++) {
			if (!is_selected(row->name))
				continue;
			if (bench_options.list)
				printf("%-28s %s\n", row->name, row->what);
			if (all) {
				all[nr].row = row;
				all[nr].fd = -1;
				all[nr].round = calloc(row->play ? bench_options.reps + 1 : 1,
						       sizeof(*all->round));
				if (!all[nr].round)
					return 0;
			}
			nr++;
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

/* Stay on one processor; -1: on any that it may use. */
int bench_to_cpu(int cpu)
{
	cpu_set_t cpus;
	unsigned int i;

	CPU_ZERO(&cpus);
	for (i = 0; cpu < 0 && i < bench_cpus; i++)
		CPU_SET(bench_cpu[i], &cpus);
	if (cpu >= 0)
		CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ? -errno : 0;
}

static void prepare(void)
{
	cpu_set_t allowed;
	int cpu, err;

	err = sched_getaffinity(0, sizeof(allowed), &allowed) ? -errno : 0;
	for (cpu = 0; !err && cpu < CPU_SETSIZE && bench_cpus < BENCH_MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			bench_cpu[bench_cpus++] = cpu;
	err = err ?: bench_to_cpu(bench_cpu[0]);
	if (err) {
		fprintf(stderr, "procmap_bench: cannot run on processor %d: %s\n", bench_cpu[0],
			strerror(-err));
		exit(2);
	}
	if (bench_clock_calibrate()) {
		fprintf(stderr, "procmap_bench: the processor's clock stands still\n");
		exit(1);
	}
}

static void interrupted(int number)
{
	bench_live_end();
	bench_wait_end();
	bench_target_drop();
	bench_system_restore();
	_exit(128 + number);
}

int main(int argc, char **argv)
{
	unsigned int nr;
	struct bench *all;

	parse_options(argc, argv);
	bench_pass_init_rows();
	bench_load_init_rows();
	nr = select_rows(NULL);
	if (!nr) {
		fprintf(stderr, "procmap_bench: no case fits --select; see --list\n");
		return 2;
	}
	if (bench_options.list)
		return 0;
	if (!bench_options.pid)
		fix_layout(argv);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	if (bench_options.pid)
		return bench_clock_calibrate() ? 1 : bench_live();
	prepare();
	all = calloc(nr, sizeof(*all));
	if (!all || select_rows(all) != nr) {
		fprintf(stderr, "procmap_bench: no memory\n");
		return 1;
	}
	run(all, nr);
	return bench_report(all, nr);
}
