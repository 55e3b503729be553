// SPDX-License-Identifier: GPL-2.0
/* Target processes in every state: see fuzz.h. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../kselftest.h"
#include "fuzz.h"
#include "scan.h"

/*
 * A new process that can die takes a while to make, so it lasts for many calls.
 * This many percent of them kill it.
 */
#define CALLS_PER_LIFE	200
#define PERCENT_KILL	3
/* Calls per image of a process that calls execve(). */
#define CALLS_PER_IMAGE	16
/* Calls per descriptor of a zombie's maps. */
#define CALLS_PER_OPEN	200

static __u8 ids[FUZZ_MAX_LINES][1 + FUZZ_ID_ROOM];
static struct procmap_record records[FUZZ_MAX_LINES];

/* Deny access after the test has read the text. Root may always look: see other_user(). */
static int hides(struct procmap_child *child, void *arg)
{
	if (procmap_sync(child) || prctl(PR_SET_DUMPABLE, geteuid() == 0) ||
	    procmap_send(child, 0))
		return 1;
	return procmap_waits(child, arg);
}

static int execs(struct procmap_child *child, void *arg)
{
	fuzz_exec_loop();
	return 127;
}

/* Execute this program again, which calls this again. */
void fuzz_exec_loop(void)
{
	execl("/proc/self/exe", "procmap_fuzz", "--exec-loop", NULL);
}

static int vforked(void *arg)
{
	struct procmap_child *child = arg;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || procmap_send(child, getpid()))
		_exit(1);
	_exit(procmap_sync(child) ? 1 : 0);
}

/* Sleep in vfork() while the child uses this memory. */
static int vforks(struct procmap_child *child, void *arg)
{
	static char stack[32768];
	int status;
	pid_t pid = clone(vforked, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, child);

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : 1;
}

/* The child is the first process of a PID namespace. The namespace does not know its owner. */
static int unshares(struct procmap_child *child, void *arg)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)) {
		procmap_send(child, -errno);
		return 1;
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(procmap_waits(child, arg));
	}
	procmap_send(child, pid);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : 1;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_all(struct fuzz_target *target)
{
	close_fd(&target->maps);
	close_fd(&target->mem);
	close_fd(&target->pidfd);
}

static int open_all(struct fuzz_target *target)
{
	char path[64];

	close_all(target);
	snprintf(path, sizeof(path), "/proc/%d/mem", target->pid);
	target->maps = maps_open(target->pid);
	target->mem = open(path, O_RDWR | O_CLOEXEC);
	target->pidfd = syscall(SYS_pidfd_open, target->pid, 0);
	if (target->maps < 0)
		return target->maps;
	return target->pidfd < 0 ? -errno : 0;
}

/* Read the build IDs by plain queries. Other tests compare these with the files. */
static int read_ids(struct fuzz_target *target)
{
	struct procmap_call call;
	size_t i;
	int ret;

	if (target->text.nr > FUZZ_MAX_LINES)
		return -E2BIG;
	target->ids = ids;
	for (i = 0; i < target->text.nr; i++) {
		ret = procmap_ask(target->maps, target->text.vma[i].start, 0, &call);
		if (ret)
			return ret;
		ids[i][0] = call.q.build_id_size;
		memcpy(ids[i] + 1, call.build_id, call.q.build_id_size);
	}
	return 0;
}

/*
 * Read by a plain scan what neither the text nor a query tells. Other tests
 * compare this with other sources. It must stay the same in each call.
 */
static int read_records(struct fuzz_target *target)
{
	int ret;

	target->records = records;
	target->scan = (struct procmap_scan) {
		.size = sizeof(target->scan),
		.records = (unsigned long)records,
		.records_len = FUZZ_MAX_LINES,
		.record_size = sizeof(records[0]),
	};
	ret = scan_ioctl(target->maps, &target->scan);
	if (ret)
		return ret;
	return target->scan.records_filled == target->text.nr ? 0 : -EUCLEAN;
}

/* Open the files of the target, and read all that is known about it. */
static int look_at(struct fuzz_target *target, pid_t pid, bool has_arena)
{
	target->pid = pid;
	target->has_arena = has_arena;
	maps_text_free(&target->text);
	return open_all(target) ?: maps_text_read(target->maps, &target->text) ?:
	       read_ids(target) ?: read_records(target);
}

/* Start a child that waits, and read its text. */
static int start_waiting(struct fuzz_target *target,
			 int (*fn)(struct procmap_child *child, void *arg))
{
	return procmap_child_start(&target->child, fn, NULL) ?:
	       look_at(target, target->child.pid, true);
}

/* Start a child that names another process, which becomes the target. */
static int start_other(struct fuzz_target *target,
		       int (*fn)(struct procmap_child *child, void *arg))
{
	__u64 pid = 0;
	int ret = procmap_child_start(&target->child, fn, NULL) ?:
		  procmap_recv(&target->child, &pid);

	if (!ret && (pid_t)pid < 0)
		ret = pid;
	return ret ?: look_at(target, pid, true);
}

static int self(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	return look_at(target, getpid(), true);
}

static int other_size(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	const char *name = sizeof(long) == 8 ? "procmap_target_32" : "procmap_target";

	return procmap_child_exec(&target->child, name) ?: procmap_sync(&target->child) ?:
	       look_at(target, target->child.pid, false);
}

static int zombie(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	siginfo_t info;
	int ret = start_waiting(target, fn);

	if (ret)
		return ret;
	target->life = FUZZ_DEAD;
	target->left = CALLS_PER_OPEN;
	if (procmap_send(&target->child, 0) ||
	    waitid(P_PID, target->pid, &info, WEXITED | WNOWAIT))
		return -errno;
	return 0;
}

static int reaped(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	int ret = start_waiting(target, fn) ?: procmap_child_finish(&target->child);

	target->life = FUZZ_DEAD;
	target->child.pid = 0;
	return ret;
}

static int dying(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	int ret = start_waiting(target, fn);

	target->life = FUZZ_DYING;
	target->left = CALLS_PER_LIFE;
	return ret;
}

static int execing(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	int ret = procmap_child_start(&target->child, fn, NULL);

	if (ret)
		return ret;
	target->pid = target->child.pid;
	target->life = FUZZ_EXECING;
	target->left = CALLS_PER_IMAGE;
	return open_all(target);
}

/* The first kernel thread, if this PID namespace has any. */
static int kernel_thread(struct fuzz_target *target,
			 int (*fn)(struct procmap_child *child, void *arg))
{
	target->pid = 2;
	target->life = FUZZ_DEAD;
	return open_all(target);
}

static int other_user(struct fuzz_target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	target->denied = true;
	return start_waiting(target, fn) ?: procmap_send(&target->child, 0) ?:
	       procmap_sync(&target->child) ?: procmap_drop_root() ?:
	       prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* All states, up to one without a name; the first one is the plainest. */
const struct fuzz_state fuzz_states[] = {
	{ "running", start_waiting, procmap_waits },
	{ "self", self, NULL },
	{ "zombie", zombie, procmap_waits },
	{ "reaped", reaped, procmap_waits },
	{ "dying", dying, procmap_waits },
	{ "execing", execing, execs },
	{ "kernel_thread", kernel_thread, NULL },
	{ "vfork_child", start_other, vforks },
	{ "other_user", other_user, hides },
	{ "namespaces", start_other, unshares },
#ifdef PROCMAP_BOTH_SIZES
	{ "other_word_size", other_size, NULL },
#endif
	{ }
};

/*
 * Start a target in some state.
 * @fuzz: the worker; out: @fuzz->target
 */
int fuzz_target_start(struct fuzz *fuzz, const struct fuzz_state *state)
{
	fuzz->target = (struct fuzz_target) { .maps = -1, .mem = -1, .pidfd = -1 };
	return state->start(&fuzz->target, state->fn);
}

/* Kill the target at some time. Replace it when its calls are over, even if it lives. */
static int next_life(struct fuzz *fuzz)
{
	struct fuzz_target *target = &fuzz->target;

	if (target->left) {
		if (fuzz_chance(fuzz, PERCENT_KILL))
			kill(target->pid, SIGKILL);
		return 0;
	}
	procmap_child_kill(&target->child);
	fuzz_arena_reset(&fuzz->remote);
	return dying(target, procmap_waits);
}

int fuzz_target_next(struct fuzz *fuzz)
{
	struct fuzz_target *target = &fuzz->target;

	/*
	 * A bad address below the caller's own stack makes the kernel try to
	 * grow it. This may count as a change, even if it fails.
	 */
	if (target->pid == getpid())
		return read_records(target);
	if (target->life == FUZZ_ALIVE || !target->left)
		return 0;
	target->left--;
	if (target->life == FUZZ_DYING)
		return next_life(fuzz);
	if (target->left)
		return 0;
	/* The first image may be gone before anything has read its text. */
	if (target->life == FUZZ_EXECING) {
		target->left = CALLS_PER_IMAGE;
		return open_all(target);
	}
	target->left = CALLS_PER_OPEN;
	close_fd(&target->maps);
	target->maps = maps_open(target->pid);
	return target->maps < 0 ? target->maps : 0;
}

void fuzz_target_stop(struct fuzz *fuzz)
{
	struct fuzz_target *target = &fuzz->target;

	close_all(target);
	if (target->child.pid)
		procmap_child_kill(&target->child);
	maps_text_free(&target->text);
}

/*
 * Can this machine have a target in this state? Returns false if the machine
 * lacks what the state needs.
 */
bool fuzz_target_is_there(const struct fuzz_state *state)
{
	char name[32] = "";
	int fd;

	if (state->start != kernel_thread)
		return true;
	fd = open("/proc/2/comm", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return !strcmp(name, "kthreadd\n");
}
