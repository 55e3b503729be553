/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef SAMPLES_PROCMAP_PROFILE_H
#define SAMPLES_PROCMAP_PROFILE_H

#define PROFILE_COMM	16
#define PROFILE_BINARY	64
#define PROFILE_ID	20

/* What the BPF program knows of a sample */
struct profile_sample {
	__u32 pid;
	/* 0, or the negative errno of bpf_find_vma() */
	__s32 err;
	/* in the file, in bytes; the address, if @binary is empty */
	__u64 offset;
	/* all zeros: none */
	__u8 build_id[PROFILE_ID];
	char comm[PROFILE_COMM];
	/* the last component of the path; empty: memory without a file */
	char binary[PROFILE_BINARY];
};

#endif /* SAMPLES_PROCMAP_PROFILE_H */
