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
#define MAX_CASES	64
/* The checks must notice a lie within so many calls. They usually need a few. */
#define LIE_CALLS	2000

/**
 * struct fuzz_case - one line of the report
 * @name: such as "scan_of_zombie"
 * @racing: another thread changes the arguments during the calls
 */
struct fuzz_case {
	char name[64];
	bool (*call)(struct fuzz *fuzz);
	const struct fuzz_state *state;
	bool racing;
	enum fuzz_lie lie;
};

static const struct {
	const char *name;
	bool (*call)(struct fuzz *fuzz);
} interfaces[] = {
	{ "query", fuzz_query }, { "scan", fuzz_scan }, { "process_vm", fuzz_vm },
};

static const char * const lies[NR_FUZZ_LIES] = {
	[FUZZ_LIE_RESULT] = "wrong_result", [FUZZ_LIE_ANSWER] = "wrong_answer",
	[FUZZ_LIE_OUTSIDE] = "write_outside", [FUZZ_LIE_RECORD] = "wrong_record",
	[FUZZ_LIE_NAME] = "wrong_name",
};

static struct fuzz_case cases[MAX_CASES];
static size_t nr_cases;

/**
 * struct options - what the command line asks for
 * @calls: iterations of each case
 * @only: name of the only case to run
 */
struct options {
	unsigned long long seed;
	unsigned long long calls;
	const char *only;
};

static struct fuzz_case *add_case(size_t interface, const struct fuzz_state *state,
				  const char *format, const char *first, const char *second)
{
	struct fuzz_case *this = &cases[nr_cases++];

	this->call = interfaces[interface].call;
	this->state = state;
	snprintf(this->name, sizeof(this->name), format, first, second);
	return this;
}

static void add_cases(size_t interface)
{
	const char *name = interfaces[interface].name;
	const enum fuzz_lie end = interfaces[interface].call == fuzz_scan ? NR_FUZZ_LIES :
									    FUZZ_LIE_RECORD;
	const struct fuzz_state *state, *running = fuzz_states;
	enum fuzz_lie lie;

	for (lie = FUZZ_NO_LIE + 1; lie < end; lie++)
		add_case(interface, running, "notices_%s_of_%s", lies[lie], name)->lie = lie;
	for (state = fuzz_states; state->name; state++) {
		/* The memory that process_vm_readv() reads is that of this program. */
		if (interfaces[interface].call == fuzz_vm &&
		    !strcmp(state->name, "other_word_size"))
			continue;
		add_case(interface, state, "%s_of_%s", name, state->name);
	}
	add_case(interface, running, "%s_that_%s", name, "changes")->racing = true;
}

/*
 * Check that a result is allowed. Returns false if it is not
 * allowed, with a complaint on stderr.
 * @allowed: set of FUZZ_DONE and FUZZ_ERR()
 * @ret: the result, or -errno
 */
bool fuzz_result(struct fuzz *fuzz, __u64 allowed, long ret, const char *what)
{
	unsigned int err = ret < 0 ? -ret : 0, i;

	++*fuzz->calls;
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
	int ret = fuzz_arena_map(&fuzz->local, false) ?: fuzz_arena_map(&fuzz->remote, true) ?:
		  procmap_zoo_map(&zoo);

	if (!ret && this->racing)
		ret = fuzz_race_start(fuzz);
	fuzz->racing = this->racing;
	fuzz->lie = this->lie;
	fuzz->vm_flags = probe_vm_flags();
	if (ret)
		return ret;
	fuzz->exact = fuzz_arena_counts_exactly(&fuzz->local);
	return fuzz_target_start(fuzz, this->state);
}

static int iterate(struct fuzz *fuzz, const struct fuzz_case *this, const struct options *options)
{
	__u64 end = this->lie ? LIE_CALLS : options->calls, i;
	int ret;

	for (i = 0; i < end; i++) {
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
		__u64 *calls)
{
	static struct fuzz fuzz;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fuzz.calls = calls;
	fuzz.seed = options->seed + (this - cases);
	ret = set_up(&fuzz, this);
	if (ret) {
		fprintf(stderr, "# a target that is %s: %s\n", this->state->name, strerror(-ret));
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
static int wait_for(pid_t pid, const __u64 *calls)
{
	bool ended;
	__u64 seen;
	int status;

	do {
		seen = __atomic_load_n(calls, __ATOMIC_RELAXED);
		UNTIL((ended = waitpid(pid, &status, WNOHANG) == pid) ||
		      __atomic_load_n(calls, __ATOMIC_RELAXED) != seen);
		if (ended)
			return status;
	} while (__atomic_load_n(calls, __ATOMIC_RELAXED) != seen);
	ksft_print_msg("no progress in %d seconds\n", PROCMAP_HANG_MS / 1000);
	kill(pid, SIGKILL);
	return SIGKILL;
}

static void run_case(const struct fuzz_case *this, const struct options *options)
{
	__u64 *calls;
	int status;
	pid_t pid;

	if (!fuzz_target_is_there(this->state)) {
		ksft_test_result_skip("%s: no %s here\n", this->name, this->state->name);
		return;
	}
	calls = procmap_share(sizeof(*calls));
	if (!calls)
		ksft_exit_fail_msg("no memory for the progress\n");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid)
		_exit(work(this, options, calls));
	status = wait_for(pid, calls);
	if (status && !this->lie)
		ksft_print_msg("again: procmap_fuzz --seed %llu --case %s\n", options->seed,
			       this->name);
	if (WIFSIGNALED(status))
		ksft_print_msg("the worker died of signal %d\n", WTERMSIG(status));
	if (this->lie)
		status = !(WIFEXITED(status) && WEXITSTATUS(status) == 1 && *calls);
	ksft_test_result(!status && *calls, "%s\n", this->name);
	munmap(calls, sizeof(*calls));
}

static void parse(int argc, char **argv, struct options *options)
{
	char rest;
	int i;

	for (i = 1; i + 1 < argc; i += 2) {
		unsigned long long *to = !strcmp(argv[i], "--seed") ? &options->seed :
					 !strcmp(argv[i], "--calls") ? &options->calls : NULL;

		if (!strcmp(argv[i], "--case"))
			options->only = argv[i + 1];
		else if (!to || sscanf(argv[i + 1], "%llu%c", to, &rest) != 1)
			break;
	}
	if (i == argc)
		return;
	fprintf(stderr, "usage: procmap_fuzz [--seed N] [--calls N] [--case NAME]\n"
		"  --seed N     of the random numbers (default: random, and printed)\n"
		"  --calls N    of each case (default %u)\n"
		"  --case NAME  only this one\n", DEFAULT_CALLS);
	exit(2);
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
	for (i = 0; i < ARRAY_SIZE(interfaces); i++)
		add_cases(i);
	for (i = 0; i < nr_cases; i++)
		nr += !options.only || !strcmp(cases[i].name, options.only);
	if (!nr)
		ksft_exit_fail_msg("there is no case %s\n", options.only);
	ksft_set_plan(nr);
	ksft_print_msg("seed %llu, process_vm flags 0x%lx\n", options.seed, probe_vm_flags());
	for (i = 0; i < nr_cases; i++) {
		if (!options.only || !strcmp(cases[i].name, options.only))
			run_case(&cases[i], &options);
	}
	ksft_finished();
}
