// SPDX-License-Identifier: GPL-2.0
/*
 * What the helpers that look up VMAs cost, in ticks of the TSC. These are
 * instructions where an emulator counts its TSC so.
 */
#include <test_progs.h>

#include "vma_cost.skel.h"
#include "vma_ticks.h"

#define CALLS		1000

/* The second run: the first one may find memory that is not in use yet. */
static double cost_of(struct vma_cost *skel, struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	__u64 begin = 0, end = 0;
	int i;

	for (i = 0; i < 2; i++) {
		skel->bss->good = 0;
		begin = ticks();
		if (!ASSERT_OK(bpf_prog_test_run_opts(bpf_program__fd(prog), &opts), "test_run"))
			return 0;
		end = ticks();
		ASSERT_EQ(skel->bss->good, CALLS, "calls that succeeded");
	}
	return (double)(end - begin) / CALLS;
}

void serial_test_vma_cost(void)
{
	struct vma_cost *skel = vma_cost__open_and_load();
	double none, find, stack, build_id;

	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	skel->bss->addr = (unsigned long)ticks;
	skel->bss->calls = CALLS;
	none = cost_of(skel, skel->progs.cost_nothing);
	find = cost_of(skel, skel->progs.cost_find_vma);
	stack = cost_of(skel, skel->progs.cost_stack);
	build_id = cost_of(skel, skel->progs.cost_stack_build_id);
	printf("bpf_find_vma(): %.1f\n", find - none);
	printf("the build ID of a frame: %.1f\n", build_id - stack);
	vma_cost__destroy(skel);
}
