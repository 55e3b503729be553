// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: a small profiler.
 *
 * It resolves samples to files a few times a second, and not at the end: an
 * address means what is mapped there when it is sampled. Symbols have time:
 * they are looked up when sampling has ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"
#include "record.h"

#define RECORD_PERIOD_MS 100

static int record_error(pid_t pid)
{
	switch (errno) {
	case EACCES:
	case EPERM:
		return cli_error("no permission to sample process %d: %s", pid,
				 "try as its owner or as root, see perf_event_paranoid in proc(5)");
	case EINVAL:
	case ENOENT:
	case EOPNOTSUPP:
		return cli_error("this kernel cannot sample threads: %s",
				 "it is older than 5.13, or has no CPU clock for perf");
	case EMFILE:
		return cli_error("process %d has too many threads: raise ulimit -n", pid);
	case ESRCH:
		return cli_error("there is no process %d", pid);
	default:
		return cli_error("cannot sample process %d: %s", pid, strerror(errno));
	}
}

static int64_t record_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/*
 * What ends sampling early: the end of the process, if the kernel tells, and
 * Ctrl-C.
 */
struct record_stop {
	struct pollfd fds[2];
	sigset_t signals;
};

static void record_stop_open(struct record_stop *stop, pid_t pid)
{
	sigemptyset(&stop->signals);
	sigaddset(&stop->signals, SIGINT);
	sigaddset(&stop->signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop->signals, NULL);
	stop->fds[0].fd = syscall(SYS_pidfd_open, pid, 0);
	stop->fds[1].fd = signalfd(-1, &stop->signals, SFD_CLOEXEC);
	stop->fds[0].events = POLLIN;
	stop->fds[1].events = POLLIN;
}

static void record_stop_close(struct record_stop *stop)
{
	struct timespec now = { 0 };

	/*
	 * A signal that ended sampling must not end the program before its
	 * output.
	 */
	while (sigtimedwait(&stop->signals, NULL, &now) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &stop->signals, NULL);
	close(stop->fds[0].fd);
	close(stop->fds[1].fd);
}

/* Wait for some time. Returns whether there is time for more samples. */
static bool record_wait(struct record_stop *stop, int64_t end)
{
	int64_t left = end - record_now_ms();

	if (left > RECORD_PERIOD_MS)
		left = RECORD_PERIOD_MS;
	return left > 0 && !poll(stop->fds, 2, left);
}

/**
 * struct record - state while the process is sampled
 * @cli: the command line
 * @events: events that sample the process
 * @pm: its mappings
 * @stacks: stacks found so far
 * @samples: samples that are resolved next
 * @left_out: number of samples whose address space was gone
 */
struct record {
	const struct cli *cli;
	struct record_events *events;
	struct procmap *pm;
	struct record_stacks *stacks;
	struct record_samples samples;
	size_t left_out;
};

/* The name of the process. */
static void record_name(pid_t pid, char name[64])
{
	char path[sizeof("/proc//comm") + 3 * sizeof(pid)];
	FILE *file;

	strcpy(name, "?");
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(name, 64, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

/* After an execve() go on with the new address space. After an exit stop. */
static int record_reopen(struct record *r)
{
	struct procmap *pm;
	char name[64];

	r->left_out += r->samples.nr;
	pm = procmap_open(r->cli->pid, r->cli->backend);
	if (!pm)
		return CLI_OK;
	procmap_close(r->pm);
	r->pm = pm;
	record_name(r->cli->pid, name);
	return record_stacks_rename(r->stacks, name) ? record_error(r->cli->pid) : CLI_OK;
}

static int record_take(struct record *r)
{
	record_samples_clear(&r->samples);
	if (record_read(r->events, &r->samples))
		return record_error(r->cli->pid);
	if (!record_stacks_add(r->stacks, r->pm, &r->samples))
		return CLI_OK;
	return errno == ESRCH ? record_reopen(r) : cli_procmap_error(r->cli->pid);
}

static int record_loop(struct record *r)
{
	int64_t end = record_now_ms() + r->cli->seconds * 1000LL;
	struct record_stop stop;
	bool more;
	int status;

	record_stop_open(&stop, r->cli->pid);
	do {
		more = record_wait(&stop, end);
		status = record_take(r);
	} while (more && status == CLI_OK);
	record_stop_close(&stop);
	return status;
}

static int record_print(struct record *r)
{
	if (record_stacks_print(r->stacks, stdout))
		return record_error(r->cli->pid);
	if (r->left_out)
		fprintf(stderr, "procmap: %zu samples left out: process %d %s\n", r->left_out,
			r->cli->pid, "exited or called execve() before they were resolved");
	if (r->samples.lost)
		fprintf(stderr, "procmap: %ju samples were lost: take fewer, see --frequency\n",
			(uintmax_t)r->samples.lost);
	if (!record_stacks_samples(r->stacks) && !r->left_out)
		fprintf(stderr, "procmap: no samples: did process %d run?\n", r->cli->pid);
	return record_stacks_samples(r->stacks) ? CLI_OK : CLI_NO;
}

static bool record_symbols_wanted(const struct cli *cli)
{
	return !cli->no_symbols && record_symbols_available();
}

static int record_with(struct record *r)
{
	char name[64];
	int status;

	record_name(r->cli->pid, name);
	r->stacks = record_stacks_new(name, record_symbols_wanted(r->cli) ? r->cli->pid : 0);
	if (!r->stacks)
		return record_error(r->cli->pid);
	r->events = record_open(r->cli->pid, r->cli->frequency);
	if (!r->events)
		return record_error(r->cli->pid);
	status = record_loop(r);
	return status == CLI_OK ? record_print(r) : status;
}

int cli_record(const struct cli *cli)
{
	struct record r = { .cli = cli };
	int status;

	if (cli->symbols && !record_symbols_available())
		return cli_error("this procmap was built without symbols: %s",
				 "leave --symbols out, or build it with libdw and libiberty");
	r.pm = cli_open(cli);
	if (!r.pm)
		return CLI_TROUBLE;
	status = record_with(&r);
	record_close(r.events);
	record_stacks_free(r.stacks);
	record_samples_free(&r.samples);
	procmap_close(r.pm);
	return status;
}
