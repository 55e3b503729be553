// SPDX-License-Identifier: MIT
/*
 * libprocmap: handles, walks and batches, whatever the backend.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "libprocmap-internal.h"

static bool procmap_flags_valid(unsigned int flags)
{
	return !(flags & ~(PROCMAP_FILTERS | PROCMAP_OR_NEXT | PROCMAP_NAME | PROCMAP_BUILD_ID));
}

/*
 * Find out by a call whether the kernel has a backend. Its version does not
 * tell. After an error other than ENOTTY it has: the first look-up reports that
 * error.
 */
static bool procmap_has(struct procmap *pm, enum procmap_backend backend)
{
	struct procmap_vma vma = { 0 };

	if (backend == PROCMAP_BACKEND_SCAN)
		return !procmap_scan_probe(pm) || errno != ENOTTY;
	if (backend == PROCMAP_BACKEND_QUERY)
		return !procmap_query_find(pm, 0, PROCMAP_OR_NEXT, &vma) || errno != ENOTTY;
	return true;
}

static int procmap_probe(struct procmap *pm, enum procmap_backend backend)
{
	/* The best first; AUTO is the end. */
	static const enum procmap_backend all[] = {
		PROCMAP_BACKEND_SCAN, PROCMAP_BACKEND_QUERY, PROCMAP_BACKEND_TEXT,
		PROCMAP_BACKEND_AUTO,
	};
	const enum procmap_backend *one;

	if (fcntl(pm->fd, F_GETFD) < 0)
		return -1;
	for (one = all; *one != PROCMAP_BACKEND_AUTO; one++) {
		if (backend != PROCMAP_BACKEND_AUTO && backend != *one)
			continue;
		pm->backend = *one;
		if (procmap_has(pm, *one))
			return 0;
	}
	return -1;
}

static struct procmap *procmap_new(int fd, bool own_fd, enum procmap_backend backend)
{
	struct procmap *pm = calloc(1, sizeof(*pm));

	if (!pm)
		return NULL;
	pm->fd = fd;
	if (procmap_probe(pm, backend)) {
		procmap_close(pm);
		return NULL;
	}
	pm->own_fd = own_fd;
	return pm;
}

static bool procmap_backend_valid(enum procmap_backend backend)
{
	return backend == PROCMAP_BACKEND_AUTO || backend == PROCMAP_BACKEND_QUERY ||
	       backend == PROCMAP_BACKEND_TEXT || backend == PROCMAP_BACKEND_SCAN;
}

struct procmap *procmap_open(pid_t pid, enum procmap_backend backend)
{
	char path[sizeof("/proc//maps") + 3 * sizeof(pid)];
	struct procmap *pm;
	int fd, err;

	if (pid <= 0 || !procmap_backend_valid(backend)) {
		errno = EINVAL;
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/%jd/maps", (intmax_t)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	pm = procmap_new(fd, true, backend);
	if (!pm) {
		err = errno;
		close(fd);
		errno = err;
	}
	return pm;
}

struct procmap *procmap_open_fd(int fd, enum procmap_backend backend)
{
	if (!procmap_backend_valid(backend)) {
		errno = EINVAL;
		return NULL;
	}
	return procmap_new(fd, false, backend);
}

void procmap_close(struct procmap *pm)
{
	int err = errno;

	if (!pm)
		return;
	if (pm->own_fd)
		close(pm->fd);
	procmap_cache_free(pm);
	free(pm->text.buf);
	free(pm);
	errno = err;
}

enum procmap_backend procmap_get_backend(const struct procmap *pm)
{
	return pm->backend;
}

int procmap_get_fd(const struct procmap *pm)
{
	return pm->fd;
}

/* With @fresh, the answer is the current state. */
static int procmap_find_any(struct procmap *pm, uint64_t addr, unsigned int flags, bool fresh,
			    struct procmap_vma *vma)
{
	if (pm->backend == PROCMAP_BACKEND_SCAN)
		return procmap_cache_find(pm, addr, flags, fresh, vma);
	if (pm->backend == PROCMAP_BACKEND_QUERY)
		return procmap_query_find(pm, addr, flags, vma);
	if (fresh)
		procmap_text_rewind(&pm->text);
	return procmap_text_find(pm, addr, flags, vma);
}

int procmap_find(struct procmap *pm, uint64_t addr, unsigned int flags, struct procmap_vma *vma)
{
	if (!procmap_flags_valid(flags)) {
		errno = EINVAL;
		return -1;
	}
	return procmap_find_any(pm, addr, flags, true, vma);
}

int procmap_next(struct procmap *pm, unsigned int flags, struct procmap_vma *vma)
{
	uint64_t addr = vma->end;

	if (!procmap_flags_valid(flags)) {
		errno = EINVAL;
		return -1;
	}
	if (!procmap_find_any(pm, addr, flags | PROCMAP_OR_NEXT, !addr, vma))
		return 1;
	return errno == ENOENT ? 0 : -1;
}

/* Append a copy of a VMA, with a name buffer of just the necessary size. */
static int procmap_batch_add(struct procmap_batch *batch, size_t *alloc,
			     const struct procmap_vma *vma)
{
	struct procmap_vma *vmas, *copy;
	size_t want;

	if (batch->nr_vmas == *alloc) {
		want = *alloc ? *alloc * 2 : 64;
		vmas = reallocarray(batch->vmas, want, sizeof(*vmas));
		if (!vmas)
			return -1;
		batch->vmas = vmas;
		*alloc = want;
	}
	copy = &batch->vmas[batch->nr_vmas];
	*copy = *vma;
	copy->name_buf = NULL;
	copy->name_alloc = 0;
	if (vma->name) {
		copy->name_buf = strdup(vma->name);
		if (!copy->name_buf)
			return -1;
		copy->name_alloc = strlen(vma->name) + 1;
		copy->name = copy->name_buf;
	}
	batch->nr_vmas++;
	return 0;
}

/*
 * Is the VMA that was found last also the answer for @addr? @addr is not below
 * the address before it.
 */
static bool procmap_batch_hit(const struct procmap_batch *batch, uint64_t addr, unsigned int flags)
{
	const struct procmap_vma *last;

	if (!batch->nr_vmas)
		return false;
	last = &batch->vmas[batch->nr_vmas - 1];
	return addr < last->end && (addr >= last->start || (flags & PROCMAP_OR_NEXT));
}

/* @vma is scratch space of the caller. */
static int procmap_batch_fill(struct procmap *pm, const uint64_t *addrs, size_t nr,
			      unsigned int flags, struct procmap_batch *batch,
			      struct procmap_vma *vma)
{
	size_t i, alloc = 0;

	for (i = 0; i < nr; i++) {
		if (i && addrs[i] < addrs[i - 1]) {
			errno = EINVAL;
			return -1;
		}
		batch->index[i] = PROCMAP_UNMAPPED;
		if (!procmap_batch_hit(batch, addrs[i], flags)) {
			if (procmap_find_any(pm, addrs[i], flags, !i, vma)) {
				if (errno != ENOENT)
					return -1;
				continue;
			}
			if (procmap_batch_add(batch, &alloc, vma))
				return -1;
		}
		batch->index[i] = batch->nr_vmas - 1;
	}
	return 0;
}

int procmap_resolve_many(struct procmap *pm, const uint64_t *addrs, size_t nr, unsigned int flags,
			 struct procmap_batch *batch)
{
	struct procmap_vma vma = { 0 };
	int ret, err;

	memset(batch, 0, sizeof(*batch));
	if (!procmap_flags_valid(flags)) {
		errno = EINVAL;
		return -1;
	}
	batch->index = calloc(nr ? nr : 1, sizeof(*batch->index));
	if (!batch->index)
		return -1;
	ret = procmap_batch_fill(pm, addrs, nr, flags, batch, &vma);
	err = errno;
	procmap_vma_free(&vma);
	if (ret)
		procmap_batch_free(batch);
	errno = err;
	return ret;
}

int procmap_changed(struct procmap *pm, unsigned int flags, uint64_t *generation)
{
	if (flags & ~(PROCMAP_EXEC | PROCMAP_FILE)) {
		errno = EINVAL;
		return -1;
	}
	if (pm->backend == PROCMAP_BACKEND_SCAN)
		return procmap_scan_changed(pm, flags, generation);
	*generation = 0;
	return 1;
}

void procmap_batch_free(struct procmap_batch *batch)
{
	size_t i;

	for (i = 0; i < batch->nr_vmas; i++)
		procmap_vma_free(&batch->vmas[i]);
	free(batch->vmas);
	free(batch->index);
	memset(batch, 0, sizeof(*batch));
}

void procmap_vma_free(struct procmap_vma *vma)
{
	free(vma->name_buf);
	memset(vma, 0, sizeof(*vma));
}

void procmap_vma_clear(struct procmap_vma *vma)
{
	char *buf = vma->name_buf;
	size_t alloc = vma->name_alloc;

	memset(vma, 0, sizeof(*vma));
	vma->name_buf = buf;
	vma->name_alloc = alloc;
}

int procmap_vma_reserve_name(struct procmap_vma *vma, size_t size)
{
	char *buf;

	if (size <= vma->name_alloc)
		return 0;
	/* Do not copy the old contents: they belong to the last answer. */
	buf = malloc(size);
	if (!buf)
		return -1;
	free(vma->name_buf);
	vma->name_buf = buf;
	vma->name_alloc = size;
	vma->name = NULL;
	return 0;
}
