// SPDX-License-Identifier: GPL-2.0
/* Victims of userfaultfd: nobody answers their faults. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/userfaultfd.h>

#include "victim.h"

/* The state of the second page. */
enum { UNTOUCHED, UNTOUCHED_SHMEM, CACHED_SHMEM, TOUCHED };

static const __u64 uffd_modes[] = {
	[UNTOUCHED] = UFFDIO_REGISTER_MODE_MISSING,
	[UNTOUCHED_SHMEM] = UFFDIO_REGISTER_MODE_MISSING,
	[CACHED_SHMEM] = UFFDIO_REGISTER_MODE_MINOR,
	[TOUCHED] = UFFDIO_REGISTER_MODE_WP,
};

/* Return a descriptor or -errno. */
static int register_page(char *addr, __u64 mode)
{
	const size_t size = sysconf(_SC_PAGESIZE);
	struct uffdio_writeprotect protect = {
		.range = { .start = (unsigned long)addr, .len = size },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int fd = procmap_uffd(addr, size, mode);

	if (fd < 0)
		return fd;
	if (mode == UFFDIO_REGISTER_MODE_WP && ioctl(fd, UFFDIO_WRITEPROTECT, &protect))
		return -errno;
	return fd;
}

/* Map a page of shared memory at @addr. If @cached, it is in the page cache, but not mapped. */
static bool map_shmem(char *addr, bool cached)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char data[page];
	int fd = memfd_create("victim", MFD_CLOEXEC);

	memset(data, VICTIM_BYTE, page);
	return fd >= 0 && !ftruncate(fd, page) &&
	       (!cached || pwrite(fd, data, page, 0) == page) &&
	       mmap(addr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == addr;
}

static bool prepare_page(char *addr, int mode)
{
	if (mode == UNTOUCHED_SHMEM || mode == CACHED_SHMEM)
		return map_shmem(addr, mode == CACHED_SHMEM);
	if (mode == TOUCHED)
		memset(addr, VICTIM_BYTE, sysconf(_SC_PAGESIZE));
	return true;
}

/* Close the userfaultfd on request. From then on the kernel handles the faults itself. */
static int faults_unanswered(struct procmap_child *child, void *arg)
{
	const struct victim *victim = arg;
	int mode = victim->kind->mode;
	char *addr = victim_pair();
	int fd;

	if (!HOLDS(addr) || !HOLDS(prepare_page(addr, mode)))
		return 1;
	fd = register_page(addr, uffd_modes[mode]);
	if (!HOLDS(fd >= 0) || !HOLDS(!procmap_send(child, (unsigned long)addr)) ||
	    !HOLDS(!procmap_sync(child)) || !HOLDS(!close(fd)))
		return 1;
	return HOLDS(!procmap_sync(child)) ? 0 : 1;
}

static int start_uffd(struct victim *victim)
{
	return victim_run(victim, faults_unanswered);
}

static int release_uffd(struct victim *victim)
{
	return procmap_send(&victim->child, 0);
}

#define UFFD	.start = start_uffd, .release = release_uffd, .prefix = true

const struct victim_kind victim_uffd_missing = {
	UFFD,
	.mode = UNTOUCHED,
	ALL_WAIT,
};

const struct victim_kind victim_uffd_missing_shmem = {
	UFFD,
	.mode = UNTOUCHED_SHMEM,
	ALL_WAIT,
};

const struct victim_kind victim_uffd_minor = {
	UFFD,
	.mode = CACHED_SHMEM,
	ALL_WAIT,
};

/* Not all architectures have write protection by userfaultfd. */
static const char *no_write_protection(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	int ret = ioctl(fd, UFFDIO_API, &api);

	close(fd);
	return ret || api.features & UFFD_FEATURE_PAGEFAULT_FLAG_WP ? NULL :
	       "kernel without write protection by userfaultfd";
}

const struct victim_kind victim_uffd_wp = {
	.lacks = no_write_protection,
	UFFD,
	.mode = TOUCHED,
	.nowait = { 1, -EFAULT },
	.waits = { false, true },
};
