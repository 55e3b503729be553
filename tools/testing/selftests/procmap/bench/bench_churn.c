// SPDX-License-Identifier: GPL-2.0
/*
 * A process that changes its VMAs when it is told to. It maps and unmaps memory,
 * as all programs do. It also replaces code, as one that unloads a plug-in and
 * loads another. What it tells of that is the truth for those who look at it.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bench_churn.h"

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

/**
 * bench_churn() - change VMAs of the calling process
 * @set: its program, mapped; it is kept up to date
 * @root: directory of its files
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
