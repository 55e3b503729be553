// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of names must not keep files open. A process that unmaps and closes a
 * file is the last to use it, whatever happens to a query that is under way.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

#define ROUNDS		300
#define NR_ASKING	3

static const struct fuse_server_file server_file = { .size = 65536 };

PROCMAP_REQUIRE(fuse_server_lacking())

/**
 * struct attack - a query of an own mapping whose name cannot be written
 * @server: server of the mapped file
 * @names: server of the page that never comes
 * @maps: maps file of the process
 * @mapping: a page of the file
 * @page: page that the query writes the name to
 */
struct attack {
	struct fuse_server *server;
	struct fuse_server *names;
	int maps;
	char *mapping;
	char *page;
};

static void *queries_endlessly(void *arg)
{
	const struct attack *attack = arg;
	struct procmap_query q = {
		.size = sizeof(q),
		.query_addr = (unsigned long)attack->mapping,
		.vma_name_addr = (unsigned long)attack->page,
		.vma_name_size = sysconf(_SC_PAGESIZE),
	};

	procmap_ioctl(attack->maps, &q);
	return NULL;
}

/* Map a page of the file of a server, and close the file. */
static char *map_file(struct fuse_server *server)
{
	int fd = fuse_server_open(server, 0, O_RDWR);
	char *map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	return map;
}

/* Start a query that waits, and then unmap its file. */
static int attacks(struct procmap_child *child, void *arg)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct attack *attack = arg;
	pthread_t thread;

	attack->maps = maps_open(0);
	attack->mapping = map_file(attack->server);
	attack->page = map_file(attack->names);
	if (!HOLDS(attack->maps >= 0) || !HOLDS(attack->mapping != MAP_FAILED) ||
	    !HOLDS(attack->page != MAP_FAILED) ||
	    !HOLDS(!madvise(attack->page, page, MADV_RANDOM)) ||
	    !HOLDS(!pthread_create(&thread, NULL, queries_endlessly, attack)) ||
	    !HOLDS(!procmap_send(child, 0)) || !HOLDS(!procmap_sync(child)) ||
	    !HOLDS(!munmap(attack->mapping, page)) || !HOLDS(!procmap_send(child, 0)))
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
	struct owner owner;
};

FIXTURE_SETUP(files)
{
	int fd;

	ASSERT_EQ(0, stall_drop_root());
	ASSERT_EQ(0, fuse_server_start(&self->server, &server_file, 1, 0));
	ASSERT_EQ(0, fuse_server_start(&self->names, &server_file, 1, 0));
	ASSERT_EQ(0, fuse_server_stall(&self->names, 0, FUSE_READ));
	strcpy(self->owner.path, "/tmp/procmap_files.XXXXXX");
	fd = mkstemp(self->owner.path);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 65536));
	close(fd);
	self->owner.spot = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->owner.spot);
	self->owner.answers = procmap_share(sizeof(*self->owner.answers));
	ASSERT_NE(NULL, (void *)self->owner.answers);
}

/* When the servers end, everything that still waits for them ends, too. */
FIXTURE_TEARDOWN(files)
{
	unlink(self->owner.path);
	fuse_server_stop(&self->names);
	fuse_server_stop(&self->server);
}

/* Waits until the file is closed. Returns how often it was. */
static int closed(struct fuse_server *server)
{
	int nr;

	UNTIL((nr = fuse_server_count(server, 0, FUSE_RELEASE)));
	return nr;
}

/* Returns when the file has been unmapped and closed, and the query has not returned. */
static int start_attack(struct procmap_child *attacker, struct attack *attack)
{
	int ret = procmap_child_start(attacker, attacks, attack);

	if (!ret)
		ret = procmap_sync(attacker);
	if (!ret)
		ret = fuse_server_wait_held(attack->names, 0, FUSE_READ);
	if (!ret)
		ret = procmap_send(attacker, 0);
	return ret ? ret : procmap_sync(attacker);
}

TEST_F(files, a_file_is_closed_while_its_name_cannot_be_written)
{
	struct attack attack = { .server = &self->server, .names = &self->names };

	ASSERT_EQ(0, start_attack(&self->attacker, &attack));
	EXPECT_EQ(1, closed(&self->server));
	EXPECT_EQ(0, fuse_server_release(&self->names, 0, FUSE_READ));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->attacker));
	EXPECT_EQ(1, fuse_server_count(&self->server, 0, FUSE_RELEASE));
}

TEST_F(files, a_closed_file_is_unlocked_at_once)
{
	struct asking asking = { .owner = &self->owner };
	struct procmap_child child, caller;

	ASSERT_EQ(0, procmap_child_start(&child, owns_a_file, &self->owner));
	asking.maps = maps_open(child.pid);
	ASSERT_LE(0, asking.maps);
	ASSERT_EQ(0, procmap_child_start(&caller, asks_until_the_end, &asking));
	ASSERT_EQ(0, procmap_send(&child, 0));
	EXPECT_EQ(0, procmap_child_wait(&child));
	EXPECT_EQ(0, procmap_child_wait(&caller));
}

TEST_HARNESS_MAIN
