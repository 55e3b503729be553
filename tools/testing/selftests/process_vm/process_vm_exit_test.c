// SPDX-License-Identifier: GPL-2.0
/*
 * Targets that die during a call. With PROCESS_VM_NOWAIT the caller never tears
 * the address space down, however large it is and whatever that has to wait
 * for.
 */
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pvm_harness.h"
#include "stall.h"
#include "victim.h"

/* One call copies so much that the target dies before the call ends. */
#define PIECE		0x100000UL
#define NR_PIECES	512
#define TRIES		10

/*
 * Spend at most VMAS_NS on making VMAs: a debug kernel may walk over all of
 * them at each change.
 */
#define MIN_VMAS	2000
#define MAX_VMAS	8000
#define VMAS_NS		5000000000ULL
#define LARGE		(256UL << 20)
#define NR_READERS	2
#define ROUNDS		4

static void __attribute__((constructor)) exit_require(void)
{
	if (geteuid())
		ksft_exit_skip("mounting FUSE here needs root\n");
}

/* All processes share this memory. */
struct shared {
	long ret;
	__u64 calls;
	__u64 worst;
	char buffer[PIECE];
};

static struct shared *share_memory(size_t nr)
{
	struct shared *shared = mmap(NULL, nr * sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

/* To unmap this file, the kernel must wait for the server. */
static int has_file(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	char *file = victim_map_file(victim, NULL, sysconf(_SC_PAGESIZE), MAP_SHARED);
	char *addr = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!HOLDS(file) || !HOLDS(addr != MAP_FAILED))
		return 1;
	memset(addr, VICTIM_BYTE, PIECE);
	if (!HOLDS(!procmap_send(child, (unsigned long)addr)))
		return 1;
	for (;;)
		pause();
}

struct reader {
	struct procmap_child child;
	const struct victim *victim;
	unsigned long flags;
	struct shared *shared;
};

static int reads_for_long(struct procmap_child *child, void *arg)
{
	struct reader *reader = arg;
	struct iovec local[NR_PIECES], remote[NR_PIECES];
	struct pvm_call call = {
		.pid = reader->victim->pid, .flags = reader->flags,
		.local = local, .nr_local = NR_PIECES, .remote = remote, .nr_remote = NR_PIECES,
	};
	char *buffer = reader->shared->buffer;
	long ret;
	int i;

	for (i = 0; i < NR_PIECES; i++) {
		local[i] = (struct iovec) { buffer, PIECE };
		remote[i] = (struct iovec) { reader->victim->addr, PIECE };
	}
	ret = pvm_call(&call);
	reader->shared->ret = ret;
	return HOLDS(ret > 0) &&
	       HOLDS(pvm_all(buffer, VICTIM_BYTE, ret < PIECE ? ret : PIECE)) ? 0 : 1;
}

FIXTURE(last) {
	struct victim victim;
	struct reader reader;
};

FIXTURE_VARIANT(last) {
	unsigned long flags;
};

FIXTURE_VARIANT_ADD(last, NOWAIT) {
	.flags = PROCESS_VM_NOWAIT,
};

FIXTURE_VARIANT_ADD(last, without_flags) {
	.flags = 0,
};

FIXTURE_SETUP(last)
{
	memset(&self->victim, 0, sizeof(self->victim));
	self->victim.file = -1;
	self->victim.loop = -1;
	self->reader.victim = &self->victim;
	self->reader.flags = variant->flags;
	self->reader.shared = share_memory(1);
	ASSERT_NE(NULL, self->reader.shared);
}

FIXTURE_TEARDOWN(last)
{
}

/*
 * Is it a zombie? It does not become one if it must tear down its address space
 * itself, because that stalls. Do not read its stat file: a reader of that may
 * have to tear the address space down.
 */
static bool is_dead(pid_t pid)
{
	int waited;

	for (waited = 0; waited < 10 * PVM_NEVER_MS; waited += 10) {
		siginfo_t info = { 0 };

		if (!waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid)
			return true;
		usleep(10000);
	}
	return false;
}

/* Kill the target while the reader is copying. */
static int kill_target(struct victim *victim, struct reader *reader)
{
	int ret = victim_serve(victim, 1, 0);

	if (!ret)
		ret = victim_run(victim, has_file);
	if (!ret)
		ret = fuse_server_hold_inode(&victim->server, 0, PVM_SOON_MS);
	memset(reader->shared, 0, sizeof(*reader->shared));
	if (!ret)
		ret = procmap_child_start(&reader->child, reads_for_long, reader);
	if (ret)
		return ret;
	while (!__atomic_load_n(&reader->shared->buffer[0], __ATOMIC_ACQUIRE))
		usleep(100);
	return kill(victim->pid, SIGKILL) ? -errno : 0;
}

/*
 * Let the server answer: the target ends, and a process that waits for it goes
 * on.
 */
static void let_it_end(struct __test_metadata *_metadata, struct victim *victim,
		       struct reader *reader)
{
	ASSERT_EQ(0, fuse_server_release(&victim->server, 0, FUSE_SETATTR));
	ASSERT_TRUE(pvm_comes(&reader->child, PVM_SOON_MS));
	ASSERT_EQ(0, procmap_child_wait(&reader->child));
	victim_stop(victim);
	victim->child_runs = false;
	victim->server_runs = false;
}

TEST_F_TIMEOUT(last, the_caller_tears_down_the_address_space_only_without_flags, 240)
{
	struct victim *victim = &self->victim;
	struct reader *reader = &self->reader;
	bool last = false;
	int tries;

	for (tries = 0; tries < TRIES && !last && !variant->flags; tries++) {
		ASSERT_EQ(0, kill_target(victim, reader));
		last = is_dead(victim->pid);
		if (last)
			EXPECT_FALSE(pvm_comes(&reader->child, 6 * PVM_NEVER_MS));
		let_it_end(_metadata, victim, reader);
		ASSERT_EQ(PIECE * NR_PIECES, reader->shared->ret);
	}
	/* Otherwise each call was over before its target was dead. */
	EXPECT_EQ(!variant->flags, last);
}

/*
 * The target itself waits for the server, and the call finds the memory gone.
 */
TEST_F_TIMEOUT(last, with_NOWAIT_the_target_does_and_ends_the_call, 240)
{
	struct victim *victim = &self->victim;
	struct reader *reader = &self->reader;
	bool early = false;
	int tries;

	if (!variant->flags)
		return;
	for (tries = 0; tries < TRIES; tries++) {
		ASSERT_EQ(0, kill_target(victim, reader));
		EXPECT_FALSE(is_dead(victim->pid));
		EXPECT_TRUE(pvm_comes(&reader->child, PVM_SOON_MS));
		let_it_end(_metadata, victim, reader);
		ASSERT_LT(0, reader->shared->ret);
		early = early || reader->shared->ret < PIECE * NR_PIECES;
	}
	EXPECT_TRUE(early);
}

/* Large in each way: many VMAs and many pages. */
static int is_large(struct procmap_child *child, void *arg)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 end;
	size_t i;

	if (!HOLDS(large != MAP_FAILED))
		return 1;
	for (i = 0; i < LARGE; i += page)
		large[i] = VICTIM_BYTE;
	end = pvm_now() + VMAS_NS;
	for (i = 1; i < MAX_VMAS && (i < MIN_VMAS || pvm_now() < end); i += 2)
		if (!HOLDS(!mprotect(large + i * page, page, PROT_READ)))
			return 1;
	if (!HOLDS(!procmap_send(child, (unsigned long)large)))
		return 1;
	for (;;)
		pause();
}

static int reads_until_it_is_gone(struct procmap_child *child, void *arg)
{
	struct reader *reader = arg;
	struct shared *shared = reader->shared;
	const struct victim *victim = reader->victim;
	char byte;

	do {
		__u64 start = pvm_now(), took;

		shared->ret = pvm_copy(false, victim->pid, victim->addr, &byte, 1, reader->flags);
		took = pvm_now() - start;
		if (took > shared->worst)
			shared->worst = took;
		__atomic_store_n(&shared->calls, shared->calls + 1, __ATOMIC_RELEASE);
		if (shared->ret == 1 && !HOLDS(byte == VICTIM_BYTE))
			return 1;
	} while (shared->ret == 1 || shared->ret == -EAGAIN);
	return HOLDS(shared->ret == -ESRCH) ? 0 : 1;
}

TEST_F_TIMEOUT(last, calls_that_race_with_the_death_of_a_large_target_return, 240)
{
	struct victim *victim = &self->victim;
	struct reader readers[NR_READERS];
	struct shared *shared = share_memory(NR_READERS);
	const int rounds = stall_scaled(ROUNDS);
	__u64 calls = 0, worst = 0;
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
			ASSERT_TRUE(pvm_comes(&readers[i].child, PVM_SOON_MS));
			EXPECT_EQ(0, procmap_child_wait(&readers[i].child));
			calls += shared[i].calls;
			if (shared[i].worst > worst)
				worst = shared[i].worst;
		}
	}
	TH_LOG("%llu calls beside the death of up to %d VMAs and %lu MiB: worst %llu us",
	       calls, MAX_VMAS, LARGE >> 20, worst / 1000);
}

TEST_HARNESS_MAIN
