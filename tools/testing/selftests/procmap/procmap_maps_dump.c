// SPDX-License-Identifier: GPL-2.0
/*
 * Write down all that reads of /proc/<pid>/maps return, to compare kernels with
 * each other: for processes that are the same on each of them, down to the last
 * address. usage: procmap_maps_dump FILE
 *
 * Each call is one record: a line with the call, its position and size, and
 * what it returned, then the bytes that it gave, then a newline.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kinds.h"
#include "procmap_util.h"

#define MIB		(1024 * 1024)
#define DIR_NAME	"/tmp/procmap_maps_dump"

static char space[MIB];
static FILE *out;

static void fail(const char *what, int err)
{
	fprintf(stderr, "procmap_maps_dump: %s: %s\n", what, strerror(err));
	kinds_remove(DIR_NAME);
	exit(1);
}

static ssize_t dump(const char *call, off_t pos, size_t size, ssize_t got)
{
	if (got < 0)
		got = -errno;
	fprintf(out, "%s %zu at %lld = %zd\n", call, size, (long long)pos, got);
	if (got > 0)
		fwrite(space, 1, got, out);
	fputc('\n', out);
	return got;
}

static ssize_t dump_read(int fd, size_t size)
{
	off_t pos = lseek(fd, 0, SEEK_CUR);

	return dump("read", pos, size, read(fd, space, size));
}

static void dump_pread(int fd, size_t size, off_t pos)
{
	dump("pread", pos, size, pread(fd, space, size, pos));
}

static void dump_seek(int fd, off_t pos)
{
	dump("lseek", pos, 0, lseek(fd, pos, SEEK_SET) < 0 ? -1 : 0);
}

static int open_maps(pid_t pid)
{
	int fd = maps_open(pid);

	if (fd < 0)
		fail("cannot open maps", -fd);
	return fd;
}

/* Read to the end, if there is one. */
static void dump_to_end(int fd, size_t size)
{
	while (dump_read(fd, size) > 0) {
		if (lseek(fd, 0, SEEK_CUR) > MIB)
			fail("the text does not end", EFBIG);
	}
}

/* Reads of each size, from the start to the end. */
static void dump_sizes(pid_t pid)
{
	static const size_t sizes[] = { 1, 7, 100, 1000, 4096, 65536, MIB, 0 };
	size_t i;

	for (i = 0; sizes[i]; i++) {
		int fd = open_maps(pid);

		dump_to_end(fd, sizes[i]);
		dump_read(fd, sizes[i]);
		close(fd);
	}
}

/* The length of the text. */
static off_t text_length(pid_t pid)
{
	int fd = open_maps(pid);
	off_t len;

	while (read(fd, space, sizeof(space)) > 0)
		;
	len = lseek(fd, 0, SEEK_CUR);
	close(fd);
	return len;
}

/* Offsets in small steps, so that many lie on and next to the ends of lines. */
static void dump_offsets(pid_t pid, size_t step)
{
	off_t pos, len = text_length(pid);
	int fd = open_maps(pid);

	for (pos = 0; pos < len + 100; pos += step) {
		dump_pread(fd, 3, pos);
		dump_pread(fd, 5000, pos);
		dump_seek(fd, pos);
		dump_read(fd, 50);
		dump_read(fd, 150);
	}
	close(fd);
}

/* Two descriptors in turn. */
static void dump_pair(pid_t pid)
{
	int one = open_maps(pid), two = open_maps(pid);

	while (dump_read(one, 13) + dump_read(two, 500) > 0)
		;
	close(one);
	close(two);
}

static int target(struct procmap_child *child, void *arg)
{
	int err = kinds_remove(DIR_NAME);

	if ((err && err != -ENOENT) || mkdir(DIR_NAME, 0700))
		return 1;
	err = *(char *)arg == 'k' ? kinds_map(DIR_NAME) : kinds_map_long(DIR_NAME);
	if (err)
		fprintf(stderr, "procmap_maps_dump: cannot map: %s\n", strerror(-err));
	return err || procmap_send(child, 0) || procmap_sync(child) ? 1 : 0;
}

static struct procmap_child start(char *kind)
{
	struct procmap_child child;
	int err = procmap_child_start(&child, target, kind);

	if (err || procmap_sync(&child))
		fail("no target", err ? -err : ECHILD);
	return child;
}

/* A reader of half a line, when its target is a zombie and when it is gone. */
static void dump_end(struct procmap_child *child)
{
	int fd = open_maps(child->pid), over = open_maps(child->pid);
	siginfo_t info;
	int i;

	dump_read(fd, 10);
	dump_to_end(over, MIB);
	procmap_send(child, 0);
	waitid(P_PID, child->pid, &info, WEXITED | WNOWAIT);
	for (i = 0; i < 2; i++) {
		dump_read(fd, 4096);
		dump_read(fd, 4096);
		dump_pread(fd, 4096, 100);
		dump_read(over, 4096);
		dump_pread(over, 4096, 0);
		if (!i && procmap_child_wait(child))
			fail("the target failed", ECHILD);
	}
	dump_seek(fd, 100);
	dump_read(fd, 100);
	close(over);
	close(fd);
}

static void dump_kernel_thread(void)
{
	int fd = open_maps(2);

	dump_read(fd, 4096);
	dump_pread(fd, 4096, 100);
	close(fd);
}

static void dump_all(void)
{
	struct procmap_child child = start("kinds");

	dump_sizes(child.pid);
	dump_offsets(child.pid, 5);
	dump_pair(child.pid);
	dump_end(&child);
	child = start("long");
	dump_sizes(child.pid);
	dump_offsets(child.pid, 397);
	dump_end(&child);
	dump_kernel_thread();
}

/*
 * Without randomization, and with a stack of the same limit and contents, each
 * kernel puts stack, heap and vDSO at the same place.
 */
static void begin_again(char **argv)
{
	static char *const env[] = { NULL };
	const struct rlimit limit = { 8 * MIB, 8 * MIB };

	if (setrlimit(RLIMIT_STACK, &limit))
		fail("cannot set the limit of the stack", errno);
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		fail("cannot turn randomization off", errno);
	execve("/proc/self/exe", argv, env);
	fail("cannot start again", errno);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: procmap_maps_dump FILE\n");
		return 2;
	}
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE))
		begin_again(argv);
	out = fopen(argv[1], "we");
	if (!out)
		fail(argv[1], errno);
	dump_all();
	if (fclose(out))
		fail(argv[1], errno);
	return kinds_remove(DIR_NAME) ? 1 : 0;
}
