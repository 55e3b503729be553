/* SPDX-License-Identifier: MIT */
/*
 * The flags of process_vm_readv(2) and process_vm_writev(2), for a build without
 * <linux/process_vm.h>.
 *
 * They are not in procmap-abi.h: it includes <linux/fs.h>, which clashes with
 * <sys/uio.h>.
 */
#ifndef PROCESS_VM_ABI_H
#define PROCESS_VM_ABI_H

/* The first argument of process_vm_readv() is a pidfd. */
#ifndef PROCESS_VM_PIDFD
#define PROCESS_VM_PIDFD	0x1UL
#endif

/* Transfer only what needs no waiting. */
#ifndef PROCESS_VM_NOWAIT
#define PROCESS_VM_NOWAIT	0x2UL
#endif

#endif /* PROCESS_VM_ABI_H */
