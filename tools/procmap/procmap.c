// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap - show the memory mappings of a process, and what is at its addresses
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

#define CLI_COUNT_DEFAULT 1000
#define CLI_COUNT_MAX (100 * 1000 * 1000)
#define CLI_INTERVAL_DEFAULT 200
#define CLI_INTERVAL_MAX (60 * 60 * 1000)

static const char cli_usage[] =
"Usage: procmap [OPTION]... PID              list the mappings of a process\n"
"       procmap [OPTION]... PID ADDRESS...   say what is at these addresses\n"
"       procmap [OPTION]... PID -            the same, addresses from standard input\n"
"       procmap --verify [--count N] PID     compare queries with the text\n"
"       procmap watch [OPTION]... PID        print mappings as they come and go\n"
"\n"
"Addresses are hexadecimal, with or without 0x.\n"
"\n"
"The list, and what to watch:\n"
"  -r, --read        only readable mappings\n"
"  -w, --write       only writable ones\n"
"  -x, --exec        only executable ones\n"
"  -s, --shared      only shared ones\n"
"  -f, --file        only those backed by a file\n"
"  -b, --build-id    show build IDs ('-': none, '?': not known)\n"
"  -i, --interval MS watch: look every MS milliseconds (200)\n"
"Source of the answers (default: the first of these that the kernel has):\n"
"  -S, --scan        the PROCMAP_SCAN ioctl\n"
"  -q, --query       the PROCMAP_QUERY ioctl\n"
"  -t, --text        the text of /proc/PID/maps\n"
"Others:\n"
"  -j, --json        print JSON\n"
"      --verify      resolve addresses all over the process by queries and\n"
"                    compare each answer with the text\n"
"      --count N     verify at least N addresses (default 1000)\n"
"  -h, --help        print this\n"
"  -V, --version     print the version\n"
"\n"
"Exit status: 0 success; 1 an address is not mapped, or the queries are not\n"
"verified; 2 the question could not be answered.\n";

enum {
	CLI_OPT_VERIFY = UCHAR_MAX + 1,
	CLI_OPT_COUNT,
};

/* A leading ':' makes getopt() tell a missing value from an unknown option. */
static const char cli_short_options[] = ":rwxsfbi:SqtjhV";

static const struct option cli_options[] = {
	{ "read", no_argument, NULL, 'r' },
	{ "write", no_argument, NULL, 'w' },
	{ "exec", no_argument, NULL, 'x' },
	{ "shared", no_argument, NULL, 's' },
	{ "file", no_argument, NULL, 'f' },
	{ "build-id", no_argument, NULL, 'b' },
	{ "interval", required_argument, NULL, 'i' },
	{ "scan", no_argument, NULL, 'S' },
	{ "query", no_argument, NULL, 'q' },
	{ "text", no_argument, NULL, 't' },
	{ "json", no_argument, NULL, 'j' },
	{ "verify", no_argument, NULL, CLI_OPT_VERIFY },
	{ "count", required_argument, NULL, CLI_OPT_COUNT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

bool cli_parse_number(const char *word, int base, uint64_t *value)
{
	const char *digits = word;
	unsigned long long parsed;
	char *end;

	if (base == 16 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		digits += 2;
	/*
	 * Without this, strtoull() would accept spaces, a sign, a second "0x".
	 */
	if (!isxdigit((unsigned char)digits[0]) || tolower((unsigned char)digits[1]) == 'x')
		return false;
	errno = 0;
	parsed = strtoull(digits, &end, base);
	*value = parsed;
	return !errno && !*end && end != digits;
}

static int cli_set_backend(struct cli *cli, enum procmap_backend backend)
{
	if (cli->backend != PROCMAP_BACKEND_AUTO && cli->backend != backend)
		return cli_error("--scan, --query and --text exclude each other");
	cli->backend = backend;
	return CLI_OK;
}

static int cli_set_count(struct cli *cli, const char *word)
{
	uint64_t count;

	if (!cli_parse_number(word, 10, &count) || !count || count > CLI_COUNT_MAX)
		return cli_error("bad count '%s': give a decimal number from 1 to %d",
				 cli_word(word), CLI_COUNT_MAX);
	cli->count = count;
	return CLI_OK;
}

static int cli_set_interval(struct cli *cli, const char *word)
{
	uint64_t interval;

	if (!cli_parse_number(word, 10, &interval) || !interval || interval > CLI_INTERVAL_MAX)
		return cli_error("bad interval '%s': give milliseconds from 1 to %d",
				 cli_word(word), CLI_INTERVAL_MAX);
	cli->interval = interval;
	return CLI_OK;
}

static int cli_set_option(struct cli *cli, int option)
{
	switch (option) {
	case 'r':
		cli->filters |= PROCMAP_READ;
		return CLI_OK;
	case 'w':
		cli->filters |= PROCMAP_WRITE;
		return CLI_OK;
	case 'x':
		cli->filters |= PROCMAP_EXEC;
		return CLI_OK;
	case 's':
		cli->filters |= PROCMAP_SHARED;
		return CLI_OK;
	case 'f':
		cli->filters |= PROCMAP_FILE;
		return CLI_OK;
	case 'b':
		cli->build_id = true;
		return CLI_OK;
	case 'j':
		cli->json = true;
		return CLI_OK;
	case 'S':
		return cli_set_backend(cli, PROCMAP_BACKEND_SCAN);
	case 'q':
		return cli_set_backend(cli, PROCMAP_BACKEND_QUERY);
	case 't':
		return cli_set_backend(cli, PROCMAP_BACKEND_TEXT);
	case 'i':
		return cli_set_interval(cli, optarg);
	case CLI_OPT_VERIFY:
		cli->verify = true;
		return CLI_OK;
	default:
		return cli_set_count(cli, optarg);
	}
}

/* Only optopt tells which kind of error getopt() has found. */
static int cli_bad_option(int error, const char *word)
{
	const char letter[] = { optopt, '\0' };

	if (error == ':')
		return cli_error("option '%s' needs a value, see --help", cli_word(word));
	if (!optopt)
		return cli_error("unknown or ambiguous option '%s', see --help", cli_word(word));
	if (optopt > UCHAR_MAX || (optopt != ':' && strchr(cli_short_options + 1, optopt)))
		return cli_error("option '%s' takes no value, see --help", cli_word(word));
	return cli_error("unknown option '-%s', see --help", cli_word(letter));
}

static int cli_check(const struct cli *cli)
{
	if (cli->watch && (cli->json || cli->verify || cli->nr_addrs))
		return cli_error("watch goes with a PID, filters, --build-id, --interval, %s only",
				 "--scan, --query and --text");
	if (cli->interval && !cli->watch)
		return cli_error("--interval goes with watch only");
	if (cli->count && !cli->verify)
		return cli_error("--count goes with --verify only");
	if (cli->verify && cli->nr_addrs)
		return cli_error("--verify chooses the addresses itself: give only a PID");
	if (cli->verify && (cli->filters || cli->json || cli->build_id))
		return cli_error("--verify goes with --count only");
	if (cli->verify && cli->backend == PROCMAP_BACKEND_TEXT)
		return cli_error("--verify needs scans or queries: leave --text out");
	if (cli->nr_addrs && cli->filters)
		return cli_error("filters (--exec and so on) go with the list only");
	return CLI_OK;
}

static int cli_set_operands(struct cli *cli, int nr, char **words)
{
	uint64_t pid;

	cli->watch = nr && !strcmp(words[0], "watch");
	if (cli->watch) {
		nr--;
		words++;
	}
	if (!nr)
		return cli_error("which process? Give a PID, see --help");
	if (!cli_parse_number(words[0], 10, &pid) || !pid || pid > INT_MAX)
		return cli_error("bad PID '%s': give a decimal number", cli_word(words[0]));
	cli->pid = pid;
	cli->addrs = words + 1;
	cli->nr_addrs = nr - 1;
	return cli_check(cli);
}

static int cli_run(struct cli *cli)
{
	if (cli->verify) {
		if (!cli->count)
			cli->count = CLI_COUNT_DEFAULT;
		return cli_verify(cli);
	}
	if (cli->watch) {
		if (!cli->interval)
			cli->interval = CLI_INTERVAL_DEFAULT;
		return cli_watch(cli);
	}
	return cli->nr_addrs ? cli_resolve(cli) : cli_list(cli);
}

/* What is closed of these stays of no use, rather than become a file that is opened. */
static void cli_reserve_standard(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/", O_PATH);
}

int main(int argc, char **argv)
{
	struct cli cli = { 0 };
	int option, status;

	cli_reserve_standard();
	opterr = 0;
	while ((option = getopt_long(argc, argv, cli_short_options, cli_options, NULL)) != -1) {
		switch (option) {
		case 'h':
			fputs(cli_usage, stdout);
			return cli_flush(CLI_OK);
		case 'V':
			puts("procmap " PROCMAP_VERSION);
			return cli_flush(CLI_OK);
		case '?':
		case ':':
			return cli_bad_option(option, argv[optind - 1]);
		}
		status = cli_set_option(&cli, option);
		if (status != CLI_OK)
			return status;
	}
	status = cli_set_operands(&cli, argc - optind, argv + optind);
	if (status == CLI_OK)
		status = cli_run(&cli);
	return cli_flush(status);
}
