// SPDX-License-Identifier: GPL-2.0
/*
 * The last user of an address space must tear it down, and that may never end.
 * Here a process has IO in flight that is never answered. It is killed while a
 * caller copies from it into memory that is late. With PROCESS_VM_NOWAIT the
 * caller is never the last user. So each process ends by itself, and hundreds
 * of ends that cannot finish do not block the ends of others.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/aio_abi.h>

#include "fuse_server.h"
#include "pvm_harness.h"

/*
 * More ends than the work items that a work queue runs at once, which are 512.
 * A server can note the reads of BATCH of them before the test takes the notes.
 */
#define BATCH		48
#define NR_BATCHES	12
#define NR_ENDS		(NR_BATCHES * BATCH)
#define NR_INNOCENT	8
#define INNOCENT	(16UL << 20)
/* MemAvailable does not count free pages in the lists of the CPUs. */
#define MAX_MISSING_KB	(NR_INNOCENT * (long)(INNOCENT >> 10) / 4)
#define NR_REFUSED	24
#define BYTE		'e'

/* All processes share this memory. */
struct shared {
	unsigned int ready;
	pid_t target;
	bool stop;
	unsigned long refused;
};

/* A target, and the caller that copies from it into a page that is late. */
struct pair {
	pid_t target;
	pid_t caller;
};

static struct pair pairs[NR_ENDS];
static struct pair innocent[NR_INNOCENT];
static char remote[16] = "eeeeeeeeeeeeeee";

FIXTURE(last) {
	struct fuse_server io[NR_BATCHES];
	unsigned int nr_io;
	struct fuse_server late;
	struct shared *shared;
	unsigned int nr;
	int file;
	char *pages;
	bool serves_late;
	const char *lacking;
};

static char *late_page(FIXTURE_DATA(last) * self, unsigned int nr)
{
	return self->pages + nr * sysconf(_SC_PAGESIZE);
}

static int start_late(FIXTURE_DATA(last) * self)
{
	size_t size = (NR_BATCHES + 1) * sysconf(_SC_PAGESIZE);
	struct fuse_server_file file = { .size = size };
	int fd, ret = fuse_server_start(&self->late, &file, 1);

	if (ret)
		return ret;
	self->serves_late = true;
	fd = fuse_server_open(&self->late, 0, O_RDWR);
	if (fd < 0)
		return fd;
	self->pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (self->pages == MAP_FAILED || madvise(self->pages, size, MADV_RANDOM))
		return -errno;
	return 0;
}

/*
 * Start a server that does not answer reads. The reads are asynchronous, so
 * nothing waits in them yet.
 */
static int start_io(FIXTURE_DATA(last) * self)
{
	struct fuse_server_file file = { .size = sysconf(_SC_PAGESIZE) };
	struct fuse_server *io = &self->io[self->nr_io];
	int ret = fuse_server_start_flags(io, &file, 1, FUSE_ASYNC_DIO);

	if (ret)
		return ret;
	self->nr_io++;
	self->file = fuse_server_open(io, 0, O_RDONLY | O_DIRECT);
	if (self->file < 0)
		return self->file;
	return fuse_server_stall(io, 0, FUSE_READ);
}

FIXTURE_SETUP(last)
{
	self->lacking = fuse_server_lacking();
	if (self->lacking)
		return;
	memset(pairs, 0, sizeof(pairs));
	memset(innocent, 0, sizeof(innocent));
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, start_late(self));
}

static void end_pair(const struct pair *pair)
{
	if (pair->target > 0)
		kill(pair->target, SIGKILL);
	if (pair->caller > 0)
		kill(pair->caller, SIGKILL);
}

/* Once the servers have ended, no process has to wait. */
FIXTURE_TEARDOWN(last)
{
	unsigned int i;

	for (i = 0; i < NR_ENDS; i++)
		end_pair(&pairs[i]);
	for (i = 0; i < NR_INNOCENT; i++)
		end_pair(&innocent[i]);
	for (i = 0; i < self->nr_io; i++)
		fuse_server_stop(&self->io[i]);
	if (self->serves_late)
		fuse_server_stop(&self->late);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static pid_t spawn(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
	return pid;
}

static void tell_and_wait(struct shared *shared)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void has_io(FIXTURE_DATA(last) * self)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct iocb iocb = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_fildes = self->file,
		.aio_nbytes = page,
	};
	struct iocb *list = &iocb;
	aio_context_t context = 0;
	void *buffer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	iocb.aio_buf = (unsigned long)buffer;
	if (!HOLDS(buffer != MAP_FAILED) || !HOLDS(!syscall(__NR_io_setup, 1, &context)) ||
	    !HOLDS(syscall(__NR_io_submit, context, 1, &list) == 1))
		_exit(1);
	tell_and_wait(self->shared);
}

static void has_memory(FIXTURE_DATA(last) * self)
{
	char *memory = mmap(NULL, INNOCENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (!HOLDS(memory != MAP_FAILED))
		_exit(1);
	memset(memory, BYTE, INNOCENT);
	tell_and_wait(self->shared);
}

static void copies(FIXTURE_DATA(last) * self, pid_t target, unsigned int page)
{
	char *local = late_page(self, page);

	_exit(HOLDS(pvm_copy(false, target, remote, local, sizeof(remote),
			     PROCESS_VM_NOWAIT) == sizeof(remote)) ? 0 : 1);
}

static bool becomes(const unsigned int *count, unsigned int value)
{
	unsigned int looks = 0;

	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) != value)
		if (!procmap_look_again(&looks))
			return false;
	return true;
}

/*
 * Wait until a killed process has ended (Z), or waits for its IO (D), which it
 * does when it tears down its address space.
 */
static bool gets_into_state(pid_t pid, char state)
{
	unsigned int looks = 0;

	while (!stall_is_dead(pid)) {
		if (state == 'D' && pvm_is_in(pid, pid, "exit_aio"))
			return true;
		if (!procmap_look_again(&looks))
			return false;
	}
	return state == 'Z';
}

static bool start_targets(FIXTURE_DATA(last) * self, struct pair *list, unsigned int nr,
			  void (*fn)(FIXTURE_DATA(last) * self))
{
	unsigned int i;

	self->shared->ready = 0;
	for (i = 0; i < nr; i++) {
		list[i].target = spawn();
		if (!list[i].target)
			fn(self);
		if (!HOLDS(list[i].target > 0))
			return false;
	}
	return HOLDS(becomes(&self->shared->ready, nr));
}

static bool start_callers(FIXTURE_DATA(last) * self, struct pair *list, unsigned int nr,
			  unsigned int page)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		list[i].caller = spawn();
		if (!list[i].caller)
			copies(self, list[i].target, page);
		if (!HOLDS(list[i].caller > 0))
			return false;
	}
	/* One of them asks the server for the page, the others wait for this page. */
	if (!HOLDS(!fuse_server_wait_held(&self->late, 0, FUSE_READ, PROCMAP_HANG_MS, NULL)))
		return false;
	for (i = 0; i < nr; i++)
		if (!HOLDS(pvm_sleeps_in_call(list[i].caller, list[i].caller,
					      __NR_process_vm_readv)))
			return false;
	return true;
}

static bool end_callers(struct pair *list, unsigned int nr)
{
	unsigned int i;
	int status;

	for (i = 0; i < nr; i++) {
		if (!HOLDS(waitpid(list[i].caller, &status, 0) == list[i].caller) ||
		    !HOLDS(!status))
			return false;
		list[i].caller = 0;
	}
	return true;
}

/* Kill the targets while the callers copy. The page comes only after that. */
static bool kill_while_copying(FIXTURE_DATA(last) * self, struct pair *list, unsigned int nr,
			       unsigned int page, char state)
{
	unsigned int i;

	if (!HOLDS(!fuse_server_stall(&self->late, 0, FUSE_READ)) ||
	    !start_callers(self, list, nr, page))
		return false;
	for (i = 0; i < nr; i++)
		kill(list[i].target, SIGKILL);
	for (i = 0; i < nr; i++)
		if (!HOLDS(gets_into_state(list[i].target, state)))
			return false;
	return HOLDS(!fuse_server_release(&self->late, 0, FUSE_READ)) && end_callers(list, nr);
}

static bool has_all_io(struct fuse_server *io)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		if (!HOLDS(!fuse_server_wait_held(io, 0, FUSE_READ, PROCMAP_HANG_MS, NULL)))
			return false;
	return true;
}

/* Start targets with IO in flight. No other process has the file open. */
static bool start_batch(FIXTURE_DATA(last) * self, struct pair *list)
{
	bool started = HOLDS(!start_io(self)) && start_targets(self, list, BATCH, has_io) &&
		       has_all_io(&self->io[self->nr_io - 1]);

	close(self->file);
	return started;
}

/*
 * Start ends that cannot finish. A debug kernel reports tasks that wait for two
 * minutes, so there are fewer on a slow one.
 */
static bool fill(FIXTURE_DATA(last) * self, unsigned int batches, char state)
{
	unsigned int i;

	batches = stall_scaled(batches);
	for (i = 0; i < batches; i++)
		if (!start_batch(self, pairs + i * BATCH) ||
		    !kill_while_copying(self, pairs + i * BATCH, BATCH, i, state))
			return false;
	self->nr = i * BATCH;
	return true;
}

static long available_kb(void)
{
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");
	long kb = -1;

	while (file && kb < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld kB", &kb) != 1)
			kb = -1;
	if (file)
		fclose(file);
	return kb;
}

/* Wait until enough is free. Return what is still missing then. */
static long missing_kb(long before)
{
	unsigned int looks = 0;
	long kb;

	do
		kb = before - available_kb();
	while (kb >= MAX_MISSING_KB && procmap_look_again(&looks));
	return kb;
}

static void reap(struct pair *list, unsigned int nr)
{
	for (; nr; nr--, list++) {
		waitpid(list->target, NULL, 0);
		list->target = 0;
	}
}

TEST_F(last, each_process_ends_by_itself)
{
	unsigned int i;

	if (self->lacking)
		SKIP(return, "%s: %s, needs root", _metadata->name, self->lacking);
	ASSERT_TRUE(fill(self, 1, 'D'));
	/* Now the answers come, and all processes end. */
	for (i = 0; i < self->nr_io; i++)
		ASSERT_EQ(0, fuse_server_release(&self->io[i], 0, FUSE_READ));
	reap(pairs, self->nr);
}

/*
 * Processes that wait for nothing end next to those that cannot. On a kernel
 * where a caller can be the last user (state Z), the test also checks that
 * their memory is freed.
 */
TEST_F(last, memory_of_others_is_freed_beside_ends_that_cannot_come)
{
	char state = getenv("PROCESS_VM_CALLER_IS_LAST") ? 'Z' : 'D';
	long before, missing;

	if (self->lacking)
		SKIP(return, "%s: %s, needs root", _metadata->name, self->lacking);
	ASSERT_TRUE(fill(self, NR_BATCHES, state));
	before = available_kb();
	ASSERT_TRUE(start_targets(self, innocent, NR_INNOCENT, has_memory));
	ASSERT_TRUE(kill_while_copying(self, innocent, NR_INNOCENT, NR_BATCHES, 'Z'));
	reap(innocent, NR_INNOCENT);
	missing = missing_kb(before);
	TH_LOG("%u ends that cannot come; of %ld kB of others, %ld are not freed", self->nr,
	       NR_INNOCENT * (long)(INNOCENT >> 10), missing);
	EXPECT_GT(MAX_MISSING_KB, missing);
}

static void *is_refused(void *arg)
{
	struct shared *shared = arg;
	char byte;

	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		pid_t pid = __atomic_load_n(&shared->target, __ATOMIC_ACQUIRE);

		if (pid && pvm_copy(false, pid, remote, &byte, 1, PROCESS_VM_NOWAIT) == -EPERM)
			__atomic_add_fetch(&shared->refused, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Start two threads of a user that may not access the targets. */
static pid_t start_refused(struct shared *shared)
{
	pid_t pid = spawn();
	pthread_t thread;

	if (pid)
		return pid;
	if (!HOLDS(!procmap_drop_root()) ||
	    !HOLDS(!pthread_create(&thread, NULL, is_refused, shared)))
		_exit(1);
	is_refused(shared);
	pthread_join(thread, NULL);
	_exit(0);
}

static bool end_while_asked_for(FIXTURE_DATA(last) * self)
{
	struct shared *shared = self->shared;
	unsigned long refused;

	if (!start_targets(self, innocent, 1, has_memory))
		return false;
	refused = __atomic_load_n(&shared->refused, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->target, innocent[0].target, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->refused, __ATOMIC_RELAXED) < refused + 10)
		usleep(1000);
	kill(innocent[0].target, SIGKILL);
	reap(innocent, 1);
	return true;
}

TEST_F(last, a_caller_who_is_refused_holds_nothing)
{
	char state = getenv("PROCESS_VM_CALLER_IS_LAST") ? 'Z' : 'D';
	struct shared *shared = self->shared;
	long before, missing;
	int i, status = 1;
	pid_t caller;

	if (self->lacking)
		SKIP(return, "%s: %s, needs root", _metadata->name, self->lacking);
	if (geteuid())
		SKIP(return, "%s: one of two users needs root", _metadata->name);
	ASSERT_TRUE(fill(self, NR_BATCHES, state));
	caller = start_refused(shared);
	ASSERT_LT(0, caller);
	before = available_kb();
	for (i = 0; i < NR_REFUSED; i++)
		ASSERT_TRUE(end_while_asked_for(self));
	missing = missing_kb(before);
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	EXPECT_EQ(caller, waitpid(caller, &status, 0));
	EXPECT_EQ(0, status);
	TH_LOG("%lu calls refused; of %ld kB of others, %ld are not freed", shared->refused,
	       NR_REFUSED * (long)(INNOCENT >> 10), missing);
	EXPECT_GT(MAX_MISSING_KB, missing);
}

TEST_HARNESS_MAIN
