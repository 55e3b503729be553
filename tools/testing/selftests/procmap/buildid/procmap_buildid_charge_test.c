// SPDX-License-Identifier: GPL-2.0
/*
 * Which cgroup is charged for the pages of a file when somebody asks for its
 * build ID. The asker must not be charged, and no process may be killed for it.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <linux/elf.h>

#include "cgroup.h"
#include "elf_image.h"
#include "fuse_server.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define OWN_DATA	ELFDATA2MSB
#else
#define OWN_DATA	ELFDATA2LSB
#endif

#define PAGE		4096
#define SHA1_SIZE	20
#define NR_FILES	FUSE_SERVER_FILES
#define NR_SPARSE	6
/* Size of a sparse file. Only one page of it has been written. */
#define SPARSE_PAGES	16384
/*
 * The memory limit of an asker. The holes of two such files, if they were
 * filled, would need more.
 */
#define ASKER_MAX	"16777216"
/* The numbers of a cgroup are updated at intervals of seconds. */
#define FIGURES_MS	8000

/*
 * A process with mappings. It reports when they exist, and how many of their
 * pages are in memory.
 */
struct target {
	struct procmap_child child;
	struct fuse_server *server;
	const char *dir;
	char *at;
	size_t size;
	int maps;
};

static int start_target(struct target *target, int (*fn)(struct procmap_child *child, void *arg))
{
	int ret;

	target->at = mmap(NULL, target->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (target->at == MAP_FAILED)
		return -errno;
	ret = procmap_child_start(&target->child, fn, target);
	if (!ret)
		ret = procmap_sync(&target->child);
	if (ret)
		return ret;
	target->maps = maps_open(target->child.pid);
	return target->maps < 0 ? target->maps : 0;
}

static int resident_pages(const struct target *target)
{
	static unsigned char page[NR_SPARSE * SPARSE_PAGES];
	size_t i;
	int nr = 0;

	if (mincore(target->at, target->size, page))
		return -errno;
	for (i = 0; i < target->size / PAGE; i++)
		nr += page[i] & 1;
	return nr;
}

/* Report the number of pages at each request, until the parent ends. */
static int serve_target(struct procmap_child *child, const struct target *target)
{
	int ret = procmap_send(child, 0);

	while (!ret && !procmap_sync(child))
		ret = procmap_send(child, resident_pages(target));
	return ret;
}

static long ask_resident(struct target *target)
{
	__u64 nr = -1;

	return procmap_send(&target->child, 0) || procmap_recv(&target->child, &nr) ? -1 : nr;
}

/*
 * Write an ELF header with as many program headers as possible, all of them in
 * holes.
 */
static bool write_sparse(int fd)
{
	struct {
		struct elf64_hdr ehdr;
		struct elf64_shdr shdr;
	} head = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     OWN_DATA, 1 },
			.e_phoff = PAGE,
			.e_phentsize = sizeof(struct elf64_phdr),
			.e_phnum = PN_XNUM,
			.e_shoff = sizeof(struct elf64_hdr),
			.e_shentsize = sizeof(struct elf64_shdr),
			.e_shnum = 1,
		},
		.shdr.sh_info = 1 << 30,
	};

	return fd >= 0 && write(fd, &head, sizeof(head)) == sizeof(head) &&
	       !ftruncate(fd, SPARSE_PAGES * PAGE);
}

static bool map_sparse(const struct target *target, unsigned int nr)
{
	size_t size = SPARSE_PAGES * PAGE;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "sparse%u", nr);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return HOLDS(write_sparse(fd)) &&
	       HOLDS(mmap(target->at + nr * size, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
			  0) != MAP_FAILED) && HOLDS(!close(fd));
}

/* Mounts a ramfs in namespaces of its own, as any user can. */
static int maps_sparse_files(struct procmap_child *child, void *arg)
{
	const struct target *target = arg;
	unsigned int i;

	if (!HOLDS(!procmap_drop_root()) || !HOLDS(!prctl(PR_SET_DUMPABLE, 1)) ||
	    !HOLDS(!procmap_become_root()) ||
	    !HOLDS(!mount("none", target->dir, "ramfs", 0, NULL)) || !HOLDS(!chdir(target->dir)))
		return 1;
	for (i = 0; i < NR_SPARSE; i++)
		if (!map_sparse(target, i))
			return 1;
	return serve_target(child, target);
}

static int id_size(int maps, const char *at)
{
	struct procmap_call call;
	int ret = procmap_ask(maps, (unsigned long)at, 0, &call);

	return ret ? ret : call.q.build_id_size;
}

FIXTURE(sparse) {
	struct target target;
	char dir[256];
};

FIXTURE_SETUP(sparse)
{
	if (geteuid())
		return;
	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	ASSERT_EQ(0, chmod(self->dir, 0777));
	self->target = (struct target){ .dir = self->dir,
					.size = (size_t)NR_SPARSE * SPARSE_PAGES * PAGE };
	ASSERT_EQ(0, start_target(&self->target, maps_sparse_files));
}

FIXTURE_TEARDOWN(sparse)
{
	if (geteuid())
		return;
	procmap_child_kill(&self->target.child);
	rmdir(self->dir);
}

TEST_F(sparse, files_in_ramfs_are_not_filled)
{
	unsigned int i;

	if (geteuid())
		SKIP(return, "%s: becoming another user needs root", _metadata->name);
	EXPECT_EQ(NR_SPARSE, ask_resident(&self->target));
	for (i = 0; i < NR_SPARSE; i++)
		EXPECT_EQ(0, id_size(self->target.maps,
				     self->target.at + (size_t)i * SPARSE_PAGES * PAGE));
	EXPECT_EQ(NR_SPARSE, ask_resident(&self->target));
	TH_LOG("%ld pages after %d queries", ask_resident(&self->target), NR_SPARSE);
}

/*
 * Waits until it is told to go on. Then it asks about each of @nr pieces of
 * @step bytes.
 */
struct profiler {
	const struct target *target;
	unsigned int nr;
	size_t step;
};

static int asks_for_all(struct procmap_child *child, void *arg)
{
	const struct profiler *p = arg;
	unsigned int i, nr = 0;

	if (procmap_sync(child))
		return 1;
	for (i = 0; i < p->nr; i++)
		nr += id_size(p->target->maps, p->target->at + i * p->step) == SHA1_SIZE;
	return procmap_send(child, nr) || procmap_sync(child);
}

TEST_F(sparse, files_in_ramfs_kill_no_profiler)
{
	const char *lacking = cgroup_lacking("memory");
	struct profiler profiler = { &self->target, NR_SPARSE, (size_t)SPARSE_PAGES * PAGE };
	struct procmap_child child;
	struct cgroup cgroup;
	long before;

	if (lacking)
		SKIP(return, "%s: %s", _metadata->name, lacking);
	ASSERT_EQ(0, cgroup_make(&cgroup, "memory"));
	ASSERT_EQ(0, cgroup_write(&cgroup, "memory.max", ASKER_MAX));
	ASSERT_EQ(0, procmap_child_start(&child, asks_for_all, &profiler));
	ASSERT_EQ(0, cgroup_enter(&cgroup, child.pid));
	before = cgroup_count(&cgroup, "memory.current", NULL);
	EXPECT_EQ(0, procmap_send(&child, 0));
	EXPECT_EQ(0, procmap_sync(&child))
		TH_LOG("the profiler is gone");
	EXPECT_GT(before + (1 << 20), cgroup_count(&cgroup, "memory.current", NULL));
	EXPECT_EQ(0, cgroup_count(&cgroup, "memory.events", "oom_kill"));
	TH_LOG("charged to the profiler: %ld bytes before, %ld after; %ld killed", before,
	       cgroup_count(&cgroup, "memory.current", NULL),
	       cgroup_count(&cgroup, "memory.events", "oom_kill"));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&child));
	EXPECT_EQ(0, cgroup_remove(&cgroup));
}

/* Files of a server, one page each, that are not in the page cache. */
FIXTURE(cold) {
	struct fuse_server server;
	struct elf_image image;
	struct target target;
	struct cgroup cgroup;
	const char *lacking;
};

static int maps_cold_files(struct procmap_child *child, void *arg)
{
	const struct target *target = arg;
	int i, fd;

	for (i = 0; i < NR_FILES; i++) {
		fd = fuse_server_open(target->server, i, O_RDONLY);
		if (!HOLDS(fd >= 0) ||
		    !HOLDS(mmap(target->at + i * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
				fd, 0) != MAP_FAILED) || !HOLDS(!close(fd)))
			return 1;
	}
	return serve_target(child, target);
}

FIXTURE_SETUP(cold)
{
	struct fuse_server_file files[NR_FILES];
	int i;

	self->lacking = cgroup_lacking("memory");
	if (self->lacking)
		return;
	self->lacking = fuse_server_lacking();
	if (self->lacking)
		return;
	elf_image_make(&self->image, true, SHA1_SIZE, 50);
	for (i = 0; i < NR_FILES; i++)
		files[i] = (struct fuse_server_file){ .data = self->image.data,
						      .size = ELF_IMAGE_SIZE };
	ASSERT_EQ(0, fuse_server_start(&self->server, files, NR_FILES));
	self->target = (struct target){ .server = &self->server, .size = NR_FILES * PAGE };
	ASSERT_EQ(0, start_target(&self->target, maps_cold_files));
	ASSERT_EQ(0, cgroup_make(&self->cgroup, "memory"));
}

FIXTURE_TEARDOWN(cold)
{
	if (self->lacking)
		return;
	procmap_child_kill(&self->target.child);
	fuse_server_stop(&self->server);
	EXPECT_EQ(0, cgroup_remove(&self->cgroup));
}

/*
 * Returns the bytes of files that the cgroup is charged for. Waits some time
 * until they are @wanted.
 */
static long charged_files(const struct cgroup *cgroup, long wanted)
{
	long bytes = cgroup_count(cgroup, "memory.stat", "file");
	int ms;

	for (ms = 0; ms < FIGURES_MS && bytes != wanted; ms += 100) {
		usleep(100000);
		bytes = cgroup_count(cgroup, "memory.stat", "file");
	}
	return bytes;
}

TEST_F(cold, files_are_charged_to_who_maps_them)
{
	long bytes;
	int i;

	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->target.child.pid));
	EXPECT_EQ(0, ask_resident(&self->target));
	for (i = 0; i < NR_FILES; i++)
		EXPECT_EQ(SHA1_SIZE, id_size(self->target.maps, self->target.at + i * PAGE));
	EXPECT_EQ(NR_FILES, ask_resident(&self->target));
	bytes = charged_files(&self->cgroup, NR_FILES * PAGE);
	EXPECT_EQ(NR_FILES * PAGE, bytes);
	TH_LOG("%ld bytes of files charged to the target", bytes);
}

TEST_F(cold, files_are_not_charged_to_who_asks)
{
	struct profiler profiler = { &self->target, NR_FILES, PAGE };
	struct procmap_child child;
	__u64 nr = 0;

	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, procmap_child_start(&child, asks_for_all, &profiler));
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, child.pid));
	EXPECT_EQ(0, procmap_send(&child, 0));
	EXPECT_EQ(0, procmap_recv(&child, &nr));
	EXPECT_EQ(NR_FILES, nr);
	usleep(FIGURES_MS / 2 * 1000);
	EXPECT_EQ(0, charged_files(&self->cgroup, 0));
	TH_LOG("%ld bytes of files charged to the asker",
	       cgroup_count(&self->cgroup, "memory.stat", "file"));
	EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&child));
}

/*
 * The target may use no more memory. Then queries for its build IDs may fail
 * with ENOMEM, but the target must live on.
 */
TEST_F(cold, files_of_a_target_at_its_limit_do_not_kill_it)
{
	int i, ret, found = 0, no_memory = 0;
	char limit[32];

	if (self->lacking)
		SKIP(return, "%s: %s", _metadata->name, self->lacking);
	ASSERT_EQ(0, cgroup_enter(&self->cgroup, self->target.child.pid));
	EXPECT_EQ(0, ask_resident(&self->target));
	snprintf(limit, sizeof(limit), "%ld",
		 cgroup_count(&self->cgroup, "memory.current", NULL));
	ASSERT_EQ(0, cgroup_write(&self->cgroup, "memory.max", limit));
	for (i = 0; i < NR_FILES; i++) {
		ret = id_size(self->target.maps, self->target.at + i * PAGE);
		found += ret == SHA1_SIZE;
		no_memory += ret == -ENOMEM;
	}
	TH_LOG("limit %s: %d found, %d without memory", limit, found, no_memory);
	EXPECT_EQ(NR_FILES, found + no_memory);
	EXPECT_EQ(0, cgroup_count(&self->cgroup, "memory.events", "oom_kill"));
	ASSERT_EQ(0, cgroup_write(&self->cgroup, "memory.max", "max"));
	EXPECT_LE(0, ask_resident(&self->target));
}

TEST_HARNESS_MAIN
