// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls of the library: a fake kernel answers those that a test chooses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../procmap-abi.h"
#include "fake.h"

#define FAKE_FILTERS (PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE | \
		      PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED | \
		      PROCMAP_QUERY_FILE_BACKED_VMA)

struct fake fake;

int fake_fail(int err)
{
	errno = err;
	return -1;
}

static int fake_check(const struct procmap_query *query)
{
	if (query->size != sizeof(*query))
		return fake_fail(EINVAL);
	if (query->query_flags & ~(FAKE_FILTERS | PROCMAP_QUERY_COVERING_OR_NEXT_VMA))
		return fake_fail(EINVAL);
	if (!query->vma_name_size != !query->vma_name_addr)
		return fake_fail(EINVAL);
	if (!query->build_id_size != !query->build_id_addr)
		return fake_fail(EINVAL);
	return 0;
}

/*
 * The first VMA of the table that ends above @addr and has @filters, or NULL.
 */
static const struct procmap_vma *fake_table_vma(uint64_t addr, unsigned int filters)
{
	size_t low = 0, high = fake.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (fake.table[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	while (low < fake.nr && (fake.table[low].flags & filters) != filters)
		low++;
	return low < fake.nr ? &fake.table[low] : NULL;
}

const struct procmap_vma *fake_find(int fd, uint64_t addr, unsigned int filters,
				    struct procmap_vma *live)
{
	const struct procmap_vma *vma = live;

	errno = ENOENT;
	if (fake.table)
		vma = fake_table_vma(addr, filters);
	else if (fake_text_vma(fd, addr, filters, live))
		vma = NULL;
	return vma;
}

/* Fill the buffers for the name and the build ID, and set their sizes. */
static int fake_answer_buffers(struct procmap_query *query, const struct procmap_vma *vma)
{
	size_t size = vma->name ? strlen(vma->name) + 1 : 0;

	if (query->vma_name_size) {
		if (size > query->vma_name_size || size > PATH_MAX)
			return fake_fail(ENAMETOOLONG);
		if (size)
			memcpy((void *)(uintptr_t)query->vma_name_addr, vma->name, size);
		query->vma_name_size = size;
	}
	if (query->build_id_size) {
		if (vma->build_id_size > query->build_id_size)
			return fake_fail(ENAMETOOLONG);
		memcpy((void *)(uintptr_t)query->build_id_addr, vma->build_id, vma->build_id_size);
		query->build_id_size = vma->build_id_size;
	}
	return 0;
}

static int fake_answer(struct procmap_query *query, const struct procmap_vma *vma)
{
	if (fake_answer_buffers(query, vma))
		return -1;
	query->vma_start = vma->start;
	query->vma_end = vma->end;
	query->vma_flags = vma->flags & 0xf;
	query->vma_page_size = vma->page_size;
	query->vma_offset = vma->offset;
	query->inode = vma->inode;
	query->dev_major = vma->dev_major;
	query->dev_minor = vma->dev_minor;
	if (fake.queries >= fake.lie_from && fake.queries <= fake.lie_to)
		query->vma_offset ^= 0x1000;
	if (fake.garbage && query->build_id_size)
		query->build_id_size = PROCMAP_BUILD_ID_MAX + 1;
	else if (fake.garbage && query->vma_name_size)
		query->vma_name_size = UINT_MAX;
	else if (fake.garbage)
		query->vma_end = query->vma_start;
	return 0;
}

static int fake_query(int fd, struct procmap_query *query)
{
	struct procmap_vma live = { 0 };
	const struct procmap_vma *vma;
	uint64_t addr = query->query_addr;
	unsigned int filters = query->query_flags & FAKE_FILTERS;
	int ret = -1;

	fake.queries++;
	fake.build_ids += !!query->build_id_size;
	fake.cost += query->vma_name_size ? FAKE_COST_QUERY_NAME : FAKE_COST_QUERY;
	if (fake.query_errno && fake.queries >= fake.query_errno_from)
		return fake_fail(fake.query_errno);
	if (fake_check(query))
		return -1;
	vma = fake_find(fd, addr, filters, &live);
	if (vma && vma->start > addr &&
	    !(query->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA))
		errno = ENOENT;
	else if (vma)
		ret = fake_answer(query, vma);
	free(live.name_buf);
	return ret;
}

int __wrap_ioctl(int fd, unsigned long command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (!fake.real && command == PROCMAP_QUERY)
		return fake_query(fd, arg);
	if (!fake.real && command == PROCMAP_SCAN)
		return fake_scan(fd, arg);
	if (fake.version && command == FS_IOC_GETVERSION) {
		((unsigned int *)arg)[0] = fake.version;
		((unsigned int *)arg)[1] = UINT_MAX;
		return 0;
	}
	return __real_ioctl(fd, command, arg);
}

int __wrap_fstatfs64(int fd, struct statfs *fs)
{
	int ret = __real_fstatfs64(fd, fs);

	if (fake.fuse)
		fs->f_type = 0x65735546;
	return ret;
}

/* Tests have texts in files of their own. */
int __wrap_procmap_fd_check(int fd)
{
	if (fake.check_fd)
		return __real_procmap_fd_check(fd);
	return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

ssize_t __wrap_pread64(int fd, void *buf, size_t size, off_t pos)
{
	fake.reads++;
	if (fake.read_errno)
		return fake_fail(fake.read_errno);
	if (fake.read_eof_from && fake.reads >= fake.read_eof_from)
		return 0;
	if (fake.read_max && size > fake.read_max)
		size = fake.read_max;
	return __real_pread64(fd, buf, size, pos);
}

static bool fake_no_memory(void)
{
	if (++fake.allocs != fake.alloc_fail)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fake_no_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fake_no_memory() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fake_no_memory() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t nr, size_t size)
{
	return fake_no_memory() ? NULL : __real_reallocarray(old, nr, size);
}

char *__wrap_strdup(const char *s)
{
	return fake_no_memory() ? NULL : __real_strdup(s);
}
