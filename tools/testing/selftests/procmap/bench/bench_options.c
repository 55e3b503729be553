// SPDX-License-Identifier: GPL-2.0
/* The options of procmap_bench. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench.h"
#include "bench_options.h"

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
		o->reps = parse_number(name, optarg, 1, BENCH_MAX_REPS);
		return;
	case 'w':
		o->warm_up = parse_number(name, optarg, 0, BENCH_MAX_REPS);
		return;
	case 'm':
		o->milliseconds = parse_number(name, optarg, 1, 60000);
		return;
	case 'P':
		o->pid = parse_number(name, optarg, 1, INT_MAX);
		return;
	case 'h':
		print_help();
		exit(0);
	default:
		exit(2);
	}
}

/* Parse an option whose argument needs no conversion. */
static bool parse_text(int option)
{
	struct bench_options *o = &bench_options;

	switch (option) {
	case 'a':
		o->accelerator = optarg;
		return true;
	case 'C':
		o->config_hash = optarg;
		return true;
	case 'A':
		o->addresses = optarg;
		return true;
	case 'l':
		o->list = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	}
	return false;
}

static void check_live(int left)
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
void bench_options_parse(int argc, char **argv)
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

	for (;;) {
		option = getopt_long(argc, argv, "+", known, &index);
		if (option < 0)
			break;
		if (option == '?' || !parse_text(option))
			parse_one(option, known[index].name);
	}
	check_live(argc - optind);
}

static bool fits(const char *const *patterns, unsigned int nr, const char *name)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!fnmatch(patterns[i], name, 0))
			return true;
	return false;
}

/* Shall a case or scene run? Returns true if the user selected it. */
bool bench_selected(const char *name)
{
	const struct bench_options *o = &bench_options;

	if (fits(o->skip, o->skips, name))
		return false;
	return !o->selects || fits(o->select, o->selects, name);
}
