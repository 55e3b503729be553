// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_QUERY allocates memory before it looks for the VMA: if the first allocation fails, the
 * query does not know yet that there is no VMA.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>
#include <linux/fs.h>
#include "kselftest_harness.h"

#define DEBUGFS "/sys/kernel/debug"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len = strlen(text);

	if (fd < 0)
		return -1;
	len -= write(fd, text, len);
	close(fd);
	return len ? -1 : 0;
}

/* Let allocations that may sleep fail, too, and without a trace on the console. */
static int setup_failslab(void)
{
	if (access(DEBUGFS "/failslab", F_OK) &&
	    (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("debugfs", DEBUGFS, "debugfs", 0, NULL)))
		return -1;
	if (write_file(DEBUGFS "/failslab/ignore-gfp-wait", "N"))
		return -1;
	return write_file(DEBUGFS "/failslab/verbose", "0");
}

TEST(allocates_before_lookup)
{
	char name[4096];
	struct procmap_query q = {
		.size = sizeof(q),
		.vma_name_size = sizeof(name),
		.vma_name_addr = (uintptr_t)name,
	};
	int maps, nth, err = EFAULT;
	char i;
	void *hole;

	if (setup_failslab())
		SKIP(return, "needs root and CONFIG_FAILSLAB, CONFIG_FAULT_INJECTION_DEBUG_FS");

	hole = mmap(NULL, getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, hole);
	ASSERT_EQ(0, munmap(hole, getpagesize()));
	q.query_addr = (uintptr_t)hole;
	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, maps);
	nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, nth);
	ASSERT_EQ(-1, ioctl(maps, PROCMAP_QUERY, &q));
	ASSERT_EQ(ENOENT, errno);

	/* With CONFIG_FAULT_INJECTION_USERCOPY copying the struct is what fails first. */
	for (i = '1'; err == EFAULT && i <= '9'; i++) {
		ASSERT_EQ(1, pwrite(nth, &i, 1, 0));
		err = ioctl(maps, PROCMAP_QUERY, &q) ? errno : 0;
		ASSERT_EQ(1, pwrite(nth, "0", 1, 0));
	}
	EXPECT_EQ(ENOMEM, err);
	close(nth);
	close(maps);
}

TEST_HARNESS_MAIN
