// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes of procmap_bench in which an adversary keeps process_vm_readv()
 * waiting. They measure how long the call takes to return. A call that has not
 * returned at the end of the scene is killed and counted.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <linux/userfaultfd.h>
#include "bench.h"
#include "fuse_server.h"
#include "stall.h"

#define WAIT_NOWAIT	0x2		/* PROCESS_VM_NOWAIT of <linux/process_vm.h> */
#define WAIT_PLACES	64		/* far apart; more than a queue has space for */
#define WAIT_APART	0x80000ul
#define WAIT_HANG_MS	180000		/* what takes longer never comes */
#define WAIT_LOOK_MS	10		/* between two looks at the state of a thread */
#define WAIT_ROUNDS	3

enum wait_adversary {
	WAIT_RESIDENT,		/* none: the page is there */
	WAIT_FUSE_PAGE,		/* the server of a file page does not answer */
	WAIT_FUSE_QUEUE,	/* many such pages fill the queue for readahead */
	WAIT_USERFAULT,		/* nobody reads the userfaultfd of the page */
	WAIT_LOCKED,		/* a stalled read holds mmap_lock, a writer queues */
};

/* Memory shared with the processes of the scene. */
struct wait_shared {
	unsigned long at;	/* address to read in the victim */
	unsigned int places;	/* number of such addresses, WAIT_APART from one to the next */
	int err;		/* an illegal result of the caller */
	bool unmap;		/* the victim shall unmap something now */
	pid_t writer;		/* the thread that does, once it is about to */
	bool stop;		/* ends the caller */
	struct bench_hist took;	/* by its calls */
};

static struct wait_shared *shared;
static struct fuse_server server;
static struct procmap_child victim, caller;
static __u64 wait_word = BENCH_WORD;

/*
 * End everything that a scene has started. The end of the server ends all waits
 * for it. Only then can killed processes exit.
 */
void bench_wait_end(void)
{
	if (caller.pid > 0)
		kill(caller.pid, SIGKILL);
	if (victim.pid > 0)
		kill(victim.pid, SIGKILL);
	if (server.pid)
		fuse_server_stop(&server);
	if (caller.pid > 0)
		procmap_child_wait(&caller);
	if (victim.pid > 0)
		procmap_child_wait(&victim);
	caller.pid = 0;
	victim.pid = 0;
	memset(&server, 0, sizeof(server));
}

static void *victim_reads(void *at)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char byte;

	return pread(mem, &byte, 1, (unsigned long)at) == 1 ? at : NULL;
}

static void *victim_unmaps(void *at)
{
	while (!__atomic_load_n(&shared->unmap, __ATOMIC_RELAXED))
		usleep(WAIT_LOOK_MS * 1000);
	__atomic_store_n(&shared->writer, syscall(SYS_gettid), __ATOMIC_RELEASE);
	munmap(at, sysconf(_SC_PAGESIZE));
	return NULL;
}

/*
 * Soon one thread is stuck with mmap_lock held for reading, and another waits
 * to take it for writing. From then on, this process must neither map memory
 * nor need any new page.
 */
static int victim_lock(char *stalled)
{
	pthread_t thread;
	void *spare;
	int err;

	spare = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spare == MAP_FAILED)
		return -errno;
	err = -pthread_create(&thread, NULL, victim_unmaps, spare);
	return err ?: -pthread_create(&thread, NULL, victim_reads, stalled);
}

static int victim_userfault(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = procmap_uffd(at, page, UFFDIO_REGISTER_MODE_MISSING);

	shared->at = (unsigned long)at;
	return fd < 0 ? fd : 0;
}

static int victim_prepare(enum wait_adversary adversary, int file)
{
	char *map = NULL;

	if (file >= 0)
		map = mmap(NULL, WAIT_PLACES * WAIT_APART, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		return -errno;
	shared->at = (unsigned long)(map ?: (char *)&wait_word);
	shared->places = adversary == WAIT_FUSE_QUEUE ? WAIT_PLACES : 1;
	if (adversary == WAIT_USERFAULT)
		return victim_userfault();
	if (adversary == WAIT_LOCKED) {
		shared->at = (unsigned long)&wait_word;
		return victim_lock(map);
	}
	return 0;
}

/* Called in a child: the server does not end while the child holds its socket. */
static void leave_server(void)
{
	if (!server.pid)
		return;
	close(server.sock);
	close(server.mount);
}

static bool writer_waits(void)
{
	const pid_t writer = __atomic_load_n(&shared->writer, __ATOMIC_ACQUIRE);

	return writer && stall_sleeps_in_call(victim.pid, writer, SYS_munmap);
}

/* The writer must come when the reader holds the lock. */
static int victim_wait_locked(void)
{
	int err = fuse_server_wait_held(&server, 0, FUSE_READ);

	__atomic_store_n(&shared->unmap, true, __ATOMIC_RELAXED);
	return err ?: UNTIL(writer_waits()) ? 0 : -ETIMEDOUT;
}

/* What the victim does, with a file if that is not negative. */
struct victim_task {
	enum wait_adversary adversary;
	int file;
};

static int victim_main(struct procmap_child *child, void *arg)
{
	const struct victim_task *task = arg;

	leave_server();
	procmap_send(child, -victim_prepare(task->adversary, task->file));
	return procmap_sync(child);
}

static int victim_start(enum wait_adversary adversary, int file)
{
	struct victim_task task = { .adversary = adversary, .file = file };
	__u64 error = 0;
	int err = procmap_child_start(&victim, victim_main, &task) ?:
		  procmap_recv(&victim, &error) ?: -(int)error;

	return err || adversary != WAIT_LOCKED ? err : victim_wait_locked();
}

static long wait_read(unsigned long at, unsigned long flags, __u64 *word)
{
	struct iovec local = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec remote = { .iov_base = (void *)at, .iov_len = sizeof(*word) };

	return bench_call6(SYS_process_vm_readv, victim.pid, &local, 1, &remote, 1, flags);
}

/* Is this result legal if the page is not available without waiting? */
static bool wait_is_legal(const struct bench_row *row, long done, __u64 word)
{
	if (row->adversary == WAIT_RESIDENT || (row->adversary == WAIT_LOCKED && done >= 0))
		return done == sizeof(word) && word == BENCH_WORD;
	return done == (row->adversary == WAIT_LOCKED ? -EAGAIN : -EFAULT);
}

static int caller_main(struct procmap_child *child, void *arg)
{
	const struct bench_row *row = arg;
	unsigned long i = 0;
	__u64 word, began;
	long done;

	leave_server();
	do {
		word = 0;
		began = bench_clock();
		done = wait_read(shared->at + i++ % shared->places * WAIT_APART, row->flags, &word);
		bench_hist_add(&shared->took, bench_clock() - began - bench_overhead);
		if (!wait_is_legal(row, done, word)) {
			shared->err = done < 0 ? done : -EBADMSG;
			return 1;
		}
	} while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED));
	return 0;
}

/* Returns whether the caller ends. It does not if it sleeps in its call. */
static bool caller_ends(void)
{
	struct pollfd closed = { .fd = caller.sock, .events = POLLIN };
	int waited;

	for (waited = 0; waited < WAIT_HANG_MS; waited += WAIT_LOOK_MS) {
		if (stall_sleeps_in_call(caller.pid, caller.pid, SYS_process_vm_readv))
			return false;
		if (poll(&closed, 1, WAIT_LOOK_MS) == 1)
			return true;
	}
	return false;
}

/* Let the caller run for a while, for one call at least. If it waits then, it hangs. */
static int caller_run(const struct bench_row *row, struct bench_round *round)
{
	int err = procmap_child_start(&caller, caller_main, (void *)row);

	if (err)
		return err;
	usleep(bench_options.milliseconds * 1000);
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	round->hangs = !caller_ends();
	return round->hangs ? 0 : shared->err;
}

static int wait_stage(const struct bench_row *row)
{
	const struct fuse_server_file file = { .size = WAIT_PLACES * WAIT_APART };
	const bool fuse = row->adversary == WAIT_FUSE_PAGE || row->adversary == WAIT_LOCKED ||
			  row->adversary == WAIT_FUSE_QUEUE;
	int fd = -1, err = 0;

	memset(shared, 0, sizeof(*shared));
	if (fuse) {
		err = fuse_server_start(&server, &file, 1, 0);
		if (err)
			memset(&server, 0, sizeof(server));
	}
	if (fuse && !err) {
		fd = fuse_server_open(&server, 0, O_RDONLY);
		err = fd < 0 ? fd : fuse_server_stall(&server, 0, FUSE_READ);
	}
	if (!err)
		err = victim_start(row->adversary, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* These errors mean that this kernel or user cannot have the adversary. */
static int wait_lacks(struct bench *b, int err)
{
	if (err != -EPERM && err != -EACCES && err != -ENOENT && err != -ENODEV)
		return bench_failed(b, "the adversary", err);
	return bench_unavailable(b, b->row->adversary == WAIT_USERFAULT ?
				 "needs root and userfaultfd" :
				 "needs FUSE, and root or user namespaces");
}

static int wait_play(struct bench *b, struct bench_round *round)
{
	int err = wait_stage(b->row);

	if (err) {
		bench_wait_end();
		return wait_lacks(b, err);
	}
	err = caller_run(b->row, round);
	round->seconds = bench_options.milliseconds / 1000.0;
	bench_hist_merge(&bench_now[BENCH_READER], &shared->took);
	bench_wait_end();
	return err ? bench_failed(b, "process_vm_readv()", err) : 0;
}

static int wait_setup(struct bench *b)
{
	long err;

	if (!shared)
		shared = procmap_share(sizeof(*shared));
	if (!shared)
		return bench_failed(b, "shared memory", -errno);
	err = bench_call6(SYS_process_vm_readv, getpid(), 0, 1, 0, 1, b->row->flags);
	if (err == -EINVAL)
		return bench_unavailable(b, "the kernel has no PROCESS_VM_NOWAIT");
	if (err != -EFAULT)
		return bench_unavailable(b, "the kernel has no process_vm_readv()");
	return 0;
}

#define WAIT(who)	.adversary = who, .reps = WAIT_ROUNDS, .setup = wait_setup, \
			.play = wait_play
#define NOWAIT(who)	WAIT(who), .flags = WAIT_NOWAIT, \
			.what = "the same with PROCESS_VM_NOWAIT"

const struct bench_row bench_wait_rows[] = {
	{ .name = "wait/resident/flags-0", WAIT(WAIT_RESIDENT),
	  .what = "process_vm_readv(): the page is there" },
	{ .name = "wait/resident/nowait", NOWAIT(WAIT_RESIDENT) },
	{ .name = "wait/fuse-page/flags-0", WAIT(WAIT_FUSE_PAGE),
	  .what = "page of a file whose server does not answer" },
	{ .name = "wait/fuse-page/nowait", NOWAIT(WAIT_FUSE_PAGE) },
	{ .name = "wait/fuse-queue/flags-0", WAIT(WAIT_FUSE_QUEUE),
	  .what = "many such pages, far apart" },
	{ .name = "wait/fuse-queue/nowait", NOWAIT(WAIT_FUSE_QUEUE) },
	{ .name = "wait/userfault/flags-0", WAIT(WAIT_USERFAULT),
	  .what = "page of a userfaultfd that nobody serves" },
	{ .name = "wait/userfault/nowait", NOWAIT(WAIT_USERFAULT) },
	{ .name = "wait/locked/flags-0", WAIT(WAIT_LOCKED),
	  .what = "mmap_lock held by a stalled read, a writer after it" },
	{ .name = "wait/locked/nowait", NOWAIT(WAIT_LOCKED) },
	{ }
};
