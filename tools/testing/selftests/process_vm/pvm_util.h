/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of process_vm_readv() and process_vm_writev() share: calls
 * that return errno as a negative result, calls that run in a process of their
 * own because they may not return, and other ways to see the target's memory.
 *
 * Functions return what their comment says, and -errno on failure.
 */
#ifndef SELFTEST_PVM_UTIL_H
#define SELFTEST_PVM_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <linux/process_vm.h>

#include "procmap_util.h"
#include "stall.h"

#define PVM_FLAGS	(PROCESS_VM_PIDFD | PROCESS_VM_NOWAIT)

#define PVM_MAX_IOV	8
#define PVM_SPACE	(4 * 4096)

/**
 * struct pvm_call - the arguments of one call
 * @write: process_vm_writev(), else process_vm_readv()
 * @pid: PID or pidfd
 * @flags: PROCESS_VM_*
 * @local: the pieces of local memory
 * @remote: the pieces of the other process's memory
 */
struct pvm_call {
	bool write;
	int pid;
	unsigned long flags;
	const struct iovec *local;
	unsigned long nr_local;
	const struct iovec *remote;
	unsigned long nr_remote;
};

long pvm_call(const struct pvm_call *call);
long pvm_copy(bool write, int pid, const void *remote, const void *local, size_t size,
	      unsigned long flags);
bool pvm_supported(void);

/**
 * struct pvm_io - a call that may not return
 * @write: as in struct pvm_call, as are the next two
 * @remote: the pieces of remote memory; at most PVM_SPACE bytes in all
 * @byte: the byte to write
 */
struct pvm_io {
	bool write;
	int pid;
	unsigned long flags;
	struct iovec remote[PVM_MAX_IOV];
	unsigned int nr;
	unsigned char byte;
};

/* Both processes share this memory. */
struct pvm_outcome {
	long ret;
	unsigned char data[PVM_SPACE];
};

/**
 * struct pvm_attempt - a call in a process of its own
 * @child: the process that makes it
 * @nr: number of the system call
 * @outcome: its result, once it has returned
 */
struct pvm_attempt {
	struct procmap_child child;
	long nr;
	struct pvm_outcome *outcome;
};

int pvm_attempt_start(struct pvm_attempt *attempt, const struct pvm_io *io);
bool pvm_attempt_returns(const struct pvm_attempt *attempt);
bool pvm_attempt_sleeps(const struct pvm_attempt *attempt);
int pvm_attempt_end(struct pvm_attempt *attempt);

bool pvm_sleeps_in(pid_t pid, pid_t tid, const char *function);

ssize_t pvm_peek(pid_t pid, const void *addr, void *data, size_t size);
bool pvm_all(const void *data, unsigned char byte, size_t size);
__u64 pvm_pagemap_of(pid_t pid, const void *addr);
__u64 pvm_pagemap(const void *addr);

#define PVM_PAGE_PRESENT	0x8000000000000000ULL
#define PVM_PAGE_SWAPPED	0x4000000000000000ULL
#define PVM_PAGE_SOFT_DIRTY	0x0080000000000000ULL
/* The kernel shows this only to root. */
#define PVM_PAGE_FRAME		0x007fffffffffffffULL

#endif /* SELFTEST_PVM_UTIL_H */
