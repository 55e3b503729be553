// SPDX-License-Identifier: GPL-2.0
/* Files whose build ID PROCMAP_QUERY reads, and mappings that have none. */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "elf_image.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"

#define MAX_ID		20
#define SHA1_SIZE	20
#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"

/* Does the VMA at @addr have this build ID? With @size 0 it must have none. */
static bool id_is(const void *addr, const unsigned char *id, unsigned int size)
{
	struct procmap_call call;
	int ret = procmap_ask_self(addr, &call);

	if (!ret && call.q.build_id_size == size && !memcmp(call.build_id, id, size))
		return true;
	fprintf(stderr, "# query returned %d, build ID of %u bytes, wanted is another of %u\n", ret,
		ret ? 0 : call.q.build_id_size, size);
	return false;
}

static bool has_none(const void *addr)
{
	return id_is(addr, (const unsigned char *)"", 0);
}

static bool has_id_of(const void *addr, const struct elf_image *image)
{
	return id_is(addr, image->id, image->id_size);
}

/* Make a file with this content. Returns a descriptor, or -errno. */
static int write_new(const char *path, const void *data, size_t size)
{
	int fd = procmap_tmp_file(path, 0);

	if (fd < 0)
		return fd;
	if (write(fd, data, size) == (ssize_t)size)
		return fd;
	close(fd);
	return -EIO;
}

static char *map_fd(int fd)
{
	return mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE, fd, 0);
}

/* Write a new image to a mapping. */
static void put_image(char *map, struct elf_image *image, unsigned char seed)
{
	elf_image_make(image, true, SHA1_SIZE, seed);
	memcpy(map, image->data, sizeof(image->data));
}

/* Returns 1 if the file has a build ID and the query agrees, 0 if the file has none, or -errno. */
static int check_program(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	const unsigned char *id;
	unsigned int size;
	int ret = 0;
	struct stat st;
	char *map;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) && st.st_size) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			return -errno;
		id = elf_image_find(map, st.st_size, &size);
		if (id)
			ret = id_is(map, id, size) ? 1 : -EUCLEAN;
		munmap(map, st.st_size);
	}
	close(fd);
	return ret;
}

/* The programs in the directory of this one: at least itself and procmap_target. */
TEST(programs_of_the_same_directory)
{
	char path[PATH_MAX] = "";
	struct dirent *entry;
	int checked = 0;
	DIR *dir;

	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	*strrchr(path, '/') = '\0';
	dir = opendir(path);
	ASSERT_TRUE(!!dir);
	while ((entry = readdir(dir))) {
		int ret = check_program(dirfd(dir), entry->d_name);

		EXPECT_LE(0, ret)
			TH_LOG("%s: %s", entry->d_name, strerror(-ret));
		checked += ret > 0;
	}
	EXPECT_LE(2, checked);
	closedir(dir);
}

TEST(vdso)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);

	/* The vDSO has a build ID, but no file. */
	ASSERT_TRUE(!!vdso);
	ASSERT_EQ(0, memcmp(vdso, ELFMAG, SELFMAG));
	EXPECT_TRUE(has_none(vdso));
}

TEST(anonymous_memory)
{
	struct elf_image image;
	char *map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	put_image(map, &image, 1);
	EXPECT_TRUE(has_none(map));
}

TEST(memfd)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct elf_image image;
	char *map;

	ASSERT_LE(0, fd);
	elf_image_make(&image, true, SHA1_SIZE, 2);
	ASSERT_EQ(sizeof(image.data), write(fd, image.data, sizeof(image.data)));
	map = map_fd(fd);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_id_of(map, &image));
	close(fd);
	EXPECT_TRUE(has_id_of(map, &image));
}

/* A kernel with memfd_secret() refuses an unknown flag with EINVAL. */
static bool lacks_secretmem(void)
{
	return syscall(__NR_memfd_secret, 1U << 30) < 0 && errno != EINVAL;
}

/* The owner sees the image, but there is no build ID: the kernel must not look at this memory. */
TEST(secretmem)
{
	struct elf_image image;
	char *map;
	int fd;

	if (lacks_secretmem())
		SKIP(return, "%s: no memfd_secret() (CONFIG_SECRETMEM, secretmem.enable=1)",
		     _metadata->name);
	fd = syscall(__NR_memfd_secret, O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, sysconf(_SC_PAGESIZE)));
	map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_none(map));
	put_image(map, &image, 4);
	EXPECT_TRUE(has_none(map));
	EXPECT_EQ(0, memcmp(map, image.data, sizeof(image.data)));
}

TEST(hugetlbfs_with_an_image)
{
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	long before = procmap_value(NR_HUGEPAGES, NULL);
	int ret = procmap_write_number(AT_FDCWD, NR_HUGEPAGES, before + 1);
	struct elf_image image;
	struct stat st;
	char *map;

	if (ret == -EACCES)
		SKIP(return, "%s: allocating a huge page needs root", _metadata->name);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(0, ftruncate(fd, st.st_blksize));
	map = mmap(NULL, st.st_blksize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT_NE((long)MAP_FAILED, (long)map)
		TH_LOG("no free huge page");
	if (map != MAP_FAILED) {
		put_image(map, &image, 5);
		EXPECT_TRUE(has_none(map));
		EXPECT_EQ(0, memcmp(map, image.data, sizeof(image.data)));
		munmap(map, st.st_blksize);
	}
	close(fd);
	EXPECT_EQ(0, procmap_write_number(AT_FDCWD, NR_HUGEPAGES, before));
}

/* A file with an image, in a directory of its own, and a mapping of it. */
FIXTURE(file) {
	char dir[PATH_MAX / 2];
	char path[PATH_MAX];
	struct elf_image image;
	int fd;
	char *map;
};

FIXTURE_SETUP(file)
{
	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	snprintf(self->path, sizeof(self->path), "%s/file", self->dir);
	elf_image_make(&self->image, true, SHA1_SIZE, 100);
	self->fd = write_new(self->path, self->image.data, sizeof(self->image.data));
	ASSERT_LE(0, self->fd);
	self->map = map_fd(self->fd);
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
}

FIXTURE_TEARDOWN(file)
{
	close(self->fd);
	unlink(self->path);
	rmdir(self->dir);
}

static bool rewrite(int fd, const void *data, size_t size)
{
	return !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size;
}

TEST_F(file, ids_of_all_sizes_in_both_classes)
{
	unsigned int i;

	for (i = 0; i < 2 * MAX_ID; i++) {
		elf_image_make(&self->image, i % 2, 1 + i / 2, i);
		ASSERT_TRUE(rewrite(self->fd, self->image.data, sizeof(self->image.data)));
		EXPECT_TRUE(has_id_of(self->map, &self->image))
			TH_LOG("ELF%d, %u bytes", i % 2 ? 64 : 32, self->image.id_size);
	}
}

/* The kernel must not cut a long ID: a cut ID would name another file. */
TEST_F(file, ids_of_no_size_or_too_long)
{
	const unsigned int sizes[] = { 0, MAX_ID + 1, 32, ELF_IMAGE_ID };
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		elf_image_make(&self->image, i % 2, sizes[i / 2], 6);
		ASSERT_TRUE(rewrite(self->fd, self->image.data, sizeof(self->image.data)));
		EXPECT_TRUE(has_none(self->map));
	}
}

TEST_F(file, buffer_that_fits_exactly)
{
	struct procmap_call call;
	int maps = maps_open(0);
	unsigned int size;

	ASSERT_LE(0, maps);
	for (size = 1; size <= MAX_ID; size++) {
		elf_image_make(&self->image, true, size, 7);
		ASSERT_TRUE(rewrite(self->fd, self->image.data, sizeof(self->image.data)));
		procmap_call_init(&call, (unsigned long)self->map, 0);
		call.q.build_id_size = size;
		ASSERT_EQ(0, procmap_call(maps, &call));
		EXPECT_EQ(size, call.q.build_id_size);
		EXPECT_EQ(0, memcmp(self->image.id, call.build_id, size));
	}
	close(maps);
}

/* Only the file counts, not which part of it is mapped, nor how. */
TEST_F(file, any_part_and_protection)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map;

	map = mmap(NULL, page, PROT_NONE, MAP_SHARED, self->fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_id_of(map, &self->image));
	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd, 5 * page);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_id_of(map, &self->image));
	/* A private copy of the header is not the file. */
	map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	memset(map, 0, page);
	EXPECT_TRUE(has_id_of(map, &self->image));
}

TEST_F(file, changed)
{
	char *map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			 self->fd, 0);

	ASSERT_NE((long)MAP_FAILED, (long)map);
	put_image(map, &self->image, 9);
	EXPECT_TRUE(has_id_of(self->map, &self->image));
	ASSERT_EQ(0, ftruncate(self->fd, 100));
	EXPECT_TRUE(has_none(self->map));
	ASSERT_EQ(0, ftruncate(self->fd, 0));
	EXPECT_TRUE(has_none(self->map));
}

TEST_F(file, text)
{
	static const char text[] = "Some text, such as that of a locale.\n";

	ASSERT_TRUE(rewrite(self->fd, text, sizeof(text)));
	EXPECT_TRUE(has_none(self->map));
}

/* Replace the file as a package manager does. The mapping keeps the old file. */
TEST_F(file, replaced)
{
	char path[PATH_MAX];
	struct elf_image other;
	char *map;
	int fd;

	snprintf(path, sizeof(path), "%s/new", self->dir);
	elf_image_make(&other, true, SHA1_SIZE, 200);
	fd = write_new(path, other.data, sizeof(other.data));
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rename(path, self->path));
	map = map_fd(fd);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_id_of(self->map, &self->image));
	EXPECT_TRUE(has_id_of(map, &other));
	close(fd);
}

/* In a namespace of its own a child may mount, and no mount outlives the child. */
static bool enter_namespaces(void)
{
	if (!geteuid())
		return !unshare(CLONE_NEWNS) &&
		       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return !procmap_become_root();
}

#define NO_MOUNTS	2

/*
 * The file is in a tmpfs. Use no upper layer: it needs attributes that the tmpfs
 * of an ordinary user lacks.
 */
static int overlay_has_it(struct procmap_child *child, void *arg)
{
	struct elf_image image;
	char *map;
	int fd;

	if (!enter_namespaces())
		return NO_MOUNTS;
	if (!HOLDS(!mount("none", arg, "tmpfs", 0, NULL)) || !HOLDS(!chdir(arg)) ||
	    !HOLDS(!mkdir("1", 0755)) || !HOLDS(!mkdir("2", 0755)) || !HOLDS(!mkdir("all", 0755)))
		return 1;
	elf_image_make(&image, true, SHA1_SIZE, 11);
	fd = write_new("1/image", image.data, sizeof(image.data));
	if (!HOLDS(fd >= 0) || !HOLDS(!close(fd)) ||
	    !HOLDS(!mount("none", "all", "overlay", MS_RDONLY, "lowerdir=1:2")))
		return 1;
	fd = open("all/image", O_RDONLY | O_CLOEXEC);
	map = map_fd(fd);
	return HOLDS(fd >= 0) && HOLDS(map != MAP_FAILED) && HOLDS(!close(fd)) &&
	       HOLDS(has_id_of(map, &image)) ? 0 : 1;
}

TEST(overlayfs)
{
	struct procmap_child child;
	char dir[PATH_MAX / 2];
	int status;

	ASSERT_EQ(0, procmap_tmp_dir(dir, sizeof(dir)));
	ASSERT_EQ(0, procmap_child_start(&child, overlay_has_it, dir));
	status = procmap_child_wait(&child);
	EXPECT_EQ(0, rmdir(dir));
	if (status == NO_MOUNTS)
		SKIP(return, "%s: mount() needs root, or user namespaces (CONFIG_USER_NS)",
		     _metadata->name);
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
