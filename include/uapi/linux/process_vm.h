/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PROCESS_VM_H
#define _UAPI_LINUX_PROCESS_VM_H

/*
 * Flags of process_vm_readv(2) and process_vm_writev(2).
 *
 * The kernel tests the flags before anything else, and refuses one that it does
 * not know with EINVAL. So process_vm_readv(0, NULL, 1, NULL, 1, flag) fails
 * with EINVAL if the flag is not supported, and with EFAULT if it is.
 */

/*
 * The first argument is a pidfd, see pidfd_open(2), instead of a PID. The
 * process may be in another PID namespace. The call fails with EBADF if the
 * argument is no pidfd, and with ESRCH if the process has exited.
 */
#define PROCESS_VM_PIDFD	0x1UL

/*
 * Transfer only what is in memory. A read maps nothing. A write goes to pages
 * that the process has mapped writable at this moment; it ends where it would
 * need a page fault. At the first byte that cannot be had that way, the call
 * ends and returns the number of bytes before it. If there are none, it fails
 * with EFAULT. It fails with EAGAIN if nothing was transferred because somebody
 * else has locked the address space, or because the target is in execve(2).
 *
 * The call does not wait for file IO of the target's pages, for page locks,
 * writeback, swap-in, userfaultfd, memory, locks of the target's address space,
 * or the target's execve(2) or exit.
 */
#define PROCESS_VM_NOWAIT	0x2UL

#endif /* _UAPI_LINUX_PROCESS_VM_H */
