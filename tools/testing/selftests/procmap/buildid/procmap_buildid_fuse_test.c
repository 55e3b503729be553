// SPDX-License-Identifier: GPL-2.0
/*
 * Build IDs of files that an ordinary user serves. The FUSE server counts
 * requests, and answers no read. A query has to answer at once with what the
 * page cache has. It must not ask the server, nor keep the file.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "elf_image.h"
#include "fuse_server.h"
#include "procmap_harness.h"

#define PAGES		6
#define PAGE		4096
#define SHA1_SIZE	20

/* Notes on the first page, on the last page, and notes that fill the pages. */
#define EMPTY		((PAGES - 1) * PAGE / ELF_IMAGE_EMPTY)
enum { FILE_SHORT, FILE_FAR, FILE_FULL, NR_FILES };

PROCMAP_REQUIRE(fuse_server_lacking())

FIXTURE(fuse) {
	struct fuse_server server;
	struct elf_image image[NR_FILES];
	int fd[NR_FILES];
	char *map[NR_FILES];
	int maps;
};

static bool map_file(struct _test_data_fuse *self, unsigned int file)
{
	int fd = fuse_server_open(&self->server, file, O_RDWR);

	self->fd[file] = fd;
	self->map[file] = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	/* No readahead: a page that nobody has touched is not there. */
	return fd >= 0 && self->map[file] != MAP_FAILED &&
	       !posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) &&
	       !madvise(self->map[file], PAGES * PAGE, MADV_RANDOM);
}

FIXTURE_SETUP(fuse)
{
	static char data[NR_FILES][PAGES * PAGE];
	const size_t notes_at[NR_FILES] = { ELF_IMAGE_NOTE, (PAGES - 1) * PAGE, ELF_IMAGE_NOTE };
	struct fuse_server_file files[NR_FILES];
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		elf_image_make(&self->image[i], true, SHA1_SIZE, 50 + i);
		elf_image_put(&self->image[i], data[i], notes_at[i], i == FILE_FULL ? EMPTY : 0);
		files[i] = (struct fuse_server_file){ .data = data[i], .size = PAGES * PAGE };
	}
	ASSERT_EQ(0, fuse_server_start(&self->server, files, NR_FILES, 0));
	for (i = 0; i < NR_FILES; i++)
		ASSERT_TRUE(map_file(self, i));
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
}

FIXTURE_TEARDOWN(fuse)
{
	fuse_server_stop(&self->server);
}

/* Bring pages in by the mapping, the first and then each @step. */
static void touch(struct _test_data_fuse *self, unsigned int file, unsigned int step)
{
	unsigned int i;

	for (i = 0; i < PAGES; i += step)
		__atomic_load_n(self->map[file] + i * PAGE, __ATOMIC_RELAXED);
}

/* Returns how many pages of a file are in the page cache, or -errno. */
static int cached(const struct _test_data_fuse *self, unsigned int file)
{
	return procmap_cached_pages(self->map[file], PAGES * PAGE);
}

static int id_size(const struct _test_data_fuse *self, unsigned int file)
{
	return elf_image_ask(self->maps, self->map[file], &self->image[file]);
}

/* A query finds none, and a scan says that it is not known. */
static bool id_is_unknown(const struct _test_data_fuse *self, unsigned int file)
{
	return !id_size(self, file) &&
	       elf_image_scan(self->maps, self->map[file], &self->image[file], 0) == -EIO;
}

TEST_F(fuse, a_file_that_is_cached_has_its_build_id)
{
	touch(self, FILE_SHORT, PAGES);
	ASSERT_EQ(1, cached(self, FILE_SHORT));
	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_SHORT, FUSE_READ));
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_SHORT));
	EXPECT_EQ(1, fuse_server_count(&self->server, FILE_SHORT, FUSE_READ));
}

TEST_F(fuse, a_file_that_is_not_cached_has_none_and_nobody_is_asked)
{
	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_SHORT, FUSE_READ));
	EXPECT_TRUE(id_is_unknown(self, FILE_SHORT));
	EXPECT_EQ(0, fuse_server_count(&self->server, FILE_SHORT, FUSE_READ));
	EXPECT_EQ(0, cached(self, FILE_SHORT));
}

TEST_F(fuse, a_file_whose_notes_are_not_cached_has_none)
{
	touch(self, FILE_FAR, PAGES);
	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_FAR, FUSE_READ));
	EXPECT_TRUE(id_is_unknown(self, FILE_FAR));
	EXPECT_EQ(1, fuse_server_count(&self->server, FILE_FAR, FUSE_READ));
	EXPECT_EQ(1, cached(self, FILE_FAR));
	ASSERT_EQ(0, fuse_server_release(&self->server, FILE_FAR, FUSE_READ));
	touch(self, FILE_FAR, PAGES - 1);
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_FAR));
}

/*
 * All of it is cached, but it is too much to look at while the VMA is locked.
 * To go on, a query would have to keep the file.
 */
TEST_F(fuse, a_file_that_takes_longer_has_none)
{
	touch(self, FILE_FULL, 1);
	ASSERT_EQ(PAGES, cached(self, FILE_FULL));
	EXPECT_TRUE(id_is_unknown(self, FILE_FULL));
}

/* A page of the mapping is on its way: others may wait for it, a query not. */
TEST_F(fuse, a_page_that_is_being_read_is_not_waited_for)
{
	ASSERT_EQ(0, fuse_server_hold_page(&self->server, FILE_SHORT));
	EXPECT_TRUE(id_is_unknown(self, FILE_SHORT));
	EXPECT_EQ(1, fuse_server_count(&self->server, FILE_SHORT, FUSE_READ));
	ASSERT_EQ(0, fuse_server_release(&self->server, FILE_SHORT, FUSE_READ));
	EXPECT_EQ(SHA1_SIZE, id_size(self, FILE_SHORT));
}

/* Has a mapping of a file that it has locked and closed. */
static int maps_locked_file(struct procmap_child *child, void *arg)
{
	struct _test_data_fuse *fuse = arg;
	int fd = fuse_server_open(&fuse->server, FILE_SHORT, O_RDWR);
	char *map = mmap(fuse->map[FILE_SHORT], PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
			 fd, 0);

	if (!HOLDS(map == fuse->map[FILE_SHORT]) || !HOLDS(!flock(fd, LOCK_EX)) ||
	    !HOLDS(!close(fd)))
		return 1;
	return procmap_send(child, 0) || procmap_sync(child);
}

/* The file ends with its target, as if nobody had asked. */
TEST_F(fuse, a_query_keeps_no_file)
{
	struct procmap_child target;
	int maps;

	ASSERT_EQ(0, fuse_server_stall(&self->server, FILE_SHORT, FUSE_READ));
	maps = procmap_child_open(&target, maps_locked_file, self, NULL);
	ASSERT_LE(0, maps);
	EXPECT_EQ(0, elf_image_ask(maps, self->map[FILE_SHORT], &self->image[FILE_SHORT]));
	EXPECT_EQ(-1, flock(self->fd[FILE_SHORT], LOCK_EX | LOCK_NB));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&target));
	EXPECT_EQ(0, flock(self->fd[FILE_SHORT], LOCK_EX | LOCK_NB));
	EXPECT_TRUE(UNTIL(fuse_server_count(&self->server, FILE_SHORT, FUSE_RELEASE) == 1));
	close(maps);
}

TEST_HARNESS_MAIN
