/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kselftest harness for the programs that test the flags. A kernel without
 * them skips a program as a whole, before its first case: in the harness of 6.1,
 * SKIP() in a fixture's setup does not keep the case from running. To see there
 * that the calls without flags behave as they do here, set PROCESS_VM_UNSUPPORTED
 * in the environment, and look at the cases that are named so.
 */
#ifndef SELFTEST_PVM_HARNESS_H
#define SELFTEST_PVM_HARNESS_H

#include "../kselftest_harness.h"
#include "pvm_util.h"

static void __attribute__((constructor)) pvm_require(void)
{
	if (!pvm_supported() && !getenv("PROCESS_VM_UNSUPPORTED"))
		ksft_exit_skip("kernel without PROCESS_VM_PIDFD and PROCESS_VM_NOWAIT\n");
}

#endif /* SELFTEST_PVM_HARNESS_H */
