/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cgroup of the version 2 hierarchy with one controller, for a test. The
 * hierarchy has no mount point here but only a descriptor. Needs root.
 * Functions return 0, or -errno on failure, unless their comment says more.
 */
#ifndef SELFTEST_PROCMAP_CGROUP_H
#define SELFTEST_PROCMAP_CGROUP_H

#include <sys/types.h>

/**
 * struct cgroup - one cgroup
 * @name: name of its directory
 * @root: descriptor of the directory of the root cgroup
 * @dir: descriptor of its own directory
 */
struct cgroup {
	char name[32];
	int root;
	int dir;
};

int cgroup_make(struct cgroup *cgroup, const char *controller);
int cgroup_remove(struct cgroup *cgroup);
const char *cgroup_lacking(const char *controller);

int cgroup_enter(const struct cgroup *cgroup, pid_t pid);

int cgroup_write(const struct cgroup *cgroup, const char *file, const char *text);
long cgroup_count(const struct cgroup *cgroup, const char *file, const char *key);

#endif /* SELFTEST_PROCMAP_CGROUP_H */
