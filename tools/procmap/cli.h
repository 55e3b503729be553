/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the command-line client share.
 */
#ifndef PROCMAP_CLI_H
#define PROCMAP_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "procmap.h"

/* Exit status. */
enum {
	CLI_OK = 0,
	CLI_NO = 1,		/* an address is not mapped; not verified */
	CLI_TROUBLE = 2,	/* the question could not be answered */
};

/**
 * struct cli - what the command line asks for
 * @pid: the process
 * @backend: where the answers shall come from
 * @filters: PROCMAP_* filters for the list
 * @json: print JSON
 * @build_id: print build IDs in the list
 * @verify: compare queries with the text
 * @count: addresses to verify at least
 * @record: sample the process
 * @seconds: for so long
 * @frequency: samples for each second that a thread runs
 * @addrs: addresses as words
 * @nr_addrs: number of them
 */
struct cli {
	pid_t pid;
	enum procmap_backend backend;
	unsigned int filters;
	bool json;
	bool build_id;
	bool verify;
	size_t count;
	bool record;
	unsigned int seconds;
	unsigned int frequency;
	char **addrs;
	int nr_addrs;
};

/**
 * cli_error() - say on one line what went wrong
 * @format: as for printf(), without newline
 *
 * Return: CLI_TROUBLE.
 */
int cli_error(const char *format, ...)
	__attribute__((format(printf,
			      1, 2)));

/**
 * cli_procmap_error() - say what errno means after a look-up in a process
 * @pid: the process
 *
 * Return: CLI_TROUBLE.
 */
int cli_procmap_error(pid_t pid);

/**
 * cli_open() - open the mappings of the process, or say why not
 * @cli: the command line
 *
 * Return: the handle or NULL.
 */
struct procmap *cli_open(const struct cli *cli);

/**
 * cli_parse_number() - parse a number that is all of a word
 * @word: the word
 * @base: 10 or 16; 16 allows for "0x" in front
 * @value: filled
 *
 * Return: whether it is a number that fits.
 */
bool cli_parse_number(const char *word, int base, uint64_t *value);

/**
 * cli_list() - print the VMAs
 * @cli: the command line
 *
 * Return: exit status.
 */
int cli_list(const struct cli *cli);

/**
 * cli_resolve() - print what is at the addresses
 * @cli: the command line
 *
 * Return: exit status.
 */
int cli_resolve(const struct cli *cli);

/**
 * cli_verify() - compare queries with the text
 * @cli: the command line
 *
 * Return: exit status.
 */
int cli_verify(const struct cli *cli);

/**
 * cli_record() - sample the process and print its stacks
 * @cli: the command line
 *
 * Return: exit status.
 */
int cli_record(const struct cli *cli);

/**
 * cli_output_ok() - whether it makes sense to print more
 *
 * Return: whether all output got through so far. To be asked after every few lines, while errno
 * still says what went wrong.
 */
bool cli_output_ok(void);

/**
 * cli_flush() - see to it that all output got through, or say that it did not
 * @status: exit status so far
 *
 * Return: exit status.
 */
int cli_flush(int status);

/**
 * cli_print_name() - print a name on one line, control characters in octal
 * @name: the name
 */
void cli_print_name(const char *name);

/**
 * cli_print_json_string() - print a string with its quotes as JSON
 * @string: the string; bytes that are no UTF-8 become U+DC80 to U+DCFF
 */
void cli_print_json_string(const char *string);

/**
 * cli_print_json_vma() - print the members of a JSON object that describe a VMA
 * @vma: the VMA
 */
void cli_print_json_vma(const struct procmap_vma *vma);

/**
 * cli_print_json_begin() - print the first lines of the JSON document
 * @cli: the command line
 * @pm: the handle
 * @array: name of the array that is opened
 */
void cli_print_json_begin(const struct cli *cli, const struct procmap *pm, const char *array);

/**
 * cli_print_json_end() - print the last lines of the JSON document
 */
void cli_print_json_end(void);

/**
 * cli_build_id() - a build ID as a word
 * @vma: the VMA
 * @hex: filled
 *
 * Return: @hex with the digits, or "-" for none or "?" for not known.
 */
const char *cli_build_id(const struct procmap_vma *vma, char hex[2 * PROCMAP_BUILD_ID_MAX + 1]);

/**
 * cli_perms() - permissions as the text shows them
 * @vma: the VMA
 * @perms: filled
 *
 * Return: @perms.
 */
const char *cli_perms(const struct procmap_vma *vma, char perms[5]);

/**
 * cli_print_location() - print one line that says what is at an address
 * @addr: the address
 * @vma: its VMA, or NULL
 */
void cli_print_location(uint64_t addr, const struct procmap_vma *vma);

#endif /* PROCMAP_CLI_H */
