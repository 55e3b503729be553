// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap watch: print VMAs as they come and go.
 *
 * Where the kernel has scans, a look that finds nothing new costs one system
 * call, however many VMAs there are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli.h"

/**
 * struct watch_list - the VMAs of one look
 * @vmas: the VMAs, ascending
 * @nr: number of them
 * @alloc: for how many there is space
 */
struct watch_list {
	struct procmap_vma *vmas;
	size_t nr;
	size_t alloc;
};

static void watch_free(struct watch_list *list)
{
	size_t i;

	for (i = 0; i < list->alloc; i++)
		procmap_vma_free(&list->vmas[i]);
	free(list->vmas);
	memset(list, 0, sizeof(*list));
}

/* An element that has not been used yet is empty. */
static struct procmap_vma *watch_next(struct watch_list *list)
{
	size_t want = list->alloc ? list->alloc * 2 : 256;
	struct procmap_vma *vmas;

	if (list->nr < list->alloc)
		return &list->vmas[list->nr];
	vmas = reallocarray(list->vmas, want, sizeof(*vmas));
	if (!vmas)
		return NULL;
	list->vmas = vmas;
	while (list->alloc < want)
		vmas[list->alloc++] = (struct procmap_vma)PROCMAP_VMA_INIT;
	return &vmas[list->nr];
}

/* Return: 0, or -1 with errno. */
static int watch_look(const struct cli *cli, struct procmap *pm, struct watch_list *list)
{
	struct procmap_vma *vma;
	uint64_t last = 0;
	int ret;

	for (list->nr = 0; ; list->nr++) {
		vma = watch_next(list);
		if (!vma)
			return -1;
		vma->end = last;
		ret = procmap_next(pm, cli_list_flags(cli), vma);
		if (ret <= 0)
			return ret;
		last = vma->end;
	}
}

static bool watch_same_name(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool watch_same(const struct procmap_vma *a, const struct procmap_vma *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->flags == b->flags &&
	       a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size) &&
	       watch_same_name(a->name, b->name);
}

static void watch_line(const struct cli *cli, char sign, const struct procmap_vma *vma)
{
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	printf("%02d:%02d:%02d.%03ld %c ", tm.tm_hour, tm.tm_min, tm.tm_sec,
	       now.tv_nsec / 1000000, sign);
	cli_list_line(cli, vma);
}

/* Print what was only in the old list, and what is only in the new one. */
static void watch_compare(const struct cli *cli, const struct watch_list *old,
			  const struct watch_list *new)
{
	size_t i = 0, k = 0;

	while (i < old->nr || k < new->nr) {
		if (i < old->nr && k < new->nr && watch_same(&old->vmas[i], &new->vmas[k])) {
			i++;
			k++;
		} else if (i < old->nr &&
			   (k == new->nr || old->vmas[i].start <= new->vmas[k].start)) {
			watch_line(cli, '-', &old->vmas[i++]);
		} else {
			watch_line(cli, '+', &new->vmas[k++]);
		}
	}
}

/* The generation that tells of all that is watched. */
static unsigned int watch_generation(const struct cli *cli)
{
	const unsigned int code = PROCMAP_EXEC | PROCMAP_FILE;

	return (cli->filters & code) == code ? code : 0;
}

static void watch_sleep(const struct cli *cli)
{
	const struct timespec pause = {
		.tv_sec = cli->interval / 1000,
		.tv_nsec = cli->interval % 1000 * 1000000L,
	};

	nanosleep(&pause, NULL);
}

/*
 * @lists: that of this look, and that of the last one; @looks: how many there
 * were. Return: -1 with errno; 0 if nobody reads the output any more.
 */
static int watch_all(const struct cli *cli, struct procmap *pm, struct watch_list lists[2],
		     unsigned long *looks)
{
	uint64_t generation = 0;
	int changed;

	/* Ask first: what changes while the list is fetched is seen next time. */
	while ((changed = procmap_changed(pm, watch_generation(cli), &generation)) >= 0) {
		if (changed) {
			if (watch_look(cli, pm, &lists[*looks % 2]))
				return -1;
			watch_compare(cli, &lists[(*looks + 1) % 2], &lists[*looks % 2]);
			++*looks;
			if (fflush(stdout) || !cli_output_ok())
				return 0;
		}
		watch_sleep(cli);
	}
	return -1;
}

int cli_watch(const struct cli *cli)
{
	struct watch_list lists[2] = { 0 };
	unsigned long looks = 0;
	struct procmap *pm;
	int status = CLI_OK;

	pm = cli_open(cli);
	if (!pm)
		return CLI_TROUBLE;
	/* The end of the process is the usual end. */
	if (watch_all(cli, pm, lists, &looks) && (errno != ESRCH || !looks))
		status = cli_procmap_error(cli->pid);
	watch_free(&lists[0]);
	watch_free(&lists[1]);
	procmap_close(pm);
	return status;
}
