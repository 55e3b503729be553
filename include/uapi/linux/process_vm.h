/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PROCESS_VM_H
#define _UAPI_LINUX_PROCESS_VM_H

/*
 * Flags of process_vm_readv(2) and process_vm_writev(2).
 *
 * A flag that the kernel does not know is EINVAL before anything else is looked at, so that
 * process_vm_readv(0, NULL, 1, NULL, 1, flag) fails with EINVAL where the flag is not supported,
 * and with EFAULT where it is.
 */

/*
 * The first argument is not a PID but a pidfd, see pidfd_open(2). It may be of a process in another
 * PID namespace. Fails with EBADF where the argument is no pidfd, and with ESRCH when the process
 * has exited.
 */
#define PROCESS_VM_PIDFD	0x1UL

/*
 * Transfer only what needs no waiting: memory that is resident, or that can be mapped in from what
 * is resident. The first byte that would wait ends the call, with the number of bytes before it;
 * EFAULT when there are none. EAGAIN when nothing was transferred because someone else has locked
 * the address space right now, or the target is in execve(2). The call does not wait for file IO of
 * the target's pages, for page locks, writeback, swap-in, userfaultfd, locks of the target's
 * address space, or the target's execve(2) or exit.
 */
#define PROCESS_VM_NOWAIT	0x2UL

#endif /* _UAPI_LINUX_PROCESS_VM_H */
