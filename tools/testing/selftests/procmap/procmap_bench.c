// SPDX-License-Identifier: GPL-2.0
/*
 * What queries cost, and what the locks behind them cost everybody else.
 *
 * Run it under QEMU with "-accel tcg,thread=single -icount shift=0,sleep=off":
 * there one tick of the clock is one guest instruction, and two runs give the
 * same figures. On hardware it works, too; the figures are clock ticks then.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include "bench.h"
#include "bench_report.h"

#define DEFAULT_REPS	9
#define DEFAULT_WARM_UP	2
#define MAX_SELECT	32

static struct {
	const char *select[MAX_SELECT];
	unsigned int selects;
	unsigned long reps;
	unsigned long warm_up;
	long cpu;
	bool list;
	bool json;
	struct bench_environment env;
} options = { .reps = DEFAULT_REPS, .warm_up = DEFAULT_WARM_UP, .cpu = -1 };

/**
 * bench_unavailable() - say why a case cannot run here
 * @b: the case
 * @reason: what is missing
 *
 * Return: BENCH_UNAVAILABLE
 */
int bench_unavailable(struct bench *b, const char *reason)
{
	snprintf(b->reason, sizeof(b->reason), "%s", reason);
	return BENCH_UNAVAILABLE;
}

/**
 * bench_failed() - say how a case failed
 * @b: the case
 * @what: what was tried
 * @err: -errno, not 0
 *
 * Return: @err
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
	double unused;
	unsigned int i;
	int err = 0;

	for (i = 0; i < options.warm_up && !err; i++)
		err = repeat_once(b, &unused);
	for (i = 0; i < options.reps && !err; i++)
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
	result->err = err;
	memcpy(result->reason, b.reason, sizeof(result->reason));
	bench_result_settle(result);
}

static bool selected(const char *name)
{
	unsigned int i;

	for (i = 0; i < options.selects; i++)
		if (!fnmatch(options.select[i], name, 0))
			return true;
	return !options.selects;
}

/* Runs or lists the cases of one table; returns the number of results. */
static unsigned int run_table(const struct bench_case *rows, unsigned int nr,
			      struct bench_result *results)
{
	unsigned int i, done = 0;

	for (i = 0; i < nr; i++) {
		if (!selected(rows[i].name))
			continue;
		if (options.list)
			printf("%-24s %s\n", rows[i].name, rows[i].what);
		else
			run_case(&rows[i], &results[done]);
		done++;
	}
	return done;
}

/* The same addresses in every run. Returns only if that is so already. */
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
	cpu_set_t allowed;
	long cpu = options.cpu;

	if (cpu < 0) {
		if (sched_getaffinity(0, sizeof(allowed), &allowed))
			return -errno;
		for (cpu = 0; cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed);)
			cpu++;
	}
	CPU_ZERO(&allowed);
	CPU_SET(cpu, &allowed);
	options.env.cpu = cpu;
	return sched_setaffinity(0, sizeof(allowed), &allowed) ? -errno : 0;
}

static void print_help(void)
{
	printf("Usage: procmap_bench [option]...\n"
	       "Measure PROCMAP_QUERY and the system calls that change an address space.\n\n"
	       "  --list             list the cases, run none\n"
	       "  --select PATTERN   only these cases (shell pattern; may be given again)\n"
	       "  --reps N           repetitions, 1 to %d (default %d)\n"
	       "  --warm-up N        repetitions before those (default %d)\n"
	       "  --cpu N            processor to run on (default: the first allowed)\n"
	       "  --json             JSON on standard output instead of a table\n"
	       "  --accel TEXT       what runs the machine, for the record\n"
	       "  --config-hash TEXT hash of the kernel's configuration, for the record\n"
	       "  --help             this text\n\n"
	       "Exit status: 0, all cases ran or are not available in this kernel; 1, a case\n"
	       "failed; 2, wrong arguments.\n", BENCH_MAX_REPS, DEFAULT_REPS, DEFAULT_WARM_UP);
}

static unsigned long parse_number(const char *option, const char *text, unsigned long low,
				  unsigned long high)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high) {
		fprintf(stderr, "procmap_bench: --%s %s: give one from %lu to %lu\n", option,
			text, low, high);
		exit(2);
	}
	return value;
}

static void parse_one(int option, const char *name)
{
	switch (option) {
	case 's':
		if (options.selects == MAX_SELECT) {
			fprintf(stderr, "procmap_bench: at most %d --select\n", MAX_SELECT);
			exit(2);
		}
		options.select[options.selects++] = optarg;
		break;
	case 'r':
		options.reps = parse_number(name, optarg, 1, BENCH_MAX_REPS);
		break;
	case 'w':
		options.warm_up = parse_number(name, optarg, 0, BENCH_MAX_REPS);
		break;
	case 'c':
		options.cpu = parse_number(name, optarg, 0, CPU_SETSIZE - 1);
		break;
	case 'a':
		options.env.accelerator = optarg;
		break;
	case 'C':
		options.env.config_hash = optarg;
		break;
	case 'h':
		print_help();
		exit(0);
	default:
		fprintf(stderr, "procmap_bench: see procmap_bench --help\n");
		exit(2);
	}
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "select", required_argument, NULL, 's' },
		{ "reps", required_argument, NULL, 'r' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "accel", required_argument, NULL, 'a' },
		{ "config-hash", required_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "", known, &index)) >= 0) {
		if (option == 'l')
			options.list = true;
		else if (option == 'j')
			options.json = true;
		else
			parse_one(option, known[index].name);
	}
	if (optind < argc) {
		fprintf(stderr, "procmap_bench: %s: no argument expected; see --help\n",
			argv[optind]);
		exit(2);
	}
}

static void prepare(void)
{
	int err = pin();

	if (err) {
		fprintf(stderr, "procmap_bench: cannot run on processor %ld: %s\n", options.env.cpu,
			strerror(-err));
		exit(2);
	}
	if (bench_clock_calibrate()) {
		fprintf(stderr, "procmap_bench: the processor's clock stands still\n");
		exit(1);
	}
	options.env.reps = options.reps;
	options.env.warm_up = options.warm_up;
	if (!options.env.accelerator)
		options.env.accelerator = "not given";
	if (!options.env.config_hash)
		options.env.config_hash = "not given";
}

static void interrupted(int number)
{
	bench_target_drop();
	bench_library_remove();
	_exit(128 + number);
}

int main(int argc, char **argv)
{
	struct bench_result *results;
	unsigned int nr;
	int failed = 0;

	parse(argc, argv);
	if (!options.list) {
		fix_layout(argv);
		signal(SIGINT, interrupted);
		signal(SIGTERM, interrupted);
		prepare();
	}
	results = calloc(bench_query_nr + bench_mm_nr, sizeof(*results));
	if (!results) {
		fprintf(stderr, "procmap_bench: no memory\n");
		return 1;
	}
	nr = run_table(bench_mm_cases, bench_mm_nr, results);
	nr += run_table(bench_query_cases, bench_query_nr, results + nr);
	bench_target_drop();
	bench_library_remove();
	if (!nr) {
		fprintf(stderr, "procmap_bench: no case fits --select; see --list\n");
		failed = 2;
	} else if (!options.list) {
		failed = bench_report(&options.env, results, nr, options.json);
	}
	free(results);
	return failed;
}
