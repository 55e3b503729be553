// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: compare queries with the text.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

#define CLI_EXCERPT_LINES 20

/*
 * How often to repeat the comparison with new text: for one address, and in
 * all.
 */
#define CLI_RETRIES 50
#define CLI_RETRIES_ALL 2000

/* How many mismatches to print. All are counted. */
#define CLI_MISMATCHES_SHOWN 10

/* After so many rounds give up looking for enough different addresses. */
#define CLI_ROUNDS 64

struct cli_file {
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
};

/**
 * struct cli_verify - a verification
 * @cli: the command line
 * @query: handle for queries, or for scans
 * @text: handle for the text, on the same descriptor
 * @snapshot: VMAs of the text that was read last
 * @nr_snapshot: number of them
 * @addrs: addresses to check, ascending, each once
 * @nr_addrs: number of them
 * @alloc_addrs: space in @addrs
 * @files: file of each VMA that was hit
 * @nr_files: number of them
 * @last_start: start of the VMA that was hit last
 * @vmas: VMAs that were hit
 * @holes: addresses that are not mapped
 * @rereads: how often the text was read again because of a difference
 * @unexplained: how often an answer differed from the new text, too
 * @mismatches: answers that still differ after all retries
 */
struct cli_verify {
	const struct cli *cli;
	struct procmap *query;
	struct procmap *text;
	struct procmap_vma *snapshot;
	size_t nr_snapshot;
	uint64_t *addrs;
	size_t nr_addrs;
	size_t alloc_addrs;
	struct cli_file *files;
	size_t nr_files;
	uint64_t last_start;
	size_t vmas;
	size_t holes;
	size_t rereads;
	size_t unexplained;
	size_t mismatches;
};

static void cli_snapshot_free(struct cli_verify *v)
{
	while (v->nr_snapshot)
		procmap_vma_free(&v->snapshot[--v->nr_snapshot]);
	free(v->snapshot);
	v->snapshot = NULL;
}

/* Read the text. Return: CLI_OK; or CLI_TROUBLE, after printing a message. */
static int cli_snapshot_read(struct cli_verify *v)
{
	size_t alloc = 0, want;
	struct procmap_vma vma = PROCMAP_VMA_INIT, *snapshot;
	int ret;

	cli_snapshot_free(v);
	while ((ret = procmap_next(v->text, PROCMAP_NAME, &vma)) > 0) {
		if (v->nr_snapshot == alloc) {
			want = alloc ? alloc * 2 : 256;
			snapshot = reallocarray(v->snapshot, want, sizeof(*snapshot));
			if (!snapshot) {
				ret = -1;
				break;
			}
			v->snapshot = snapshot;
			alloc = want;
		}
		v->snapshot[v->nr_snapshot++] = vma;
		/* The snapshot owns the name now. Keep only where to go on. */
		vma = (struct procmap_vma){ .size = sizeof(vma), .end = vma.end };
	}
	if (!ret)
		return CLI_OK;
	ret = cli_procmap_error(v->cli->pid);
	procmap_vma_free(&vma);
	return ret;
}

/*
 * Find the VMA of the snapshot that covers @addr; without one, the next VMA if
 * @or_next is set; else NULL.
 */
static const struct procmap_vma *cli_snapshot_find(const struct cli_verify *v, uint64_t addr,
						   bool or_next)
{
	size_t low = 0, high = v->nr_snapshot, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (v->snapshot[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	if (low == v->nr_snapshot || (v->snapshot[low].start > addr && !or_next))
		return NULL;
	return &v->snapshot[low];
}

/*
 * Are two names the same in the text? The text shows a newline in a path and a
 * real "\012" in a path alike.
 */
static bool cli_same_name(const char *a, const char *b)
{
	static const char newline[] = "\\012";
	size_t skip_a, skip_b;

	if (!a || !b)
		return a == b;
	while (*a && *b) {
		skip_a = *a == '\n' ? 1 : !strncmp(a, newline, strlen(newline)) * strlen(newline);
		skip_b = *b == '\n' ? 1 : !strncmp(b, newline, strlen(newline)) * strlen(newline);
		if (!skip_a != !skip_b || (!skip_a && *a != *b))
			return false;
		a += skip_a ? skip_a : 1;
		b += skip_b ? skip_b : 1;
	}
	return *a == *b;
}

static bool cli_same_vma(const struct procmap_vma *a, const struct procmap_vma *b)
{
	if (!a || !b)
		return a == b;
	return a->start == b->start && a->end == b->end && a->flags == b->flags &&
	       a->offset == b->offset && a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && cli_same_name(a->name, b->name);
}

static void cli_mismatch_side(const char *side, const struct procmap_vma *vma)
{
	char perms[5];

	printf("  %-6s ", side);
	if (!vma) {
		puts("no VMA");
		return;
	}
	printf("%012jx-%012jx %s %08jx %x:%x %ju ", (uintmax_t)vma->start, (uintmax_t)vma->end,
	       cli_perms(vma, perms), (uintmax_t)vma->offset, vma->dev_major, vma->dev_minor,
	       (uintmax_t)vma->inode);
	cli_print_name(vma->name ? vma->name : "");
	putchar('\n');
}

static void cli_mismatch(struct cli_verify *v, uint64_t addr, bool or_next,
			 const struct procmap_vma *answer)
{
	if (v->mismatches++ >= CLI_MISMATCHES_SHOWN)
		return;
	printf("MISMATCH at 0x%012jx%s:\n", (uintmax_t)addr, or_next ? " or next" : "");
	cli_mismatch_side("query:", answer);
	cli_mismatch_side("text:", cli_snapshot_find(v, addr, or_next));
}

/*
 * Ask for one address and compare. The process goes on running, so compare an
 * answer that differs with text that is read after it. If it differs from both,
 * it may still be right: the VMA may have changed twice. Count this and ask
 * again. A difference that persists is a mismatch. *@mapped tells whether there
 * was a VMA; if so, @vma has it.
 */
static int cli_verify_addr(struct cli_verify *v, uint64_t addr, bool or_next,
			   struct procmap_vma *vma, bool *mapped)
{
	unsigned int flags = PROCMAP_NAME | (or_next ? PROCMAP_OR_NEXT : 0);
	const struct procmap_vma *answer;
	int retry;

	for (retry = 0; ; retry++) {
		answer = procmap_find(v->query, addr, flags, vma) ? NULL : vma;
		if (!answer && errno != ENOENT)
			return cli_procmap_error(v->cli->pid);
		*mapped = answer;
		if (cli_same_vma(answer, cli_snapshot_find(v, addr, or_next)))
			return CLI_OK;
		if (retry == CLI_RETRIES || v->rereads == CLI_RETRIES_ALL)
			break;
		v->rereads++;
		if (cli_snapshot_read(v))
			return CLI_TROUBLE;
		if (cli_same_vma(answer, cli_snapshot_find(v, addr, or_next)))
			return CLI_OK;
		v->unexplained++;
		/* A rename is no change of a VMA: the handle keeps the old name. */
		flags |= PROCMAP_NAME_NOW;
	}
	cli_mismatch(v, addr, or_next, answer);
	return CLI_OK;
}

static int cli_addrs_put(struct cli_verify *v, uint64_t addr)
{
	uint64_t *addrs;
	size_t want;

	if (v->nr_addrs == v->alloc_addrs) {
		want = v->alloc_addrs ? v->alloc_addrs * 2 : 1024;
		addrs = reallocarray(v->addrs, want, sizeof(*addrs));
		if (!addrs)
			return cli_error("no memory for %zu addresses", want);
		v->addrs = addrs;
		v->alloc_addrs = want;
	}
	v->addrs[v->nr_addrs++] = addr;
	return CLI_OK;
}

/* Add both ends and the middle of VMA @i, and the addresses next to it. */
static int cli_addrs_vma(struct cli_verify *v, size_t i)
{
	const struct procmap_vma *vma = &v->snapshot[i];

	if (cli_addrs_put(v, vma->start) || cli_addrs_put(v, vma->end - 1) ||
	    cli_addrs_put(v, vma->start + (vma->end - vma->start) / 2) ||
	    cli_addrs_put(v, vma->end))
		return CLI_TROUBLE;
	return vma->start ? cli_addrs_put(v, vma->start - 1) : CLI_OK;
}

/*
 * A pseudo-random number that depends only on @x, so that a run can be
 * repeated.
 */
static uint64_t cli_scatter(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15;
	return x ^ x >> 29;
}

static int cli_compare_addr(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void cli_addrs_unique(struct cli_verify *v)
{
	size_t from, to = 0;

	qsort(v->addrs, v->nr_addrs, sizeof(*v->addrs), cli_compare_addr);
	for (from = 0; from < v->nr_addrs; from++)
		if (!to || v->addrs[from] != v->addrs[to - 1])
			v->addrs[to++] = v->addrs[from];
	v->nr_addrs = to;
}

/*
 * Choose some addresses of every VMA. Until there are enough, add more of each.
 */
static int cli_addrs_choose(struct cli_verify *v)
{
	const struct procmap_vma *vma;
	uint64_t salt = 0;
	size_t i, j, more;
	int round;

	/* A process may have unmapped everything, and wait for its tracer. */
	if (!v->nr_snapshot)
		return CLI_OK;
	for (i = 0; i < v->nr_snapshot; i++)
		if (cli_addrs_vma(v, i))
			return CLI_TROUBLE;
	cli_addrs_unique(v);
	for (round = 0; round < CLI_ROUNDS && v->nr_addrs < v->cli->count; round++) {
		more = (v->cli->count - v->nr_addrs) / v->nr_snapshot + 1;
		for (i = 0; i < v->nr_snapshot; i++) {
			vma = &v->snapshot[i];
			for (j = 0; j < more; j++)
				if (cli_addrs_put(v, vma->start + cli_scatter(++salt) %
						  (vma->end - vma->start)))
					return CLI_TROUBLE;
		}
		cli_addrs_unique(v);
	}
	return CLI_OK;
}

static int cli_count_vma(struct cli_verify *v, const struct procmap_vma *vma)
{
	struct cli_file *files;

	/* The addresses ascend, so those of one VMA follow each other. */
	if (v->vmas && v->last_start == vma->start)
		return CLI_OK;
	v->vmas++;
	v->last_start = vma->start;
	if (!(vma->flags & PROCMAP_FILE))
		return CLI_OK;
	/* The array is full when the number of files is a power of two. */
	if (!(v->nr_files & (v->nr_files - 1))) {
		files = reallocarray(v->files, v->nr_files ? v->nr_files * 2 : 1, sizeof(*files));
		if (!files)
			return cli_error("no memory for the list of files");
		v->files = files;
	}
	v->files[v->nr_files++] = (struct cli_file){
		.inode = vma->inode, .dev_major = vma->dev_major, .dev_minor = vma->dev_minor,
	};
	return CLI_OK;
}

static int cli_compare_file(const void *a, const void *b)
{
	const struct cli_file *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode > y->inode ? 1 : -1;
	if (x->dev_major != y->dev_major)
		return x->dev_major > y->dev_major ? 1 : -1;
	return (x->dev_minor > y->dev_minor) - (x->dev_minor < y->dev_minor);
}

static size_t cli_count_files(struct cli_verify *v)
{
	size_t i, different = 0;

	if (v->nr_files)
		qsort(v->files, v->nr_files, sizeof(*v->files), cli_compare_file);
	for (i = 0; i < v->nr_files; i++)
		different += !i || cli_compare_file(&v->files[i - 1], &v->files[i]);
	return different;
}

/* Print a line of the excerpt. The text cannot confirm its build ID. */
static int cli_excerpt(struct cli_verify *v, uint64_t addr, struct procmap_vma *vma)
{
	const unsigned int flags = PROCMAP_NAME | PROCMAP_BUILD_ID;

	if (!procmap_find(v->query, addr, flags, vma)) {
		cli_print_location(addr, vma);
		return CLI_OK;
	}
	if (errno != ENOENT)
		return cli_procmap_error(v->cli->pid);
	cli_print_location(addr, NULL);
	return CLI_OK;
}

static int cli_verify_all(struct cli_verify *v, struct procmap_vma *vma)
{
	size_t i, step = (v->nr_addrs + CLI_EXCERPT_LINES - 1) / CLI_EXCERPT_LINES;
	bool mapped;
	int status;

	printf("%-14s  %-10s  %-40s  %s\n", "ADDRESS", "OFFSET", "BUILD-ID", "NAME");
	for (i = 0; i < v->nr_addrs && cli_output_ok(); i++) {
		status = cli_verify_addr(v, v->addrs[i], false, vma, &mapped);
		if (status == CLI_OK && mapped) {
			status = cli_count_vma(v, vma);
		} else if (status == CLI_OK) {
			v->holes++;
			status = cli_verify_addr(v, v->addrs[i], true, vma, &mapped);
		}
		if (status == CLI_OK && i % step == step / 2)
			status = cli_excerpt(v, v->addrs[i], vma);
		if (status != CLI_OK)
			return status;
	}
	return CLI_OK;
}

static int cli_verify_summary(struct cli_verify *v)
{
	printf("process %d: %zu addresses resolved by queries and compared with the text\n",
	       v->cli->pid, v->nr_addrs);
	printf("%zu in %zu VMAs (the text has %zu) of %zu files, %zu in holes\n",
	       v->nr_addrs - v->holes, v->vmas, v->nr_snapshot, cli_count_files(v), v->holes);
	printf("text read again %zu times after a difference, which did not explain it %zu times\n",
	       v->rereads, v->unexplained);
	printf("%zu mismatches\n", v->mismatches);
	if (v->mismatches)
		return CLI_NO;
	if (v->nr_addrs < v->cli->count) {
		cli_error("only %zu of %zu addresses verified: there are no more in this process",
			  v->nr_addrs, v->cli->count);
		return CLI_NO;
	}
	return CLI_OK;
}

static int cli_verify_run(struct cli_verify *v)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	int status;

	status = cli_snapshot_read(v);
	if (status == CLI_OK)
		status = cli_addrs_choose(v);
	if (status == CLI_OK)
		status = cli_verify_all(v, &vma);
	if (status == CLI_OK)
		status = cli_verify_summary(v);
	procmap_vma_free(&vma);
	return status;
}

static int cli_verify_open(struct cli_verify *v)
{
	const bool scan = v->cli->backend == PROCMAP_BACKEND_SCAN;

	v->query = procmap_open(v->cli->pid, scan ? PROCMAP_BACKEND_SCAN : PROCMAP_BACKEND_QUERY);
	if (!v->query) {
		if (errno == ENOTTY)
			return cli_error("this kernel has no %s: nothing to verify",
					 scan ? "PROCMAP_SCAN" : "PROCMAP_QUERY");
		return cli_procmap_error(v->cli->pid);
	}
	v->text = procmap_open_fd(procmap_get_fd(v->query), PROCMAP_BACKEND_TEXT);
	return v->text ? CLI_OK : cli_procmap_error(v->cli->pid);
}

int cli_verify(const struct cli *cli)
{
	struct cli_verify v = { .cli = cli };
	int status;

	status = cli_verify_open(&v);
	if (status == CLI_OK)
		status = cli_verify_run(&v);
	cli_snapshot_free(&v);
	free(v.addrs);
	free(v.files);
	procmap_close(v.text);
	procmap_close(v.query);
	return status;
}
