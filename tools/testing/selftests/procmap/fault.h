/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Let the kernel fail on purpose (Documentation/fault-injection/), one thing at
 * a time. Count its objects, to find those that are left behind.
 *
 * Functions return 0, or -errno on failure, unless their comment says more.
 */
#ifndef SELFTEST_PROCMAP_FAULT_H
#define SELFTEST_PROCMAP_FAULT_H

#include <limits.h>
#include <stdbool.h>

#define FAULT_SETTINGS	9
#define FAULT_CACHES	5

/**
 * struct fault - the kernel settings, and the values from before
 * @dir: mount point of debugfs, in a mount namespace of the caller's own
 * @saved: values of the settings from before
 * @nth: descriptor of the caller's fail-nth file
 */
struct fault {
	char dir[PATH_MAX / 2];
	char saved[FAULT_SETTINGS][16];
	int nth;
};

/**
 * struct fault_counts - objects that the kernel has, by kind
 * @objects: number of objects of each cache
 */
struct fault_counts {
	long objects[FAULT_CACHES];
};

const char *fault_lacking(void);
int fault_start(struct fault *fault, const char *dir);
int fault_stop(struct fault *fault);
int fault_arm(struct fault *fault, int nth);
int fault_disarm(struct fault *fault, bool *failed);

int fault_count(struct fault_counts *counts);
int fault_wait_back(const struct fault_counts *before, long spare);

#endif /* SELFTEST_PROCMAP_FAULT_H */
