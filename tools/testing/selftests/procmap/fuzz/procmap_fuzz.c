// SPDX-License-Identifier: GPL-2.0
/*
 * Random arguments, mostly near limits, for PROCMAP_QUERY, PROCMAP_SCAN,
 * process_vm_readv() and process_vm_writev() with all flags, against processes
 * in every state.
 * Each result must be one that the documentation promises for the arguments.
 * Each byte of memory must have the value that follows from the result; see
 * fuzz.h.
 *
 * The test first shows that it notices false results.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../kselftest.h"
#include "fuzz.h"
#include "procmap_zoo.h"

#define DEFAULT_CALLS	500
/*
 * The checks must notice a lie within so many calls. They usually need a few.
 */
#define LIE_CALLS	2000

/**
 * struct fuzz_case - one line of the report
 * @racing: another thread changes the arguments during the calls
 */
struct fuzz_case {
	const char *name;
	bool (*call)(struct fuzz *fuzz);
	const char *state;
	bool racing;
	enum fuzz_lie lie;
};

static const struct fuzz_case cases[] = {
	{ .name = "notices_wrong_result_of_query", .call = fuzz_query, .state = "running",
	  .lie = FUZZ_LIE_RESULT },
	{ .name = "notices_wrong_answer_of_query", .call = fuzz_query, .state = "running",
	  .lie = FUZZ_LIE_ANSWER },
	{ .name = "notices_write_outside_of_query", .call = fuzz_query, .state = "running",
	  .lie = FUZZ_LIE_OUTSIDE },
	{ .name = "notices_wrong_result_of_scan", .call = fuzz_scan, .state = "running",
	  .lie = FUZZ_LIE_RESULT },
	{ .name = "notices_wrong_answer_of_scan", .call = fuzz_scan, .state = "running",
	  .lie = FUZZ_LIE_ANSWER },
	{ .name = "notices_write_outside_of_scan", .call = fuzz_scan, .state = "running",
	  .lie = FUZZ_LIE_OUTSIDE },
	{ .name = "notices_wrong_record_of_scan", .call = fuzz_scan, .state = "running",
	  .lie = FUZZ_LIE_RECORD },
	{ .name = "notices_wrong_name_of_scan", .call = fuzz_scan, .state = "running",
	  .lie = FUZZ_LIE_NAME },
	{ .name = "notices_wrong_result_of_process_vm", .call = fuzz_vm, .state = "running",
	  .lie = FUZZ_LIE_RESULT },
	{ .name = "notices_wrong_bytes_of_process_vm", .call = fuzz_vm, .state = "running",
	  .lie = FUZZ_LIE_ANSWER },
	{ .name = "notices_write_outside_of_process_vm", .call = fuzz_vm, .state = "running",
	  .lie = FUZZ_LIE_OUTSIDE },
	{ .name = "query_of_running", .call = fuzz_query, .state = "running" },
	{ .name = "query_of_self", .call = fuzz_query, .state = "self" },
#ifdef PROCMAP_BOTH_SIZES
	{ .name = "query_of_other_word_size", .call = fuzz_query, .state = "other-size" },
#endif
	{ .name = "query_of_zombie", .call = fuzz_query, .state = "zombie" },
	{ .name = "query_of_reaped", .call = fuzz_query, .state = "reaped" },
	{ .name = "query_of_dying", .call = fuzz_query, .state = "dying" },
	{ .name = "query_of_execing", .call = fuzz_query, .state = "execing" },
	{ .name = "query_of_kernel_thread", .call = fuzz_query, .state = "kernel-thread" },
	{ .name = "query_of_vfork_child", .call = fuzz_query, .state = "vfork-child" },
	{ .name = "query_of_other_user", .call = fuzz_query, .state = "other-user" },
	{ .name = "query_of_namespaces", .call = fuzz_query, .state = "namespaces" },
	{ .name = "query_that_changes", .call = fuzz_query, .state = "running", .racing = true },
	{ .name = "scan_of_running", .call = fuzz_scan, .state = "running" },
	{ .name = "scan_of_self", .call = fuzz_scan, .state = "self" },
#ifdef PROCMAP_BOTH_SIZES
	{ .name = "scan_of_other_word_size", .call = fuzz_scan, .state = "other-size" },
#endif
	{ .name = "scan_of_zombie", .call = fuzz_scan, .state = "zombie" },
	{ .name = "scan_of_reaped", .call = fuzz_scan, .state = "reaped" },
	{ .name = "scan_of_dying", .call = fuzz_scan, .state = "dying" },
	{ .name = "scan_of_execing", .call = fuzz_scan, .state = "execing" },
	{ .name = "scan_of_kernel_thread", .call = fuzz_scan, .state = "kernel-thread" },
	{ .name = "scan_of_vfork_child", .call = fuzz_scan, .state = "vfork-child" },
	{ .name = "scan_of_other_user", .call = fuzz_scan, .state = "other-user" },
	{ .name = "scan_of_namespaces", .call = fuzz_scan, .state = "namespaces" },
	{ .name = "scan_that_changes", .call = fuzz_scan, .state = "running", .racing = true },
	{ .name = "process_vm_of_running", .call = fuzz_vm, .state = "running" },
	{ .name = "process_vm_of_self", .call = fuzz_vm, .state = "self" },
	{ .name = "process_vm_of_zombie", .call = fuzz_vm, .state = "zombie" },
	{ .name = "process_vm_of_reaped", .call = fuzz_vm, .state = "reaped" },
	{ .name = "process_vm_of_dying", .call = fuzz_vm, .state = "dying" },
	{ .name = "process_vm_of_execing", .call = fuzz_vm, .state = "execing" },
	{ .name = "process_vm_of_kernel_thread", .call = fuzz_vm, .state = "kernel-thread" },
	{ .name = "process_vm_of_vfork_child", .call = fuzz_vm, .state = "vfork-child" },
	{ .name = "process_vm_of_other_user", .call = fuzz_vm, .state = "other-user" },
	{ .name = "process_vm_of_namespaces", .call = fuzz_vm, .state = "namespaces" },
	{ .name = "process_vm_that_changes", .call = fuzz_vm, .state = "running", .racing = true },
};

/**
 * struct options - what the command line asks for
 * @calls: iterations of each case
 * @only: name of the only case to run
 * @iteration: with @replay, number of the only iteration to run
 */
struct options {
	unsigned long long seed;
	unsigned long long calls;
	const char *only;
	bool replay;
	unsigned long long iteration;
};

static const char usage[] =
	"usage: procmap_fuzz [--seed N] [--calls N] [--case NAME [--iteration N]]\n"
	"  --seed N       of the random numbers (default: random, and printed)\n"
	"  --calls N      of each case (default 500)\n"
	"  --case NAME    only this one\n"
	"  --iteration N  only this call, as the report of a failure names it\n";

/*
 * Count a result and check that it is allowed. Returns false if it is not
 * allowed, with a complaint on stderr.
 * @allowed: set of FUZZ_DONE and FUZZ_ERR()
 * @ret: the result, or -errno
 */
bool fuzz_result(struct fuzz *fuzz, __u64 allowed, long ret, const char *what)
{
	unsigned int err = ret < 0 ? -ret : 0, i;

	fuzz->progress->nr++;
	fuzz->progress->results[err % 64]++;
	if (err < 64 && allowed & FUZZ_ERR(err))
		return true;
	fprintf(stderr, "# %s: %s, allowed are:", what, err ? strerror(err) : "success");
	for (i = 0; i < 64; i++) {
		if (allowed & FUZZ_ERR(i))
			fprintf(stderr, " %s;", i ? strerror(i) : "success");
	}
	fprintf(stderr, "\n");
	return false;
}

/* Return the flags that this kernel knows: it refuses all others. */
static unsigned long probe_vm_flags(void)
{
	static const unsigned long flags[] = { FUZZ_VM_PIDFD, FUZZ_VM_NOWAIT };
	unsigned long known = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (syscall(SYS_process_vm_readv, getpid(), NULL, 1UL, NULL, 1UL, flags[i]) < 0 &&
		    errno == EFAULT)
			known |= flags[i];
	}
	return known;
}

static int set_up(struct fuzz *fuzz, const struct fuzz_case *this)
{
	struct procmap_zoo zoo;
	int ret = fuzz_arena_map(&fuzz->local, false);

	if (!ret)
		ret = fuzz_arena_map(&fuzz->remote, true);
	if (!ret)
		ret = procmap_zoo_map(&zoo);
	if (!ret && this->racing)
		ret = fuzz_race_start(fuzz);
	fuzz->racing = this->racing;
	fuzz->lie = this->lie;
	fuzz->vm_flags = probe_vm_flags();
	if (!ret)
		fuzz->exact = fuzz_arena_counts_exactly(&fuzz->local);
	return ret ? ret : fuzz_target_start(fuzz, this->state);
}

static int iterate(struct fuzz *fuzz, const struct fuzz_case *this, const struct options *options)
{
	__u64 end = this->lie ? LIE_CALLS : options->calls;
	__u64 i = options->replay ? options->iteration : 0;
	int ret;

	if (options->replay)
		end = i + 1;
	for (; i < end; i++) {
		fuzz->progress->iteration = i;
		fuzz_seed(fuzz, i);
		ret = fuzz_target_next(fuzz);
		if (ret) {
			fprintf(stderr, "# the next target: %s\n", strerror(-ret));
			return 1;
		}
		if (!this->call(fuzz))
			return 1;
	}
	return 0;
}

/* Run a case in a process of its own. Returns the exit status. */
static int work(const struct fuzz_case *this, const struct options *options,
		struct fuzz_progress *progress)
{
	static struct fuzz fuzz;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fuzz.progress = progress;
	fuzz.seed = options->seed + (this - cases);
	ret = set_up(&fuzz, this);
	if (ret) {
		fprintf(stderr, "# a target that is %s: %s\n", this->state, strerror(-ret));
		return 1;
	}
	ret = iterate(&fuzz, this, options);
	fuzz_target_stop(&fuzz);
	return ret;
}

/*
 * Return the wait status. A worker that hangs is killed, and so gets the status
 * of a killed process.
 */
static int wait_for(pid_t pid, const struct fuzz_progress *progress)
{
	bool ended;
	__u64 seen;
	int status;

	do {
		seen = __atomic_load_n(&progress->nr, __ATOMIC_RELAXED);
		UNTIL((ended = waitpid(pid, &status, WNOHANG) == pid) ||
		      __atomic_load_n(&progress->nr, __ATOMIC_RELAXED) != seen);
		if (ended)
			return status;
	} while (__atomic_load_n(&progress->nr, __ATOMIC_RELAXED) != seen);
	ksft_print_msg("no progress in %d seconds\n", PROCMAP_HANG_MS / 1000);
	kill(pid, SIGKILL);
	return SIGKILL;
}

static void print_results(const struct fuzz_progress *progress)
{
	unsigned int i;

	printf("# %llu calls:", progress->nr);
	for (i = 0; i < 64; i++) {
		if (progress->results[i])
			printf(" %llu %s;", progress->results[i], i ? strerror(i) : "success");
	}
	printf("\n");
}

static void run_case(const struct fuzz_case *this, const struct options *options)
{
	struct fuzz_progress *progress;
	int status;
	pid_t pid;

	if (!fuzz_target_is_there(this->state)) {
		ksft_test_result_skip("%s: no %s here\n", this->name, this->state);
		return;
	}
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED)
		ksft_exit_fail_msg("no memory for the progress\n");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid)
		_exit(work(this, options, progress));
	status = wait_for(pid, progress);
	print_results(progress);
	if (status && !this->lie)
		ksft_print_msg("again: procmap_fuzz --seed %llu --case %s --iteration %llu\n",
			       options->seed, this->name, progress->iteration);
	if (WIFSIGNALED(status))
		ksft_print_msg("the worker died of signal %d\n", WTERMSIG(status));
	if (this->lie)
		status = !(WIFEXITED(status) && WEXITSTATUS(status) == 1 && progress->nr);
	ksft_test_result(!status && progress->nr, "%s\n", this->name);
	munmap(progress, sizeof(*progress));
}

static unsigned long long number_of(const char *option, const char *text)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (!errno && *text >= '0' && *text <= '9' && !*end)
		return number;
	fprintf(stderr, "procmap_fuzz: %s %s: not a number; see --help\n", option, text);
	exit(2);
}

static void check_case(const struct options *options)
{
	size_t i;

	for (i = 0; options->only && i < ARRAY_SIZE(cases); i++) {
		if (!strcmp(cases[i].name, options->only))
			return;
	}
	if (!options->only && !options->replay)
		return;
	fprintf(stderr, "procmap_fuzz: --case: %s; there are:\n",
		options->only ? "no such case" : "needed with --iteration");
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		fprintf(stderr, "  %s\n", cases[i].name);
	exit(2);
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 'S' },
		{ "calls", required_argument, NULL, 'n' },
		{ "case", required_argument, NULL, 'c' },
		{ "iteration", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' }, { }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'S') {
			options->seed = number_of("--seed", optarg);
		} else if (opt == 'n') {
			options->calls = number_of("--calls", optarg);
		} else if (opt == 'c') {
			options->only = optarg;
		} else if (opt == 'i') {
			options->replay = true;
			options->iteration = number_of("--iteration", optarg);
		} else {
			fputs(usage, opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? 0 : 2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "procmap_fuzz: '%s' is no option; see --help\n", argv[optind]);
		exit(2);
	}
	check_case(options);
}

/* The same seed must lead to the same addresses. */
static void keep_addresses(char **argv)
{
	int old = personality(0xffffffff);

	if (old < 0 || old & ADDR_NO_RANDOMIZE || personality(old | ADDR_NO_RANDOMIZE) < 0)
		return;
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	struct options options = { .calls = DEFAULT_CALLS };
	size_t i, nr = 0;

	if (argc == 2 && !strcmp(argv[1], "--exec-loop")) {
		fuzz_exec_loop();
		return 127;
	}
	if (getrandom(&options.seed, sizeof(options.seed), 0) != sizeof(options.seed))
		options.seed = time(NULL);
	options.seed %= 1000000000;
	parse(argc, argv, &options);
	keep_addresses(argv);
	ksft_print_header();
	if (procmap_kernel_lacks_it())
		ksft_exit_skip("kernel without PROCMAP_QUERY (CONFIG_PROCMAP_QUERY)\n");
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		nr += !options.only || !strcmp(cases[i].name, options.only);
	ksft_set_plan(nr);
	ksft_print_msg("seed %llu, process_vm flags 0x%lx\n", options.seed, probe_vm_flags());
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!options.only || !strcmp(cases[i].name, options.only))
			run_case(&cases[i], &options);
	}
	ksft_finished();
}
