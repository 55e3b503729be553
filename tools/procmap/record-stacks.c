// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: stacks, how often each was seen, and their lines of text.
 *
 * A stack is one line as flame graph tools read it: its frames from the
 * outermost to the innermost, with semicolons between them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record.h"

/* A frame: an offset in what it lies in. */
struct record_frame {
	const struct record_file *file;
	uint64_t offset;
};

/**
 * struct record_counted - what was seen, and how often
 * @count: how often
 * @size: bytes in @key
 * @key: frames from the outermost inwards, or a line
 */
struct record_counted {
	size_t count;
	size_t size;
	uint64_t key[];
};

/**
 * struct record_stacks - stacks, and how often each was seen
 * @root: the outermost frame of the stacks that are added
 * @files: what frames lie in
 * @tree: tree of struct record_counted, with frames
 * @samples: how many samples were counted
 */
struct record_stacks {
	const struct record_file *root;
	struct record_files *files;
	void *tree;
	size_t samples;
};

static int record_compare_keys(const void *a, const void *b)
{
	const struct record_counted *x = a, *y = b;
	int ret = memcmp(x->key, y->key, x->size < y->size ? x->size : y->size);

	return ret ?: (x->size > y->size) - (x->size < y->size);
}

static int record_compare_addrs(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int record_count(void **tree, const void *key, size_t size, size_t count)
{
	struct record_counted *counted = malloc(sizeof(*counted) + size);
	struct record_counted **found;

	if (!counted)
		return -1;
	counted->count = 0;
	counted->size = size;
	memcpy(counted->key, key, size);
	found = tsearch(counted, tree, record_compare_keys);
	if (found)
		(*found)->count += count;
	if (!found || *found != counted)
		free(counted);
	if (!found)
		errno = ENOMEM;
	return found ? 0 : -1;
}

/**
 * struct record_where - where samples are
 * @samples: the samples
 * @sorted: their addresses
 * @batch: the VMAs of these
 * @files: what each VMA maps
 * @unmapped: stands for no VMA
 * @frames: room for those of one sample
 */
struct record_where {
	const struct record_samples *samples;
	uint64_t *sorted;
	struct procmap_batch batch;
	const struct record_file **files;
	const struct record_file *unmapped;
	struct record_frame *frames;
};

/* Returns whether there is a VMA. */
static bool record_frame(const struct record_where *where, uint64_t addr,
			 struct record_frame *frame)
{
	const uint64_t *at = bsearch(&addr, where->sorted, where->samples->nr_addrs, sizeof(addr),
				     record_compare_addrs);
	size_t index = where->batch.index[at - where->sorted];

	if (index == PROCMAP_UNMAPPED) {
		*frame = (struct record_frame){ .file = where->unmapped };
		return false;
	}
	frame->file = where->files[index];
	frame->offset = procmap_file_offset(&where->batch.vmas[index], addr);
	return true;
}

/*
 * The addresses from @begin to before @end are one stack, innermost first. If
 * the address of a caller is not code, it comes from a function without a frame
 * pointer: the stack ends there.
 */
static int record_add_one(struct record_stacks *stacks, const struct record_where *where,
			  size_t begin, size_t end)
{
	/* The key has the frames the other way round: fill from the end. */
	struct record_frame *outer = where->frames + (end - begin) + 1;
	size_t i, size;

	for (i = begin; i < end; i++) {
		if (!record_frame(where, where->samples->addrs[i], outer - 1) && i > begin)
			break;
		outer--;
	}
	*--outer = (struct record_frame){ .file = stacks->root };
	size = (i - begin + 1) * sizeof(*outer);
	if (record_count(&stacks->tree, outer, size, 1))
		return -1;
	stacks->samples++;
	return 0;
}

/* Find what each VMA maps. */
static int record_find_files(struct record_stacks *stacks, struct record_where *where)
{
	size_t i;

	where->unmapped = record_files_name(stacks->files, "[unmapped]");
	where->files = calloc(where->batch.nr_vmas + 1, sizeof(*where->files));
	if (!where->unmapped || !where->files)
		return -1;
	for (i = 0; i < where->batch.nr_vmas; i++) {
		where->files[i] = record_files_find(stacks->files, &where->batch.vmas[i]);
		if (!where->files[i])
			return -1;
	}
	return 0;
}

static int record_add_all(struct record_stacks *stacks, struct record_where *where)
{
	const struct record_samples *samples = where->samples;
	size_t i, begin = 0;
	int ret;

	ret = record_find_files(stacks, where);
	for (i = 0; i < samples->nr && !ret; begin = samples->ends[i++])
		ret = record_add_one(stacks, where, begin, samples->ends[i]);
	return ret;
}

static int record_resolve(struct procmap *pm, struct record_where *where)
{
	const struct record_samples *samples = where->samples;

	/* One more: a stack has the name of the process, too. */
	where->sorted = calloc(samples->nr_addrs + 1, sizeof(*where->sorted));
	where->frames = calloc(samples->nr_addrs + 1, sizeof(*where->frames));
	if (!where->sorted || !where->frames)
		return -1;
	if (samples->nr_addrs)
		memcpy(where->sorted, samples->addrs, samples->nr_addrs * sizeof(*where->sorted));
	qsort(where->sorted, samples->nr_addrs, sizeof(*where->sorted), record_compare_addrs);
	return procmap_resolve_many(pm, where->sorted, samples->nr_addrs,
				    PROCMAP_EXEC | PROCMAP_NAME | PROCMAP_BUILD_ID, &where->batch);
}

int record_stacks_add(struct record_stacks *stacks, struct procmap *pm,
		      const struct record_samples *samples)
{
	struct record_where where = { .samples = samples };
	int ret, err;

	if (!samples->nr)
		return 0;
	ret = record_resolve(pm, &where);
	if (!ret)
		ret = record_add_all(stacks, &where);
	err = errno;
	procmap_batch_free(&where.batch);
	free(where.files);
	free(where.frames);
	free(where.sorted);
	errno = err;
	return ret;
}

/**
 * struct record_lines - lines of text, and how often each was seen
 * @stacks: the stacks that they come from
 * @tree: tree of struct record_counted, with lines
 * @failed: there was no memory for one
 * @out: where to print
 */
struct record_lines {
	const struct record_stacks *stacks;
	void *tree;
	bool failed;
	FILE *out;
};

static int record_put_line(const struct record_stacks *stacks, const struct record_counted *stack,
			   FILE *line)
{
	const struct record_frame *frames = (const void *)stack->key;
	size_t i;

	for (i = 0; i < stack->size / sizeof(*frames); i++) {
		if (i)
			putc(';', line);
		record_files_put(stacks->files, frames[i].file, frames[i].offset, line);
	}
	return fclose(line);
}

/* Stacks with the same symbols are one line. */
static void record_make_line(const void *node, VISIT which, void *data)
{
	const struct record_counted *stack = *(struct record_counted *const *)node;
	struct record_lines *lines = data;
	char *text = NULL;
	size_t size;
	FILE *line;

	if (which != postorder && which != leaf)
		return;
	line = open_memstream(&text, &size);
	if (!line || record_put_line(lines->stacks, stack, line) ||
	    record_count(&lines->tree, text, size + 1, stack->count))
		lines->failed = true;
	free(text);
}

static void record_print_line(const void *node, VISIT which, void *data)
{
	const struct record_counted *counted = *(struct record_counted *const *)node;
	struct record_lines *lines = data;

	if (which == postorder || which == leaf)
		fprintf(lines->out, "%s %zu\n", (const char *)counted->key, counted->count);
}

int record_stacks_print(const struct record_stacks *stacks, FILE *out)
{
	struct record_lines lines = { .stacks = stacks, .out = out };

	twalk_r(stacks->tree, record_make_line, &lines);
	if (!lines.failed)
		twalk_r(lines.tree, record_print_line, &lines);
	tdestroy(lines.tree, free);
	if (lines.failed)
		errno = ENOMEM;
	return lines.failed ? -1 : 0;
}

size_t record_stacks_samples(const struct record_stacks *stacks)
{
	return stacks->samples;
}

int record_stacks_rename(struct record_stacks *stacks, const char *root)
{
	const struct record_file *file = record_files_name(stacks->files, root);

	if (!file)
		return -1;
	stacks->root = file;
	return 0;
}

struct record_stacks *record_stacks_new(const char *root, pid_t pid)
{
	struct record_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->files = record_files_new(pid);
	if (stacks->files && !record_stacks_rename(stacks, root))
		return stacks;
	record_stacks_free(stacks);
	return NULL;
}

void record_stacks_free(struct record_stacks *stacks)
{
	if (!stacks)
		return;
	tdestroy(stacks->tree, free);
	record_files_free(stacks->files);
	free(stacks);
}
