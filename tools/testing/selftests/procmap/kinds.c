// SPDX-License-Identifier: GPL-2.0
/* VMAs of every kind: see kinds.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/aio_abi.h>
#include <linux/perf_event.h>

#include "kinds.h"

/*
 * Above the heap, which begins up to 1 GiB after the program; below libraries
 * and stack, also in 32-bit programs.
 */
#define KINDS_BASE	0x48000000UL
#define KINDS_HUGE	0x50000000UL
#define FOUR_GIB	0x100000000ULL

#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)

/*
 * Lines of about a page: shorter, as long, and longer. In the text of a 64-bit
 * kernel 74 bytes of a line are not the path.
 */
#define PATH_FROM	(4096 - 74 - 2)
#define PATH_TO	(4096 - 74 + 2)
#define DEPTH		24
#define PART		240

/**
 * struct kinds - where to go on
 * @dir: descriptor of the directory for files
 * @page: size of a page
 * @at: where the next VMA begins
 * @err: -errno of the first step that failed; all later ones do nothing
 */
struct kinds {
	int dir;
	long page;
	unsigned long at;
	int err;
};

static bool kinds_good(struct kinds *k, bool good)
{
	if (!k->err && !good)
		k->err = -errno ?: -EIO;
	return !k->err;
}

/* Map the next pages. They touch the VMA before, unless kinds_hole() was called. */
static void kinds_put(struct kinds *k, int fd, size_t pages, int prot, int flags, __u64 offset)
{
	void *at = (void *)k->at;

	if (k->err)
		return;
	if (kinds_good(k, mmap(at, pages * k->page, prot, flags | MAP_FIXED_NOREPLACE, fd,
			       offset) == at))
		k->at += pages * k->page;
}

static void kinds_hole(struct kinds *k)
{
	k->at += k->page;
}

static int kinds_open_at(struct kinds *k, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0700);

	if (kinds_good(k, fd >= 0))
		kinds_good(k, !ftruncate(fd, 16 * k->page));
	return fd;
}

static int kinds_open(struct kinds *k, const char *name)
{
	return kinds_open_at(k, k->dir, name);
}

/*
 * VMAs of one file in a row, with and without holes between them, at offsets of
 * different lengths.
 */
static void kinds_row(struct kinds *k)
{
	int fd = kinds_open(k, "row");

	kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(k, fd, 2, PROT_READ | PROT_EXEC, MAP_PRIVATE, k->page);
	kinds_put(k, fd, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, 3 * k->page);
	kinds_hole(k);
	kinds_put(k, fd, 1, PROT_READ, MAP_SHARED, 4 * k->page);
	kinds_put(k, fd, 1, PROT_READ | PROT_WRITE, MAP_SHARED, 9 * k->page);
	kinds_hole(k);
	kinds_put(k, fd, 1, PROT_NONE, MAP_PRIVATE, 0);
	kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, FOUR_GIB - k->page);
	kinds_put(k, fd, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, FOUR_GIB);
	kinds_put(k, fd, 1, PROT_READ, MAP_SHARED, (1ULL << 43) - k->page);
	kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
	close(fd);
	kinds_hole(k);
}

/* Two files in turn; one inode by two descriptors and by two names. */
static void kinds_neighbours(struct kinds *k)
{
	int one = kinds_open(k, "one"), two = kinds_open(k, "two");
	int again = kinds_open(k, "one"), linked;

	kinds_good(k, !linkat(k->dir, "one", k->dir, "linked", 0));
	linked = kinds_open(k, "linked");
	kinds_put(k, one, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(k, two, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(k, one, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(k, again, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(k, linked, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(k, one, 1, PROT_READ, MAP_SHARED, 0);
	kinds_put(k, -1, 1, PROT_READ, ANON, 0);
	kinds_put(k, one, 1, PROT_READ, MAP_SHARED, 0);
	close(linked);
	close(again);
	close(two);
	close(one);
	kinds_hole(k);
}

/* The same file before and after 4 GiB: the addresses get longer. */
static void kinds_around_4_gib(struct kinds *k)
{
	int fd = kinds_open(k, "high");

	if (sizeof(long) > 4) {
		k->at = FOUR_GIB - 2 * k->page;
		kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
		kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
		kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
		kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
	}
	close(fd);
}

/* Two VMAs of a file with this name. */
static void kinds_name(struct kinds *k, const char *name, bool deleted)
{
	int fd = kinds_open(k, name);

	kinds_put(k, fd, 1, PROT_READ, MAP_SHARED, k->page);
	kinds_put(k, fd, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
	close(fd);
	if (deleted)
		kinds_good(k, !unlinkat(k->dir, name, 0));
}

static void kinds_names(struct kinds *k)
{
	static const char * const names[] = {
		" spaces ", "a\nfile\n\nof lines\n", "back\\slash\\", "a\\012file",
		"\x01\x02\t\r\x1b\x7f", "\xff\xfe\x80\xc3\x28", "file (deleted)", "[heap]", NULL,
	};
	char longest[NAME_MAX + 1];
	size_t i;

	for (i = 0; names[i]; i++)
		kinds_name(k, names[i], i % 2);
	memset(longest, '\n', NAME_MAX);
	longest[NAME_MAX] = 0;
	kinds_name(k, longest, false);
	memset(longest, 'n', NAME_MAX);
	kinds_name(k, longest, true);
	/* Deleted, and another of the same name. */
	kinds_name(k, "replaced", true);
	kinds_name(k, "replaced", false);
	kinds_hole(k);
}

/* @share: MAP_PRIVATE or MAP_SHARED */
static void kinds_named(struct kinds *k, int share, const char *name)
{
	unsigned long at = k->at;

	kinds_put(k, -1, 1, PROT_READ | PROT_WRITE, share | MAP_ANONYMOUS, 0);
	/*
	 * Only a kernel without CONFIG_ANON_VMA_NAME says EINVAL. Before Linux 6.2
	 * shared memory has no such name: EBADF.
	 */
	if (!k->err && prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, k->page, name))
		kinds_good(k, errno == EINVAL || (share == MAP_SHARED && errno == EBADF));
}

static void kinds_anon_named(struct kinds *k, const char *name)
{
	kinds_named(k, MAP_PRIVATE, name);
}

static void kinds_anonymous(struct kinds *k)
{
	char longest[80];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	kinds_good(k, sbrk(k->page) != (void *)-1);
	kinds_put(k, -1, 1, PROT_READ, ANON, 0);
	kinds_put(k, -1, 3, PROT_NONE, ANON | MAP_NORESERVE, 0);
	kinds_anon_named(k, "name");
	kinds_anon_named(k, "another: (name) %s %n <>{}");
	kinds_anon_named(k, "");
	kinds_anon_named(k, longest);
	kinds_put(k, -1, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, 0);
	kinds_named(k, MAP_SHARED, "shared");
	/* A stack has no neighbour below. */
	k->at += 1024 * k->page;
	kinds_put(k, -1, 2, PROT_READ | PROT_WRITE, ANON | MAP_GROWSDOWN, 0);
	kinds_hole(k);
}

static void kinds_shared_memory(struct kinds *k)
{
	int fd = memfd_create("a memfd\nof two lines", MFD_CLOEXEC);
	int id = shmget(0x1234, k->page, IPC_CREAT | 0600);

	kinds_put(k, fd, 1, PROT_READ, MAP_SHARED, 7 * k->page);
	kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
	close(fd);
	/* A multiple of SHMLBA of all architectures. */
	k->at = (k->at | 0xffff) + 1;
	if (kinds_good(k, id >= 0 && shmat(id, (void *)k->at, SHM_RDONLY) == (void *)k->at))
		k->at += k->page;
	shmctl(id, IPC_RMID, NULL);
	kinds_hole(k);
}

static void kinds_devices(struct kinds *k)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1,
	};
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	aio_context_t aio = 0;

	kinds_put(k, zero, 1, PROT_READ, MAP_PRIVATE, 5 * k->page);
	kinds_put(k, zero, 1, PROT_READ, MAP_SHARED, 0);
	kinds_hole(k);
	/* Debian's perf_event_paranoid can keep users from events of their own. */
	if (perf >= 0)
		kinds_put(k, perf, 2, PROT_READ, MAP_SHARED, 0);
	else
		kinds_good(k, errno == EACCES && geteuid());
	kinds_good(k, !syscall(SYS_io_setup, 8, &aio));
	close(perf);
	close(zero);
	kinds_hole(k);
}

static void kinds_huge_pages(struct kinds *k)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	struct stat st = { .st_blksize = 0 };
	unsigned long at = k->at;

	k->at = KINDS_HUGE;
	if (!kinds_good(k, fd >= 0 && !fstat(fd, &st)))
		return;
	kinds_put(k, -1, st.st_blksize / k->page, PROT_READ,
		  ANON | MAP_HUGETLB | MAP_NORESERVE, 0);
	kinds_put(k, fd, st.st_blksize / k->page, PROT_READ, MAP_SHARED | MAP_NORESERVE,
		  3 * (__u64)st.st_blksize);
	close(fd);
	k->at = at;
}

/*
 * A file of an overlay, as containers have them, in a mount namespace of the
 * caller's own. Ordinary users cannot mount it. It needs no upper layer, which
 * not every file system can be.
 */
static void kinds_overlay(struct kinds *k, const char *dir)
{
	int fd;

	if (k->err || geteuid())
		return;
	kinds_good(k, !unshare(CLONE_NEWNS));
	kinds_good(k, !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) && !chdir(dir));
	kinds_good(k, !mkdir("lower", 0700) && !mkdir("empty", 0700) && !mkdir("all", 0700));
	close(kinds_open(k, "lower/layered"));
	kinds_good(k, !mount("none", "all", "overlay", MS_RDONLY, "lowerdir=empty:lower"));
	/* @k->dir is in the old namespace. */
	fd = open("all/layered", O_RDONLY | O_CLOEXEC);
	kinds_put(k, fd, 1, PROT_READ, MAP_SHARED, k->page);
	kinds_put(k, fd, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
	close(fd);
	kinds_hole(k);
}

static int kinds_begin(struct kinds *k, const char *dir)
{
	*k = (struct kinds){ .page = sysconf(_SC_PAGESIZE), .at = KINDS_BASE };
	k->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	kinds_good(k, k->dir >= 0);
	return k->err;
}

/*
 * Map VMAs of all kinds, but those of long paths.
 * @dir: the absolute path of a directory for files; kinds_remove() removes it
 */
int kinds_map(const char *dir)
{
	struct kinds k;

	if (kinds_begin(&k, dir))
		return k.err;
	kinds_row(&k);
	kinds_neighbours(&k);
	kinds_names(&k);
	kinds_anonymous(&k);
	kinds_shared_memory(&k);
	kinds_devices(&k);
	kinds_overlay(&k, dir);
	kinds_huge_pages(&k);
	kinds_around_4_gib(&k);
	close(k.dir);
	return k.err;
}

/* Go one directory down. Make it, and close the one above. */
static int kinds_down(struct kinds *k, int dir)
{
	char part[PART + 1];
	int next;

	memset(part, 'd', PART);
	part[PART] = 0;
	kinds_good(k, !mkdirat(dir, part, 0700));
	next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	kinds_good(k, next >= 0);
	close(dir);
	return next;
}

/* Files whose paths have PATH_FROM to PATH_TO bytes, in a directory @above. */
static void kinds_lines(struct kinds *k, int dir, size_t above)
{
	char name[NAME_MAX + 1] = "";
	size_t len;

	for (len = PATH_FROM; len <= PATH_TO && !k->err; len++) {
		int fd;

		memset(name, 'l', len - above - 1);
		fd = kinds_open_at(k, dir, name);
		kinds_put(k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
		close(fd);
		/* A short line between two long ones. */
		kinds_put(k, -1, 1, PROT_READ, ANON, 0);
	}
}

/*
 * Map files with paths around a page and above PATH_MAX.
 * @dir: the absolute path of a directory for files; kinds_remove() removes it
 */
int kinds_map_long(const char *dir)
{
	size_t above = strlen(dir);
	struct kinds k;
	int fd, i;

	if (kinds_begin(&k, dir))
		return k.err;
	for (i = 0; i < DEPTH; i++) {
		/* So that the name in this directory has 8 to 248 bytes. */
		if (above + 8 <= PATH_FROM - 1 && above + 8 + PART + 1 > PATH_FROM - 1)
			kinds_lines(&k, k.dir, above);
		k.dir = kinds_down(&k, k.dir);
		above += PART + 1;
	}
	fd = kinds_open_at(&k, k.dir, "file");
	kinds_put(&k, fd, 1, PROT_READ, MAP_PRIVATE, 0);
	kinds_put(&k, fd, 1, PROT_READ, MAP_SHARED, 0);
	kinds_put(&k, fd, 1, PROT_READ, MAP_PRIVATE, FOUR_GIB);
	close(fd);
	close(k.dir);
	return k.err;
}

static int remove_below(int dir)
{
	DIR *list = fdopendir(dir);
	struct dirent *entry;
	int err = list ? 0 : -errno;

	while (!err && (entry = readdir(list))) {
		int sub;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!unlinkat(dir, entry->d_name, 0))
			continue;
		sub = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = sub < 0 ? -errno : remove_below(sub);
		if (!err && unlinkat(dir, entry->d_name, AT_REMOVEDIR))
			err = -errno;
	}
	if (list)
		closedir(list);
	return err;
}

/* Remove a directory with all that is below. */
int kinds_remove(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : remove_below(fd);

	return err ? err : rmdir(dir) ? -errno : 0;
}
