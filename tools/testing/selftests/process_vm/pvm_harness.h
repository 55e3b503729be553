/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kselftest harness for programs that test the flags. On a kernel without
 * the flags, the whole program skips before its first case. The reason: in the
 * harness of 6.1, SKIP() in a fixture's setup does not keep the case from
 * running. Set PROCESS_VM_UNSUPPORTED in the environment to run on such a
 * kernel. The cases named after calls without flags must pass there, too.
 */
#ifndef SELFTEST_PVM_HARNESS_H
#define SELFTEST_PVM_HARNESS_H

#include "../kselftest_harness.h"
#include "pvm_util.h"

/* A case ends after some waits, each of which may take PROCMAP_HANG_MS. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(2 * PROCMAP_HANG_MS / 1000)

static void __attribute__((constructor)) pvm_require(void)
{
	if (!pvm_supported() && !getenv("PROCESS_VM_UNSUPPORTED"))
		ksft_exit_skip("kernel without PROCESS_VM_PIDFD and PROCESS_VM_NOWAIT\n");
}

#endif /* SELFTEST_PVM_HARNESS_H */
