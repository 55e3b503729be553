/* SPDX-License-Identifier: GPL-2.0 */
/* Who may have how many workers that read build IDs: see buildid_queue.c. */
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
 * @file: the file; its reference belongs to the job until the job has run or has been taken back
 * @memcg: who pays for pages that are brought in
 * @blkcg: whose limits hold for reading the disk
 * @left: nobody waits for the answer any more; may be looked at without the lock
 * @build_id: the answer, padded with zeros, once @over
 * @size: likewise its length
 * @err: likewise 0 or -errno
 * @over: the answer is there; release by who wrote it, acquire by the asker
 * @running: a worker has it, or will have it next; under the lock of @share
 * @since: when that began, in jiffies; under the same lock
 * @list: among the running of @share or the waiting of @lane; under the same lock
 * @share: the share of workers that it uses
 * @lane: the part of that share; valid while it waits or runs
 * @refs: of the asker, and of the queue until the job is taken back or has run
 * @wait: where the asker sleeps
 * @work: for the work queue
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

/* Of buildid_file.c; what a worker does. */
int build_id_file_parse(struct build_id_job *job);

#endif /* _LIB_BUILDID_QUEUE_H */
