// SPDX-License-Identifier: GPL-2.0
/* PROCESS_VM_PIDFD: which process a pidfd names, and which callers may use it. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/sched.h>

#include "pvm_harness.h"

#define SECRET	0x5ec2e7

/* The calls read this. It has the same address in all children of this process. */
static unsigned int secret = SECRET;

static int open_pidfd(pid_t pid)
{
	int fd = syscall(__NR_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

static long read_secret(int pid, unsigned long flags)
{
	unsigned int value = 0;
	long ret = pvm_copy(false, pid, &secret, &value, sizeof(value), flags);

	return ret == sizeof(value) ? value : ret;
}

/* The result must be the same with NOWAIT and without. */
static bool pidfd_gives(int pidfd, long expected)
{
	return HOLDS(read_secret(pidfd, PROCESS_VM_PIDFD) == expected) &&
	       HOLDS(read_secret(pidfd, PVM_FLAGS) == expected);
}

static int sleeps(struct procmap_child *child, void *arg)
{
	secret = SECRET + 1;
	return procmap_tell(child, 0);
}

/* Start a child with another secret. */
static int start_other(struct procmap_child *child)
{
	int ret = procmap_child_start(child, sleeps, NULL);

	return ret ? ret : procmap_sync(child);
}

static bool child_succeeds(int (*fn)(struct procmap_child *child, void *arg), void *arg)
{
	struct procmap_child child;

	return HOLDS(!procmap_child_start(&child, fn, arg)) && HOLDS(!procmap_child_wait(&child));
}

static pid_t clone_to(struct clone_args *args)
{
	args->exit_signal = SIGCHLD;
	return syscall(__NR_clone3, args, sizeof(*args));
}

TEST(the_process_of_the_pidfd_is_written)
{
	struct procmap_child child;
	unsigned int value = SECRET + 2;
	int pidfd;

	ASSERT_EQ(0, start_other(&child));
	pidfd = open_pidfd(child.pid);
	ASSERT_LE(0, pidfd);
	EXPECT_EQ(sizeof(value), pvm_copy(true, pidfd, &secret, &value, sizeof(value),
					  PROCESS_VM_PIDFD));
	EXPECT_EQ(SECRET + 2, read_secret(child.pid, 0));
	value++;
	EXPECT_EQ(sizeof(value), pvm_copy(true, pidfd, &secret, &value, sizeof(value),
					  PVM_FLAGS));
	EXPECT_EQ(SECRET + 3, read_secret(child.pid, 0));
	EXPECT_EQ(SECRET, secret);
	EXPECT_EQ(0, procmap_child_finish(&child));
}

TEST(one_s_own_pidfd_reads_oneself)
{
	int pidfd = open_pidfd(getpid());

	ASSERT_LE(0, pidfd);
	EXPECT_TRUE(pidfd_gives(pidfd, SECRET));
	EXPECT_EQ(0, close(pidfd));
	EXPECT_TRUE(pidfd_gives(pidfd, -EBADF));
}

TEST(without_the_flag_the_number_is_a_PID)
{
	int pidfd = open_pidfd(getpid());
	int high = fcntl(pidfd, F_DUPFD, 900);

	ASSERT_LE(900, high);
	EXPECT_TRUE(pidfd_gives(high, SECRET));
	ASSERT_EQ(-1, kill(high, 0));
	EXPECT_EQ(-ESRCH, read_secret(high, 0));
	EXPECT_EQ(-ESRCH, read_secret(high, PROCESS_VM_NOWAIT));
	EXPECT_EQ(SECRET, read_secret(getpid(), 0));
	EXPECT_EQ(SECRET, read_secret(getpid(), PROCESS_VM_NOWAIT));
}

TEST(what_is_no_pidfd_is_EBADF)
{
	char path[32];
	int pipes[2];

	snprintf(path, sizeof(path), "/proc/%d", getpid());
	EXPECT_TRUE(pidfd_gives(-1, -EBADF));
	EXPECT_TRUE(pidfd_gives(getpid() + 100000, -EBADF));
	EXPECT_TRUE(pidfd_gives(-100, -EBADF));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_TRUE(pidfd_gives(pipes[0], -EBADF));
	EXPECT_TRUE(pidfd_gives(open("/proc/self/exe", O_RDONLY), -EBADF));
	EXPECT_TRUE(pidfd_gives(open(path, O_RDONLY | O_DIRECTORY), -EBADF));
	EXPECT_TRUE(pidfd_gives(open(path, O_PATH), -EBADF));
	EXPECT_TRUE(pidfd_gives(eventfd(0, 0), -EBADF));
}

TEST(an_exited_process_is_ESRCH_before_and_after_it_is_reaped)
{
	struct procmap_child child;
	siginfo_t info;
	int pidfd;

	ASSERT_EQ(0, start_other(&child));
	pidfd = open_pidfd(child.pid);
	ASSERT_LE(0, pidfd);
	EXPECT_TRUE(pidfd_gives(pidfd, SECRET + 1));
	ASSERT_EQ(0, procmap_send(&child, 0));
	ASSERT_EQ(0, waitid(P_PID, child.pid, &info, WEXITED | WNOWAIT));
	EXPECT_TRUE(pidfd_gives(pidfd, -ESRCH));
	EXPECT_EQ(-ESRCH, read_secret(child.pid, 0));
	ASSERT_EQ(0, procmap_child_wait(&child));
	EXPECT_TRUE(pidfd_gives(pidfd, -ESRCH));
	EXPECT_EQ(-ESRCH, read_secret(child.pid, 0));
}

/* This runs in a PID namespace of its own, so no other process takes the number. */
static int reuses_a_pid(struct procmap_child *child, void *arg)
{
	struct clone_args plain = { 0 }, again = { .set_tid_size = 1 };
	pid_t pid, number;
	int pidfd;

	number = clone_to(&plain);
	if (!number)
		_exit(0);
	pidfd = open_pidfd(number);
	if (!HOLDS(pidfd >= 0) || !HOLDS(waitpid(number, NULL, 0) == number) ||
	    !HOLDS(pidfd_gives(pidfd, -ESRCH)))
		return 1;
	again.set_tid = (unsigned long)&number;
	pid = clone_to(&again);
	if (!pid) {
		pause();
		_exit(0);
	}
	if (!HOLDS(pid == number) || !HOLDS(read_secret(pid, 0) == SECRET) ||
	    !HOLDS(pidfd_gives(pidfd, -ESRCH)))
		return 1;
	return HOLDS(!kill(pid, SIGKILL)) ? 0 : 1;
}

/* Run a function as the first process of a PID namespace. Returns its exit status. */
static int in_pid_namespace(struct procmap_child *child,
			    int (*fn)(struct procmap_child *child, void *arg), void *arg)
{
	struct clone_args args = { .flags = CLONE_NEWPID };
	int status;
	pid_t pid;

	if (!HOLDS(!procmap_become_root()))
		return 1;
	fflush(NULL);
	pid = clone_to(&args);
	if (!pid)
		_exit(fn(child, arg));
	if (!HOLDS(pid > 0) || !HOLDS(waitpid(pid, &status, 0) == pid))
		return 1;
	return HOLDS(WIFEXITED(status)) ? WEXITSTATUS(status) : 1;
}

static int reuses_a_pid_inside(struct procmap_child *child, void *arg)
{
	return in_pid_namespace(child, reuses_a_pid, NULL);
}

TEST(a_PID_that_is_reused_does_not_make_the_pidfd_another_process)
{
	EXPECT_TRUE(child_succeeds(reuses_a_pid_inside, NULL));
}

static void *outlives_the_leader(void *arg)
{
	struct procmap_child *child = arg;

	secret = SECRET + 1;
	if (procmap_send(child, syscall(__NR_gettid)))
		return NULL;
	procmap_sync(child);
	_exit(0);
}

static int leader_exits(struct procmap_child *child, void *arg)
{
	pthread_t thread;

	if (!HOLDS(!pthread_create(&thread, NULL, outlives_the_leader, child)))
		return 1;
	pthread_exit(NULL);
}

TEST(a_process_whose_leader_has_exited_is_still_there)
{
	struct procmap_child child;
	__u64 tid;
	int pidfd;

	ASSERT_EQ(0, procmap_child_start(&child, leader_exits, NULL));
	ASSERT_EQ(0, procmap_recv(&child, &tid));
	pidfd = open_pidfd(child.pid);
	ASSERT_LE(0, pidfd);
	ASSERT_TRUE(UNTIL(stall_state_of(child.pid, child.pid) == 'Z'));
	EXPECT_EQ(-ESRCH, read_secret(child.pid, 0));
	EXPECT_EQ(-ESRCH, read_secret(child.pid, PROCESS_VM_NOWAIT));
	EXPECT_EQ(SECRET + 1, read_secret(tid, 0));
	EXPECT_EQ(SECRET + 1, read_secret(tid, PROCESS_VM_NOWAIT));
	EXPECT_TRUE(pidfd_gives(pidfd, SECRET + 1));
	EXPECT_EQ(0, procmap_child_finish(&child));
	EXPECT_TRUE(pidfd_gives(pidfd, -ESRCH));
}

static int pidfd_of_first_process(struct procmap_child *child, void *arg)
{
	int *pidfd = arg;
	struct procmap_child other;
	int ret;

	/* The process outside has no number here. The number 1 is another process. */
	if (!HOLDS(getpid() == 1) || !HOLDS(pidfd_gives(*pidfd, SECRET + 1)) ||
	    !HOLDS(read_secret(1, 0) == SECRET))
		return 1;
	if (!HOLDS(!start_other(&other)) || !HOLDS(open_pidfd(other.pid) >= 0))
		return 1;
	ret = HOLDS(pidfd_gives(*pidfd, SECRET + 1)) ? 0 : 1;
	return procmap_child_finish(&other) ? 1 : ret;
}

static int reads_out_of_a_namespace(struct procmap_child *child, void *arg)
{
	struct procmap_child target;
	int pidfd, ret;

	if (!HOLDS(!procmap_become_root()) || !HOLDS(!start_other(&target)))
		return 1;
	pidfd = open_pidfd(target.pid);
	if (!HOLDS(pidfd >= 0))
		return 1;
	ret = in_pid_namespace(child, pidfd_of_first_process, &pidfd);
	return procmap_child_finish(&target) ? 1 : ret;
}

TEST(a_process_outside_the_caller_s_PID_namespace_is_read)
{
	EXPECT_TRUE(child_succeeds(reads_out_of_a_namespace, NULL));
}

/* The process inside has PID 2 there. Its pidfd goes to the test through a socket. */
static int sends_pidfd(struct procmap_child *child, void *arg)
{
	struct procmap_child inner;
	int pidfd;

	if (!HOLDS(!start_other(&inner)) || !HOLDS(inner.pid == 2))
		return 1;
	pidfd = open_pidfd(inner.pid);
	if (!HOLDS(pidfd >= 0) || !HOLDS(!procmap_send_fd(child, pidfd)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	return procmap_child_finish(&inner) ? 1 : 0;
}

static int sends_pidfd_from_a_namespace(struct procmap_child *child, void *arg)
{
	return in_pid_namespace(child, sends_pidfd, NULL);
}

TEST(a_process_inside_another_PID_namespace_is_read)
{
	struct procmap_child child;
	int pidfd;

	ASSERT_EQ(0, procmap_child_start(&child, sends_pidfd_from_a_namespace, NULL));
	pidfd = procmap_recv_fd(&child);
	ASSERT_LE(0, pidfd);
	EXPECT_TRUE(pidfd_gives(pidfd, SECRET + 1));
	EXPECT_EQ(0, procmap_child_finish(&child));
	EXPECT_TRUE(pidfd_gives(pidfd, -ESRCH));
}

/* An ordinary user may not access the first process of the machine. */
static int is_refused_by_uid(struct procmap_child *child, void *arg)
{
	int *pidfd = arg;

	if (!HOLDS(!procmap_drop_root()))
		return 1;
	return HOLDS(read_secret(1, 0) == -EPERM) &&
	       HOLDS(read_secret(1, PROCESS_VM_NOWAIT) == -EPERM) &&
	       HOLDS(pidfd_gives(*pidfd, -EPERM)) ? 0 : 1;
}

TEST(another_user_s_process_is_EPERM)
{
	int pidfd = open_pidfd(1);

	ASSERT_LE(0, pidfd);
	EXPECT_TRUE(child_succeeds(is_refused_by_uid, &pidfd));
}

static int hides(struct procmap_child *child, void *arg)
{
	if (!HOLDS(!procmap_drop_root()) || !HOLDS(!prctl(PR_SET_DUMPABLE, 1)) ||
	    !HOLDS(!procmap_send(child, 0)) || !HOLDS(!procmap_sync(child)) ||
	    !HOLDS(!prctl(PR_SET_DUMPABLE, 0)) || !HOLDS(!procmap_send(child, 0)))
		return 1;
	return procmap_sync(child) ? 1 : 0;
}

static int is_refused_when_hidden(struct procmap_child *child, void *arg)
{
	struct procmap_child target;
	int pidfd, ret;

	if (!HOLDS(!procmap_drop_root()) ||
	    !HOLDS(!procmap_child_start(&target, hides, NULL)) || !HOLDS(!procmap_sync(&target)))
		return 1;
	pidfd = open_pidfd(target.pid);
	ret = HOLDS(pidfd_gives(pidfd, SECRET)) && HOLDS(!procmap_send(&target, 0)) &&
	      HOLDS(!procmap_sync(&target)) && HOLDS(read_secret(target.pid, 0) == -EPERM) &&
	      HOLDS(pidfd_gives(pidfd, -EPERM)) ? 0 : 1;
	return procmap_child_finish(&target) ? 1 : ret;
}

TEST(a_process_that_is_not_dumpable_is_EPERM)
{
	EXPECT_TRUE(child_succeeds(is_refused_when_hidden, NULL));
}

TEST(a_kernel_thread_has_no_memory)
{
	int pidfd = open_pidfd(2);

	ASSERT_LE(0, pidfd);
	EXPECT_EQ(-ESRCH, read_secret(2, 0));
	EXPECT_EQ(-ESRCH, read_secret(2, PROCESS_VM_NOWAIT));
	EXPECT_TRUE(pidfd_gives(pidfd, -ESRCH));
}

TEST_HARNESS_MAIN
