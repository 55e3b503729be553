/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kselftest harness for the programs that test PROCMAP_QUERY. On a kernel
 * without PROCMAP_QUERY it skips the whole program before the first case: in
 * the harness of 6.1, SKIP() in a fixture's setup does not stop the case from
 * running.
 */
#ifndef SELFTEST_PROCMAP_HARNESS_H
#define SELFTEST_PROCMAP_HARNESS_H

#include "../../kselftest_harness.h"
#include "procmap_util.h"

/* A case ends after some waits, each of which may take PROCMAP_HANG_MS. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	(2 * PROCMAP_HANG_MS / 1000)

static void __attribute__((constructor)) procmap_require(void)
{
	if (procmap_kernel_lacks_it())
		ksft_exit_skip("kernel without PROCMAP_QUERY (CONFIG_PROCMAP_QUERY)\n");
}

#endif /* SELFTEST_PROCMAP_HARNESS_H */
