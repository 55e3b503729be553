// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: print JSON. Addresses, offsets and inode numbers are strings, because
 * many readers of JSON keep only 53 bits of a number.
 */
#include <stdio.h>
#include "cli.h"

/* Overlong encodings, surrogates and code points above U+10FFFF are no UTF-8. */
int cli_utf8_length(const unsigned char *p)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t value;
	int i, len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc0 && p[0] < 0xe0)
		len = 2;
	else if (p[0] >= 0xe0 && p[0] < 0xf0)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] < 0xf8)
		len = 4;
	else
		return 0;

	value = p[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (p[i] & 0x3f);
	}
	if (value < smallest[len] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	return len;
}

void cli_print_json_string(const char *string)
{
	const unsigned char *p = (const unsigned char *)string;
	int len;

	putchar('"');
	for (; *p; p += len ? len : 1) {
		len = cli_utf8_length(p);
		if (!len)
			printf("\\udc%02x", *p);
		else if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else if (cli_is_control(p, len))
			/* Of U+0080 to U+009f, too, the last byte is the number. */
			printf("\\u%04x", p[len - 1]);
		else
			fwrite(p, 1, len, stdout);
	}
	putchar('"');
}

void cli_print_json_vma(const struct procmap_vma *vma)
{
	char perms[5], hex[2 * PROCMAP_BUILD_ID_MAX + 1];

	printf("\"start\": \"0x%jx\", \"end\": \"0x%jx\", \"perms\": \"%s\", ",
	       (uintmax_t)vma->start, (uintmax_t)vma->end, cli_perms(vma, perms));
	printf("\"offset\": \"0x%jx\", \"dev\": \"%x:%x\", \"inode\": \"%ju\", ",
	       (uintmax_t)vma->offset, vma->dev_major, vma->dev_minor, (uintmax_t)vma->inode);
	printf("\"file_backed\": %s, ", vma->flags & PROCMAP_FILE ? "true" : "false");
	if (vma->known & PROCMAP_KNOWN_PAGE_SIZE)
		printf("\"page_size\": %ju, ", (uintmax_t)vma->page_size);
	if (vma->build_id_size)
		printf("\"build_id\": \"%s\", ", cli_build_id(vma, hex));
	else if (vma->known & PROCMAP_KNOWN_BUILD_ID)
		fputs("\"build_id\": null, ", stdout);
	fputs("\"name\": ", stdout);
	if (vma->name)
		cli_print_json_string(vma->name);
	else
		fputs("null", stdout);
}

void cli_print_json_begin(const struct cli *cli, const struct procmap *pm, const char *array)
{
	static const char *const backends[] = {
		[PROCMAP_BACKEND_SCAN] = "scan",
		[PROCMAP_BACKEND_QUERY] = "query",
		[PROCMAP_BACKEND_TEXT] = "text",
	};

	printf("{\n\"pid\": %d,\n\"backend\": \"%s\",\n\"%s\": [", cli->pid,
	       backends[procmap_get_backend(pm)], array);
}

void cli_print_json_end(void)
{
	puts("\n]\n}");
}
