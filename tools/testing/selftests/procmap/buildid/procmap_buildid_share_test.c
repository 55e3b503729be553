// SPDX-License-Identifier: GPL-2.0
/*
 * One user must not be able to take all cold reads of build IDs. That user has
 * many file systems that do not answer, while another user asks, too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "elf_image.h"
#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

/* After this long without an answer a file system counts as hanging. */
#define SOON_MS		15000
#define PATIENCE_MS	5000
/*
 * How many reads of one user's files may run for one asker; see
 * lib/buildid_queue.c.
 */
#define SHARE		64

#define PAGE		4096
#define SHA1_SIZE	20
#define HOSTILE		1000
#define OTHER		1001

#define MAX_SERVERS	64
#define FILES		16

static void __attribute__((constructor)) share_require(void)
{
	const char *lacking = fuse_server_lacking();

	if (lacking)
		ksft_exit_skip("%s\n", lacking);
	if (geteuid())
		ksft_exit_skip("becoming several users needs root\n");
}

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool become(uid_t uid)
{
	return !setgid(uid) && !setuid(uid);
}

/* Files of servers that a user has opened and mapped, one page of each. */
struct maps_files {
	struct procmap_child child;
	struct fuse_server *servers;
	unsigned int nr_servers;
	unsigned int nr_files;
	uid_t uid;
	char *at;
	int maps;
};

static char *map_of(const struct maps_files *m, unsigned int server, unsigned int file)
{
	return m->at + (server * m->nr_files + file) * PAGE;
}

static int map_one(const struct maps_files *m, unsigned int server, unsigned int file)
{
	int fd = fuse_server_open(&m->servers[server], file, O_RDONLY);
	char *map = map_of(m, server, file);

	if (fd < 0)
		return fd;
	if (mmap(map, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		return -errno;
	close(fd);
	return 0;
}

static int maps_files(struct procmap_child *child, void *arg)
{
	const struct maps_files *m = arg;
	unsigned int i;

	if (!HOLDS(become(m->uid)))
		return 1;
	for (i = 0; i < m->nr_servers * m->nr_files; i++)
		if (!HOLDS(!map_one(m, i / m->nr_files, i % m->nr_files)))
			return 1;
	return procmap_send(child, 0) || procmap_sync(child);
}

/* Start the process with the mappings. procmap_child_kill() ends it. */
static int start_maps(struct maps_files *m)
{
	size_t size = m->nr_servers * m->nr_files * PAGE;
	int ret;

	m->at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->at == MAP_FAILED)
		return -errno;
	ret = procmap_child_start(&m->child, maps_files, m);
	if (!ret)
		ret = procmap_sync(&m->child);
	if (ret)
		return ret;
	m->maps = maps_open(m->child.pid);
	return m->maps < 0 ? m->maps : 0;
}

/* Returns the length of the build ID at an address, or -errno. */
static int id_size(int maps, const char *at)
{
	struct procmap_call call;
	int ret = procmap_ask(maps, (unsigned long)at, 0, &call);

	return ret ? ret : call.q.build_id_size;
}

/*
 * Start a process of this user that asks. It exits with the length of the build
 * ID.
 */
static pid_t start_asker(uid_t uid, int maps, const char *at)
{
	pid_t pid;
	int size;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	if (!become(uid))
		_exit(255);
	size = id_size(maps, at);
	_exit(size < 0 ? 254 : size);
}

/*
 * Returns the exit status. -ETIMEDOUT: the asker still ran after this time and
 * was killed. -ECANCELED: a signal ended it.
 */
static int asker_ends(pid_t pid, int timeout_ms)
{
	long end = now_us() + timeout_ms * 1000L;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_us() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -ETIMEDOUT;
		}
		usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECANCELED;
}

FIXTURE(crowd) {
	struct fuse_server servers[MAX_SERVERS];
	struct fuse_server healthy;
	struct elf_image image;
	struct maps_files hostile;
	struct maps_files other;
	pid_t askers[MAX_SERVERS * FILES];
};

/*
 * @servers: number of file systems of the hostile user that do not answer.
 * @asker: user that asks for the build IDs of their files, and is killed.
 */
FIXTURE_VARIANT(crowd) {
	unsigned int servers;
	uid_t asker;
};

FIXTURE_VARIANT_ADD(crowd, own_askers) { .servers = 32, .asker = HOSTILE };
FIXTURE_VARIANT_ADD(crowd, twice_as_many) { .servers = 64, .asker = HOSTILE };
FIXTURE_VARIANT_ADD(crowd, profiler) { .servers = 32, .asker = 0 };

static int start_stalled(struct fuse_server *server, const struct elf_image *image)
{
	struct fuse_server_file files[FILES];
	unsigned int i;
	int ret;

	for (i = 0; i < FILES; i++)
		files[i] = (struct fuse_server_file){ .data = image->data,
						      .size = ELF_IMAGE_SIZE };
	ret = fuse_server_start(server, files, FILES);
	for (i = 0; i < FILES && !ret; i++)
		ret = fuse_server_stall(server, i, FUSE_READ);
	return ret;
}

FIXTURE_SETUP(crowd)
{
	struct fuse_server_file file = { .data = self->image.data, .size = ELF_IMAGE_SIZE };
	unsigned int i;

	elf_image_make(&self->image, true, SHA1_SIZE, 50);
	for (i = 0; i < variant->servers; i++)
		ASSERT_EQ(0, start_stalled(&self->servers[i], &self->image));
	ASSERT_EQ(0, fuse_server_start(&self->healthy, &file, 1));
	self->hostile = (struct maps_files){ .servers = self->servers, .uid = HOSTILE,
					     .nr_servers = variant->servers, .nr_files = FILES };
	ASSERT_EQ(0, start_maps(&self->hostile));
	self->other = (struct maps_files){ .servers = &self->healthy, .uid = OTHER,
					   .nr_servers = 1, .nr_files = 1 };
	ASSERT_EQ(0, start_maps(&self->other));
}

/* When the servers end, everything that still waits for them ends, too. */
FIXTURE_TEARDOWN(crowd)
{
	unsigned int i;

	procmap_child_kill(&self->hostile.child);
	procmap_child_kill(&self->other.child);
	for (i = 0; i < variant->servers; i++)
		fuse_server_stop(&self->servers[i]);
	fuse_server_stop(&self->healthy);
}

/*
 * Wait until no more reads come. Returns how many the servers have been asked
 * for.
 */
static int reads_that_settled(struct fuse_server *servers, unsigned int nr)
{
	int reads = 0, before;
	unsigned int i;

	do {
		usleep(1000000);
		before = reads;
		reads = 0;
		for (i = 0; i < nr * FILES; i++)
			reads += fuse_server_count(&servers[i / FILES], i % FILES, FUSE_READ);
	} while (reads != before || !reads);
	return reads;
}

TEST_F(crowd, of_stalled_file_systems_stops_nobody_else)
{
	unsigned int nr = variant->servers * FILES, i;
	const struct maps_files *hostile = &self->hostile;
	long start;
	pid_t pid;

	for (i = 0; i < nr; i++) {
		self->askers[i] = start_asker(variant->asker, hostile->maps,
					      map_of(hostile, i / FILES, i % FILES));
		ASSERT_LT(0, self->askers[i]);
	}
	EXPECT_EQ(SHARE, reads_that_settled(self->servers, variant->servers));
	for (i = 0; i < nr; i++)
		kill(self->askers[i], SIGKILL);
	for (i = 0; i < nr; i++)
		EXPECT_NE(-ETIMEDOUT, asker_ends(self->askers[i], SOON_MS));

	/* Root asks for a file of another user. */
	start = now_us();
	pid = start_asker(0, self->other.maps, self->other.at);
	EXPECT_EQ(SHA1_SIZE, asker_ends(pid, SOON_MS));
	TH_LOG("%u reads left behind; then a healthy file took %ld us", nr, now_us() - start);

	/* A caller that asks again does not wait for what is known to hang. */
	usleep(PATIENCE_MS * 1000);
	start = now_us();
	pid = start_asker(variant->asker, hostile->maps, map_of(hostile, 0, 0));
	EXPECT_EQ(0, asker_ends(pid, SOON_MS));
	EXPECT_GT(2000000, now_us() - start);
	TH_LOG("asking again took %ld us", now_us() - start);
}

/* How many threads sleep, on a kernel without detectors */
#define THREADS		2000
#define ROUNDS		15
#define TIMES		5
#define FACTOR		10
/*
 * If the clock moves by jiffies only, a query seems to take none, one or two of
 * them.
 */
#define COARSE_US	25000

FIXTURE(herd) {
	struct fuse_server stalled;
	struct fuse_server healthy;
	struct elf_image image;
	struct maps_files own;
	int fd;
	int maps;
};

FIXTURE_SETUP(herd)
{
	struct fuse_server_file file = { .data = self->image.data, .size = ELF_IMAGE_SIZE };

	elf_image_make(&self->image, true, SHA1_SIZE, 50);
	ASSERT_EQ(0, start_stalled(&self->stalled, &self->image));
	ASSERT_EQ(0, fuse_server_start(&self->healthy, &file, 1));
	self->fd = fuse_server_open(&self->healthy, 0, O_RDONLY);
	ASSERT_LE(0, self->fd);
	self->own.at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->own.at);
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
}

FIXTURE_TEARDOWN(herd)
{
	fuse_server_stop(&self->stalled);
	fuse_server_stop(&self->healthy);
}

/* Returns how long ROUNDS cold queries take, one after the other, or -errno. */
static long cold_queries_us(int fd, int maps, const char *at)
{
	long start = now_us();
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
			return -EIO;
		ret = id_size(maps, at);
		if (ret != SHA1_SIZE)
			return ret < 0 ? ret : -EUCLEAN;
	}
	return now_us() - start;
}

/* Returns the shortest of several times: other load only makes them longer. */
static long cold_query_us(int fd, int maps, const char *at)
{
	long took, least = LONG_MAX;
	int i;

	for (i = 0; i < TIMES; i++) {
		took = cold_queries_us(fd, maps, at);
		if (took < least)
			least = took;
	}
	return least < 0 ? least : least / ROUNDS;
}

struct herd {
	struct fuse_server *server;
	char *at;
	int maps;
	pthread_barrier_t together;
};

static void *sleeps(void *arg)
{
	struct herd *herd = arg;

	pthread_barrier_wait(&herd->together);
	id_size(herd->maps, herd->at);
	return NULL;
}

/* Starts all threads. When it is told to, they ask at the same time. */
static int sleeping_threads(struct procmap_child *child, void *arg)
{
	struct herd herd = { .server = arg };
	pthread_attr_t attr;
	unsigned int i, nr = stall_scaled(THREADS);
	pthread_t thread;
	int fd;

	if (!HOLDS(become(HOSTILE)))
		return 1;
	fd = fuse_server_open(herd.server, 0, O_RDONLY);
	herd.at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	herd.maps = maps_open(0);
	pthread_barrier_init(&herd.together, NULL, nr + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	if (!HOLDS(herd.at != MAP_FAILED) || !HOLDS(herd.maps >= 0))
		return 1;
	for (i = 0; i < nr; i++)
		if (!HOLDS(!pthread_create(&thread, &attr, sleeps, &herd)))
			return 1;
	if (procmap_send(child, 0) || procmap_sync(child))
		return 1;
	pthread_barrier_wait(&herd.together);
	return procmap_sync(child);
}

/*
 * Returns how many threads a process has, and in *awake how many of them do not
 * sleep.
 */
static unsigned int threads_of(pid_t pid, unsigned int *awake)
{
	unsigned int nr = 0;
	struct dirent *task;
	char path[64];
	DIR *tasks;

	*awake = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (task = readdir(tasks))) {
		if (task->d_name[0] == '.')
			continue;
		nr++;
		*awake += stall_state_of(pid, atoi(task->d_name)) == 'R';
	}
	if (tasks)
		closedir(tasks);
	return nr;
}

/* Wait until all threads of a process have been asleep for half a second. */
static bool fall_asleep(pid_t pid)
{
	unsigned int waited, awake, asleep = 0;

	for (waited = 0; waited < SOON_MS && asleep < 5; waited += 100) {
		usleep(100000);
		asleep = threads_of(pid, &awake) && !awake ? asleep + 1 : 0;
	}
	return asleep == 5;
}

/* A read that ends must wake the next waiter, not every waiter. */
TEST_F(herd, that_sleeps_costs_others_nothing)
{
	struct procmap_child child;
	unsigned int awake;
	long alone, beside;

	ASSERT_EQ(0, procmap_child_start(&child, sleeping_threads, &self->stalled));
	ASSERT_EQ(0, procmap_sync(&child));
	alone = cold_query_us(self->fd, self->maps, self->own.at);
	ASSERT_EQ(0, procmap_send(&child, 0));
	/*
	 * Wait until all threads sleep, but not until the kernel tells them
	 * that they sleep in vain.
	 */
	ASSERT_EQ(0, fuse_server_wait_held(&self->stalled, 0, FUSE_READ, SOON_MS, NULL));
	ASSERT_TRUE(fall_asleep(child.pid));
	beside = cold_query_us(self->fd, self->maps, self->own.at);
	TH_LOG("a cold query takes %ld us, beside %u sleeping threads %ld us", alone,
	       stall_scaled(THREADS), beside);
	ASSERT_LE(0, alone);
	ASSERT_LE(0, beside);
	EXPECT_GT(alone ? FACTOR * alone : COARSE_US, beside);
	/* None of them was told meanwhile that it sleeps in vain. */
	EXPECT_LE(stall_scaled(THREADS), threads_of(child.pid, &awake));
	procmap_child_kill(&child);
}

TEST_HARNESS_MAIN
