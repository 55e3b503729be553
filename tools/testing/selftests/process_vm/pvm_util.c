// SPDX-License-Identifier: GPL-2.0
/* Calls, calls that may not return, and other views of the memory: see pvm_util.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pvm_util.h"

static long number_of(bool write)
{
	return write ? __NR_process_vm_writev : __NR_process_vm_readv;
}

/* Make one call. Returns bytes copied, or -errno. */
long pvm_call(const struct pvm_call *call)
{
	long ret = syscall(number_of(call->write), call->pid, call->local, call->nr_local,
			   call->remote, call->nr_remote, call->flags);

	return ret < 0 ? -errno : ret;
}

/*
 * Make one call that copies one piece of memory. Returns bytes copied, or
 * -errno.
 * @write: write to the other process, else read from it
 */
long pvm_copy(bool write, int pid, const void *remote, const void *local, size_t size,
	      unsigned long flags)
{
	struct iovec here = { .iov_base = (void *)local, .iov_len = size };
	struct iovec there = { .iov_base = (void *)remote, .iov_len = size };
	struct pvm_call call = {
		.write = write, .pid = pid, .flags = flags,
		.local = &here, .nr_local = 1, .remote = &there, .nr_remote = 1,
	};

	return pvm_call(&call);
}

/*
 * Does this kernel know the flags? Returns false if the kernel returns EINVAL
 * for each flag.
 *
 * It asks as the documentation recommends: with buffers that cannot be read.
 */
bool pvm_supported(void)
{
	struct pvm_call pidfd = { .flags = PROCESS_VM_PIDFD, .nr_local = 1, .nr_remote = 1 };
	struct pvm_call nowait = { .flags = PROCESS_VM_NOWAIT, .nr_local = 1, .nr_remote = 1 };

	return pvm_call(&pidfd) != -EINVAL || pvm_call(&nowait) != -EINVAL;
}

struct attempt {
	const struct pvm_io *io;
	struct pvm_outcome *outcome;
};

static int attempts(struct procmap_child *child, void *arg)
{
	struct attempt *attempt = arg;
	const struct pvm_io *io = attempt->io;
	struct pvm_outcome *outcome = attempt->outcome;
	struct iovec local = { .iov_base = outcome->data };
	struct pvm_call call = {
		.write = io->write, .pid = io->pid, .flags = io->flags,
		.local = &local, .nr_local = 1, .remote = io->remote, .nr_remote = io->nr,
	};
	unsigned int i;

	for (i = 0; i < io->nr; i++)
		local.iov_len += io->remote[i].iov_len;
	if (!HOLDS(local.iov_len <= PVM_SPACE))
		return 1;
	memset(outcome->data, io->write ? io->byte : PROCMAP_POISON, PVM_SPACE);
	outcome->ret = pvm_call(&call);
	return 0;
}

/*
 * Make a call in a process of its own.
 * @attempt: out: the attempt; pvm_attempt_end() ends it
 */
int pvm_attempt_start(struct pvm_attempt *attempt, const struct pvm_io *io)
{
	struct attempt arg = { .io = io, .outcome = procmap_share(sizeof(*arg.outcome)) };

	if (!arg.outcome)
		return -ENOMEM;
	attempt->outcome = arg.outcome;
	attempt->nr = number_of(io->write);
	return procmap_child_start(&attempt->child, attempts, &arg);
}

/* Wait until the call has returned. Returns false if it hangs. */
bool pvm_attempt_returns(const struct pvm_attempt *attempt)
{
	return stall_comes(&attempt->child);
}

/* Wait until the call sleeps in the kernel. Returns false if it has returned instead. */
bool pvm_attempt_sleeps(const struct pvm_attempt *attempt)
{
	pid_t pid = attempt->child.pid;
	bool is_in = false;

	return UNTIL((is_in = stall_sleeps_in_call(pid, pid, attempt->nr)) ||
		     stall_has_come(&attempt->child)) && is_in;
}

/* Kill the process, wait for its end, release everything. Returns 0 if the call had returned. */
int pvm_attempt_end(struct pvm_attempt *attempt)
{
	int ret;

	if (!stall_has_come(&attempt->child))
		kill(attempt->child.pid, SIGKILL);
	ret = procmap_child_wait(&attempt->child);
	munmap(attempt->outcome, sizeof(*attempt->outcome));
	return ret;
}

/*
 * Does a thread sleep in this function of the kernel? This takes nothing of the
 * address space of the process, which may be about to end.
 */
static bool pvm_is_in(pid_t pid, pid_t tid, const char *function)
{
	char line[256];
	bool found = false;
	FILE *file;

	/* wchan has only the innermost function, and guesses it without an unwinder. */
	snprintf(line, sizeof(line), "/proc/%d/task/%d/stack", pid, tid);
	file = fopen(line, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, function);
	if (file)
		fclose(file);
	return found;
}

/*
 * Wait until a thread sleeps in this function of the kernel. Returns false if
 * it never does.
 * @function: a part of the name of the function
 *
 * Not for a thread in execve(), which this would wait for.
 */
bool pvm_sleeps_in(pid_t pid, pid_t tid, const char *function)
{
	return UNTIL(pvm_is_in(pid, tid, function));
}

/* Read another process's memory through its mem file. Returns bytes read, or -errno. */
ssize_t pvm_peek(pid_t pid, const void *addr, void *data, size_t size)
{
	int fd = procmap_open(pid, "mem");
	ssize_t ret;

	if (fd < 0)
		return fd;
	ret = pread(fd, data, size, (unsigned long)addr);
	if (ret < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/*
 * Are all bytes the same?
 * @byte: the value that each must have
 */
bool pvm_all(const void *data, unsigned char byte, size_t size)
{
	const unsigned char *at = data;
	size_t i;

	for (i = 0; i < size; i++)
		if (at[i] != byte)
			return false;
	return true;
}

/*
 * An entry of the pagemap file of a process. Returns the entry; 0 if there is
 * no page or the file cannot be read.
 */
__u64 pvm_pagemap_of(pid_t pid, const void *addr)
{
	off_t at = (unsigned long)addr / sysconf(_SC_PAGESIZE) * sizeof(__u64);
	int fd = procmap_open(pid, "pagemap");
	__u64 entry = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
		entry = 0;
	close(fd);
	return entry;
}

/* An entry of the caller's own pagemap file. Returns as of pvm_pagemap_of(). */
__u64 pvm_pagemap(const void *addr)
{
	return pvm_pagemap_of(getpid(), addr);
}
