// SPDX-License-Identifier: GPL-2.0
/*
 * Build IDs of files whose pages are not in the page cache, or cannot be read.
 * The files are on a FUSE server that counts requests, and may not answer.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "cgroup.h"
#include "elf_image.h"
#include "fuse_server.h"
#include "procmap_harness.h"
#include "stall.h"

#define PAGES		4
#define PAGE		4096
#define SHA1_SIZE	20

enum { FILE_STALLED, FILE_HEALTHY, NR_FILES };

static void __attribute__((constructor)) fuse_require(void)
{
	const char *lacking = fuse_server_lacking();

	if (lacking)
		ksft_exit_skip("%s\n", lacking);
}

/**
 * struct fuse_file - a file of the server
 * @image: what its first page contains
 * @fd: kept open, because another open() would wait for an abandoned read
 * @map: mapping of the whole file; the test never touches it
 */
struct fuse_file {
	struct elf_image image;
	int fd;
	char *map;
};

FIXTURE(fuse) {
	struct fuse_server server;
	struct fuse_file file[NR_FILES];
	int maps;
};

FIXTURE_SETUP(fuse)
{
	static char data[NR_FILES][PAGES * PAGE];
	struct fuse_server_file files[NR_FILES];
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		elf_image_make(&self->file[i].image, true, SHA1_SIZE, 50 + i);
		memcpy(data[i], self->file[i].image.data, ELF_IMAGE_SIZE);
		files[i] = (struct fuse_server_file){ .data = data[i], .size = sizeof(data[i]) };
	}
	ASSERT_EQ(0, fuse_server_start(&self->server, files, NR_FILES));
	for (i = 0; i < NR_FILES; i++) {
		struct fuse_file *file = &self->file[i];

		file->fd = fuse_server_open(&self->server, i, O_RDONLY);
		ASSERT_LE(0, file->fd);
		file->map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, file->fd, 0);
		ASSERT_NE((long)MAP_FAILED, (long)file->map);
	}
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
}

/* When the server ends, everything that still waits for it ends, too. */
FIXTURE_TEARDOWN(fuse)
{
	fuse_server_stop(&self->server);
}

/*
 * Returns the length of the build ID of a file's mapping, or -errno. -EUCLEAN:
 * the build ID is wrong.
 */
static int id_size(int maps, const struct fuse_file *file)
{
	struct procmap_call call;
	int ret = procmap_ask(maps, (unsigned long)file->map, 0, &call);

	if (ret)
		return ret;
	if (call.q.build_id_size && memcmp(call.build_id, file->image.id, SHA1_SIZE))
		return -EUCLEAN;
	return call.q.build_id_size;
}

/* Returns how many pages of the file are in the page cache, or -errno. */
static int cached(const struct fuse_file *file)
{
	unsigned char page[PAGES];
	int i, nr = 0;

	if (mincore(file->map, PAGES * PAGE, page))
		return -errno;
	for (i = 0; i < PAGES; i++)
		nr += page[i] & 1;
	return nr;
}

TEST_F(fuse, a_file_that_is_not_cached_takes_one_read)
{
	struct fuse_file *file = &self->file[FILE_HEALTHY];
	int i;

	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(0, cached(file));
		EXPECT_EQ(SHA1_SIZE, id_size(self->maps, file));
		EXPECT_EQ(i, fuse_server_count(&self->server, FILE_HEALTHY, FUSE_READ));
		EXPECT_EQ(1, cached(file));
		/* Now the page is in the page cache. */
		EXPECT_EQ(SHA1_SIZE, id_size(self->maps, file));
		EXPECT_EQ(i, fuse_server_count(&self->server, FILE_HEALTHY, FUSE_READ));
		ASSERT_EQ(0, posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED));
	}
}

TEST_F(fuse, a_file_that_is_closed_is_read)
{
	struct fuse_file *file = &self->file[FILE_HEALTHY];

	ASSERT_EQ(0, close(file->fd));
	EXPECT_EQ(0, fuse_server_count(&self->server, FILE_HEALTHY, FUSE_READ));
	EXPECT_EQ(SHA1_SIZE, id_size(self->maps, file));
	EXPECT_EQ(1, fuse_server_count(&self->server, FILE_HEALTHY, FUSE_READ));
}

/*
 * A file that cannot be read has no build ID until it can be read. The kernel
 * must not take an error of the server for a signal.
 */
TEST_F(fuse, a_read_that_fails)
{
	const int errors[] = { EIO, EINTR, ENOMEM, EAGAIN };
	struct fuse_file *file = &self->file[FILE_HEALTHY];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		int ret;

		ASSERT_EQ(0, fuse_server_fail(&self->server, FILE_HEALTHY, FUSE_READ, 1,
					      errors[i]));
		ret = id_size(self->maps, file);
		EXPECT_EQ(errors[i] == ENOMEM ? -ENOMEM : 0, ret)
			TH_LOG("READ failed with %d", errors[i]);
		EXPECT_EQ(SHA1_SIZE, id_size(self->maps, file));
		ASSERT_EQ(0, posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED));
	}
}

#define WRONG	255

/*
 * A process that asks for the build ID of a file. It closes and unmaps the
 * @nr_held files in @held, which it has inherited.
 */
struct asker {
	struct procmap_child child;
	int maps;
	const struct fuse_file *file;
	const struct fuse_file *held;
	unsigned int nr_held;
};

static void nothing(int sig)
{
}

/* Exits with the length of the build ID. */
static int asks(struct procmap_child *child, void *arg)
{
	const struct asker *asker = arg;
	struct sigaction action = { .sa_handler = nothing };
	unsigned int i;
	int size;

	if (!HOLDS(!sigaction(SIGUSR1, &action, NULL)))
		return WRONG;
	/*
	 * close() sends a request to the server, which may be gone later. So do
	 * it now.
	 */
	for (i = 0; i < asker->nr_held; i++) {
		close(asker->held[i].fd);
		munmap(asker->held[i].map, PAGE);
	}
	size = id_size(asker->maps, asker->file);
	return HOLDS(size >= 0) ? size : WRONG;
}

static int start_asker(struct asker *asker, int maps, const struct fuse_file *file)
{
	asker->maps = maps;
	asker->file = file;
	return procmap_child_start(&asker->child, asks, asker);
}

/* Wait for the end of the process. */
static bool ends(const struct asker *asker)
{
	return stall_comes(&asker->child);
}

/* Does the process sleep in its query, and has it not ended? */
static bool waits(const struct asker *asker)
{
	return stall_gets_stuck(asker->child.pid, asker->child.pid) &&
	       !stall_has_come(&asker->child);
}

/*
 * Wait for the end of an asker that the server would never answer. Returns the
 * exit status as procmap_child_wait(). -ETIMEDOUT: it did not end.
 */
static int end_of(struct asker *asker)
{
	return ends(asker) ? procmap_child_wait(&asker->child) : -ETIMEDOUT;
}

/* Returns the exit status as end_of(). */
static int kill_asker(struct asker *asker)
{
	return kill(asker->child.pid, SIGKILL) ? -errno : end_of(asker);
}

TEST_F(fuse, a_stalled_server_holds_up_nobody_who_is_killed)
{
	struct fuse_file *file = &self->file[FILE_STALLED];
	struct asker first = {}, second = {}, healthy = {};

	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_STALLED, FUSE_READ));
	ASSERT_EQ(0, start_asker(&first, self->maps, file));
	ASSERT_EQ(0, fuse_server_wait_held(&self->server, FILE_STALLED, FUSE_READ, PROCMAP_HANG_MS,
					   NULL));
	EXPECT_TRUE(waits(&first));
	EXPECT_EQ(256 + SIGKILL, kill_asker(&first));

	/*
	 * The read that was left behind keeps the page locked. Other files must
	 * not suffer from that.
	 */
	ASSERT_EQ(0, start_asker(&second, self->maps, file));
	EXPECT_TRUE(waits(&second));
	ASSERT_EQ(0, start_asker(&healthy, self->maps, &self->file[FILE_HEALTHY]));
	ASSERT_TRUE(ends(&healthy));
	EXPECT_EQ(SHA1_SIZE, procmap_child_wait(&healthy.child));
	EXPECT_EQ(256 + SIGKILL, kill_asker(&second));

	/* The data that this read brings in the end is still used. */
	ASSERT_EQ(0, fuse_server_release(&self->server, FILE_STALLED, FUSE_READ));
	EXPECT_EQ(SHA1_SIZE, id_size(self->maps, file));
	EXPECT_EQ(1, fuse_server_count(&self->server, FILE_STALLED, FUSE_READ));
}

TEST_F(fuse, a_query_that_is_killed_is_EINTR)
{
	struct asker asker = {};

	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_STALLED, FUSE_READ));
	ASSERT_EQ(0, start_asker(&asker, self->maps, &self->file[FILE_STALLED]));
	ASSERT_EQ(0, fuse_server_wait_held(&self->server, FILE_STALLED, FUSE_READ, PROCMAP_HANG_MS,
					   NULL));
	EXPECT_TRUE(waits(&asker));
	EXPECT_EQ(-EINTR, procmap_child_kill_in_call(&asker.child));
}

TEST_F(fuse, a_signal_that_does_not_kill_is_not_an_answer)
{
	struct asker asker = {};

	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_STALLED, FUSE_READ));
	ASSERT_EQ(0, start_asker(&asker, self->maps, &self->file[FILE_STALLED]));
	ASSERT_EQ(0, fuse_server_wait_held(&self->server, FILE_STALLED, FUSE_READ, PROCMAP_HANG_MS,
					   NULL));
	ASSERT_EQ(0, kill(asker.child.pid, SIGUSR1));
	EXPECT_TRUE(waits(&asker));
	ASSERT_EQ(0, fuse_server_release(&self->server, FILE_STALLED, FUSE_READ));
	ASSERT_TRUE(ends(&asker));
	EXPECT_EQ(SHA1_SIZE, procmap_child_wait(&asker.child));
}

/* Only a query for the build ID waits for the file. */
TEST_F(fuse, a_query_without_build_id_reads_nothing)
{
	struct procmap_call call;

	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_STALLED, FUSE_READ));
	procmap_call_init(&call, (unsigned long)self->file[FILE_STALLED].map, 0);
	call.q.build_id_size = 0;
	call.q.build_id_addr = 0;
	ASSERT_EQ(0, procmap_call(self->maps, &call));
	EXPECT_EQ(0, call.q.build_id_size);
	EXPECT_EQ(0, fuse_server_count(&self->server, FILE_STALLED, FUSE_READ));
}

TEST_F(fuse, a_server_that_dies_ends_the_wait)
{
	struct fuse_file *file = &self->file[FILE_STALLED];
	struct asker asker = {};

	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_STALLED, FUSE_READ));
	ASSERT_EQ(0, start_asker(&asker, self->maps, file));
	ASSERT_EQ(0, fuse_server_wait_held(&self->server, FILE_STALLED, FUSE_READ, PROCMAP_HANG_MS,
					   NULL));
	ASSERT_EQ(0, kill(self->server.pid, SIGKILL));
	ASSERT_TRUE(ends(&asker));
	EXPECT_EQ(0, procmap_child_wait(&asker.child));
	EXPECT_EQ(0, id_size(self->maps, file));
}

/*
 * How many reads of one file system may run at a time; see lib/buildid_queue.c.
 */
#define SHARE		4
#define NR_CROWD	(SHARE + 4)
/*
 * When one of these reads has had no answer for this long, other callers do not
 * wait any more.
 */
#define PATIENCE_MS	5000
#define SOON_MS		15000
#define NEVER_MS	1000

FIXTURE(crowd) {
	struct fuse_server server;
	struct fuse_file file[NR_CROWD];
	struct asker asker[NR_CROWD];
	__u64 since;
	int maps;
};

/* One asker for each file of a server that answers none of them. */
FIXTURE_SETUP(crowd)
{
	static char data[NR_CROWD][PAGE];
	struct fuse_server_file files[NR_CROWD];
	unsigned int i;

	for (i = 0; i < NR_CROWD; i++) {
		elf_image_make(&self->file[i].image, true, SHA1_SIZE, 50 + i);
		memcpy(data[i], self->file[i].image.data, ELF_IMAGE_SIZE);
		files[i] = (struct fuse_server_file){ .data = data[i], .size = PAGE };
	}
	ASSERT_EQ(0, fuse_server_start(&self->server, files, NR_CROWD));
	for (i = 0; i < NR_CROWD; i++) {
		self->file[i].fd = fuse_server_open(&self->server, i, O_RDONLY);
		ASSERT_LE(0, self->file[i].fd);
		self->file[i].map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->file[i].fd, 0);
		ASSERT_NE((long)MAP_FAILED, (long)self->file[i].map);
		ASSERT_EQ(0, fuse_server_stall(&self->server, i, FUSE_READ));
	}
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
	self->since = stall_now_ns();
	for (i = 0; i < NR_CROWD; i++) {
		self->asker[i] = (struct asker){ .held = self->file, .nr_held = NR_CROWD };
		ASSERT_EQ(0, start_asker(&self->asker[i], self->maps, &self->file[i]));
	}
}

FIXTURE_TEARDOWN(crowd)
{
	fuse_server_stop(&self->server);
}

static bool reads(struct fuse_server *server, unsigned int file)
{
	return fuse_server_count(server, file, FUSE_READ) == 1;
}

static unsigned int all_reads(struct fuse_server *server)
{
	unsigned int i, nr = 0;

	for (i = 0; i < NR_CROWD; i++)
		nr += reads(server, i);
	return nr;
}

static bool wait_for_reads(struct fuse_server *server, unsigned int nr)
{
	int ms;

	for (ms = 0; ms < SOON_MS && all_reads(server) < nr; ms += 10)
		usleep(10000);
	return all_reads(server) == nr;
}

/*
 * Kill the askers whose file is being read, or those that wait for their turn.
 * The latter have little time, so kill all of them before waiting for any.
 * Returns how many SIGKILL has ended.
 */
static unsigned int kill_askers(struct asker *askers, struct fuse_server *server, bool read)
{
	unsigned int i, killed = 0;

	for (i = 0; i < NR_CROWD; i++)
		if (reads(server, i) == read)
			kill(askers[i].child.pid, SIGKILL);
	for (i = 0; i < NR_CROWD; i++)
		if (reads(server, i) == read)
			killed += end_of(&askers[i]) == 256 + SIGKILL;
	return killed;
}

/* Does an asker sleep in its query? What it holds is closed by then. */
static bool sleeps_in_query(const struct asker *asker)
{
	char path[64];
	FILE *file;
	int nr = -1;

	snprintf(path, sizeof(path), "/proc/%d/syscall", asker->child.pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	/* Of a thread that runs, the file has the word "running". */
	if (fscanf(file, "%d", &nr) != 1)
		nr = -1;
	fclose(file);
	return nr == SYS_ioctl;
}

/* Wait until all askers sleep in their query, or have ended. */
static bool all_have_asked(const struct asker *askers)
{
	unsigned int i;
	int ms;

	for (i = 0, ms = 0; i < NR_CROWD && ms < SOON_MS; ms += 10) {
		if (sleeps_in_query(&askers[i]) || stall_has_come(&askers[i].child))
			i++;
		else
			usleep(10000);
	}
	return i == NR_CROWD;
}

/*
 * Does each read of the crowd still wait for its turn, or for the server? On a
 * machine that is too slow, a test cannot see what happens before that.
 */
static bool in_time(__u64 since)
{
	bool in_time = stall_now_ns() - since < PATIENCE_MS * 1000000ULL;

	if (!in_time)
		ksft_print_msg("this machine is too slow to see what waits for its turn\n");
	return in_time;
}

TEST_F(crowd, of_one_file_system_a_share_is_read_and_the_rest_waits_killably)
{
	unsigned int i, waiting = 0, killed;

	ASSERT_TRUE(wait_for_reads(&self->server, SHARE));
	usleep(NEVER_MS * 1000);
	EXPECT_EQ(SHARE, all_reads(&self->server));
	for (i = 0; i < NR_CROWD; i++)
		waiting += !stall_has_come(&self->asker[i].child);
	killed = kill_askers(self->asker, &self->server, false);
	if (in_time(self->since)) {
		EXPECT_EQ(NR_CROWD, waiting);
		EXPECT_EQ(NR_CROWD - SHARE, killed);
	}
	/* An asker can also be killed while its file is being read. */
	EXPECT_EQ(SHARE, kill_askers(self->asker, &self->server, true));
	EXPECT_EQ(SHARE, all_reads(&self->server));
}

/*
 * The server does not answer, so a caller that waits for its turn need not wait
 * any longer.
 */
TEST_F(crowd, who_waits_in_vain_is_told)
{
	unsigned int i;

	ASSERT_TRUE(wait_for_reads(&self->server, SHARE));
	usleep(PATIENCE_MS * 1000);
	for (i = 0; i < NR_CROWD; i++) {
		if (reads(&self->server, i)) {
			EXPECT_FALSE(stall_has_come(&self->asker[i].child));
			continue;
		}
		ASSERT_TRUE(ends(&self->asker[i]));
		EXPECT_EQ(0, procmap_child_wait(&self->asker[i].child));
	}
	/* Other callers need not wait either, until the server answers. */
	EXPECT_EQ(0, id_size(self->maps, &self->file[0]));
	EXPECT_EQ(SHARE, all_reads(&self->server));
	for (i = 0; i < NR_CROWD; i++)
		ASSERT_EQ(0, fuse_server_release(&self->server, i, FUSE_READ));
	for (i = 0; i < NR_CROWD; i++)
		if (reads(&self->server, i))
			EXPECT_EQ(SHA1_SIZE, procmap_child_wait(&self->asker[i].child));
	for (i = 0; i < NR_CROWD; i++)
		EXPECT_EQ(SHA1_SIZE, id_size(self->maps, &self->file[i]));
}

/*
 * The read has the last reference to the file. A worker closes the file when
 * its turn comes, even if the asker is dead.
 */
TEST_F(crowd, a_file_whose_asker_was_killed_is_closed_in_the_end)
{
	unsigned int i, last = NR_CROWD, killed;
	int ms, closed;

	ASSERT_TRUE(wait_for_reads(&self->server, SHARE));
	ASSERT_TRUE(all_have_asked(self->asker));
	for (i = 0; i < NR_CROWD; i++)
		if (!reads(&self->server, i))
			last = i;
	ASSERT_NE(NR_CROWD, last);
	ASSERT_EQ(0, munmap(self->file[last].map, PAGE));
	ASSERT_EQ(0, close(self->file[last].fd));
	killed = kill_askers(self->asker, &self->server, false);
	closed = fuse_server_count(&self->server, last, FUSE_RELEASE);
	if (in_time(self->since)) {
		EXPECT_EQ(NR_CROWD - SHARE, killed);
		EXPECT_EQ(0, closed);
	}
	EXPECT_EQ(SHARE, kill_askers(self->asker, &self->server, true));
	for (i = 0; i < NR_CROWD; i++)
		ASSERT_EQ(0, fuse_server_release(&self->server, i, FUSE_READ));
	for (ms = 0; ms < SOON_MS; ms += 10) {
		if (fuse_server_count(&self->server, last, FUSE_RELEASE))
			break;
		usleep(10000);
	}
	EXPECT_EQ(1, fuse_server_count(&self->server, last, FUSE_RELEASE));
	EXPECT_EQ(SHARE, all_reads(&self->server));
}

TEST_F(crowd, who_waits_for_his_turn_is_served_in_the_end)
{
	unsigned int i;

	ASSERT_TRUE(wait_for_reads(&self->server, SHARE));
	for (i = 0; i < NR_CROWD; i++)
		ASSERT_EQ(0, fuse_server_release(&self->server, i, FUSE_READ));
	for (i = 0; i < NR_CROWD; i++) {
		ASSERT_TRUE(ends(&self->asker[i]));
		EXPECT_EQ(SHA1_SIZE, procmap_child_wait(&self->asker[i].child));
	}
	EXPECT_EQ(NR_CROWD, all_reads(&self->server));
}

TEST_F(crowd, other_file_systems_do_not_notice)
{
	struct fuse_server_file healthy = { .data = self->file[0].image.data,
					    .size = ELF_IMAGE_SIZE };
	struct fuse_file file = { .image = self->file[0].image };
	struct fuse_server other;
	struct asker asker = {};

	ASSERT_TRUE(wait_for_reads(&self->server, SHARE));
	ASSERT_EQ(0, fuse_server_start(&other, &healthy, 1));
	file.fd = fuse_server_open(&other, 0, O_RDONLY);
	ASSERT_LE(0, file.fd);
	file.map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file.fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)file.map);
	ASSERT_EQ(0, start_asker(&asker, self->maps, &file));
	EXPECT_TRUE(ends(&asker));
	EXPECT_EQ(1, fuse_server_count(&other, 0, FUSE_READ));
	fuse_server_stop(&other);
	EXPECT_EQ(SHA1_SIZE, procmap_child_wait(&asker.child));
	EXPECT_EQ(SHARE, all_reads(&self->server));
}

/* The limits of a cgroup may hold back the reads of its own processes only. */
TEST_F(crowd, callers_of_another_cgroup_have_a_share_of_their_own)
{
	const char *lacking = cgroup_lacking("io");
	struct cgroup cgroup;
	struct asker asker = {};
	unsigned int i = 0;

	if (lacking)
		SKIP(return, "%s: %s", _metadata->name, lacking);
	ASSERT_TRUE(wait_for_reads(&self->server, SHARE));
	while (reads(&self->server, i))
		i++;
	ASSERT_EQ(0, cgroup_make(&cgroup, "io"));
	ASSERT_EQ(0, cgroup_enter(&cgroup, 0));
	ASSERT_EQ(0, start_asker(&asker, self->maps, &self->file[i]));
	ASSERT_EQ(0, cgroup_leave(&cgroup, 0));
	EXPECT_TRUE(wait_for_reads(&self->server, SHARE + 1));
	EXPECT_TRUE(reads(&self->server, i));
	EXPECT_FALSE(stall_has_come(&asker.child));
	EXPECT_EQ(256 + SIGKILL, kill_asker(&asker));
	EXPECT_EQ(0, cgroup_remove(&cgroup));
}

TEST_HARNESS_MAIN
