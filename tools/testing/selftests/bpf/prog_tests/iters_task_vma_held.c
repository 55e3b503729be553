// SPDX-License-Identifier: GPL-2.0
/* The iterator of VMAs: what it sees where nobody can wait, and what it says. */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <test_progs.h>

#include "iters_task_vma_held.h"
#include "iters_task_vma_held.skel.h"
#include "vma_storm.h"
#include "vma_ticks.h"

#define SAMPLES		10000
#define KEPT		64
#define SKIPS		1000

/* VMAs that nobody changes; every other page of theirs has other flags. */
static bool map_kept(struct iters_task_vma_held *skel)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, KEPT * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	if (!ASSERT_OK_PTR(at, "mmap"))
		return false;
	for (i = 0; i < KEPT; i += 2)
		if (!ASSERT_OK(mprotect(at + i * page, page, PROT_NONE), "mprotect"))
			return false;
	/* A neighbour may have merged with the last one. */
	skel->bss->kept_start = (unsigned long)at;
	skel->bss->kept_end = (unsigned long)at + (KEPT - 1) * page;
	skel->bss->kept_nr = KEPT - 1;
	return true;
}

/* [vsyscall] is no VMA. */
static void test_walk(struct iters_task_vma_held *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	unsigned int nr = 0, wrong = 0;
	__u64 start, end;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	__u64 begin;

	if (!ASSERT_OK_PTR(maps, "maps"))
		return;
	setvbuf(maps, line, _IOFBF, sizeof(line));
	begin = ticks();
	ASSERT_OK(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.walk), &opts), "test_run");
	printf("a walk: %llu ticks for %u VMAs\n", ticks() - begin, skel->bss->nr_vmas);
	while (fscanf(maps, "%llx-%llx%*[^\n]", &start, &end) == 2 && (long)start > 0) {
		wrong += nr >= skel->bss->nr_vmas || skel->bss->vmas[nr].start != start ||
			 skel->bss->vmas[nr].end != end;
		nr++;
	}
	ASSERT_GT(nr, KEPT, "lines");
	ASSERT_EQ(wrong, 0, "VMAs that differ");
	ASSERT_EQ(skel->bss->nr_vmas, nr, "number of VMAs");
	fclose(maps);
}

static void print_walks(const char *what, const struct iters_walks *walks)
{
	printf("%s: walks: %llu complete, %llu skipped some, %llu missed some, %llu failed\n", what,
	       walks->complete, walks->skipped, walks->silent, walks->failed);
}

/* fork() changes none of the VMAs of the parent. */
static void test_fork(struct iters_task_vma_held *skel)
{
	struct bpf_link *link;
	pid_t pid;

	skel->bss->target = getpid();
	link = bpf_program__attach(skel->progs.walk_in_fork);
	if (!ASSERT_OK_PTR(link, "attach"))
		return;
	pid = fork();
	if (!pid)
		_exit(0);
	skel->bss->target = 0;
	bpf_link__destroy(link);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid, "waitpid");
	print_walks("fork", &skel->bss->in_fork);
	ASSERT_GT(skel->bss->in_fork.complete, KEPT, "complete walks");
	ASSERT_EQ(skel->bss->in_fork.skipped, 0, "walks that skipped something");
	ASSERT_EQ(skel->bss->in_fork.silent, 0, "walks that missed VMAs");
	ASSERT_EQ(skel->bss->in_fork.failed, 0, "walks that did not begin");
}

/* A step does not last long where interrupts may be disabled. */
static void test_munmap(struct iters_task_vma_held *skel)
{
	const size_t page = sysconf(_SC_PAGESIZE), nr = 3 * SKIPS;
	char *at = mmap(NULL, nr * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bpf_link *link;
	int failed = 0;
	size_t i;

	if (!ASSERT_NEQ(at, MAP_FAILED, "mmap"))
		return;
	for (i = 0; i < nr; i += 2)
		failed |= mprotect(at + i * page, page, PROT_NONE);
	ASSERT_OK(failed, "mprotect");
	skel->bss->unmapped = (unsigned long)at;
	skel->bss->target = getpid();
	link = bpf_program__attach(skel->progs.walk_in_munmap);
	if (!ASSERT_OK_PTR(link, "attach"))
		return;
	ASSERT_OK(munmap(at, nr * page), "munmap");
	skel->bss->target = 0;
	bpf_link__destroy(link);
	ASSERT_EQ(skel->bss->most_skipped, SKIPS, "VMAs skipped in a step");
}

/* A program counts meanwhile. */
static __u64 nr_walks(const volatile struct iters_walks *walks)
{
	return walks->complete + walks->skipped + walks->silent + walks->failed;
}

static void test_interrupt(struct iters_task_vma_held *skel)
{
	const struct iters_walks *walks = &skel->bss->in_interrupt;
	struct bpf_link *link;
	pthread_t thread;
	void *arg = NULL;
	int fd;

	skel->bss->target = getpid();
	fd = storm_event();
	if (!ASSERT_GE(fd, 0, "perf_event_open"))
		return;
	link = bpf_program__attach_perf_event(skel->progs.walk_in_interrupt, fd);
	if (!ASSERT_OK_PTR(link, "attach_perf_event"))
		return;
	/* The thread inherits event and program. */
	storm_ends = false;
	if (ASSERT_OK(pthread_create(&thread, NULL, storm, skel), "pthread_create")) {
		while (nr_walks(walks) < SAMPLES)
			sched_yield();
		__atomic_store_n(&storm_ends, true, __ATOMIC_RELAXED);
		pthread_join(thread, &arg);
	}
	bpf_link__destroy(link);
	skel->bss->target = 0;
	print_walks("interrupt", walks);
	ASSERT_GT(walks->complete, SAMPLES / 2, "complete walks");
	ASSERT_EQ(walks->silent, 0, "walks that missed VMAs");
	ASSERT_EQ(walks->failed, 0, "walks that did not begin");
}

static void test_tasks(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	unsigned int users = 0, kernel = 0, other = 0;
	struct iters_task_error line;
	pid_t zombie;
	siginfo_t info;
	int fd;

	if (!ASSERT_OK_PTR(link, "attach"))
		return;
	zombie = fork();
	if (!zombie)
		_exit(0);
	ASSERT_OK(waitid(P_PID, zombie, &info, WEXITED | WNOWAIT), "waitid");
	fd = bpf_iter_create(bpf_link__fd(link));
	if (ASSERT_GE(fd, 0, "bpf_iter_create")) {
		while (read(fd, &line, sizeof(line)) == sizeof(line)) {
			if (line.pid == zombie)
				ASSERT_EQ(line.err, -ENOENT, "an exited task");
			users += !line.err && line.seen;
			kernel += line.err == -ENOENT && !line.seen;
			other += line.err ? line.err != -ENOENT || line.seen : !line.seen;
		}
		close(fd);
	}
	ASSERT_GT(users, 1, "processes");
	ASSERT_GT(kernel, 5, "kernel threads");
	ASSERT_EQ(other, 0, "other results");
	waitpid(zombie, NULL, 0);
	bpf_link__destroy(link);
}

void serial_test_iters_task_vma_held(void)
{
	struct iters_task_vma_held *skel = iters_task_vma_held__open_and_load();

	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	if (!map_kept(skel))
		goto out;
	if (test__start_subtest("walk"))
		test_walk(skel);
	if (test__start_subtest("tasks"))
		test_tasks(skel->progs.each_task);
	if (test__start_subtest("sleepable"))
		test_tasks(skel->progs.each_task_sleepable);
	if (test__start_subtest("fork"))
		test_fork(skel);
	if (test__start_subtest("munmap"))
		test_munmap(skel);
	if (test__start_subtest("interrupt"))
		test_interrupt(skel);
out:
	iters_task_vma_held__destroy(skel);
}
