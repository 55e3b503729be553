/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PROCESS_VM_H
#define _UAPI_LINUX_PROCESS_VM_H

/*
 * Flags of process_vm_readv(2) and process_vm_writev(2). The kernel tests them before
 * anything else: process_vm_readv(0, NULL, 1, NULL, 1, flag) fails with EFAULT if it knows
 * the flag, else with EINVAL.
 */

/*
 * The first argument is a pidfd instead of a PID; the process may be in another PID
 * namespace. EBADF: it is no pidfd; ESRCH: all threads of the process have exited, or the
 * pidfd is of one thread that is not the leader.
 */
#define PROCESS_VM_PIDFD	0x1UL

/*
 * Transfer only what is in memory. A read maps nothing; a write goes to pages that are
 * mapped writable now. At the first byte that cannot be had, the call ends and returns the
 * number of bytes before it. If there are none: EFAULT, or EAGAIN if somebody else has
 * locked the address space, or the target is in execve(2); ESRCH if the target has exited;
 * EINTR if the caller is being killed.
 *
 * It does not wait for file IO of the target's pages, page locks, writeback, swap-in,
 * userfaultfd, memory, locks of the target's address space, or its execve(2) or exit.
 */
#define PROCESS_VM_NOWAIT	0x2UL

#endif /* _UAPI_LINUX_PROCESS_VM_H */
