// SPDX-License-Identifier: GPL-2.0
/* Failures on purpose, and what they leave after: see fault.h. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kselftest.h"
#include "fault.h"
#include "procmap_util.h"

/*
 * Kernel settings, and their values while the test runs: anything may fail, and
 * nothing is printed.
 */
static const char *const settings[FAULT_SETTINGS][2] = {
	{ "failslab/ignore-gfp-wait", "N" },
	{ "failslab/cache-filter", "N" },
	{ "failslab/verbose", "0" },
	{ "fail_page_alloc/ignore-gfp-wait", "N" },
	{ "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ "fail_page_alloc/min-order", "0" },
	{ "fail_page_alloc/verbose", "0" },
	{ "fail_usercopy/verbose", "0" },
	{ "fail_usercopy/probability", "0" },
};

/* A reference that is never dropped would keep objects of these caches. */
static const char *const caches[FAULT_CACHES] = {
	"task_struct", "mm_struct", "vm_area_struct", "filp", "pid",
};

/* Say what the kernel or the caller lacks to fail on purpose; NULL: nothing. */
const char *fault_lacking(void)
{
	if (access("/proc/thread-self/fail-nth", F_OK))
		return "kernel that cannot fail on purpose (CONFIG_FAULT_INJECTION)";
	if (access("/sys/kernel/slab/task_struct/objects", F_OK))
		return "kernel that cannot fail on purpose (CONFIG_SLUB_DEBUG)";
	return geteuid() ? "making calls fail needs root" : NULL;
}

/* Do one read() or write() of a file that supports no offset but the start. */
static int transfer(const char *dir, const char *name, char *read_to, const char *write_from)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, (read_to ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read_to) {
		len = read(fd, read_to, 15);
		read_to[len < 0 ? 0 : len] = '\0';
	} else {
		len = write(fd, write_from, strlen(write_from));
	}
	ret = len < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/*
 * Get ready to let calls of this thread fail.
 * @dir: a directory of the caller, which must be root
 */
int fault_start(struct fault *fault, const char *dir)
{
	size_t i;
	int ret = 0;

	snprintf(fault->dir, sizeof(fault->dir), "%s/debug", dir);
	if (mkdir(fault->dir, 0700) || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", fault->dir, "debugfs", 0, NULL))
		return -errno;
	for (i = 0; i < FAULT_SETTINGS && !ret; i++) {
		ret = transfer(fault->dir, settings[i][0], fault->saved[i], NULL);
		if (!ret)
			ret = transfer(fault->dir, settings[i][0], NULL, settings[i][1]);
	}
	fault->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return fault->nth < 0 ? -errno : ret;
}

/*
 * Leave the kernel as it was.
 * @fault: from fault_start()
 */
int fault_stop(struct fault *fault)
{
	int ret = 0;
	size_t i;

	close(fault->nth);
	for (i = 0; i < FAULT_SETTINGS && !ret; i++)
		ret = transfer(fault->dir, settings[i][0], NULL, fault->saved[i]);
	if (umount(fault->dir) || rmdir(fault->dir))
		return -errno;
	return ret;
}

/*
 * Let the @nth allocation or user copy of this thread fail.
 * @fault: from fault_start()
 * @nth: counts from now on, from 1
 */
int fault_arm(struct fault *fault, int nth)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", nth);
	return pwrite(fault->nth, number, strlen(number), 0) < 0 ? -errno : 0;
}

/*
 * Let nothing fail any more.
 * @fault: armed by fault_arm()
 */
int fault_disarm(struct fault *fault, bool *failed)
{
	char left[16] = "";
	ssize_t len = pread(fault->nth, left, sizeof(left) - 1, 0);

	/* The copy of this number was the one to fail, so nothing failed before. */
	if (len < 0 && errno == EFAULT)
		left[0] = '1';
	else if (len < 0)
		return -errno;
	*failed = atoi(left) == 0;
	if (pwrite(fault->nth, "0", 1, 0) == 1)
		return 0;
	/* This copy was the one to fail. Now nothing is armed any more. */
	return errno == EFAULT && pwrite(fault->nth, "0", 1, 0) == 1 ? 0 : -errno;
}

/* Count the objects that the kernel has. */
int fault_count(struct fault_counts *counts)
{
	char dir[64], number[16];
	size_t i;
	int ret = 0;

	for (i = 0; i < FAULT_CACHES && !ret; i++) {
		snprintf(dir, sizeof(dir), "/sys/kernel/slab/%s", caches[i]);
		/* Do not count free objects that a cache only keeps for later. */
		ret = transfer(dir, "shrink", NULL, "1");
		if (!ret)
			ret = transfer(dir, "objects", number, NULL);
		counts->objects[i] = atol(number);
	}
	return ret;
}

/* Is there more than before of a kind? @ret: 0, or why it cannot be told. */
static bool is_more(const struct fault_counts *before, long spare, struct fault_counts *now,
		    size_t *kind, int *ret)
{
	*ret = fault_count(now);
	for (*kind = 0; !*ret && *kind < FAULT_CACHES; ++*kind)
		if (now->objects[*kind] > before->objects[*kind] + spare)
			return true;
	return false;
}

/*
 * Wait until there are as many objects as before, which RCU and kernel threads
 * may have to free. Returns 0, -ETIMEDOUT with a message on stderr, or another
 * -errno.
 * @before: the numbers from before
 * @spare: how many objects others may have got in the meantime
 */
int fault_wait_back(const struct fault_counts *before, long spare)
{
	struct fault_counts now;
	size_t k;
	int ret;

	if (UNTIL(!is_more(before, spare, &now, &k, &ret)))
		return ret;
	fprintf(stderr, "# of %s there were %ld, and are %ld\n", caches[k], before->objects[k],
		now.objects[k]);
	return -ETIMEDOUT;
}
