// SPDX-License-Identifier: GPL-2.0
/* A callback of bpf_wq may sleep, and so may that of bpf_find_vma() in it. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <test_progs.h>

#include "find_vma_wq.skel.h"

/* A page of a file, which nobody has in memory if the file system has a disk. */
static char *map_cold_page(char *byte)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat status;
	char *at;

	if (!ASSERT_OK_FD(fd, "open") || !ASSERT_OK(fstat(fd, &status), "fstat"))
		return NULL;
	status.st_size = (status.st_size - 1) / page * page;
	ASSERT_EQ(pread(fd, byte, 1, status.st_size), 1, "pread");
	ASSERT_OK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
	at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, status.st_size);
	close(fd);
	return ASSERT_NEQ(at, MAP_FAILED, "mmap") ? at : NULL;
}

void test_find_vma_wq(void)
{
	struct find_vma_wq *skel = find_vma_wq__open_and_load();
	char byte, *at;

	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	at = map_cold_page(&byte);
	if (!at)
		goto out;
	skel->bss->addr = (unsigned long)at;
	skel->bss->target = getpid();
	if (!ASSERT_OK(find_vma_wq__attach(skel), "attach"))
		goto out;
	while (!READ_ONCE(skel->bss->done))
		sched_yield();
	find_vma_wq__detach(skel);
	ASSERT_EQ(skel->data->found, 0, "found");
	ASSERT_EQ(skel->data->copied, 0, "copied");
	ASSERT_EQ(skel->bss->byte, byte, "byte");
	ASSERT_EQ(skel->data->readers, 0, "readers");
	ASSERT_EQ(skel->data->readers_in_work, 1, "readers in work");
out:
	find_vma_wq__destroy(skel);
}
