// SPDX-License-Identifier: GPL-2.0
/*
 * Targets that die during a call. With PROCESS_VM_NOWAIT the caller never tears
 * the address space down, however large it is and whatever that has to wait
 * for. The target waits for no caller that is not on a processor, and for nobody else
 * before it has freed its memory.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pvm_harness.h"
#include "victim.h"

/* A call copies the pieces one after the other. The second one goes to late memory. */
#define PIECE		4096UL
#define NR_PIECES	3

#define NR_VMAS		8000
#define LARGE		(256UL << 20)
#define NR_READERS	2
#define ROUNDS		4

PROCMAP_REQUIRE(geteuid() ? "mounting FUSE here needs root" : NULL)

/* All processes share this memory. */
struct shared {
	long ret;
	__u64 calls;
	char buffer[PIECE];
};

/* To unmap this file, the kernel must wait for the server. */
static int has_file(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	char *file = victim_map_file(victim, NULL, sysconf(_SC_PAGESIZE), MAP_SHARED);
	char *addr = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!HOLDS(file) || !HOLDS(addr != MAP_FAILED))
		return 1;
	memset(addr, VICTIM_BYTE, PIECE);
	return procmap_tell(child, (unsigned long)addr);
}

struct reader {
	struct procmap_child child;
	const struct victim *victim;
	unsigned long flags;
	struct shared *shared;
	struct fuse_server late;
};

static int reads_into_late_memory(struct procmap_child *child, void *arg)
{
	struct reader *reader = arg;
	struct iovec local[NR_PIECES], remote[NR_PIECES];
	struct pvm_call call = {
		.pid = reader->victim->pid, .flags = reader->flags,
		.local = local, .nr_local = NR_PIECES, .remote = remote, .nr_remote = NR_PIECES,
	};
	int i, fd = fuse_server_open(&reader->late, 0, O_RDWR);
	char *late = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char *buffer = reader->shared->buffer;
	long ret;

	if (!HOLDS(late != MAP_FAILED))
		return 1;
	for (i = 0; i < NR_PIECES; i++) {
		local[i] = (struct iovec) { i == 1 ? late : buffer, PIECE };
		remote[i] = (struct iovec) { reader->victim->addr, PIECE };
	}
	ret = pvm_call(&call);
	reader->shared->ret = ret;
	return HOLDS(ret >= 2 * PIECE) && HOLDS(pvm_all(buffer, VICTIM_BYTE, PIECE)) &&
	       HOLDS(pvm_all(late, VICTIM_BYTE, PIECE)) ? 0 : 1;
}

FIXTURE(last) {
	struct victim victim;
	struct reader reader;
};

FIXTURE_VARIANT(last) {
	unsigned long flags;
};

FIXTURE_VARIANT_ADD(last, NOWAIT) { .flags = PROCESS_VM_NOWAIT };
FIXTURE_VARIANT_ADD(last, without_flags) { .flags = 0 };

FIXTURE_SETUP(last)
{
	self->victim = (struct victim) { .file = -1, .loop = -1 };
	self->reader.victim = &self->victim;
	self->reader.flags = variant->flags;
	self->reader.shared = procmap_share(sizeof(struct shared));
	ASSERT_NE(NULL, self->reader.shared);
}

FIXTURE_TEARDOWN(last)
{
}

/* Kill the target while the reader is in the middle of its call. */
static int kill_target(struct victim *victim, struct reader *reader)
{
	struct fuse_server_file file = { .size = PIECE };
	int ret = fuse_server_start(&reader->late, &file, 1, 0) ?:
		  fuse_server_stall(&reader->late, 0, FUSE_READ) ?:
		  victim_serve(victim, 1, 0) ?:
		  victim_run(victim, has_file) ?:
		  fuse_server_hold_inode(&victim->server, 0) ?:
		  procmap_child_start(&reader->child, reads_into_late_memory, reader) ?:
		  fuse_server_wait_held(&reader->late, 0, FUSE_READ);

	if (ret)
		return ret;
	return kill(victim->pid, SIGKILL) ? -errno : 0;
}

/* Let the server answer: the target ends, and a process that waits for it goes on. */
static void let_it_end(struct __test_metadata *_metadata, struct victim *victim,
		       struct reader *reader)
{
	ASSERT_EQ(0, fuse_server_release(&victim->server, 0, FUSE_SETATTR));
	ASSERT_TRUE(stall_comes(&reader->child));
	ASSERT_EQ(0, procmap_child_wait(&reader->child));
	victim_stop(victim);
	fuse_server_stop(&reader->late);
	victim->child_runs = false;
	victim->server_runs = false;
}

/*
 * The target ends without its address space, which the caller still uses. The
 * caller then has to wait for the server.
 */
TEST_F(last, the_caller_tears_down_the_address_space_only_without_flags)
{
	struct victim *victim = &self->victim;
	struct reader *reader = &self->reader;

	if (variant->flags)
		return;
	ASSERT_EQ(0, kill_target(victim, reader));
	EXPECT_TRUE(UNTIL(stall_is_dead(victim->pid)));
	/* The late memory comes: the reader goes on with its call. */
	ASSERT_EQ(0, fuse_server_release(&reader->late, 0, FUSE_READ));
	EXPECT_TRUE(pvm_sleeps_in(reader->child.pid, reader->child.pid, "writeback"));
	EXPECT_FALSE(stall_has_come(&reader->child));
	let_it_end(_metadata, victim, reader);
	EXPECT_EQ(NR_PIECES * PIECE, reader->shared->ret);
}

/* The target itself waits for the server, and the call finds the memory gone. */
TEST_F(last, with_NOWAIT_the_target_does_and_ends_the_call)
{
	struct victim *victim = &self->victim;
	struct reader *reader = &self->reader;

	if (!variant->flags)
		return;
	ASSERT_EQ(0, kill_target(victim, reader));
	EXPECT_TRUE(pvm_sleeps_in(victim->pid, victim->pid, "writeback"));
	EXPECT_FALSE(stall_is_dead(victim->pid));
	ASSERT_EQ(0, fuse_server_release(&reader->late, 0, FUSE_READ));
	EXPECT_TRUE(stall_comes(&reader->child));
	EXPECT_FALSE(stall_is_dead(victim->pid));
	let_it_end(_metadata, victim, reader);
	EXPECT_EQ(2 * PIECE, reader->shared->ret);
}

/* Large in each way: many VMAs and many pages. */
static int is_large(struct procmap_child *child, void *arg)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i, vmas = stall_vmas(NR_VMAS);

	if (!HOLDS(large != MAP_FAILED))
		return 1;
	for (i = 0; i < LARGE; i += page)
		large[i] = VICTIM_BYTE;
	for (i = 1; i < vmas; i += 2)
		if (!HOLDS(!mprotect(large + i * page, page, PROT_READ)))
			return 1;
	return procmap_tell(child, (unsigned long)large);
}

static int reads_until_it_is_gone(struct procmap_child *child, void *arg)
{
	struct reader *reader = arg;
	struct shared *shared = reader->shared;
	const struct victim *victim = reader->victim;
	char byte;

	do {
		shared->ret = pvm_copy(false, victim->pid, victim->addr, &byte, 1, reader->flags);
		__atomic_store_n(&shared->calls, shared->calls + 1, __ATOMIC_RELEASE);
		if (shared->ret == 1 && !HOLDS(byte == VICTIM_BYTE))
			return 1;
	} while (shared->ret == 1 || shared->ret == -EAGAIN);
	return HOLDS(shared->ret == -ESRCH) ? 0 : 1;
}

TEST_F(last, calls_that_race_with_the_death_of_a_large_target_return)
{
	struct victim *victim = &self->victim;
	struct reader readers[NR_READERS];
	struct shared *shared = procmap_share(NR_READERS * sizeof(struct shared));
	const int rounds = stall_scaled(ROUNDS);
	__u64 calls = 0;
	int round, i;

	ASSERT_NE(NULL, shared);
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, victim_run(victim, is_large));
		memset(shared, 0, NR_READERS * sizeof(*shared));
		for (i = 0; i < NR_READERS; i++) {
			readers[i] = self->reader;
			readers[i].shared = &shared[i];
			ASSERT_EQ(0, procmap_child_start(&readers[i].child, reads_until_it_is_gone,
							 &readers[i]));
		}
		for (i = 0; i < NR_READERS; i++)
			while (!__atomic_load_n(&shared[i].calls, __ATOMIC_ACQUIRE))
				usleep(1000);
		ASSERT_EQ(256 + SIGKILL, procmap_child_kill(&victim->child));
		victim->child_runs = false;
		for (i = 0; i < NR_READERS; i++) {
			ASSERT_TRUE(stall_comes(&readers[i].child));
			EXPECT_EQ(0, procmap_child_wait(&readers[i].child));
			calls += shared[i].calls;
		}
	}
	TH_LOG("%llu calls next to the death of %u VMAs and %lu MiB", calls, stall_vmas(NR_VMAS),
	       LARGE >> 20);
}

#define ATTEMPTS	5

/**
 * struct reaping - a target that is killed, and that somebody reaps with process_mrelease(2)
 * @reaper: gets only what the hog leaves of their processor
 * @anonymous: pages of such memory in the machine, without those of the target
 * @mapped: pages of files and of shared memory that are mapped, without those
 */
struct reaping {
	struct victim victim;
	struct procmap_child reaper, hog;
	long anonymous, mapped;
};

/* Map and fill memory. Huge pages would be reaped at once. EINVAL: there are none. */
static char *fill(int flags)
{
	char *large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (!HOLDS(large != MAP_FAILED) ||
	    !HOLDS(!madvise(large, LARGE, MADV_NOHUGEPAGE) || errno == EINVAL))
		return NULL;
	return memset(large, VICTIM_BYTE, LARGE);
}

/*
 * The reaper takes private memory only. Shared memory is below it: the target frees that first.
 * When the target is killed, the server has its request, and it waits for the answer.
 */
static int hangs_with_memory(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	int fd = fuse_server_open(&victim->server, 0, O_RDWR);
	char *large = fill(MAP_PRIVATE);

	if (!HOLDS(fd >= 0) || !large || !fill(MAP_SHARED))
		return 1;
	return procmap_send(child, (unsigned long)large) || fchmod(fd, 0600);
}

/* EINVAL: the target has not been killed yet. */
static int reaps(struct procmap_child *child, void *arg)
{
	const struct reaping *reaping = arg;
	int pidfd = syscall(__NR_pidfd_open, reaping->victim.pid, 0);
	long ret;

	if (!HOLDS(pidfd >= 0) || !HOLDS(!procmap_pin(0)) || !HOLDS(!stall_idle()))
		return 1;
	do
		ret = syscall(__NR_process_mrelease, pidfd, 0);
	while (ret && errno == EINVAL);
	return HOLDS(!ret) ? 0 : 1;
}

static int start_reaping(struct reaping *reaping)
{
	struct victim *victim = &reaping->victim;

	*victim = (struct victim) { .file = -1, .loop = -1 };
	reaping->anonymous = stall_count("nr_anon_pages");
	reaping->mapped = stall_count("nr_mapped");
	return victim_serve(victim, 1, 0) ?:
	       fuse_server_stall(&victim->server, 0, FUSE_SETATTR) ?:
	       victim_run(victim, hangs_with_memory) ?:
	       fuse_server_wait_held(&victim->server, 0, FUSE_SETATTR) ?:
	       procmap_child_start(&reaping->reaper, reaps, reaping) ?:
	       stall_start_hog(&reaping->hog) ?:
	       (kill(victim->pid, SIGKILL) ? -errno : 0);
}

/* Returns 1 if the target frees before the reaper has ended, 0 if that was faster, or -errno. */
static int frees_first(struct reaping *reaping)
{
	const long large = LARGE / PIECE;
	struct victim *victim = &reaping->victim;
	bool began, freed, first;
	int ret = start_reaping(reaping);

	if (ret)
		return ret;
	began = UNTIL(stall_count("nr_anon_pages") - reaping->anonymous < large / 16 * 15);
	ret = fuse_server_release(&victim->server, 0, FUSE_SETATTR);
	freed = UNTIL(stall_count("nr_mapped") - reaping->mapped < large / 16 * 15);
	first = stall_count("nr_anon_pages") - reaping->anonymous > large / 16;
	if (!HOLDS(stall_kill(&reaping->hog) == 256 + SIGKILL) ||
	    !HOLDS(!stall_wait(&reaping->reaper)))
		ret = -ECHILD;
	victim_stop(victim);
	if (ret)
		return ret;
	return began && freed ? first : -ETIMEDOUT;
}

/* Whoever may see the target may reap it, at idle priority. */
TEST(a_target_frees_its_memory_beside_a_reaper_that_is_kept_off_the_processor)
{
	struct reaping reaping;
	int attempts = ATTEMPTS, ret;

	do
		ret = frees_first(&reaping);
	while (!ret && --attempts);
	EXPECT_EQ(1, ret);
}

TEST_HARNESS_MAIN
