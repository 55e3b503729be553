/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTEST_BPF_FIND_VMA_HELD_H
#define SELFTEST_BPF_FIND_VMA_HELD_H

#define FIND_VMA_MAX	2048

struct found_vma {
	__u64 start;
	__u64 end;
};

struct found_task {
	__s32 tgid;
	__s32 pid;
	__s64 ret;
	struct found_vma first;
	struct found_vma second;
};

#endif /* SELFTEST_BPF_FIND_VMA_HELD_H */
