/* SPDX-License-Identifier: MIT */
/*
 * libprocmap - look up the memory mappings of a process
 *
 * Uses the PROCMAP_SCAN and PROCMAP_QUERY ioctls of /proc/PID/maps, with a cache
 * whose addresses are never stale. On a kernel without scans there is no cache,
 * and without queries the answers come from the text of the same file. The
 * library is small enough to be copied into a program: besides the files under
 * this licence it needs only libc.
 *
 * A name is not part of the address space: a file can be renamed, deleted or
 * replaced while it stays mapped. So a name is that of the time at which the
 * kernel was asked for it. So is a build ID: a file can be written to while it is
 * mapped. PROCMAP_NAME_NOW asks again for both. Do not open a file by its name:
 * procmap_open_file() opens the one that is mapped. Names are paths below the root
 * directory of the program that asks, as far as they lie there.
 *
 * There is no global state. Different threads may use different handles at the
 * same time, but only one thread at a time may use the same handle. Descriptors
 * are those of the calling thread, even if its process has others; this needs
 * Linux 3.17.
 *
 * Functions that return int return -1 and set errno when they fail. These
 * errors are common to all functions that read the mappings:
 *
 *	ESRCH	the address space is gone: the process has exited or called
 *		execve() since the handle was opened; or there never was one,
 *		since it is a kernel thread. The text also says so of a process
 *		without any VMA, where it does not show [vsyscall]; and the text
 *		and procmap_open_file() say so of a thread that has exited
 *	ENOMEM	no memory, here or in the kernel
 *	EPROTO	the answer of the kernel makes no sense
 *	others	errors of ioctl(2) and pread(2)
 */
#ifndef LIBPROCMAP_H
#define LIBPROCMAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROCMAP_VERSION "1.2"

/* The longest build ID that a VMA can have, in bytes. */
#define PROCMAP_BUILD_ID_MAX 20

/**
 * enum procmap_backend - where the answers come from
 * @PROCMAP_BACKEND_AUTO: scans if the kernel has them, else queries, else the
 *	text; likewise if seccomp or a security module refuses the ioctls
 * @PROCMAP_BACKEND_QUERY: the PROCMAP_QUERY ioctl
 * @PROCMAP_BACKEND_TEXT: the text of /proc/PID/maps
 * @PROCMAP_BACKEND_SCAN: the PROCMAP_SCAN ioctl. The handle keeps answers, and
 *	asks the kernel at each look-up whether they still hold. What it does not
 *	have it gets by queries.
 */
enum procmap_backend {
	PROCMAP_BACKEND_AUTO,
	PROCMAP_BACKEND_QUERY,
	PROCMAP_BACKEND_TEXT,
	PROCMAP_BACKEND_SCAN,
};

/*
 * Flags of a look-up. The first four and PROCMAP_FILE ask for VMAs that have at
 * least these properties. procmap_vma.flags consists of the same bits. All have
 * the kernel's values.
 */
#define PROCMAP_READ		0x001
#define PROCMAP_WRITE		0x002
#define PROCMAP_EXEC		0x004
#define PROCMAP_SHARED		0x008
/*
 * Find the VMA that matches and covers the address, else the next that matches.
 */
#define PROCMAP_OR_NEXT		0x010
/*
 * Backed by a file. That includes shared memory: it has a file inside the
 * kernel.
 */
#define PROCMAP_FILE		0x020
/* Fetch the name. This costs as much as all the rest. */
#define PROCMAP_NAME		0x100
/* Fetch the build ID. The kernel may have to read the file for this. */
#define PROCMAP_BUILD_ID	0x200

/*
 * Fetch the name of now, and with PROCMAP_BUILD_ID the build ID of now, not what the
 * handle has kept. This costs a query.
 */
#define PROCMAP_NAME_NOW	0x400
/*
 * Fetch @record_flags, @generation and @inode_generation. Only scans tell them,
 * and the handle does not keep them. So procmap_find() scans, and whatever else
 * it fetches is that of now.
 */
#define PROCMAP_DETAILS		0x800

/* Bits of procmap_vma.known: see there. */
#define PROCMAP_KNOWN_NAME	0x1
#define PROCMAP_KNOWN_PAGE_SIZE	0x2
#define PROCMAP_KNOWN_BUILD_ID	0x4
#define PROCMAP_KNOWN_DETAILS	0x8

/**
 * struct procmap_vma - one mapping of a process
 * @size: size of this struct as the caller knows it
 * @start: first address
 * @end: first address after it
 * @offset: offset of @start in the file, 0 without a file
 * @inode: inode number, 0 without a file
 * @page_size: size of the pages in bytes, 0 if not known
 * @generation: that of the address space which began with the last change of this
 *	VMA; 0: not known. A caller that has read all VMAs since procmap_changed()
 *	left a number that is not below it has seen this VMA as it is.
 * @record_flags: bits of the kernel, PROCMAP_RECORD_* of procmap-abi.h;
 *	PROCMAP_RECORD_UNLINKED: the file has no name any more
 * @dev_major: device of the file system as stat(2) would split it, 0 without a
 *	file
 * @dev_minor: likewise
 * @inode_generation: tells a file from a later one with the same inode number
 * @flags: PROCMAP_READ, _WRITE, _EXEC, _SHARED and _FILE, as they apply
 * @known: PROCMAP_KNOWN_* bits
 * @build_id_size: bytes in @build_id, 0 if there is none or it is not known
 * @build_id: the build ID of the file
 * @name: path (followed by " (deleted)" if the file is deleted), "[heap]",
 *	"[anon:...]" and the like; NULL if the VMA has none or the caller did
 *	not ask for it. Valid until the struct is used again or freed.
 * @name_buf: private
 * @name_alloc: private
 *
 * Begin with PROCMAP_VMA_INIT. Use the struct as often as you like, and free what
 * it holds with procmap_vma_free(). A copy of the struct has the same name
 * buffer: go on with only one of the two. Later versions may add members at the
 * end: @size tells the library which of them there are.
 *
 * @known has PROCMAP_KNOWN_NAME, PROCMAP_KNOWN_BUILD_ID and PROCMAP_KNOWN_DETAILS
 * if the caller asked for these and the backend could tell. Then a missing name
 * or build ID means that the VMA has none. A query does not tell a file without a
 * build ID from one that could not be read: only a scan knows that a file has none.
 * A handle with scans makes a scan for that, always with PROCMAP_DETAILS, otherwise while
 * its bound of the cost allows, and keeps what that says. If it could not read the file
 * either, each look-up of the build ID costs a query.
 * A path of PATH_MAX bytes or more is not known: no program can open a file by it.
 * The text tells neither page size nor build ID. It shows a newline in a path as
 * "\012", and also a path that really contains these four characters. In both
 * cases @name has the newline, and PROCMAP_KNOWN_NAME is not set.
 */
struct procmap_vma {
	uint64_t size;
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint64_t page_size;
	uint64_t generation;
	uint64_t record_flags;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t inode_generation;
	uint32_t flags;
	uint32_t known;
	uint32_t build_id_size;
	uint8_t build_id[PROCMAP_BUILD_ID_MAX];
	const char *name;
	char *name_buf;
	size_t name_alloc;
};

/* All members, since C++11 has no designated initializers. */
#define PROCMAP_VMA_INIT	\
	{ sizeof(struct procmap_vma), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, NULL, NULL, 0 }

/* Value in procmap_batch.index: there is no VMA for this address. */
#define PROCMAP_UNMAPPED ((size_t)-1)

/**
 * struct procmap_batch - the answers of procmap_resolve_many()
 * @size: size of this struct as the caller knows it
 * @vma_size: size of a struct procmap_vma as the caller knows it
 * @vmas: the VMAs that were hit, ascending, each once
 * @nr_vmas: number of them
 * @index: for each address the index of its VMA in @vmas, or PROCMAP_UNMAPPED
 * @names: private; the names of all VMAs
 *
 * Begin with PROCMAP_BATCH_INIT.
 */
struct procmap_batch {
	size_t size;
	size_t vma_size;
	struct procmap_vma *vmas;
	size_t nr_vmas;
	size_t *index;
	char *names;
};

#define PROCMAP_BATCH_INIT	\
	{ sizeof(struct procmap_batch), sizeof(struct procmap_vma), NULL, 0, NULL, NULL }

/* A handle on the mappings of one process. */
struct procmap;

/**
 * procmap_open() - open the mappings of a process
 * @pid: process or thread ID
 * @backend: where the answers should come from
 *
 * The handle stays with the current address space of the process. After an
 * execve() or the end of the process, look-ups fail with ESRCH. Give the process ID
 * where there is a choice: a thread may end before its process.
 *
 * Return: a handle, to be closed with procmap_close(), or NULL with errno
 * ENOENT or ESRCH (no such process), EACCES (no permission to trace it), ENOTTY
 * (the kernel does not have the @backend that was asked for), EINVAL
 * (@pid or @backend is invalid), ENOMEM, another error of open(2), or the one with
 * which the @backend that was asked for is refused.
 */
struct procmap *procmap_open(pid_t pid, enum procmap_backend backend);

/**
 * procmap_open_fd() - use a descriptor of /proc/PID/maps that is open already
 * @fd: the descriptor, perhaps received from another process
 * @backend: where the answers should come from
 *
 * The caller keeps the descriptor. It must stay open as long as the handle, and
 * procmap_close() does not close it. The library neither uses nor changes its
 * file position.
 *
 * While a handle reads the text, nothing else may read the same open file: no other
 * handle and no process that has the descriptor, too. After fork() that holds for
 * all handles. If somebody else has read in between, the kernel finds the position by
 * counting bytes from the start. When mappings have changed, that may be inside of a line:
 * EPROTO, or VMAs that never were.
 * Scans and queries do not read the text.
 *
 * Return: a handle, to be closed with procmap_close(), or NULL with errno EINVAL
 * (@fd is another kind of file; or the caller has no /proc, and the kernel no
 * queries, to tell), EBADF (it is not open, or with O_PATH only), ENOTTY, EINVAL or ENOMEM as for
 * procmap_open().
 */
struct procmap *procmap_open_fd(int fd, enum procmap_backend backend);

/**
 * procmap_open_pidfd() - open the mappings of the process of a pidfd
 * @pidfd: the pidfd; it is not needed any more afterwards
 * @backend: where the answers should come from
 *
 * Unlike a PID, a pidfd never comes to mean another process. Needs the process
 * in the /proc of the caller.
 *
 * Return: as procmap_open(); errno is EBADF if @pidfd is no pidfd, ESRCH if its
 * process is gone, and ENOENT if the caller has no /proc.
 */
struct procmap *procmap_open_pidfd(int pidfd, enum procmap_backend backend);

/**
 * procmap_close() - close a handle and free what belongs to it
 * @pm: the handle, or NULL
 *
 * VMAs and batches that it filled stay valid. Does not change errno.
 */
void procmap_close(struct procmap *pm);

/**
 * procmap_set_memory() - bound the memory of a handle's cache
 * @pm: the handle
 * @bytes: for answers that the handle keeps, 2 MiB at first; 0: keep none
 *
 * What is kept now is forgotten and freed. A handle without a cache costs what
 * queries cost.
 */
void procmap_set_memory(struct procmap *pm, size_t bytes);

/**
 * procmap_get_backend() - say where the answers of a handle come from
 * @pm: the handle
 *
 * Return: PROCMAP_BACKEND_SCAN, PROCMAP_BACKEND_QUERY or PROCMAP_BACKEND_TEXT.
 */
enum procmap_backend procmap_get_backend(const struct procmap *pm);

/**
 * procmap_get_fd() - get the descriptor of a handle
 * @pm: the handle
 *
 * Return: the descriptor. It still belongs to the handle, or to the caller of
 * procmap_open_fd().
 */
int procmap_get_fd(const struct procmap *pm);

/**
 * procmap_find() - find the VMA at an address, or the next one
 * @pm: the handle
 * @addr: the address
 * @flags: PROCMAP_* flags of a look-up
 * @vma: filled; begins as PROCMAP_VMA_INIT, freed with procmap_vma_free()
 *
 * The answer is the current state, except for the name and the build ID: see the
 * top of this file. It costs one query; or one scan that fills nothing, if the handle has
 * the answer and it still holds. Whatever the process does, 1,000 look-ups cost
 * at most 1.2 times what as many queries do. With the text, a look-up costs
 * reading it up to @addr.
 *
 * Who looks for PROCMAP_EXEC | PROCMAP_FILE is asked to give both: then only
 * changes of code make the handle ask again, not those of other memory.
 *
 * Return: 0, or -1 with errno ENOENT (no VMA matches), EINVAL (unknown flag, or
 * @vma has no size) or an error that is listed at the top of this file. After an
 * error, @vma is undefined, but can be used again and freed.
 */
int procmap_find(struct procmap *pm, uint64_t addr, unsigned int flags, struct procmap_vma *vma);

/**
 * procmap_next() - go through the VMAs
 * @pm: the handle
 * @flags: PROCMAP_* flags of a look-up; PROCMAP_OR_NEXT is implied
 * @vma: in: PROCMAP_VMA_INIT, or the VMA of the last call, which may be one of
 *	procmap_find(); out: the first VMA that matches, or the first above the last
 *	one
 *
 * A walk never misses a VMA that exists and matches all the time. For a VMA
 * that changes meanwhile, each answer was true at some time of the walk, its name
 * included. Scans fetch many VMAs at once, the more the longer the walk. The text
 * backend reads the text once for the whole walk, unless the handle is used for
 * something else in between.
 *
 * Return: 1; 0 at the end, with @vma as empty as PROCMAP_VMA_INIT, so that the next
 * call begins anew; or -1 with errno as for procmap_find(), except for ENOENT.
 */
int procmap_next(struct procmap *pm, unsigned int flags, struct procmap_vma *vma);

/**
 * procmap_resolve_many() - find the VMAs of many addresses
 * @pm: the handle
 * @addrs: the addresses, ascending
 * @nr: number of them
 * @flags: PROCMAP_* flags of a look-up
 * @batch: filled; begins as PROCMAP_BATCH_INIT, to be freed with
 *	procmap_batch_free() on success
 *
 * Addresses in the same VMA share one query. If the handle has all answers and
 * they still hold, one scan that fills nothing is enough for all of them. With
 * PROCMAP_DETAILS each VMA costs a scan. The text backend reads the text at most
 * once.
 *
 * Return: 0, or -1 with errno EINVAL (@addrs is not ascending) or as for
 * procmap_find(), except for ENOENT. After an error there is nothing to free.
 */
int procmap_resolve_many(struct procmap *pm, const uint64_t *addrs, size_t nr, unsigned int flags,
			 struct procmap_batch *batch);

/**
 * procmap_changed() - ask whether any VMA has changed
 * @pm: the handle
 * @flags: 0: all VMAs; PROCMAP_EXEC | PROCMAP_FILE: only those of files that
 *	are, or were, executable
 * @generation: in: what the last call has left here, 0 at first; out: a number
 *	that stands for the present state, 0 if there is none
 *
 * For programs that keep tables of their own. Call this first and then read the
 * VMAs, so that changes made meanwhile are seen by the next call. Such a number
 * has a meaning for this address space only. Without scans, and while the
 * process is changing its VMAs, there is none. Renames of files do not count.
 *
 * Return: 0 if no VMA was added, removed or changed since the number was got; 1
 * if some were, or if that is not known; -1 with errno EINVAL (unknown flag) or
 * an error that is listed at the top of this file.
 */
int procmap_changed(struct procmap *pm, unsigned int flags, uint64_t *generation);

/**
 * procmap_open_file() - open the file that is mapped
 * @pm: the handle
 * @vma: a VMA of it with PROCMAP_FILE among its flags
 *
 * Takes /proc/PID/map_files, which needs privileges, else the name of @vma below
 * the root directory of the process, or below that of the caller. Device, inode
 * and, where both are known, the inode generation of the file must be those of
 * @vma. So this never opens another file that has got the name. The generation is
 * not known of files of FUSE: only its server could tell. Where stat(2)
 * shows another device than the mappings do, as on overlayfs and btrfs, only
 * map_files can be used; then @vma must not have changed. The call waits for the
 * file systems of the process, as open(2) does.
 *
 * Return: a descriptor for reading, or -1 with errno ESTALE (there is only
 * another file), ESRCH (the process is gone, or not in this /proc), EINVAL (@vma
 * is not of a regular file) or an error of open(2).
 */
int procmap_open_file(struct procmap *pm, const struct procmap_vma *vma);

/**
 * procmap_batch_free() - free what a batch holds
 * @batch: the batch; it is emptied, so freeing it twice does no harm
 */
void procmap_batch_free(struct procmap_batch *batch);

/**
 * procmap_vma_free() - free what a VMA holds
 * @vma: the VMA; it is emptied, so that it can be used again
 */
void procmap_vma_free(struct procmap_vma *vma);

/**
 * procmap_file_offset() - compute the file offset of an address
 * @vma: a VMA with PROCMAP_FILE among its flags
 * @addr: an address in it
 *
 * Return: the offset in the file in bytes.
 */
static inline uint64_t procmap_file_offset(const struct procmap_vma *vma, uint64_t addr)
{
	return vma->offset + (addr - vma->start);
}

#ifdef __cplusplus
}
#endif

#endif /* LIBPROCMAP_H */
