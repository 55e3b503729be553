// SPDX-License-Identifier: GPL-2.0
/* Memory for the kernel to read and write. The test knows each byte of it: see fuzz.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define RW	(PROT_READ | PROT_WRITE)

/*
 * Nothing else uses this much memory before and after an arena. So a racing
 * call may mix the bytes of several addresses in the arena, and the result
 * still lies in here.
 */
#define RESERVED	0x1000000UL

/*
 * Pages 0 to 3 are readable, with space for an array of 1,024 iovecs. The file
 * ends before the last page.
 */
static const struct fuzz_page local_layout[FUZZ_PAGES] = {
	{ RW, FUZZ_SHARED }, { RW, FUZZ_SHARED }, { PROT_READ, FUZZ_SHARED }, { RW, FUZZ_SHARED },
	{ 0, FUZZ_HOLE }, { RW, FUZZ_SHARED }, { PROT_NONE, FUZZ_SHARED }, { RW, FUZZ_SHARED },
	{ PROT_WRITE, FUZZ_SHARED }, { RW, FUZZ_SHARED }, { RW, FUZZ_SHARED }, { RW, FUZZ_BEYOND },
};

static const struct fuzz_page remote_layout[FUZZ_PAGES] = {
	{ RW, FUZZ_SHARED }, { RW, FUZZ_PRIVATE }, { PROT_READ, FUZZ_PRIVATE }, { RW, FUZZ_ANON },
	{ RW, FUZZ_ANON }, { 0, FUZZ_HOLE }, { RW, FUZZ_SHARED }, { PROT_WRITE, FUZZ_SHARED },
	{ PROT_NONE, FUZZ_ANON }, { PROT_READ, FUZZ_SHARED }, { RW, FUZZ_PRIVATE },
	{ RW, FUZZ_BEYOND },
};

/*
 * The kernel accesses the caller's memory through the page table, and there a
 * writable page is readable, too. For the memory of another process, it checks
 * the protection that mmap() was given.
 */
static unsigned int can_access(const struct fuzz_page *page, bool remote)
{
	if (page->kind == FUZZ_HOLE || page->kind == FUZZ_BEYOND)
		return 0;
	if (page->prot & PROT_WRITE)
		return remote && !(page->prot & PROT_READ) ? FUZZ_W : FUZZ_R | FUZZ_W;
	return page->prot & PROT_READ ? FUZZ_R : 0;
}

static int map_page(const struct fuzz_arena *arena, size_t i, int fd)
{
	const struct fuzz_page *page = &arena->layout[i];
	char *at = arena->at + i * arena->page;
	int flags = MAP_FIXED | (page->kind == FUZZ_SHARED ? MAP_SHARED : MAP_PRIVATE);

	if (page->kind == FUZZ_HOLE)
		return munmap(at, arena->page) ? -errno : 0;
	if (page->kind == FUZZ_ANON) {
		flags |= MAP_ANONYMOUS;
		fd = -1;
	}
	if (mmap(at, arena->page, page->prot, flags, fd, fd < 0 ? 0 : i * arena->page) != at)
		return -errno;
	return 0;
}

/*
 * Fill with other bytes than zero. One anonymous page stays untouched, so that
 * the kernel populates it.
 */
static void fill(struct fuzz_arena *arena)
{
	bool spared = false;
	size_t i, k;

	for (i = 0; i < FUZZ_PAGES - 1; i++) {
		enum fuzz_kind kind = arena->layout[i].kind;
		size_t from = i * arena->page;

		if (kind == FUZZ_ANON && !spared) {
			spared = true;
			continue;
		}
		for (k = from; k < from + arena->page; k++)
			arena->plain[k] = k * 7 + i;
		if (kind == FUZZ_ANON && arena->can[i] & FUZZ_W)
			memcpy(arena->at + from, arena->plain + from, arena->page);
		if (kind != FUZZ_ANON || arena->can[i] & FUZZ_W)
			memcpy(arena->want + from, arena->plain + from, arena->page);
	}
}

static char *reserve(void)
{
	char *at = mmap(NULL, 3 * RESERVED, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return at;
	return (char *)(((unsigned long)at + 2 * RESERVED) & ~(RESERVED - 1));
}

/*
 * Map and fill an arena.
 * @arena: out: the arena
 * @remote: the kernel accesses it as the memory of another process
 */
int fuzz_arena_map(struct fuzz_arena *arena, bool remote)
{
	int fd = memfd_create("arena", MFD_CLOEXEC);
	int ret = 0;
	size_t i;

	arena->layout = remote ? remote_layout : local_layout;
	arena->page = sysconf(_SC_PAGESIZE);
	arena->size = FUZZ_PAGES * arena->page;
	if (fd < 0 || ftruncate(fd, arena->size - arena->page))
		return -errno;
	arena->at = reserve();
	arena->plain = mmap(NULL, arena->size - arena->page, RW, MAP_SHARED, fd, 0);
	arena->want = mmap(NULL, arena->size, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena->at == MAP_FAILED || arena->plain == MAP_FAILED || arena->want == MAP_FAILED)
		return -errno;
	for (i = 0; i < FUZZ_PAGES && !ret; i++) {
		arena->can[i] = can_access(&arena->layout[i], remote);
		ret = map_page(arena, i, fd);
	}
	close(fd);
	if (ret)
		return ret;
	fill(arena);
	/* A local address must mean nothing to the target. For the holes this fails with ENOMEM. */
	if (!remote && madvise(arena->at, arena->size, MADV_DONTFORK) && errno != ENOMEM)
		return -errno;
	return 0;
}

/*
 * Expect the initial content in a new child.
 * @arena: the remote arena; the caller itself has written only its shared pages
 */
void fuzz_arena_reset(struct fuzz_arena *arena)
{
	size_t i;

	memset(arena->written, 0, sizeof(arena->written));
	for (i = 0; i < FUZZ_PAGES; i++) {
		const struct fuzz_page *page = &arena->layout[i];

		if (page->kind == FUZZ_PRIVATE || (page->kind == FUZZ_ANON && page->prot))
			memcpy(arena->want + i * arena->page, arena->at + i * arena->page,
			       arena->page);
	}
}

/* Return how much of a range lies in the arena and has a file after it. */
static size_t clip(const struct fuzz_arena *arena, __u64 addr, __u64 size, size_t *offset)
{
	__u64 start = (unsigned long)arena->at, end = start + arena->size - arena->page;
	__u64 last = addr + size < addr ? ~0ULL : addr + size;

	if (addr >= end || last <= start)
		return 0;
	*offset = addr < start ? 0 : addr - start;
	return (last < end ? last : end) - start - *offset;
}

/*
 * How much of a range is accessible, from its start. Returns the number of
 * bytes.
 * @addr: start of the range, in the arena or where nothing is mapped
 * @can: FUZZ_R, FUZZ_W, or both
 */
size_t fuzz_arena_span(const struct fuzz_arena *arena, __u64 addr, __u64 size, unsigned int can)
{
	__u64 offset = addr - (unsigned long)arena->at, end;

	if (addr < (unsigned long)arena->at || offset >= arena->size)
		return 0;
	for (end = offset; end < arena->size && end - offset < size;
	     end = (end / arena->page + 1) * arena->page) {
		if ((arena->can[end / arena->page] & can) != can)
			break;
	}
	end -= offset;
	return end < size ? end : size;
}

/*
 * Change the content of an arena, whatever its protection.
 * @arena: the arena, all of it FUZZ_SHARED
 * @addr: where to write; bytes outside the arena are left out
 */
void fuzz_arena_poke(struct fuzz_arena *arena, __u64 addr, const void *from, size_t size)
{
	size_t offset, nr = clip(arena, addr, size, &offset);
	const char *start = (const char *)from + ((unsigned long)arena->at + offset - addr);

	if (!nr)
		return;
	memcpy(arena->plain + offset, start, nr);
	memcpy(arena->want + offset, start, nr);
}

/*
 * Expect that the kernel has written some bytes.
 * @addr: where it must have written; bytes outside the arena are left out
 */
void fuzz_arena_expect(struct fuzz_arena *arena, __u64 addr, const void *from, size_t size)
{
	size_t offset, nr = clip(arena, addr, size, &offset);

	if (nr)
		memcpy(arena->want + offset,
		       (const char *)from + ((unsigned long)arena->at + offset - addr), nr);
}

/*
 * Read an arena as the kernel does. Returns how many bytes, from the start, are
 * readable.
 * @to: out: the bytes
 */
size_t fuzz_arena_peek(const struct fuzz_arena *arena, __u64 addr, void *to, size_t size)
{
	size_t nr = fuzz_arena_span(arena, addr, size, FUZZ_R);

	if (nr)
		memcpy(to, arena->want + (addr - (unsigned long)arena->at), nr);
	return nr;
}

void fuzz_arena_pass(struct fuzz_arena *arena, __u64 addr, __u64 size)
{
	size_t offset, nr = clip(arena, addr, size, &offset), i;

	for (i = offset; nr && i < offset + nr; i++) {
		if (arena->can[i / arena->page] & FUZZ_W)
			arena->want[i] = arena->plain[i];
	}
}

/*
 * Does the arena have the content that it must have? Returns false if not, with
 * the first difference on stderr.
 * @arena: the arena, all of it FUZZ_SHARED
 */
bool fuzz_arena_check(const struct fuzz_arena *arena, const char *name)
{
	size_t i, size = arena->size - arena->page;

	if (!memcmp(arena->plain, arena->want, size))
		return true;
	for (i = 0; i < size && arena->plain[i] == arena->want[i]; i++)
		;
	fprintf(stderr, "# byte 0x%zx of the %s arena is 0x%02x, must be 0x%02x\n", i, name,
		(__u8)arena->plain[i], (__u8)arena->want[i]);
	return false;
}

static bool has_content(const struct fuzz_arena *arena, size_t i)
{
	return arena->layout[i].kind != FUZZ_HOLE && arena->layout[i].kind != FUZZ_BEYOND;
}

/* A mem file reads every page that is mapped, whatever its protection. */
static bool read_page(const struct fuzz_arena *arena, size_t i, int mem, char *to)
{
	off_t at = (unsigned long)arena->at + i * arena->page;

	if (pread(mem, to, arena->page, at) == arena->page)
		return true;
	fprintf(stderr, "# page %zu of the remote arena cannot be read: %s\n", i, strerror(errno));
	return false;
}

/*
 * fuzz_arena_check() for the arena of another process. Returns false if the
 * content differs, with the first difference on stderr.
 */
bool fuzz_arena_check_mem(const struct fuzz_arena *arena, int mem)
{
	static char page[65536];
	size_t i, k;

	for (i = 0; i < FUZZ_PAGES; i++) {
		const char *want = arena->want + i * arena->page;

		if (!has_content(arena, i))
			continue;
		if (!read_page(arena, i, mem, page))
			return false;
		for (k = 0; k < arena->page && page[k] == want[k]; k++)
			;
		if (k == arena->page)
			continue;
		fprintf(stderr, "# byte 0x%zx of the remote arena is 0x%02x, must be 0x%02x\n",
			i * arena->page + k, (__u8)page[k], (__u8)want[k]);
		return false;
	}
	return true;
}

/* Accept the content of the arena of another process. */
void fuzz_arena_pass_mem(struct fuzz_arena *arena, int mem)
{
	size_t i;

	for (i = 0; i < FUZZ_PAGES; i++) {
		if (arena->can[i] & FUZZ_W)
			read_page(arena, i, mem, arena->want + i * arena->page);
	}
}

/*
 * Does a copy that faults count each byte? Returns true if read() returns the
 * exact number of bytes before a fault.
 */
bool fuzz_arena_counts_exactly(const struct fuzz_arena *arena)
{
	char *border = arena->at + 2 * arena->page;
	int fd = memfd_create("count", MFD_CLOEXEC);
	bool exact = fd >= 0 && !ftruncate(fd, 300);
	ssize_t fits;

	for (fits = 1; exact && fits < 300; fits++)
		exact = pread(fd, border - fits, 300, 0) == fits;
	close(fd);
	memcpy(border - 300, arena->want + 2 * arena->page - 300, 300);
	return exact;
}
