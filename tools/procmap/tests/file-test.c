// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of what tells a mapped file from another one, and of what handles and
 * structs are made of.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../procmap-abi.h"
#include "fake.h"
#include "lib-test.h"
#include "tap.h"

/**
 * struct mapped - a file that is mapped by this process
 * @path: its path
 * @st: its inode
 * @at: where it is mapped
 */
struct mapped {
	char path[64];
	struct stat st;
	void *at;
};

static int new_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, 4096))
		abort();
	return fd;
}

static void map_file(struct mapped *file)
{
	int fd;

	snprintf(file->path, sizeof(file->path), "/tmp/procmap-file-test-%d", getpid());
	fd = new_file(file->path);
	file->at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file->at == MAP_FAILED || fstat(fd, &file->st))
		abort();
	close(fd);
}

/* Another file comes to its path, as a package manager would do it. */
static void replace(const struct mapped *file)
{
	char path[80];

	snprintf(path, sizeof(path), "%s.new", file->path);
	close(new_file(path));
	if (rename(path, file->path))
		abort();
}

static void unmap_file(const struct mapped *file)
{
	munmap(file->at, 4096);
	unlink(file->path);
}

/* Is this descriptor the file that is mapped? */
static bool is_file(int fd, const struct mapped *file)
{
	struct stat st;
	char byte;
	bool same;

	if (fd < 0 || fstat(fd, &st))
		return false;
	same = st.st_ino == file->st.st_ino && st.st_dev == file->st.st_dev &&
	       read(fd, &byte, 1) == 1 && fcntl(fd, F_GETFD) & FD_CLOEXEC;
	close(fd);
	return same;
}

static void check_open_file(enum procmap_backend backend)
{
	struct procmap *pm = procmap_open(getpid(), backend);
	struct procmap_vma vma = PROCMAP_VMA_INIT, anonymous = PROCMAP_VMA_INIT;
	struct mapped file;
	int fd;

	map_file(&file);
	CHECK(!procmap_find(pm, (uintptr_t)file.at, PROCMAP_NAME, &vma));
	CHECK(!strcmp(vma.name, file.path));
	CHECK(is_file(procmap_open_file(pm, &vma), &file));
	replace(&file);
	/* Without privileges the file cannot be had any more, but never another one. */
	fd = procmap_open_file(pm, &vma);
	CHECK(fd >= 0 ? is_file(fd, &file) : errno == ESTALE);
	vma.inode = 1;
	CHECK(procmap_open_file(pm, &vma) == -1 && errno == ESTALE);
	CHECK(!procmap_find(pm, (uintptr_t)file.at, PROCMAP_NAME_NOW, &vma));
	CHECK(!strncmp(vma.name, file.path, strlen(file.path)) &&
	      !strcmp(vma.name + strlen(file.path), " (deleted)"));
	CHECK(!procmap_find(pm, (uintptr_t)&vma, 0, &anonymous));
	CHECK(procmap_open_file(pm, &anonymous) == -1 && errno == EINVAL);
	unmap_file(&file);
	procmap_vma_free(&vma);
	procmap_vma_free(&anonymous);
	procmap_close(pm);
}

static void test_open_file(void)
{
	size_t i;

	tap_begin("files: the one that is mapped is opened, not a later one of its name");
	fake = (struct fake){ .generation = 1, .code_generation = 1 };
	for (i = 0; i < NR_BACKENDS; i++)
		check_open_file(backends[i]);
	tap_end();
}

/* A thread of the process has no map_files of its own in /proc. */
static void test_open_file_of_thread(void)
{
	struct procmap *pm = procmap_open(getpid(), PROCMAP_BACKEND_TEXT), *of_thread;
	int maps = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC), fd;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct mapped file;

	tap_begin("files: one without a name is opened by a thread's mappings, too");
	fake = (struct fake){ 0 };
	map_file(&file);
	of_thread = procmap_open_fd(maps, PROCMAP_BACKEND_TEXT);
	CHECK(of_thread && !procmap_find(pm, (uintptr_t)file.at, PROCMAP_NAME, &vma));
	replace(&file);
	fd = procmap_open_file(pm, &vma);
	if (CHECK(fd >= 0 || errno == ESTALE) && fd >= 0)
		CHECK(is_file(procmap_open_file(of_thread, &vma), &file));
	vma.start = 0x1000;
	CHECK(procmap_open_file(of_thread, &vma) == -1 && errno == ESTALE);
	if (fd >= 0)
		close(fd);
	unmap_file(&file);
	procmap_vma_free(&vma);
	procmap_close(of_thread);
	procmap_close(pm);
	close(maps);
	tap_end();
}

static void test_inode_generation(void)
{
	struct procmap *pm = procmap_open(getpid(), PROCMAP_BACKEND_TEXT);
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct mapped file;

	tap_begin("files: the inode generation, which may be a long and must be the kernel's");
	fake = (struct fake){ .version = 5 };
	map_file(&file);
	CHECK(!procmap_find(pm, (uintptr_t)file.at, PROCMAP_NAME, &vma));
	vma.known |= PROCMAP_KNOWN_DETAILS;
	vma.inode_generation = 5;
	CHECK(is_file(procmap_open_file(pm, &vma), &file));
	/* Another VMA, so that map_files do not have it. */
	vma.end += 0x1000;
	CHECK(is_file(procmap_open_file(pm, &vma), &file));
	vma.inode_generation = 6;
	CHECK(procmap_open_file(pm, &vma) == -1 && errno == ESTALE);
	fake.fuse = true;
	CHECK(is_file(procmap_open_file(pm, &vma), &file));
	unmap_file(&file);
	procmap_vma_free(&vma);
	procmap_close(pm);
	tap_end();
}

static void test_name_now(void)
{
	static const char new_name[] = "/usr/bin/prog (deleted)";
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	char *old_name;
	int i;

	tap_begin("files: a name that was kept is that of then, PROCMAP_NAME_NOW that of now");
	table_odd(&table);
	old_name = table.vmas[2].name_buf;
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	for (i = 0; i < 3; i++)
		check_find(pm, &table, 0x2000, PROCMAP_NAME, &vma);
	table.vmas[2].name = new_name;
	CHECK(!procmap_find(pm, 0x2000, PROCMAP_NAME, &vma) && !strcmp(vma.name, old_name));
	fake.queries = 0;
	CHECK(!procmap_find(pm, 0x2000, PROCMAP_NAME_NOW, &vma) && !strcmp(vma.name, new_name));
	CHECK(vma.known & PROCMAP_KNOWN_NAME && fake.queries == 1);
	check_find(pm, &table, 0x2000, PROCMAP_BUILD_ID, &vma);
	/* The file is written to: that is no change of the VMA. */
	table.vmas[2].build_id[0]++;
	CHECK(!procmap_find(pm, 0x2000, PROCMAP_BUILD_ID, &vma));
	CHECK(vma.build_id[0] + 1 == table.vmas[2].build_id[0]);
	check_find(pm, &table, 0x2000, PROCMAP_BUILD_ID | PROCMAP_NAME | PROCMAP_NAME_NOW, &vma);
	/* Walks have the names of now, too. */
	CHECK(check_walk(pm, &table, PROCMAP_NAME) == table.nr);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

static void check_details(struct procmap *pm, const struct procmap_vma *vma)
{
	const bool scan = procmap_get_backend(pm) == PROCMAP_BACKEND_SCAN;

	CHECK(!(vma->known & PROCMAP_KNOWN_DETAILS) == !scan);
	CHECK(vma->generation == (scan ? 1 : 0) && vma->inode_generation == (scan ? 77 : 0));
	CHECK(!(vma->record_flags & PROCMAP_RECORD_UNLINKED) == !scan);
}

static void test_details(void)
{
	const uint64_t addr = 0x2000;
	struct procmap_batch batch = PROCMAP_BATCH_INIT;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("files: flags, generation and inode generation, where the kernel tells them");
	table_odd(&table);
	table.vmas[2].inode_generation = 77;
	for (i = 0; i < NR_BACKENDS; i++) {
		pm = open_table(&table, backends[i]);
		fake.unlinked = true;
		CHECK(!procmap_find(pm, addr, 0, &vma) && !vma.record_flags);
		CHECK(!procmap_find(pm, addr, PROCMAP_DETAILS | PROCMAP_NAME, &vma));
		check_details(pm, &vma);
		CHECK(!strcmp(vma.name, table.vmas[2].name));
		CHECK(!procmap_resolve_many(pm, &addr, 1, PROCMAP_DETAILS, &batch));
		check_details(pm, &batch.vmas[0]);
		procmap_batch_free(&batch);
		vma.end = 0;
		while (procmap_next(pm, PROCMAP_DETAILS, &vma) == 1 && vma.start != addr)
			;
		check_details(pm, &vma);
		CHECK(procmap_find(pm, 0x8000, PROCMAP_DETAILS, &vma) == -1 && errno == ENOENT);
		CHECK(!procmap_find(pm, 0x8000, PROCMAP_DETAILS | PROCMAP_OR_NEXT, &vma));
		CHECK(vma.start == 0x10000);
		procmap_close(pm);
	}
	procmap_vma_free(&vma);
	table_free(&table);
	tap_end();
}

static void test_sizes(void)
{
	/* A program of later times, whose structs have one member more. */
	struct {
		struct procmap_vma vma;
		uint64_t more;
	} large = { .vma = { .size = sizeof(large) }, .more = 5 }, *larges;
	struct procmap_batch batch = { .size = sizeof(batch), .vma_size = sizeof(large) };
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x7fff00034000 };
	struct procmap_vma small = { .size = sizeof(small) - 1 };
	struct procmap *pm;
	struct table table;
	size_t i;

	tap_begin("structs: they know their size");
	table_odd(&table);
	for (i = 0; i < NR_BACKENDS; i++) {
		pm = open_table(&table, backends[i]);
		CHECK(procmap_find(pm, 0x1000, 0, &small) == -1 && errno == EINVAL);
		CHECK(procmap_next(pm, 0, &small) == -1 && errno == EINVAL);
		CHECK(!procmap_find(pm, 0x1000, PROCMAP_NAME, &large.vma));
		CHECK(right(pm, &large.vma, &table.vmas[1], PROCMAP_NAME) && large.more == 5);
		CHECK(large.vma.size == sizeof(large));
		CHECK(!procmap_resolve_many(pm, addrs, 3, PROCMAP_NAME, &batch));
		larges = (void *)batch.vmas;
		CHECK(batch.nr_vmas == 3 && !larges[2].more);
		CHECK(right(pm, &larges[1].vma, &table.vmas[2], PROCMAP_NAME));
		CHECK(right(pm, &larges[2].vma, &table.vmas[25], PROCMAP_NAME));
		procmap_batch_free(&batch);
		CHECK(batch.size == sizeof(batch) && batch.vma_size == sizeof(large));
		batch.vma_size = sizeof(small) - 1;
		CHECK(procmap_resolve_many(pm, addrs, 3, 0, &batch) == -1 && errno == EINVAL);
		batch.vma_size = sizeof(large);
		procmap_close(pm);
	}
	procmap_vma_free(&large.vma);
	table_free(&table);
	tap_end();
}

static void test_descriptors(void)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), pipes[2], other[3];
	int path = open("/proc/self/maps", O_PATH | O_CLOEXEC);
	size_t i;

	tap_begin("open: only descriptors of /proc/PID/maps");
	fake = (struct fake){ .check_fd = true, .generation = 1 };
	CHECK(!pipe(pipes));
	other[0] = pipes[0];
	other[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	other[2] = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < ARRAY_SIZE(other); i++) {
		CHECK(!procmap_open_fd(other[i], PROCMAP_BACKEND_AUTO) && errno == EINVAL);
		CHECK(!procmap_open_fd(other[i], PROCMAP_BACKEND_TEXT) && errno == EINVAL);
		CHECK(!procmap_open_pidfd(other[i], PROCMAP_BACKEND_TEXT) && errno == EBADF);
		close(other[i]);
	}
	close(pipes[1]);
	CHECK(!procmap_open_fd(-1, PROCMAP_BACKEND_AUTO) && errno == EBADF);
	CHECK(!procmap_open_fd(path, PROCMAP_BACKEND_TEXT) && errno == EBADF);
	close(path);
	CHECK(!procmap_open_pidfd(-1, PROCMAP_BACKEND_TEXT) && errno == EBADF);
	for (i = 0; i < NR_BACKENDS; i++) {
		struct procmap *pm = procmap_open_fd(maps, backends[i]);

		CHECK(pm);
		procmap_close(pm);
	}
	close(maps);
	tap_end();
}

/* In a root directory without /proc: what is refused ends the process with that number. */
static void use_without_proc(int maps, int status, int pagemap)
{
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0);

	if (chroot("/proc"))
		_exit(errno == EPERM ? 77 : 1);
	if (procmap_open_pidfd(pidfd, PROCMAP_BACKEND_AUTO) || errno != ENOENT)
		_exit(5);
	if (!procmap_open_fd(maps, PROCMAP_BACKEND_AUTO))
		_exit(2);
	fake.query_errno = ENOTTY;
	if (procmap_open_fd(maps, PROCMAP_BACKEND_TEXT) || errno != EINVAL)
		_exit(3);
	/* The real kernel may have queries or not, but none for these files. */
	fake.real = true;
	if (procmap_open_fd(status, PROCMAP_BACKEND_TEXT) || errno != EINVAL)
		_exit(4);
	if (procmap_open_fd(pagemap, PROCMAP_BACKEND_TEXT) || errno != EINVAL)
		_exit(6);
	_exit(0);
}

static void test_without_proc(void)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), status;
	int other = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	tap_begin("open: a descriptor of /proc/PID/maps where there is no /proc");
	fake = (struct fake){ .check_fd = true, .generation = 1 };
	pid = fork();
	if (!pid)
		use_without_proc(maps, other, pagemap);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	close(maps);
	close(other);
	close(pagemap);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		tap_skip("no permission to call chroot()");
		return;
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	tap_end();
}

static void check_pidfd(enum procmap_backend backend)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	pid_t pid = start_child();
	struct procmap *pm;
	uint64_t generation = 0;
	int pidfd;

	pidfd = syscall(SYS_pidfd_open, pid, 0);
	CHECK(pidfd >= 0);
	pm = procmap_open_pidfd(pidfd, backend);
	CHECK(pm && !procmap_find(pm, (uintptr_t)check_pidfd, PROCMAP_EXEC, &vma));
	CHECK(procmap_changed(pm, 0, &generation) == 1);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	/* A process that is gone has no mappings that could have changed. */
	CHECK(procmap_changed(pm, 0, &generation) == -1 && errno == ESRCH);
	CHECK(procmap_open_file(pm, &vma) == -1 && errno == ESRCH);
	CHECK(!procmap_open_pidfd(pidfd, backend) && errno == ESRCH);
	procmap_vma_free(&vma);
	procmap_close(pm);
	close(pidfd);
}

static void test_open_file_few_descriptors(void)
{
	struct procmap *pm = procmap_open(getpid(), PROCMAP_BACKEND_TEXT);
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	int next = dup(0), fd = -1;
	struct rlimit old, few;
	struct mapped file;

	tap_begin("open the file: too few descriptors do not mean that the process is gone");
	map_file(&file);
	CHECK(!procmap_find(pm, (uintptr_t)file.at, PROCMAP_NAME, &vma));
	CHECK(next >= 0 && !close(next) && !getrlimit(RLIMIT_NOFILE, &old));
	few = old;
	/* The directory of the process, the file by O_PATH, and the file. */
	for (few.rlim_cur = next; few.rlim_cur < next + 3U; few.rlim_cur++) {
		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		CHECK(procmap_open_file(pm, &vma) == -1 && errno == EMFILE);
	}
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	fd = procmap_open_file(pm, &vma);
	CHECK(!setrlimit(RLIMIT_NOFILE, &old));
	CHECK(is_file(fd, &file));
	unmap_file(&file);
	procmap_vma_free(&vma);
	procmap_close(pm);
	tap_end();
}

/* The handle takes one descriptor, and another one while it is opened. */
static void test_few_descriptors(void)
{
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0), next = dup(pidfd);
	struct rlimit old, few;
	struct procmap *pm;

	tap_begin("open: too few descriptors do not mean that the process of a pidfd is gone");
	fake = (struct fake){ .generation = 1 };
	CHECK(pidfd >= 0 && next >= 0 && !close(next) && !getrlimit(RLIMIT_NOFILE, &old));
	few = old;
	for (few.rlim_cur = next; few.rlim_cur < next + 2U; few.rlim_cur++) {
		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		CHECK(!procmap_open_pidfd(pidfd, PROCMAP_BACKEND_AUTO) && errno == EMFILE);
	}
	CHECK(!setrlimit(RLIMIT_NOFILE, &few));
	pm = procmap_open_pidfd(pidfd, PROCMAP_BACKEND_AUTO);
	CHECK(pm && procmap_get_fd(pm) == next);
	CHECK(!setrlimit(RLIMIT_NOFILE, &old));
	procmap_close(pm);
	close(pidfd);
	tap_end();
}

static void test_pidfd(void)
{
	size_t i;

	tap_begin("open: by a pidfd; ESRCH when its process is gone, whatever is asked");
	for (i = 0; i < NR_BACKENDS; i++) {
		/* A real kernel knows when a process is gone; so does the fake, by the text. */
		fake = (struct fake){ .generation = 1, .code_generation = 1 };
		check_pidfd(backends[i]);
	}
	tap_end();
}

/* What fails in a thread whose first thread has ended ends the process with that number. */
static void *use_descriptors(void *arg)
{
	const struct mapped *file = arg;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm = procmap_open(getppid(), PROCMAP_BACKEND_TEXT);
	int maps = pm ? procmap_get_fd(pm) : -1, pidfd = syscall(SYS_pidfd_open, getppid(), 0);
	char of_first[64];

	snprintf(of_first, sizeof(of_first), "/proc/self/fd/%d", maps);
	while (!access(of_first, F_OK))
		sched_yield();
	if (!pm || procmap_find(pm, (uintptr_t)file->at, PROCMAP_NAME, &vma))
		_exit(1);
	if (!procmap_open_fd(maps, PROCMAP_BACKEND_TEXT))
		_exit(2);
	if (!procmap_open_pidfd(pidfd, PROCMAP_BACKEND_TEXT))
		_exit(3);
	_exit(is_file(procmap_open_file(pm, &vma), file) ? 0 : 4);
}

static void test_threads(void)
{
	struct mapped file;
	pthread_t thread;
	int status;
	pid_t pid;

	tap_begin("descriptors: those of the thread, also when the first thread has ended");
	fake = (struct fake){ .check_fd = true };
	map_file(&file);
	pid = fork();
	if (!pid) {
		if (pthread_create(&thread, NULL, use_descriptors, &file))
			_exit(5);
		pthread_exit(NULL);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	unmap_file(&file);
	tap_end();
}

static void test_memory(void)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	struct procmap *pm;
	struct table table;
	size_t i, round;

	tap_begin("memory: the cache keeps within its bound, or keeps nothing");
	table_large(&table, 3000);
	pm = open_table(&table, PROCMAP_BACKEND_SCAN);
	procmap_set_memory(pm, 16384);
	fake.allocs = 0;
	for (round = 0; round < 5; round++)
		for (i = 0; i < table.nr; i++)
			check_find(pm, &table, table.vmas[i].start, PROCMAP_NAME, &vma);
	/* Half of it for VMAs that are not code, in chunks of 4,000 bytes; and a name. */
	CHECK(fake.allocs <= 3);
	procmap_set_memory(pm, 0);
	fake.allocs = 0;
	fake.queries = 0;
	for (i = 0; i < table.nr; i++)
		check_find(pm, &table, table.vmas[i % 2].start, PROCMAP_NAME, &vma);
	CHECK(!fake.allocs && fake.queries == table.nr);
	procmap_vma_free(&vma);
	procmap_close(pm);
	table_free(&table);
	tap_end();
}

void file_tests(void)
{
	test_open_file();
	test_open_file_of_thread();
	test_open_file_few_descriptors();
	test_inode_generation();
	test_name_now();
	test_details();
	test_sizes();
	test_descriptors();
	test_without_proc();
	test_pidfd();
	test_threads();
	test_few_descriptors();
	test_memory();
}
