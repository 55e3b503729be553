// SPDX-License-Identifier: GPL-2.0
/* Results in the Test Anything Protocol, and what else both programs need. */
#include "report.h"

#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

#include "shim/kernel.h"
#include "mm/vma_read.h"
#include "world.h"

static unsigned long seed = 1;
static unsigned int cases;
static const char *title = "start";
static unsigned long present;

unsigned long vm_events[NR_VM_EVENTS];

/* Readers that want to be let in, and the naps of all readers */
static unsigned long starving;
static unsigned long naps;

/** shim_nap() - sleep for a jiffy */
void shim_nap(void)
{
	uatomic_inc(&naps);
	shim_yield();
}

/** shim_jiffies() - the time: a jiffy has passed whenever a reader has slept */
unsigned long shim_jiffies(void)
{
	return uatomic_read(&naps);
}

/** shim_starving() - how many readers want to be let in */
unsigned long shim_starving(void)
{
	return uatomic_read(&starving);
}

/* In place of mm/vma_wake.c. */
struct wait_queue_head vma_hold_writers;

void vma_hold_wake(void)
{
	wake_up_var(&vma_hold_writers);
}

/*
 * In place of mm/vma_wait.c. Nobody is let in: these readers find a gap as all
 * others do. But whoever starves must leave.
 */
void vma_reader_starves(struct mm_struct *mm)
{
	uatomic_inc(&starving);
}

void vma_reader_leaves(struct mm_struct *mm)
{
	if (!uatomic_read(&starving))
		wrong("a reader leaves that has not starved", 0);
	uatomic_dec(&starving);
}

void vma_reader_sleep(struct mm_struct *mm)
{
	shim_nap();
}

void vma_let_readers_in(struct mm_struct *mm)
{
}

/*
 * Report an error and exit with status 1.
 * @detail: where: a page, an address or a number
 */
void wrong(const char *what, unsigned long detail)
{
	static bool said;

	/* Only the first thread reports. */
	if (__atomic_exchange_n(&said, true, __ATOMIC_SEQ_CST))
		pause();
	printf("not ok %u - %s\n# seed %lu, round %lu: %s (%#lx)\n", cases + 1, title, seed,
	       present, what, detail);
	fflush(stdout);
	_exit(1);
}

/* The kernel would have printed a warning. */
void shim_warn(const char *what)
{
	wrong(what, 0);
}

#ifdef __SANITIZE_THREAD__
/*
 * ThreadSanitizer knows neither call_rcu(), which keeps readers away from what is
 * freed, nor the barriers of the tree. AddressSanitizer and maple_leaf_steps check
 * those.
 */
const char *__tsan_default_suppressions(void)
{
	return "race:kmem_cache_\nrace:maple_\nrace:file_free\nrace:file_open\n"
	       "called_from_lib:liburcu.so\nrace:liburcu.so\n";
}
#endif

static void crashed(int number)
{
	wrong("a signal", number);
}

/* As in the kernel, and the same in each run. Returns a number. */
unsigned long get_random_long(void)
{
	u64 rng = (u64)seed << 32 | present;

	return random64(&rng);
}

/*
 * Begin the output.
 * @number: the seed, as text
 */
void report_start(const char *number, unsigned int plan)
{
	seed = strtoul(number, NULL, 0);
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGABRT, crashed);
	printf("TAP version 13\n1..%u\n# seed %lu\n", plan, seed);
	fflush(stdout);
}

/* Begin a case. */
void report_begin(const char *name)
{
	title = name;
}

/* Begin a round. Returns a seed for its random numbers. */
u64 report_round(unsigned long round)
{
	u64 rng = (u64)seed << 40 ^ round;

	present = round;
	return random64(&rng);
}

/* The case has passed. */
void report_end(void)
{
	printf("ok %u - %s\n", ++cases, title);
	fflush(stdout);
}

/*
 * Run the program again, at the same addresses each time.
 *
 * What depends on where memory is then does not depend on the run. Where that
 * is not permitted, go on.
 */
void report_same_addresses(char **argv)
{
	int persona = personality(0xffffffff);

	if (persona >= 0 && !(persona & ADDR_NO_RANDOMIZE) &&
	    personality(persona | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

/* Seconds of a clock that only goes forward. */
static double clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/*
 * How long to test. Returns when to stop.
 * @text: a number of seconds, or "rounds=" and a number of rounds: then the
 *	same seed does the same work each time
 */
struct report_length report_length(const char *text)
{
	struct report_length length = { };

	if (!strncmp(text, "rounds=", 7))
		length.rounds = strtoul(text + 7, NULL, 0);
	if (!length.rounds)
		length.until = clock_now() + strtod(text, NULL);
	return length;
}

/* Is there another round? Returns true if so; there always is a first one. */
bool report_goes_on(const struct report_length *length, unsigned long rounds)
{
	if (length->rounds)
		return rounds < length->rounds;
	return !rounds || clock_now() < length->until;
}
