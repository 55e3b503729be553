// SPDX-License-Identifier: GPL-2.0
/*
 * Which process may open a maps file. The kernel checks the permission
 * (PTRACE_MODE_READ) there and nowhere else. A descriptor allows both the text
 * and queries, or neither.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "procmap_harness.h"

FIXTURE(perm) {
	struct procmap_child target;
	int fd;
	struct procmap_call call;
};

FIXTURE_SETUP(perm)
{
	self->fd = -1;
}

FIXTURE_TEARDOWN(perm)
{
	if (self->fd >= 0)
		close(self->fd);
}

/* Sets its dumpable flag to each number that it receives. A number above 1 ends it. */
static int changes_dumpable(struct procmap_child *child, void *arg)
{
	__u64 dumpable = 1;

	if (!HOLDS(!procmap_drop_root()))
		return 1;
	do {
		if (!HOLDS(!prctl(PR_SET_DUMPABLE, dumpable)) ||
		    !HOLDS(!procmap_send(child, (unsigned long)arg)) ||
		    !HOLDS(!procmap_recv(child, &dumpable)))
			return 1;
	} while (dumpable <= 1);
	return 0;
}

static int set_dumpable(struct procmap_child *target, __u64 dumpable)
{
	return procmap_send(target, dumpable) ?: procmap_sync(target);
}

/*
 * Opens the maps file of a process as the ordinary user that the process runs
 * as. Returns 0, the errno of open(), or 1 if anything else fails.
 */
static int opens(struct procmap_child *child, void *arg)
{
	const struct procmap_child *target = arg;
	struct procmap_call call;
	int fd;

	if (!HOLDS(!procmap_drop_root()))
		return 1;
	fd = maps_open(target->pid);
	if (fd < 0)
		return -fd;
	return procmap_ask(fd, 0, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, &call) ? 1 : 0;
}

static int open_as_user(struct procmap_child *target)
{
	struct procmap_child reader;
	int ret = procmap_child_start(&reader, opens, target);

	return ret ?: procmap_child_wait(&reader);
}

TEST_F(perm, same_user_not_dumpable_is_eacces)
{
	ASSERT_EQ(0, procmap_child_start(&self->target, changes_dumpable, NULL));
	ASSERT_EQ(0, procmap_sync(&self->target));
	ASSERT_EQ(0, set_dumpable(&self->target, 0));
	EXPECT_EQ(EACCES, open_as_user(&self->target));
	ASSERT_EQ(0, set_dumpable(&self->target, 1));
	EXPECT_EQ(0, open_as_user(&self->target));
	ASSERT_EQ(0, procmap_send(&self->target, 2));
	EXPECT_EQ(0, procmap_child_wait(&self->target));
}

TEST_F(perm, root_may_open_what_is_not_dumpable)
{
	if (geteuid())
		SKIP(return, "%s: being allowed everything needs root", _metadata->name);
	ASSERT_EQ(0, procmap_child_start(&self->target, changes_dumpable, NULL));
	ASSERT_EQ(0, procmap_sync(&self->target));
	ASSERT_EQ(0, set_dumpable(&self->target, 0));
	self->fd = maps_open(self->target.pid);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, procmap_ask(self->fd, 0, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, &self->call));
	ASSERT_EQ(0, procmap_send(&self->target, 2));
	EXPECT_EQ(0, procmap_child_wait(&self->target));
}

/*
 * Opens the file while this is allowed. The text and queries must still work
 * when it is no longer allowed.
 */
static int keeps_its_descriptor(struct procmap_child *child, void *arg)
{
	const struct procmap_child *target = arg;
	struct procmap_call call;
	struct maps_text text;
	int fd;

	if (!HOLDS(!procmap_drop_root()))
		return 1;
	fd = maps_open(target->pid);
	if (!HOLDS(fd >= 0) || !HOLDS(!procmap_send(child, 0)) || !HOLDS(!procmap_sync(child)))
		return 1;
	if (!HOLDS(maps_open(target->pid) == -EACCES) ||
	    !HOLDS(!maps_text_read(fd, &text)) ||
	    !HOLDS(!procmap_ask(fd, text.vma[0].start, 0, &call)) ||
	    !HOLDS(!procmap_differs(&text.vma[0], &call)))
		return 1;
	return 0;
}

TEST_F(perm, checked_when_opened_and_not_per_query)
{
	struct procmap_child reader;

	ASSERT_EQ(0, procmap_child_start(&self->target, changes_dumpable, NULL));
	ASSERT_EQ(0, procmap_sync(&self->target));
	ASSERT_EQ(0, procmap_child_start(&reader, keeps_its_descriptor, &self->target));
	ASSERT_EQ(0, procmap_sync(&reader));
	ASSERT_EQ(0, set_dumpable(&self->target, 0));
	ASSERT_EQ(0, procmap_send(&reader, 0));
	EXPECT_EQ(0, procmap_child_wait(&reader));
	ASSERT_EQ(0, procmap_send(&self->target, 2));
	EXPECT_EQ(0, procmap_child_wait(&self->target));
}

/* An ordinary user looks at a process of root: the test itself, or process 1. */
TEST_F(perm, other_user_is_eacces)
{
	struct procmap_child other = { .pid = geteuid() ? 1 : getpid() };
	struct stat st;

	if (geteuid()) {
		ASSERT_EQ(0, stat("/proc/1", &st));
		if (st.st_uid == geteuid())
			SKIP(return, "%s: no other user: process 1 is our own", _metadata->name);
	}
	EXPECT_EQ(EACCES, open_as_user(&other));
}

TEST_F(perm, own_process_not_dumpable)
{
	ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 0));
	self->fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, procmap_ask(self->fd, (unsigned long)self, 0, &self->call));
	EXPECT_STREQ("[stack]", self->call.name);
}

/* The process has no address space and never will. So the text is empty, and a query says why. */
static void check_no_memory(struct __test_metadata *_metadata, struct _test_data_perm *self,
			    pid_t pid)
{
	char byte;

	self->fd = maps_open(pid);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, read(self->fd, &byte, 1));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, 0, 0, &self->call));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, 0, PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
				      &self->call));
	procmap_call_init(&self->call, 0, PROCMAP_FLAGS + 1);
	EXPECT_EQ(-EINVAL, procmap_call(self->fd, &self->call));
}

static bool is_kthreadd(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, "kthreadd\n");
}

TEST_F(perm, kernel_thread_has_no_address_space)
{
	if (!is_kthreadd(2))
		SKIP(return, "%s: no kernel thread in this PID namespace", _metadata->name);
	check_no_memory(_metadata, self, 2);
}

static int ends(struct procmap_child *child, void *arg)
{
	return 0;
}

TEST_F(perm, zombie_has_no_address_space)
{
	siginfo_t info;

	ASSERT_EQ(0, procmap_child_start(&self->target, ends, NULL));
	ASSERT_EQ(0, waitid(P_PID, self->target.pid, &info, WEXITED | WNOWAIT));
	check_no_memory(_metadata, self, self->target.pid);
	EXPECT_EQ(0, procmap_child_wait(&self->target));
}

TEST_HARNESS_MAIN
