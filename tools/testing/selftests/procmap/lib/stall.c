// SPDX-License-Identifier: GPL-2.0
/* Find stuck threads, and check what happens in time: see stall.h. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

#define DEV_FUSE	"/dev/fuse"

/* A thread that is found waiting this many times in a row waits for good. */
#define STUCK_LOOKS	20
#define LOOK_US		10000

/* As many VMAs as a process may have on a kernel with detectors. */
#define VMAS_SLOW	2000
/* What a kernel with detectors has as VM_TIMEOUT_SCALE, at least. */
#define SLOW_DETECTORS	4

/**
 * stall_comes() - does a child end, or send something, within this time?
 * @child: the child
 * @timeout_ms: the time
 *
 * Return: true if it does.
 */
bool stall_comes(const struct procmap_child *child, int timeout_ms)
{
	struct pollfd fd = { .fd = child->sock, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

/**
 * stall_state_of() - get the state of a thread, the third word of its stat file
 * @pid: the process
 * @tid: the thread
 *
 * Not for a process that dies: see stall_is_dead().
 *
 * Return: the letter of the state; 0 if the thread is gone.
 */
char stall_state_of(pid_t pid, pid_t tid)
{
	char path[64], line[256], *paren;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	paren = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return paren ? paren[2] : 0;
}

/**
 * stall_gets_stuck() - wait until a thread waits in the kernel for good
 * @pid: the process
 * @tid: the thread
 *
 * Return: true once it does; false if it does not within SOON_MS.
 */
bool stall_gets_stuck(pid_t pid, pid_t tid)
{
	int waited, stuck = 0;

	for (waited = 0; waited < SOON_MS * 1000 && stuck < STUCK_LOOKS; waited += LOOK_US) {
		stuck = stall_state_of(pid, tid) == 'D' ? stuck + 1 : 0;
		usleep(LOOK_US);
	}
	return stuck == STUCK_LOOKS;
}

/**
 * stall_is_dead() - is a child a zombie?
 * @pid: a child of the caller, not waited for yet
 *
 * A caller that reads the stat file of a dying process may have to tear down
 * the address space of that process. waitid() does not touch it.
 *
 * Return: true if it is.
 */
bool stall_is_dead(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/**
 * stall_count() - get a counter of /proc/vmstat
 * @name: its name
 *
 * Return: the number; -1 if this kernel does not count that.
 */
long stall_count(const char *name)
{
	FILE *file = fopen("/proc/vmstat", "r");
	char line[128], key[64];
	long count, found = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %ld", key, &count) == 2 && !strcmp(key, name)) {
			found = count;
			break;
		}
	}
	if (file)
		fclose(file);
	return found;
}

/**
 * stall_now_ns() - read the monotonic clock
 *
 * Return: the time in nanoseconds.
 */
__u64 stall_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/**
 * stall_smaps_open() - open the smaps file of a process
 * @pid: the process
 *
 * Unlike the text of the maps file, each read of it takes mmap_lock of the
 * process. So it shows whether somebody holds mmap_lock, or queues for it.
 *
 * Return: the descriptor or -errno.
 */
int stall_smaps_open(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/**
 * stall_read_all() - read a file from its position to its end
 * @fd: the file
 * @room: gets the contents, with a NUL behind it
 * @size: size of @room
 *
 * Return: the number of bytes, or -errno; -EFBIG: @room is too small.
 */
ssize_t stall_read_all(int fd, char *room, size_t size)
{
	size_t len = 0;
	ssize_t got;

	do {
		got = read(fd, room + len, size - len);
		if (got < 0)
			return -errno;
		len += got;
	} while (got && len < size);
	if (len == size)
		return -EFBIG;
	room[len] = '\0';
	return len;
}

static unsigned int slowness(void)
{
	const char *text = getenv("VM_TIMEOUT_SCALE");

	return text ? atoi(text) : 1;
}

/**
 * stall_scaled() - reduce an amount of work on a slow kernel
 * @nr: the amount for a kernel without detectors
 *
 * VM_TIMEOUT_SCALE is the factor by which this kernel is slower. The time
 * limits are longer by this factor only, and the waits are longer, too. So the
 * function divides @nr by the square of the factor.
 *
 * Return: @nr, or less on a slow kernel.
 */
unsigned int stall_scaled(unsigned int nr)
{
	const unsigned int scale = slowness();

	return scale > 1 ? nr / (scale * scale) + 1 : nr;
}

/**
 * stall_vmas() - reduce a number of VMAs on a debug kernel
 * @nr: the number for a kernel without detectors
 *
 * A debug kernel may look at all VMAs of a process each time one changes.
 *
 * Return: @nr, or at most VMAS_SLOW on a debug kernel.
 */
unsigned int stall_vmas(unsigned int nr)
{
	return slowness() >= SLOW_DETECTORS && nr > VMAS_SLOW ? VMAS_SLOW : nr;
}

/*
 * Let everybody open /dev/fuse, as udev does, but only for this process and its
 * children: mount a device with the same number and mode 0666 over it.
 */
static int open_fuse_to_all(void)
{
	char dir[] = "/tmp/stall.XXXXXX", path[sizeof(dir) + 8];
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

/**
 * stall_drop_root() - turn root into an ordinary user that may mount FUSE
 *
 * The user may mount FUSE in a user namespace. A caller that is not root stays
 * what it is. The caller may still look at its children.
 *
 * Return: 0 or -errno.
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

/**
 * stall_ask() - query for everything but the build ID
 * @maps: descriptor of a maps file
 * @addr: address to ask for
 * @flags: PROCMAP_QUERY_* bits
 * @call: gets the answer
 *
 * The build ID is left out because the kernel reads it from the file.
 *
 * Return: as procmap_call().
 */
int stall_ask(int maps, __u64 addr, __u64 flags, struct procmap_call *call)
{
	procmap_call_init(call, addr, flags);
	call->q.build_id_size = 0;
	call->q.build_id_addr = 0;
	return procmap_call(maps, call);
}
