/* SPDX-License-Identifier: GPL-2.0 */
/* Share out the workers that read build IDs: see buildid_queue.c. */
#ifndef _LIB_BUILDID_QUEUE_H
#define _LIB_BUILDID_QUEUE_H

#include <linux/buildid.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct build_id_lane;
struct build_id_share;
struct cgroup_subsys_state;
struct file;
struct mem_cgroup;
struct mm_struct;

/**
 * struct build_id_job - one file to be read by a worker
 * @file: the file; the job holds a reference until it has run or has been taken
 *	back
 * @memcg: memory cgroup that pays for pages that are brought in
 * @blkcg: block cgroup whose limits hold for reading the disk
 * @left: nobody waits for the answer any more; written under the lock of
 *	@share, may be read without
 * @build_id: the answer, padded with zeros, valid once @over is set
 * @size: length of the answer, likewise
 * @err: 0 or -errno, likewise
 * @over: the answer is there; the worker sets it with release, the asker reads
 *	it with acquire
 * @running: a worker runs the job, or will run it next; under the lock of
 *	@share, may be read without
 * @since: when @running was set, in jiffies; under the lock of @share
 * @list: in the running jobs of @share or the waiting jobs of @lane; under the
 *	lock of @share
 * @share: the share of workers that the job uses
 * @lane: the lane of that share; valid while the job waits or runs
 * @refs: references: one of the asker, and one of the queue until the job is
 *	taken back or has run
 * @wait: wait queue of the asker
 * @work: work item of the worker
 */
struct build_id_job {
	struct file *file;
	struct mem_cgroup *memcg;
	struct cgroup_subsys_state *blkcg;
	bool left;
	unsigned char build_id[BUILD_ID_SIZE_MAX];
	unsigned int size;
	int err;
	bool over;
	bool running;
	unsigned long since;
	struct list_head list;
	struct build_id_share *share;
	struct build_id_lane *lane;
	refcount_t refs;
	wait_queue_head_t wait;
	struct work_struct work;
};

int build_id_queue_read(struct file *file, struct mm_struct *mm, unsigned char *build_id,
			unsigned int *size);
bool build_id_queue_refuses(struct file *file);

/* In buildid_file.c: what a worker does. */
int build_id_file_parse(struct build_id_job *job);

#endif /* _LIB_BUILDID_QUEUE_H */
