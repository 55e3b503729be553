// SPDX-License-Identifier: GPL-2.0
/*
 * The machine: the clock of procmap_bench, and what it changes outside of its
 * processes and undoes at the end. Under QEMU's "-icount shift=0" the time stamp
 * counter should go up by one per guest instruction. The benchmark measures
 * whether it does.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include "bench.h"
#include "stall.h"

#define CLOCK_TRIES	200
#define CLOCK_SHORT	10000
#define CLOCK_LONG	20000
#define CLOCK_WATCH	50e6	/* ns in which to compare ticks and time */

__u64 bench_overhead;
/* A directory for files to map, and an ELF file with a short path in it */
char bench_dir[64];
char bench_library[96];

/* Ticks per instruction, 1 under "-icount shift=0"; 0 if it cannot be measured */
double bench_clock_scale;
static unsigned long map_count_before;

static __u64 clock_nothing(unsigned long turns)
{
	__u64 began = bench_clock();

	return bench_clock() - began;
}

#ifdef BENCH_X86_64
/* Each turn has two instructions. */
static __u64 clock_loop(unsigned long turns)
{
	__u64 began = bench_clock();

	asm volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
	return bench_clock() - began;
}
#endif

/* Interrupts can only add time, so the least of many has none. */
static __u64 clock_least(__u64 (*fn)(unsigned long turns), unsigned long turns)
{
	__u64 least = ~0ull, now;
	int i;

	for (i = 0; i < CLOCK_TRIES; i++) {
		now = fn(turns);
		if (now < least)
			least = now;
	}
	return least;
}

/*
 * Measure the clock with a loop of known length. Returns 0, or -ERANGE if the
 * clock stands still.
 */
int bench_clock_calibrate(void)
{
#ifdef BENCH_X86_64
	const __u64 more = clock_least(clock_loop, CLOCK_LONG);
	const __u64 less = clock_least(clock_loop, CLOCK_SHORT);

	/* A busy machine may take longer for less. */
	if (more > less)
		bench_clock_scale = (more - less) / (2.0 * (CLOCK_LONG - CLOCK_SHORT));
	if (!more)
		return -ERANGE;
#endif
	bench_overhead = clock_least(clock_nothing, 0);
	return 0;
}

/* Nanoseconds per tick, measured once. */
double bench_clock_ns(void)
{
#ifdef BENCH_X86_64
	static double ns;
	struct timespec begin, now;
	__u64 from, to;

	if (ns)
		return ns;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	from = bench_clock();
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		to = bench_clock();
		ns = (now.tv_sec - begin.tv_sec) * 1e9 + now.tv_nsec - begin.tv_nsec;
	} while (ns < CLOCK_WATCH);
	ns /= to - from;
	return ns;
#else
	return 1;
#endif
}

/*
 * The unit of all figures. Returns "instructions" only if a loop of known
 * length took exactly that many ticks; else "ticks" or "ns".
 */
const char *bench_clock_unit(void)
{
#ifdef BENCH_X86_64
	return bench_clock_scale == 1.0 ? "instructions" : "ticks";
#else
	return "ns";
#endif
}

long bench_count_vmas(pid_t pid)
{
	char path[64], line[512];
	long nr = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps))
		nr += strchr(line, '\n') && !strstr(line, "[vsyscall]");
	fclose(maps);
	return nr;
}

static int library_copy(int to)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t done;

	if (from < 0)
		return -errno;
	do {
		done = sendfile(to, from, NULL, 1 << 20);
	} while (done > 0);
	close(from);
	return done ? -errno : 0;
}

/* Make bench_library, in the page cache, unless it is there. */
int bench_make_library(void)
{
	const char *tmp = getenv("TMPDIR") ?: "/tmp";
	int fd, err;

	if (bench_library[0])
		return 0;
	if (snprintf(bench_dir, sizeof(bench_dir), "%s/lib.XXXXXX", tmp) >= (int)sizeof(bench_dir))
		return -ENAMETOOLONG;
	if (!mkdtemp(bench_dir)) {
		bench_dir[0] = 0;
		return -errno;
	}
	snprintf(bench_library, sizeof(bench_library), "%s/libc.so.6", bench_dir);
	fd = open(bench_library, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return -errno;
	err = library_copy(fd);
	close(fd);
	return err;
}

/*
 * Raise vm.max_map_count until bench_system_restore(). Returns 0, or
 * BENCH_UNAVAILABLE if the user may not raise it.
 */
int bench_map_count_raise(unsigned long vmas)
{
	unsigned long have = stall_map_limit(0);

	if (have >= vmas)
		return 0;
	if (!stall_map_limit(vmas))
		return BENCH_UNAVAILABLE;
	if (!map_count_before)
		map_count_before = have;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void bench_system_restore(void)
{
	if (bench_dir[0])
		nftw(bench_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	bench_library[0] = 0;
	bench_dir[0] = 0;
	if (map_count_before)
		stall_map_limit(map_count_before);
	map_count_before = 0;
}
