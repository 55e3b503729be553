// SPDX-License-Identifier: GPL-2.0
/* Write address sets of procmap_bench: see bench_set.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "bench.h"
#include "bench_set.h"

#define CAPTURE_LINE	4352
#define CAPTURE_FILES	4096
#define CAPTURE_GAP	65536ul		/* pages; larger gaps shrink to this */

/* The state while the program reads the text of the process. */
struct capture {
	FILE *out;
	char *path[CAPTURE_FILES];
	unsigned int files;
	unsigned long end;		/* end of the last VMA written */
	unsigned int nr;		/* number of VMAs written */
	const unsigned long *address;	/* ascending; not written yet */
	size_t left;
	unsigned long lost;		/* addresses in no VMA of the set */
	FILE *samples;
};

/*
 * Return the number of a file, and write its line when it is new; -1: no file
 * to make.
 */
static int capture_file(struct capture *c, const char *path)
{
	unsigned int i;

	if (path[0] != '/' || !strncmp(path, "/dev", 4) || strstr(path, " (deleted)"))
		return -1;
	for (i = 0; i < c->files; i++)
		if (!strcmp(c->path[i], path))
			return i;
	if (c->files == CAPTURE_FILES)
		return -1;
	c->path[c->files] = strdup(path);
	if (!c->path[c->files])
		return -1;
	fprintf(c->out, "file %u %s\n", c->files, path);
	return c->files++;
}

/* Take the addresses up to the end of a VMA. Equal ones become one line. */
static void capture_samples(struct capture *c, unsigned long start, unsigned long end, bool keep)
{
	unsigned long address;
	unsigned int count;

	while (c->left && *c->address < end) {
		address = *c->address;
		for (count = 0; c->left && *c->address == address; c->left--, c->address++)
			count++;
		if (keep && address >= start)
			fprintf(c->samples, "addr %u %lx %u\n", c->nr, address - start, count);
		else
			c->lost += count;
	}
}

/* Every process has these anyway, at an address of its own. */
static bool capture_is_special(const char *name)
{
	static const char *const special[] = { "[stack]", "[vdso]", "[vvar]", "[vsyscall]" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(special); i++)
		if (!strcmp(name, special[i]))
			return true;
	return false;
}

static int capture_line(struct capture *c, const char *line)
{
	const unsigned long page = sysconf(_SC_PAGESIZE);
	unsigned long start, end, offset, gap = 0;
	char perm[5];
	int at = 0, file;

	if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end, perm, &offset, &at) != 4 ||
	    !at)
		return -EPROTO;
	if (capture_is_special(line + at)) {
		capture_samples(c, start, end, false);
		return 0;
	}
	if (c->nr)
		gap = (start - c->end) / page;
	if (gap > CAPTURE_GAP)
		gap = CAPTURE_GAP;
	file = capture_file(c, line + at);
	fprintf(c->out, "vma %lu %lu %s %lu ", gap, (end - start) / page, perm,
		file < 0 ? 0 : offset / page);
	if (file < 0)
		fprintf(c->out, "-\n");
	else
		fprintf(c->out, "%d\n", file);
	capture_samples(c, start, end, true);
	c->end = end;
	c->nr++;
	return 0;
}

static int capture_text(struct capture *c, pid_t pid)
{
	char path[64], line[CAPTURE_LINE];
	FILE *maps;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (!err && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		err = capture_line(c, line);
	}
	fclose(maps);
	return err ?: c->nr ? 0 : -ESRCH;
}

/* Write a word on one line, whatever it contains. */
static void capture_word(FILE *out, const char *word)
{
	while (*word) {
		size_t space = strspn(word, " \t\n");

		if (space && word[space])
			fputc(' ', out);
		word += space;
		if (*word)
			fputc(*word++, out);
	}
}

static void capture_head(struct capture *c, char *const *command, size_t nr)
{
	struct utsname name;

	uname(&name);
	fprintf(c->out, "# %s-License-Identifier: GPL-2.0\n"
		"# VMAs of a program, in pages, and the %zu addresses at which it was found by\n"
		"# the clock of its processor (perf_event_open, software clock, user mode), on\n"
		"# Linux %s %s. Captured with: procmap_bench --sample SECONDS --save FILE --\n#",
		"SPDX", nr, name.release, name.machine);
	for (; command && *command; command++) {
		fputc(' ', c->out);
		capture_word(c->out, *command);
	}
	fprintf(c->out, "\n# vma GAP PAGES PERMISSIONS OFFSET FILE; addr VMA OFFSET COUNT\n");
}

/**
 * bench_capture_save() - save a program as an address set
 * @pid: the program; its VMAs should not change meanwhile
 * @address: the addresses at which it was running, ascending
 * @nr: their number
 * @path: file to write
 * @command: the command that started it, NULL at the end; or NULL
 *
 * Return: 0 or -errno
 */
int bench_capture_save(pid_t pid, const unsigned long *address, size_t nr, const char *path,
		       char *const *command)
{
	struct capture c = { .address = address, .left = nr };
	char *samples = NULL;
	size_t size;
	int err;

	c.out = fopen(path, "we");
	if (!c.out)
		return -errno;
	c.samples = open_memstream(&samples, &size);
	capture_head(&c, command, nr);
	err = c.samples ? capture_text(&c, pid) : -ENOMEM;
	if (c.samples)
		fclose(c.samples);
	if (!err && samples)
		fputs(samples, c.out);
	if (fclose(c.out) && !err)
		err = -EIO;
	c.lost += c.left;
	if (!err && c.lost)
		fprintf(stderr, "procmap_bench: %lu of %zu addresses are in no kept mapping\n",
			c.lost, nr);
	while (c.files)
		free(c.path[--c.files]);
	free(samples);
	return err;
}
