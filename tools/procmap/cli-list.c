// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: the list of VMAs.
 */
#include <stdio.h>
#include "cli.h"

void cli_list_line(const struct cli *cli, const struct procmap_vma *vma)
{
	char perms[5], hex[2 * PROCMAP_BUILD_ID_MAX + 1];

	printf("%012jx-%012jx %s %08jx", (uintmax_t)vma->start, (uintmax_t)vma->end,
	       cli_perms(vma, perms), (uintmax_t)vma->offset);
	if (cli->build_id)
		printf(" %-40s", cli_build_id(vma, hex));
	if (vma->name || vma->flags & PROCMAP_FILE) {
		putchar(' ');
		cli_print_name(cli_name(vma));
	}
	putchar('\n');
}

unsigned int cli_list_flags(const struct cli *cli)
{
	return cli->filters | PROCMAP_NAME | (cli->build_id ? PROCMAP_BUILD_ID : 0);
}

void cli_list_header(const struct cli *cli)
{
	printf("%-25s %-4s %8s", "ADDRESSES", "PERM", "OFFSET");
	if (cli->build_id)
		printf(" %-40s", "BUILD-ID");
	puts(" NAME");
}

static int cli_list_all(const struct cli *cli, struct procmap *pm, struct procmap_vma *vma)
{
	const unsigned int flags = cli_list_flags(cli);
	const char *separator = "\n";
	int ret;

	/*
	 * Fetch the first VMA before any output, so that an error comes first.
	 */
	ret = procmap_next(pm, flags, vma);
	if (ret < 0)
		return cli_procmap_error(cli->pid);

	if (cli->json)
		cli_print_json_begin(cli, pm, "vmas");
	else
		cli_list_header(cli);
	while (ret > 0) {
		if (cli->json) {
			printf("%s{ ", separator);
			cli_print_json_vma(vma);
			fputs(" }", stdout);
			separator = ",\n";
		} else {
			cli_list_line(cli, vma);
		}
		/* Before anything else changes errno. */
		if (!cli_output_ok())
			break;
		ret = procmap_next(pm, flags, vma);
	}
	if (ret < 0)
		return cli_procmap_error(cli->pid);
	if (cli->json)
		cli_print_json_end();
	return CLI_OK;
}

int cli_list(const struct cli *cli)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	int status;

	pm = cli_open(cli);
	if (!pm)
		return CLI_TROUBLE;
	status = cli_list_all(cli, pm, &vma);
	procmap_vma_free(&vma);
	procmap_close(pm);
	return status;
}
