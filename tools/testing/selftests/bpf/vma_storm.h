/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that maps, unmaps and protects memory, and forks. */
#ifndef SELFTEST_BPF_VMA_STORM_H
#define SELFTEST_BPF_VMA_STORM_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool storm_ends;

static inline void storm_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

/*
 * Holds mmap_lock for writing, or wants it, nearly all the time; once around if
 * storm_ends is set already.
 */
static void *storm(void *arg)
{
	const size_t size = 64 << 20;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i = 0;

	if (at == MAP_FAILED)
		return NULL;
	do {
		mprotect(at, size / 2, PROT_READ);
		memset(at + size / 2, 1, 256 << 10);
		mprotect(at, size, PROT_READ | PROT_WRITE);
		munmap(at + size / 4, 4096);
		mmap(at + size / 4, 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (!(i++ % 16))
			storm_fork();
	} while (!__atomic_load_n(&storm_ends, __ATOMIC_RELAXED));
	munmap(at, size);
	return arg;
}

/* An event that samples this thread and those that it starts, in interrupts */
static inline int storm_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 200000,
		.inherit = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

#endif /* SELFTEST_BPF_VMA_STORM_H */
