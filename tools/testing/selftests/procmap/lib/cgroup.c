// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "procmap_util.h"

/*
 * Make a cgroup below the root. Returns 0 or -errno. -EINVAL: the kernel has no
 * cgroups, or not this controller.
 * @controller: its controller ("memory", "io")
 */
int cgroup_make(struct cgroup *cgroup, const char *controller)
{
	const struct procmap_option none = { NULL };
	char text[32];
	int ret;

	cgroup->root = procmap_mount("cgroup2", &none);
	if (cgroup->root < 0)
		return cgroup->root == -ENODEV ? -EINVAL : cgroup->root;
	snprintf(cgroup->name, sizeof(cgroup->name), "selftest.%d", getpid());
	snprintf(text, sizeof(text), "+%s", controller);
	ret = procmap_write(cgroup->root, "cgroup.subtree_control", text);
	if (!ret && mkdirat(cgroup->root, cgroup->name, 0755))
		ret = -errno;
	cgroup->dir = ret ? -1 : openat(cgroup->root, cgroup->name, O_DIRECTORY | O_CLOEXEC);
	if (!ret && cgroup->dir < 0)
		ret = -errno;
	if (ret)
		close(cgroup->root);
	return ret;
}

/*
 * Remove a cgroup once its processes have ended or left.
 *
 * A killed process leaves its cgroup a little later.
 */
int cgroup_remove(struct cgroup *cgroup)
{
	int ret;

	close(cgroup->dir);
	UNTIL((ret = unlinkat(cgroup->root, cgroup->name, AT_REMOVEDIR) ? -errno : 0) != -EBUSY);
	close(cgroup->root);
	return ret;
}

/*
 * Say why there can be no cgroup with this controller here. Returns what the
 * kernel or the caller lacks. NULL if a cgroup can be made, or if that fails
 * for a reason that must not skip the tests.
 */
const char *cgroup_lacking(const char *controller)
{
	struct cgroup cgroup;
	int ret = cgroup_make(&cgroup, controller);

	if (ret == -EPERM || ret == -EACCES)
		return "a cgroup needs root";
	if (ret == -EINVAL || ret == -ENOENT)
		return "kernel without that cgroup controller (CONFIG_MEMCG, CONFIG_BLK_CGROUP)";
	if (!ret)
		cgroup_remove(&cgroup);
	return NULL;
}

/*
 * Move a process into the cgroup.
 * @pid: the process; 0: the caller
 */
int cgroup_enter(const struct cgroup *cgroup, pid_t pid)
{
	return procmap_write_number(cgroup->dir, "cgroup.procs", pid);
}

/*
 * Set a value.
 * @file: name of the file, such as "memory.max"
 */
int cgroup_write(const struct cgroup *cgroup, const char *file, const char *text)
{
	return procmap_write(cgroup->dir, file, text);
}

/*
 * Get a number. Returns the number, or -1: no such file or line.
 * @key: the word before the number, in a file with one number on each line;
 *	NULL: the file contains only one number
 */
long cgroup_count(const struct cgroup *cgroup, const char *file, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", cgroup->dir, file);
	return procmap_value(path, key);
}
