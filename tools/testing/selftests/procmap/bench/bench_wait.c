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
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/userfaultfd.h>
#include "bench_scene.h"
#include "fuse_server.h"

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

/**
 * struct wait_shared - memory shared with the processes of the scene
 * @at: address to read in the victim
 * @places: number of such addresses, WAIT_APART from one to the next
 * @err: -errno of making the victim, or of an illegal result of the caller
 * @unmap: the victim shall unmap something now
 * @writer: the thread that does, once it is about to
 * @calls: number of calls that returned
 * @took: how long they took
 */
struct wait_shared {
	unsigned long at;
	unsigned int places;
	int err;
	bool unmap;
	pid_t writer;
	unsigned long calls;
	struct bench_hist took;
};

static struct wait_shared *shared;
static struct fuse_server server;
static pid_t victim, caller;
static __u64 wait_word = BENCH_WORD;

/*
 * End everything that a scene has started.
 *
 * The end of the server ends all waits for it. Only then can killed processes
 * exit.
 */
void bench_wait_end(void)
{
	if (caller > 0)
		kill(caller, SIGKILL);
	if (victim > 0)
		kill(victim, SIGKILL);
	if (server.pid)
		fuse_server_stop(&server);
	if (caller > 0)
		waitpid(caller, NULL, 0);
	if (victim > 0)
		waitpid(victim, NULL, 0);
	caller = 0;
	victim = 0;
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
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range.len = sysconf(_SC_PAGESIZE), .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	void *at = mmap(NULL, range.range.len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		return -EPERM;
	if (at == MAP_FAILED)
		return -errno;
	range.range.start = (unsigned long)at;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return -errno;
	shared->at = (unsigned long)at;
	return 0;
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

/*
 * Called in a child: the server does not end while the child holds its socket.
 */
static void leave_server(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!server.pid)
		return;
	close(server.sock);
	close(server.mount);
}

static int wait_byte(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char byte;

	if (poll(&poll_fd, 1, timeout_ms) != 1)
		return -ETIMEDOUT;
	return read(fd, &byte, 1) == 1 ? 0 : -EPIPE;
}

/* Does this thread sleep in this system call? Of one that runs, the file says so. */
static bool sleeps_in_call(pid_t pid, pid_t tid, long nr)
{
	char path[64];
	long found;
	FILE *file;
	bool sleeps;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	sleeps = fscanf(file, "%ld", &found) == 1 && found == nr;
	fclose(file);
	return sleeps;
}

static bool writer_waits(void)
{
	const pid_t writer = __atomic_load_n(&shared->writer, __ATOMIC_ACQUIRE);

	return writer && sleeps_in_call(victim, writer, SYS_munmap);
}

/* The writer must come when the reader holds the lock. */
static int victim_wait_locked(void)
{
	int err, waited;

	err = fuse_server_wait_held(&server, 0, FUSE_READ, WAIT_HANG_MS, NULL);
	__atomic_store_n(&shared->unmap, true, __ATOMIC_RELAXED);
	for (waited = 0; !err && !writer_waits(); waited += WAIT_LOOK_MS) {
		usleep(WAIT_LOOK_MS * 1000);
		if (waited > WAIT_HANG_MS)
			err = -ETIMEDOUT;
	}
	return err;
}

static int victim_start(enum wait_adversary adversary, int file)
{
	int ready[2], err;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	victim = fork();
	if (!victim) {
		leave_server();
		shared->err = victim_prepare(adversary, file);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	err = victim < 0 ? -errno : wait_byte(ready[0], WAIT_HANG_MS) ?: shared->err;
	close(ready[0]);
	if (!err && adversary == WAIT_LOCKED)
		err = victim_wait_locked();
	return err;
}

static long wait_read(unsigned long at, unsigned long flags, __u64 *word)
{
	struct iovec local = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec remote = { .iov_base = (void *)at, .iov_len = sizeof(*word) };

	return bench_call6(SYS_process_vm_readv, victim, &local, 1, &remote, 1, flags);
}

/* Is this result legal if the page is not available without waiting? */
static bool wait_is_legal(const struct bench_scene *row, long done, __u64 word)
{
	if (row->adversary == WAIT_RESIDENT || (row->adversary == WAIT_LOCKED && done >= 0))
		return done == sizeof(word) && word == BENCH_WORD;
	return done == (row->adversary == WAIT_LOCKED ? -EAGAIN : -EFAULT);
}

static void caller_main(const struct bench_scene_state *state, const bool *stop)
{
	unsigned long i = 0;
	__u64 word, began;
	long done;

	leave_server();
	do {
		word = 0;
		began = bench_clock();
		done = wait_read(shared->at + i++ % shared->places * WAIT_APART, state->row->flags,
				 &word);
		bench_hist_add(&shared->took, bench_clock() - began - bench_overhead);
		if (!wait_is_legal(state->row, done, word)) {
			shared->err = done < 0 ? done : -EBADMSG;
			_exit(1);
		}
		shared->calls++;
	} while (!__atomic_load_n(stop, __ATOMIC_RELAXED));
	_exit(0);
}

/* Returns -EPIPE once the caller has ended, -ETIMEDOUT if it hangs: it sleeps in its call. */
static int caller_end(int ended)
{
	int err = -ETIMEDOUT, waited;

	for (waited = 0; err == -ETIMEDOUT && waited < WAIT_HANG_MS; waited += WAIT_LOOK_MS) {
		if (sleeps_in_call(caller, caller, SYS_process_vm_readv))
			break;
		err = wait_byte(ended, WAIT_LOOK_MS);
	}
	return err;
}

/*
 * Let the caller run for a while, for one call at least. If it waits then, it
 * hangs.
 */
static int caller_run(struct bench_scene_state *state, struct bench_round *round)
{
	bool *stop = &bench_storm->stop;
	int ended[2], err;

	*stop = false;
	if (pipe2(ended, O_CLOEXEC))
		return -errno;
	caller = fork();
	if (!caller)
		caller_main(state, stop);
	err = caller < 0 ? -errno : 0;
	close(ended[1]);
	usleep(state->milliseconds * 1000);
	__atomic_store_n(stop, true, __ATOMIC_RELAXED);
	if (!err)
		err = caller_end(ended[0]);
	close(ended[0]);
	if (err == -ETIMEDOUT) {
		round->hangs = 1;
		return 0;
	}
	/* The pipe is closed when the caller ends. */
	return err == -EPIPE ? shared->err : err;
}

static int wait_stage(const struct bench_scene *row)
{
	const struct fuse_server_file file = { .size = WAIT_PLACES * WAIT_APART };
	const bool fuse = row->adversary == WAIT_FUSE_PAGE || row->adversary == WAIT_LOCKED ||
			  row->adversary == WAIT_FUSE_QUEUE;
	int fd = -1, err = 0;

	memset(shared, 0, sizeof(*shared));
	if (fuse) {
		err = fuse_server_start(&server, &file, 1);
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
static int wait_lacks(struct bench_scene_state *state, int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
	case -ENOENT:
	case -ENODEV:
		if (state->row->adversary == WAIT_USERFAULT)
			return bench_unavailable(state->bench, "needs root and userfaultfd");
		return bench_unavailable(state->bench, "needs FUSE, and root or user namespaces");
	}
	return bench_scene_failed(state, "the adversary", err);
}

static int wait_play(struct bench_scene_state *state, struct bench_round *round)
{
	int err = wait_stage(state->row);

	if (err) {
		bench_wait_end();
		return wait_lacks(state, err);
	}
	err = caller_run(state, round);
	round->seconds = state->milliseconds / 1000.0;
	round->lookups = shared->calls;
	bench_hist_merge(&state->now[BENCH_SCENE_READER], &shared->took);
	bench_wait_end();
	return err ? bench_scene_failed(state, "process_vm_readv()", err) : 0;
}

static int wait_setup(struct bench_scene_state *state)
{
	long err = bench_storm_init();

	if (!err && !shared) {
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		err = shared == MAP_FAILED ? -errno : 0;
	}
	if (err)
		return bench_scene_failed(state, "shared memory", err);
	err = bench_call6(SYS_process_vm_readv, getpid(), 0, 1, 0, 1, state->row->flags);
	if (err == -EINVAL)
		return bench_unavailable(state->bench, "the kernel has no PROCESS_VM_NOWAIT");
	if (err != -EFAULT)
		return bench_unavailable(state->bench, "the kernel has no process_vm_readv()");
	return 0;
}

static const struct {
	const char *name[2];
	const char *what;
	enum wait_adversary adversary;
} adversaries[] = {
	{ { "wait/resident/flags-0", "wait/resident/nowait" },
	  "process_vm_readv(): the page is there", WAIT_RESIDENT },
	{ { "wait/fuse-page/flags-0", "wait/fuse-page/nowait" },
	  "page of a file whose server does not answer", WAIT_FUSE_PAGE },
	{ { "wait/fuse-queue/flags-0", "wait/fuse-queue/nowait" },
	  "many such pages, far apart", WAIT_FUSE_QUEUE },
	{ { "wait/userfault/flags-0", "wait/userfault/nowait" },
	  "page of a userfaultfd that nobody serves", WAIT_USERFAULT },
	{ { "wait/locked/flags-0", "wait/locked/nowait" },
	  "mmap_lock held by a stalled read, a writer after it", WAIT_LOCKED },
};

struct bench_scene bench_wait_scenes[2 * ARRAY_SIZE(adversaries)];
unsigned int bench_wait_nr;

/* Fill the table with each adversary and both flags. */
void bench_wait_init_scenes(void)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(adversaries); i++) {
		for (k = 0; k < 2; k++) {
			struct bench_scene *row = &bench_wait_scenes[bench_wait_nr++];

			row->name = adversaries[i].name[k];
			row->what = k ? "the same with PROCESS_VM_NOWAIT" : adversaries[i].what;
			row->rounds = WAIT_ROUNDS;
			row->adversary = adversaries[i].adversary;
			row->flags = k ? WAIT_NOWAIT : 0;
			row->setup = wait_setup;
			row->play = wait_play;
		}
	}
}
