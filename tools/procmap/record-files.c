// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap record: what the addresses of samples lie in, each file once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "record.h"

/**
 * struct record_files - what samples were found in
 * @pid: the process whose files give symbols; 0: print offsets
 * @tree: tree of struct record_file
 */
struct record_files {
	pid_t pid;
	void *tree;
};

/**
 * struct record_file - what frames lie in
 * @name: path of the file, or what else to call it
 * @vma: its first mapping that was seen; all 0 if frames in it have no offset
 * @symbols: its symbols, or NULL
 */
struct record_file {
	char *name;
	struct procmap_vma vma;
	struct record_symbols *symbols;
};

static int record_compare_numbers(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int record_compare_files(const void *a, const void *b)
{
	const struct record_file *file_a = a, *file_b = b;
	const struct procmap_vma *x = &file_a->vma, *y = &file_b->vma;
	int ret = strcmp(file_a->name, file_b->name);

	ret = ret ?: record_compare_numbers(x->inode, y->inode);
	ret = ret ?: record_compare_numbers(x->dev_major, y->dev_major);
	ret = ret ?: record_compare_numbers(x->dev_minor, y->dev_minor);
	ret = ret ?: record_compare_numbers(!x->end, !y->end);
	ret = ret ?: record_compare_numbers(x->build_id_size, y->build_id_size);
	return ret ?: memcmp(x->build_id, y->build_id, x->build_id_size);
}

static void record_free_file(void *node)
{
	struct record_file *file = node;

	record_symbols_close(file->symbols);
	free(file->name);
	free(file);
}

static struct record_file *record_file_new(const struct record_file *model)
{
	struct record_file *file = malloc(sizeof(*file));

	if (!file)
		return NULL;
	*file = *model;
	file->name = strdup(model->name);
	file->vma.name = file->name;
	if (file->name)
		return file;
	free(file);
	return NULL;
}

static struct record_file *record_files_get(struct record_files *files, struct record_file *model)
{
	struct record_file **found = tfind(model, &files->tree, record_compare_files);
	struct record_file *file;

	if (found)
		return *found;
	file = record_file_new(model);
	if (!file)
		return NULL;
	if (!tsearch(file, &files->tree, record_compare_files)) {
		record_free_file(file);
		errno = ENOMEM;
		return NULL;
	}
	if (files->pid && file->vma.flags & PROCMAP_FILE)
		file->symbols = record_symbols_open(files->pid, &file->vma);
	return file;
}

const struct record_file *record_files_name(struct record_files *files, const char *name)
{
	return record_files_get(files, &(struct record_file){ .name = (char *)name });
}

const struct record_file *record_files_find(struct record_files *files,
					    const struct procmap_vma *vma)
{
	if (!vma->name)
		return record_files_name(files, "[anonymous]");
	return record_files_get(files, &(struct record_file){
		.name = (char *)vma->name,
		.vma = *vma,
	});
}

void record_put_name(FILE *line, const char *name)
{
	const unsigned char *p;

	for (p = (const unsigned char *)name; *p; p++) {
		if (*p < ' ' || *p == 0x7f || *p == ';')
			fprintf(line, "\\%03o", *p);
		else
			putc(*p, line);
	}
}

/* An offset in what is no file would say nothing in place of a symbol. */
static bool record_has_offsets(const struct record_files *files, const struct record_file *file)
{
	return file->vma.end && (!files->pid || file->vma.flags & PROCMAP_FILE);
}

void record_files_put(const struct record_files *files, const struct record_file *file,
		      uint64_t offset, FILE *line)
{
	const char *names = NULL;
	char hex[2 * PROCMAP_BUILD_ID_MAX + 1];

	if (file->symbols)
		names = record_symbols_find(file->symbols, offset);
	if (names) {
		fputs(names, line);
		return;
	}
	record_put_name(line, file->name);
	if (record_has_offsets(files, file))
		fprintf(line, "+0x%jx", (uintmax_t)offset);
	if (file->vma.build_id_size)
		fprintf(line, "@%s", cli_build_id(&file->vma, hex));
}

struct record_files *record_files_new(pid_t pid)
{
	struct record_files *files = calloc(1, sizeof(*files));

	if (files)
		files->pid = pid;
	return files;
}

void record_files_free(struct record_files *files)
{
	if (!files)
		return;
	tdestroy(files->tree, record_free_file);
	free(files);
}
