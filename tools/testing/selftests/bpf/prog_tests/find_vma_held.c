// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_find_vma() of programs that do not sleep: lookups, walks over all VMAs, and
 * lookups while mappings change.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <test_progs.h>

#include "find_vma_held.h"
#include "find_vma_held.skel.h"
#include "vma_storm.h"

#define LOOKUPS		100000
#define SAMPLES		100000

static void run(struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	/* The storm runs it often, and each assertion is printed. */
	if (err)
		ASSERT_OK(err, "test_run");
}

static int look_up(struct find_vma_held *skel, const void *addr, __u64 flags)
{
	skel->bss->addr = (unsigned long)addr;
	skel->bss->flags = flags;
	skel->bss->ret = 1;
	run(skel->progs.lookup);
	return skel->bss->ret;
}

/* Three pages; the second one is a hole, the third another VMA than the first. */
static char *three_pages(size_t page)
{
	char *at = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || munmap(at + page, page))
		return NULL;
	return at;
}

static void test_lookup(struct find_vma_held *skel)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *at = three_pages(page);

	if (!ASSERT_OK_PTR(at, "mmap"))
		return;
	ASSERT_EQ(look_up(skel, at + 8, 0), 0, "covering");
	ASSERT_EQ(skel->bss->found.end, (unsigned long)at + page, "its end");
	ASSERT_EQ(look_up(skel, at + page, 0), -ENOENT, "a hole");
	ASSERT_EQ(look_up(skel, at + page, BPF_F_VMA_NEXT), 0, "next of a hole");
	ASSERT_EQ(skel->bss->found.start, (unsigned long)at + 2 * page, "its start");
	ASSERT_EQ(look_up(skel, at + 8, BPF_F_VMA_NEXT), 0, "next of what is covered");
	ASSERT_EQ(skel->bss->found.end, (unsigned long)at + page, "that itself");
	ASSERT_EQ(look_up(skel, (void *)-page, 0), -ENOENT, "above all");
	ASSERT_EQ(look_up(skel, (void *)-page, BPF_F_VMA_NEXT), -ENOENT, "next above all");
	ASSERT_EQ(look_up(skel, at, 2), -EINVAL, "an unknown flag");
	ASSERT_EQ(look_up(skel, at, ~0ULL), -EINVAL, "all flags");
	munmap(at, page);
	munmap(at + 2 * page, page);
}

/* Compare the walk with the maps output. [vsyscall] is no VMA. */
static void test_walk(struct find_vma_held *skel)
{
	unsigned int nr = 0, wrong = 0;
	__u64 start, end;
	char line[512];
	FILE *maps;

	skel->bss->flags = BPF_F_VMA_NEXT;
	maps = fopen("/proc/self/maps", "r");
	if (!ASSERT_OK_PTR(maps, "maps"))
		return;
	setvbuf(maps, line, _IOFBF, sizeof(line));
	run(skel->progs.walk);
	ASSERT_EQ(skel->bss->ret, -ENOENT, "the end of the walk");
	while (fscanf(maps, "%llx-%llx%*[^\n]", &start, &end) == 2) {
		if ((long)start < 0)
			break;
		wrong += nr >= skel->bss->nr_vmas || skel->bss->vmas[nr].start != start ||
			 skel->bss->vmas[nr].end != end;
		nr++;
	}
	ASSERT_GT(nr, 10, "lines");
	ASSERT_EQ(wrong, 0, "VMAs that differ");
	ASSERT_EQ(skel->bss->nr_vmas, nr, "number of VMAs");
	fclose(maps);
}

/* The first two lines of the maps output; returns how many there are. */
static int first_lines(pid_t tgid, struct found_vma *vmas)
{
	char path[64];
	FILE *maps;
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", tgid);
	maps = fopen(path, "r");
	if (!maps)
		return -1;
	while (nr < 2 && fscanf(maps, "%llx-%llx%*[^\n]", &vmas[nr].start, &vmas[nr].end) == 2)
		nr++;
	fclose(maps);
	return nr;
}

static bool task_is_right(const struct found_task *task)
{
	struct found_vma vmas[2] = {};

	/* This one reads meanwhile; others sleep, have exited, or are of the kernel. */
	if (task->tgid == getpid())
		return !task->ret;
	if (first_lines(task->tgid, vmas) != 2)
		return task->ret == -ENOENT;
	return !task->ret && !memcmp(vmas, &task->first, sizeof(vmas));
}

/* A child that sleeps, or one that has exited and that nobody has waited for */
static pid_t start_child(bool sleeps)
{
	pid_t child = fork();
	siginfo_t info;

	if (!child) {
		while (sleeps)
			pause();
		_exit(0);
	}
	if (!sleeps)
		ASSERT_OK(waitid(P_PID, child, &info, WEXITED | WNOWAIT), "waitid");
	return child;
}

static void test_tasks(struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach_iter(prog, NULL);
	unsigned int users = 0, kernel = 0, zombies = 0, wrong = 0;
	pid_t child, zombie;
	struct found_task task;
	int fd;

	if (!ASSERT_OK_PTR(link, "attach"))
		return;
	child = start_child(true);
	zombie = start_child(false);
	fd = bpf_iter_create(bpf_link__fd(link));
	if (ASSERT_GE(fd, 0, "bpf_iter_create")) {
		while (read(fd, &task, sizeof(task)) == sizeof(task)) {
			users += !task.ret;
			kernel += task.ret == -ENOENT;
			wrong += !task_is_right(&task);
			zombies += task.pid == zombie && task.ret == -ENOENT;
		}
		close(fd);
	}
	ASSERT_GT(users, 1, "processes");
	ASSERT_GT(kernel, 5, "kernel threads");
	ASSERT_EQ(zombies, 1, "exited tasks");
	ASSERT_EQ(wrong, 0, "tasks with other VMAs");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	waitpid(zombie, NULL, 0);
	bpf_link__destroy(link);
}

static void test_storm(struct find_vma_held *skel)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int i, failed = 0;
	char *at = three_pages(page);
	pthread_t thread;
	void *arg = NULL;

	if (!ASSERT_OK_PTR(at, "mmap"))
		return;
	storm_ends = false;
	if (!ASSERT_OK(pthread_create(&thread, NULL, storm, skel), "pthread_create"))
		return;
	for (i = 0; i < LOOKUPS; i++)
		failed += look_up(skel, at, 0) != 0;
	__atomic_store_n(&storm_ends, true, __ATOMIC_RELAXED);
	pthread_join(thread, &arg);
	ASSERT_OK_PTR(arg, "the storm");
	printf("%u of %u lookups failed\n", failed, LOOKUPS);
	ASSERT_EQ(failed, 0, "lookups that failed");
}

static void test_interrupt(struct find_vma_held *skel)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct bpf_link *link;
	char *at = three_pages(page);
	pthread_t thread;
	void *arg = NULL;
	int fd;

	if (!ASSERT_OK_PTR(at, "mmap"))
		return;
	skel->bss->addr = (unsigned long)at;
	skel->bss->flags = 0;
	skel->bss->target = getpid();
	fd = storm_event();
	if (!ASSERT_GE(fd, 0, "perf_event_open"))
		return;
	link = bpf_program__attach_perf_event(skel->progs.sample, fd);
	if (!ASSERT_OK_PTR(link, "attach_perf_event"))
		return;
	/* The thread inherits event and program. */
	storm_ends = false;
	if (ASSERT_OK(pthread_create(&thread, NULL, storm, skel), "pthread_create")) {
		while (__atomic_load_n(&skel->bss->samples, __ATOMIC_RELAXED) < SAMPLES)
			sched_yield();
		__atomic_store_n(&storm_ends, true, __ATOMIC_RELAXED);
		pthread_join(thread, &arg);
	}
	bpf_link__destroy(link);
	printf("%llu of %llu samples failed\n", (unsigned long long)skel->bss->failed,
	       (unsigned long long)skel->bss->samples);
	ASSERT_EQ(skel->bss->failed, 0, "samples that failed");
	ASSERT_EQ(skel->bss->failed_ret, 0, "their error");
}

void serial_test_find_vma_held(void)
{
	struct find_vma_held *skel = find_vma_held__open_and_load();

	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	if (test__start_subtest("lookup"))
		test_lookup(skel);
	if (test__start_subtest("walk"))
		test_walk(skel);
	if (test__start_subtest("tasks"))
		test_tasks(skel->progs.each_task);
	if (test__start_subtest("sleepable"))
		test_tasks(skel->progs.each_task_sleepable);
	if (test__start_subtest("storm"))
		test_storm(skel);
	if (test__start_subtest("interrupt"))
		test_interrupt(skel);
	find_vma_held__destroy(skel);
}
