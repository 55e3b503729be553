// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of a process whose mmap_lock somebody holds for long: a FUSE server
 * that does not answer stops a page fault, or an unmapping, half-way.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/userfaultfd.h>

#include "fuse_server.h"
#include "procmap_harness.h"

/* What must come, comes within this; what must not is waited for that long. */
#define SOON_MS		15000
#define NEVER_MS	1000

#define PAGES		8
#define NR_HOGS		4
#define TEARDOWN_TRIES	20

static const struct fuse_server_file server_files[] = {
	{ .size = PAGES * 65536 },
	{ .size = PAGES * 65536 },
};

#define NR_FILES	ARRAY_SIZE(server_files)

static void __attribute__((constructor)) stall_require(void)
{
	const char *lacking = fuse_server_lacking();

	if (lacking)
		ksft_exit_skip("%s\n", lacking);
}

/**
 * struct target - the process that is queried, as it sees itself
 * @fd: the server's files; closed when mapped
 * @map: their mappings
 * @spare: memory for the writer
 * @go: a byte here lets the writer go
 * @by_fault: wait in a page fault, else in a read of /proc/self/mem
 * @writer_tid: once it runs
 */
struct target {
	int fd[NR_FILES];
	char *map[NR_FILES];
	char *spare;
	int go[2];
	bool by_fault;
	pid_t writer_tid;
};

/**
 * struct stall - what every case has
 * @server: the server, and whether it runs
 * @target: shared with @child only in what start_target() hands over
 * @child: the process that is queried
 * @maps: its maps file
 */
struct stall {
	struct fuse_server server;
	bool server_runs;
	struct target target;
	struct procmap_child child;
	int maps;
};

static int stall_setup(struct stall *stall)
{
	int ret = fuse_server_start(&stall->server, server_files, NR_FILES);
	unsigned int i;

	if (ret)
		return ret;
	stall->server_runs = true;
	for (i = 0; i < NR_FILES; i++) {
		stall->target.fd[i] = fuse_server_open(&stall->server, i, O_RDWR);
		if (stall->target.fd[i] < 0)
			return stall->target.fd[i];
	}
	return pipe(stall->target.go) ? -errno : 0;
}

/* With the server ends whatever still waits for it. */
static void stall_teardown(struct stall *stall)
{
	if (stall->server_runs)
		fuse_server_stop(&stall->server);
}

/* Has the child ended, or sent something, within this time? */
static bool comes(const struct procmap_child *child, int timeout_ms)
{
	struct pollfd fd = { .fd = child->sock, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

/* The state of a thread, as the third word of its stat says; 0: it is gone. */
static char state_of(pid_t pid, pid_t tid)
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

/* Waits in the kernel for good: found so many times in a row. */
static bool gets_stuck(pid_t pid, pid_t tid)
{
	int waited, stuck = 0;

	for (waited = 0; waited < SOON_MS && stuck < 20; waited += 10) {
		stuck = state_of(pid, tid) == 'D' ? stuck + 1 : 0;
		usleep(10000);
	}
	return stuck == 20;
}

/* How often a query took mmap_lock; -1 in a kernel without per-VMA locks, where each does. */
static long fallbacks(void)
{
	FILE *file = fopen("/proc/vmstat", "r");
	long count = -1;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "vma_lock_mmap %ld", &count) == 1)
			break;
	if (file)
		fclose(file);
	return count;
}

static bool map_files(struct target *target)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		target->map[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				      target->fd[i], 0);
		if (target->map[i] == MAP_FAILED || close(target->fd[i]))
			return false;
	}
	/* No readahead: a fault asks for the page itself, once. */
	return !madvise(target->map[0], size, MADV_RANDOM);
}

static bool tell_maps(struct procmap_child *child, const struct target *target)
{
	unsigned int i;

	for (i = 0; i < NR_FILES; i++)
		if (procmap_send(child, (unsigned long)target->map[i]))
			return false;
	return true;
}

/* Start the target; afterwards its maps are known here too. */
static int start_target(struct stall *stall,
			int (*fn)(struct procmap_child *child, void *arg))
{
	int ret = procmap_child_start(&stall->child, fn, &stall->target);
	unsigned int i;
	__u64 addr;

	for (i = 0; !ret && i < NR_FILES; i++) {
		close(stall->target.fd[i]);
		ret = procmap_recv(&stall->child, &addr);
		stall->target.map[i] = (char *)(unsigned long)addr;
	}
	if (ret)
		return ret;
	stall->maps = procmap_open(stall->child.pid);
	return stall->maps < 0 ? stall->maps : 0;
}

/* A helper and what it needs. */
struct helper {
	struct procmap_child child;
	int maps;
	const struct procmap_text *text;
	const char *addr;
	const char *end;
};

static int reads_text(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	struct procmap_text text;

	return HOLDS(!procmap_text_read(helper->maps, &text)) ? 0 : 1;
}

/* No build ID: that is read from the file, which is what cannot be done. */
static int ask_without_id(int maps, unsigned long addr, struct procmap_call *call)
{
	procmap_call_init(call, addr, 0);
	call->q.build_id_size = 0;
	call->q.build_id_addr = 0;
	return procmap_call(maps, call);
}

/* All VMAs of the text, but for those from @addr to @end. */
static int queries_all(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	struct procmap_call call;
	size_t i;

	for (i = 0; i < helper->text->nr; i++) {
		const struct procmap_vma *vma = &helper->text->vma[i];

		if (vma->end > (unsigned long)helper->addr &&
		    vma->start < (unsigned long)helper->end)
			continue;
		if (!HOLDS(!ask_without_id(helper->maps, vma->start, &call)) ||
		    !HOLDS(!procmap_differs(vma, &call)))
			return 1;
	}
	return 0;
}

/* The VMA from @addr to @end, which belongs to file 0. */
static int queries_one(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	struct procmap_call call;

	return HOLDS(!ask_without_id(helper->maps, (unsigned long)helper->addr, &call)) &&
	       HOLDS(call.q.vma_start == (unsigned long)helper->addr) &&
	       HOLDS(call.q.vma_end == (unsigned long)helper->end) &&
	       HOLDS(strstr(call.name, "file0")) ? 0 : 1;
}

static bool read_byte(const char *addr, bool by_fault)
{
	char byte;
	int mem;
	bool good;

	if (by_fault) {
		byte = __atomic_load_n(addr, __ATOMIC_RELAXED);
		return !byte;
	}
	mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	good = mem >= 0 && pread(mem, &byte, 1, (unsigned long)addr) == 1 && !byte;
	close(mem);
	return good;
}

static void *writer(void *arg)
{
	struct target *target = arg;
	char byte;

	__atomic_store_n(&target->writer_tid, syscall(__NR_gettid), __ATOMIC_RELEASE);
	if (read(target->go[0], &byte, 1) != 1 ||
	    munmap(target->spare, sysconf(_SC_PAGESIZE)))
		return NULL;
	return target;
}

/* Reads a byte of file 0, while another thread unmaps something. */
static int faults(struct procmap_child *child, void *arg)
{
	struct target *target = arg;
	pthread_t thread;
	void *good;
	pid_t tid;

	target->spare = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);
	if (!HOLDS(map_files(target)) || !HOLDS(target->spare != MAP_FAILED) ||
	    !HOLDS(!pthread_create(&thread, NULL, writer, target)))
		return 1;
	do {
		tid = __atomic_load_n(&target->writer_tid, __ATOMIC_ACQUIRE);
	} while (!tid);
	if (!HOLDS(tell_maps(child, target)) || !HOLDS(!procmap_send(child, tid)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	return HOLDS(read_byte(target->map[0], target->by_fault)) &&
	       HOLDS(!pthread_join(thread, &good)) && HOLDS(good) ? 0 : 1;
}

FIXTURE(fault) {
	struct stall stall;
};

FIXTURE_VARIANT(fault) {
	bool by_fault;
};

/* What debuggers do: the fault never lets go of mmap_lock. */
FIXTURE_VARIANT_ADD(fault, proc_mem) {
};

/* A fault lets go while it reads the page, but not when it has to read it again. */
FIXTURE_VARIANT_ADD(fault, page_fault) {
	.by_fault = true,
};

FIXTURE_SETUP(fault)
{
	ASSERT_EQ(0, stall_setup(&self->stall));
	self->stall.target.by_fault = variant->by_fault;
}

FIXTURE_TEARDOWN(fault)
{
	stall_teardown(&self->stall);
}

TEST_F_TIMEOUT(fault, queries_pass_a_stalled_fault_and_a_queued_writer, 120)
{
	struct stall *stall = &self->stall;
	struct helper query = { 0 }, reader = { 0 };
	struct procmap_text text;
	__u64 tid;

	if (fallbacks() < 0)
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, start_target(stall, faults));
	ASSERT_EQ(0, procmap_recv(&stall->child, &tid));
	ASSERT_EQ(0, procmap_text_read(stall->maps, &text));
	query.text = &text;
	query.maps = stall->maps;
	reader.maps = stall->maps;

	if (variant->by_fault)
		ASSERT_EQ(0, fuse_server_fail(&stall->server, 0, FUSE_READ, 1, EIO));
	ASSERT_EQ(0, fuse_server_stall(&stall->server, 0, FUSE_READ));
	ASSERT_EQ(0, procmap_send(&stall->child, 0));
	ASSERT_EQ(0, fuse_server_wait_held(&stall->server, 0, FUSE_READ, SOON_MS, NULL));
	ASSERT_EQ(1, write(stall->target.go[1], "", 1));
	ASSERT_TRUE(gets_stuck(stall->child.pid, tid));

	/* The text has to wait behind the writer; queries must not. */
	ASSERT_EQ(0, procmap_child_start(&reader.child, reads_text, &reader));
	ASSERT_EQ(0, procmap_child_start(&query.child, queries_all, &query));
	ASSERT_TRUE(comes(&query.child, SOON_MS));
	EXPECT_EQ(0, procmap_child_wait(&query.child));
	EXPECT_FALSE(comes(&reader.child, NEVER_MS));
	EXPECT_EQ('D', state_of(stall->child.pid, tid));

	ASSERT_EQ(0, fuse_server_release(&stall->server, 0, FUSE_READ));
	ASSERT_TRUE(comes(&reader.child, SOON_MS));
	EXPECT_EQ(0, procmap_child_wait(&reader.child));
	ASSERT_TRUE(comes(&stall->child, SOON_MS));
	EXPECT_EQ(0, procmap_child_wait(&stall->child));
}

static size_t half_size(void)
{
	return PAGES / 2 * sysconf(_SC_PAGESIZE);
}

/*
 * Maps over the second half of file 0. To close the old mapping the kernel
 * sends the file's changed times, with mmap_lock held for writing; the first
 * half has been split off, and so is marked.
 */
static int maps_over(struct procmap_child *child, void *arg)
{
	struct target *target = arg;
	unsigned int i;

	if (!HOLDS(map_files(target)) || !HOLDS(tell_maps(child, target)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	/* Not before the test has closed its descriptors: that sends the times, too. */
	for (i = 0; i < NR_FILES; i++)
		__atomic_store_n(target->map[i] + half_size(), 1, __ATOMIC_RELAXED);
	return HOLDS(mmap(target->map[0] + half_size(), half_size(), PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) ? 0 : 1;
}

FIXTURE(unmap) {
	struct stall stall;
	struct helper half;
};

/* Starts the target, and lets its writer be stopped by file 0. */
static int stop_writer(struct stall *stall, struct helper *half, struct procmap_text *text)
{
	int ret = start_target(stall, maps_over);

	if (!ret && text)
		ret = procmap_text_read(stall->maps, text);
	if (!ret)
		ret = fuse_server_stall(&stall->server, 0, FUSE_SETATTR);
	if (!ret)
		ret = procmap_send(&stall->child, 0);
	if (!ret)
		ret = fuse_server_wait_held(&stall->server, 0, FUSE_SETATTR, SOON_MS, NULL);
	half->maps = stall->maps;
	half->text = text;
	half->addr = stall->target.map[0];
	half->end = half->addr + half_size();
	return ret;
}

FIXTURE_SETUP(unmap)
{
	ASSERT_EQ(0, stall_setup(&self->stall));
}

FIXTURE_TEARDOWN(unmap)
{
	stall_teardown(&self->stall);
}

TEST_F_TIMEOUT(unmap, queries_pass_a_stalled_writer_or_wait_killably, 120)
{
	struct stall *stall = &self->stall;
	struct helper killed, waiting, others;
	struct procmap_text text;
	long before = fallbacks();

	if (before < 0)
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, stop_writer(stall, &self->half, &text));
	killed = self->half;
	waiting = self->half;
	others = self->half;
	others.end += half_size();

	/* VMAs that the writer has nothing to do with. */
	ASSERT_EQ(0, procmap_child_start(&others.child, queries_all, &others));
	ASSERT_TRUE(comes(&others.child, SOON_MS));
	EXPECT_EQ(0, procmap_child_wait(&others.child));

	/* One that it has marked. */
	ASSERT_EQ(0, procmap_child_start(&waiting.child, queries_one, &waiting));
	ASSERT_EQ(0, procmap_child_start(&killed.child, queries_one, &killed));
	ASSERT_TRUE(gets_stuck(killed.child.pid, killed.child.pid));
	ASSERT_TRUE(gets_stuck(waiting.child.pid, waiting.child.pid));
	EXPECT_LE(before + 2, fallbacks());
	ASSERT_EQ(0, kill(killed.child.pid, SIGKILL));
	ASSERT_TRUE(comes(&killed.child, SOON_MS));
	EXPECT_EQ(256 + SIGKILL, procmap_child_wait(&killed.child));
	EXPECT_FALSE(comes(&waiting.child, NEVER_MS));

	ASSERT_EQ(0, fuse_server_release(&stall->server, 0, FUSE_SETATTR));
	ASSERT_TRUE(comes(&waiting.child, SOON_MS));
	EXPECT_EQ(0, procmap_child_wait(&waiting.child));
	ASSERT_TRUE(comes(&stall->child, SOON_MS));
	EXPECT_EQ(0, procmap_child_wait(&stall->child));
}

static bool pin(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus);
}

static int spins(struct procmap_child *child, void *arg)
{
	if (!HOLDS(pin()))
		return 1;
	for (;;)
		;
}

/* A query that has got its lock, but gets no processor: it will be the last user. */
static int queries_slowly(struct procmap_child *child, void *arg)
{
	struct sched_param param = { 0 };

	if (!HOLDS(pin()) || !HOLDS(!sched_setscheduler(0, SCHED_IDLE, &param)))
		return 1;
	return queries_one(child, arg);
}

/*
 * Who closes the mapping of file 1? A kernel thread is unknown in the user
 * namespace of an ordinary user's mount: it sends no times, only that the file is
 * not used any more, which is not waited for; that counts as 0.
 */
static int closes_file_1(struct stall *stall, pid_t *pid)
{
	int waited, ret = -ETIMEDOUT;

	*pid = 0;
	for (waited = 0; waited < SOON_MS && ret; waited += 50) {
		ret = fuse_server_wait_held(&stall->server, 1, FUSE_SETATTR, 50, pid);
		if (ret)
			ret = fuse_server_wait_held(&stall->server, 1, FUSE_RELEASE, 0, NULL);
	}
	return ret;
}

/*
 * The target dies while a query waits for its mmap_lock. Returns who tore its
 * address space down, or -errno: whoever it is has to wait for the server, while
 * the query has to come back.
 */
static pid_t torn_down_by(struct stall *stall, struct helper *half)
{
	struct procmap_child hogs[NR_HOGS];
	pid_t pid = 0;
	int ret, i;

	for (i = 0; i < NR_HOGS; i++) {
		ret = procmap_child_start(&hogs[i], spins, NULL);
		if (ret)
			return ret;
	}
	ret = fuse_server_stall(&stall->server, 1, FUSE_SETATTR);
	if (!ret)
		ret = fuse_server_stall(&stall->server, 1, FUSE_RELEASE);
	if (!ret && kill(stall->child.pid, SIGKILL))
		ret = -errno;
	if (!ret)
		ret = fuse_server_release(&stall->server, 0, FUSE_SETATTR);
	if (!ret)
		comes(&stall->child, NEVER_MS);
	for (i = 0; i < NR_HOGS; i++)
		procmap_child_kill(&hogs[i]);
	if (!ret)
		ret = closes_file_1(stall, &pid);
	if (!ret && !comes(&half->child, SOON_MS))
		ret = -ETIMEDOUT;
	return ret ? ret : pid;
}

TEST_F_TIMEOUT(unmap, a_query_never_tears_an_address_space_down, 240)
{
	struct stall *stall = &self->stall;
	struct helper *half = &self->half;
	pid_t pid, target;
	int tries;

	for (tries = 0; tries < TEARDOWN_TRIES; tries++) {
		if (tries)
			ASSERT_EQ(0, stall_setup(stall));
		ASSERT_EQ(0, stop_writer(stall, half, NULL));
		target = stall->child.pid;
		ASSERT_EQ(0, procmap_child_start(&half->child, queries_slowly, half));
		ASSERT_TRUE(gets_stuck(half->child.pid, half->child.pid));
		pid = torn_down_by(stall, half);
		ASSERT_LE(0, pid);
		ASSERT_NE(half->child.pid, pid);
		ASSERT_EQ(0, procmap_child_wait(&half->child));
		ASSERT_EQ(0, fuse_server_release(&stall->server, 1, FUSE_SETATTR));
		ASSERT_EQ(256 + SIGKILL, procmap_child_wait(&stall->child));
		close(stall->maps);
		fuse_server_stop(&stall->server);
		stall->server_runs = false;
		if (pid != target)
			break;
	}
	/* The query was the last user, and a kernel thread did the work. */
	EXPECT_GT(TEARDOWN_TRIES, tries);
}

/* What a query of one's own mapping writes its name to: a page that never comes. */
struct endless {
	int maps;
	int uffd;
	char *mapping;
	char *page;
};

static int endless_page(struct endless *endless)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	endless->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	endless->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (endless->uffd < 0 || endless->page == MAP_FAILED)
		return -errno;
	area.range.start = (unsigned long)endless->page;
	area.range.len = size;
	return ioctl(endless->uffd, UFFDIO_API, &api) ||
	       ioctl(endless->uffd, UFFDIO_REGISTER, &area) ? -errno : 0;
}

static void *queries_endlessly(void *arg)
{
	const struct endless *endless = arg;
	struct procmap_call call;

	procmap_call_init(&call, (unsigned long)endless->mapping, 0);
	call.q.vma_name_addr = (unsigned long)endless->page;
	procmap_call(endless->maps, &call);
	return NULL;
}

/* Its mapping is gone, and the file closed, but for a query that has not come to its end. */
static int has_the_last_use_of_a_file(struct procmap_child *child, void *arg)
{
	struct fuse_server *server = arg;
	struct endless endless = { .maps = procmap_open(0) };
	struct pollfd fault = { .events = POLLIN };
	int fd = fuse_server_open(server, 0, O_RDWR);
	pthread_t thread;

	if (!HOLDS(endless.maps >= 0) || !HOLDS(fd >= 0) || !HOLDS(!endless_page(&endless)))
		return 1;
	endless.mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!HOLDS(endless.mapping != MAP_FAILED) || !HOLDS(!close(fd)))
		return 1;
	if (!HOLDS(!pthread_create(&thread, NULL, queries_endlessly, &endless)))
		return 1;
	fault.fd = endless.uffd;
	if (!HOLDS(poll(&fault, 1, SOON_MS) == 1) || !HOLDS(!munmap(endless.mapping, 4096)) ||
	    !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		pause();
}

FIXTURE(last_use) {
	struct fuse_server stalled;
	struct fuse_server healthy;
};

FIXTURE_SETUP(last_use)
{
	ASSERT_EQ(0, fuse_server_start(&self->stalled, server_files, 1));
	ASSERT_EQ(0, fuse_server_start(&self->healthy, server_files, 1));
}

FIXTURE_TEARDOWN(last_use)
{
	fuse_server_stop(&self->stalled);
	fuse_server_stop(&self->healthy);
}

/* How often the file was closed, once that has come or cannot come any more. */
static int closed(struct fuse_server *server, int timeout_ms)
{
	int waited, nr = 0;

	for (waited = 0; waited < timeout_ms && !nr; waited += 10) {
		usleep(10000);
		nr = fuse_server_count(server, 0, FUSE_RELEASE);
	}
	return nr;
}

/*
 * Each query is killed, so that somebody else closes its file; before that the
 * server is told when the file was changed. No process may inherit @fd: it would
 * have to tell the server, too, as soon as it ends.
 */
TEST_F_TIMEOUT(last_use, a_file_that_cannot_be_closed_holds_up_no_other, 120)
{
	struct procmap_child stalled, healthy;
	int fd;

	ASSERT_EQ(0, procmap_child_start(&stalled, has_the_last_use_of_a_file, &self->stalled));
	ASSERT_EQ(0, procmap_sync(&stalled));
	ASSERT_EQ(0, procmap_child_start(&healthy, has_the_last_use_of_a_file, &self->healthy));
	ASSERT_EQ(0, procmap_sync(&healthy));

	fd = fuse_server_open(&self->stalled, 0, O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fuse_server_stall(&self->stalled, 0, FUSE_SETATTR));
	ASSERT_EQ(1, pwrite(fd, "", 1, 0));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&stalled));
	EXPECT_EQ(0, fuse_server_wait_held(&self->stalled, 0, FUSE_SETATTR, SOON_MS, NULL));
	EXPECT_EQ(0, closed(&self->stalled, NEVER_MS));

	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&healthy));
	EXPECT_EQ(1, closed(&self->healthy, SOON_MS));
	EXPECT_EQ(0, fuse_server_count(&self->stalled, 0, FUSE_RELEASE));

	EXPECT_EQ(0, fuse_server_release(&self->stalled, 0, FUSE_SETATTR));
	EXPECT_EQ(1, closed(&self->stalled, SOON_MS));
	EXPECT_EQ(0, close(fd));
}

TEST_HARNESS_MAIN
