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

/* The output of the program that ran last, with its standard error */
static char text[0x100000];

/* Run the program. Returns its status, as from waitpid(), or -errno. */
static int bench_run(const char *arguments)
{
	char path[512], command[1024];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	FILE *pipe;

	if (len < 0)
		return -errno;
	path[len] = 0;
	*strrchr(path, '/') = 0;
	snprintf(command, sizeof(command), "'%s/procmap_bench' %s 2>&1", path, arguments);
	pipe = popen(command, "r");
	if (!pipe)
		return -ENOMEM;
	len = fread(text, 1, sizeof(text) - 1, pipe);
	text[len] = 0;
	return feof(pipe) ? pclose(pipe) : -E2BIG;
}

static unsigned int count(const char *what)
{
	const char *at = text;
	unsigned int nr;

	for (nr = 0; (at = strstr(at, what)); nr++)
		at += strlen(what);
	return nr;
}

/* Run as briefly as possible. Do all selected cases run, and nothing is missing or fails? */
static bool all_run(const char *patterns, unsigned int nr)
{
	char arguments[512];
	int status;

	snprintf(arguments, sizeof(arguments), "--json --reps 1 --warm-up 0 --play 20 %s",
		 patterns);
	status = bench_run(arguments);
	if (!status && count("\"status\": \"ok\"") == nr && count("\"status\"") == nr)
		return true;
	printf("# status %d, %u of %u ok:\n%s\n", status, count("\"status\": \"ok\""), nr, text);
	return false;
}

TEST(list_names_every_kind)
{
	static const char *const kinds[] = {
		"mm/mmap-munmap/anon ", "query/covering/10000 ", "symbolize/query-id/python3 ",
		"synthesize/text/100000 ", "share/query/0.1 ", "stall/query-4/10000 ",
		"wait/locked/nowait ", "\ntext/libraries ", "dump/query/mixed ",
		"stall/text-elsewhere-2/1000 ", "dump/scan/30 ", "loop/cache/10000 ",
	};
	unsigned int i;

	EXPECT_EQ(0, bench_run("--list"));
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		EXPECT_EQ(1, count(kinds[i]));
}

TEST(bad_arguments_are_refused)
{
	static const char *const bad[] = {
		"--frobnicate", "--reps 0", "--reps x", "--select nothing-like-this",
		"--addresses /dev/null", "--pid 1", "--pid 1 --addresses /dev/null --json",
		"argument",
	};
	unsigned int i;
	int status;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		status = bench_run(bad[i]);
		EXPECT_TRUE(status > 0 && WIFEXITED(status));
		EXPECT_EQ(2, WEXITSTATUS(status));
		EXPECT_EQ(1, count("\n"));
	}
}

/* Few VMAs: a debug kernel takes minutes to make the 10,000 of readv/8. */
TEST(single_calls_run)
{
	EXPECT_TRUE(all_run("--select mm/brk --select query/covering/30 --select ioctl/unknown",
			    3));
}

/* A case compares the answers of text, queries and scans. */
TEST(passes_agree)
{
	EXPECT_TRUE(all_run("--select 's*ize/*/[bp3]*' --select 'dump/*/30' --skip '*-id/*'", 16));
}

TEST(passes_with_build_ids_agree)
{
	if (geteuid())
		SKIP(return, "%s: reading map_files needs root", _metadata->name);
	EXPECT_TRUE(all_run("--select 'symbolize/*-id/*3*'", 4));
}

/*
 * A case fails by itself if an answer is wrong that must be right. The text that
 * is kept has wrong ones, so the process does replace what is asked for.
 */
TEST(loops_tell_stale_answers)
{
	EXPECT_TRUE(all_run("--select 'loop/*/python3'", 5));
	EXPECT_EQ(5, count("\"answers\": 20000, \"wrong\": "));
	EXPECT_EQ(4, count("\"wrong\": 0,"));
}

TEST(scenes_are_played)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "%s: needs two processors", _metadata->name);
	EXPECT_TRUE(all_run("--select 'stall/*/1000'", 13));
	EXPECT_EQ(0, count("\"hangs\": 1"));
}

/* Without NOWAIT, each of the four adversaries makes the call hang; with it, none does. */
TEST(waits_are_told_from_hangs)
{
	if (geteuid())
		SKIP(return, "%s: userfaultfd in the kernel needs root", _metadata->name);
	if (process_vm_readv(getpid(), NULL, 1, NULL, 1, 2) && errno == EINVAL)
		SKIP(return, "%s: kernel without PROCESS_VM_NOWAIT", _metadata->name);
	EXPECT_TRUE(all_run("--select 'wait/*'", 10));
	EXPECT_EQ(4, count("\"hangs\": 1"));
}

/* Look at this process, at addresses in its program, in its stack and in no VMA. */
TEST(addresses_of_a_live_process_are_resolved)
{
	char path[] = "/tmp/bench.XXXXXX", arguments[128];
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
	EXPECT_EQ(0, bench_run(arguments));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	unlink(path);
	EXPECT_EQ(1, count("3 different addresses in 2 mappings"));
	EXPECT_EQ(0, count("differ\n"));
}

TEST_HARNESS_MAIN
