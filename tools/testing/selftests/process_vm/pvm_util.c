// SPDX-License-Identifier: GPL-2.0
/*
 * Calls, calls that may not return, and other views of the memory: see
 * pvm_util.h.
 */
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

/**
 * pvm_call() - make one call
 * @call: its arguments
 *
 * Return: bytes copied, or -errno.
 */
long pvm_call(const struct pvm_call *call)
{
	long ret = syscall(number_of(call->write), call->pid, call->local, call->nr_local,
			   call->remote, call->nr_remote, call->flags);

	return ret < 0 ? -errno : ret;
}

/**
 * pvm_copy() - make one call that copies one piece of memory
 * @write: write to the other process, else read from it
 * @pid: PID or pidfd of the other process
 * @remote: address in the other process
 * @local: address in the caller
 * @size: number of bytes
 * @flags: PROCESS_VM_*
 *
 * Return: bytes copied, or -errno.
 */
long pvm_copy(bool write, int pid, const void *remote, const void *local, size_t size,
	      unsigned long flags)
{
	struct iovec here = { .iov_base = (void *)local, .iov_len = size };
	struct iovec there = { .iov_base = (void *)remote, .iov_len = size };
	struct pvm_call call = {
		.write = write,
		.pid = pid,
		.flags = flags,
		.local = &here,
		.nr_local = 1,
		.remote = &there,
		.nr_remote = 1,
	};

	return pvm_call(&call);
}

/**
 * pvm_supported() - does this kernel know the flags?
 *
 * It asks as the documentation recommends: with buffers that cannot be read.
 *
 * Return: false if the kernel returns EINVAL for each flag.
 */
bool pvm_supported(void)
{
	struct pvm_call call = { .pid = getpid(), .nr_local = 1, .nr_remote = 1 };
	bool pidfd, nowait;

	call.flags = PROCESS_VM_PIDFD;
	pidfd = pvm_call(&call) != -EINVAL;
	call.flags = PROCESS_VM_NOWAIT;
	nowait = pvm_call(&call) != -EINVAL;
	return pidfd || nowait;
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
		.write = io->write,
		.pid = io->pid,
		.flags = io->flags,
		.local = &local,
		.nr_local = 1,
		.remote = io->remote,
		.nr_remote = io->nr,
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

/**
 * pvm_attempt_start() - make a call in a process of its own
 * @attempt: out: the attempt; pvm_attempt_end() ends it
 * @io: the call
 *
 * Return: 0 or -errno.
 */
int pvm_attempt_start(struct pvm_attempt *attempt, const struct pvm_io *io)
{
	struct attempt arg = { .io = io };

	attempt->outcome = mmap(NULL, sizeof(*attempt->outcome), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (attempt->outcome == MAP_FAILED)
		return -errno;
	arg.outcome = attempt->outcome;
	attempt->nr = number_of(io->write);
	return procmap_child_start(&attempt->child, attempts, &arg);
}

/**
 * pvm_attempt_returns() - wait until the call has returned
 * @attempt: the attempt
 *
 * Return: false if it hangs.
 */
bool pvm_attempt_returns(const struct pvm_attempt *attempt)
{
	return stall_comes(&attempt->child);
}

/* Does a thread sleep in this system call? */
static bool pvm_is_in_call(pid_t pid, pid_t tid, long nr)
{
	char path[64];
	bool is_in;
	FILE *file;
	long found;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* Of a thread that runs, the file says "running" and no number. */
	is_in = fscanf(file, "%ld", &found) == 1 && found == nr;
	fclose(file);
	return is_in;
}

/**
 * pvm_attempt_sleeps() - wait until the call sleeps in the kernel
 * @attempt: the attempt
 *
 * Return: false if it has returned instead.
 */
bool pvm_attempt_sleeps(const struct pvm_attempt *attempt)
{
	pid_t pid = attempt->child.pid;
	unsigned int looks = 0;

	while (!pvm_is_in_call(pid, pid, attempt->nr))
		if (stall_has_come(&attempt->child) || !procmap_look_again(&looks))
			return false;
	return true;
}

/**
 * pvm_attempt_end() - kill the process, wait for its end, release everything
 * @attempt: the attempt
 *
 * Return: 0 if the call had returned.
 */
int pvm_attempt_end(struct pvm_attempt *attempt)
{
	int ret;

	if (!stall_has_come(&attempt->child))
		kill(attempt->child.pid, SIGKILL);
	ret = procmap_child_wait(&attempt->child);
	munmap(attempt->outcome, sizeof(*attempt->outcome));
	return ret;
}

/**
 * pvm_thread_state() - the state of a thread
 * @pid: its process
 * @tid: the thread
 *
 * It reads the status file, because the stat file blocks during execve().
 *
 * Return: the letter in the status file; 0: the thread is gone.
 */
char pvm_thread_state(pid_t pid, pid_t tid)
{
	char path[64], line[256], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	if (file)
		fclose(file);
	return state;
}

/**
 * pvm_sleeps_in_call() - wait until a thread sleeps in this system call
 * @pid: its process
 * @tid: the thread
 * @nr: number of the system call
 *
 * Not for a thread in execve(), which this would wait for.
 *
 * Return: false if it never does.
 */
bool pvm_sleeps_in_call(pid_t pid, pid_t tid, long nr)
{
	unsigned int looks = 0;

	while (!pvm_is_in_call(pid, tid, nr))
		if (!procmap_look_again(&looks))
			return false;
	return true;
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

/**
 * pvm_sleeps_in() - wait until a thread sleeps in this function of the kernel
 * @pid: its process
 * @tid: the thread
 * @function: a part of the name of the function
 *
 * Not for a thread in execve(), which this would wait for.
 *
 * Return: false if it never does.
 */
bool pvm_sleeps_in(pid_t pid, pid_t tid, const char *function)
{
	unsigned int looks = 0;

	while (!pvm_is_in(pid, tid, function))
		if (!procmap_look_again(&looks))
			return false;
	return true;
}

/**
 * pvm_peek() - read another process's memory through its mem file
 * @pid: the process
 * @addr: address in the other process
 * @data: local buffer
 * @size: number of bytes
 *
 * Return: bytes read, or -errno.
 */
ssize_t pvm_peek(pid_t pid, const void *addr, void *data, size_t size)
{
	char path[64];
	ssize_t ret;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = pread(fd, data, size, (unsigned long)addr);
	if (ret < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/**
 * pvm_all() - are all bytes the same?
 * @data: the bytes
 * @byte: the value that each must have
 * @size: their number
 *
 * Return: true if they are.
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

/**
 * pvm_pagemap_of() - an entry of the pagemap file of a process
 * @pid: the process
 * @addr: an address there
 *
 * Return: the entry; 0 if there is no page or the file cannot be read.
 */
__u64 pvm_pagemap_of(pid_t pid, const void *addr)
{
	off_t at = (unsigned long)addr / sysconf(_SC_PAGESIZE) * sizeof(__u64);
	char path[64];
	__u64 entry = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
		entry = 0;
	close(fd);
	return entry;
}

/**
 * pvm_pagemap() - an entry of the caller's own pagemap file
 * @addr: an address of the caller
 *
 * Return: as of pvm_pagemap_of().
 */
__u64 pvm_pagemap(const void *addr)
{
	return pvm_pagemap_of(getpid(), addr);
}

/**
 * pvm_write_file() - write a text to a file that exists
 * @path: the file
 * @text: the text
 *
 * Return: 0 or -errno.
 */
int pvm_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

/**
 * pvm_read_number() - read a file that contains a number
 * @path: the file
 *
 * Return: the number, or -1 on failure.
 */
long pvm_read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long number;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}
