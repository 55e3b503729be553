/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * procmap record: declarations that its files share.
 */
#ifndef PROCMAP_RECORD_H
#define PROCMAP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "libprocmap.h"

/**
 * struct record_samples - the call chains of some samples
 * @addrs: addresses of all samples, one after the other, each sample from its
 *	innermost frame outwards; addresses of callers point into the call
 * @nr_addrs: number of them
 * @alloc_addrs: room in @addrs
 * @ends: for each sample the index in @addrs behind its last address
 * @nr: number of samples
 * @alloc: room in @ends
 * @lost: number of samples for which the kernel had no room
 */
struct record_samples {
	uint64_t *addrs;
	size_t nr_addrs;
	size_t alloc_addrs;
	size_t *ends;
	size_t nr;
	size_t alloc;
	uint64_t lost;
};

/* Events that sample the threads of a process. */
struct record_events;

/**
 * record_open() - begin to sample a process
 * @pid: the process; samples its threads and those that it will start
 * @frequency: samples for each second that a thread runs
 *
 * If the caller may not sample the kernel, takes only samples of user space.
 *
 * Return: the events, or NULL with errno.
 */
struct record_events *record_open(pid_t pid, unsigned int frequency);

/**
 * record_read() - read the samples that the kernel has taken
 * @events: the events
 * @samples: samples are added here
 *
 * Return: 0, or -1 with errno ENOMEM or EPROTO.
 */
int record_read(struct record_events *events, struct record_samples *samples);

/**
 * record_close() - stop sampling
 * @events: the events, or NULL
 */
void record_close(struct record_events *events);

/**
 * record_parse() - parse samples in the kernel's format
 * @data: whole records, as the kernel writes them
 * @size: size of @data in bytes
 * @samples: samples are added here
 *
 * Return: 0, or -1 with errno ENOMEM or EPROTO (@data is not made of whole
 * records).
 */
int record_parse(const void *data, size_t size, struct record_samples *samples);

/**
 * record_samples_clear() - forget the samples, but not how many were lost
 * @samples: the samples
 */
void record_samples_clear(struct record_samples *samples);

/**
 * record_samples_free() - free what samples hold
 * @samples: the samples
 */
void record_samples_free(struct record_samples *samples);

/* Symbols of a file. */
struct record_symbols;

/**
 * record_symbols_available() - say whether this program was built with symbols
 *
 * Return: whether it was.
 */
bool record_symbols_available(void);

/**
 * record_symbols_open() - open a mapped file for its symbols
 * @pid: a process that maps it
 * @vma: the mapping, with its name
 *
 * Return: its symbols, to be closed with record_symbols_close(), or NULL: it is
 * no ELF file, cannot be opened, or what can be opened is another file.
 */
struct record_symbols *record_symbols_open(pid_t pid, const struct procmap_vma *vma);

/**
 * record_symbols_find() - find the function of an offset in a file
 * @symbols: symbols of the file
 * @offset: the offset
 *
 * Return: the function and those that were inlined into it there, as frames
 * with semicolons between them, from the outermost inwards; NULL if not known,
 * or without memory. Valid as long as the symbols.
 */
const char *record_symbols_find(struct record_symbols *symbols, uint64_t offset);

/**
 * record_symbols_close() - free symbols
 * @symbols: the symbols, or NULL
 */
void record_symbols_close(struct record_symbols *symbols);

/* What frames lie in. */
struct record_files;
struct record_file;

/**
 * record_files_new() - create an empty set
 * @pid: the process whose files give symbols; 0: print offsets
 *
 * Return: the set, to be freed with record_files_free(), or NULL with errno
 * ENOMEM.
 */
struct record_files *record_files_new(pid_t pid);

/**
 * record_files_find() - get what a VMA maps
 * @files: what was found so far
 * @vma: the VMA
 *
 * Return: what it maps, the same for the same file, or NULL with errno ENOMEM.
 */
const struct record_file *record_files_find(struct record_files *files,
					    const struct procmap_vma *vma);

/**
 * record_files_name() - get something for frames that are no code in a mapping
 * @files: what was found so far
 * @name: what to print for them
 *
 * Return: the same for the same name, or NULL with errno ENOMEM.
 */
const struct record_file *record_files_name(struct record_files *files, const char *name);

/**
 * record_files_put() - print a frame
 * @files: what was found so far
 * @file: what the frame lies in
 * @offset: the offset in it
 * @line: where to print
 */
void record_files_put(const struct record_files *files, const struct record_file *file,
		      uint64_t offset, FILE *line);

/**
 * record_files_free() - free what was found
 * @files: what was found, or NULL
 */
void record_files_free(struct record_files *files);

/**
 * record_put_name() - print semicolons and control characters in octal
 * @line: where to print
 * @name: what to print
 */
void record_put_name(FILE *line, const char *name);

/* Stacks, and how often each was seen. */
struct record_stacks;

/**
 * record_stacks_new() - create an empty set of stacks
 * @root: the outermost frame of each: the name of the process
 * @pid: the process whose files give symbols; 0: print offsets
 *
 * Return: the stacks, to be freed with record_stacks_free(), or NULL with errno
 * ENOMEM.
 */
struct record_stacks *record_stacks_new(const char *root, pid_t pid);

/**
 * record_stacks_rename() - change the outermost frame of stacks added later
 * @stacks: the stacks
 * @root: the frame
 *
 * Return: 0, or -1 with errno ENOMEM.
 */
int record_stacks_rename(struct record_stacks *stacks, const char *root);

/**
 * record_stacks_add() - resolve samples, and count their stacks
 * @stacks: the stacks
 * @pm: mappings of the process
 * @samples: the samples
 *
 * Return: 0, or -1 with errno as for procmap_resolve_many().
 */
int record_stacks_add(struct record_stacks *stacks, struct procmap *pm,
		      const struct record_samples *samples);

/**
 * record_stacks_print() - print stacks in the folded form, sorted
 * @stacks: the stacks
 * @out: where to print
 *
 * Return: 0, or -1 with errno ENOMEM and nothing printed.
 */
int record_stacks_print(const struct record_stacks *stacks, FILE *out);

/**
 * record_stacks_samples() - get how many samples were counted
 * @stacks: the stacks
 *
 * Return: their number.
 */
size_t record_stacks_samples(const struct record_stacks *stacks);

/**
 * record_stacks_free() - free stacks
 * @stacks: the stacks, or NULL
 */
void record_stacks_free(struct record_stacks *stacks);

#endif /* PROCMAP_RECORD_H */
