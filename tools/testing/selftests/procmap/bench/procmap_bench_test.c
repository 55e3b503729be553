// SPDX-License-Identifier: GPL-2.0
/*
 * Test procmap_bench itself: its cases and scenes run, and their answers agree.
 * So it works when somebody needs figures. This test does not judge the
 * figures.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmap_harness.h"

#define OUTPUT_ROOM	0x100000
/* The limit of a case, for hangs alone. */
#define CASE_S		600

/*
 * The output of the program, with its standard error. The status is that of
 * waitpid().
 */
struct output {
	char *text;
	int status;
};

static int bench_run(const char *arguments, struct output *output)
{
	char path[512], command[1024], *slash;
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	FILE *pipe;

	if (len < 0)
		return -errno;
	path[len] = 0;
	slash = strrchr(path, '/');
	*slash = 0;
	snprintf(command, sizeof(command), "'%s/procmap_bench' %s 2>&1", path, arguments);
	output->text = calloc(1, OUTPUT_ROOM);
	pipe = popen(command, "r");
	if (!output->text || !pipe)
		return -ENOMEM;
	len = fread(output->text, 1, OUTPUT_ROOM - 1, pipe);
	output->status = pclose(pipe);
	return len < OUTPUT_ROOM - 1 ? 0 : -E2BIG;
}

/* Run once, as briefly as possible. */
static int bench_select(const char *patterns, struct output *output)
{
	char arguments[512];

	snprintf(arguments, sizeof(arguments), "--json --reps 1 --warm-up 0 --play 20 %s",
		 patterns);
	return bench_run(arguments, output);
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int nr = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		nr++;
	}
	return nr;
}

/* Did all selected cases run, without anything missing or failed? */
static bool all_ran(const struct output *output, unsigned int nr)
{
	if (output->status || count(output->text, "\"status\": \"ok\"") != nr ||
	    count(output->text, "\"status\"") != nr) {
		printf("# status %d, %u of %u ok:\n%s\n", output->status,
		       count(output->text, "\"status\": \"ok\""), nr, output->text);
		return false;
	}
	return true;
}

/*
 * The fixture has no data. It exists because only fixtures can change the limit
 * of 30 seconds, which is too short on debug kernels.
 */
FIXTURE(bench) {
};

FIXTURE_SETUP(bench)
{
}

FIXTURE_TEARDOWN(bench)
{
}

TEST_F_TIMEOUT(bench, list_names_every_kind, CASE_S)
{
	static const char *const kinds[] = {
		"mm/mmap-munmap/anon ", "query/covering/10000 ", "symbolize/query-id/python3 ",
		"synthesize/text/100000 ", "share/query/0.1 ", "stall/query-4/10000 ",
		"wait/locked/nowait ", "text/libraries ",
		"stall/text-elsewhere-2/1000 ", "dump/scan/30 ", "loop/cache/10000 ",
	};
	struct output output;
	unsigned int i;

	ASSERT_EQ(0, bench_run("--list", &output));
	EXPECT_EQ(0, output.status);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		EXPECT_EQ(1, count(output.text, kinds[i]));
	free(output.text);
}

TEST_F_TIMEOUT(bench, bad_arguments_are_refused, CASE_S)
{
	static const char *const bad[] = {
		"--frobnicate", "--reps 0", "--reps x", "--select nothing-like-this",
		"--addresses /dev/null", "--pid 1", "--pid 1 --addresses /dev/null --json",
		"argument",
	};
	struct output output;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ASSERT_EQ(0, bench_run(bad[i], &output));
		EXPECT_TRUE(WIFEXITED(output.status));
		EXPECT_EQ(2, WEXITSTATUS(output.status));
		EXPECT_EQ(1, count(output.text, "\n"));
		free(output.text);
	}
}

TEST_F_TIMEOUT(bench, single_calls_run, CASE_S)
{
	/*
	 * Use few VMAs: a debug kernel takes minutes to make the 10,000 of
	 * readv/8.
	 */
	const char *patterns = "--select mm/brk --select query/covering/30 --select ioctl/unknown";
	struct output output;

	ASSERT_EQ(0, bench_select(patterns, &output));
	EXPECT_TRUE(all_ran(&output, 3));
	free(output.text);
}

/*
 * A case compares the answers of text, queries and scans. Build IDs need root
 * for the text.
 */
TEST_F_TIMEOUT(bench, passes_agree, CASE_S)
{
	const char *patterns = "--select 's*ize/*/[bp3]*' --select 'dump/*/30' --skip '*-id/*'";
	struct output output;

	ASSERT_EQ(0, bench_select(patterns, &output));
	EXPECT_TRUE(all_ran(&output, 16));
	free(output.text);
}

TEST_F_TIMEOUT(bench, passes_with_build_ids_agree, CASE_S)
{
	struct output output;

	if (geteuid())
		SKIP(return, "%s: reading map_files needs root", _metadata->name);
	ASSERT_EQ(0, bench_select("--select 'symbolize/*-id/*3*'", &output));
	EXPECT_TRUE(all_ran(&output, 4));
	free(output.text);
}

/*
 * A case fails by itself if an answer is wrong that must be right. The text that
 * is kept has wrong ones, so the process does replace what is asked for.
 */
TEST_F_TIMEOUT(bench, loops_tell_stale_answers, CASE_S)
{
	struct output output;

	ASSERT_EQ(0, bench_select("--select 'loop/*/python3'", &output));
	EXPECT_TRUE(all_ran(&output, 5));
	EXPECT_EQ(5, count(output.text, "\"answers\": 20000, \"wrong\": "));
	EXPECT_EQ(4, count(output.text, "\"wrong\": 0,"));
	free(output.text);
}

TEST_F_TIMEOUT(bench, scenes_are_played, CASE_S)
{
	struct output output;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "%s: needs two processors", _metadata->name);
	ASSERT_EQ(0, bench_select("--select 'stall/*/1000'", &output));
	EXPECT_TRUE(all_ran(&output, 13));
	EXPECT_EQ(0, count(output.text, "\"hangs\": 1"));
	free(output.text);
}

/*
 * Without NOWAIT, each of the four adversaries makes the call hang; with it,
 * none does.
 */
TEST_F_TIMEOUT(bench, waits_are_told_from_hangs, CASE_S)
{
	struct output output;

	if (geteuid())
		SKIP(return, "%s: userfaultfd in the kernel needs root", _metadata->name);
	if (process_vm_readv(getpid(), NULL, 1, NULL, 1, 2) && errno == EINVAL)
		SKIP(return, "%s: kernel without PROCESS_VM_NOWAIT", _metadata->name);
	ASSERT_EQ(0, bench_select("--select 'wait/*'", &output));
	EXPECT_TRUE(all_ran(&output, 10));
	EXPECT_EQ(4, count(output.text, "\"hangs\": 1"));
	free(output.text);
}

/*
 * Look at this process, at addresses in its program, in its stack and in no
 * VMA.
 */
TEST_F_TIMEOUT(bench, addresses_of_a_live_process_are_resolved, CASE_S)
{
	char path[] = "/tmp/bench.XXXXXX", arguments[128];
	struct output output;
	int fd = mkstemp(path);
	FILE *file;
	pid_t pid;

	ASSERT_LE(0, fd);
	file = fdopen(fd, "w");
	ASSERT_NE(NULL, file);
	fprintf(file, "# a comment\n%lx\n%lx\n1000\n", (unsigned long)path,
		(unsigned long)bench_run);
	ASSERT_EQ(0, fclose(file));
	pid = fork();
	if (!pid) {
		for (;;)
			pause();
	}
	snprintf(arguments, sizeof(arguments), "--pid %d --addresses %s --reps 2", pid, path);
	EXPECT_EQ(0, bench_run(arguments, &output));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	unlink(path);
	EXPECT_EQ(0, output.status);
	EXPECT_EQ(1, count(output.text, "3 different addresses in 2 mappings"));
	EXPECT_EQ(0, count(output.text, "differ\n"));
	free(output.text);
}

TEST_HARNESS_MAIN
