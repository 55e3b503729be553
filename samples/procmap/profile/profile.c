// SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note
/*
 * Run a command, and print a line for each sample of all processes meanwhile:
 *
 *   PID COMMAND BINARY+0xOFFSET BUILD-ID
 *
 * BINARY is ? where the code is in no file: in memory, or nowhere, if the sample is
 * in execve(), when the old program is gone and the registers are still those of it.
 * BUILD-ID is - if there is none in memory. All of it was read at the sample, so it is
 * there for processes that have ended meanwhile, too.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "profile.h"
#include "profile.skel.h"

static unsigned long nr_samples, nr_busy;

static void print_build_id(const __u8 *id)
{
	static const __u8 none[PROFILE_ID];
	unsigned int i;

	if (!memcmp(id, none, sizeof(none))) {
		printf(" -\n");
		return;
	}
	putchar(' ');
	for (i = 0; i < PROFILE_ID; i++)
		printf("%02x", id[i]);
	putchar('\n');
}

static int print_sample(void *arg, void *data, size_t size)
{
	const struct profile_sample *sample = data;

	(void)arg;
	(void)size;
	nr_samples++;
	nr_busy += sample->err == -EBUSY;
	printf("%u %.*s %.*s+0x%llx", sample->pid, PROFILE_COMM, sample->comm, PROFILE_BINARY,
	       sample->binary[0] ? sample->binary : "?", (unsigned long long)sample->offset);
	print_build_id(sample->build_id);
	return 0;
}

/* Sample a processor, if it is online, @hz times in a second; false if that fails. */
static bool sample_cpu(struct profile *skel, int cpu, unsigned long hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == ENODEV)
		return true;
	if (fd < 0) {
		fprintf(stderr, "profile: cannot sample processor %d: %s\n", cpu, strerror(errno));
		return false;
	}
	if (!bpf_program__attach_perf_event(skel->progs.take_sample, fd)) {
		fprintf(stderr, "profile: cannot attach to processor %d: %s\n", cpu,
			strerror(errno));
		return false;
	}
	return true;
}

static bool sample_all(struct profile *skel, unsigned long hz)
{
	int cpu, nr = libbpf_num_possible_cpus();

	for (cpu = 0; cpu < nr; cpu++)
		if (!sample_cpu(skel, cpu, hz))
			return false;
	return nr > 0;
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execvp(command[0], command);
	fprintf(stderr, "profile: cannot run %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Print samples until the command ends; returns its status. */
static int follow(struct ring_buffer *ring, pid_t pid)
{
	int status = 0;

	while (!waitpid(pid, &status, WNOHANG))
		ring_buffer__poll(ring, 100);
	ring_buffer__consume(ring);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int refuse(void)
{
	fprintf(stderr, "usage: profile HZ COMMAND [ARGUMENT...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	unsigned long hz = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct ring_buffer *ring;
	struct profile *skel;
	int status;
	pid_t pid;

	if (!hz)
		return refuse();
	skel = profile__open();
	if (skel)
		skel->data->page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	if (!skel || profile__load(skel)) {
		fprintf(stderr, "profile: cannot load the BPF program; are you root?\n");
		return 1;
	}
	ring = ring_buffer__new(bpf_map__fd(skel->maps.samples), print_sample, NULL, NULL);
	if (!ring) {
		fprintf(stderr, "profile: no ring buffer: %s\n", strerror(errno));
		return 1;
	}
	/* The samples that matter are those of the command. */
	if (!sample_all(skel, hz))
		return 1;
	pid = start(argv + 2);
	if (pid < 0) {
		fprintf(stderr, "profile: cannot fork: %s\n", strerror(errno));
		return 1;
	}
	/* Ctrl-C ends the command, and its samples are printed then. */
	signal(SIGINT, SIG_IGN);
	status = follow(ring, pid);
	fflush(stdout);
	fprintf(stderr, "profile: %lu samples, %llu lost, %lu found it locked\n", nr_samples,
		(unsigned long long)skel->bss->nr_lost, nr_busy);
	ring_buffer__free(ring);
	profile__destroy(skel);
	return status;
}
