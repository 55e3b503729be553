// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of names must not keep files open. A process that unmaps and closes a
 * file is the last to use it, whatever happens to a query that is under way.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

#define NR_FILES	32
#define MAX_QUERIES	1280
#define ROUNDS		300
#define NR_ASKING	3
/* arm64 allows no smaller stacks */
#define STACK		(128 * 1024)

static const struct fuse_server_file server_files[NR_FILES] = {
	[0 ... NR_FILES - 1] = { .size = 65536 },
};

/*
 * A file of a server of its own. Names are written to its page, which never
 * comes.
 */
#define NAME_FILE	0

static void __attribute__((constructor)) files_require(void)
{
	const char *lacking = fuse_server_lacking();

	if (lacking)
		ksft_exit_skip("%s\n", lacking);
}

/**
 * struct attack - queries of own mappings whose names cannot be written
 * @server: server of the mapped files
 * @names: server of the page that never comes
 * @nr: number of queries
 * @maps: maps file of the process
 * @mapping: one page for each query
 * @page: page that the queries write names to
 */
struct attack {
	struct fuse_server *server;
	struct fuse_server *names;
	unsigned int nr;
	int maps;
	char *mapping;
	char *page;
};

struct one_query {
	const struct attack *attack;
	unsigned int number;
};

static void *queries_endlessly(void *arg)
{
	struct one_query one = *(struct one_query *)arg;
	size_t page = sysconf(_SC_PAGESIZE);
	struct procmap_query q = {
		.size = sizeof(q),
		.query_addr = (unsigned long)one.attack->mapping + one.number * page,
		.vma_name_addr = (unsigned long)one.attack->page,
		.vma_name_size = page,
	};

	free(arg);
	procmap_ioctl(one.attack->maps, &q);
	return NULL;
}

static bool start_query(const struct attack *attack, unsigned int number)
{
	struct one_query *one = malloc(sizeof(*one));
	pthread_attr_t attr;
	pthread_t thread;

	if (!one || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK))
		return false;
	one->attack = attack;
	one->number = number;
	return !pthread_create(&thread, &attr, queries_endlessly, one);
}

/* Each query has an open file of its own. */
static bool map_files(struct attack *attack)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int i;
	int fd;

	attack->mapping = mmap(NULL, attack->nr * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	if (attack->mapping == MAP_FAILED)
		return false;
	for (i = 0; i < attack->nr; i++) {
		char *at = attack->mapping + i * page;

		fd = fuse_server_open(attack->server, i % NR_FILES, O_RDWR);
		if (fd < 0 || mmap(at, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
				   0) != at)
			return false;
		close(fd);
	}
	return true;
}

static bool map_name(struct attack *attack)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = fuse_server_open(attack->names, NAME_FILE, O_RDWR);

	attack->page = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return attack->page != MAP_FAILED && !madvise(attack->page, page, MADV_RANDOM);
}

static unsigned int stuck_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int nr = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		nr += stall_state_of(getpid(), atoi(entry->d_name)) == 'D';
	if (dir)
		closedir(dir);
	return nr;
}

/*
 * Wait until all threads but the first wait for a page. The first waits for the
 * server and has the page locked.
 */
static bool others_get_stuck(unsigned int nr)
{
	return UNTIL(stuck_threads() + 1 >= nr);
}

/*
 * Starts queries that wait, and then unmaps their files. It has closed the
 * files before.
 */
static int attacks(struct procmap_child *child, void *arg)
{
	struct attack *attack = arg;
	unsigned int i;

	attack->maps = maps_open(0);
	if (!HOLDS(attack->maps >= 0) || !HOLDS(map_files(attack)) || !HOLDS(map_name(attack)))
		return 1;
	for (i = 0; i < attack->nr; i++)
		if (!HOLDS(start_query(attack, i)))
			return 1;
	if (!HOLDS(others_get_stuck(attack->nr)) || !HOLDS(!procmap_send(child, 0)) ||
	    !HOLDS(!procmap_sync(child)) ||
	    !HOLDS(!munmap(attack->mapping, attack->nr * sysconf(_SC_PAGESIZE))) ||
	    !HOLDS(!procmap_send(child, 0)))
		return 1;
	for (;;)
		pause();
}

/**
 * struct owner - a process that locks and maps a file, and then lets it go
 * @path: path of the file
 * @spot: where the file is mapped
 * @answers: how many names others have got of what is there, in shared memory
 */
struct owner {
	char path[32];
	char *spot;
	unsigned long *answers;
};

static unsigned long answers(const unsigned long *answers)
{
	return __atomic_load_n(answers, __ATOMIC_RELAXED);
}

/*
 * Open the file with a new open file description. If another one still has the
 * lock, this one does not get it.
 */
static bool owns_for_a_moment(const struct owner *owner)
{
	int fd = open(owner->path, O_RDWR | O_CLOEXEC);
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned long before;

	if (!HOLDS(fd >= 0) || !HOLDS(!flock(fd, LOCK_EX | LOCK_NB)) ||
	    !HOLDS(mmap(owner->spot, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) ==
		   owner->spot))
		return false;
	/* More than one for each who asks: then somebody asks right now. */
	before = answers(owner->answers);
	return HOLDS(UNTIL(answers(owner->answers) > before + NR_ASKING)) &&
	       HOLDS(!close(fd)) && HOLDS(!munmap(owner->spot, page));
}

static int owns_a_file(struct procmap_child *child, void *arg)
{
	const struct owner *owner = arg;
	unsigned int i, rounds = stall_scaled(ROUNDS);

	if (!HOLDS(!procmap_sync(child)))
		return 1;
	for (i = 0; i < rounds && owns_for_a_moment(owner); i++)
		;
	fprintf(stderr, "# %u of %u files closed, and unlocked at once\n", i, rounds);
	fflush(stdout);
	return HOLDS(i == rounds) ? 0 : 1;
}

struct asking {
	int maps;
	const struct owner *owner;
};

/* Spend most of the time in the kernel: check only what the call returns. */
static void *asks_for_names(void *arg)
{
	const struct asking *asking = arg;
	char name[64];
	int ret;

	do {
		struct procmap_query q = {
			.size = sizeof(q),
			.query_addr = (unsigned long)asking->owner->spot,
			.vma_name_addr = (unsigned long)name,
			.vma_name_size = sizeof(name),
		};

		ret = procmap_ioctl(asking->maps, &q);
		if (!ret)
			__atomic_add_fetch(asking->owner->answers, 1, __ATOMIC_RELAXED);
	} while (!ret || ret == -ENOENT);
	return HOLDS(ret == -ESRCH) ? arg : NULL;
}

static int asks_until_the_end(struct procmap_child *child, void *arg)
{
	pthread_t threads[NR_ASKING];
	void *good = arg, *ret;
	int i;

	for (i = 0; i < NR_ASKING; i++)
		if (!HOLDS(!pthread_create(&threads[i], NULL, asks_for_names, arg)))
			return 1;
	for (i = 0; i < NR_ASKING; i++)
		good = !pthread_join(threads[i], &ret) && ret ? good : NULL;
	return good ? 0 : 1;
}

FIXTURE(files) {
	struct fuse_server server;
	struct fuse_server names;
	struct procmap_child attacker;
	int fds[NR_FILES];
	struct owner owner;
};

FIXTURE_SETUP(files)
{
	int fd;

	ASSERT_EQ(0, stall_drop_root());
	ASSERT_EQ(0, fuse_server_start(&self->server, server_files, NR_FILES));
	ASSERT_EQ(0, fuse_server_start(&self->names, server_files, 1));
	ASSERT_EQ(0, fuse_server_stall(&self->names, NAME_FILE, FUSE_READ));
	strcpy(self->owner.path, "/tmp/procmap_files.XXXXXX");
	fd = mkstemp(self->owner.path);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 65536));
	close(fd);
	self->owner.spot = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->owner.spot);
	self->owner.answers = mmap(NULL, sizeof(*self->owner.answers), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->owner.answers);
}

/* When the servers end, everything that still waits for them ends, too. */
FIXTURE_TEARDOWN(files)
{
	unlink(self->owner.path);
	fuse_server_stop(&self->names);
	fuse_server_stop(&self->server);
}

/* Waits until the file is closed. Returns how often it was. */
static int closed(struct fuse_server *server, unsigned int file)
{
	int nr;

	UNTIL((nr = fuse_server_count(server, file, FUSE_RELEASE)));
	return nr;
}

/*
 * Returns when all files have been unmapped and closed, and no query has
 * returned.
 */
static int start_attack(struct procmap_child *attacker, struct attack *attack)
{
	int ret = procmap_child_start(attacker, attacks, attack);

	if (!ret)
		ret = procmap_sync(attacker);
	if (!ret)
		ret = fuse_server_wait_held(attack->names, NAME_FILE, FUSE_READ, PROCMAP_HANG_MS,
					    NULL);
	if (!ret)
		ret = procmap_send(attacker, 0);
	return ret ? ret : procmap_sync(attacker);
}

TEST_F(files, a_file_is_closed_while_its_name_cannot_be_written)
{
	struct attack attack = { .server = &self->server, .names = &self->names, .nr = 1 };

	ASSERT_EQ(0, start_attack(&self->attacker, &attack));
	EXPECT_EQ(1, closed(&self->server, 0));
	EXPECT_EQ(0, fuse_server_release(&self->names, NAME_FILE, FUSE_READ));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->attacker));
	EXPECT_EQ(1, fuse_server_count(&self->server, 0, FUSE_RELEASE));
}

/*
 * From now on a process that closes one of the files waits for ever, because
 * there is a page to write back. No process may inherit @fds: it would wait,
 * too, as soon as it ends.
 */
static int let_nobody_close(struct fuse_server *server, int *fds)
{
	unsigned int i;
	int ret;

	for (i = 0; i < NR_FILES; i++) {
		fds[i] = fuse_server_open(server, i, O_RDWR);
		if (fds[i] < 0)
			return fds[i];
		ret = fuse_server_stall(server, i, FUSE_WRITE);
		if (ret)
			return ret;
		if (pwrite(fds[i], "", 1, 0) != 1)
			return -errno;
	}
	return 0;
}

static bool has_one_thread(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return !stat(path, &st) && st.st_nlink == 3;
}

/*
 * Call this after the start of what is attacked, so that it does not inherit
 * the files. Let it go at the end.
 */
static int attack_with(struct fuse_server *server, struct fuse_server *names, unsigned int nr,
		       struct procmap_child *attacker, int *fds)
{
	struct attack attack = { .server = server, .names = names, .nr = nr };
	int ret = start_attack(attacker, &attack);

	if (!ret)
		ret = let_nobody_close(server, fds);
	if (!ret)
		ret = fuse_server_release(names, NAME_FILE, FUSE_READ);
	/* The queries end, now that the names have been written. */
	if (!ret && !UNTIL(has_one_thread(attacker->pid)))
		ret = -ETIMEDOUT;
	return ret;
}

static void closed_files_are_unlocked(struct __test_metadata *_metadata,
				      struct fuse_server *server, struct fuse_server *names,
				      struct owner *owner, unsigned int nr, int *fds)
{
	struct procmap_child child, caller, attacker;
	struct asking asking = { .owner = owner };
	unsigned int i;

	ASSERT_EQ(0, procmap_child_start(&child, owns_a_file, owner));
	asking.maps = maps_open(child.pid);
	ASSERT_LE(0, asking.maps);
	ASSERT_EQ(0, procmap_child_start(&caller, asks_until_the_end, &asking));
	if (nr)
		ASSERT_EQ(0, attack_with(server, names, nr, &attacker, fds));
	ASSERT_EQ(0, procmap_send(&child, 0));
	EXPECT_EQ(0, procmap_child_wait(&child));
	EXPECT_EQ(0, procmap_child_wait(&caller));
	if (!nr)
		return;
	for (i = 0; i < NR_FILES; i++)
		EXPECT_EQ(0, fuse_server_release(server, i, FUSE_WRITE));
	for (i = 0; i < NR_FILES; i++)
		close(fds[i]);
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&attacker));
}

TEST_F(files, a_closed_file_is_unlocked_at_once)
{
	closed_files_are_unlocked(_metadata, &self->server, &self->names, &self->owner, 0, NULL);
}

/*
 * A kernel with detectors takes minutes to start so many threads. Use a quarter
 * there.
 */
static unsigned int nr_queries(unsigned int nr)
{
	return stall_scaled(nr) < nr ? nr / 4 : nr;
}

TEST_F(files, a_closed_file_is_unlocked_beside_640_stalled_queries)
{
	closed_files_are_unlocked(_metadata, &self->server, &self->names, &self->owner,
				  nr_queries(MAX_QUERIES / 2), self->fds);
}

TEST_F(files, a_closed_file_is_unlocked_beside_1280_stalled_queries)
{
	closed_files_are_unlocked(_metadata, &self->server, &self->names, &self->owner,
				  nr_queries(MAX_QUERIES), self->fds);
}

TEST_HARNESS_MAIN
