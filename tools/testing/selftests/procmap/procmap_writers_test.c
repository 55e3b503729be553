// SPDX-License-Identifier: GPL-2.0
/*
 * One case for every writer that moves the bounds of VMAs, or makes or removes
 * VMAs. The test looks at all VMAs before and after each step, and does each
 * step in the other direction, too. A DEBUG_VM kernel then reports a writer
 * without a write-lock. procmap_writers_flags_test.c has the writers that change
 * flags and names, and fork and exec.
 *
 * This table shows which case reaches which write-lock of the patched tree (F: a
 * case of the other file):
 *
 * fs/exec.c	setup_arg_pages		F exec_*; only a reader in between sees
 *					it
 * fs/proc/task_mmu.c clear_refs_write	F clear_refs_soft_dirty
 * fs/userfaultfd.c userfaultfd_set_vm_flags
 *					F userfaultfd_*, mremap_of_userfaultfd
 * kernel/fork.c dup_mmap		F fork_*
 * mm/madvise.c madvise_update_vma	F madvise_*, anon_name_*
 * mm/memory.c vm_insert_page(s)	none: here only called from ->mmap(),
 *					before the VMA is visible
 * mm/mlock.c mlock_fixup		F mlock_*, mlockall_*
 * mm/mmap.c vma_mas_store		mmap_*, all cases that split or merge
 *	vma_expand: vma, next		munmap_head_tail_and_middle
 *	__vma_adjust: vma		mprotect_splits_and_merges, merge_case_*
 *	__vma_adjust: next		merge_case_4, _5 (moved), _6, _7
 *					(removed)
 *	__vma_adjust: next_next		merge_case_6
 *	expand_upwards			none: not on this architecture
 *	expand_downwards		stack_grows_*, main_stack_grows
 *	do_mas_align_munmap: split	munmap_head_tail_and_middle
 *	do_mas_align_munmap: next	mmap_and_munmap_whole, munmap_many
 *	do_mas_align_munmap: cancel	munmap_fails_half_way
 *	do_brk_flags: expand, new	brk_first_grows_and_shrinks
 *	brk_change_begin		brk_that_fails_renames_nothing
 * mm/mprotect.c mprotect_fixup		mprotect_whole
 * mm/mremap.c move_vma			mremap_moves, mremap_moves_parts_*,
 *					F mremap_dontunmap
 */
#include <alloca.h>
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procmap_harness.h"
#include "writers_target.h"

/* Far enough above the area's start for a stack to grow. */
#define HIGH	2048

WRITERS_TEST(mmap_and_munmap_whole)
{
	return writers_seen(t, 0) && HOLDS(writers_map(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(8, 4)) && writers_seen(t, 0);
}

WRITERS_TEST(mmap_between_others)
{
	return HOLDS(writers_map(8, 4, PROT_READ)) && HOLDS(writers_map(16, 4, PROT_NONE)) &&
	       writers_seen(t, 2) && HOLDS(writers_map(12, 4, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_unmap(12, 4)) && writers_seen(t, 2);
}

WRITERS_TEST(mmap_over_others)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_map_over(8, 12, PROT_READ)) && writers_seen(t, 1) &&
	       HOLDS(writers_map_over(12, 4, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_map_over(12, 4, PROT_READ)) && writers_seen(t, 1) &&
	       HOLDS(writers_map_over(6, 4, PROT_NONE)) && writers_seen(t, 2) &&
	       HOLDS(writers_map_over(18, 4, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_map_over(4, 20, PROT_READ)) && writers_seen(t, 1);
}

WRITERS_TEST(mmap_of_a_file)
{
	int fd = memfd_create("writers", MFD_CLOEXEC);

	return HOLDS(fd >= 0) && HOLDS(!ftruncate(fd, writers_bytes(64))) && writers_seen(t, 0) &&
	       HOLDS(writers_map_file(8, 4, WRITERS_RW, fd, 8)) && writers_seen(t, 1) &&
	       HOLDS(writers_map_file(12, 4, WRITERS_RW, fd, 12)) && writers_seen(t, 1) &&
	       HOLDS(writers_map_file(4, 4, WRITERS_RW, fd, 4)) && writers_seen(t, 1) &&
	       HOLDS(writers_map_file(16, 4, WRITERS_RW, fd, 17)) && writers_seen(t, 2) &&
	       HOLDS(writers_map_file(8, 4, WRITERS_RW, fd, 9)) && writers_seen(t, 4) &&
	       HOLDS(writers_map_file(8, 4, WRITERS_RW, fd, 8)) && writers_seen(t, 2) &&
	       HOLDS(writers_protect(10, 8, PROT_READ)) && writers_seen(t, 4) &&
	       HOLDS(writers_protect(10, 8, WRITERS_RW)) && writers_seen(t, 2) &&
	       HOLDS(writers_map_over(8, 8, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_unmap(0, 32)) && writers_seen(t, 0);
}

/* What was there before joins both its neighbours, that below, and that above. */
WRITERS_TEST(munmap_head_tail_and_middle)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(8, 2)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(18, 2)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(12, 4)) && writers_seen(t, 2) &&
	       HOLDS(writers_map(12, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_map(18, 2, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_map(8, 2, WRITERS_RW)) && writers_seen(t, 1);
}

/* Map VMAs of three pages that do not merge. Every other one follows a hole. */
static bool map_many(void)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		if (!writers_map(i * 4 + i % 2, 3, i % 4 < 2 ? PROT_READ : WRITERS_RW))
			return false;
	return true;
}

WRITERS_TEST(munmap_many)
{
	return HOLDS(map_many()) && writers_seen(t, 16) &&
	       HOLDS(writers_unmap(6, 10)) && writers_seen(t, 14) &&
	       HOLDS(writers_unmap(17, 25)) && writers_seen(t, 9) &&
	       HOLDS(writers_map_over(1, 59, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_unmap(0, 64)) && writers_seen(t, 0) &&
	       HOLDS(map_many()) && writers_seen(t, 16);
}

static size_t huge_size(void)
{
	return procmap_value("/proc/meminfo", "Hugepagesize:") * 1024;
}

static bool map_huge(unsigned int page, size_t bytes)
{
	char *at = writers_page(page);

	return mmap(at, bytes, WRITERS_RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
		    MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == at;
}

/* A huge page cannot be split. The VMAs that munmap() gathered before it must stay. */
WRITERS_TEST(munmap_fails_half_way)
{
	size_t size = huge_size();
	unsigned int huge = size / writers_bytes(1);

	return HOLDS(huge) && HOLDS(map_huge(huge, size)) &&
	       HOLDS(writers_map(huge - 12, 8, WRITERS_RW)) &&
	       HOLDS(writers_protect(huge - 8, 4, PROT_READ)) && writers_seen(t, 3) &&
	       HOLDS(!writers_unmap(huge - 12, 13)) && HOLDS(errno == EINVAL) &&
	       writers_seen(t, 3) &&
	       HOLDS(!writers_unmap(huge - 10, 11)) && HOLDS(errno == EINVAL) &&
	       writers_seen(t, 4) &&
	       HOLDS(writers_protect(huge - 12, 8, PROT_READ)) && writers_seen(t, 2) &&
	       HOLDS(writers_unmap(0, 2 * huge)) && writers_seen(t, 0);
}

/*
 * The kernel removes the old mapping before hugetlbfs refuses the new one: its
 * offset is inside a huge page.
 */
WRITERS_TEST(mmap_over_others_fails_half_way)
{
	unsigned int huge = huge_size() / writers_bytes(1);
	int fd = memfd_create("writers", MFD_CLOEXEC | MFD_HUGETLB);

	return HOLDS(huge) && HOLDS(fd >= 0) &&
	       HOLDS(writers_map(huge - 4, huge + 8, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(!writers_map_file(huge, huge, WRITERS_RW, fd, 1)) && HOLDS(errno == EINVAL) &&
	       writers_seen(t, 2) &&
	       HOLDS(writers_map(huge, huge, WRITERS_RW)) && writers_seen(t, 1);
}

/* The kernel splits areas of huge pages, but never merges them. */
WRITERS_TEST(hugetlb_splits)
{
	size_t size = huge_size();
	unsigned int huge = size / writers_bytes(1);

	return HOLDS(huge) && writers_seen(t, 0) && HOLDS(map_huge(0, 4 * size)) &&
	       writers_seen(t, 1) && HOLDS(writers_protect(huge, huge, PROT_READ)) &&
	       writers_seen(t, 3) && HOLDS(writers_protect(huge, huge, WRITERS_RW)) &&
	       writers_seen(t, 3) && HOLDS(writers_unmap(2 * huge, huge)) && writers_seen(t, 3) &&
	       HOLDS(map_huge(2 * huge, size)) && writers_seen(t, 4);
}

/* Make a heap in the area; it is empty if @page is @end. */
static bool heap_in_area(unsigned int page, unsigned int end)
{
	return !procmap_set_mm((unsigned long)writers_page(page), (unsigned long)writers_page(end),
			       (unsigned long)&page);
}

static bool set_brk(unsigned int page)
{
	return procmap_set_brk((unsigned long)writers_page(page));
}

WRITERS_TEST(brk_first_grows_and_shrinks)
{
	return HOLDS(heap_in_area(8, 8)) && writers_seen(t, 0) &&
	       HOLDS(set_brk(9)) && writers_seen(t, 1) &&
	       HOLDS(set_brk(16)) && writers_seen(t, 1) &&
	       HOLDS(set_brk(12)) && writers_seen(t, 1) &&
	       HOLDS(set_brk(20)) && writers_seen(t, 1) &&
	       HOLDS(set_brk(8)) && writers_seen(t, 0) &&
	       HOLDS(set_brk(12)) && writers_seen(t, 1);
}

/* How often is the VMA, which belongs to the heap, not named so? */
static int wrong_names(pid_t pid, const char *addr)
{
	struct procmap_call call;
	int i, fd = maps_open(pid), wrong = fd < 0;

	for (i = 0; i < 10000; i++)
		wrong += procmap_ask(fd, (unsigned long)addr, 0, &call) ||
			 strcmp(call.name, "[heap]");
	return wrong;
}

/*
 * brk() wants to give up half of the first VMA, the second one, and a part of a
 * huge page, which cannot be split. Meanwhile a child looks at the second one.
 */
WRITERS_TEST(brk_that_fails_renames_nothing)
{
	size_t size = huge_size();
	unsigned int huge = size / writers_bytes(1);
	pid_t child, me = getpid();
	int status;

	if (!HOLDS(huge) || !HOLDS(map_huge(huge, size)) ||
	    !HOLDS(writers_map(huge - 12, 12, WRITERS_RW)) ||
	    !HOLDS(writers_protect(huge - 8, 8, PROT_READ)) ||
	    !HOLDS(heap_in_area(huge - 12, huge + 1)) || !writers_seen(t, 3))
		return false;
	child = fork();
	if (!child)
		_exit(wrong_names(me, writers_page(huge - 8)) != 0);
	while (!waitpid(child, &status, WNOHANG))
		if (!HOLDS(!set_brk(huge - 10)))
			return false;
	return HOLDS(!status) && writers_seen(t, 4);
}

WRITERS_TEST(mprotect_whole)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(8, 4, PROT_READ)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(8, 4, PROT_NONE)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(8, 4, PROT_READ | PROT_EXEC)) && writers_seen(t, 1);
}

WRITERS_TEST(mprotect_splits_and_merges)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(8, 4, PROT_READ)) && writers_seen(t, 2) &&
	       HOLDS(writers_protect(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(16, 4, PROT_READ)) && writers_seen(t, 2) &&
	       HOLDS(writers_protect(16, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(12, 4, PROT_READ)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 4, WRITERS_RW)) && writers_seen(t, 1);
}

/* The second half is a hole. The call changes the first half and fails. */
WRITERS_TEST(mprotect_fails_half_way)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(!writers_protect(10, 8, PROT_READ)) && HOLDS(errno == ENOMEM) &&
	       writers_seen(t, 2) && HOLDS(writers_protect(8, 4, WRITERS_RW)) &&
	       writers_seen(t, 1);
}

/*
 * The cases of vma_merge(), with its numbers. mremap() reaches 1 to 3, see
 * below. For the others three areas lie side by side: before, changed, after.
 * All three were writable once, so they are accounted. An area that was never
 * writable would not merge with them.
 */
static bool three(int before, int changed, int after)
{
	return writers_map(8, 12, WRITERS_RW) && writers_protect(8, 4, before) &&
	       writers_protect(12, 4, changed) && writers_protect(16, 4, after);
}

WRITERS_TEST(merge_case_4_tail_joins_next)
{
	return HOLDS(three(PROT_READ, WRITERS_RW, PROT_EXEC)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(14, 2, PROT_EXEC)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(14, 2, WRITERS_RW)) && writers_seen(t, 3);
}

WRITERS_TEST(merge_case_5_head_joins_prev)
{
	return HOLDS(three(PROT_READ, WRITERS_RW, PROT_EXEC)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 2, PROT_READ)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 2, WRITERS_RW)) && writers_seen(t, 3);
}

WRITERS_TEST(merge_case_6_joins_both)
{
	return HOLDS(three(PROT_READ, PROT_EXEC, PROT_READ)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 4, PROT_READ)) && writers_seen(t, 1) &&
	       HOLDS(writers_protect(12, 4, PROT_EXEC)) && writers_seen(t, 3);
}

WRITERS_TEST(merge_case_7_whole_joins_prev)
{
	return HOLDS(three(PROT_READ, WRITERS_RW, PROT_EXEC)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 4, PROT_READ | PROT_EXEC)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(8, 4, PROT_READ | PROT_EXEC)) && writers_seen(t, 2) &&
	       HOLDS(writers_protect(8, 4, PROT_NONE)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 4, PROT_READ)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 4, PROT_NONE)) && writers_seen(t, 2);
}

WRITERS_TEST(merge_case_8_whole_joins_next)
{
	return HOLDS(three(PROT_READ, PROT_NONE, PROT_EXEC)) && writers_seen(t, 3) &&
	       HOLDS(writers_protect(12, 4, PROT_EXEC)) && writers_seen(t, 2) &&
	       HOLDS(writers_protect(12, 4, PROT_NONE)) && writers_seen(t, 3);
}

WRITERS_TEST(mremap_grows_and_shrinks_in_place)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && HOLDS(writers_map(32, 4, PROT_READ)) &&
	       writers_seen(t, 2) &&
	       HOLDS(writers_move(8, 4, 8, 12, 0)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(8, 12, 8, 4, 0)) && writers_seen(t, 2) &&
	       HOLDS(writers_map(16, 4, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(8, 4, 8, 8, 0)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(8, 12, 8, 2, 0)) && writers_seen(t, 2);
}

#define MOVE	(MREMAP_MAYMOVE | MREMAP_FIXED)

WRITERS_TEST(mremap_moves)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && HOLDS(writers_map(32, 4, PROT_READ)) &&
	       writers_seen(t, 2) &&
	       HOLDS(writers_move(8, 4, 16, 4, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(16, 4, 8, 8, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(32, 4, 10, 4, MOVE)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(10, 4, 32, 2, MOVE)) && writers_seen(t, 3);
}

/* Private writable memory is accounted. The rest of a split area must stay so. */
WRITERS_TEST(mremap_moves_parts_of_accounted_memory)
{
	return HOLDS(writers_map(8, 12, WRITERS_RW)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(12, 4, 32, 4, MOVE)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(32, 4, 12, 4, MOVE)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(8, 4, 32, 4, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(32, 4, 8, 4, MOVE)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(16, 4, 32, 4, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(32, 4, 16, 4, MOVE)) && writers_seen(t, 1);
}

/* The cases by the numbers of vma_merge(): 1 both, 2 prev, 3 next. */
WRITERS_TEST(merge_cases_1_to_3_by_mremap)
{
	return HOLDS(writers_map(8, 4, WRITERS_RW)) && HOLDS(writers_map(16, 4, WRITERS_RW)) &&
	       HOLDS(writers_map(32, 4, WRITERS_RW)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(32, 4, 12, 4, MOVE)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(12, 4, 32, 4, MOVE)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(32, 4, 20, 4, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(20, 4, 32, 4, MOVE)) && writers_seen(t, 3) &&
	       HOLDS(writers_move(32, 4, 4, 4, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_move(4, 4, 32, 4, MOVE)) && writers_seen(t, 3);
}

/* With an old size of 0, mremap() maps shared memory a second time. */
WRITERS_TEST(mremap_duplicates)
{
	int fd = memfd_create("writers", MFD_CLOEXEC);

	return HOLDS(fd >= 0) && HOLDS(!ftruncate(fd, writers_bytes(64))) &&
	       HOLDS(writers_map_file(8, 4, WRITERS_RW, fd, 4)) && writers_seen(t, 1) &&
	       HOLDS(writers_move(8, 0, 32, 4, MOVE)) && writers_seen(t, 2) &&
	       HOLDS(writers_unmap(8, 4)) && writers_seen(t, 1);
}

static bool map_stack(unsigned int page, unsigned int pages)
{
	char *at = writers_page(page);

	return mmap(at, writers_bytes(pages), WRITERS_RW, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0) == at;
}

static bool touch(unsigned int page)
{
	__atomic_store_n(writers_page(page), 1, __ATOMIC_RELAXED);
	return true;
}

WRITERS_TEST(stack_grows_and_is_cut)
{
	return HOLDS(map_stack(HIGH, 4)) && writers_seen(t, 1) &&
	       HOLDS(touch(HIGH - 1)) && writers_seen(t, 1) &&
	       HOLDS(touch(HIGH - 20)) && writers_seen(t, 1) &&
	       HOLDS(writers_unmap(HIGH - 20, 19)) && writers_seen(t, 1) &&
	       HOLDS(touch(HIGH - 4)) && writers_seen(t, 1);
}

static bool use_stack(size_t bytes)
{
	char *space = alloca(bytes);

	__atomic_store_n(space, 1, __ATOMIC_RELAXED);
	return true;
}

WRITERS_TEST(main_stack_grows)
{
	return writers_seen(t, 0) && HOLDS(use_stack(200 * 1024)) && writers_seen(t, 0) &&
	       HOLDS(use_stack(1024 * 1024)) && writers_seen(t, 0);
}

static bool attach(int id, unsigned int page, int flags)
{
	return shmat(id, writers_page(page), flags) == writers_page(page);
}

WRITERS_TEST(shm_attaches_and_detaches)
{
	int id = shmget(IPC_PRIVATE, writers_bytes(8), IPC_CREAT | 0600);
	bool good;

	good = HOLDS(id >= 0) && writers_seen(t, 0) && HOLDS(attach(id, 8, 0)) &&
	       writers_seen(t, 1) && HOLDS(attach(id, 12, SHM_REMAP)) && writers_seen(t, 2) &&
	       HOLDS(attach(id, 24, SHM_RDONLY)) && writers_seen(t, 3) &&
	       HOLDS(writers_unmap(14, 2)) && writers_seen(t, 4) &&
	       HOLDS(!shmdt(writers_page(24))) && writers_seen(t, 3) &&
	       HOLDS(!shmdt(writers_page(12))) && writers_seen(t, 1) &&
	       HOLDS(!shmdt(writers_page(8))) && writers_seen(t, 0);
	shmctl(id, IPC_RMID, NULL);
	return good;
}

static bool remap_pages(unsigned int page, unsigned int pages, unsigned int offset)
{
	return !syscall(__NR_remap_file_pages, writers_page(page), writers_bytes(pages), 0,
			offset, 0);
}

WRITERS_TEST(remap_file_pages_splits_and_merges)
{
	int fd = memfd_create("writers", MFD_CLOEXEC);

	return HOLDS(fd >= 0) && HOLDS(!ftruncate(fd, writers_bytes(64))) &&
	       HOLDS(writers_map_file(8, 12, WRITERS_RW, fd, 0)) && writers_seen(t, 1) &&
	       HOLDS(remap_pages(12, 4, 32)) && writers_seen(t, 3) &&
	       HOLDS(remap_pages(12, 4, 4)) && writers_seen(t, 1);
}

/* The kernel itself maps and unmaps the ring of asynchronous IO. */
WRITERS_TEST(aio_ring_appears_and_goes)
{
	unsigned long context = 0;

	return writers_seen(t, 0) && HOLDS(!syscall(__NR_io_setup, 1, &context)) &&
	       writers_seen(t, 0) && HOLDS(!syscall(__NR_io_destroy, context)) &&
	       writers_seen(t, 0);
}

TEST_HARNESS_MAIN
