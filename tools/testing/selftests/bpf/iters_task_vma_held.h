/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTEST_BPF_ITERS_TASK_VMA_HELD_H
#define SELFTEST_BPF_ITERS_TASK_VMA_HELD_H

#define ITERS_VMA_MAX	512

struct iters_vma {
	__u64 start;
	__u64 end;
};

/* How walks of one kind ended */
struct iters_walks {
	/* saw all VMAs that do not change */
	__u64 complete;
	/* did not, and said that VMAs were skipped */
	__u64 skipped;
	/* did not, and said nothing */
	__u64 silent;
	/* did not begin */
	__u64 failed;
};

struct iters_task_error {
	__s32 pid;
	__s32 err;
	__u64 seen;
};

#endif /* SELFTEST_BPF_ITERS_TASK_VMA_HELD_H */
