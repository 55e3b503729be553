// SPDX-License-Identifier: GPL-2.0
/*
 * Decide who may have how many workers that read build IDs.
 *
 * A read may last for ever: the file system decides. So what it holds must be
 * bounded for each user. No number of processes, mounts, namespaces or cgroups
 * may get a user around that bound.
 *
 * Shares
 *
 * A share of the workers belongs to a pair of users: the opener of the file,
 * and the asker. The opener decides how long the file system takes, if it owns
 * that file system. Suppose somebody makes a profiler ask about a thousand
 * files of a hostile user. Then it has used up the share with that user, and
 * still gets the build IDs of all other users' files. The asker decides about
 * the limits of its block cgroup. So an asker that throttles itself does not
 * delay others that ask about the same files.
 *
 * <linux/outer_user.h> says what counts as one user.
 *
 * Lanes
 *
 * Inside a share, reads of one file system by one block cgroup form a lane,
 * which has a few workers. A file system that hangs stops its lane, and leaves
 * the rest of the share to other lanes. A job that has to wait for its turn
 * waits in its lane. A read that ends starts the next one of the same share, in
 * constant time. It wakes nobody else and looks at no other share.
 *
 * File systems that do not answer
 *
 * If a read of a lane has been running for BUILD_ID_PATIENCE, the lane counts
 * as one that does not answer. Further reads in it fail with -EIO at once, and
 * waiting ones within BUILD_ID_LOOK. An asker whose own read is running goes on
 * waiting until the read ends or the asker is killed. The lane is in order
 * again when these reads have ended. The same holds for a share of which all
 * workers have been busy for that long.
 *
 * References to files
 *
 * Closing a file may wait for its file system. So a worker drops the last
 * reference to a file, and never the asker. An asker that ends early, because
 * it was killed or refused, drops its reference if another one is left; an
 * atomic operation decides that. Else the job stays in the queue without its
 * asker, and a worker closes the file in its turn. While BUILD_ID_LEFT_MAX such
 * jobs are in a share, it refuses reads that would have to wait. So there are
 * never more than that, plus one for each thread that was asking at that
 * moment.
 *
 * Locks
 *
 * build_id_shares_lock protects the tree of shares and their reference counts.
 * It is held for a look-up. The lock of a share protects its lanes and the
 * place of its jobs. It is held at most for a look at the running jobs of the
 * share. Neither lock is taken inside the other, nor in interrupts. A lane
 * exists while a job is in it.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/outer_user.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "buildid_queue.h"

/*
 * Reads that may run at the same time in a share, and in a lane. Reads of
 * killed askers count, too.
 */
#define BUILD_ID_SHARE_MAX	64
#define BUILD_ID_LANE_MAX	4
/* Jobs that may wait in a share only to close their file. */
#define BUILD_ID_LEFT_MAX	64
/* A file system that has not answered for so long counts as hanging. */
#define BUILD_ID_PATIENCE	(5 * HZ)
/* How often a job that waits for its turn looks whether its lane hangs. */
#define BUILD_ID_LOOK		HZ
/*
 * The asker holds nothing while it sleeps, so the freezer need not wait for the
 * file system either.
 */
#define BUILD_ID_SLEEP		(TASK_KILLABLE | TASK_FREEZABLE)
/*
 * The number of asking threads and the limits above bound this memory, so it is
 * not charged to anybody. These allocations must not fail: an asker that has
 * the last reference to a file has to hand it to a worker.
 */
#define BUILD_ID_GFP		(GFP_KERNEL | __GFP_NOFAIL)

struct build_id_pair {
	struct outer_user opener;
	struct outer_user asker;
};

struct build_id_route {
	const struct super_block *sb;
	const struct cgroup_subsys_state *blkcg;
};

/* memcmp() compares the keys of the trees, so they must have no padding. */
static_assert(sizeof(struct build_id_pair) == 4 * sizeof(long));
static_assert(sizeof(struct build_id_route) == 2 * sizeof(long));

struct build_id_share {
	struct rb_node node;
	struct build_id_pair pair;
	unsigned int refs;		/* under build_id_shares_lock */
	spinlock_t lock;		/* for all below, lanes, job lists */
	struct rb_root lanes;
	struct list_head ready;		/* lanes in which a job may start */
	struct list_head running;	/* jobs, oldest first */
	unsigned int nr_running;
	unsigned int nr_left;
};

struct build_id_lane {
	struct rb_node node;
	struct build_id_route route;
	struct list_head ready;
	struct list_head waiting;
	unsigned int nr_running;
};

static struct workqueue_struct *build_id_wq;
static DEFINE_SPINLOCK(build_id_shares_lock);
static struct rb_root build_id_shares = RB_ROOT;

static struct build_id_pair build_id_pair(const struct file *file)
{
	return (struct build_id_pair) {
		.opener = outer_user(file->f_cred),
		.asker = outer_user(current_cred()),
	};
}

#ifdef CONFIG_BLK_CGROUP
static struct cgroup_subsys_state *build_id_get_blkcg(void)
{
	return task_get_css(current, io_cgrp_id);
}

static void build_id_put_blkcg(struct cgroup_subsys_state *blkcg)
{
	css_put(blkcg);
}
#else
static struct cgroup_subsys_state *build_id_get_blkcg(void)
{
	return NULL;
}

static void build_id_put_blkcg(struct cgroup_subsys_state *blkcg)
{
}
#endif

static int build_id_share_find(const void *key, const struct rb_node *node)
{
	return memcmp(key, &rb_entry(node, struct build_id_share, node)->pair,
		      sizeof(struct build_id_pair));
}

static int build_id_share_order(struct rb_node *new, const struct rb_node *node)
{
	return build_id_share_find(&rb_entry(new, struct build_id_share, node)->pair, node);
}

static int build_id_lane_find(const void *key, const struct rb_node *node)
{
	return memcmp(key, &rb_entry(node, struct build_id_lane, node)->route,
		      sizeof(struct build_id_route));
}

static int build_id_lane_order(struct rb_node *new, const struct rb_node *node)
{
	return build_id_lane_find(&rb_entry(new, struct build_id_lane, node)->route, node);
}

static void build_id_share_free(struct build_id_share *share)
{
	put_user_ns(share->pair.opener.ns);
	put_user_ns(share->pair.asker.ns);
	kfree(share);
}

static void build_id_share_put(struct build_id_share *share)
{
	bool last;

	spin_lock(&build_id_shares_lock);
	last = !--share->refs;
	if (last)
		rb_erase(&share->node, &build_id_shares);
	spin_unlock(&build_id_shares_lock);
	if (last)
		build_id_share_free(share);
}

/* Get the share of this pair, with a reference; NULL if it has no jobs. */
static struct build_id_share *build_id_share_look_up(const struct build_id_pair *pair)
{
	struct rb_node *node;

	spin_lock(&build_id_shares_lock);
	node = rb_find(pair, &build_id_shares, build_id_share_find);
	if (node)
		rb_entry(node, struct build_id_share, node)->refs++;
	spin_unlock(&build_id_shares_lock);
	return node ? rb_entry(node, struct build_id_share, node) : NULL;
}

static struct build_id_share *build_id_share_get(const struct build_id_pair *pair)
{
	struct build_id_share *new = kzalloc(sizeof(*new), BUILD_ID_GFP);
	struct build_id_share *share = new;
	struct rb_node *node;

	new->pair = *pair;
	get_user_ns(pair->opener.ns);
	get_user_ns(pair->asker.ns);
	spin_lock_init(&new->lock);
	INIT_LIST_HEAD(&new->ready);
	INIT_LIST_HEAD(&new->running);

	spin_lock(&build_id_shares_lock);
	node = rb_find_add(&new->node, &build_id_shares, build_id_share_order);
	if (node)
		share = rb_entry(node, struct build_id_share, node);
	share->refs++;
	spin_unlock(&build_id_shares_lock);
	if (share != new)
		build_id_share_free(new);
	return share;
}

/*
 * Call this after every change of a lane. Put the lane in the right list, or
 * free it if no job is in it.
 */
static void build_id_lane_update(struct build_id_share *share, struct build_id_lane *lane)
{
	bool waits = !list_empty(&lane->waiting);

	list_del_init(&lane->ready);
	if (waits && lane->nr_running < BUILD_ID_LANE_MAX)
		list_add_tail(&lane->ready, &share->ready);
	if (waits || lane->nr_running)
		return;
	rb_erase(&lane->node, &share->lanes);
	kfree(lane);
}

/*
 * Has one read of this lane been running for too long, or all reads that the
 * share may run? The list begins with the oldest read, and has
 * BUILD_ID_SHARE_MAX entries at most.
 */
static bool build_id_lane_hangs(const struct build_id_share *share,
				const struct build_id_lane *lane)
{
	const struct build_id_job *job;
	unsigned int nr = 0;

	list_for_each_entry(job, &share->running, list) {
		if (time_before(jiffies, job->since + BUILD_ID_PATIENCE))
			break;
		if (job->lane == lane)
			return true;
		nr++;
	}
	return nr == BUILD_ID_SHARE_MAX;
}

/*
 * Does the share refuse a read in this lane? @lane is NULL if no job is in it.
 */
static bool build_id_lane_refuses(const struct build_id_share *share,
				  const struct build_id_lane *lane)
{
	bool full = share->nr_running >= BUILD_ID_SHARE_MAX ||
		    (lane && lane->nr_running >= BUILD_ID_LANE_MAX);

	return build_id_lane_hangs(share, lane) ||
	       (full && share->nr_left >= BUILD_ID_LEFT_MAX);
}

/*
 * Start a job if one may run. Call this when a read has ended or a job has
 * come. Before that no job could start, since the share was full, or each lane
 * with a waiting job was. So at most one job can start now.
 */
static void build_id_share_start(struct build_id_share *share)
{
	struct build_id_lane *lane;
	struct build_id_job *job;

	lane = list_first_entry_or_null(&share->ready, struct build_id_lane, ready);
	if (!lane || share->nr_running >= BUILD_ID_SHARE_MAX)
		return;
	job = list_first_entry(&lane->waiting, struct build_id_job, list);
	list_move_tail(&job->list, &share->running);
	share->nr_running++;
	lane->nr_running++;
	share->nr_left -= job->left;
	build_id_lane_update(share, lane);
	job->since = jiffies;
	/* Read without the lock only to decide how long to sleep. */
	WRITE_ONCE(job->running, true);
	queue_work(build_id_wq, &job->work);
}

static void build_id_job_put(struct build_id_job *job)
{
	if (!refcount_dec_and_test(&job->refs))
		return;
	mem_cgroup_put(job->memcg);
	build_id_put_blkcg(job->blkcg);
	build_id_share_put(job->share);
	kfree(job);
}

static bool build_id_put_unless_last(struct file *file)
{
	return atomic_long_add_unless(&file->f_count, -1, 1);
}

/*
 * The asker gives up. Take a waiting job back, unless it has the last reference
 * to its file: then a worker has to close the file.
 */
static void build_id_job_quit(struct build_id_job *job)
{
	struct build_id_share *share = job->share;

	lockdep_assert_held(&share->lock);
	WRITE_ONCE(job->left, true);
	if (job->running)
		return;
	if (!build_id_put_unless_last(job->file)) {
		share->nr_left++;
		return;
	}
	list_del(&job->list);
	build_id_lane_update(share, job->lane);
	refcount_dec(&job->refs);	/* of the queue, not the asker */
}

static void build_id_job_done(struct build_id_job *job)
{
	struct build_id_share *share = job->share;

	spin_lock(&share->lock);
	list_del(&job->list);
	share->nr_running--;
	job->lane->nr_running--;
	build_id_lane_update(share, job->lane);
	build_id_share_start(share);
	spin_unlock(&share->lock);
	build_id_job_put(job);
}

/*
 * Read with the credentials of the opener of the file: FUSE in a user namespace
 * and network file systems know the opener, but may not know the asker. The
 * block layer knows a task by its cgroup: use that of the asker, so that its
 * limits hold.
 */
static void build_id_job_run(struct build_id_job *job)
{
	const struct cred *old_cred = override_creds(job->file->f_cred);

	kthread_associate_blkcg(job->blkcg);
	job->err = build_id_file_parse(job);
	kthread_associate_blkcg(NULL);
	revert_creds(old_cred);
}

static void build_id_job_work(struct work_struct *work)
{
	struct build_id_job *job = container_of(work, struct build_id_job, work);
	bool last;

	if (!READ_ONCE(job->left))
		build_id_job_run(job);

	/* Usually the file has no reference of ours when the asker goes on. */
	last = !build_id_put_unless_last(job->file);
	/*
	 * Release: the answer before the flag; pairs with the acquire in
	 * build_id_job_over().
	 */
	smp_store_release(&job->over, true);
	wake_up(&job->wait);
	if (last)
		__fput_sync(job->file);
	build_id_job_done(job);
}

static bool build_id_job_over(const struct build_id_job *job)
{
	/*
	 * Acquire: the flag before the answer; pairs with build_id_job_work().
	 */
	return smp_load_acquire(&job->over);
}

/*
 * Sleep until woken. While the job waits for its turn, look from time to time
 * whether its lane hangs.
 */
static void build_id_job_sleep(struct build_id_job *job)
{
	struct build_id_share *share = job->share;
	bool running = READ_ONCE(job->running);

	schedule_timeout(running ? MAX_SCHEDULE_TIMEOUT : BUILD_ID_LOOK);
	if (running)
		return;
	spin_lock(&share->lock);
	if (!job->running && build_id_lane_hangs(share, job->lane)) {
		build_id_job_quit(job);
		job->err = -EIO;
		/* No release needed: no worker writes it, only we read it. */
		job->over = true;
	}
	spin_unlock(&share->lock);
}

static int build_id_job_wait(struct build_id_job *job)
{
	int err;

	err = ___wait_event(job->wait, build_id_job_over(job), BUILD_ID_SLEEP, 0, 0,
			    build_id_job_sleep(job));
	if (!err)
		return job->err;
	spin_lock(&job->share->lock);
	build_id_job_quit(job);
	spin_unlock(&job->share->lock);
	return -EINTR;
}

/* Queue a job, and start it if it may run. -EIO: the share refuses it. */
static int build_id_job_submit(struct build_id_job *job)
{
	struct build_id_lane *new = kzalloc(sizeof(*new), BUILD_ID_GFP);
	struct build_id_share *share = job->share;
	struct rb_node *node;
	bool refused;

	new->route.sb = file_inode(job->file)->i_sb;
	new->route.blkcg = job->blkcg;
	INIT_LIST_HEAD(&new->ready);
	INIT_LIST_HEAD(&new->waiting);

	spin_lock(&share->lock);
	node = rb_find_add(&new->node, &share->lanes, build_id_lane_order);
	job->lane = node ? rb_entry(node, struct build_id_lane, node) : new;
	refused = build_id_lane_refuses(share, job->lane);
	list_add_tail(&job->list, &job->lane->waiting);
	build_id_lane_update(share, job->lane);
	if (refused)
		build_id_job_quit(job);
	build_id_share_start(share);
	spin_unlock(&share->lock);
	if (node)
		kfree(new);
	return refused ? -EIO : 0;
}

static struct build_id_job *build_id_job_make(struct file *file, struct mm_struct *mm)
{
	struct build_id_pair pair = build_id_pair(file);
	struct build_id_job *job = kzalloc(sizeof(*job), BUILD_ID_GFP);

	INIT_WORK(&job->work, build_id_job_work);
	init_waitqueue_head(&job->wait);
	refcount_set(&job->refs, 2);
	job->file = file;
	job->memcg = get_mem_cgroup_from_mm(mm);
	job->blkcg = build_id_get_blkcg();
	job->share = build_id_share_get(&pair);
	return job;
}

/**
 * build_id_queue_read - have the build ID of a file read by a worker
 * @file: the file; the function consumes the caller's reference, also on an
 *	error
 * @mm: the address space that maps the file; pages are charged to its memory
 *	cgroup
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX
 *	bytes
 * @size: receives the length of the ID
 *
 * Context: process context, no locks held. Sleeps until the file system
 * answers, or until a fatal signal.
 *
 * Return: 0; -ENODATA if there is no build ID; -ENOMEM if there was no memory
 * for a page, or its charge failed; -EIO if the file could not be read, or is
 * not read because the file system does not answer; -EINTR if, and only if, a
 * fatal signal is pending. Writes @build_id and @size only on success.
 */
int build_id_queue_read(struct file *file, struct mm_struct *mm, unsigned char *build_id,
			unsigned int *size)
{
	struct build_id_job *job;
	int err;

	if (unlikely(!build_id_wq)) {	/* there was no memory at boot */
		fput(file);
		return -ENOMEM;
	}
	job = build_id_job_make(file, mm);
	err = build_id_job_submit(job);
	if (!err)
		err = build_id_job_wait(job);
	if (!err) {
		memcpy(build_id, job->build_id, sizeof(job->build_id));
		*size = job->size;
	}
	build_id_job_put(job);
	return err;
}

/**
 * build_id_queue_refuses - would build_id_queue_read() refuse a file now?
 * @file: the file; the caller keeps it open and needs no reference
 *
 * A caller that asks this first need not take a reference in vain, which might
 * become the last one.
 *
 * Context: any except interrupts. Does not sleep.
 *
 * Return: true if it would at this moment.
 */
bool build_id_queue_refuses(struct file *file)
{
	struct build_id_pair pair = build_id_pair(file);
	struct build_id_route route = { .sb = file_inode(file)->i_sb };
	struct build_id_share *share;
	struct rb_node *node;
	bool refuses;

	share = build_id_share_look_up(&pair);
	if (!share)
		return false;
	/* Only the address of the css is compared, so it needs no reference. */
#ifdef CONFIG_BLK_CGROUP
	rcu_read_lock();
	route.blkcg = task_css(current, io_cgrp_id);
	rcu_read_unlock();
#endif
	spin_lock(&share->lock);
	node = rb_find(&route, &share->lanes, build_id_lane_find);
	refuses = build_id_lane_refuses(share, node ? rb_entry(node, struct build_id_lane, node) :
						      NULL);
	spin_unlock(&share->lock);
	build_id_share_put(share);
	return refuses;
}

static int __init build_id_queue_init(void)
{
	build_id_wq = alloc_workqueue("build_id", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return build_id_wq ? 0 : -ENOMEM;
}
subsys_initcall(build_id_queue_init);
