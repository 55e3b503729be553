// SPDX-License-Identifier: GPL-2.0
/*
 * process-vm-nowait PID ADDRESS SIZE - copy memory of a process to standard
 * output, without ever waiting for that process or for what backs its memory
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/process_vm.h>

#define FLAGS (PROCESS_VM_PIDFD | PROCESS_VM_NOWAIT)

/*
 * Does the kernel know the flags? If it does, it fails with EFAULT at the
 * vectors, which do not exist. If it does not, it refuses the flags first, with
 * EINVAL.
 */
static bool flags_supported(void)
{
	return process_vm_readv(getpid(), NULL, 1, NULL, 1, FLAGS) < 0 && errno == EFAULT;
}

/*
 * Copy what is in memory. Returns the number of bytes, or -1 with errno if none
 */
static ssize_t read_now(int pidfd, uintptr_t addr, char *buf, size_t size)
{
	struct iovec local = { .iov_base = buf, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)addr, .iov_len = size };

	return process_vm_readv(pidfd, &local, 1, &remote, 1, FLAGS);
}

static int copy(int pidfd, uintptr_t addr, size_t size)
{
	char *buf = malloc(size);
	ssize_t got;

	if (!buf)
		return -1;
	got = read_now(pidfd, addr, buf, size);
	if (got > 0 && (fwrite(buf, 1, got, stdout) < (size_t)got || fflush(stdout))) {
		perror("standard output");
		free(buf);
		return -1;
	}
	free(buf);
	if (got < 0 && errno == EFAULT)
		fputs("the first byte is not mapped, or not there without waiting\n", stderr);
	else if (got < 0 && errno == EAGAIN)
		fputs("the process is changing its memory at this moment: try again\n", stderr);
	else if (got < 0)
		perror("process_vm_readv");
	else if ((size_t)got < size)
		fprintf(stderr, "only the first %zd bytes are there\n", got);
	return got == (ssize_t)size ? 0 : -1;
}

int main(int argc, char **argv)
{
	int pidfd, err;

	if (argc != 4) {
		fprintf(stderr, "usage: %s PID ADDRESS SIZE\n", argv[0]);
		return 2;
	}
	if (!flags_supported()) {
		fputs("this kernel has no PROCESS_VM_PIDFD and PROCESS_VM_NOWAIT\n", stderr);
		return 1;
	}
	/* The pidfd stays with this process, even if its PID is used again */
	pidfd = syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	if (pidfd < 0) {
		perror("pidfd_open");
		return 1;
	}
	err = copy(pidfd, strtoull(argv[2], NULL, 16), strtoull(argv[3], NULL, 0));
	close(pidfd);
	return err ? 1 : 0;
}
