// SPDX-License-Identifier: GPL-2.0
#include <test_progs.h>
#include <sys/wait.h>
#include "iters_task_vma_skipped.skel.h"

/* A walk that misses VMAs because they are locked says so. */
void test_iters_task_vma_skipped(void)
{
	struct iters_task_vma_skipped *skel;
	pid_t pid;

	skel = iters_task_vma_skipped__open_and_load();
	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	if (!ASSERT_OK(iters_task_vma_skipped__attach(skel), "attach"))
		goto cleanup;

	skel->bss->target_tid = syscall(__NR_gettid);
	pid = fork();
	if (!pid)
		_exit(0);
	skel->bss->target_tid = 0;
	if (!ASSERT_GT(pid, 0, "fork"))
		goto cleanup;
	ASSERT_EQ(waitpid(pid, NULL, 0), pid, "waitpid");

	ASSERT_GT(skel->bss->complete, 0, "walks that saw all VMAs");
	ASSERT_GT(skel->bss->skipped, 0, "walks that said that they did not");
	ASSERT_EQ(skel->bss->silent, 0, "walks that missed VMAs");
cleanup:
	iters_task_vma_skipped__destroy(skel);
}
