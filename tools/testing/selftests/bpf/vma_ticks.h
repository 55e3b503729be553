/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTEST_BPF_VMA_TICKS_H
#define SELFTEST_BPF_VMA_TICKS_H

/* The TSC: counts instructions where an emulator lets it. 0 elsewhere than on x86-64 */
static inline __u64 ticks(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

#endif /* SELFTEST_BPF_VMA_TICKS_H */
