// SPDX-License-Identifier: GPL-2.0
/*
 * What a reader follows from a VMA ends while readers follow it: the area of
 * uprobes with the name of its VMA, the name of anonymous memory, files with
 * their mounts, huge pages, System V memory. Everything that ends must outlast
 * the readers. KASAN tells when it does not, so on other kernels this test sees
 * only crashes and wrong names.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "procmap_harness.h"
#include "scan.h"
#include "stall.h"
#include "uprobe.h"

#define ROUNDS		1000
#define NR_READERS	3
#define INTERRUPT_NS	(2 * 1000 * 1000)
#define ROOM		4096
#define SIZE		(2UL << 20)

PROCMAP_REQUIRE(geteuid() ? "needs root" : NULL)

/**
 * struct shared - memory of the test, its readers and its target
 * @maps: descriptor of the maps file, in the table that test and readers share
 * @addr: where the target has its mapping; 0: nowhere yet
 * @stop: the readers must end
 * @name: what the name of the mapping must contain, if it has one
 * @answers: how many answers named it
 * @wrong: a name that it never had
 */
struct shared {
	int maps;
	unsigned long addr;
	bool stop;
	char name[64];
	unsigned long answers;
	char wrong[PATH_MAX];
};

static void has_name(struct shared *shared, const char *name)
{
	if (strstr(name, shared->name))
		__atomic_add_fetch(&shared->answers, 1, __ATOMIC_RELAXED);
	else if (*name)
		snprintf(shared->wrong, sizeof(shared->wrong), "%s", name);
}

static void queries(struct shared *shared)
{
	char name[PATH_MAX] = "", id[20];
	struct procmap_query q = {
		.size = sizeof(q),
		.query_addr = shared->addr,
		.vma_name_addr = (unsigned long)name,
		.vma_name_size = sizeof(name),
		.build_id_addr = (unsigned long)id,
		.build_id_size = sizeof(id),
	};

	if (!procmap_ioctl(shared->maps, &q))
		has_name(shared, name);
}

static void scans(struct shared *shared)
{
	struct procmap_record record;
	char name[PATH_MAX] = "";

	if (!scan_one(shared->maps, (void *)shared->addr, SCAN_EXTRAS, &record, name,
		      sizeof(name)))
		has_name(shared, name);
}

static void reads(struct shared *shared)
{
	char space[ROOM];

	(void)!pread(shared->maps, space, sizeof(space), 0);
}

static void (*const kinds[NR_READERS])(struct shared *shared) = { queries, scans, reads };

/*
 * Have the caller interrupted all the time it runs. So it often stops for long
 * between looking whether something is there and following it.
 */
static int interrupt_me(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = INTERRUPT_NS,
	};

	return syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0 ? -errno :
											     0;
}

/*
 * What ends does so on the first processor, and readers run on the last one: a
 * reader is always at work then.
 */
static struct shared *start_readers(pid_t *readers)
{
	const int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	struct shared *shared = procmap_share(sizeof(*shared));
	unsigned int i;

	if (!shared)
		return NULL;
	shared->maps = maps_open(0);
	for (i = 0; i < NR_READERS; i++) {
		readers[i] = stall_fork_files();
		if (readers[i])
			continue;
		if (procmap_pin(last) || interrupt_me())
			_exit(1);
		while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
			kinds[i](shared);
		_exit(0);
	}
	return shared;
}

FIXTURE(lifetime) {
	struct shared *shared;
	pid_t readers[NR_READERS];
};

FIXTURE_SETUP(lifetime)
{
	/* Mounts are seen by nobody else. */
	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_EQ(0, procmap_pin(0));
	self->shared = start_readers(self->readers);
	ASSERT_NE(NULL, self->shared);
}

FIXTURE_TEARDOWN(lifetime)
{
	unsigned int i;

	if (!self->shared)
		return;
	__atomic_store_n(&self->shared->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < NR_READERS; i++)
		waitpid(self->readers[i], NULL, 0);
	fprintf(stderr, "# %lu answers\n", self->shared->answers);
	EXPECT_STREQ("", self->shared->wrong);
	/* Unless the test was skipped */
	if (self->shared->addr)
		EXPECT_LT(0, self->shared->answers);
}

/* The VMA that holds the area of uprobes, or 0. */
static unsigned long uprobes_addr(void)
{
	struct maps_text text;
	unsigned long addr = 0;
	size_t i;

	if (maps_text_read_pid(0, &text))
		return 0;
	for (i = 0; i < text.nr; i++)
		if (!strcmp(text.vma[i].name, UPROBE_AREA))
			addr = text.vma[i].start;
	maps_text_free(&text);
	return addr;
}

static int is_probed(struct procmap_child *child, void *arg)
{
	const unsigned long addr = uprobe_hit() ? uprobes_addr() : 0;

	return HOLDS(addr) && HOLDS(!procmap_send(child, addr)) &&
	       HOLDS(!procmap_sync(child)) ? 0 : 1;
}

TEST_F(lifetime, the_area_of_uprobes_outlasts_its_vma)
{
	struct procmap_child child;
	unsigned int i;
	__u64 addr;
	int probe = uprobe_open();

	if (probe == -ENODEV)
		SKIP(return, "%s: kernel without uprobes of perf", _metadata->name);
	ASSERT_LE(0, probe);
	strcpy(self->shared->name, UPROBE_AREA);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, procmap_child_start(&child, is_probed, NULL));
		ASSERT_EQ(0, procmap_recv(&child, &addr));
		self->shared->addr = addr;
		ASSERT_EQ(0, stall_show(self->shared->maps, child.pid));
		EXPECT_EQ(0, procmap_child_finish(&child));
	}
	close(probe);
}

/**
 * struct undoer - a child that maps something with a name, and unmaps it
 * @shared: the readers
 * @once: maps and unmaps, and returns 0 or -errno
 * @child: the child
 */
struct undoer {
	struct shared *shared;
	int (*once)(void);
	struct procmap_child child;
};

/* Until each has had some turns: the readers answers, and the child rounds. */
static int undoes(struct procmap_child *child, void *arg)
{
	const struct undoer *undoer = arg;
	unsigned int i;

	for (i = 0; i < ROUNDS ||
	     __atomic_load_n(&undoer->shared->answers, __ATOMIC_RELAXED) < ROUNDS; i++)
		if (!HOLDS(!undoer->once()))
			return 1;
	return 0;
}

/* Where all these mappings are: at an address that is free in the child, too. */
static char *place;

/* Returns the exit status of the child, or -errno. */
static int undo(struct shared *shared, const char *name, int (*once)(void))
{
	struct undoer undoer = { .shared = shared, .once = once };
	int ret;

	place = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		return -errno;
	place = (char *)(((unsigned long)place + SIZE - 1) & ~(SIZE - 1));
	strcpy(shared->name, name);
	shared->addr = (unsigned long)place;
	ret = procmap_child_start(&undoer.child, undoes, &undoer);
	if (!ret)
		ret = stall_show(shared->maps, undoer.child.pid);
	return ret ? ret : stall_wait(&undoer.child);
}

static int names(void)
{
	if (mmap(place, ROOM, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != place)
		return -errno;
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, place, ROOM, "first") ||
	    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, place, ROOM, "first, and another") ||
	    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, place, ROOM, NULL) ||
	    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, place, ROOM, "first again"))
		return -errno;
	return munmap(place, ROOM) ? -errno : 0;
}

TEST_F(lifetime, a_name_of_anonymous_memory_outlasts_its_vma)
{
	if (!procmap_has_anon_names())
		SKIP(return, "%s: kernel without CONFIG_ANON_VMA_NAME", _metadata->name);
	EXPECT_EQ(0, undo(self->shared, "[anon:first", names));
}

/* Map a file of a file system that is gone when this returns. */
static int maps_a_file(const char *type, size_t size, const char *options)
{
	const char *path = "/tmp/lifetime-file";
	int fd, ret = 0;

	if (mount("none", "/tmp", type, 0, options))
		return -errno;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, size) ||
	    mmap(place, size, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0) !=
	    place)
		ret = -errno;
	if (close(fd) || unlink(path) || umount2("/tmp", MNT_DETACH) || munmap(place, size))
		ret = ret ? ret : -errno;
	return ret;
}

static int maps_tmpfs(void)
{
	return maps_a_file("tmpfs", ROOM, NULL);
}

static int maps_hugetlbfs(void)
{
	return maps_a_file("hugetlbfs", SIZE, "pagesize=2M");
}

TEST_F(lifetime, a_file_and_its_mount_outlast_the_vma)
{
	EXPECT_EQ(0, undo(self->shared, "lifetime-file", maps_tmpfs));
}

TEST_F(lifetime, a_mount_of_huge_pages_outlasts_the_vma)
{
	if (access("/sys/kernel/mm/hugepages/hugepages-2048kB", F_OK))
		SKIP(return, "%s: kernel without huge pages of 2 MB", _metadata->name);
	EXPECT_EQ(0, undo(self->shared, "lifetime-file", maps_hugetlbfs));
}

/* Map a file of an overlay that is gone when this returns. */
static int maps_overlay(void)
{
	int fd, ret = 0;

	if (mount("none", "/tmp/all", "overlay", MS_RDONLY, "lowerdir=/tmp/empty:/tmp/lower"))
		return -errno;
	fd = open("/tmp/all/lifetime-file", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || mmap(place, ROOM, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != place)
		ret = -errno;
	if (close(fd) || umount2("/tmp/all", MNT_DETACH) || munmap(place, ROOM))
		ret = ret ? ret : -errno;
	return ret;
}

TEST_F(lifetime, a_file_of_an_overlay_outlasts_the_vma)
{
	int fd;

	ASSERT_EQ(0, mount("none", "/tmp", "tmpfs", 0, NULL));
	ASSERT_TRUE(!mkdir("/tmp/lower", 0755) && !mkdir("/tmp/empty", 0755) &&
		    !mkdir("/tmp/all", 0755));
	fd = open("/tmp/lower/lifetime-file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, ROOM));
	close(fd);
	EXPECT_EQ(0, undo(self->shared, "lifetime-file", maps_overlay));
}

static int attaches(void)
{
	int id = shmget(IPC_PRIVATE, ROOM, IPC_CREAT | 0600);
	int ret = 0;

	if (id < 0)
		return -errno;
	if (shmat(id, place, SHM_REMAP) != place || shmdt(place))
		ret = -errno;
	return shmctl(id, IPC_RMID, NULL) ? -errno : ret;
}

TEST_F(lifetime, system_v_memory_outlasts_its_vma)
{
	EXPECT_EQ(0, undo(self->shared, "/SYSV", attaches));
}

TEST_HARNESS_MAIN
