// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: the events that sample a process.
 *
 * There is one event for each thread on each CPU, since new threads can inherit
 * only such events. All events of a CPU share one ring buffer.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include "record.h"

/*
 * Size of a ring buffer without its first page: ordinary users may have that.
 */
#define RECORD_RING_PAGES 64

/**
 * struct record_ring - the ring buffer of a CPU
 * @fd: the event that it belongs to, or -1
 * @page: the control page that this program shares with the kernel; the buffer
 *	follows it
 */
struct record_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/**
 * struct record_events - events that sample the threads of a process
 * @pid: the process
 * @attr: attributes of each event
 * @rings: ring buffers, one for each CPU
 * @nr_rings: number of them
 * @fds: descriptors of all events
 * @nr_fds: number of them
 * @alloc_fds: room in @fds
 * @threads: threads that have events
 * @nr_threads: number of them
 * @alloc_threads: room in @threads
 * @copy: room for the contents of a ring buffer
 */
struct record_events {
	pid_t pid;
	struct perf_event_attr attr;
	struct record_ring *rings;
	int nr_rings;
	int *fds;
	size_t nr_fds;
	size_t alloc_fds;
	pid_t *threads;
	size_t nr_threads;
	size_t alloc_threads;
	char *copy;
};

static size_t record_ring_size(void)
{
	return RECORD_RING_PAGES * sysconf(_SC_PAGESIZE);
}

static int record_add_int(int **array, size_t *nr, size_t *alloc, int value)
{
	int *bigger;

	if (*nr == *alloc) {
		bigger = reallocarray(*array, *alloc + 64, sizeof(**array));
		if (!bigger)
			return -1;
		*array = bigger;
		*alloc += 64;
	}
	(*array)[(*nr)++] = value;
	return 0;
}

/*
 * The first event of a CPU gets the ring buffer. The others write to it, too.
 */
static int record_attach(struct record_ring *ring, int fd)
{
	void *page;

	if (ring->fd >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd);
	page = mmap(NULL, sysconf(_SC_PAGESIZE) + record_ring_size(), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -1;
	ring->page = page;
	ring->fd = fd;
	return 0;
}

static int record_event(struct record_events *events, pid_t tid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, &events->attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM) && !events->attr.exclude_kernel) {
		events->attr.exclude_kernel = 1;
		return record_event(events, tid, cpu);
	}
	/* The CPU is offline, or the thread has exited since it was seen. */
	if (fd < 0 && (errno == ENODEV || (errno == ESRCH && events->nr_threads > 1)))
		return 0;
	if (fd < 0)
		return -1;
	if (record_add_int(&events->fds, &events->nr_fds, &events->alloc_fds, fd)) {
		close(fd);
		return -1;
	}
	return record_attach(&events->rings[cpu], fd);
}

static int record_thread(struct record_events *events, pid_t tid)
{
	size_t i;
	int cpu;

	for (i = 0; i < events->nr_threads; i++)
		if (events->threads[i] == tid)
			return 0;
	if (record_add_int(&events->threads, &events->nr_threads, &events->alloc_threads, tid))
		return -1;
	for (cpu = 0; cpu < events->nr_rings; cpu++)
		if (record_event(events, tid, cpu))
			return -1;
	return 0;
}

static int record_threads_once(struct record_events *events)
{
	char path[sizeof("/proc//task") + 3 * sizeof(pid_t)];
	struct dirent *entry;
	int ret = 0, err;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", events->pid);
	dir = opendir(path);
	if (!dir) {
		errno = errno == ENOENT ? ESRCH : errno;
		return -1;
	}
	while (!ret && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			ret = record_thread(events, atoi(entry->d_name));
	err = errno;
	closedir(dir);
	errno = err;
	return ret;
}

/*
 * A thread that has no events yet may start new threads. So look again until
 * there are none. Threads that have events pass them on to threads that they
 * start.
 */
static int record_threads(struct record_events *events)
{
	size_t before;

	do {
		before = events->nr_threads;
		if (record_threads_once(events))
			return -1;
	} while (events->nr_threads > before);
	if (!events->nr_fds)
		errno = ESRCH;
	return events->nr_fds ? 0 : -1;
}

/* Each thread takes a descriptor on each CPU, so allow as many as possible. */
static void record_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

struct record_events *record_open(pid_t pid, unsigned int frequency)
{
	struct record_events *events = calloc(1, sizeof(*events));
	int cpu, err;

	if (!events)
		return NULL;
	events->pid = pid;
	events->attr = (struct perf_event_attr) {
		.size = sizeof(events->attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = frequency,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.inherit = 1,
		.inherit_thread = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
	};
	record_raise_limit();
	events->copy = malloc(record_ring_size());
	events->nr_rings = sysconf(_SC_NPROCESSORS_CONF);
	events->rings = calloc(events->nr_rings, sizeof(*events->rings));
	for (cpu = 0; events->rings && cpu < events->nr_rings; cpu++)
		events->rings[cpu].fd = -1;
	if (events->copy && events->rings && !record_threads(events))
		return events;
	err = errno;
	record_close(events);
	errno = err;
	return NULL;
}

/*
 * The kernel moves data_head. Acquire: data_head before the records that the
 * kernel wrote. This program moves data_tail.
 */
static int record_read_ring(struct record_events *events, struct record_ring *ring,
			    struct record_samples *samples)
{
	struct perf_event_mmap_page *page = ring->page;
	const char *data = (const char *)page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	size_t ring_size = record_ring_size();
	size_t at = tail % ring_size, size = head - tail, first = ring_size - at;

	if (first > size)
		first = size;
	memcpy(events->copy, data + at, first);
	memcpy(events->copy + first, data, size - first);
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return record_parse(events->copy, size, samples);
}

int record_read(struct record_events *events, struct record_samples *samples)
{
	int cpu;

	for (cpu = 0; cpu < events->nr_rings; cpu++)
		if (events->rings[cpu].fd >= 0 &&
		    record_read_ring(events, &events->rings[cpu], samples))
			return -1;
	return 0;
}

void record_close(struct record_events *events)
{
	size_t i;
	int cpu;

	if (!events)
		return;
	for (cpu = 0; events->rings && cpu < events->nr_rings; cpu++)
		if (events->rings[cpu].page)
			munmap(events->rings[cpu].page,
			       sysconf(_SC_PAGESIZE) + record_ring_size());
	for (i = 0; i < events->nr_fds; i++)
		close(events->fds[i]);
	free(events->rings);
	free(events->fds);
	free(events->threads);
	free(events->copy);
	free(events);
}
