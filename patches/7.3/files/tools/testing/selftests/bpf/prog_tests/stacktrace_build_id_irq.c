// SPDX-License-Identifier: GPL-2.0
#include <test_progs.h>
#include <linux/compiler.h>
#include "stacktrace_build_id_irq.skel.h"

/* A program that runs with interrupts off can look up two stacks. */
void test_stacktrace_build_id_irq(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.exclude_kernel = 1,
	};
	struct stacktrace_build_id_irq *skel;
	int pmu_fd;

	skel = stacktrace_build_id_irq__open_and_load();
	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;

	pmu_fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!ASSERT_GE(pmu_fd, 0, "perf_event_open"))
		goto cleanup;
	skel->links.sample = bpf_program__attach_perf_event(skel->progs.sample, pmu_fd);
	if (!ASSERT_OK_PTR(skel->links.sample, "attach")) {
		close(pmu_fd);
		goto cleanup;
	}

	skel->bss->target_tid = syscall(__NR_gettid);
	while (!READ_ONCE(skel->bss->size))
		;

	ASSERT_EQ(skel->bss->size, sizeof(skel->bss->second), "size");
	ASSERT_EQ(skel->bss->first[0].status, BPF_STACK_BUILD_ID_VALID, "first stack");
	ASSERT_EQ(skel->bss->second[0].status, BPF_STACK_BUILD_ID_VALID, "second stack");
cleanup:
	stacktrace_build_id_irq__destroy(skel);
}
