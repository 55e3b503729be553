// SPDX-License-Identifier: GPL-2.0
/*
 * Torture test of PROCMAP_QUERY, PROCMAP_SCAN and the text of /proc/<pid>/maps.
 * Writers change one address space in every way and as fast as they can. Its own
 * threads and other processes query, scan and read it meanwhile. An oracle knows
 * which states each query and each line may have met. It fails the test at the
 * first answer that belongs to none of them; see torture.h.
 *
 * The test first shows that the oracle notices readers that lie. At its end it
 * shows that queries and changes have raced: regions changed during queries,
 * and the kernel's counters show lookups that writers disturbed.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../kselftest.h"
#include "stall.h"
#include "torture.h"
#include "uprobe.h"

/* How many queries a run makes, unless it is told how long it takes */
#define DEFAULT_QUERIES	300000
/* The oracle must notice one lie of so many. It usually notices one of the first. */
#define MAX_LIES	20000
#define TICK_MS		50
/* An actor that makes no progress for as many ticks is stuck. */
#define HANG_TICKS	(PROCMAP_HANG_MS / TICK_MS)
/* How often a run says how far it is: every ten seconds or so. */
#define TELL_TICKS	(10 * 1000 / TICK_MS)

static const char * const op_names[NR_OPS] = {
	"mmap", "mmap over", "mmap file", "munmap", "mprotect", "mremap move", "mremap grow",
	"mremap shrink", "madvise", "anon name", "userfaultfd register", "userfaultfd unregister",
	"mlock", "munlock", "big mmap over", "big mprotect", "stack map", "stack grow", "stack cut",
	"brk", "mmap new file", "fork", "exec",
};

static const char * const ask_names[NR_ASKS] = {
	"covering", "next", "filtered next", "with name", "small name buffer", "walk", "step",
	"own state", "child", "area of uprobes", "text", "line", "line, changing", "line, clipped",
	"line, child", "scan", "record", "snapshot", "snapshot of code", "holds still",
};

static const char * const lie_names[NR_LIES] = {
	[LIE_END] = "another end", [LIE_FLAGS] = "other flags", [LIE_OFFSET] = "another offset",
	[LIE_NAME] = "another name", [LIE_HOLE] = "a hole where something is",
	[LIE_SKIP] = "something passed over", [LIE_OLD] = "a state that is over",
	[LIE_LINE_GONE] = "a line that is not there",
	[LIE_LINE_TWICE] = "a line that is there twice", [LIE_LINE_TORN] = "a torn line",
	[LIE_LINE_CUT] = "a line without its start", [LIE_LINE_OLD] = "a line that is over",
	[LIE_RECORD_GONE] = "a record that is not there",
	[LIE_SNAPSHOT] = "records that are no snapshot",
	[LIE_STILL] = "a generation that does not hold",
};

static const char * const counter_names[] = { "vma_search", "vma_search_retry" };

#define NR_COUNTERS	ARRAY_SIZE(counter_names)

/**
 * struct options - what the command line asks for
 * @seconds: how long the run takes; 0: until it has seen everything, often enough
 */
struct options {
	unsigned int seconds;
	unsigned int seed;
};

static unsigned int seconds_since(__u64 start)
{
	return (stall_now_ns() - start) / 1000000000;
}

static void read_counters(long *counters)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++)
		counters[i] = stall_count(counter_names[i]);
}

static pid_t start(struct torture *t, int (*fn)(struct torture *t, unsigned int actor),
		   unsigned int actor)
{
	pid_t pid = procmap_fork();

	if (pid < 0)
		torture_fail(t, "cannot fork: errno %d", errno);
	if (pid)
		return pid;
	_exit(fn(t, actor));
}

/* The threads of the target have the first numbers. */
static unsigned int torture_processes(struct torture *t, pid_t *pids)
{
	unsigned int actor = TORTURE_THREADS, nr = 0, i;

	pids[nr++] = start(t, torture_target, 0);
	UNTIL(__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) || torture_stopped(t));
	for (i = 0; i < TORTURE_READERS; i++)
		pids[nr++] = start(t, torture_read, actor++);
	pids[nr++] = start(t, torture_read_children, actor++);
	if (t->text) {
		pids[nr++] = start(t, torture_read_texts, actor++);
		pids[nr++] = start(t, torture_scans, actor++);
	}
	return nr;
}

static unsigned long all_queries(const struct torture *t)
{
	unsigned long queries = 0;
	unsigned int i;

	for (i = 0; i < NR_ASKS; i++)
		queries += __atomic_load_n(&t->asks[i], __ATOMIC_RELAXED);
	return queries;
}

static void tell_progress(const struct torture *t, unsigned int done, unsigned int seconds)
{
	ksft_print_msg("%u:%02u of %u:%02u minutes, %lu queries\n", done / 60, done % 60,
		       seconds / 60, seconds % 60, all_queries(t));
	fflush(stdout);
}

/* Fail the run when an actor is stuck. */
static void check_beats(struct torture *t, unsigned long *beat)
{
	unsigned int i;

	for (i = 0; i < TORTURE_ACTORS; i++) {
		if (beat[i] && beat[i] == t->beat[i])
			torture_fail(t, "actor %u did nothing for %u seconds", i,
				     PROCMAP_HANG_MS / 1000);
		beat[i] = t->beat[i];
	}
}

/* Must a run do this? Few lines are clipped; procmap_maps_race_test sees to them. */
static bool is_asked(const struct torture *t, unsigned int ask)
{
	if (ask == ASK_UPROBES)
		return t->uprobes;
	return ask != ASK_CLIPPED_LINE && (t->text || ask < ASK_TEXT);
}

/* Return the name of a kind of operation or query that was not seen, or NULL. */
static const char *not_seen(const struct torture *t)
{
	unsigned int i;

	for (i = 0; i < NR_OPS; i++)
		if (!t->ops[i] && !t->without[i])
			return op_names[i];
	for (i = 0; i < NR_ASKS; i++)
		if (!t->asks[i] && is_asked(t, i))
			return ask_names[i];
	return NULL;
}

/* Has every kind of operation and query been seen, and have they raced? */
static bool has_seen_all(const struct torture *t, const long *before)
{
	long now[NR_COUNTERS];
	unsigned int i;

	if (not_seen(t))
		return false;
	read_counters(now);
	for (i = 0; i < NR_COUNTERS; i++)
		if (before[i] >= 0 && now[i] <= before[i])
			return false;
	return t->moved;
}

/* A reader that lies is noticed; others work until they have done enough. */
static bool is_done(const struct torture *t, const long *before)
{
	if (t->lie != LIE_NONE)
		return __atomic_load_n(&t->lies, __ATOMIC_RELAXED) >= MAX_LIES;
	return all_queries(t) >= DEFAULT_QUERIES && has_seen_all(t, before);
}

static void watch(struct torture *t, unsigned int seconds, const long *before)
{
	unsigned long beat[TORTURE_ACTORS] = { 0 };
	const __u64 begin = stall_now_ns();
	unsigned int ticks = 0;

	while (!torture_stopped(t) &&
	       (seconds ? seconds_since(begin) < seconds : !is_done(t, before))) {
		usleep(TICK_MS * 1000);
		if (!(++ticks % HANG_TICKS))
			check_beats(t, beat);
		if (seconds && !(ticks % TELL_TICKS))
			tell_progress(t, seconds_since(begin), seconds);
	}
	__atomic_store_n(&t->stop, 1, __ATOMIC_SEQ_CST);
}

/* Every process must end by itself and report success. */
static void collect(struct torture *t, pid_t *pids, unsigned int nr)
{
	unsigned int i;
	int status;

	for (i = 0; i < nr; i++) {
		if (UNTIL(waitpid(pids[i], &status, WNOHANG))) {
			if (status)
				torture_fail(t, "process %u ended with status 0x%x", i, status);
			continue;
		}
		torture_fail(t, "process %u does not end", i);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/*
 * Do one run in processes of its own. Its results stay in the returned memory.
 * @uprobes: the program has a uprobe
 */
static struct torture *run(const struct options *options, enum torture_lie lie,
			   unsigned int seconds, bool uprobes)
{
	struct torture *t = procmap_share(sizeof(*t));
	pid_t pids[TORTURE_PROCESSES];
	long before[NR_COUNTERS];
	unsigned int i, nr;
	int ret;

	if (!t)
		ksft_exit_fail_msg("no memory\n");
	t->seed = options->seed;
	t->lie = lie;
	/* Without these locks the text may repeat what has grown meanwhile. */
	t->text = stall_has_vma_locks();
	t->uprobes = uprobes;
	t->without[OP_ANON_NAME] = !procmap_has_anon_names();
	ret = torture_lay_out(t);
	if (ret)
		ksft_exit_fail_msg("cannot make files: %s\n", strerror(-ret));
	read_counters(before);
	nr = torture_processes(t, pids);
	watch(t, seconds, before);
	collect(t, pids, nr);
	for (i = 0; i < TORTURE_FILES; i++)
		close(t->file[i].fd);
	return t;
}

static void self_test(const struct options *options)
{
	enum torture_lie lie;

	for (lie = LIE_NONE + 1; lie < NR_LIES; lie++) {
		struct torture *t;

		if (lie >= LIE_LINE_GONE && !stall_has_vma_locks()) {
			ksft_test_result_skip("%s: kernel without per-VMA locks\n",
					      lie_names[lie]);
			continue;
		}
		t = run(options, lie, 0, false);
		/* Only count a failure that a lie can have caused. */
		ksft_test_result(t->failed && t->lies && strstr(t->report[0], "returned"),
				 "a reader lies about %s: noticed after %lu lies\n", lie_names[lie],
				 t->lies);
		munmap(t, sizeof(*t));
	}
}

static void report_counts(const struct torture *t)
{
	unsigned int i;

	for (i = 0; i < NR_OPS; i++)
		ksft_print_msg("%-24s %10lu\n", op_names[i], t->ops[i]);
	for (i = 0; i < NR_ASKS; i++)
		ksft_print_msg("query: %-17s %10lu\n", ask_names[i], t->asks[i]);
	ksft_print_msg("region changed meanwhile %10lu\n", t->moved);
	ksft_print_msg("too much changed to judge %9lu\n", t->lapped);
}

static void result_of_ops(const struct torture *t)
{
	const char *missing = not_seen(t);
	bool lacks = false;
	unsigned int i;

	for (i = 0; i < NR_OPS; i++)
		lacks = lacks || t->without[i];
	if (missing)
		ksft_print_msg("never seen, maybe among others: %s\n", missing);
	if (!missing && lacks)
		ksft_test_result_skip("kinds: kernel without anonymous names or userfaultfd\n");
	else
		ksft_test_result(!missing, "every kind of operation and query was seen\n");
}

static void result_of_uprobes(const struct torture *t)
{
	if (t->uprobes)
		ksft_test_result(t->asks[ASK_UPROBES], "children that hit uprobes\n");
	else
		ksft_test_result_skip("uprobes: kernel without uprobes of perf, or needs root\n");
}

static void result_of_counter(const char *name, long before, long after)
{
	if (before < 0)
		ksft_test_result_skip("%s: kernel without per-VMA locks\n", name);
	else
		ksft_test_result(after > before, "%s grew by %ld\n", name, after - before);
}

static void torture(const struct options *options)
{
	const int uprobe = uprobe_open();
	long before[NR_COUNTERS], after[NR_COUNTERS];
	struct torture *t;
	unsigned int i;

	read_counters(before);
	t = run(options, LIE_NONE, options->seconds, uprobe >= 0);
	read_counters(after);
	if (uprobe >= 0)
		close(uprobe);
	report_counts(t);
	for (i = 0; i < t->failed && i < TORTURE_REPORTS; i++)
		ksft_print_msg("%s\n", t->report[i]);
	ksft_test_result(!t->failed, "no illegal answer in %lu queries\n", all_queries(t));
	ksft_test_result(t->moved, "regions changed during queries\n");
	result_of_ops(t);
	result_of_uprobes(t);
	for (i = 0; i < NR_COUNTERS; i++)
		result_of_counter(counter_names[i], before[i], after[i]);
	munmap(t, sizeof(*t));
}

static void parse(int argc, char **argv, struct options *options)
{
	char rest;
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		unsigned int *to = !strcmp(argv[i], "--seconds") ? &options->seconds :
				   !strcmp(argv[i], "--seed") ? &options->seed : NULL;

		if (!to || sscanf(argv[i + 1], "%u%c", to, &rest) != 1)
			break;
	}
	if (i == argc)
		return;
	fputs("usage: procmap_torture [--seconds N] [--seed N]\n"
	      "  --seconds N  how long to torture (default: until enough was seen)\n"
	      "  --seed N     of the random numbers (default: from the clock, and printed)\n",
	      stderr);
	exit(1);
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1 + time(NULL) % 1000000 };

	if (argc == 2 && !strcmp(argv[1], "--exec-child"))
		return torture_exec_child();
	parse(argc, argv, &options);
	ksft_print_header();
	if (!procmap_supported())
		ksft_exit_skip("kernel without PROCMAP_QUERY (CONFIG_PROCMAP_QUERY)\n");
	ksft_set_plan(NR_LIES - 1 + 4 + NR_COUNTERS);
	ksft_print_msg("seed %u\n", options.seed);
	self_test(&options);
	torture(&options);
	ksft_finished();
}
