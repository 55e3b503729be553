// SPDX-License-Identifier: GPL-2.0
#include <test_progs.h>
#include <sys/mman.h>
#include "stacktrace_build_id_hole.skel.h"

#ifdef __x86_64__
struct frame {
	struct frame *next;
	unsigned long ret;
};

/* Run with this frame as the caller's until the program has filled in a size. */
static void run_below(struct frame *frame, long *size)
{
	asm volatile("sub	$128, %%rsp\n"
		     "push	%%rbp\n"
		     "mov	%0, %%rbp\n"
		     "1: pause\n"
		     "cmpq	$0, (%1)\n"
		     "je	1b\n"
		     "pop	%%rbp\n"
		     "add	$128, %%rsp\n"
		     : : "D" (frame), "S" (size) : "cc", "memory");
}

/* An address below a mapping of this program, where nothing is mapped. */
static unsigned long make_hole(size_t page)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *hole, *map;

	if (!ASSERT_GE(fd, 0, "open"))
		return 0;
	hole = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NEQ(hole, MAP_FAILED, "mmap hole");
	map = mmap(hole + page, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	ASSERT_EQ(map, hole + page, "mmap file");
	ASSERT_OK(munmap(hole, page), "munmap hole");
	close(fd);
	return (unsigned long)hole + page - 16;
}

void test_stacktrace_build_id_hole(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};
	struct stacktrace_build_id_hole *skel;
	struct frame frame = {};
	int pmu_fd;

	skel = stacktrace_build_id_hole__open_and_load();
	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	frame.ret = make_hole(getpagesize());
	if (!frame.ret)
		goto cleanup;

	pmu_fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!ASSERT_GE(pmu_fd, 0, "perf_event_open"))
		goto cleanup;
	skel->links.sample = bpf_program__attach_perf_event(skel->progs.sample, pmu_fd);
	if (!ASSERT_OK_PTR(skel->links.sample, "attach")) {
		close(pmu_fd);
		goto cleanup;
	}

	skel->bss->target_tid = syscall(__NR_gettid);
	run_below(&frame, &skel->bss->size);

	ASSERT_GE(skel->bss->size, 2 * (long)sizeof(skel->bss->stack[0]), "frames");
	ASSERT_EQ(skel->bss->stack[0].status, BPF_STACK_BUILD_ID_VALID, "code has a build ID");
	ASSERT_EQ(skel->bss->stack[1].status, BPF_STACK_BUILD_ID_IP, "a hole has none");
	ASSERT_EQ(skel->bss->stack[1].ip, frame.ret, "address in the hole");
cleanup:
	stacktrace_build_id_hole__destroy(skel);
}
#else
void test_stacktrace_build_id_hole(void)
{
	test__skip();
}
#endif
