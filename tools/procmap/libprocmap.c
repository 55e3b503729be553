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
	return !(flags & ~(PROCMAP_FILTERS | PROCMAP_OR_NEXT | PROCMAP_NAME | PROCMAP_BUILD_ID |
			   PROCMAP_NAME_NOW | PROCMAP_DETAILS));
}

/*
 * Does a kernel that has a backend fail its probe so? Others say ENOTTY, and seccomp
 * and security modules whatever they like: EPERM, EACCES, EINVAL and so on.
 */
static bool procmap_answers(int err)
{
	return err == ENOENT || err == ESRCH || err == ENOMEM || err == EINTR || err == EFAULT ||
	       err == EPROTO;
}

/*
 * Find out by a call whether there is a backend. The kernel's version does not
 * tell. Of one that has failed, the first look-up reports the error.
 */
static bool procmap_has(struct procmap *pm, enum procmap_backend backend)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;

	if (backend == PROCMAP_BACKEND_SCAN)
		return !procmap_scan_probe(pm) || procmap_answers(errno);
	if (backend == PROCMAP_BACKEND_QUERY)
		return !procmap_query_find(pm, 0, PROCMAP_OR_NEXT, &vma) || procmap_answers(errno);
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
	procmap_cache_init(pm);
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

/* The handle, or NULL with errno, owns the descriptor. */
static struct procmap *procmap_own(int fd, enum procmap_backend backend)
{
	struct procmap *pm;
	int err;

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

static int procmap_open_maps(pid_t pid)
{
	char path[sizeof("/proc//maps") + 3 * sizeof(pid)];

	snprintf(path, sizeof(path), "/proc/%jd/maps", (intmax_t)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct procmap *procmap_open(pid_t pid, enum procmap_backend backend)
{
	if (pid <= 0 || !procmap_backend_valid(backend)) {
		errno = EINVAL;
		return NULL;
	}
	return procmap_own(procmap_open_maps(pid), backend);
}

struct procmap *procmap_open_pidfd(int pidfd, enum procmap_backend backend)
{
	pid_t pid;
	int fd, err;

	if (!procmap_backend_valid(backend)) {
		errno = EINVAL;
		return NULL;
	}
	pid = procmap_pidfd_pid(pidfd);
	if (pid < 0)
		return NULL;
	fd = procmap_open_maps(pid);
	err = errno;
	/* If the process exists still, the PID has been its own all the time. */
	if (procmap_pidfd_pid(pidfd) < 0) {
		err = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	errno = err;
	return procmap_own(fd, backend);
}

struct procmap *procmap_open_fd(int fd, enum procmap_backend backend)
{
	if (!procmap_backend_valid(backend)) {
		errno = EINVAL;
		return NULL;
	}
	if (procmap_fd_check(fd))
		return NULL;
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
	free(pm->walk.records);
	free(pm->text.buf);
	free(pm);
	errno = err;
}

void procmap_set_memory(struct procmap *pm, size_t bytes)
{
	procmap_cache_free(pm);
	pm->memory = bytes;
}

enum procmap_backend procmap_get_backend(const struct procmap *pm)
{
	return pm->backend;
}

int procmap_get_fd(const struct procmap *pm)
{
	return pm->fd;
}

/* Find a VMA, whatever the backend. */
static int procmap_find_any(struct procmap *pm, uint64_t addr, unsigned int flags,
			    struct procmap_vma *vma)
{
	bool going_on;

	if (flags & PROCMAP_NAME_NOW)
		flags |= PROCMAP_NAME;
	if (pm->backend == PROCMAP_BACKEND_SCAN)
		return procmap_cache_find(pm, addr, flags, vma);
	if (pm->backend == PROCMAP_BACKEND_QUERY)
		return procmap_query_find(pm, addr, flags, vma);
	going_on = pm->going_on;
	pm->going_on = true;
	return procmap_text_find(pm, addr, flags, going_on, vma);
}

int procmap_find(struct procmap *pm, uint64_t addr, unsigned int flags, struct procmap_vma *vma)
{
	int ret;

	if (!procmap_flags_valid(flags) || vma->size < sizeof(*vma)) {
		errno = EINVAL;
		return -1;
	}
	pm->going_on = false;
	ret = procmap_find_any(pm, addr, flags, vma);
	/* A walk that begins here must not get what an older one has fetched ahead. */
	if (!ret && vma->end >= pm->walk.last)
		pm->walk.last = 0;
	return ret;
}

int procmap_next(struct procmap *pm, unsigned int flags, struct procmap_vma *vma)
{
	const uint64_t addr = vma->end;
	int ret;

	if (!procmap_flags_valid(flags) || vma->size < sizeof(*vma)) {
		errno = EINVAL;
		return -1;
	}
	/* The names of a walk are as new as they can be. */
	if (flags & PROCMAP_NAME_NOW)
		flags = (flags | PROCMAP_NAME) & ~PROCMAP_NAME_NOW;
	flags |= PROCMAP_OR_NEXT;
	pm->going_on = addr != 0;
	if (pm->backend == PROCMAP_BACKEND_SCAN)
		ret = procmap_scan_next(pm, addr, flags, vma);
	else
		ret = procmap_find_any(pm, addr, flags, vma);
	if (ret)
		return errno == ENOENT ? 0 : -1;
	return procmap_vma_own_name(vma) ? -1 : 1;
}

/**
 * struct procmap_filling - a batch that is being filled
 * @batch: the batch. The name of a VMA is not in its place yet: @name_alloc says
 *	where in @names it begins
 * @alloc: for how many VMAs there is space
 * @names: bytes of names
 * @names_alloc: for how many there is space
 * @name_buf: name buffer for the next VMA
 * @name_buf_alloc: its size
 */
struct procmap_filling {
	struct procmap_batch *batch;
	size_t alloc;
	size_t names;
	size_t names_alloc;
	char *name_buf;
	size_t name_buf_alloc;
};

/* Make @array large enough for @want elements, or twice as large as it is. */
static void *procmap_grow(void *array, size_t want, size_t size, size_t *alloc)
{
	const size_t least = *alloc ? *alloc * 2 : 128;

	if (want <= *alloc)
		return array;
	if (want < least)
		want = least;
	array = reallocarray(array, want, size);
	if (array)
		*alloc = want;
	return array;
}

/* The caller's VMAs may be larger than ours. */
static struct procmap_vma *procmap_batch_vma(const struct procmap_batch *batch, size_t i)
{
	return (struct procmap_vma *)((char *)batch->vmas + i * batch->vma_size);
}

/* Begin the next VMA, for which there is space. */
static struct procmap_vma *procmap_batch_begin(const struct procmap_batch *batch)
{
	struct procmap_vma *vma = procmap_batch_vma(batch, batch->nr_vmas);

	if (batch->vma_size > sizeof(*vma))
		memset(vma + 1, 0, batch->vma_size - sizeof(*vma));
	vma->size = batch->vma_size;
	return vma;
}

/* Move the name of a VMA to the others. */
static int procmap_batch_name(struct procmap_filling *fill, struct procmap_vma *vma)
{
	const size_t size = strlen(vma->name) + 1;
	char *names = procmap_grow(fill->batch->names, fill->names + size, 1, &fill->names_alloc);

	if (!names)
		return -1;
	memcpy(names + fill->names, vma->name, size);
	fill->batch->names = names;
	vma->name_alloc = fill->names;
	fill->names += size;
	return 0;
}

/* Add the VMA that was filled. */
static int procmap_batch_add(struct procmap_filling *fill, struct procmap_vma *vma)
{
	vma->name_buf = NULL;
	vma->name_alloc = 0;
	if (vma->name && procmap_batch_name(fill, vma))
		return -1;
	fill->batch->nr_vmas++;
	return 0;
}

static void procmap_batch_clear(struct procmap_batch *batch)
{
	batch->vmas = NULL;
	batch->nr_vmas = 0;
	batch->index = NULL;
	batch->names = NULL;
}

static int procmap_batch_find(struct procmap *pm, uint64_t addr, unsigned int flags,
			      struct procmap_filling *fill)
{
	struct procmap_batch *batch = fill->batch;
	struct procmap_vma *vma;
	void *vmas;
	int ret;

	vmas = procmap_grow(batch->vmas, batch->nr_vmas + 1, batch->vma_size, &fill->alloc);
	if (!vmas)
		return -1;
	batch->vmas = vmas;
	vma = procmap_batch_begin(batch);
	vma->name_buf = fill->name_buf;
	vma->name_alloc = fill->name_buf_alloc;
	ret = procmap_find_any(pm, addr, flags, vma);
	fill->name_buf = vma->name_buf;
	fill->name_buf_alloc = vma->name_alloc;
	return ret ? -1 : procmap_batch_add(fill, vma);
}

/*
 * In a batch that was looked up before, each answer is in the cache, after the last
 * one. Take them, from the address @i on, as long as this is so. Return: the first
 * address that has no answer yet.
 */
static size_t procmap_batch_kept(struct procmap *pm, const uint64_t *addrs, size_t i, size_t nr,
				 unsigned int flags, struct procmap_filling *fill)
{
	struct procmap_cache *cache = procmap_cache_of(pm, flags);
	struct procmap_entry *last = cache->last, *entry;
	struct procmap_batch *batch = fill->batch;
	const size_t before = i;
	struct procmap_vma *vma;

	if (!pm->going_on || !last || !batch->nr_vmas ||
	    procmap_batch_vma(batch, batch->nr_vmas - 1)->end != last->vma.end)
		return i;
	for (; i < nr && batch->nr_vmas < fill->alloc; i++) {
		entry = last->next;
		if (!entry || addrs[i] < entry->vma.start || addrs[i] >= entry->vma.end ||
		    addrs[i] < addrs[i - 1] || !procmap_entry_answers(entry, flags))
			break;
		vma = procmap_batch_begin(batch);
		procmap_entry_copy(entry, flags, vma);
		if (procmap_batch_add(fill, vma))
			break;
		batch->index[i] = batch->nr_vmas - 1;
		last = entry;
	}
	cache->last = last;
	procmap_cache_saved(pm, flags, i - before);
	return i;
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
	last = procmap_batch_vma(batch, batch->nr_vmas - 1);
	return addr < last->end && (addr >= last->start || (flags & PROCMAP_OR_NEXT));
}

static int procmap_batch_fill(struct procmap *pm, const uint64_t *addrs, size_t nr,
			      unsigned int flags, struct procmap_filling *fill)
{
	struct procmap_batch *batch = fill->batch;
	struct procmap_vma *vma;
	size_t i;

	pm->going_on = false;
	for (i = 0; i < nr; i = procmap_batch_kept(pm, addrs, i + 1, nr, flags, fill)) {
		if (i && addrs[i] < addrs[i - 1]) {
			errno = EINVAL;
			return -1;
		}
		batch->index[i] = PROCMAP_UNMAPPED;
		if (!procmap_batch_hit(batch, addrs[i], flags) &&
		    procmap_batch_find(pm, addrs[i], flags, fill)) {
			if (errno != ENOENT)
				return -1;
			continue;
		}
		batch->index[i] = batch->nr_vmas - 1;
	}
	for (i = 0; batch->names && i < batch->nr_vmas; i++) {
		vma = procmap_batch_vma(batch, i);
		if (vma->name)
			vma->name = batch->names + vma->name_alloc;
		vma->name_alloc = 0;
	}
	return 0;
}

int procmap_resolve_many(struct procmap *pm, const uint64_t *addrs, size_t nr, unsigned int flags,
			 struct procmap_batch *batch)
{
	struct procmap_filling fill = { .batch = batch };
	int ret, err;

	if (!procmap_flags_valid(flags) || batch->size < sizeof(*batch) ||
	    batch->vma_size < sizeof(struct procmap_vma)) {
		errno = EINVAL;
		return -1;
	}
	procmap_batch_clear(batch);
	batch->index = reallocarray(NULL, nr ? nr : 1, sizeof(*batch->index));
	if (!batch->index)
		return -1;
	ret = procmap_batch_fill(pm, addrs, nr, flags, &fill);
	err = errno;
	free(fill.name_buf);
	if (ret)
		procmap_batch_free(batch);
	errno = err;
	return ret;
}

int procmap_changed(struct procmap *pm, unsigned int flags, uint64_t *generation)
{
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	int ret;

	if (flags & ~(PROCMAP_EXEC | PROCMAP_FILE)) {
		errno = EINVAL;
		return -1;
	}
	if (pm->backend == PROCMAP_BACKEND_SCAN) {
		ret = procmap_scan_holds(pm, (flags & PROCMAP_CODE) == PROCMAP_CODE, generation);
		return ret < 0 ? -1 : !ret;
	}
	*generation = 0;
	/* Is it still there? */
	ret = procmap_find(pm, 0, PROCMAP_OR_NEXT, &vma);
	procmap_vma_free(&vma);
	return ret && errno != ENOENT ? -1 : 1;
}

void procmap_batch_free(struct procmap_batch *batch)
{
	free(batch->vmas);
	free(batch->index);
	free(batch->names);
	procmap_batch_clear(batch);
}

void procmap_vma_free(struct procmap_vma *vma)
{
	free(vma->name_buf);
	*vma = (struct procmap_vma){ .size = vma->size };
}

void procmap_vma_clear(struct procmap_vma *vma)
{
	*vma = (struct procmap_vma){
		.size = vma->size,
		.name_buf = vma->name_buf,
		.name_alloc = vma->name_alloc,
	};
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

int procmap_vma_own_name(struct procmap_vma *vma)
{
	const char *name = vma->name;
	size_t size;

	if (!name || name == vma->name_buf)
		return 0;
	size = strlen(name) + 1;
	if (procmap_vma_reserve_name(vma, size))
		return -1;
	vma->name = memcpy(vma->name_buf, name, size);
	return 0;
}
