// SPDX-License-Identifier: GPL-2.0
/* Build IDs of user stacks from interrupts, while mappings change. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <test_progs.h>

#include "stack_build_id_held.h"
#include "stack_build_id_held.skel.h"
#include "vma_storm.h"

/* Code of a file: its build ID, and where in the file the segment with @addr is */
struct code {
	unsigned long addr;
	char build_id[BPF_BUILD_ID_SIZE];
	__u64 start;
	__u64 end;
};

/* Of one loaded file. Returns 1 if the code is there, which ends the search, or an error. */
static int find_code_in(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct code *code = data;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		typeof(info->dlpi_phdr) segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD ||
		    code->addr - info->dlpi_addr - segment->p_vaddr >= segment->p_memsz)
			continue;
		code->start = segment->p_offset;
		code->end = segment->p_offset + segment->p_memsz;
		i = read_build_id(path, code->build_id, sizeof(code->build_id));
		return i > 0 ? 1 : i;
	}
	return 0;
}

static int find_code(const void *addr, struct code *code)
{
	memset(code, 0, sizeof(*code));
	code->addr = (unsigned long)addr;
	return dl_iterate_phdr(find_code_in, code);
}

static bool frame_is_in(const struct bpf_stack_build_id *frame, const struct code *code)
{
	return frame->status == BPF_STACK_BUILD_ID_VALID &&
	       !memcmp(frame->build_id, code->build_id, sizeof(code->build_id)) &&
	       frame->offset >= code->start && frame->offset < code->end;
}

static struct bpf_link *attach(struct bpf_program *prog)
{
	int fd = storm_event();

	if (!ASSERT_GE(fd, 0, "perf_event_open"))
		return NULL;
	return bpf_program__attach_perf_event(prog, fd);
}

/* Where a thread runs that maps and unmaps: in this program, and in libc. */
static void check_stacks(struct stack_build_id_held *skel)
{
	unsigned int i, here = 0, libc = 0;
	struct code codes[2];

	if (!ASSERT_EQ(find_code(storm, &codes[0]), 1, "code of this program") ||
	    !ASSERT_EQ(find_code(dlsym(RTLD_DEFAULT, "mprotect"), &codes[1]), 1, "code of libc"))
		return;
	for (i = 0; i < STACKS; i++) {
		here += frame_is_in(&skel->bss->stacks[i].frames[0], &codes[0]);
		libc += frame_is_in(&skel->bss->stacks[i].frames[0], &codes[1]);
	}
	printf("%u stacks in this program, %u in libc, of %u\n", here, libc, STACKS);
	ASSERT_GT(libc, 0, "stacks in libc");
	ASSERT_EQ(here + libc, STACKS, "stacks with the build ID of their code");
}

void serial_test_stack_build_id_held(void)
{
	struct stack_build_id_held *skel = stack_build_id_held__open_and_load();
	struct bpf_link *link;
	pthread_t thread;
	void *arg = NULL;

	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	skel->bss->target = getpid();
	link = attach(skel->progs.sample);
	if (!ASSERT_OK_PTR(link, "attach"))
		goto out;
	/* The dynamic linker looks up each function now, and not in the thread. */
	storm_ends = true;
	storm(skel);
	/* The thread inherits event and program. */
	storm_ends = false;
	if (ASSERT_OK(pthread_create(&thread, NULL, storm, skel), "pthread_create")) {
		while (__atomic_load_n(&skel->bss->nr_stacks, __ATOMIC_RELAXED) < STACKS)
			sched_yield();
		__atomic_store_n(&storm_ends, true, __ATOMIC_RELAXED);
		pthread_join(thread, &arg);
	}
	ASSERT_OK_PTR(arg, "the storm");
	bpf_link__destroy(link);
	ASSERT_EQ(skel->bss->failed, 0, "stacks that could not be had");
	check_stacks(skel);
out:
	stack_build_id_held__destroy(skel);
}
