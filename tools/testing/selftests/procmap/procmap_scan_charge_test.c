// SPDX-License-Identifier: GPL-2.0
/*
 * Which cgroup is charged for a scan, and for how much. A program that asks for
 * as much as it can get is charged for what is there, and the process that it
 * looks at is not charged at all.
 */
#include <signal.h>
#include <sys/mman.h>

#include "cgroup.h"
#include "procmap_harness.h"
#include "scan.h"
#include "stall.h"

/* Few enough to be mapped soon on a kernel with detectors. */
#define NR_VMAS		1000
#define NR_SCANS	100
/* What the caller says that it has space for; it needs a thousandth of it. */
#define ASK_RECORDS	1000000
#define ASK_NAMES	(64 << 20)
/* How much a cgroup may grow. Each processor takes the charge of 64 pages in advance. */
#define MARGIN		(2 << 20)

FIXTURE(charge) {
	const char *lacking;
	struct procmap_child target;
	struct cgroup cgroup;
	int maps;
};

FIXTURE_SETUP(charge)
{
	unsigned int vmas = NR_VMAS;

	self->lacking = cgroup_lacking("memory");
	if (self->lacking)
		return;
	self->maps = procmap_child_open(&self->target, stall_maps_many, &vmas, NULL);
	ASSERT_LE(0, self->maps);
	ASSERT_EQ(0, cgroup_make(&self->cgroup, "memory"));
}

FIXTURE_TEARDOWN(charge)
{
	if (self->lacking)
		return;
	procmap_child_kill(&self->target);
	close(self->maps);
	EXPECT_EQ(0, cgroup_remove(&self->cgroup));
}

/* Returns the number of records of each scan, or 0 if they differ or fail. */
static __u32 scans(int maps)
{
	struct procmap_scan scan = {
		.size = sizeof(scan),
		.flags = SCAN_EXTRAS,
		.records_len = ASK_RECORDS,
		.record_size = sizeof(struct procmap_record),
		.names_size = ASK_NAMES,
	};
	const size_t size = (size_t)ASK_RECORDS * sizeof(struct procmap_record) + ASK_NAMES;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	__u32 nr = 0;
	int i;

	if (area == MAP_FAILED)
		return 0;
	scan.records = (unsigned long)area;
	scan.names = scan.records + (size_t)ASK_RECORDS * sizeof(struct procmap_record);
	for (i = 0; i < NR_SCANS; i++) {
		if (scan_ioctl(maps, &scan) || (i && scan.records_filled != nr))
			return 0;
		nr = scan.records_filled;
	}
	return nr;
}

static int asks(struct procmap_child *child, void *arg)
{
	const int *maps = arg;

	if (procmap_sync(child))
		return 1;
	return procmap_send(child, scans(*maps)) || procmap_sync(child);
}

/* Let the cgroup have no more than it has, and a margin. */
static long limit(const struct cgroup *cgroup, long margin)
{
	long now = cgroup_count(cgroup, "memory.current", NULL);

	return now < 0 ? now : procmap_write_number(cgroup->dir, "memory.max", now + margin);
}

TEST_F(charge, of_room_for_a_million_records_is_for_those_that_are_there)
{
	struct procmap_child caller;
	__u64 records = 0;

	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, procmap_child_start(&caller, asks, &self->maps));
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, caller.pid));
	ASSERT_EQ(0, limit(&self->cgroup, MARGIN));
	EXPECT_EQ(0, procmap_send(&caller, 0));
	EXPECT_EQ(0, procmap_recv(&caller, &records))
		TH_LOG("the caller is gone");
	EXPECT_LT(NR_VMAS, records);
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "max"));
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom_kill"));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&caller));
}

TEST_F(charge, is_not_for_the_process_that_is_looked_at)
{
	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->target.pid));
	ASSERT_EQ(0, limit(&self->cgroup, 0));
	EXPECT_LT(NR_VMAS, scans(self->maps));
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "max"));
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom_kill"));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->target));
}

TEST_HARNESS_MAIN
