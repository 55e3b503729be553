// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: print what is at addresses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* An address, and its place in the input: they are resolved in sorted order. */
struct cli_addr {
	uint64_t addr;
	size_t given;
};

struct cli_addrs {
	struct cli_addr *addrs;
	size_t nr;
	size_t alloc;
};

/* @where describes the place of the word for an error message. */
static int cli_addrs_add(struct cli_addrs *list, const char *word, const char *where)
{
	struct cli_addr *addrs;
	size_t want;
	uint64_t addr;

	if (!cli_parse_number(word, 16, &addr))
		return cli_error("bad address '%s'%s: give a hexadecimal number of at most 64 bits",
				 cli_word(word), where);
	if (list->nr == list->alloc) {
		want = list->alloc ? list->alloc * 2 : 64;
		addrs = reallocarray(list->addrs, want, sizeof(*addrs));
		if (!addrs)
			return cli_error("no memory for %zu addresses", want);
		list->addrs = addrs;
		list->alloc = want;
	}
	list->addrs[list->nr] = (struct cli_addr){ .addr = addr, .given = list->nr };
	list->nr++;
	return CLI_OK;
}

static int cli_addrs_line(struct cli_addrs *list, char *line, size_t len, unsigned long nr)
{
	char where[64], *word, *state;
	int status = CLI_OK;

	snprintf(where, sizeof(where), " in line %lu of standard input", nr);
	if (memchr(line, '\0', len))
		return cli_error("bad address%s: there is a NUL in it", where);
	word = strtok_r(line, " \t\r\n", &state);
	while (word && status == CLI_OK) {
		status = cli_addrs_add(list, word, where);
		word = strtok_r(NULL, " \t\r\n", &state);
	}
	return status;
}

static int cli_addrs_stdin(struct cli_addrs *list)
{
	int status = CLI_OK;
	unsigned long nr = 0;
	size_t alloc = 0;
	char *line = NULL;
	ssize_t len;

	while (status == CLI_OK) {
		errno = 0;
		len = getline(&line, &alloc, stdin);
		if (len < 0) {
			/* The end of the file does not set errno. */
			if (errno)
				status = cli_error("cannot read standard input: %s",
						   strerror(errno));
			break;
		}
		status = cli_addrs_line(list, line, len, ++nr);
	}
	free(line);
	return status;
}

static int cli_addrs_get(const struct cli *cli, struct cli_addrs *list)
{
	int i, status = CLI_OK;

	if (cli->nr_addrs == 1 && !strcmp(cli->addrs[0], "-"))
		return cli_addrs_stdin(list);
	for (i = 0; i < cli->nr_addrs && status == CLI_OK; i++)
		status = cli_addrs_add(list, cli->addrs[i], "");
	return status;
}

static int cli_addr_compare(const void *a, const void *b)
{
	const struct cli_addr *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void cli_resolve_print_json(uint64_t addr, const struct procmap_vma *vma, bool first)
{
	printf("%s{ \"address\": \"0x%jx\", ", first ? "\n" : ",\n", (uintmax_t)addr);
	printf("\"mapped\": %s", vma ? "true" : "false");
	if (vma && (vma->flags & PROCMAP_FILE))
		printf(", \"file_offset\": \"0x%jx\"",
		       (uintmax_t)procmap_file_offset(vma, addr));
	if (vma) {
		fputs(", \"vma\": { ", stdout);
		cli_print_json_vma(vma);
		fputs(" }", stdout);
	}
	fputs(" }", stdout);
}

/* @order[i] is the index of the i-th given address among the sorted ones. */
static int cli_resolve_print(const struct cli *cli, const struct procmap *pm,
			     const struct cli_addrs *list, const struct procmap_batch *batch,
			     const size_t *order)
{
	const struct procmap_vma *vma;
	int status = CLI_OK;
	size_t i, index;

	if (cli->json)
		cli_print_json_begin(cli, pm, "addresses");
	for (i = 0; i < list->nr && cli_output_ok(); i++) {
		index = batch->index[order[i]];
		vma = index == PROCMAP_UNMAPPED ? NULL : &batch->vmas[index];
		if (!vma)
			status = CLI_NO;
		if (cli->json)
			cli_resolve_print_json(list->addrs[order[i]].addr, vma, !i);
		else
			cli_print_location(list->addrs[order[i]].addr, vma);
	}
	if (cli->json)
		cli_print_json_end();
	return status;
}

static int cli_resolve_sorted(const struct cli *cli, struct procmap *pm,
			      const struct cli_addrs *list, uint64_t *sorted, size_t *order)
{
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	int status;
	size_t i;

	for (i = 0; i < list->nr; i++) {
		sorted[i] = list->addrs[i].addr;
		order[list->addrs[i].given] = i;
	}
	/* With PROCMAP_DETAILS, as only a scan tells that a file has no build ID. */
	if (procmap_resolve_many(pm, sorted, list->nr,
				 PROCMAP_NAME | PROCMAP_BUILD_ID | PROCMAP_DETAILS, &batch))
		return cli_procmap_error(cli->pid);
	status = cli_resolve_print(cli, pm, list, &batch, order);
	procmap_batch_free(&batch);
	return status;
}

static int cli_resolve_list(const struct cli *cli, struct procmap *pm, struct cli_addrs *list)
{
	size_t *order = calloc(list->nr + 1, sizeof(*order));
	uint64_t *sorted = calloc(list->nr + 1, sizeof(*sorted));
	int status;

	if (list->nr)
		qsort(list->addrs, list->nr, sizeof(*list->addrs), cli_addr_compare);
	if (order && sorted)
		status = cli_resolve_sorted(cli, pm, list, sorted, order);
	else
		status = cli_error("no memory for %zu addresses", list->nr);
	free(sorted);
	free(order);
	return status;
}

int cli_resolve(const struct cli *cli)
{
	struct cli_addrs list = { 0 };
	struct procmap *pm;
	int status;

	/*
	 * First: report a missing process before waiting for addresses to read.
	 */
	pm = cli_open(cli);
	if (!pm)
		return CLI_TROUBLE;
	status = cli_addrs_get(cli, &list);
	if (status == CLI_OK)
		status = cli_resolve_list(cli, pm, &list);
	free(list.addrs);
	procmap_close(pm);
	return status;
}
