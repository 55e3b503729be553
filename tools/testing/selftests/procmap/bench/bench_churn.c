// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that change their VMAs. One does so when it is told to: it maps and
 * unmaps memory, as all programs do, and replaces code, as one that unloads a
 * plug-in and loads another. What it tells of that is the truth for those who
 * look at it. The other one, the storm, maps, protects and unmaps memory all the
 * time. It measures how long each call takes while others look at its VMAs.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "bench_churn.h"
#include "bench_scene.h"

/* Unmap what the last call mapped, and map something of another size. */
static int churn_memory(void)
{
	static size_t size;
	static void *at;

	if (size && munmap(at, size))
		return -errno;
	size = sysconf(_SC_PAGESIZE) * (size == sysconf(_SC_PAGESIZE) ? 2 : 1);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at != MAP_FAILED)
		return 0;
	size = 0;
	return -errno;
}

/* Was the program found running in this VMA? */
static bool churn_was_run(const struct bench_set *set, unsigned int vma)
{
	unsigned int i;

	for (i = 0; i < set->samples; i++)
		if (set->sample[i].vma == vma)
			return bench_set_is_code(set, vma);
	return false;
}

/* Find the next VMA in which the program was running. */
static unsigned int churn_next(const struct bench_set *set, unsigned int vma)
{
	do {
		vma = (vma + 1) % set->nr;
	} while (!churn_was_run(set, vma));
	return vma;
}

/*
 * Map another file, or another part of the file, and the next time what was
 * there before. So the program does not become more and more different from
 * itself.
 */
static int churn_code(struct bench_set *set, const char *root, struct bench_change *change)
{
	static struct bench_set_vma before;
	static unsigned int turn, at;
	struct bench_set_vma *vma;

	if (turn % 2 == 0)
		at = churn_next(set, at);
	vma = &set->vma[at];
	if (turn % 2) {
		*vma = before;
	} else {
		before = *vma;
		if (turn % 4 || set->files == 1)
			vma->offset += vma->size;
		else
			vma->file = (vma->file + 1) % set->files;
	}
	turn++;
	change->vma = at;
	change->file = vma->file;
	change->offset = vma->offset;
	return bench_set_remap(set, at, root);
}

/*
 * Change VMAs of the calling process.
 * @set: its program, mapped; it is kept up to date
 * @code: replace code, too
 * @change: out: what was changed
 */
void bench_churn(struct bench_set *set, const char *root, bool code, struct bench_change *change)
{
	*change = (struct bench_change) { .vma = -1 };
	change->err = churn_memory();
	if (!change->err && code)
		change->err = churn_code(set, root, change);
}

#define STORM_LIVE	8	/* slots that are mapped at a time */
#define STORM_MAPPED	(BENCH_STORM_SLOT / 2)

struct bench_storm *bench_storm;

/* Allocate what this process and its children share. */
int bench_storm_init(void)
{
	void *at;

	if (bench_storm)
		return 0;
	at = mmap(NULL, sizeof(*bench_storm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		  -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	/* Touch all pages before anything is timed. */
	memset(at, 0, sizeof(*bench_storm));
	bench_storm = at;
	return 0;
}

static int storm_call(enum bench_storm_call kind, char *at)
{
	struct bench_hist *hist = &bench_storm->took[kind];
	__u64 began = bench_clock();
	long ret;

	if (kind == BENCH_STORM_MMAP)
		ret = bench_call6(SYS_mmap, at, STORM_MAPPED, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else if (kind == BENCH_STORM_MPROTECT)
		ret = bench_call3(SYS_mprotect, at, STORM_MAPPED / 2, PROT_READ);
	else
		ret = bench_call3(SYS_munmap, at, STORM_MAPPED, 0);
	bench_hist_add(hist, bench_clock() - began - bench_overhead);
	return ret < 0 && ret > -4096 ? ret : 0;
}

static char *storm_slot(unsigned long at, unsigned long i)
{
	return (char *)at + i % BENCH_STORM_SLOTS * BENCH_STORM_SLOT;
}

static int storm_until_stopped(unsigned long at)
{
	unsigned long i;
	int err = 0;

	for (i = 0; !err && !__atomic_load_n(&bench_storm->stop, __ATOMIC_RELAXED); i++) {
		err = storm_call(BENCH_STORM_MMAP, storm_slot(at, i));
		if (!err)
			err = storm_call(BENCH_STORM_MPROTECT, storm_slot(at, i));
		if (!err && i >= STORM_LIVE)
			err = storm_call(BENCH_STORM_MUNMAP, storm_slot(at, i - STORM_LIVE));
	}
	munmap((void *)at, BENCH_STORM_SIZE);
	return err;
}

static unsigned long storm_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/* Change the address space until bench_storm->stop is set. */
void bench_storm_run(unsigned long at)
{
	unsigned long before;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(bench_storm->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		bench_storm->err = -errno;
		return;
	}
	before = storm_sleeps();
	bench_storm->err = storm_until_stopped(at);
	bench_storm->sleeps = storm_sleeps() - before;
}
