// SPDX-License-Identifier: GPL-2.0
/*
 * A descriptor of a maps file stands for the address space that it was opened
 * on. This holds for every process that has the descriptor, until that address
 * space is gone.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "procmap_harness.h"
#include "procmap_zoo.h"

FIXTURE(fd) {
	struct procmap_child child;
	int fd;
	struct maps_text text;
	struct procmap_call call;
};

FIXTURE_SETUP(fd)
{
	self->fd = -1;
}

FIXTURE_TEARDOWN(fd)
{
	maps_text_free(&self->text);
	if (self->fd >= 0)
		close(self->fd);
}

/* Query every line and every hole of @self->text on @self->fd. Returns how many answers differ. */
static size_t differences(const struct _test_data_fd *self)
{
	const __u64 next = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	size_t i, wrong = 0;

	for (i = 0; i < self->text.nr; i++) {
		wrong += !!procmap_check(self->fd, &self->text, self->text.vma[i].start, 0);
		wrong += !!procmap_check(self->fd, &self->text, self->text.vma[i].end, 0);
		wrong += !!procmap_check(self->fd, &self->text, self->text.vma[i].end, next);
	}
	return wrong;
}

/* Map an address that only the child has mapped. */
static char *map_marker(void)
{
	return mmap(NULL, sysconf(_SC_PAGESIZE), PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int waits(struct procmap_child *child, void *arg)
{
	char *marker = map_marker();

	return HOLDS(marker != MAP_FAILED) ? procmap_tell(child, (unsigned long)marker) : 1;
}

/* After a fork, the child holds a descriptor of its parent's address space. */
static int asks_for_its_parent(struct procmap_child *child, void *arg)
{
	const struct _test_data_fd *self = arg;
	char *marker = map_marker();
	struct procmap_call call;

	if (!HOLDS(marker != MAP_FAILED) || !HOLDS(!differences(self)))
		return 1;
	if (!HOLDS(!procmap_ask_self(marker, &call)))
		return 1;
	return HOLDS(procmap_ask(self->fd, (unsigned long)marker, 0, &call) == -ENOENT) ? 0 : 1;
}

TEST_F(fd, inherited_by_a_child)
{
	self->fd = maps_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, maps_text_read(self->fd, &self->text));
	ASSERT_EQ(0, procmap_child_start(&self->child, asks_for_its_parent, self));
	EXPECT_EQ(0, procmap_child_wait(&self->child));
}

/* Gets a descriptor of a process that it may not look at itself. */
static int asks_without_privileges(struct procmap_child *child, void *arg)
{
	const struct procmap_child *target = arg;
	struct procmap_call call;
	__u64 marker;
	int fd;

	if (!HOLDS(!procmap_drop_root()))
		return 1;
	fd = procmap_recv_fd(child);
	if (!HOLDS(fd >= 0) || !HOLDS(!procmap_recv(child, &marker)))
		return 1;
	if (!HOLDS(maps_open(target->pid) == -EACCES))
		return 1;
	if (!HOLDS(!procmap_ask(fd, marker, 0, &call)) || !HOLDS(call.q.vma_start == marker))
		return 1;
	return 0;
}

static int hides(struct procmap_child *child, void *arg)
{
	int fd = maps_open(0);

	if (!HOLDS(fd >= 0) || !HOLDS(!procmap_send_fd(child, fd)) ||
	    !HOLDS(!prctl(PR_SET_DUMPABLE, 0)))
		return 1;
	return waits(child, arg);
}

TEST_F(fd, passed_to_somebody_who_may_not_open_it)
{
	struct procmap_child reader;
	__u64 marker;

	ASSERT_EQ(0, procmap_child_start(&self->child, hides, NULL));
	self->fd = procmap_recv_fd(&self->child);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, procmap_recv(&self->child, &marker));
	ASSERT_EQ(0, procmap_child_start(&reader, asks_without_privileges, &self->child));
	ASSERT_EQ(0, procmap_send_fd(&reader, self->fd));
	ASSERT_EQ(0, procmap_send(&reader, marker));
	EXPECT_EQ(0, procmap_child_wait(&reader));
	EXPECT_EQ(0, procmap_child_finish(&self->child));
}

TEST_F(fd, opened_before_exit)
{
	siginfo_t info;
	__u64 marker;
	char byte;

	self->fd = procmap_child_open(&self->child, waits, NULL, &marker);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, procmap_ask(self->fd, marker, 0, &self->call));
	ASSERT_EQ(0, procmap_send(&self->child, 0));
	/* A zombie has no address space. */
	ASSERT_EQ(0, waitid(P_PID, self->child.pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, marker, 0, &self->call));
	EXPECT_EQ(0, read(self->fd, &byte, 1));
	EXPECT_EQ(0, procmap_child_wait(&self->child));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, marker, 0, &self->call));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, 0, PROCMAP_FLAGS, &self->call));
	EXPECT_EQ(-1, read(self->fd, &byte, 1));
	EXPECT_EQ(ESRCH, errno);
}

static int sends_its_maps_and_execs(struct procmap_child *child, void *arg)
{
	int fd = maps_open(0);

	if (!HOLDS(fd >= 0) || !HOLDS(!procmap_send_fd(child, fd)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	procmap_exec(child, arg);
	return HOLDS(false) ? 0 : 1;
}

/* The old address space is gone. The descriptor must not switch to the new one. */
TEST_F(fd, opened_before_exec)
{
	const __u64 next = PROCMAP_QUERY_COVERING_OR_NEXT_VMA;
	char *program = "procmap_target";
	char byte;
	int fd;

	ASSERT_EQ(0, procmap_child_start(&self->child, sends_its_maps_and_execs, program));
	self->fd = procmap_recv_fd(&self->child);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, procmap_ask(self->fd, 0, next, &self->call));
	EXPECT_EQ(1, read(self->fd, &byte, 1));
	ASSERT_EQ(0, procmap_send(&self->child, 0));
	ASSERT_EQ(0, procmap_sync(&self->child));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, 0, next, &self->call));
	EXPECT_EQ(0, pread(self->fd, &byte, 1, 0));
	fd = maps_open(self->child.pid);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, procmap_ask(fd, 0, next, &self->call));
	close(fd);
	EXPECT_EQ(0, procmap_child_finish(&self->child));
}

static int lives_on(void *arg)
{
	return procmap_sync(arg) ? 1 : 0;
}

/* Leaves a process after that shares its memory. The test becomes the parent of that process. */
static int leaves_its_memory(struct procmap_child *child, void *arg)
{
	static max_align_t stack[1024];
	char *marker = map_marker();
	int fd = maps_open(0);
	int pid;

	if (!HOLDS(marker != MAP_FAILED) || !HOLDS(!procmap_send_fd(child, fd)))
		return 1;
	pid = clone(lives_on, stack + ARRAY_SIZE(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, child);
	if (!HOLDS(pid > 0) || !HOLDS(!procmap_send(child, pid)))
		return 1;
	return HOLDS(!procmap_send(child, (unsigned long)marker)) ? 0 : 1;
}

/* Only the address space counts, not the process whose maps file was opened. */
TEST_F(fd, process_gone_but_not_its_address_space)
{
	__u64 pid, marker;
	int status;

	ASSERT_EQ(0, procmap_child_start(&self->child, leaves_its_memory, NULL));
	self->fd = procmap_recv_fd(&self->child);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, procmap_recv(&self->child, &pid));
	ASSERT_EQ(0, procmap_recv(&self->child, &marker));
	ASSERT_EQ(self->child.pid, waitpid(self->child.pid, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_EQ(0, procmap_ask(self->fd, marker, 0, &self->call));
	EXPECT_EQ(marker, self->call.q.vma_start);
	self->child.pid = pid;
	EXPECT_EQ(0, procmap_child_finish(&self->child));
	EXPECT_EQ(-ESRCH, procmap_ask(self->fd, marker, 0, &self->call));
}

/* Each side closes its end of a pipe when the other need no longer wait for it. */
struct thread {
	pthread_t thread;
	int started[2];
	int end[2];
	pid_t tid;
};

static void *thread_waits(void *arg)
{
	struct thread *thread = arg;
	char byte;

	thread->tid = syscall(SYS_gettid);
	close(thread->started[1]);
	if (read(thread->end[0], &byte, 1))
		thread->tid = -1;
	return NULL;
}

static int start_thread(struct thread *thread)
{
	char byte;

	if (pipe2(thread->started, O_CLOEXEC) || pipe2(thread->end, O_CLOEXEC))
		return -errno;
	if (pthread_create(&thread->thread, NULL, thread_waits, thread))
		return -EAGAIN;
	return read(thread->started[0], &byte, 1);
}

static int end_thread(struct thread *thread)
{
	close(thread->end[1]);
	return pthread_join(thread->thread, NULL);
}

static int open_thread(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

TEST_F(fd, of_a_thread)
{
	struct thread thread;

	ASSERT_EQ(0, start_thread(&thread));
	ASSERT_NE(getpid(), thread.tid);
	self->fd = open_thread(getpid(), thread.tid);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, maps_text_read(self->fd, &self->text));
	EXPECT_EQ(0, differences(self));
	ASSERT_EQ(0, procmap_ask(self->fd, (unsigned long)self, 0, &self->call));
	EXPECT_STREQ("[stack]", self->call.name);
	EXPECT_EQ(0, end_thread(&thread));
}

TEST_F(fd, of_a_thread_that_ended)
{
	struct thread thread;

	ASSERT_EQ(0, start_thread(&thread));
	self->fd = open_thread(getpid(), thread.tid);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, end_thread(&thread));
	EXPECT_EQ(0, procmap_ask(self->fd, (unsigned long)self, 0, &self->call));
	EXPECT_STREQ("[stack]", self->call.name);
}

/*
 * A query does not need a descriptor that is open for reading. But only root
 * can open the file in another way.
 */
TEST_F(fd, opened_for_writing)
{
	const int mode[] = { O_RDWR, O_WRONLY };
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(mode); i++) {
		fd = open("/proc/self/maps", mode[i] | O_CLOEXEC);
		if (geteuid()) {
			EXPECT_EQ(-1, fd);
			EXPECT_EQ(EACCES, errno);
			continue;
		}
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, procmap_ask(fd, (unsigned long)self, 0, &self->call));
		EXPECT_STREQ("[stack]", self->call.name);
		close(fd);
	}
}

/*
 * Read the text in pieces of @step bytes, with queries of all kinds between
 * them. Returns its length, or -errno.
 */
static ssize_t read_between_queries(const struct _test_data_fd *self, char *buf, size_t size,
				    size_t step)
{
	const struct maps_text *text = &self->text;
	struct procmap_call call;
	size_t used = 0, turn = 0;
	ssize_t got;

	do {
		off_t before = lseek(self->fd, 0, SEEK_CUR);

		if (procmap_check(self->fd, text, text->vma[turn % text->nr].start, 0) ||
		    procmap_check(self->fd, text, 0, turn % (PROCMAP_FLAGS + 1)) ||
		    procmap_ask(self->fd, ~0ULL, 0, &call) != -ENOENT ||
		    procmap_ask(self->fd, 0, ~0ULL, &call) != -EINVAL)
			return -EUCLEAN;
		if (lseek(self->fd, 0, SEEK_CUR) != before)
			return -ESPIPE;
		if (used + step > size)
			return -EFBIG;
		got = read(self->fd, buf + used, step);
		used += got;
		turn++;
	} while (got > 0);
	return got < 0 ? -errno : (ssize_t)used;
}

/* Read the text of a child, because the text of the test itself changes when it maps memory. */
TEST_F(fd, text_and_queries_do_not_disturb_each_other)
{
	const size_t step[] = { 1, 7, 100, 4096, 65536 };
	static char plain[128 * 1024], mixed[128 * 1024 + 65536];
	ssize_t len = 0, got;
	size_t i;

	ASSERT_EQ(0, procmap_child_exec(&self->child, "procmap_target"));
	ASSERT_EQ(0, procmap_sync(&self->child));
	self->fd = maps_open(self->child.pid);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, maps_text_read(self->fd, &self->text));
	ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
	while ((got = read(self->fd, plain + len, sizeof(plain) - len)) > 0)
		len += got;
	ASSERT_EQ(0, got);
	ASSERT_LT(4096, len);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
		EXPECT_EQ(len, read_between_queries(self, mixed, sizeof(mixed), step[i]))
			TH_LOG("reading %zu bytes at a time", step[i]);
		EXPECT_EQ(0, memcmp(plain, mixed, len))
			TH_LOG("reading %zu bytes at a time", step[i]);
	}
	EXPECT_EQ(0, procmap_child_finish(&self->child));
}

TEST_HARNESS_MAIN
