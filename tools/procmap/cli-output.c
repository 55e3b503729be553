// SPDX-License-Identifier: GPL-2.0-only
/*
 * procmap: print values.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

int cli_error(const char *format, ...)
{
	va_list args;

	fputs("procmap: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return CLI_TROUBLE;
}

const char *cli_word(const char *word)
{
	static char shown[CLI_WORD_MOST * 4 + sizeof("...")];
	char *to = shown;
	int i;

	for (i = 0; i < CLI_WORD_MOST && word[i]; i++) {
		if (word[i] >= ' ' && word[i] <= '~')
			*to++ = word[i];
		else
			to += sprintf(to, "\\%03o", (unsigned char)word[i]);
	}
	strcpy(to, word[i] ? "..." : "");
	return shown;
}

int cli_procmap_error(pid_t pid)
{
	switch (errno) {
	case ENOENT:
		if (access("/proc/self/maps", F_OK))
			return cli_error("there is no /proc/self/maps: mount proc on /proc");
		return cli_error("there is no process %d", pid);
	case ESRCH:
		return cli_error("process %d has no mappings: %s", pid,
				 "it has exited or called execve(), or is a kernel thread");
	case EACCES:
	case EPERM:
		return cli_error("no permission to read the mappings of process %d: %s", pid,
				 "try as its owner or as root");
	case ENOTTY:
		return cli_error("this kernel has no such ioctl: %s",
				 "use --text, or leave --scan and --query out");
	default:
		return cli_error("cannot read the mappings of process %d: %s", pid,
				 strerror(errno));
	}
}

struct procmap *cli_open(const struct cli *cli)
{
	struct procmap *pm = procmap_open(cli->pid, cli->backend);

	if (!pm)
		cli_procmap_error(cli->pid);
	return pm;
}

/* Errno of the first failure of the output. Later calls may change errno. */
static int cli_output_errno;

bool cli_output_ok(void)
{
	if (ferror(stdout) && !cli_output_errno)
		cli_output_errno = errno;
	return !ferror(stdout);
}

int cli_flush(int status)
{
	bool ok = cli_output_ok();

	/* Some file systems report an error only when the file is closed. */
	if (fclose(stdout) && ok) {
		cli_output_errno = errno;
		ok = false;
	}
	if (!ok)
		return cli_error("cannot write the output: %s", strerror(cli_output_errno));
	return status;
}

bool cli_is_control(const unsigned char *p, int len)
{
	if (len == 2)
		return p[0] == 0xc2 && p[1] < 0xa0;
	/* Terminals that do not know UTF-8 act on a byte. */
	return *p < ' ' || *p == 0x7f || (!len && *p < 0xa0);
}

void cli_print_name(const char *name)
{
	const unsigned char *p = (const unsigned char *)name, *next;
	bool control;
	int len;

	while (*p) {
		len = cli_utf8_length(p);
		control = cli_is_control(p, len);
		for (next = p + (len ? len : 1); p < next; p++)
			printf(control ? "\\%03o" : "%c", *p);
	}
}

const char *cli_build_id(const struct procmap_vma *vma, char hex[2 * PROCMAP_BUILD_ID_MAX + 1])
{
	uint32_t i;

	if (!vma->build_id_size)
		return vma->known & PROCMAP_KNOWN_BUILD_ID ? "-" : "?";
	for (i = 0; i < vma->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", vma->build_id[i]);
	return hex;
}

const char *cli_perms(const struct procmap_vma *vma, char perms[5])
{
	perms[0] = vma->flags & PROCMAP_READ ? 'r' : '-';
	perms[1] = vma->flags & PROCMAP_WRITE ? 'w' : '-';
	perms[2] = vma->flags & PROCMAP_EXEC ? 'x' : '-';
	perms[3] = vma->flags & PROCMAP_SHARED ? 's' : 'p';
	perms[4] = '\0';
	return perms;
}

const char *cli_name(const struct procmap_vma *vma)
{
	if (vma->name)
		return vma->name;
	return vma->flags & PROCMAP_FILE ? "[name not known]" : "anonymous";
}

void cli_print_location(uint64_t addr, const struct procmap_vma *vma)
{
	char offset[sizeof("0x") + 16] = "-", hex[2 * PROCMAP_BUILD_ID_MAX + 1];

	printf("0x%012jx  ", (uintmax_t)addr);
	if (!vma) {
		puts("unmapped");
		return;
	}
	if (vma->flags & PROCMAP_FILE)
		snprintf(offset, sizeof(offset), "0x%jx",
			 (uintmax_t)procmap_file_offset(vma, addr));
	printf("%-10s  %-40s  ", offset, cli_build_id(vma, hex));
	cli_print_name(cli_name(vma));
	putchar('\n');
}
