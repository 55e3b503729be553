// SPDX-License-Identifier: GPL-2.0
/* Which flags exist, and in which order a call checks its arguments. */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pvm_harness.h"

#define NR_BITS		((unsigned int)(sizeof(long) * CHAR_BIT))
/* No process has this PID: the largest one is 4194304. */
#define NO_PID		0x7ffffffe

FIXTURE(flags) {
	char source[64];
	char target[64];
	struct iovec local, remote;
	struct pvm_call call;
};

FIXTURE_VARIANT(flags) {
	bool write;
};

FIXTURE_VARIANT_ADD(flags, readv) { .write = false };
FIXTURE_VARIANT_ADD(flags, writev) { .write = true };

/* The call copies @source to @target, both in the caller. */
FIXTURE_SETUP(flags)
{
	memset(self->source, 's', sizeof(self->source));
	memset(self->target, 't', sizeof(self->target));
	self->local.iov_base = variant->write ? self->source : self->target;
	self->local.iov_len = sizeof(self->source);
	self->remote.iov_base = variant->write ? self->target : self->source;
	self->remote.iov_len = sizeof(self->source);
	self->call = (struct pvm_call) {
		.write = variant->write,
		.pid = getpid(),
		.local = &self->local,
		.nr_local = 1,
		.remote = &self->remote,
		.nr_remote = 1,
	};
}

FIXTURE_TEARDOWN(flags)
{
}

TEST_F(flags, a_probe_gets_EFAULT_for_what_is_supported)
{
	static const unsigned long supported[] = {
		0, PROCESS_VM_PIDFD, PROCESS_VM_NOWAIT, PVM_FLAGS,
	};
	static const int pids[] = { 0, 1, -1, NO_PID };
	unsigned int i, j;

	self->call.local = NULL;
	self->call.remote = NULL;
	for (i = 0; i < ARRAY_SIZE(supported); i++) {
		self->call.flags = supported[i];
		self->call.pid = getpid();
		EXPECT_EQ(-EFAULT, pvm_call(&self->call));
		for (j = 0; j < ARRAY_SIZE(pids); j++) {
			self->call.pid = pids[j];
			EXPECT_EQ(-EFAULT, pvm_call(&self->call));
		}
	}
}

TEST_F(flags, a_probe_gets_EINVAL_for_every_other_bit)
{
	unsigned int bit;

	self->call.local = NULL;
	self->call.remote = NULL;
	for (bit = 2; bit < NR_BITS; bit++) {
		self->call.flags = 1UL << bit;
		EXPECT_EQ(-EINVAL, pvm_call(&self->call));
		self->call.flags |= PVM_FLAGS;
		EXPECT_EQ(-EINVAL, pvm_call(&self->call));
	}
	self->call.flags = -1UL;
	EXPECT_EQ(-EINVAL, pvm_call(&self->call));
}

TEST_F(flags, an_unknown_bit_is_EINVAL_and_copies_nothing)
{
	unsigned int bit;

	for (bit = 2; bit < NR_BITS; bit++) {
		self->call.flags = 1UL << bit;
		EXPECT_EQ(-EINVAL, pvm_call(&self->call));
		self->call.flags |= PROCESS_VM_NOWAIT;
		EXPECT_EQ(-EINVAL, pvm_call(&self->call));
	}
	EXPECT_TRUE(pvm_all(self->target, 't', sizeof(self->target)));
}

TEST_F(flags, an_unknown_bit_comes_before_a_process_that_is_not_there)
{
	self->call.pid = NO_PID;
	self->call.flags = PVM_FLAGS + 1;
	EXPECT_EQ(-EINVAL, pvm_call(&self->call));
	self->call.flags = PROCESS_VM_NOWAIT;
	EXPECT_EQ(-ESRCH, pvm_call(&self->call));
	self->call.flags = 0;
	EXPECT_EQ(-ESRCH, pvm_call(&self->call));
	self->call.flags = PROCESS_VM_PIDFD;
	EXPECT_EQ(-EBADF, pvm_call(&self->call));
	EXPECT_TRUE(pvm_all(self->target, 't', sizeof(self->target)));
}

TEST_F(flags, nothing_to_copy_is_0_with_every_flag)
{
	static const unsigned long flags[] = { 0, PROCESS_VM_NOWAIT };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		self->call.flags = flags[i];
		self->call.nr_local = 0;
		EXPECT_EQ(0, pvm_call(&self->call));
		self->call.nr_local = 1;
		self->call.nr_remote = 0;
		EXPECT_EQ(0, pvm_call(&self->call));
		self->call.nr_remote = 1;
		self->local.iov_len = 0;
		EXPECT_EQ(0, pvm_call(&self->call));
		self->local.iov_len = sizeof(self->target);
		self->remote.iov_len = 0;
		EXPECT_EQ(0, pvm_call(&self->call));
		self->remote.iov_len = sizeof(self->target);
	}
	EXPECT_TRUE(pvm_all(self->target, 't', sizeof(self->target)));
}

TEST_F(flags, too_many_pieces_are_EINVAL_with_every_flag)
{
	static const unsigned long flags[] = { 0, PROCESS_VM_NOWAIT, PROCESS_VM_PIDFD };
	struct iovec many[IOV_MAX + 1];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = self->local;
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		self->call.flags = flags[i];
		self->call.local = many;
		self->call.nr_local = ARRAY_SIZE(many);
		EXPECT_EQ(-EINVAL, pvm_call(&self->call));
		self->call.local = &self->local;
		self->call.nr_local = 1;
		self->call.remote = many;
		self->call.nr_remote = ARRAY_SIZE(many);
		EXPECT_EQ(-EINVAL, pvm_call(&self->call));
		self->call.remote = &self->remote;
		self->call.nr_remote = 1;
	}
	EXPECT_TRUE(pvm_all(self->target, 't', sizeof(self->target)));
}

/* Addresses that are not mapped give the same error with each flag that takes a PID. */
TEST_F(flags, addresses_that_nobody_has_are_EFAULT)
{
	static const unsigned long flags[] = { 0, PROCESS_VM_NOWAIT };
	size_t page = sysconf(_SC_PAGESIZE);
	char *gone = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *nowhere[] = { NULL, gone, (void *)-page };
	unsigned int i, j;

	ASSERT_NE(MAP_FAILED, gone);
	ASSERT_EQ(0, munmap(gone, page));
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		for (j = 0; j < ARRAY_SIZE(nowhere); j++) {
			self->call.flags = flags[i];
			self->remote.iov_base = nowhere[j];
			EXPECT_EQ(-EFAULT, pvm_call(&self->call));
		}
	}
	EXPECT_TRUE(pvm_all(self->target, 't', sizeof(self->target)));
}

TEST_HARNESS_MAIN
