/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of the command-line client share.
 */
#ifndef PROCMAP_CLI_H
#define PROCMAP_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "libprocmap.h"

/* Exit status. */
enum {
	CLI_OK = 0,
	CLI_NO = 1,		/* an address is not mapped; not verified */
	CLI_TROUBLE = 2,	/* the question could not be answered */
};

#define CLI_WORD_MOST 64

/**
 * struct cli - the parsed command line
 * @pid: the process
 * @backend: where the answers should come from
 * @filters: PROCMAP_* filters for the list
 * @json: print JSON
 * @build_id: print build IDs in the list
 * @verify: compare queries with the text
 * @count: how many addresses to verify at least
 * @watch: print VMAs as they come and go
 * @interval: how often to look, in milliseconds
 * @addrs: addresses as strings
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
	bool watch;
	unsigned int interval;
	char **addrs;
	int nr_addrs;
};

/**
 * cli_error() - print one line that says what went wrong
 * @format: as for printf(), without newline
 *
 * Return: CLI_TROUBLE.
 */
int cli_error(const char *format, ...)
	__attribute__((format(printf,
			      1, 2)));

/**
 * cli_word() - get the beginning of a word for an error message
 * @word: the word
 *
 * Return: at most CLI_WORD_MOST characters, those that are not printable in octal,
 * and "..." if that is not all; valid until the next call.
 */
const char *cli_word(const char *word);

/**
 * cli_procmap_error() - print what errno means after a look-up in a process
 * @pid: the process
 *
 * Return: CLI_TROUBLE.
 */
int cli_procmap_error(pid_t pid);

/**
 * cli_open() - open the mappings of the process, or print why this failed
 * @cli: the command line
 *
 * Return: the handle or NULL.
 */
struct procmap *cli_open(const struct cli *cli);

/**
 * cli_parse_number() - parse a number that is all of a word
 * @word: the word
 * @base: 10 or 16; with 16 the word may begin with "0x"
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
 * cli_list_flags() - get the flags of a look-up for the list
 * @cli: the command line
 *
 * Return: PROCMAP_* flags.
 */
unsigned int cli_list_flags(const struct cli *cli);

/**
 * cli_list_header() - print the headings of the list
 * @cli: the command line
 */
void cli_list_header(const struct cli *cli);

/**
 * cli_list_line() - print one line of the list
 * @cli: the command line
 * @vma: the VMA
 */
void cli_list_line(const struct cli *cli, const struct procmap_vma *vma);

/**
 * cli_watch() - print VMAs as they come and go
 * @cli: the command line
 *
 * Return: exit status.
 */
int cli_watch(const struct cli *cli);

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
 * cli_output_ok() - check whether it makes sense to print more
 *
 * Call this after every few lines, while errno still says what went wrong.
 *
 * Return: true if all output so far has been written.
 */
bool cli_output_ok(void);

/**
 * cli_flush() - write all output, or print that this failed
 * @status: exit status so far
 *
 * Return: exit status.
 */
int cli_flush(int status);

/**
 * cli_utf8_length() - get the length of a character in UTF-8
 * @p: its first byte; the string ends with a NUL
 *
 * Return: bytes, or 0 if this is no UTF-8.
 */
int cli_utf8_length(const unsigned char *p);

/**
 * cli_is_control() - is this a character that a terminal acts on?
 * @p: its first byte
 * @len: its length by cli_utf8_length()
 *
 * Return: whether it is one, of ASCII or U+0080 to U+009f.
 */
bool cli_is_control(const unsigned char *p, int len);

/**
 * cli_print_name() - print a name on one line, control characters in octal
 * @name: the name
 */
void cli_print_name(const char *name);

/**
 * cli_print_json_string() - print a string with its quotes as JSON
 * @string: the string; bytes that are not UTF-8 become U+DC80 to U+DCFF
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
 * @array: name of the array that the document begins with
 */
void cli_print_json_begin(const struct cli *cli, const struct procmap *pm, const char *array);

/**
 * cli_print_json_end() - print the last lines of the JSON document
 */
void cli_print_json_end(void);

/**
 * cli_build_id() - format a build ID
 * @vma: the VMA
 * @hex: filled
 *
 * Return: @hex with the digits; "-" if there is none; "?" if it is not known.
 */
const char *cli_build_id(const struct procmap_vma *vma, char hex[2 * PROCMAP_BUILD_ID_MAX + 1]);

/**
 * cli_perms() - format permissions as the text shows them
 * @vma: the VMA
 * @perms: filled
 *
 * Return: @perms.
 */
const char *cli_perms(const struct procmap_vma *vma, char perms[5]);

/**
 * cli_name() - the name of a VMA, or what to print instead
 * @vma: the VMA
 *
 * Return: its name, or a constant.
 */
const char *cli_name(const struct procmap_vma *vma);

/**
 * cli_print_location() - print one line that says what is at an address
 * @addr: the address
 * @vma: its VMA, or NULL
 */
void cli_print_location(uint64_t addr, const struct procmap_vma *vma);

#endif /* PROCMAP_CLI_H */
