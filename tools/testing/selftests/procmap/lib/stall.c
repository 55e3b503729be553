// SPDX-License-Identifier: GPL-2.0
/* Find stuck threads, and wait for what others do: see stall.h. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

#define DEV_FUSE	"/dev/fuse"
#define MAX_MAP_COUNT	"/proc/sys/vm/max_map_count"

/*
 * A thread that is found asleep in the same call this many times waits there.
 * One look would do: tests look for threads that have nothing else to wait for.
 */
#define STUCK_LOOKS	5

/* As many VMAs as a process may have on a kernel with detectors. */
#define VMAS_SLOW	2000
/* What a kernel with detectors has as VM_TIMEOUT_SCALE, at least. */
#define SLOW_DETECTORS	4

static bool comes(const struct procmap_child *child, int timeout_ms)
{
	struct pollfd fd = { .fd = child->sock, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

/*
 * Wait until a child ends or sends something. Returns true once it does; false
 * after PROCMAP_HANG_MS.
 */
bool stall_comes(const struct procmap_child *child)
{
	return comes(child, PROCMAP_HANG_MS);
}

bool stall_has_come(const struct procmap_child *child)
{
	return comes(child, 0);
}

/* Wait for the end of a child. Returns as procmap_child_wait(), or -ETIMEDOUT. */
int stall_wait(struct procmap_child *child)
{
	return stall_comes(child) ? procmap_child_wait(child) : -ETIMEDOUT;
}

/* Kill a child. Returns as stall_wait(): 256 + SIGKILL if all went well. */
int stall_kill(struct procmap_child *child)
{
	return kill(child->pid, SIGKILL) ? -errno : stall_wait(child);
}

static int hogs(struct procmap_child *child, void *arg)
{
	if (!HOLDS(!procmap_pin(0)) || !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		;
}

/* Start a child that takes all of the first processor that others leave. */
int stall_start_hog(struct procmap_child *child)
{
	int ret = procmap_child_start(child, hogs, NULL);

	return ret ? ret : procmap_sync(child);
}

/* From now on run only when nobody else wants the processor. */
int stall_idle(void)
{
	const struct sched_param param = { 0 };

	return sched_setscheduler(0, SCHED_IDLE, &param) ? -errno : 0;
}

/* Fork a child that shares the descriptors, and dies with its parent. Returns as fork(). */
pid_t stall_fork_files(void)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = syscall(__NR_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
	return pid;
}

/* Let a descriptor of a maps file be that of another process. */
int stall_show(int maps, pid_t pid)
{
	int other = maps_open(pid), ret;

	if (other < 0)
		return other;
	ret = dup3(other, maps, O_CLOEXEC) < 0 ? -errno : 0;
	close(other);
	return ret;
}

/*
 * Get the state of a thread. Returns the letter in the status file; 0: the
 * thread is gone.
 *
 * It reads the status file, because the stat file blocks during execve(). Not
 * for a process that dies and still has its address space: see stall_is_dead().
 */
char stall_state_of(pid_t pid, pid_t tid)
{
	char path[64], line[256], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	file = fopen(path, "r");
	while (file && !state && fgets(line, sizeof(line), file))
		sscanf(line, "State: %c", &state);
	if (file)
		fclose(file);
	return state;
}

/*
 * Get the system call that a thread sleeps in, with arguments and addresses.
 * Returns false if the thread runs or is gone.
 */
static bool sleeps_in(pid_t pid, pid_t tid, char *call, size_t size)
{
	char path[64];
	FILE *file;
	bool got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fgets(call, size, file) && strcmp(call, "running\n");
	fclose(file);
	return got;
}

/* Does a thread sleep in this system call? Not for one in execve(): this waits for it. */
bool stall_sleeps_in_call(pid_t pid, pid_t tid, long nr)
{
	char call[256];

	return sleeps_in(pid, tid, call, sizeof(call)) && strtol(call, NULL, 10) == nr;
}

/* Count the looks at which a thread sleeps in the call of the looks before. */
static bool sleeps_long(pid_t pid, pid_t tid, char *before, size_t size, int *same)
{
	char call[256];

	if (!sleeps_in(pid, tid, call, sizeof(call)))
		return false;
	*same = strcmp(call, before) ? 1 : *same + 1;
	snprintf(before, size, "%s", call);
	return *same >= STUCK_LOOKS;
}

/*
 * Wait until a thread waits in the kernel for good. Returns true once it does;
 * false after PROCMAP_HANG_MS.
 *
 * It sleeps uninterruptibly, or killably, in one system call or fault. Between
 * the looks it may run: a query looks now and then whether its writer is done.
 */
bool stall_gets_stuck(pid_t pid, pid_t tid)
{
	char before[256] = "";
	int same = 0;

	return UNTIL(stall_state_of(pid, tid) == 'D' &&
		     sleeps_long(pid, tid, before, sizeof(before), &same));
}

/* Tell a child to go on, and wait until it waits in the kernel for good. */
int stall_send_stuck(struct procmap_child *child)
{
	int ret = procmap_send(child, 0);

	if (ret)
		return ret;
	return stall_gets_stuck(child->pid, child->pid) ? 0 : -EDEADLK;
}

/*
 * Is a child a zombie?
 * @pid: a child of the caller, not waited for yet
 *
 * A caller that reads the stat file of a dying process may have to tear down
 * the address space of that process. waitid() does not touch it.
 */
bool stall_is_dead(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/* Count the looks in a row at which a thread sleeps uninterruptibly. */
static bool stays_asleep(pid_t pid, int *asleep)
{
	*asleep = stall_state_of(pid, pid) == 'D' ? *asleep + 1 : 0;
	return *asleep >= STUCK_LOOKS;
}

/*
 * Wait until a child that dies waits for good, or is dead. Returns true if it
 * waits; false if it is dead, or after PROCMAP_HANG_MS.
 * @pid: a child of the caller, not waited for yet. Nobody uses its address
 *	space any more, so that a look at its state does not either.
 */
bool stall_hangs_dying(pid_t pid)
{
	int asleep = 0;

	return UNTIL(stall_is_dead(pid) || stays_asleep(pid, &asleep)) && !stall_is_dead(pid);
}

/* Get a counter of /proc/vmstat. Returns the number; -1 if this kernel does not count that. */
long stall_count(const char *name)
{
	return procmap_value("/proc/vmstat", name);
}

/*
 * Has this kernel per-VMA locks (CONFIG_VMA_SEARCH)? Without them queries take
 * mmap_lock, and scans have no generation.
 */
bool stall_has_vma_locks(void)
{
	return stall_count("vma_search") >= 0;
}

/* Read the monotonic clock. Returns the time in nanoseconds. */
__u64 stall_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/*
 * Open the smaps file of a process. Returns the descriptor or -errno.
 *
 * Unlike the text of the maps file, each read of it takes mmap_lock of the
 * process. So it shows whether somebody holds mmap_lock, or queues for it.
 */
int stall_smaps_open(pid_t pid)
{
	return procmap_open(pid, "smaps");
}

static unsigned int slowness(void)
{
	const char *text = getenv("VM_TIMEOUT_SCALE");

	return text ? atoi(text) : 1;
}

/*
 * Reduce an amount of work on a slow kernel. Returns @nr, or less on a slow
 * kernel.
 *
 * VM_TIMEOUT_SCALE is the factor by which this kernel is slower. The time
 * limits are longer by this factor only, and the waits are longer, too. So the
 * function divides @nr by the square of the factor.
 */
unsigned int stall_scaled(unsigned int nr)
{
	const unsigned int scale = slowness();

	return scale > 1 ? nr / (scale * scale) + 1 : nr;
}

/*
 * Reduce a number of VMAs on a debug kernel. Returns @nr, or at most VMAS_SLOW
 * on a debug kernel.
 *
 * A debug kernel may look at all VMAs of a process each time one changes.
 */
unsigned int stall_vmas(unsigned int nr)
{
	return slowness() >= SLOW_DETECTORS && nr > VMAS_SLOW ? VMAS_SLOW : nr;
}

/*
 * A function of a child that maps many VMAs, sends their number, and waits. Each
 * second page of a mapping has another protection.
 * @arg: how many VMAs, an unsigned int
 */
int stall_maps_many(struct procmap_child *child, void *arg)
{
	const unsigned int vmas = *(unsigned int *)arg;
	const size_t page = sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, vmas * page, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int i;

	if (!HOLDS(base != MAP_FAILED))
		return 1;
	for (i = 0; i < vmas; i += 2)
		if (!HOLDS(!mprotect(base + i * page, page, PROT_READ)))
			return 1;
	return procmap_tell(child, vmas);
}

/*
 * Set how many VMAs a process may have. Returns the limit that there was, or 0 on
 * failure.
 * @wanted: the new limit; 0: leave it
 */
unsigned long stall_map_limit(unsigned long wanted)
{
	const long limit = procmap_value(MAX_MAP_COUNT, NULL);

	if (limit < 0 || (wanted && procmap_write_number(AT_FDCWD, MAX_MAP_COUNT, wanted)))
		return 0;
	return limit;
}

/*
 * Let everybody open /dev/fuse, as udev does, but only for this process and its
 * children: mount a device with the same number and mode 0666 over it.
 */
static int open_fuse_to_all(void)
{
	/* Not in /tmp, which may be mounted with nodev. */
	char dir[] = "/dev/stall.XXXXXX", path[sizeof(dir) + 8];
	struct stat st;
	int ret = 0;

	if (stat(DEV_FUSE, &st) || !mkdtemp(dir))
		return -errno;
	snprintf(path, sizeof(path), "%s/fuse", dir);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mknod(path, S_IFCHR | 0666, st.st_rdev) || chmod(path, 0666) ||
	    mount(path, DEV_FUSE, NULL, MS_BIND, NULL))
		ret = -errno;
	unlink(path);
	rmdir(dir);
	return ret;
}

/*
 * Turn root into an ordinary user that may mount FUSE.
 *
 * The user may mount FUSE in a user namespace. A caller that is not root stays
 * what it is. The caller may still look at its children.
 */
int stall_drop_root(void)
{
	int ret;

	if (geteuid())
		return 0;
	ret = open_fuse_to_all();
	if (!ret)
		ret = procmap_drop_root();
	/*
	 * After a change of user only root may look at the process and its
	 * children, unless the process sets its dumpable flag.
	 */
	return ret || !prctl(PR_SET_DUMPABLE, 1) ? ret : -errno;
}

/*
 * Query for everything but the build ID. Returns as procmap_call().
 *
 * The build ID is left out because the kernel reads it from the file.
 */
int stall_ask(int maps, __u64 addr, __u64 flags, struct procmap_call *call)
{
	procmap_call_init(call, addr, flags);
	call->q.build_id_size = 0;
	call->q.build_id_addr = 0;
	return procmap_call(maps, call);
}
