// SPDX-License-Identifier: GPL-2.0
/* PROCMAP_QUERY reports the names of the text, but without its escapes. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "procmap_harness.h"
#include "procmap_zoo.h"

#define NO_CHROOT	"%s: chroot() needs root, or user namespaces (CONFIG_USER_NS)"
#define NO_ANON_NAMES	"%s: no names of anonymous memory (CONFIG_ANON_VMA_NAME)"

/* A file of two pages, in a directory of its own. Its first page is mapped. */
FIXTURE(file) {
	char dir[PATH_MAX / 2];
	char path[PATH_MAX];
	int fd;
	char *map;
	size_t page;
	struct procmap_call call;
};

FIXTURE_VARIANT(file) {
	const char *name;
};

FIXTURE_VARIANT_ADD(file, plain) { .name = "file" };
FIXTURE_VARIANT_ADD(file, newline) { .name = "a\nfile\n\nof lines\n" };
FIXTURE_VARIANT_ADD(file, looks_escaped) { .name = "a\\012file" };

FIXTURE_SETUP(file)
{
	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	snprintf(self->path, sizeof(self->path), "%s/%s", self->dir, variant->name);
	self->page = sysconf(_SC_PAGESIZE);
	self->fd = procmap_tmp_file(self->path, 2);
	ASSERT_LE(0, self->fd);
	self->map = mmap(NULL, self->page, PROT_READ, MAP_PRIVATE, self->fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
}

FIXTURE_TEARDOWN(file)
{
	close(self->fd);
	unlink(self->path);
	rmdir(self->dir);
}

/* Does @addr have the name @want, and does the line of the text agree? */
static bool has_name(const void *addr, const char *want)
{
	struct maps_text text;
	struct procmap_call call;
	int fd = maps_open(0);
	bool ret = false;

	if (fd < 0 || maps_text_read(fd, &text))
		return false;
	if (!procmap_check(fd, &text, (unsigned long)addr, 0) &&
	    !procmap_ask(fd, (unsigned long)addr, 0, &call)) {
		const char *name = call.q.vma_name_size ? call.name : "";

		ret = !strcmp(name, want);
		if (!ret)
			fprintf(stderr, "# name is '%.200s', not '%.200s'\n", name, want);
	}
	maps_text_free(&text);
	close(fd);
	return ret;
}

TEST_F(file, path)
{
	EXPECT_TRUE(has_name(self->map, self->path));
}

TEST_F(file, renamed)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/renamed", self->dir);
	ASSERT_EQ(0, rename(self->path, path));
	EXPECT_TRUE(has_name(self->map, path));
	ASSERT_EQ(0, rename(path, self->path));
}

/* Ask with buffers of every size: each is too short, or gets the whole name. */
static void every_size(struct __test_metadata *_metadata, const void *addr, const char *name)
{
	size_t size, need = strlen(name) + 1;
	struct procmap_call call;
	int fd = maps_open(0);

	ASSERT_LE(0, fd);
	for (size = 1; size < need + 10; size++) {
		procmap_call_init(&call, (unsigned long)addr, 0);
		call.q.vma_name_size = size;
		EXPECT_EQ(size < need ? -ENAMETOOLONG : 0, procmap_call(fd, &call))
			TH_LOG("buffer of %zu bytes for a name of %zu", size, need);
		if (size < need)
			continue;
		EXPECT_EQ(need, call.q.vma_name_size);
		EXPECT_STREQ(name, call.name);
	}
	close(fd);
}

TEST_F(file, name_of_every_size_of_buffer)
{
	every_size(_metadata, self->map, self->path);
}

struct rooted {
	const char *root;
	const void *addr;
	const char *want;
	const void *outside;
};

/* Root may call chroot(). Other users become root of a user namespace for it. */
static int enter_root(const char *root)
{
	if (geteuid() && unshare(CLONE_NEWUSER))
		return -errno;
	return chroot(root) ? -errno : 0;
}

#define ROOT_REFUSED	2

/*
 * The kernel makes the name when it is asked for, as seen from the root of the
 * caller. The text does the same.
 */
static int reads_from_root(struct procmap_child *child, void *arg)
{
	const struct rooted *rooted = arg;
	struct maps_text text;
	struct procmap_call call;
	int fd = maps_open(0);

	if (enter_root(rooted->root))
		return ROOT_REFUSED;
	if (!HOLDS(!procmap_ask(fd, (unsigned long)rooted->addr, 0, &call)) ||
	    !HOLDS(!strcmp(call.name, rooted->want)) ||
	    !HOLDS(!maps_text_read(fd, &text)) ||
	    !HOLDS(!procmap_check(fd, &text, (unsigned long)rooted->addr, 0)) ||
	    !HOLDS(!procmap_check(fd, &text, (unsigned long)rooted->outside, 0)))
		return 1;
	return 0;
}

TEST_F(file, path_from_the_root_of_the_reader)
{
	const char *slash = strrchr(self->path, '/');
	struct rooted rooted = {
		.root = self->dir, .addr = self->map, .want = slash, .outside = procmap_call,
	};
	struct procmap_child child;
	int ret;

	ASSERT_EQ(0, procmap_child_start(&child, reads_from_root, &rooted));
	ret = procmap_child_wait(&child);
	if (ret == ROOT_REFUSED && geteuid())
		SKIP(return, NO_CHROOT, _metadata->name);
	EXPECT_EQ(0, ret);
}

/*
 * A process with another root sends its descriptor. The test asks by the same
 * descriptor and gets the path from its own root.
 */
static int sends_its_maps(struct procmap_child *child, void *arg)
{
	const struct rooted *rooted = arg;
	int fd = maps_open(0);

	if (enter_root(rooted->root))
		return ROOT_REFUSED;
	if (!HOLDS(!procmap_send_fd(child, fd)) || !HOLDS(!procmap_sync(child)))
		return 1;
	return 0;
}

TEST_F(file, root_of_the_target_does_not_matter)
{
	struct rooted rooted = { .root = self->dir };
	struct procmap_child child;
	int fd, ret;

	ASSERT_EQ(0, procmap_child_start(&child, sends_its_maps, &rooted));
	fd = procmap_recv_fd(&child);
	if (fd < 0) {
		ret = procmap_child_wait(&child);
		ASSERT_EQ(ROOT_REFUSED, ret);
		ASSERT_NE(0, geteuid());
		SKIP(return, NO_CHROOT, _metadata->name);
	}
	EXPECT_EQ(0, procmap_ask(fd, (unsigned long)self->map, 0, &self->call));
	EXPECT_STREQ(self->path, self->call.name);
	EXPECT_EQ(0, procmap_child_finish(&child));
	close(fd);
}

/* Memory that has a name of its own kind, or no name. */
FIXTURE(memory) {
	size_t page;
	char *map;
};

FIXTURE_SETUP(memory)
{
	self->page = sysconf(_SC_PAGESIZE);
	self->map = mmap(NULL, 3 * self->page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
	/* Leave a hole in front, so that no VMA before it merges with it. */
	ASSERT_EQ(0, munmap(self->map, self->page));
	self->map += self->page;
	ASSERT_EQ(0, mprotect(self->map + self->page, self->page, PROT_NONE));
}

FIXTURE_TEARDOWN(memory)
{
}

TEST_F(memory, anonymous_has_no_name)
{
	EXPECT_TRUE(has_name(self->map, ""));
}

TEST_F(memory, heap)
{
	char *heap = sbrk(self->page);

	ASSERT_NE(-1, (long)heap);
	EXPECT_TRUE(has_name(heap, "[heap]"));
}

TEST_F(memory, stack)
{
	char on_stack;

	EXPECT_TRUE(has_name(&on_stack, "[stack]"));
}

TEST_F(memory, vdso)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);

	ASSERT_NE(0, vdso)
		TH_LOG("the kernel gave this program no vDSO");
	EXPECT_TRUE(has_name((void *)vdso, "[vdso]"));
}

TEST_F(memory, vvar)
{
	struct maps_text text;
	unsigned long addr = 0;
	size_t i;

	ASSERT_EQ(0, maps_text_read_pid(0, &text));
	for (i = 0; i < text.nr; i++) {
		if (!strcmp(text.vma[i].name, "[vvar]"))
			addr = text.vma[i].start;
	}
	maps_text_free(&text);
	ASSERT_NE(0, addr)
		TH_LOG("the text has no [vvar]");
	EXPECT_TRUE(has_name((void *)addr, "[vvar]"));
}

/* With good arguments this fails with EINVAL only if the kernel cannot name memory. */
static int name_map(const struct _test_data_memory *self, const char *name)
{
	return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, self->map, self->page, name);
}

TEST_F(memory, anonymous_name)
{
	if (name_map(self, "a name") && errno == EINVAL)
		SKIP(return, NO_ANON_NAMES, _metadata->name);
	EXPECT_TRUE(has_name(self->map, "[anon:a name]"));
	ASSERT_EQ(0, name_map(self, "another, changed: (name) %s %n <>{}"));
	EXPECT_TRUE(has_name(self->map, "[anon:another, changed: (name) %s %n <>{}]"));
	ASSERT_EQ(0, name_map(self, NULL));
	EXPECT_TRUE(has_name(self->map, ""));
}

TEST_F(memory, anonymous_name_of_every_length)
{
	char name[128], want[256];
	int len;

	if (name_map(self, "x") && errno == EINVAL)
		SKIP(return, NO_ANON_NAMES, _metadata->name);
	for (len = 0; len < 80; len++) {
		memset(name, 'a' + len % 26, len);
		name[len] = '\0';
		ASSERT_EQ(0, name_map(self, name));
		snprintf(want, sizeof(want), "[anon:%s]", name);
		EXPECT_TRUE(has_name(self->map, want));
	}
}

TEST_F(memory, heap_goes_before_anonymous_name)
{
	char *heap = sbrk(0);

	self->map = heap + (-(unsigned long)heap & (self->page - 1));
	ASSERT_EQ(0, brk(self->map + self->page));
	if (name_map(self, "not shown") && errno == EINVAL)
		SKIP(return, NO_ANON_NAMES, _metadata->name);
	EXPECT_TRUE(has_name(self->map, "[heap]"));
}

TEST_F(memory, anonymous_name_of_every_size_of_buffer)
{
	if (name_map(self, "name") && errno == EINVAL)
		SKIP(return, NO_ANON_NAMES, _metadata->name);
	every_size(_metadata, self->map, "[anon:name]");
}

TEST_F(memory, special_name_of_every_size_of_buffer)
{
	every_size(_metadata, &_metadata, "[stack]");
}

/* Nested directories. They are made one by one, because no system call takes such a long path. */
#define DEPTH		25
#define PART		240

FIXTURE(deep) {
	char dir[PATH_MAX / 2];
	char path[PATH_MAX / 2 + (DEPTH + 2) * (PART + 1)];
	char part[PART + 1];
	int at[DEPTH + 1];
	int fd;
	char *map;
};

FIXTURE_SETUP(deep)
{
	int i;

	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	strcpy(self->path, self->dir);
	memset(self->part, 'd', PART);
	self->at[0] = open(self->dir, O_PATH | O_DIRECTORY);
	ASSERT_LE(0, self->at[0]);
	for (i = 0; i < DEPTH; i++) {
		ASSERT_EQ(0, mkdirat(self->at[i], self->part, 0700));
		self->at[i + 1] = openat(self->at[i], self->part, O_PATH | O_DIRECTORY);
		ASSERT_LE(0, self->at[i + 1]);
		strcat(strcat(self->path, "/"), self->part);
	}
	strcat(self->path, "/file");
	self->fd = openat(self->at[DEPTH], "file", O_RDWR | O_CREAT, 0600);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ftruncate(self->fd, sysconf(_SC_PAGESIZE)));
	self->map = mmap(NULL, 1, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
	ASSERT_LT(PATH_MAX, strlen(self->path));
}

FIXTURE_TEARDOWN(deep)
{
	int i;

	close(self->fd);
	unlinkat(self->at[DEPTH], "file", 0);
	for (i = DEPTH; i-- > 0; ) {
		close(self->at[i + 1]);
		unlinkat(self->at[i], self->part, AT_REMOVEDIR);
	}
	close(self->at[0]);
	rmdir(self->dir);
}

/* The name must be too long for every buffer, and nothing may be written. */
static void expect_too_long(struct __test_metadata *_metadata, const char *map)
{
	static const size_t sizes[] = { 1, 256, PATH_MAX, PROCMAP_NAME_ROOM };
	struct procmap_call call;
	int i, fd = maps_open(0);

	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		procmap_call_init(&call, (unsigned long)map, 0);
		call.q.vma_name_size = sizes[i];
		EXPECT_EQ(-ENAMETOOLONG, procmap_call(fd, &call));
	}
	close(fd);
}

TEST_F(deep, a_path_longer_than_path_max_is_too_long_for_every_buffer)
{
	expect_too_long(_metadata, self->map);
}

/*
 * Map another file in these directories, whose path has @len bytes without the
 * NUL. Then delete the file.
 */
static char *map_path_of(FIXTURE_DATA(deep) * self, size_t len, char *path)
{
	size_t above = strlen(self->dir);
	char name[NAME_MAX + 1] = "";
	char *map;
	int i, fd;

	strcpy(path, self->dir);
	for (i = 0; above + PART + 1 + NAME_MAX / 2 < len; i++) {
		strcat(strcat(path, "/"), self->part);
		above += PART + 1;
	}
	memset(name, 'f', len - above - 1);
	strcat(strcat(path, "/"), name);
	fd = openat(self->at[i], name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sysconf(_SC_PAGESIZE)))
		return MAP_FAILED;
	map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	unlinkat(self->at[i], name, 0);
	return map;
}

/* A deleted file whose path is just short enough, and one with a byte more. */
TEST_F(deep, the_longest_path_fits_exactly_and_in_no_buffer_one_short)
{
	const size_t longest = PATH_MAX - 1 - strlen(" (deleted)");
	char path[PATH_MAX + NAME_MAX];
	char *map = map_path_of(self, longest, path);
	struct procmap_call call;
	int fd = maps_open(0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	ASSERT_LE(0, fd);
	strcat(path, " (deleted)");
	ASSERT_EQ(PATH_MAX - 1, strlen(path));
	EXPECT_TRUE(has_name(map, path));
	procmap_call_init(&call, (unsigned long)map, 0);
	call.q.vma_name_size = PATH_MAX;
	EXPECT_EQ(0, procmap_call(fd, &call));
	EXPECT_EQ(PATH_MAX, call.q.vma_name_size);
	procmap_call_init(&call, (unsigned long)map, 0);
	call.q.vma_name_size = PATH_MAX - 1;
	EXPECT_EQ(-ENAMETOOLONG, procmap_call(fd, &call));
	close(fd);

	map = map_path_of(self, longest + 1, path);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	expect_too_long(_metadata, map);
}

TEST_HARNESS_MAIN
