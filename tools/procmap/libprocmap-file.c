// SPDX-License-Identifier: MIT
/*
 * libprocmap: descriptors of processes, and the files that are mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "libprocmap-internal.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Not /proc/self: that has the descriptors of the first thread, which may have others or none. */
#define PROCMAP_FD_PATH (sizeof("/proc/thread-self/fd/") + 3 * sizeof(int))

/* The path of a descriptor in @path. Return: 0, or -1 with errno. */
static int procmap_fd_path(int fd, char path[PATH_MAX])
{
	char link[PROCMAP_FD_PATH];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	if (len < 0)
		return -1;
	path[len] = '\0';
	return 0;
}

/*
 * Where there is no /proc, what answers queries is taken. To other files of /proc these
 * are unknown, which pagemap calls EINVAL.
 */
static bool procmap_is_maps(int fd)
{
	struct procmap_query query = { .size = sizeof(query) };
	char path[PATH_MAX];
	const char *base;

	if (procmap_fd_path(fd, path))
		return !ioctl(fd, PROCMAP_QUERY, &query) || (errno != ENOTTY && errno != EINVAL);
	base = strrchr(path, '/');
	return base && !strcmp(base, "/maps");
}

int procmap_fd_check(int fd)
{
	struct statfs fs;

	/* With O_PATH it can do nothing; and -1 is that it is not open. */
	if (fcntl(fd, F_GETFL) & O_PATH) {
		errno = EBADF;
		return -1;
	}
	if (fstatfs(fd, &fs))
		return -1;
	if (fs.f_type == PROC_SUPER_MAGIC && procmap_is_maps(fd))
		return 0;
	errno = EINVAL;
	return -1;
}

pid_t procmap_pidfd_pid(int pidfd)
{
	char path[sizeof("/proc/thread-self/fdinfo/") + 3 * sizeof(pidfd)], line[128];
	int err = EBADF, pid = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", pidfd);
	info = fopen(path, "re");
	if (!info) {
		/* Without /proc that is ENOENT; EBADF if there is no such descriptor. */
		fcntl(pidfd, F_GETFD);
		return -1;
	}
	while (err == EBADF && fgets(line, sizeof(line), info))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			err = ESRCH;
	fclose(info);
	if (pid > 0)
		return pid;
	errno = err;
	return -1;
}

/* The directory in /proc of the process whose mappings these are, or -1 with errno. */
static int procmap_proc_dir(int fd)
{
	struct stat ours, theirs;
	char path[PATH_MAX];
	int dir;

	if (procmap_fd_path(fd, path) || fstat(fd, &ours))
		return -1;
	*(strrchr(path, '/') + 1) = '\0';
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno != ENOENT)
		return -1;
	/* The PID may have come to mean another process: then this is another file. */
	if (dir >= 0 && !fstatat(dir, "maps", &theirs, 0) && theirs.st_dev == ours.st_dev &&
	    theirs.st_ino == ours.st_ino)
		return dir;
	if (dir >= 0)
		close(dir);
	errno = ESRCH;
	return -1;
}

/* Is the file of this VMA still mapped at the same place? */
static bool procmap_is_mapped(struct procmap *pm, const struct procmap_vma *vma)
{
	struct procmap_vma now = PROCMAP_VMA_INIT;
	bool same;

	same = !procmap_find(pm, vma->start, PROCMAP_FILE | PROCMAP_DETAILS, &now) &&
	       now.start == vma->start && now.end == vma->end && now.inode == vma->inode &&
	       now.dev_major == vma->dev_major && now.dev_minor == vma->dev_minor &&
	       (!(vma->known & now.known & PROCMAP_KNOWN_DETAILS) ||
		now.inode_generation == vma->inode_generation);
	procmap_vma_free(&now);
	return same;
}

/*
 * Is this the inode, and not a later one of the same number? FUSE does not tell the
 * generation that the kernel has: it asks the server of the file system.
 */
static bool procmap_is_inode(int fd, const struct procmap_vma *vma)
{
	/* File systems write an int, but the command is for a long. */
	unsigned int generation[2];
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || st.st_ino != vma->inode || major(st.st_dev) != vma->dev_major ||
	    minor(st.st_dev) != vma->dev_minor)
		return false;
	return !(vma->known & PROCMAP_KNOWN_DETAILS) ||
	       fstatfs(fd, &fs) || fs.f_type == FUSE_SUPER_MAGIC ||
	       ioctl(fd, FS_IOC_GETVERSION, generation) ||
	       generation[0] == vma->inode_generation;
}

/*
 * Open a file that is a regular one. Look first, since to open a device or a FIFO
 * has effects.
 */
static int procmap_open_regular(int dir, const char *path)
{
	int fd = openat(dir, path, O_PATH | O_CLOEXEC), ret = -1;
	char link[PROCMAP_FD_PATH];
	struct stat st;

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		ret = open(link, O_RDONLY | O_CLOEXEC);
	else
		errno = EINVAL;
	close(fd);
	return ret;
}

/*
 * Is this what the VMA maps? With @exact it is, if the VMA has not changed. Close
 * it if not; *@err is the errno of the whole: once another file is there, ESTALE.
 */
static bool procmap_try_file(struct procmap *pm, const struct procmap_vma *vma, int fd, bool exact,
			     int *err)
{
	if (fd < 0) {
		*err = *err == ESTALE ? ESTALE : errno;
		return false;
	}
	if (procmap_is_inode(fd, vma) || (exact && procmap_is_mapped(pm, vma)))
		return true;
	close(fd);
	*err = ESTALE;
	return false;
}

static int procmap_open_by_name(struct procmap *pm, const struct procmap_vma *vma, int dir,
				int *err)
{
	char path[sizeof("root") + PATH_MAX];
	int fd;

	if (!vma->name || vma->name[0] != '/' ||
	    snprintf(path, sizeof(path), "root%s", vma->name) >= (int)sizeof(path))
		return -1;
	fd = procmap_open_regular(dir, path);
	if (procmap_try_file(pm, vma, fd, false, err))
		return fd;
	fd = procmap_open_regular(AT_FDCWD, vma->name);
	return procmap_try_file(pm, vma, fd, false, err) ? fd : -1;
}

/*
 * Open the file by map_files. Only processes have these, not their threads; make sure
 * that what is above a thread is no directory outside of /proc.
 */
static int procmap_open_map_files(int dir, const struct procmap_vma *vma)
{
	const size_t up = strlen("../../");
	struct stat ours, theirs;
	char path[sizeof("../../map_files/-") + 2 * 16];
	int fd;

	snprintf(path, sizeof(path), "../../map_files/%jx-%jx", (uintmax_t)vma->start,
		 (uintmax_t)vma->end);
	fd = procmap_open_regular(dir, path + up);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (!fstat(dir, &ours) && !fstatat(dir, "../../map_files", &theirs, 0) &&
	    ours.st_dev == theirs.st_dev)
		return procmap_open_regular(dir, path);
	errno = ENOENT;
	return -1;
}

int procmap_open_file(struct procmap *pm, const struct procmap_vma *vma)
{
	int dir, fd, err = 0;

	if (!(vma->flags & PROCMAP_FILE)) {
		errno = EINVAL;
		return -1;
	}
	dir = procmap_proc_dir(pm->fd);
	if (dir < 0)
		return -1;
	fd = procmap_open_map_files(dir, vma);
	if (!procmap_try_file(pm, vma, fd, true, &err))
		fd = procmap_open_by_name(pm, vma, dir, &err);
	close(dir);
	errno = err;
	return fd;
}
