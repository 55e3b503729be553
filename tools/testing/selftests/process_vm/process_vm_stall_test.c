// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is not available without waiting: with PROCESS_VM_NOWAIT every
 * call returns at once. Without flags it waits, as before.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pvm_harness.h"
#include "victim.h"

PROCMAP_REQUIRE(geteuid() ? "userfaultfd, swapon() and FUSE here need root" : NULL)

FIXTURE(stall) {
	struct victim victim;
	const char *lacks;
};

FIXTURE_VARIANT(stall) {
	const struct victim_kind *kind;
};

FIXTURE_VARIANT_ADD(stall, uffd_missing) { .kind = &victim_uffd_missing };
FIXTURE_VARIANT_ADD(stall, uffd_missing_shmem) { .kind = &victim_uffd_missing_shmem };
FIXTURE_VARIANT_ADD(stall, uffd_minor) { .kind = &victim_uffd_minor };
FIXTURE_VARIANT_ADD(stall, uffd_wp) { .kind = &victim_uffd_wp };
FIXTURE_VARIANT_ADD(stall, fuse_page) { .kind = &victim_fuse_page };
FIXTURE_VARIANT_ADD(stall, fuse_cached) { .kind = &victim_fuse_cached };
FIXTURE_VARIANT_ADD(stall, fuse_cached_private) { .kind = &victim_fuse_cached_private };
FIXTURE_VARIANT_ADD(stall, fuse_clean) { .kind = &victim_fuse_clean };
FIXTURE_VARIANT_ADD(stall, fuse_queue) { .kind = &victim_fuse_queue };
FIXTURE_VARIANT_ADD(stall, fuse_reading) { .kind = &victim_fuse_reading };
FIXTURE_VARIANT_ADD(stall, locked_unmapped) { .kind = &victim_locked_unmapped };
FIXTURE_VARIANT_ADD(stall, locked_private) { .kind = &victim_locked_private };
FIXTURE_VARIANT_ADD(stall, locked_mapped) { .kind = &victim_locked_mapped };
FIXTURE_VARIANT_ADD(stall, writeback) { .kind = &victim_writeback };
FIXTURE_VARIANT_ADD(stall, swapped) { .kind = &victim_swapped };
FIXTURE_VARIANT_ADD(stall, swap_cached) { .kind = &victim_swap_cached };
FIXTURE_VARIANT_ADD(stall, mmap_written) { .kind = &victim_mmap_written };
FIXTURE_VARIANT_ADD(stall, mmap_queued) { .kind = &victim_mmap_queued };
FIXTURE_VARIANT_ADD(stall, mmap_read) { .kind = &victim_mmap_read };
FIXTURE_VARIANT_ADD(stall, exec) { .kind = &victim_exec };
FIXTURE_VARIANT_ADD(stall, exec_old_mm) { .kind = &victim_exec_old_mm };

FIXTURE_SETUP(stall)
{
	const struct victim_kind *kind = variant->kind;

	self->lacks = kind->lacks ? kind->lacks() : NULL;
	if (!self->lacks)
		ASSERT_EQ(0, victim_start(&self->victim, kind));
}

FIXTURE_TEARDOWN(stall)
{
	if (!self->lacks)
		victim_stop(&self->victim);
}

static struct pvm_io io_of(const struct victim *victim, bool write, unsigned long flags)
{
	return (struct pvm_io) {
		.write = write,
		.pid = victim->pid,
		.flags = flags,
		.remote = { { .iov_base = victim->addr, .iov_len = 1 } },
		.nr = 1,
		.byte = VICTIM_BYTE,
	};
}

/* Make a call in a process of its own. Returns its result, or -ETIMEDOUT if it hangs. */
static long result_of(const struct pvm_io *io)
{
	struct pvm_attempt attempt;
	long ret = -ETIMEDOUT;

	if (!HOLDS(!pvm_attempt_start(&attempt, io)))
		return -ENOMEM;
	if (pvm_attempt_returns(&attempt))
		ret = attempt.outcome->ret;
	return HOLDS(!pvm_attempt_end(&attempt)) ? ret : -ETIMEDOUT;
}

TEST_F(stall, NOWAIT_returns)
{
	struct pvm_attempt attempt;
	struct pvm_io io;
	int write, round;

	if (self->lacks)
		SKIP(return, "%s: %s", _metadata->name, self->lacks);
	for (round = 0; round < 3; round++) {
		for (write = VICTIM_READ; write <= VICTIM_WRITE; write++) {
			io = io_of(&self->victim, write, PROCESS_VM_NOWAIT);
			ASSERT_EQ(0, pvm_attempt_start(&attempt, &io));
			ASSERT_TRUE(pvm_attempt_returns(&attempt));
			EXPECT_EQ(variant->kind->nowait[write], attempt.outcome->ret);
			if (!write)
				EXPECT_EQ(attempt.outcome->ret == 1 ? VICTIM_BYTE : PROCMAP_POISON,
					  attempt.outcome->data[0]);
			EXPECT_TRUE(pvm_all(attempt.outcome->data + 1,
					    write ? VICTIM_BYTE : PROCMAP_POISON, PVM_SPACE - 1));
			EXPECT_EQ(0, pvm_attempt_end(&attempt));
		}
	}
}

/*
 * A write that ends at the byte leaves the page table as it is. What is EAGAIN
 * has its mmap_lock held, which the pagemap file would wait for.
 */
TEST_F(stall, NOWAIT_write_that_fails_maps_nothing)
{
	struct victim *victim = &self->victim;
	struct pvm_io io;
	__u64 before;

	if (self->lacks)
		SKIP(return, "%s: %s", _metadata->name, self->lacks);
	if (variant->kind->nowait[VICTIM_WRITE] != -EFAULT)
		return;
	before = pvm_pagemap_of(victim->pid, victim->addr);
	io = io_of(victim, VICTIM_WRITE, PROCESS_VM_NOWAIT);
	ASSERT_EQ(-EFAULT, result_of(&io));
	EXPECT_EQ(before, pvm_pagemap_of(victim->pid, victim->addr));
}

/* A call copies what precedes the byte that would wait, whether both are in one piece or not. */
TEST_F(stall, NOWAIT_returns_a_short_count_where_something_can_be_had)
{
	size_t before = variant->kind->prefix ? 100 : 0;
	struct pvm_attempt attempt;
	struct pvm_io io;
	int write, pieces;

	if (self->lacks)
		SKIP(return, "%s: %s", _metadata->name, self->lacks);
	for (write = VICTIM_READ; write <= VICTIM_WRITE; write++) {
		int once = variant->kind->nowait[write];
		long expected = once == 1 ? before + 50 : before ? before : once;

		for (pieces = 1; pieces <= 2; pieces++) {
			io = io_of(&self->victim, write, PROCESS_VM_NOWAIT);
			io.remote[0].iov_base = self->victim.addr - before;
			io.remote[0].iov_len = pieces == 1 ? before + 50 : before;
			io.remote[1].iov_base = self->victim.addr;
			io.remote[1].iov_len = 50;
			io.nr = pieces;
			ASSERT_EQ(0, pvm_attempt_start(&attempt, &io));
			ASSERT_TRUE(pvm_attempt_returns(&attempt));
			EXPECT_EQ(expected, attempt.outcome->ret);
			if (!write && expected > 0) {
				EXPECT_TRUE(pvm_all(attempt.outcome->data, VICTIM_BYTE, expected));
				EXPECT_TRUE(pvm_all(attempt.outcome->data + expected,
						    PROCMAP_POISON, PVM_SPACE - expected));
			}
			EXPECT_EQ(0, pvm_attempt_end(&attempt));
		}
	}
}

TEST_F(stall, without_flags_it_waits_as_before)
{
	struct pvm_attempt attempt[2];
	bool changed = variant->kind->replaced;
	struct pvm_io io;
	int write;

	if (self->lacks)
		SKIP(return, "%s: %s", _metadata->name, self->lacks);
	for (write = VICTIM_READ; write <= VICTIM_WRITE; write++) {
		io = io_of(&self->victim, write, 0);
		ASSERT_EQ(0, pvm_attempt_start(&attempt[write], &io));
		EXPECT_TRUE(variant->kind->waits[write] ? pvm_attempt_sleeps(&attempt[write]) :
			    pvm_attempt_returns(&attempt[write]));
	}
	/* What sleeps does so until the release. */
	for (write = VICTIM_READ; write <= VICTIM_WRITE; write++)
		EXPECT_EQ(!variant->kind->waits[write], stall_has_come(&attempt[write].child));
	ASSERT_EQ(0, variant->kind->release(&self->victim));
	for (write = VICTIM_READ; write <= VICTIM_WRITE; write++) {
		ASSERT_TRUE(pvm_attempt_returns(&attempt[write]));
		if (!changed)
			EXPECT_EQ(1, attempt[write].outcome->ret);
		if (!changed && !write && variant->kind != &victim_uffd_missing &&
		    variant->kind != &victim_uffd_missing_shmem)
			EXPECT_EQ(VICTIM_BYTE, attempt[write].outcome->data[0]);
		EXPECT_EQ(0, pvm_attempt_end(&attempt[write]));
	}
}

/* PROCESS_VM_PIDFD alone waits for an execve(). A signal can kill it there. */
TEST(a_call_that_is_killed_is_EINTR)
{
	struct pvm_attempt attempt;
	struct victim victim;
	struct pvm_io io;

	ASSERT_EQ(0, victim_start(&victim, &victim_exec));
	io = io_of(&victim, false, PROCESS_VM_PIDFD);
	io.pid = syscall(__NR_pidfd_open, victim.pid, 0);
	ASSERT_LE(0, io.pid);
	ASSERT_EQ(0, pvm_attempt_start(&attempt, &io));
	EXPECT_TRUE(pvm_attempt_sleeps(&attempt));
	EXPECT_EQ(-EINTR, procmap_child_kill_in_call(&attempt.child));
	EXPECT_EQ(0, victim.kind->release(&victim));
	victim_stop(&victim);
}

/*
 * NOWAIT does not even start a read. The kernel counts one as soon as it is
 * started, before the device, and the server that has it, hear of it.
 */
TEST(NOWAIT_swaps_nothing_in)
{
	struct pvm_attempt attempt;
	struct victim victim;
	struct pvm_io io;
	long before;
	int i;

	ASSERT_EQ(0, victim_start(&victim, &victim_swapped));
	before = stall_count("pswpin");
	ASSERT_LE(0, before);
	for (i = 0; i < 10; i++) {
		io = io_of(&victim, i & 1, PROCESS_VM_NOWAIT);
		ASSERT_EQ(-EFAULT, result_of(&io));
	}
	EXPECT_EQ(before, stall_count("pswpin"));
	/* A call that may wait is counted. What is held may be the read of another, as of udev. */
	io = io_of(&victim, false, 0);
	ASSERT_EQ(0, pvm_attempt_start(&attempt, &io));
	EXPECT_EQ(0, fuse_server_wait_held(&victim.server, 0, FUSE_READ));
	EXPECT_TRUE(UNTIL(before < stall_count("pswpin")));
	EXPECT_EQ(0, victim.kind->release(&victim));
	EXPECT_TRUE(pvm_attempt_returns(&attempt));
	EXPECT_EQ(1, attempt.outcome->ret);
	EXPECT_EQ(0, pvm_attempt_end(&attempt));
	victim_stop(&victim);
}

/*
 * A page that the victim has just written to is mapped writable, until the
 * kernel writes it back, which may be at any time.
 */
TEST(NOWAIT_writes_a_dirty_page_of_a_file)
{
	const char byte = VICTIM_BYTE + 1;
	unsigned int looks = 0;
	struct victim victim;
	char seen = 0;
	long ret;

	ASSERT_EQ(0, victim_start(&victim, &victim_dirty));
	do {
		ASSERT_EQ(0, victim_dirty_page(&victim));
		ret = pvm_copy(true, victim.pid, victim.addr, &byte, 1, PROCESS_VM_NOWAIT);
	} while (ret == -EFAULT && procmap_look_again(&looks));
	EXPECT_EQ(1, ret);
	EXPECT_EQ(1, pvm_peek(victim.pid, victim.addr, &seen, 1));
	EXPECT_EQ(byte, seen);
	victim_stop(&victim);
}

#define FAR		(64 * 4096)
#define NR_FAR_PAGES	64

static int has_large_file(struct procmap_child *child, void *arg)
{
	struct victim *victim = arg;
	char *map = victim_map_file(victim, NULL, victim->file_size, MAP_SHARED);

	return HOLDS(map) ? procmap_tell(child, (unsigned long)map) : 1;
}

/* An ordinary user could otherwise do this: let the caller itself fill the queue of a server. */
TEST(NOWAIT_reads_nothing_ahead)
{
	struct victim victim = { .file = -1, .loop = -1, .go = { -1, -1 } };
	struct pvm_io io;
	int i, file;

	ASSERT_EQ(0, victim_serve(&victim, NR_FAR_PAGES * FAR / sysconf(_SC_PAGESIZE),
				  FUSE_ASYNC_READ));
	ASSERT_EQ(0, victim_run(&victim, has_large_file));
	ASSERT_EQ(0, fuse_server_stall(&victim.server, 0, FUSE_READ));
	for (i = 0; i < NR_FAR_PAGES; i++) {
		io = io_of(&victim, false, PROCESS_VM_NOWAIT);
		io.remote[0].iov_base = victim.addr + i * FAR;
		ASSERT_EQ(-EFAULT, result_of(&io)) {
			TH_LOG("page %d", i);
		}
	}
	/* The server gets requests in order: with this one, it has all earlier ones. */
	file = fuse_server_open(&victim.server, 0, O_RDONLY);
	EXPECT_LE(0, file);
	EXPECT_EQ(0, fuse_server_count(&victim.server, 0, FUSE_READ));
	close(file);
	victim_stop(&victim);
}

TEST_HARNESS_MAIN
