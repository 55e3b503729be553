// SPDX-License-Identifier: GPL-2.0
/*
 * The ENOMEM row of the error table: each allocation of a query is refused in
 * turn. Needs a kernel that can be told to refuse, and root to tell it so.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "procmap_harness.h"
#include "procmap_zoo.h"

static void __attribute__((constructor)) faults_require(void)
{
	if (access("/proc/thread-self/fail-nth", F_OK))
		ksft_exit_skip("kernel that cannot refuse memory (CONFIG_FAILSLAB)\n");
	if (geteuid())
		ksft_exit_skip("refusing memory needs root\n");
}

/* More than the kernel would have room for without an allocation. */
#define DEPTH	6
#define PART	200

/* Settings of the kernel, and what they are while the test runs. */
static const char *const setting[][2] = {
	{ "failslab/ignore-gfp-wait", "N" },
	{ "failslab/verbose", "0" },
};

FIXTURE(enomem) {
	char dir[PATH_MAX / 2];
	char debugfs[PATH_MAX / 2 + 16];
	char path[PATH_MAX];
	char saved[ARRAY_SIZE(setting)][16];
	bool usercopy_fails;
	int nth;
	int fd;
	char *map;
	struct procmap_call call;
};

/* One read() or write() of a file that knows no other offset than the start. */
static int transfer(const char *dir, const char *name, char *read_to, const char *write_from)
{
	char path[PATH_MAX + 64];
	ssize_t len;
	int fd;

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
	close(fd);
	return len < 0 ? -errno : 0;
}

/* In a mount namespace of its own, so that it ends with the test. */
static int mount_debugfs(struct _test_data_enomem *self)
{
	size_t i;
	int ret;

	snprintf(self->debugfs, sizeof(self->debugfs), "%s/debug", self->dir);
	if (mkdir(self->debugfs, 0700) || unshare(CLONE_NEWNS) ||
	    syscall(SYS_mount, "none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    syscall(SYS_mount, "none", self->debugfs, "debugfs", 0, NULL))
		return -errno;
	for (i = 0; i < ARRAY_SIZE(setting); i++) {
		ret = transfer(self->debugfs, setting[i][0], self->saved[i], NULL);
		if (!ret)
			ret = transfer(self->debugfs, setting[i][0], NULL, setting[i][1]);
		if (ret)
			return ret;
	}
	snprintf(self->path, sizeof(self->path), "%s/fail_usercopy", self->debugfs);
	self->usercopy_fails = !access(self->path, F_OK);
	return 0;
}

static int make_deep_file(struct _test_data_enomem *self)
{
	char *end = stpcpy(self->path, self->dir);
	int i;

	for (i = 0; i < DEPTH; i++) {
		end = memset(stpcpy(end, "/"), 'd', PART) + PART;
		*end = '\0';
		if (mkdir(self->path, 0700))
			return -errno;
	}
	strcpy(end, "/file");
	return procmap_tmp_file(self->path, 1);
}

FIXTURE_SETUP(enomem)
{
	int fd;

	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	ASSERT_EQ(0, mount_debugfs(self));
	fd = make_deep_file(self);
	ASSERT_LE(0, fd);
	self->map = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
	close(fd);
	self->fd = procmap_open(0);
	ASSERT_LE(0, self->fd);
	self->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->nth);
}

FIXTURE_TEARDOWN(enomem)
{
	size_t i;

	close(self->nth);
	close(self->fd);
	for (i = 0; i < ARRAY_SIZE(setting); i++)
		EXPECT_EQ(0, transfer(self->debugfs, setting[i][0], NULL, self->saved[i]));
	EXPECT_EQ(0, syscall(SYS_umount2, self->debugfs, 0));
	rmdir(self->debugfs);
	unlink(self->path);
	while (strcmp(self->path, self->dir)) {
		*strrchr(self->path, '/') = '\0';
		rmdir(self->path);
	}
}

/* Query while the @nth thing that can fail does. @failed: there was one. */
static int ask_failing(struct _test_data_enomem *self, const void *addr, int nth, bool *failed)
{
	char number[16] = "";
	int ret;

	procmap_call_init(&self->call, (unsigned long)addr, 0);
	snprintf(number, sizeof(number), "%d", nth);
	if (pwrite(self->nth, number, strlen(number), 0) < 0)
		return -EIO;
	ret = procmap_call(self->fd, &self->call);
	if (pread(self->nth, number, sizeof(number) - 1, 0) < 0 ||
	    pwrite(self->nth, "0", 1, 0) < 0)
		return -EIO;
	*failed = !atoi(number);
	return ret;
}

/* Returns how often a query for @addr failed with ENOMEM. */
static int count_enomem(struct __test_metadata *_metadata, struct _test_data_enomem *self,
			const void *addr, const char *name)
{
	int nth, ret, nr = 0;
	bool failed = true;

	for (nth = 1; failed; nth++) {
		ASSERT_LT(nth, 1000);
		ret = ask_failing(self, addr, nth, &failed);
		if (ret == -ENOMEM) {
			nr++;
			continue;
		}
		if (ret == -EFAULT && self->usercopy_fails && failed)
			continue;
		ASSERT_EQ(0, ret);
		EXPECT_STREQ(name, self->call.name);
	}
	return nr;
}

TEST_F(enomem, for_the_name_of_a_file)
{
	EXPECT_LT(0, count_enomem(_metadata, self, self->map, self->path));
}

/* Nothing is promised about which queries need memory: each fails cleanly, or not at all. */
TEST_F(enomem, never_another_error_for_other_names)
{
	EXPECT_LE(0, count_enomem(_metadata, self, self, "[stack]"));
}

/* Failing to read the build ID may cost the ID, but nothing else. */
TEST_F(enomem, never_another_error_for_the_build_id)
{
	char exe[PATH_MAX] = "";

	ASSERT_LT(0, readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	EXPECT_LE(0, count_enomem(_metadata, self, procmap_call, exe));
	ASSERT_EQ(0, procmap_ask(self->fd, (unsigned long)procmap_call, 0, &self->call));
	EXPECT_EQ(20, self->call.q.build_id_size);
}

TEST_HARNESS_MAIN
