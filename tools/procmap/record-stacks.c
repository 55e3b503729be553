// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: stacks as lines of text, and how often each was seen.
 *
 * A stack is one line as flame graph tools read it: its frames from the
 * outermost to the innermost, with semicolons between them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "record.h"

/* A stack, and how often it was seen. */
struct record_stack {
	char *line;
	size_t count;
};

/**
 * struct record_stacks - stacks, and how often each was seen
 * @root: the outermost frame of the stacks that are added
 * @tree: tree of struct record_stack, sorted by their lines
 * @samples: how many samples were counted
 */
struct record_stacks {
	char *root;
	void *tree;
	size_t samples;
};

static int record_compare_lines(const void *a, const void *b)
{
	const struct record_stack *x = a, *y = b;

	return strcmp(x->line, y->line);
}

static int record_compare_addrs(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Print semicolons and control characters in octal. */
static void record_put_name(FILE *line, const char *name)
{
	const unsigned char *p;

	for (p = (const unsigned char *)name; *p; p++) {
		if (*p < ' ' || *p == 0x7f || *p == ';')
			fprintf(line, "\\%03o", *p);
		else
			putc(*p, line);
	}
}

static void record_put_frame(FILE *line, uint64_t addr, const struct procmap_vma *vma)
{
	char hex[2 * PROCMAP_BUILD_ID_MAX + 1];

	putc(';', line);
	if (!vma || !vma->name) {
		fputs(vma ? "[anonymous]" : "[unmapped]", line);
		return;
	}
	record_put_name(line, vma->name);
	fprintf(line, "+0x%jx", (uintmax_t)procmap_file_offset(vma, addr));
	if (vma->build_id_size)
		fprintf(line, "@%s", cli_build_id(vma, hex));
}

/*
 * Count a stack. This owns @line: it keeps the line of a new stack, or frees
 * it.
 */
static int record_count(struct record_stacks *stacks, char *line)
{
	struct record_stack *stack = malloc(sizeof(*stack));
	struct record_stack **found;

	if (!stack) {
		free(line);
		return -1;
	}
	*stack = (struct record_stack){ .line = line };
	found = tsearch(stack, &stacks->tree, record_compare_lines);
	if (!found || *found != stack) {
		free(line);
		free(stack);
	}
	if (!found) {
		errno = ENOMEM;
		return -1;
	}
	(*found)->count++;
	stacks->samples++;
	return 0;
}

/* The VMAs of samples. */
struct record_where {
	const struct record_samples *samples;
	const uint64_t *sorted;
	struct procmap_batch batch;
};

static const struct procmap_vma *record_vma(const struct record_where *where, uint64_t addr)
{
	const uint64_t *at = bsearch(&addr, where->sorted, where->samples->nr_addrs, sizeof(addr),
				     record_compare_addrs);
	size_t index = where->batch.index[at - where->sorted];

	return index == PROCMAP_UNMAPPED ? NULL : &where->batch.vmas[index];
}

/*
 * The addresses from @begin to before @end are one stack, innermost first. If
 * the address of a caller is not code, it comes from a function without a frame
 * pointer: the stack ends there.
 */
static int record_add_one(struct record_stacks *stacks, const struct record_where *where,
			  size_t begin, size_t end)
{
	const uint64_t *addrs = where->samples->addrs;
	size_t size, outer = begin;
	char *text = NULL;
	FILE *line;

	while (outer < end && (outer == begin || record_vma(where, addrs[outer])))
		outer++;
	line = open_memstream(&text, &size);
	if (!line)
		return -1;
	record_put_name(line, stacks->root);
	while (outer-- > begin)
		record_put_frame(line, addrs[outer], record_vma(where, addrs[outer]));
	if (fclose(line)) {
		free(text);
		errno = ENOMEM;
		return -1;
	}
	return record_count(stacks, text);
}

static int record_add_all(struct record_stacks *stacks, struct procmap *pm,
			  struct record_where *where)
{
	const struct record_samples *samples = where->samples;
	size_t i, begin = 0;
	int ret = 0, err;

	if (procmap_resolve_many(pm, where->sorted, samples->nr_addrs,
				 PROCMAP_EXEC | PROCMAP_NAME | PROCMAP_BUILD_ID, &where->batch))
		return -1;
	for (i = 0; i < samples->nr && !ret; begin = samples->ends[i++])
		ret = record_add_one(stacks, where, begin, samples->ends[i]);
	err = errno;
	procmap_batch_free(&where->batch);
	errno = err;
	return ret;
}

int record_stacks_add(struct record_stacks *stacks, struct procmap *pm,
		      const struct record_samples *samples)
{
	struct record_where where = { .samples = samples };
	uint64_t *sorted;
	int ret, err;

	if (!samples->nr)
		return 0;
	sorted = malloc((samples->nr_addrs + 1) * sizeof(*sorted));
	if (!sorted)
		return -1;
	if (samples->nr_addrs)
		memcpy(sorted, samples->addrs, samples->nr_addrs * sizeof(*sorted));
	qsort(sorted, samples->nr_addrs, sizeof(*sorted), record_compare_addrs);
	where.sorted = sorted;
	ret = record_add_all(stacks, pm, &where);
	err = errno;
	free(sorted);
	errno = err;
	return ret;
}

static void record_print_node(const void *node, VISIT which, void *out)
{
	const struct record_stack *stack = *(struct record_stack *const *)node;

	if (which == postorder || which == leaf)
		fprintf(out, "%s %zu\n", stack->line, stack->count);
}

void record_stacks_print(const struct record_stacks *stacks, FILE *out)
{
	twalk_r(stacks->tree, record_print_node, out);
}

size_t record_stacks_samples(const struct record_stacks *stacks)
{
	return stacks->samples;
}

int record_stacks_rename(struct record_stacks *stacks, const char *root)
{
	char *copy = strdup(root);

	if (!copy)
		return -1;
	free(stacks->root);
	stacks->root = copy;
	return 0;
}

struct record_stacks *record_stacks_new(const char *root)
{
	struct record_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	if (!record_stacks_rename(stacks, root))
		return stacks;
	free(stacks);
	return NULL;
}

static void record_free_stack(void *node)
{
	struct record_stack *stack = node;

	free(stack->line);
	free(stack);
}

void record_stacks_free(struct record_stacks *stacks)
{
	if (!stacks)
		return;
	tdestroy(stacks->tree, record_free_stack);
	free(stacks->root);
	free(stacks);
}
