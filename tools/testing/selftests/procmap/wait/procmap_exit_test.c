// SPDX-License-Identifier: GPL-2.0
/*
 * Processes end while readers of every kind look at them. Each process must
 * tear down its address space itself, whatever it has to wait for. All of its
 * memory must come back.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/aio_abi.h>
#include <linux/process_vm.h>

#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

#define NR_KINDS	7
#define NR_HANGING	60
#define NR_ENDS		1000
/* How many processes end before memory is counted the first time, to fill the caches */
#define NR_WARM_UP	300
/* How often each reader looks at a process before it is killed */
#define LOOKS		2
#define LARGE		(128UL << 20)
#define BLOCK		4096
/*
 * After all ends this much may be missing, and less than each would leave after
 * that is never torn down: a struct mm_struct and a page table.
 */
#define MAX_LEFT_KB	4096
#define NEVER_KB	(32 * 1024)

static const struct fuse_server_file server_files[] = {
	{ .size = 16 * BLOCK },
};

/**
 * struct readers - processes that look at a process that they are shown
 * @maps: descriptor of a maps file; always open, but not always of one process
 * @pid: the process that they look at
 * @addr: a mapped address of this process
 * @stop: the readers must end
 * @calls: how many calls each reader has made
 * @answers: how many calls had an answer, and found the process
 * @illegal: a result that no reader may get; 0 if there was none
 * @processes: one for each of reader_kinds[]
 * @nr: number of @processes
 *
 * All of them share the memory of this struct. Readers also share the
 * descriptors of the test, but no other memory: each fork() would have to take
 * it away from them.
 */
struct readers {
	int maps;
	pid_t pid;
	unsigned long addr;
	bool stop;
	unsigned long calls[NR_KINDS];
	unsigned long answers;
	int illegal;
	pid_t processes[NR_KINDS];
	unsigned int nr;
};

/* What else a reader may get of a process that ends: no answer, as -ESRCH. */
static int gone_or(int ret, int legal)
{
	return ret == legal ? -ESRCH : ret;
}

static int asks(const struct readers *readers, __u64 flags, bool all)
{
	struct procmap_call call;

	procmap_call_init(&call, readers->addr, flags);
	if (!all) {
		call.q.vma_name_size = 0;
		call.q.vma_name_addr = 0;
		call.q.build_id_size = 0;
		call.q.build_id_addr = 0;
	}
	return procmap_call(readers->maps, &call);
}

static int asks_covering(const struct readers *readers)
{
	return asks(readers, 0, false);
}

static int asks_next(const struct readers *readers)
{
	return asks(readers, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, false);
}

static int asks_for_all(const struct readers *readers)
{
	return asks(readers, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, true);
}

/* Use a filter that nothing matches, for a walk over everything. */
static int walks(const struct readers *readers)
{
	int ret = asks(readers, PROCMAP_FLAGS, false);

	return ret == -ENOENT ? 0 : ret;
}

static int reads_text(const struct readers *readers)
{
	char space[BLOCK];

	ssize_t got = pread(readers->maps, space, sizeof(space), 0);

	if (got < 0)
		return -errno;
	return got ? 0 : -ESRCH;
}

static int opens(const struct readers *readers)
{
	int fd = maps_open(__atomic_load_n(&readers->pid, __ATOMIC_RELAXED));

	if (fd < 0)
		return gone_or(fd, fd == -EACCES ? fd : -ENOENT);
	close(fd);
	return 0;
}

static int peeks(const struct readers *readers)
{
	char byte[64];
	struct iovec local = { byte, sizeof(byte) };
	struct iovec remote = { (void *)readers->addr, sizeof(byte) };
	pid_t pid = __atomic_load_n(&readers->pid, __ATOMIC_RELAXED);
	int ret = process_vm_readv(pid, &local, 1, &remote, 1, PROCESS_VM_NOWAIT);

	return ret >= 0 ? 0 : gone_or(-errno, errno == EAGAIN ? -EAGAIN : -EFAULT);
}

static int (*const reader_kinds[NR_KINDS])(const struct readers *readers) = {
	asks_covering, asks_next, asks_for_all, walks, reads_text, opens, peeks,
};

static void reads(struct readers *readers, unsigned int kind)
{
	/* A reader that is preempted inside a call holds the process for long. */
	(void)!nice(10);
	while (!__atomic_load_n(&readers->stop, __ATOMIC_RELAXED)) {
		int ret = reader_kinds[kind](readers);

		__atomic_add_fetch(&readers->calls[kind], 1, __ATOMIC_RELAXED);
		if (!ret)
			__atomic_add_fetch(&readers->answers, 1, __ATOMIC_RELAXED);
		else if (ret != -ESRCH)
			__atomic_store_n(&readers->illegal, ret, __ATOMIC_RELAXED);
	}
}

static unsigned long calls_of(const struct readers *readers, unsigned int reader)
{
	return __atomic_load_n(&readers->calls[reader], __ATOMIC_RELAXED);
}

/*
 * Wait until each reader has made so many calls more. Returns how many readers
 * do not come back from one.
 */
static unsigned int stuck_readers(const struct readers *readers, unsigned int calls)
{
	unsigned long before[NR_KINDS];
	unsigned int i, stuck = 0;

	for (i = 0; i < readers->nr; i++)
		before[i] = calls_of(readers, i);
	for (i = 0; i < readers->nr && !stuck; i++)
		if (!UNTIL(calls_of(readers, i) >= before[i] + calls))
			stuck = readers->nr - i;
	return stuck;
}

static unsigned long all_calls(const struct readers *readers)
{
	unsigned long calls = 0;
	unsigned int i;

	for (i = 0; i < NR_KINDS; i++)
		calls += calls_of(readers, i);
	return calls;
}

/* Readers look at the test itself until they are shown another process. */
static int start_readers(struct readers *readers)
{
	unsigned int i;

	readers->maps = maps_open(0);
	readers->pid = getpid();
	readers->addr = (unsigned long)&server_files;
	for (i = 0; readers->maps >= 0 && i < NR_KINDS; i++) {
		pid_t pid = stall_fork_files();

		if (!pid) {
			reads(readers, i);
			_exit(0);
		}
		if (pid < 0)
			return -errno;
		readers->processes[readers->nr++] = pid;
	}
	return readers->maps < 0 ? readers->maps : 0;
}

static void stop_readers(struct readers *readers)
{
	__atomic_store_n(&readers->stop, true, __ATOMIC_RELAXED);
	while (readers->nr)
		waitpid(readers->processes[--readers->nr], NULL, 0);
	close(readers->maps);
}

/* Show a child to the readers in place of the process before. It has the same addresses. */
static int show(struct readers *readers, pid_t pid)
{
	__atomic_store_n(&readers->pid, pid, __ATOMIC_RELAXED);
	return stall_show(readers->maps, pid);
}

static long memory_kb(const char *key)
{
	return procmap_value("/proc/meminfo", key);
}

/* Returns how much memory is in use for good. Empties per-CPU lists and caches first. */
static long used_kb(void)
{
	if (procmap_write(AT_FDCWD, "/proc/sys/vm/drop_caches", "3") ||
	    procmap_write(AT_FDCWD, "/proc/sys/vm/compact_memory", "1"))
		fprintf(stderr, "# drop_caches, compact_memory: %m\n");
	return memory_kb("MemTotal:") - memory_kb("MemFree:") - memory_kb("Buffers:") -
	       memory_kb("Cached:");
}

/* Wait until no more than @kb is in use. Returns what is in use then. */
static long settles(long kb)
{
	long now;

	UNTIL((now = used_kb()) <= kb);
	return now;
}

/* Submit a read that the server does not answer, for the calling process. */
static int submit_read(int fd)
{
	static char buffer[2 * BLOCK];
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = fd,
		.aio_buf = ((unsigned long)buffer + BLOCK - 1) & ~(BLOCK - 1UL),
		.aio_nbytes = BLOCK,
	};
	struct iocb *cbs[] = { &cb };
	aio_context_t context = 0;

	if (syscall(__NR_io_setup, 1, &context))
		return -errno;
	return syscall(__NR_io_submit, context, 1, cbs) == 1 ? 0 : -errno;
}

static int reads_asynchronously(struct procmap_child *child, void *arg)
{
	if (!HOLDS(!submit_read(*(int *)arg)) || !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		pause();
}

static int has_much(struct procmap_child *child, void *arg)
{
	if (!HOLDS(mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED) ||
	    !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		pause();
}

PROCMAP_REQUIRE(fuse_server_lacking())

FIXTURE(ends) {
	struct readers *readers;
};

FIXTURE_SETUP(ends)
{
	self->readers = procmap_share(sizeof(*self->readers));
	ASSERT_NE(NULL, (void *)self->readers);
	ASSERT_EQ(0, start_readers(self->readers));
}

FIXTURE_TEARDOWN(ends)
{
	stop_readers(self->readers);
}

static int ends_once(struct readers *readers)
{
	pid_t pid = fork();
	int ret, status;

	if (!pid)
		for (;;)
			pause();
	ret = pid < 0 ? -errno : show(readers, pid);
	sched_yield();
	if (pid > 0 && (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid))
		return -errno;
	return ret;
}

/*
 * End @max processes, and more until the readers have had more answers than that.
 * Returns how many have ended, or -errno. Afterwards the readers look at the test
 * again, so that they hold nothing of the processes that are gone.
 */
static int end_many(struct readers *readers, int max)
{
	unsigned long before = __atomic_load_n(&readers->answers, __ATOMIC_RELAXED);
	int ret = 0, nr = 0;

	while (!ret && (nr < max ||
			__atomic_load_n(&readers->answers, __ATOMIC_RELAXED) <= before + nr)) {
		ret = ends_once(readers);
		nr++;
	}
	if (!ret)
		ret = show(readers, getpid());
	return ret ? ret : nr;
}

/*
 * A slow kernel is one with detectors. KASAN keeps freed memory for a while, up
 * to 1/32 of all memory. kmemleak tells at the end of the run what did not come
 * back.
 */
static long may_be_left_kb(void)
{
	return MAX_LEFT_KB + (stall_scaled(NR_ENDS) < NR_ENDS ? memory_kb("MemTotal:") / 32 : 0);
}

TEST_F(ends, all_memory_comes_back)
{
	long before, after, left = may_be_left_kb();
	int nr;

	if (geteuid())
		SKIP(return, "%s: needs root", _metadata->name);
	ASSERT_LT(0, end_many(self->readers, stall_scaled(NR_WARM_UP)));
	before = used_kb();
	nr = end_many(self->readers, stall_scaled(NR_ENDS));
	ASSERT_LT(0, nr);
	after = settles(before + left);
	fprintf(stderr, "# %d ends, %lu calls, %lu answers: %ld kB in use, %ld before\n", nr,
		all_calls(self->readers), self->readers->answers, after, before);
	EXPECT_GE(before + left, after);
	EXPECT_EQ(0, self->readers->illegal);
	EXPECT_LT(nr, self->readers->answers);
}

/*
 * struct exits - what every case has
 * @readers: they run all the time
 * @server: it does not answer reads
 * @file: a file of @server, for asynchronous reads
 * @hanging: processes that were killed and cannot end
 * @nr: number of @hanging
 */
FIXTURE(exits) {
	struct readers *readers;
	struct fuse_server server;
	int file;
	struct procmap_child hanging[NR_HANGING];
	unsigned int nr;
};

FIXTURE_SETUP(exits)
{
	ASSERT_EQ(0, stall_drop_root());
	ASSERT_EQ(0, fuse_server_start(&self->server, server_files,
				       ARRAY_SIZE(server_files), FUSE_ASYNC_DIO));
	self->file = fuse_server_open(&self->server, 0, O_RDONLY | O_DIRECT);
	ASSERT_LE(0, self->file);
	ASSERT_EQ(0, fuse_server_stall(&self->server, 0, FUSE_READ));
	self->readers = procmap_share(sizeof(*self->readers));
	ASSERT_NE(NULL, (void *)self->readers);
	ASSERT_EQ(0, start_readers(self->readers));
}

FIXTURE_TEARDOWN(exits)
{
	/* Stop the server first: a reader may wait for it, which is a failure. */
	fuse_server_stop(&self->server);
	stop_readers(self->readers);
	while (self->nr)
		procmap_child_wait(&self->hanging[--self->nr]);
}

/* Has a child that dies no user left? If it is dead, somebody else may be the last. */
static bool has_no_user(const struct readers *readers, pid_t pid)
{
	return asks_covering(readers) == -ESRCH || stall_is_dead(pid);
}

/* Kill a process whose read is under way, while all readers look at it. */
static int kill_a_hanging_one(struct fuse_server *server, int file, struct readers *readers,
			      struct procmap_child *child)
{
	int ret = procmap_child_start(child, reads_asynchronously, &file);

	if (!ret)
		ret = procmap_sync(child);
	if (!ret)
		ret = fuse_server_wait_held(server, 0, FUSE_READ);
	if (!ret)
		ret = show(readers, child->pid);
	if (!ret && stuck_readers(readers, LOOKS))
		ret = -ETIMEDOUT;
	if (ret)
		return ret;
	if (kill(child->pid, SIGKILL))
		return -errno;
	/* Let it die while the readers look at it. */
	return UNTIL(has_no_user(readers, child->pid)) ? 0 : -ETIMEDOUT;
}

/*
 * Wait until each waits for its read or is dead. Returns how many are dead: these
 * have left the wait for their read to somebody else.
 */
static unsigned int dead(const struct procmap_child *children, unsigned int nr)
{
	unsigned int i, nr_dead = 0;

	for (i = 0; i < nr; i++)
		nr_dead += !stall_hangs_dying(children[i].pid);
	return nr_dead;
}

/*
 * Returns how much memory is lost after a large process was killed while the
 * readers looked at it.
 */
static long lost_kb(struct readers *readers)
{
	long before = memory_kb("MemAvailable:"), lost;
	struct procmap_child child;

	if (procmap_child_start(&child, has_much, NULL) || procmap_sync(&child) ||
	    show(readers, child.pid) || stuck_readers(readers, LOOKS))
		return LONG_MAX;
	if (stall_kill(&child) != 256 + SIGKILL)
		return LONG_MAX;
	UNTIL((lost = before - memory_kb("MemAvailable:")) <= NEVER_KB);
	return lost;
}

TEST_F(exits, who_waits_for_its_reads_at_the_end_waits_itself)
{
	unsigned int nr_dead, max = stall_scaled(NR_HANGING);
	long lost;

	/* Else a reader is a user, as on the base kernel. */
	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	while (self->nr < max) {
		ASSERT_EQ(0, kill_a_hanging_one(&self->server, self->file, self->readers,
						&self->hanging[self->nr]));
		self->nr++;
	}
	lost = lost_kb(self->readers);
	nr_dead = dead(self->hanging, self->nr);
	fprintf(stderr, "# %u killed, %u left it to others; %lu calls, %lu answers; %ld kB lost\n",
		self->nr, nr_dead, all_calls(self->readers), self->readers->answers, lost);
	EXPECT_EQ(0, nr_dead);
	EXPECT_EQ(0, stuck_readers(self->readers, 1));
	EXPECT_GE(NEVER_KB, lost);
	EXPECT_EQ(0, self->readers->illegal);
	EXPECT_LT(0, self->readers->answers);
	/* Only the readers still use the last process. They must find that it has ended. */
	EXPECT_EQ(-ESRCH, asks_covering(self->readers));
}

TEST_HARNESS_MAIN
