// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of a process whose mmap_lock somebody holds for long. A FUSE server
 * that does not answer stops a page fault, or an unmapping, half-way.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

#define PAGES		8
#define TEXT_ROOM	0x10000
#define SMAPS_ROOM	0x100000
#define NR_HOGS		4
#define TEARDOWN_TRIES	4

static const struct fuse_server_file server_files[] = {
	{ .size = PAGES * 65536 },
	{ .size = PAGES * 65536 },
};

#define NR_FILES	ARRAY_SIZE(server_files)

PROCMAP_REQUIRE(fuse_server_lacking())

/**
 * struct target - the process that is queried, as it sees itself
 * @fd: files of the server; closed when they have been mapped
 * @map: mappings of the files
 * @spare: memory for the writer to unmap
 * @go: pipe; a byte in it lets the writer go
 * @by_fault: wait in a page fault, else in a read of /proc/self/mem
 * @writer_tid: thread ID of the writer once it runs
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
 * @server: the FUSE server
 * @target: copied to @child, which only sends back where its mappings are
 * @child: the process that is queried
 * @maps: its maps file
 */
struct stall {
	struct fuse_server server;
	struct target target;
	struct procmap_child child;
	int maps;
};

static int stall_setup(struct stall *stall)
{
	int ret = fuse_server_start(&stall->server, server_files, NR_FILES, 0);
	unsigned int i;

	if (ret)
		return ret;
	for (i = 0; i < NR_FILES; i++) {
		stall->target.fd[i] = fuse_server_open(&stall->server, i, O_RDWR);
		if (stall->target.fd[i] < 0)
			return stall->target.fd[i];
	}
	return pipe(stall->target.go) ? -errno : 0;
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

/* Start the target. Afterwards its mappings are known here, too. */
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
	stall->maps = maps_open(stall->child.pid);
	return stall->maps < 0 ? stall->maps : 0;
}

/* A helper process and what it needs */
struct helper {
	struct procmap_child child;
	int maps;
	const struct maps_text *text;
	const char *bytes;
	const char *addr;
	const char *end;
};

/* Read smaps of the target. @maps is its smaps file. The target may end. */
static int reads_smaps(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	static char space[SMAPS_ROOM];

	return HOLDS(procmap_read_all(helper->maps, space, sizeof(space)) >= 0) ? 0 : 1;
}

/* Read the text. It must be @bytes, which it was before. */
static int reads_text(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	static char space[TEXT_ROOM];

	return HOLDS(!lseek(helper->maps, 0, SEEK_SET)) &&
	       HOLDS(procmap_read_all(helper->maps, space, sizeof(space)) > 0) &&
	       HOLDS(!strcmp(space, helper->bytes)) ? 0 : 1;
}

/* Query all VMAs of the text, except those from @addr to @end. */
static int queries_all(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	struct procmap_call call;
	size_t i;

	for (i = 0; i < helper->text->nr; i++) {
		const struct maps_vma *vma = &helper->text->vma[i];

		if (vma->end > (unsigned long)helper->addr &&
		    vma->start < (unsigned long)helper->end)
			continue;
		if (!HOLDS(!stall_ask(helper->maps, vma->start, 0, &call)) ||
		    !HOLDS(!procmap_differs(vma, &call)))
			return 1;
	}
	return 0;
}

/* Query the VMA from @addr to @end, which belongs to file 0. */
static int queries_one(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	struct procmap_call call;

	return HOLDS(!stall_ask(helper->maps, (unsigned long)helper->addr, 0, &call)) &&
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

/* Read memory as debuggers do. The fault never drops mmap_lock. */
FIXTURE_VARIANT_ADD(fault, proc_mem) { };

/* A fault drops mmap_lock while it reads the page, but not when it has to read the page again. */
FIXTURE_VARIANT_ADD(fault, page_fault) { .by_fault = true };

FIXTURE_SETUP(fault)
{
	ASSERT_EQ(0, stall_setup(&self->stall));
	self->stall.target.by_fault = variant->by_fault;
}

/* When the server ends, everything that still waits for it ends, too. */
FIXTURE_TEARDOWN(fault)
{
	fuse_server_stop(&self->stall.server);
}

TEST_F(fault, queries_and_text_pass_a_stalled_fault_and_a_queued_writer)
{
	struct stall *stall = &self->stall;
	struct helper query = { 0 }, reader = { 0 }, locker = { 0 };
	static char bytes[TEXT_ROOM];
	struct maps_text text;
	__u64 tid;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, start_target(stall, faults));
	ASSERT_EQ(0, procmap_recv(&stall->child, &tid));
	ASSERT_EQ(0, maps_text_read(stall->maps, &text));
	ASSERT_EQ(0, lseek(stall->maps, 0, SEEK_SET));
	ASSERT_LT(0, procmap_read_all(stall->maps, bytes, sizeof(bytes)));
	query.text = &text;
	query.maps = stall->maps;
	reader.bytes = bytes;
	reader.maps = stall->maps;
	locker.maps = stall_smaps_open(stall->child.pid);
	ASSERT_LE(0, locker.maps);

	if (variant->by_fault)
		ASSERT_EQ(0, fuse_server_fail(&stall->server, 0, FUSE_READ, 1, EIO));
	ASSERT_EQ(0, fuse_server_stall(&stall->server, 0, FUSE_READ));
	ASSERT_EQ(0, procmap_send(&stall->child, 0));
	ASSERT_EQ(0, fuse_server_wait_held(&stall->server, 0, FUSE_READ));
	ASSERT_EQ(1, write(stall->target.go[1], "", 1));
	ASSERT_TRUE(stall_gets_stuck(stall->child.pid, tid));

	/* Smaps has to wait after the writer; queries and the text must not. */
	ASSERT_EQ(0, procmap_child_start(&locker.child, reads_smaps, &locker));
	ASSERT_EQ(0, procmap_child_start(&query.child, queries_all, &query));
	ASSERT_EQ(0, stall_wait(&query.child));
	ASSERT_EQ(0, procmap_child_start(&reader.child, reads_text, &reader));
	ASSERT_EQ(0, stall_wait(&reader.child));
	ASSERT_TRUE(stall_gets_stuck(locker.child.pid, locker.child.pid));
	EXPECT_FALSE(stall_has_come(&locker.child));
	EXPECT_EQ('D', stall_state_of(stall->child.pid, tid));

	ASSERT_EQ(0, fuse_server_release(&stall->server, 0, FUSE_READ));
	ASSERT_EQ(0, stall_wait(&locker.child));
	ASSERT_EQ(0, stall_wait(&stall->child));
}

static size_t half_size(void)
{
	return PAGES / 2 * sysconf(_SC_PAGESIZE);
}

/*
 * Maps over the second half of file 0. To close the old mapping, the kernel
 * waits until the inode is written, with mmap_lock held for writing. The kernel
 * has split off the first half, and so has write-locked it.
 */
static int maps_over(struct procmap_child *child, void *arg)
{
	struct target *target = arg;

	if (!HOLDS(map_files(target)) || !HOLDS(tell_maps(child, target)) ||
	    !HOLDS(!procmap_sync(child)))
		return 1;
	return HOLDS(mmap(target->map[0] + half_size(), half_size(), PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) &&
	       HOLDS(!procmap_send(child, 0)) && HOLDS(!procmap_sync(child)) ? 0 : 1;
}

FIXTURE(unmap) {
	struct stall stall;
	struct helper half;
};

/* Start the target. File 0 stops its writer. Without @text, file 1 stops its end, too. */
static int stop_writer(struct stall *stall, struct helper *half, struct maps_text *text)
{
	int ret = start_target(stall, maps_over);

	if (!ret && text)
		ret = maps_text_read(stall->maps, text);
	if (!ret)
		ret = fuse_server_hold_inode(&stall->server, 0);
	if (!ret && !text)
		ret = fuse_server_hold_inode(&stall->server, 1);
	if (!ret)
		ret = stall_send_stuck(&stall->child);
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
	fuse_server_stop(&self->stall.server);
}

TEST_F(unmap, queries_pass_a_stalled_writer_or_wait_killably)
{
	struct stall *stall = &self->stall;
	struct helper killed, waiting, others;
	struct maps_text text;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	ASSERT_EQ(0, stop_writer(stall, &self->half, &text));
	killed = self->half;
	waiting = self->half;
	others = self->half;
	others.end += half_size();

	/* Ask for VMAs that the writer does not touch. */
	ASSERT_EQ(0, procmap_child_start(&others.child, queries_all, &others));
	ASSERT_EQ(0, stall_wait(&others.child));

	/* Ask for a VMA that the writer has write-locked. */
	ASSERT_EQ(0, procmap_child_start(&waiting.child, queries_one, &waiting));
	ASSERT_EQ(0, procmap_child_start(&killed.child, queries_one, &killed));
	ASSERT_TRUE(stall_gets_stuck(killed.child.pid, killed.child.pid));
	ASSERT_TRUE(stall_gets_stuck(waiting.child.pid, waiting.child.pid));
	ASSERT_EQ(256 + SIGKILL, stall_kill(&killed.child));
	ASSERT_TRUE(stall_gets_stuck(waiting.child.pid, waiting.child.pid));
	EXPECT_FALSE(stall_has_come(&waiting.child));

	ASSERT_EQ(0, fuse_server_release(&stall->server, 0, FUSE_SETATTR));
	ASSERT_EQ(0, stall_wait(&waiting.child));
	ASSERT_TRUE(stall_comes(&stall->child));
	ASSERT_EQ(0, procmap_sync(&stall->child));
	EXPECT_EQ(0, procmap_child_finish(&stall->child));
}

/*
 * A query that has got the lock, but gets no processor. It comes back when the
 * target has no user left. What it finds may be from before that.
 */
static int queries_slowly(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	struct procmap_call call;
	int ret;

	if (!HOLDS(!procmap_pin(0)) || !HOLDS(!stall_idle()))
		return 1;
	ret = stall_ask(helper->maps, (unsigned long)helper->addr, 0, &call);
	if (ret == -ESRCH)
		return 0;
	return HOLDS(!ret) && HOLDS(call.q.vma_start == (unsigned long)helper->addr) ? 0 : 1;
}

/* The same for the text, which ends early when the target has no user left. */
static int reads_slowly(struct procmap_child *child, void *arg)
{
	const struct helper *helper = arg;
	static char space[TEXT_ROOM];
	ssize_t got;

	if (!HOLDS(!procmap_pin(0)) || !HOLDS(!stall_idle()))
		return 1;
	got = procmap_read_all(helper->maps, space, sizeof(space));
	return HOLDS(got > 0 || got == -ESRCH) ? 0 : 1;
}

/* Has the target no user left? A query that comes then must not wait. */
static bool has_no_user(const struct stall *stall, const struct helper *half)
{
	struct procmap_call call;

	return stall_ask(stall->maps, (unsigned long)half->addr, 0, &call) == -ESRCH;
}

/*
 * Kill the target while a query and a reader of the text wait for its writer,
 * and get no processor until it has no user left, or has ended without having
 * been the last. Both have to come back. Returns 0 or -errno.
 */
static int kill_beside_readers(struct stall *stall, struct helper *half, struct helper *reader)
{
	struct procmap_child hogs[NR_HOGS];
	int ret, i;

	for (i = 0; i < NR_HOGS; i++) {
		ret = stall_start_hog(&hogs[i]);
		if (ret)
			return ret;
	}
	ret = kill(stall->child.pid, SIGKILL) ? -errno : 0;
	if (!ret)
		ret = fuse_server_release(&stall->server, 0, FUSE_SETATTR);
	if (!ret && !UNTIL(has_no_user(stall, half) || stall_is_dead(stall->child.pid)))
		ret = -ETIMEDOUT;
	for (i = 0; i < NR_HOGS; i++)
		procmap_child_kill(&hogs[i]);
	if (!ret && (!stall_comes(&half->child) || !stall_comes(&reader->child)))
		ret = -ETIMEDOUT;
	return ret;
}

/*
 * Neither a query nor a read of the text makes its caller a user of the address
 * space. So a process that dies tears down its address space itself.
 */
TEST_F(unmap, a_process_tears_its_address_space_down_itself)
{
	struct stall *stall = &self->stall;
	struct helper *half = &self->half, reader;
	struct procmap_call call;
	int tries;
	char byte;

	if (!stall_has_vma_locks())
		SKIP(return, "%s: kernel without per-VMA locks", _metadata->name);
	for (tries = 0; tries < TEARDOWN_TRIES; tries++) {
		if (tries)
			ASSERT_EQ(0, stall_setup(stall));
		ASSERT_EQ(0, stop_writer(stall, half, NULL));
		ASSERT_EQ(0, procmap_child_start(&half->child, queries_slowly, half));
		ASSERT_TRUE(stall_gets_stuck(half->child.pid, half->child.pid));
		reader = *half;
		ASSERT_EQ(0, procmap_child_start(&reader.child, reads_slowly, &reader));
		ASSERT_TRUE(stall_gets_stuck(reader.child.pid, reader.child.pid));
		ASSERT_EQ(0, kill_beside_readers(stall, half, &reader));
		ASSERT_EQ(0, procmap_child_wait(&half->child));
		ASSERT_EQ(0, procmap_child_wait(&reader.child));
		/*
		 * The target itself waits for the server, and does not end. A
		 * query that comes now must not wait, and the text is empty.
		 */
		ASSERT_TRUE(stall_hangs_dying(stall->child.pid));
		EXPECT_EQ(-ESRCH, stall_ask(stall->maps, (unsigned long)half->addr, 0, &call));
		EXPECT_EQ(-ESRCH, stall_ask(stall->maps, 0, PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
					    &call));
		EXPECT_EQ(0, pread(stall->maps, &byte, 1, 0));
		ASSERT_EQ(0, fuse_server_release(&stall->server, 1, FUSE_SETATTR));
		ASSERT_EQ(256 + SIGKILL, procmap_child_wait(&stall->child));
		close(stall->maps);
		fuse_server_stop(&stall->server);
	}
}

TEST_HARNESS_MAIN
