// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: a profiler in small.
 *
 * Samples are resolved a few times a second, and not at the end: an address means what is mapped
 * there when it is seen.
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

/* What ends the samples early: the end of the process, where the kernel can tell, and Ctrl-C. */
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

	/* A signal that has done its work must not end the program before its output. */
	while (sigtimedwait(&stop->signals, NULL, &now) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &stop->signals, NULL);
	close(stop->fds[0].fd);
	close(stop->fds[1].fd);
}

/* Whether there is time for more samples, after some of it. */
static bool record_wait(struct record_stop *stop, int64_t end)
{
	int64_t left = end - record_now_ms();

	if (left > RECORD_PERIOD_MS)
		left = RECORD_PERIOD_MS;
	return left > 0 && !poll(stop->fds, 2, left);
}

/* An address space that is gone is no error: the process had its time. */
static int record_take(const struct cli *cli, struct record_events *events, struct procmap *pm,
		       struct record_stacks *stacks, struct record_samples *samples, bool *more)
{
	record_samples_clear(samples);
	if (record_read(events, samples))
		return record_error(cli->pid);
	if (!record_stacks_add(stacks, pm, samples))
		return CLI_OK;
	if (errno != ESRCH)
		return cli_procmap_error(cli->pid);
	fprintf(stderr, "procmap: process %d exited or called execve(): %zu samples left out\n",
		cli->pid, samples->nr);
	*more = false;
	return CLI_OK;
}

static int record_loop(const struct cli *cli, struct record_events *events, struct procmap *pm,
		       struct record_stacks *stacks)
{
	int64_t end = record_now_ms() + cli->seconds * 1000LL;
	struct record_samples samples = { 0 };
	struct record_stop stop;
	bool more;
	int status;

	record_stop_open(&stop, cli->pid);
	do {
		more = record_wait(&stop, end);
		status = record_take(cli, events, pm, stacks, &samples, &more);
	} while (more && status == CLI_OK);
	record_stop_close(&stop);
	if (samples.lost)
		fprintf(stderr, "procmap: %ju samples were lost: take fewer, see --frequency\n",
			(uintmax_t)samples.lost);
	record_samples_free(&samples);
	return status;
}

static int record_with(const struct cli *cli, struct procmap *pm, struct record_stacks *stacks)
{
	struct record_events *events = record_open(cli->pid, cli->frequency);
	int status;

	if (!events)
		return record_error(cli->pid);
	status = record_loop(cli, events, pm, stacks);
	record_close(events);
	if (status != CLI_OK)
		return status;
	record_stacks_print(stacks, stdout);
	if (record_stacks_samples(stacks))
		return CLI_OK;
	fprintf(stderr, "procmap: no samples: did process %d run?\n", cli->pid);
	return CLI_NO;
}

/* The name of the process, or of what it has become. */
static struct record_stacks *record_begin(pid_t pid)
{
	char path[sizeof("/proc//comm") + 3 * sizeof(pid)], name[64] = "?";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file) {
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	return record_stacks_new(name);
}

int cli_record(const struct cli *cli)
{
	struct record_stacks *stacks;
	struct procmap *pm;
	int status;

	pm = cli_open(cli);
	if (!pm)
		return CLI_TROUBLE;
	stacks = record_begin(cli->pid);
	status = stacks ? record_with(cli, pm, stacks) : cli_error("no memory");
	record_stacks_free(stacks);
	procmap_close(pm);
	return status;
}
