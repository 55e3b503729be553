// SPDX-License-Identifier: GPL-2.0
/*
 * One case for every writer that changes flags or the name of VMAs, and for
 * fork and exec. See procmap_writers_test.c, which also shows which case
 * reaches which write-lock.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmap_harness.h"
#include "writers_target.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif

static bool lock(unsigned int page, unsigned int pages)
{
	return !mlock(writers_page(page), writers_bytes(pages));
}

static bool unlock(unsigned int page, unsigned int pages)
{
	return !munlock(writers_page(page), writers_bytes(pages));
}

WRITERS_TEST(mlock_whole_and_part)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(lock(8, 12)) && writers_seen(t, 1) &&
	       HOLDS(unlock(8, 12)) && writers_seen(t, 1) &&
	       HOLDS(lock(12, 4)) && writers_seen(t, 3) &&
	       HOLDS(!mlock2(writers_page(12), writers_bytes(4), MLOCK_ONFAULT)) &&
	       writers_seen(t, 3) &&
	       HOLDS(unlock(12, 4)) && writers_seen(t, 1);
}

WRITERS_TEST(mlockall_and_munlockall)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(!mlockall(MCL_CURRENT | MCL_ONFAULT)) && writers_seen(t, 1) &&
	       HOLDS(!mlockall(MCL_CURRENT | MCL_FUTURE)) && writers_seen(t, 1) &&
	       HOLDS(writers_map(12, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(!munlockall()) && writers_seen(t, 1);
}

/*
 * @set: advice that changes flags. @clear: advice that takes it back. @left:
 * number of VMAs afterwards, if both were given to a part.
 */
static const struct {
	const char *name;
	int set;
	int clear;
	unsigned int left;
} advices[] = {
	{ "DONTDUMP", MADV_DONTDUMP, MADV_DODUMP, 1 },
	{ "DONTFORK", MADV_DONTFORK, MADV_DOFORK, 1 },
	{ "WIPEONFORK", MADV_WIPEONFORK, MADV_KEEPONFORK, 1 },
	{ "SEQUENTIAL", MADV_SEQUENTIAL, MADV_NORMAL, 1 },
	{ "RANDOM", MADV_RANDOM, MADV_NORMAL, 1 },
	{ "HUGEPAGE", MADV_HUGEPAGE, MADV_NOHUGEPAGE, 3 },
	{ "MERGEABLE", MADV_MERGEABLE, MADV_UNMERGEABLE, 1 },
};

static bool advise_both_ways(struct procmap_child *t, int set, int clear, unsigned int left)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_advise(12, 4, set)) && writers_seen(t, 3) &&
	       HOLDS(writers_advise(12, 4, clear)) && writers_seen(t, left) &&
	       HOLDS(writers_advise(8, 12, set)) && writers_seen(t, 1) &&
	       HOLDS(writers_advise(8, 12, clear)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(8, 12)) && writers_seen(t, 0);
}

WRITERS_TEST(madvise_whole_and_part)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(advices); i++) {
		if (!advise_both_ways(t, advices[i].set, advices[i].clear, advices[i].left)) {
			fprintf(stderr, "# that was MADV_%s\n", advices[i].name);
			return false;
		}
	}
	return true;
}

/* The second half is a hole. The call changes the first half and fails. */
WRITERS_TEST(madvise_fails_half_way)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(!writers_advise(10, 8, MADV_DONTDUMP)) && HOLDS(errno == ENOMEM) &&
	       writers_seen(t, 2) && HOLDS(writers_advise(8, 4, MADV_DODUMP)) &&
	       writers_seen(t, 1);
}

static bool set_name(unsigned int page, unsigned int pages, const char *name)
{
	return !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, writers_page(page), writers_bytes(pages),
		      name);
}

static bool anon_name_case(struct procmap_child *t)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(set_name(8, 12, "first")) && writers_seen(t, 1) &&
	       HOLDS(set_name(8, 12, "second")) && writers_seen(t, 1) &&
	       HOLDS(set_name(8, 12, NULL)) && writers_seen(t, 1) &&
	       HOLDS(set_name(12, 4, "part")) && writers_seen(t, 3) &&
	       HOLDS(set_name(8, 4, "part")) && writers_seen(t, 2) &&
	       HOLDS(set_name(8, 8, NULL)) && writers_seen(t, 1);
}

TEST(anon_name_set_changed_and_cleared)
{
	if (!procmap_has_anon_names())
		SKIP(return, "%s: kernel without CONFIG_ANON_VMA_NAME", _metadata->name);
	ASSERT_EQ(0, writers_run(anon_name_case));
}

static bool uffd_register(int fd, unsigned int page, unsigned int pages)
{
	struct uffdio_register arg = {
		.range = {
			.start = (unsigned long)writers_page(page),
			.len = writers_bytes(pages),
		},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return !ioctl(fd, UFFDIO_REGISTER, &arg);
}

static bool uffd_unregister(int fd, unsigned int page, unsigned int pages)
{
	struct uffdio_range range = {
		.start = (unsigned long)writers_page(page),
		.len = writers_bytes(pages),
	};

	return !ioctl(fd, UFFDIO_UNREGISTER, &range);
}

WRITERS_TEST(userfaultfd_registers_unregisters_and_closes)
{
	int fd = procmap_uffd_open();

	return HOLDS(fd >= 0) && HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(uffd_register(fd, 8, 12)) && writers_seen(t, 1) &&
	       HOLDS(uffd_unregister(fd, 8, 12)) && writers_seen(t, 1) &&
	       HOLDS(uffd_register(fd, 12, 4)) && writers_seen(t, 3) &&
	       HOLDS(uffd_unregister(fd, 12, 4)) && writers_seen(t, 1) &&
	       HOLDS(uffd_register(fd, 12, 4)) && writers_seen(t, 3) &&
	       HOLDS(!close(fd)) && writers_seen(t, 1);
}

/* Open a file that has one letter in each page, from 'a'. */
static int open_lettered(unsigned int pages)
{
	int fd = memfd_create("letters", MFD_CLOEXEC);
	unsigned int i;

	for (i = 0; i < pages; i++) {
		const char letter = 'a' + i;

		if (pwrite(fd, &letter, 1, writers_bytes(i)) != 1)
			return -1;
	}
	return ftruncate(fd, writers_bytes(pages)) ? -1 : fd;
}

/*
 * Behind two pages of the file, the second of them is mapped again. The two
 * VMAs would only fit together if the kernel took the end of the first one for
 * its start.
 */
WRITERS_TEST(userfaultfd_of_the_end_of_a_mapping_keeps_its_offset)
{
	int fd = procmap_uffd_open(), file = open_lettered(2);

	return HOLDS(fd >= 0) && HOLDS(file >= 0) &&
	       HOLDS(writers_map_file(8, 2, WRITERS_RW, file, 0)) &&
	       HOLDS(writers_map_file(10, 1, WRITERS_RW, file, 1)) &&
	       HOLDS(uffd_register(fd, 10, 1)) && writers_seen(t, 2) &&
	       HOLDS(uffd_register(fd, 9, 1)) && writers_seen(t, 3) &&
	       HOLDS(*writers_page(9) == 'b') &&
	       HOLDS(uffd_register(fd, 8, 1)) && writers_seen(t, 2) &&
	       HOLDS(uffd_unregister(fd, 10, 1)) && writers_seen(t, 2) &&
	       HOLDS(uffd_unregister(fd, 9, 1)) && writers_seen(t, 3) &&
	       HOLDS(*writers_page(9) == 'b');
}

/* Without UFFD_FEATURE_EVENT_REMAP, mremap() ends the registration of the area that it moves. */
WRITERS_TEST(mremap_of_userfaultfd)
{
	int fd = procmap_uffd_open();

	return HOLDS(fd >= 0) && HOLDS(writers_map(8, 4, WRITERS_RW)) &&
	       HOLDS(uffd_register(fd, 8, 4)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(8, 4, 32, 4, MREMAP_MAYMOVE | MREMAP_FIXED)) &&
	       writers_seen(t, 1) && HOLDS(uffd_register(fd, 32, 4)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(32, 2)) && writers_seen(t, 1) && HOLDS(!close(fd)) &&
	       writers_seen(t, 1);
}

WRITERS_TEST(mremap_dontunmap)
{
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(8, 12, 32, 12, flags)) && writers_seen(t, 2) &&
	       HOLDS(lock(8, 12)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(8, 12, 64, 12, flags)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(68, 4, 96, 4, flags)) && writers_seen(t, 6);
}

static bool clear_soft_dirty(void)
{
	return !procmap_write(AT_FDCWD, "/proc/self/clear_refs", "4");
}

WRITERS_TEST(clear_refs_soft_dirty)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(clear_soft_dirty()) && writers_seen(t, 1) &&
	       HOLDS(writers_map(12, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(clear_soft_dirty()) && writers_seen(t, 1);
}

/* Fork a child of the child that does nothing. */
static pid_t fork_idle(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

static bool fork_and_see(struct procmap_child *t, unsigned int here, unsigned int there)
{
	pid_t pid = fork_idle();
	bool good = HOLDS(pid > 0) && writers_seen(t, here) && writers_seen_pid(t, pid, there);
	int status;

	if (pid <= 0)
		return false;
	return HOLDS(!kill(pid, SIGKILL)) && HOLDS(waitpid(pid, &status, 0) == pid) &&
	       writers_seen(t, here) && good;
}

WRITERS_TEST(fork_parent_and_child)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) &&
	       HOLDS(set_name(12, 4, "part") || writers_advise(12, 4, MADV_DONTDUMP)) &&
	       HOLDS(writers_map(32, 4, PROT_READ)) && writers_seen(t, 4) &&
	       fork_and_see(t, 4, 4) &&
	       HOLDS(writers_advise(12, 4, MADV_DONTFORK)) && writers_seen(t, 4) &&
	       fork_and_see(t, 4, 3);
}

WRITERS_TEST(fork_with_userfaultfd)
{
	int fd = procmap_uffd_open();

	return HOLDS(fd >= 0) && HOLDS(writers_map(8, 12, WRITERS_RW)) &&
	       HOLDS(uffd_register(fd, 12, 4)) && writers_seen(t, 3) && fork_and_see(t, 3, 3) &&
	       HOLDS(!close(fd)) && writers_seen(t, 1);
}

WRITERS_TEST(exec_every_vma_of_the_new_image)
{
	struct procmap_child program;

	return writers_seen(t, 0) && HOLDS(!procmap_child_exec(&program, "procmap_target")) &&
	       HOLDS(!procmap_sync(&program)) && writers_seen_pid(t, program.pid, 0) &&
	       HOLDS(!procmap_child_finish(&program)) && writers_seen(t, 0);
}

/* The vdso moves only as a whole. Nothing tells its size, so try all sizes. */
static bool move_vdso(char *from, char *to)
{
	unsigned int pages;

	for (pages = 1; pages <= 8; pages++)
		if (mremap(from, writers_bytes(pages), writers_bytes(pages),
			   MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
			return true;
	return false;
}

WRITERS_TEST(vdso_moves)
{
	char *from = (char *)getauxval(AT_SYSINFO_EHDR);

	/* 32-bit programs call the kernel through the vdso. */
	if (sizeof(long) == 4)
		return true;
	return HOLDS(from) && writers_seen(t, 0) && HOLDS(move_vdso(from, writers_page(8))) &&
	       writers_seen(t, 1) && HOLDS(move_vdso(writers_page(8), from)) &&
	       writers_seen(t, 0);
}

TEST_HARNESS_MAIN
