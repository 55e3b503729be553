// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process with unusual mappings, for the tests of the client. It prints what
 * is where, and runs until its standard input ends.
 *
 *	target [NR]		maps NR more pages, each in a VMA of its own
 *	target --only NR	maps nothing else
 *	target --change		changes mappings all the time
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096UL

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static void die(const char *what)
{
	fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *map(const char *what, size_t pages, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap(NULL, pages * PAGE, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		die(what);
	printf("%s %#lx\n", what, (unsigned long)p);
	return p;
}

/*
 * Map three pages of a new file in the current directory, from its second page
 * on.
 */
static void map_file(const char *what, const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, 4 * PAGE))
		die(name);
	map(what, 3, PROT_READ, MAP_PRIVATE, fd, PAGE);
	close(fd);
}

/* Like map_file(), but so deep that the path is longer than PATH_MAX. */
static void map_deep(void)
{
	char dir[201];
	int i, top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(dir, 'd', sizeof(dir) - 1);
	dir[sizeof(dir) - 1] = '\0';
	for (i = 0; i < 25; i++)
		if ((mkdirat(AT_FDCWD, dir, 0700) && errno != EEXIST) || chdir(dir))
			die("deep");
	map_file("deep", "file");
	if (top < 0 || fchdir(top))
		die("deep");
	close(top);
}

static void map_odd(void)
{
	char *p;

	map_file("plain", "plain");
	map_file("spaces", "with spaces  ");
	map_file("newline", "new\nline");
	map_file("escape", "new\\012line");
	map_file("control", "\x1b[31m\x7f");
	/* The control characters U+009b and U+0080, and not U+00a0; as a byte. */
	map_file("c1", "c\302\23331m\302\200\302\240\233");
	/*
	 * A letter; then invalid: a stray byte, a surrogate, overlong, too
	 * large.
	 */
	map_file("utf8", "\xc3\xa4\xff\xed\xa0\x80\xc0\xaf\xe0\x80\xaf\xf4\x90\x80\x80");
	map_file("quotes", "\"quotes\\\"");
	map_file("deleted", "gone");
	unlink("gone");
	map_file("named-deleted", "x (deleted)");
	map_deep();
	map("shared", 3, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	map("none", 3, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = map("anon", 3, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Not every kernel has this, so ignore errors. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, 3 * PAGE, "a name");
	p = map("hole", 3, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (munmap(p + PAGE, PAGE))
		die("hole");
}

static void map_many(size_t nr)
{
	char *p = map("many", nr, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t i;

	for (i = 0; i < nr; i += 2)
		if (mprotect(p + i * PAGE, PAGE, PROT_NONE))
			die("many");
}

static void change(void)
{
	struct pollfd in = { .fd = STDIN_FILENO };
	char *p = map("ready", 64, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	for (i = 0; poll(&in, 1, 0) == 0; i++) {
		char *page = p + i * 7 % 64 * PAGE;

		if (mprotect(page, PAGE, i / 64 % 2 ? PROT_READ : PROT_READ | PROT_WRITE))
			die("mprotect");
		/*
		 * Pause between changes, so that an answer has a chance to be
		 * right.
		 */
		usleep(500);
	}
}

int main(int argc, char **argv)
{
	char c;

	if (argc > 1 && !strcmp(argv[1], "--change")) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		change();
		return 0;
	}
	if (argc < 3)
		map_odd();
	if (argc > 1)
		map_many(strtoul(argv[argc - 1], NULL, 10));
	puts("ready 0");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
