// SPDX-License-Identifier: GPL-2.0
/* A uprobe at a function of the program itself. */
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "procmap_util.h"
#include "uprobe.h"

int uprobed(int value);

/* Begins with an instruction that a uprobe does not emulate, but executes in its area. */
int uprobed(int value)
{
	return 3 * value + 1;
}

/*
 * Put a uprobe at a function of this program, in all processes. Returns its
 * descriptor or -errno. -ENODEV: the kernel has no uprobes of perf.
 */
int uprobe_open(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct procmap_call call;
	char exe[PATH_MAX] = "";
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	bool has_type;
	int ret;

	if (!file)
		return -ENODEV;
	has_type = fscanf(file, "%u", &attr.type) == 1;
	fclose(file);
	if (!has_type)
		return -ENODEV;
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return -errno;
	ret = procmap_ask_self(uprobed, &call);
	if (ret)
		return ret;
	attr.uprobe_path = (unsigned long)exe;
	attr.probe_offset = (unsigned long)uprobed - call.q.vma_start + call.q.vma_offset;
	ret = syscall(__NR_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return ret < 0 ? -errno : ret;
}

/* Hit the uprobe. Returns whether the function did what it does without one. */
bool uprobe_hit(void)
{
	int (*call)(int value) = uprobed;

	/* The compiler must not know what is called: it could inline that. */
	asm("" : "+r" (call));
	return call(0) == 1;
}
