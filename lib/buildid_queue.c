// SPDX-License-Identifier: GPL-2.0
/*
 * Who may have how many workers that read build IDs.
 *
 * A read may last for ever: the file system decides. So what it holds has to be bounded for each
 * user, in a way that no number of processes, mounts, namespaces or cgroups gets round.
 *
 * Shares
 *
 * A share of the workers belongs to a pair of users: the one who opened the file, and the one who
 * asks. The first decides how long the file system takes, as far as it is his own; so a profiler
 * that was made to ask about a thousand files of a hostile user has used up that user's share and
 * still gets the build IDs of the files of everybody else. The second decides about the limits of
 * his block cgroup; so who throttles himself does not hold up others who ask about the same files.
 *
 * Who counts as one user is said in <linux/outer_user.h>.
 *
 * Lanes
 *
 * Inside a share, reads of one file system by one block cgroup go in a lane, which has a few
 * workers. A file system that hangs stops its lane and leaves the rest to the others of that pair.
 * Who has to wait for his turn waits in the lane. A read that ends starts the next one of the same
 * share, in constant time; it wakes nobody else and looks at no other share.
 *
 * File systems that do not answer
 *
 * A lane in which a read has been running for BUILD_ID_PATIENCE is taken for one that does not
 * answer. Further reads in it, and those that wait, end at once as ones that could not be read.
 * Whose own read is running waits on until it is answered or he is killed. The lane is in order
 * again when these reads have ended. A share whose workers are all busy for that long is treated in
 * the same way.
 *
 * References to files
 *
 * Closing a file may wait for its file system. So the last reference to a file is dropped by a
 * worker and never by the asker. An asker who ends early, because he was killed or refused, drops
 * his reference if another one is left, which an atomic operation decides. Else the job stays in
 * the queue without him and a worker closes the file in its turn. While BUILD_ID_LEFT_MAX such jobs
 * are in a share, reads that would have to wait are refused. So there are never more than that and
 * one for each thread that was asking at that moment.
 *
 * Locks
 *
 * build_id_shares_lock protects the tree of shares and their counts of references; it is held for a
 * look-up. The lock of a share protects its lanes and the place of its jobs; it is held for a look
 * at its running jobs at most. Neither is taken inside the other, nor in interrupts. A lane exists
 * while a job is in it.
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

/* Reads that run at a time, left ones of killed askers too: of a share, of a lane */
#define BUILD_ID_SHARE_MAX	64
#define BUILD_ID_LANE_MAX	4
/* Jobs that wait in a share for no other purpose than to close their file */
#define BUILD_ID_LEFT_MAX	64
/* A file system that has not answered for so long does not answer. */
#define BUILD_ID_PATIENCE	(5 * HZ)
/* How often who waits for his turn looks whether there will be one */
#define BUILD_ID_LOOK		HZ
/* The asker holds nothing, so that the freezer need not wait for the file system either. */
#define BUILD_ID_SLEEP		(TASK_KILLABLE | TASK_FREEZABLE)
/*
 * Bounded by the threads that ask and the limits above, so it need not be charged to anybody. It
 * must not fail: who has the last reference to a file has to hand it over.
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

/* Trees are ordered by the bytes of their keys. */
static_assert(sizeof(struct build_id_pair) == 4 * sizeof(long));
static_assert(sizeof(struct build_id_route) == 2 * sizeof(long));

struct build_id_share {
	struct rb_node node;
	struct build_id_pair pair;
	unsigned int refs;		/* under build_id_shares_lock */
	spinlock_t lock;		/* of all below, its lanes, and where its jobs are */
	struct rb_root lanes;
	struct list_head ready;		/* lanes with waiting jobs of which one may run */
	struct list_head running;	/* jobs in the order of starting */
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

/* The share of this pair, with a reference; NULL if it has no jobs. */
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

/* After every change: is the lane in the right list, and is it of use at all? */
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
 * Has a read of this lane been running for too long, or every one of the share? The list begins
 * with the oldest, and has BUILD_ID_SHARE_MAX entries at most.
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

/* @lane: NULL if nothing runs or waits in it */
static bool build_id_lane_refuses(const struct build_id_share *share,
				  const struct build_id_lane *lane)
{
	bool full = share->nr_running >= BUILD_ID_SHARE_MAX ||
		    (lane && lane->nr_running >= BUILD_ID_LANE_MAX);

	return build_id_lane_hangs(share, lane) ||
	       (full && share->nr_left >= BUILD_ID_LEFT_MAX);
}

/*
 * Start what may run. Before a read ended, or a job came, nothing could start, as the share or each
 * lane with a waiting job was full; so there is one job to start at most.
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
	/* Without the lock it only says how long to sleep. */
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
 * The asker gives up. A job that waits is taken back, unless it has the last reference to its file:
 * then a worker has to close that.
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
	refcount_dec(&job->refs);	/* that of the queue; the asker still has his */
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
 * Read on behalf of whoever opened the file: that is whom FUSE in a user namespace and network file
 * systems know, while the asker may be nobody to them. The block layer knows a task by its cgroup;
 * the asker's limits are those that hold.
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

	/* As a rule the file is free again when the asker has his answer. */
	last = !build_id_put_unless_last(job->file);
	/* Pairs with the acquire in build_id_job_over(): what was written before is the answer. */
	smp_store_release(&job->over, true);
	wake_up(&job->wait);
	if (last)
		__fput_sync(job->file);
	build_id_job_done(job);
}

static bool build_id_job_over(const struct build_id_job *job)
{
	/* Pairs with the release in build_id_job_work(). */
	return smp_load_acquire(&job->over);
}

/* Sleep until woken; who waits for his turn looks from time to time whether there will be one. */
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
		/* No worker will: nobody else looks at it. */
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

/* Queue it, and start it if it may; -EIO if it is refused. */
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
 * @file: the file; the reference of the caller is consumed
 * @mm: whose mapping of the file it is; pages are charged to its memory cgroup
 * @build_id: receives the ID, padded with zeros; room for BUILD_ID_SIZE_MAX bytes
 * @size: receives the length of the ID
 *
 * Context: sleeps until the file system has answered, or until a fatal signal. The caller holds no
 * locks.
 *
 * Return: 0; -ENODATA if there is no build ID; -ENOMEM if a page could not be had or charged; -EIO
 * if it could not be read, or is not read because the file system does not answer; -EINTR if, and
 * only if, a fatal signal is pending.
 */
int build_id_queue_read(struct file *file, struct mm_struct *mm, unsigned char *build_id,
			unsigned int *size)
{
	struct build_id_job *job;
	int err;

	if (unlikely(!build_id_wq)) {	/* no memory for it at boot */
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
 * build_id_queue_refuses - would build_id_queue_read() refuse to read this file?
 * @file: the file, kept from going away by the caller, who need not have a reference
 *
 * Asked first, it keeps a caller from taking a reference, which might become the last one, in vain.
 *
 * Context: any but interrupts; does not sleep.
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
	/* The caller is in the cgroup, which is compared and not looked at. */
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
