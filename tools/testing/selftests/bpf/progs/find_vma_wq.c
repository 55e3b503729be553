// SPDX-License-Identifier: GPL-2.0
/* bpf_find_vma() in a callback of bpf_wq: may its own callback sleep? */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpf_experimental.h"

char _license[] SEC("license") = "GPL";

struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;

struct element {
	struct bpf_wq work;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, struct element);
} elements SEC(".maps");

int target = 0;
__u64 addr = 0;

long found = 1, copied = 1;
/* Readers of mmap_lock while the callback runs: in the program, in the work */
long readers = -1, readers_in_work = -1;
char byte = 0;
bool done = false;

static long count_readers(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	readers = BPF_CORE_READ(task, mm, mmap_lock.count.counter) >> 8;
	return 0;
}

static long copy(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	readers_in_work = BPF_CORE_READ(task, mm, mmap_lock.count.counter) >> 8;
	copied = bpf_copy_from_user_task(&byte, 1, (void *)addr, task, 0);
	return 0;
}

static int on_work(void *map, int *key, void *value)
{
	struct task_struct *task = bpf_task_from_pid(target);
	int ctx = 0;

	if (task) {
		found = bpf_find_vma(task, addr, copy, &ctx, 0);
		bpf_task_release(task);
	}
	done = true;
	return 0;
}

SEC("tp_btf/sys_enter")
int start_work(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct element *element;
	int key = 0;

	if (task->pid != target || readers >= 0)
		return 0;
	element = bpf_map_lookup_elem(&elements, &key);
	if (!element || bpf_find_vma(task, addr, count_readers, &key, 0))
		return 0;
	/* Without work, the test ends at once, and fails. */
	if (bpf_wq_init(&element->work, &elements, 0) ||
	    bpf_wq_set_callback(&element->work, on_work, 0) ||
	    bpf_wq_start(&element->work, 0))
		done = true;
	return 0;
}
