// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of all kinds that is available without waiting: with PROCESS_VM_NOWAIT
 * a call reads it as it does without flags, and writes to what is mapped
 * writable. Some other memory always ends a transfer. And some ends it only with
 * NOWAIT: the call would need a page fault for it, and leaves all as it was.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>

#include "pvm_harness.h"

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC	0x8000
#endif

#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"
#define KSM_RUN	"/sys/kernel/mm/ksm/run"
#define HUGE	(2UL << 20)
/* Some bytes of a page. */
#define SOME	100
/* So many fit into a 32-bit address space. */
#define NR_APART	500
#define VSYSCALL	0xffffffffff600000ULL
#define BYTE	'b'
#define NEW	'n'

/**
 * struct memory - a piece of the target's memory
 * @addr: its address
 * @size: its bytes; at most PVM_SPACE of them are copied
 * @sharer: if its PID is not 0: a process that has the same memory and must not
 *	see what is written
 * @file: a file with the same content, which must not change; or -1
 */
struct memory {
	char *addr;
	size_t size;
	struct procmap_child sharer;
	int file;
};

/**
 * struct kind - a kind of memory
 * @make: makes it in the target; false: it failed and printed why
 * @content: its content: BYTE or 0
 * @read: result of reading without flags; 0: all bytes, or -errno
 * @write: the same for writing
 * @nowait_read: the same with NOWAIT
 * @lacks: returns what this machine lacks to have it, or NULL; may be NULL
 * @any_content: its content is unknown
 */
struct kind {
	bool (*make)(struct memory *memory);
	unsigned char content;
	int read, write, nowait_read, nowait_write;
	const char *(*lacks)(void);
	bool any_content;
};

#define WRITE_FAULTS	.nowait_write = -EFAULT
#define FAULTS		.nowait_read = -EFAULT, WRITE_FAULTS
#define NO_WRITE	.write = -EFAULT, WRITE_FAULTS
#define NO_ACCESS	.read = -EFAULT, .nowait_read = -EFAULT, NO_WRITE

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static bool is_mapped(const char *addr)
{
	return pvm_pagemap(addr) & PVM_PAGE_PRESENT;
}

static bool map(struct memory *memory, size_t size, int flags, int fd)
{
	memory->size = size;
	memory->addr = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	return HOLDS(memory->addr != MAP_FAILED);
}

static bool map_anonymous(struct memory *memory, int flags)
{
	return map(memory, 3 * page_size(), flags | MAP_ANONYMOUS, -1);
}

static void read_pages(const struct memory *memory)
{
	size_t i;

	for (i = 0; i < memory->size; i += page_size())
		__atomic_load_n(memory->addr + i, __ATOMIC_RELAXED);
}

static bool make_untouched(struct memory *memory)
{
	return map_anonymous(memory, MAP_PRIVATE);
}

/* Mark untouched pages, so that the kernel notes writes to them. A base without that marks none. */
static bool make_tracked(struct memory *memory)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect protect = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (!HOLDS(fd >= 0) || !make_untouched(memory))
		return false;
	if (ioctl(fd, UFFDIO_API, &api))
		return HOLDS(errno == EINVAL);
	area.range.start = (unsigned long)memory->addr;
	area.range.len = memory->size;
	protect.range = area.range;
	return HOLDS(!ioctl(fd, UFFDIO_REGISTER, &area)) &&
	       HOLDS(!ioctl(fd, UFFDIO_WRITEPROTECT, &protect));
}

static bool make_touched(struct memory *memory)
{
	return map_anonymous(memory, MAP_PRIVATE) && memset(memory->addr, BYTE, memory->size);
}

static bool make_zero_page(struct memory *memory)
{
	if (!map_anonymous(memory, MAP_PRIVATE))
		return false;
	read_pages(memory);
	return true;
}

static bool make_locked(struct memory *memory)
{
	return make_touched(memory) && HOLDS(!mlock(memory->addr, memory->size));
}

static const char *lacks_soft_dirty(void)
{
	static char byte;

	byte = BYTE;
	return pvm_pagemap(&byte) & PVM_PAGE_SOFT_DIRTY ? NULL :
	       "no soft-dirty bits (CONFIG_MEM_SOFT_DIRTY)";
}

/* Clear the soft-dirty bits, as a checkpoint does: pages are clean and write-protected. */
static bool make_soft_clean(struct memory *memory)
{
	return make_touched(memory) &&
	       HOLDS(!procmap_write(AT_FDCWD, "/proc/self/clear_refs", "4"));
}

static bool make_protected(struct memory *memory)
{
	return make_touched(memory) && HOLDS(!mprotect(memory->addr, memory->size, PROT_NONE));
}

static bool make_read_only(struct memory *memory)
{
	return make_touched(memory) && HOLDS(!mprotect(memory->addr, memory->size, PROT_READ));
}

static bool make_gone(struct memory *memory)
{
	return make_touched(memory) && HOLDS(!munmap(memory->addr, memory->size));
}

static int has_the_same(struct procmap_child *child, void *arg)
{
	const struct memory *memory = arg;

	return procmap_sync(child) || !pvm_all(memory->addr, BYTE, memory->size);
}

static bool share(struct memory *memory)
{
	return HOLDS(!procmap_child_start(&memory->sharer, has_the_same, memory));
}

static bool make_forked(struct memory *memory)
{
	return make_touched(memory) && share(memory);
}

static long smaps_kb(const char *addr, const char *field)
{
	char line[256], name[32];
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, end, kb = 0;
	bool here = false;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (unsigned long)addr >= start && (unsigned long)addr < end;
		else if (here && sscanf(line, "%31[^:]: %lu kB", name, &kb) == 2 &&
			 !strcmp(name, field))
			break;
		kb = 0;
	}
	if (file)
		fclose(file);
	return kb;
}

static bool map_huge_area(struct memory *memory)
{
	if (!map(memory, 2 * HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1))
		return false;
	memory->addr = (char *)(((unsigned long)memory->addr + HUGE - 1) & ~(HUGE - 1));
	memory->size = HUGE;
	return HOLDS(!madvise(memory->addr, HUGE, MADV_HUGEPAGE));
}

static bool make_thp(struct memory *memory)
{
	if (!map_huge_area(memory))
		return false;
	memset(memory->addr, BYTE, HUGE);
	return HOLDS(smaps_kb(memory->addr, "AnonHugePages") == HUGE / 1024);
}

static bool make_huge_zero_page(struct memory *memory)
{
	if (!map_huge_area(memory))
		return false;
	__atomic_load_n(memory->addr, __ATOMIC_RELAXED);
	return HOLDS(is_mapped(memory->addr + HUGE - 1));
}

static bool make_untouched_thp(struct memory *memory)
{
	return map_huge_area(memory);
}

static bool make_forked_thp(struct memory *memory)
{
	return make_thp(memory) && share(memory);
}

static __u64 frame_of(const char *addr)
{
	return pvm_pagemap(addr) & PVM_PAGE_FRAME;
}

/* KSM merges two pages with the same content. */
static bool make_ksm(struct memory *memory)
{
	bool ran = procmap_value(KSM_RUN, NULL) == 1;
	bool merged;

	if (!map(memory, 2 * page_size(), MAP_PRIVATE | MAP_ANONYMOUS, -1))
		return false;
	memset(memory->addr, BYTE, memory->size);
	if (!HOLDS(!madvise(memory->addr, memory->size, MADV_MERGEABLE)) ||
	    !HOLDS(!procmap_write(AT_FDCWD, KSM_RUN, "1")))
		return false;
	merged = UNTIL(frame_of(memory->addr) == frame_of(memory->addr + page_size()));
	return HOLDS(ran || !procmap_write(AT_FDCWD, KSM_RUN, "0")) &&
	       HOLDS(frame_of(memory->addr)) && HOLDS(merged);
}

/* Map a file with some content. Returns its descriptor, or -1. */
static int map_new_file(struct memory *memory, int flags)
{
	char data[3 * page_size()];
	int fd = memfd_create("memory", MFD_CLOEXEC);

	memset(data, BYTE, sizeof(data));
	return pwrite(fd, data, sizeof(data), 0) == sizeof(data) &&
	       map(memory, sizeof(data), flags, fd) ? fd : -1;
}

static bool map_file(struct memory *memory, int flags)
{
	int fd = map_new_file(memory, flags);

	if (flags == MAP_PRIVATE)
		memory->file = fd;
	return HOLDS(fd >= 0) && HOLDS(!is_mapped(memory->addr));
}

static bool touch(struct memory *memory)
{
	read_pages(memory);
	return HOLDS(is_mapped(memory->addr + memory->size - 1));
}

static bool make_private_file(struct memory *memory)
{
	return map_file(memory, MAP_PRIVATE);
}

static bool make_private_file_mapped(struct memory *memory)
{
	return map_file(memory, MAP_PRIVATE) && touch(memory);
}

static bool make_private_file_copied(struct memory *memory)
{
	if (!map_file(memory, MAP_PRIVATE))
		return false;
	memset(memory->addr, BYTE, memory->size);
	return touch(memory);
}

static bool make_shared_file(struct memory *memory)
{
	return map_file(memory, MAP_SHARED);
}

static bool make_shared_file_mapped(struct memory *memory)
{
	return map_file(memory, MAP_SHARED) && touch(memory);
}

static bool make_shared_anonymous(struct memory *memory)
{
	return map_anonymous(memory, MAP_SHARED) && memset(memory->addr, BYTE, memory->size);
}

static bool make_shared_anonymous_unmapped(struct memory *memory)
{
	if (!make_shared_anonymous(memory) ||
	    !HOLDS(!madvise(memory->addr, memory->size, MADV_DONTNEED)))
		return false;
	return HOLDS(!is_mapped(memory->addr));
}

static bool make_shared_hole(struct memory *memory)
{
	return map_anonymous(memory, MAP_SHARED);
}

static bool make_sysv(struct memory *memory)
{
	int id = shmget(IPC_PRIVATE, 3 * page_size(), IPC_CREAT | 0600);

	memory->size = 3 * page_size();
	memory->addr = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	return HOLDS(memory->addr != (void *)-1) && memset(memory->addr, BYTE, memory->size);
}

static bool make_beyond_end(struct memory *memory)
{
	int fd = map_new_file(memory, MAP_SHARED);

	return HOLDS(fd >= 0) && HOLDS(!ftruncate(fd, 0));
}

static const char *lacks_root(void)
{
	return geteuid() ? "this kind of memory needs root" : NULL;
}

static bool map_hugetlb(struct memory *memory, int flags)
{
	if (procmap_value(NR_HUGEPAGES, NULL) < 4 &&
	    !HOLDS(!procmap_write(AT_FDCWD, NR_HUGEPAGES, "4")))
		return false;
	return map(memory, HUGE, flags | MAP_ANONYMOUS | MAP_HUGETLB, -1);
}

static bool make_hugetlb(struct memory *memory)
{
	return map_hugetlb(memory, MAP_PRIVATE) && memset(memory->addr, BYTE, memory->size);
}

static bool make_hugetlb_shared(struct memory *memory)
{
	return map_hugetlb(memory, MAP_SHARED) && memset(memory->addr, BYTE, memory->size);
}

static bool make_hugetlb_untouched(struct memory *memory)
{
	return map_hugetlb(memory, MAP_PRIVATE);
}

static bool make_vdso(struct memory *memory)
{
	memory->addr = (char *)getauxval(AT_SYSINFO_EHDR);
	memory->size = page_size();
	return HOLDS(memory->addr);
}

/* Drop the page table entry again. But 32-bit programs use this page for every system call. */
static bool make_vdso_unmapped(struct memory *memory)
{
	return make_vdso(memory) && HOLDS(!madvise(memory->addr, memory->size, MADV_DONTNEED)) &&
	       HOLDS(sizeof(long) == 4 || !is_mapped(memory->addr));
}

static int open_perf_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};

	return syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
}

static const char *lacks_perf_events(void)
{
	int fd = open_perf_event();

	if (fd < 0)
		return errno == EACCES ? "perf_event_paranoid is 3: needs root" : NULL;
	close(fd);
	return NULL;
}

/* The ring buffer of a perf event is mapped without a file system. */
static bool map_ring(struct memory *memory)
{
	int fd = open_perf_event();

	if (!HOLDS(fd >= 0) || !map(memory, 2 * page_size(), MAP_SHARED, fd))
		return false;
	memory->size = page_size();
	return true;
}

static bool make_ring_mapped(struct memory *memory)
{
	if (!map_ring(memory))
		return false;
	__atomic_load_n(memory->addr, __ATOMIC_RELAXED);
	return true;
}

static const char *lacks_secretmem(void)
{
	/*
	 * The unknown flag gives EINVAL where the call is built in and enabled,
	 * else ENOSYS. Either way it makes nothing.
	 */
	if (syscall(__NR_memfd_secret, 1U << 30) < 0 && errno == EINVAL)
		return NULL;
	return "no memfd_secret() (CONFIG_SECRETMEM, secretmem.enable=1)";
}

static bool make_secret(struct memory *memory)
{
	int fd = syscall(__NR_memfd_secret, 0);

	return HOLDS(fd >= 0) && HOLDS(!ftruncate(fd, page_size())) &&
	       map(memory, page_size(), MAP_SHARED, fd) && memset(memory->addr, BYTE, memory->size);
}

/**
 * struct tested - the memory as the test sees it
 * @addr: its address there
 * @size: number of bytes that are copied
 * @writable: address of another page there, which is mapped writable
 * @data: the local buffer
 */
struct tested {
	struct procmap_child child;
	bool runs;
	char *addr;
	size_t size;
	char *writable;
	unsigned char data[PVM_SPACE];
};

FIXTURE(memory) {
	struct tested t;
	long hugepages;
};

FIXTURE_VARIANT(memory) {
	struct kind kind;
};

FIXTURE_VARIANT_ADD(memory, touched) { .kind = { make_touched, BYTE } };
FIXTURE_VARIANT_ADD(memory, untouched) { .kind = { make_untouched, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, tracked) { .kind = { make_tracked, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, zero_page) { .kind = { make_zero_page, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, locked) { .kind = { make_locked, BYTE } };

FIXTURE_VARIANT_ADD(memory, soft_clean) {
	.kind = { make_soft_clean, BYTE, WRITE_FAULTS, .lacks = lacks_soft_dirty },
};

FIXTURE_VARIANT_ADD(memory, forked) { .kind = { make_forked, BYTE, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, thp) { .kind = { make_thp, BYTE } };
FIXTURE_VARIANT_ADD(memory, thp_untouched) { .kind = { make_untouched_thp, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, thp_zero_page) { .kind = { make_huge_zero_page, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, thp_forked) { .kind = { make_forked_thp, BYTE, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, ksm) { .kind = { make_ksm, BYTE, WRITE_FAULTS, .lacks = lacks_root } };
FIXTURE_VARIANT_ADD(memory, private_file) { .kind = { make_private_file, BYTE, WRITE_FAULTS } };

FIXTURE_VARIANT_ADD(memory, private_file_mapped) {
	.kind = { make_private_file_mapped, BYTE, WRITE_FAULTS },
};

FIXTURE_VARIANT_ADD(memory, private_file_copied) { .kind = { make_private_file_copied, BYTE } };
FIXTURE_VARIANT_ADD(memory, shared_file) { .kind = { make_shared_file, BYTE, WRITE_FAULTS } };
FIXTURE_VARIANT_ADD(memory, shared_file_mapped) { .kind = { make_shared_file_mapped, BYTE } };
FIXTURE_VARIANT_ADD(memory, shared_anonymous) { .kind = { make_shared_anonymous, BYTE } };

FIXTURE_VARIANT_ADD(memory, shared_anonymous_unmapped) {
	.kind = { make_shared_anonymous_unmapped, BYTE, WRITE_FAULTS },
};

FIXTURE_VARIANT_ADD(memory, sysv) { .kind = { make_sysv, BYTE } };
FIXTURE_VARIANT_ADD(memory, hugetlb) { .kind = { make_hugetlb, BYTE, .lacks = lacks_root } };

FIXTURE_VARIANT_ADD(memory, hugetlb_shared) {
	.kind = { make_hugetlb_shared, BYTE, .lacks = lacks_root },
};

FIXTURE_VARIANT_ADD(memory, vdso) { .kind = { make_vdso, .any_content = true, NO_WRITE } };

FIXTURE_VARIANT_ADD(memory, vdso_unmapped) {
	.kind = { make_vdso_unmapped, .any_content = true, NO_WRITE },
};

/* Memory that no call may access. */
FIXTURE_VARIANT_ADD(memory, read_only) { .kind = { make_read_only, BYTE, NO_WRITE } };
FIXTURE_VARIANT_ADD(memory, protected) { .kind = { make_protected, BYTE, NO_ACCESS } };
FIXTURE_VARIANT_ADD(memory, gone) { .kind = { make_gone, BYTE, NO_ACCESS } };
FIXTURE_VARIANT_ADD(memory, beyond_end) { .kind = { make_beyond_end, BYTE, NO_ACCESS } };

FIXTURE_VARIANT_ADD(memory, secret) {
	.kind = { make_secret, BYTE, NO_ACCESS, .lacks = lacks_secretmem },
};

/* Nobody can tell how long a fault would take: NOWAIT does not try. */
FIXTURE_VARIANT_ADD(memory, shared_hole) { .kind = { make_shared_hole, WRITE_FAULTS } };

FIXTURE_VARIANT_ADD(memory, hugetlb_untouched) {
	.kind = { make_hugetlb_untouched, FAULTS, .lacks = lacks_root },
};

FIXTURE_VARIANT_ADD(memory, ring) {
	.kind = { map_ring, .lacks = lacks_perf_events, .any_content = true, FAULTS },
};

FIXTURE_VARIANT_ADD(memory, ring_mapped) {
	.kind = { make_ring_mapped, .lacks = lacks_perf_events, .any_content = true, WRITE_FAULTS },
};

static bool sharer_saw_nothing(struct memory *memory)
{
	return !memory->sharer.pid || !procmap_child_finish(&memory->sharer);
}

static bool file_is_the_same(const struct memory *memory)
{
	char data[PVM_SPACE];

	return memory->file < 0 ||
	       (pread(memory->file, data, memory->size, 0) == memory->size &&
		pvm_all(data, BYTE, memory->size));
}

/* A page of the target that is mapped writable, whatever it has made before. */
static char *writable_page(void)
{
	char *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	return page == MAP_FAILED ? NULL : memset(page, BYTE, page_size());
}

/*
 * Make the memory. When the test sends a byte and a size, check that so many
 * bytes of the memory have this value.
 */
static int has_memory(struct procmap_child *child, void *arg)
{
	bool (*make)(struct memory *memory) = arg;
	struct memory memory = { .file = -1 };
	__u64 byte, size;

	if (!HOLDS(make(&memory)) || !HOLDS(!procmap_send(child, (unsigned long)memory.addr)) ||
	    !HOLDS(!procmap_send(child, memory.size)) ||
	    !HOLDS(!procmap_send(child, (unsigned long)writable_page())) ||
	    !HOLDS(!procmap_recv(child, &byte)))
		return 1;
	if (procmap_recv(child, &size))
		return 1;
	return HOLDS(pvm_all(memory.addr, byte, size)) && HOLDS(sharer_saw_nothing(&memory)) &&
	       HOLDS(file_is_the_same(&memory)) ? 0 : 1;
}

/* Start a target. After its last message, it only sleeps until it gets one. */
static bool start(struct tested *t, bool (*make)(struct memory *memory))
{
	__u64 addr, size, writable;
	pid_t pid;

	t->runs = HOLDS(!procmap_child_start(&t->child, has_memory, make));
	pid = t->child.pid;
	if (!t->runs || !HOLDS(!procmap_recv(&t->child, &addr)) ||
	    !HOLDS(!procmap_recv(&t->child, &size)) ||
	    !HOLDS(!procmap_recv(&t->child, &writable)))
		return false;
	t->addr = (char *)(unsigned long)addr;
	t->writable = (char *)(unsigned long)writable;
	t->size = size < PVM_SPACE ? size : PVM_SPACE;
	return HOLDS(UNTIL(stall_state_of(pid, pid) == 'S'));
}

FIXTURE_SETUP(memory)
{
	if (variant->kind.lacks && variant->kind.lacks())
		return;
	self->hugepages = procmap_value(NR_HUGEPAGES, NULL);
	ASSERT_TRUE(start(&self->t, variant->kind.make));
}

FIXTURE_TEARDOWN(memory)
{
	char number[32];

	if (self->t.runs)
		procmap_child_kill(&self->t.child);
	if (variant->kind.lacks == lacks_root && !geteuid()) {
		snprintf(number, sizeof(number), "%ld", self->hugepages);
		EXPECT_EQ(0, procmap_write(AT_FDCWD, NR_HUGEPAGES, number));
	}
}

static long copy(struct tested *t, bool write, size_t offset, size_t size, unsigned long flags)
{
	return pvm_copy(write, t->child.pid, t->addr + offset, t->data, size, flags);
}

/* Read twice: the first read may have filled the page tables. */
static void check_read(struct __test_metadata *_metadata, struct tested *t,
		       const struct kind *kind, unsigned long flags)
{
	int error = flags ? kind->nowait_read : kind->read;
	int i;

	for (i = 0; i < 2; i++) {
		memset(t->data, PROCMAP_POISON, PVM_SPACE);
		EXPECT_EQ(error ? error : t->size, copy(t, false, 0, t->size, flags));
		if (error || !kind->any_content) {
			EXPECT_TRUE(pvm_all(t->data, error ? PROCMAP_POISON : kind->content,
					    t->size));
		}
		EXPECT_TRUE(pvm_all(t->data + t->size, PROCMAP_POISON, PVM_SPACE - t->size));
	}
}

TEST_F(memory, NOWAIT_reads_it)
{
	if (!self->t.runs)
		SKIP(return, "%s: %s", _metadata->name, variant->kind.lacks());
	check_read(_metadata, &self->t, &variant->kind, PROCESS_VM_NOWAIT);
}

TEST_F(memory, without_flags_it_is_read_as_before)
{
	if (!self->t.runs)
		SKIP(return, "%s: %s", _metadata->name, variant->kind.lacks());
	check_read(_metadata, &self->t, &variant->kind, 0);
}

static void check_write(struct __test_metadata *_metadata, struct tested *t,
			const struct kind *kind, unsigned long flags)
{
	int error = flags ? kind->nowait_write : kind->write;

	memset(t->data, NEW, PVM_SPACE);
	EXPECT_EQ(error ? error : t->size, copy(t, true, 0, t->size, flags));
	/* A failed write must change nothing; the target can only check readable memory. */
	if (kind->any_content || (error && kind->read))
		return;
	ASSERT_EQ(0, procmap_send(&t->child, error ? kind->content : NEW));
	ASSERT_EQ(0, procmap_send(&t->child, t->size));
	EXPECT_EQ(0, procmap_child_wait(&t->child));
	t->runs = false;
}

TEST_F(memory, NOWAIT_writes_it)
{
	if (!self->t.runs)
		SKIP(return, "%s: %s", _metadata->name, variant->kind.lacks());
	check_write(_metadata, &self->t, &variant->kind, PROCESS_VM_NOWAIT);
}

TEST_F(memory, without_flags_it_is_written_as_before)
{
	if (!self->t.runs)
		SKIP(return, "%s: %s", _metadata->name, variant->kind.lacks());
	check_write(_metadata, &self->t, &variant->kind, 0);
}

/* Try any alignment, also across page borders. */
TEST_F(memory, NOWAIT_reads_any_part_of_it)
{
	static const size_t starts[] = { 0, 1, 4095, 4096, 4097, 8191 };
	static const size_t sizes[] = { 1, 2, 3, 4095, 4096, 4097 };
	const struct kind *kind = &variant->kind;
	struct tested *t = &self->t;
	int i, j;

	if (!t->runs)
		SKIP(return, "%s: %s", _metadata->name, kind->lacks());
	for (i = 0; i < ARRAY_SIZE(starts) && !kind->nowait_read; i++) {
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			size_t size = sizes[j];

			if (starts[i] + size > t->size)
				continue;
			memset(t->data, PROCMAP_POISON, PVM_SPACE);
			EXPECT_EQ(size, copy(t, false, starts[i], size, PROCESS_VM_NOWAIT));
			if (!kind->any_content)
				EXPECT_TRUE(pvm_all(t->data, kind->content, size));
			EXPECT_TRUE(pvm_all(t->data + size, PROCMAP_POISON, PVM_SPACE - size));
		}
	}
}

/**
 * struct state - what a call can change in the target, but for the bytes
 * @pages: the flags of each page of the memory: is it present, swapped out,
 *	mapped by this process alone, written to?
 * @status: sizes of page tables and of pages of all kinds
 */
struct state {
	__u64 pages[PVM_SPACE / 4096];
	char status[1024];
};

/* Collect the sizes that the status file tells. */
static bool read_sizes(pid_t pid, char *text, size_t space)
{
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	text[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Vm", 2) || !strncmp(line, "Rss", 3) ||
		    !strncmp(line, "Huge", 4))
			strncat(text, line, space - strlen(text) - 1);
	fclose(file);
	return strstr(text, "VmPTE:") && strstr(text, "RssAnon:");
}

static bool read_state(const struct tested *t, struct state *state)
{
	size_t at;

	memset(state, 0, sizeof(*state));
	for (at = 0; at < t->size; at += page_size())
		state->pages[at / page_size()] = pvm_pagemap_of(t->child.pid, t->addr + at) &
						 ~PVM_PAGE_FRAME;
	return HOLDS(read_sizes(t->child.pid, state->status, sizeof(state->status)));
}

static bool same_state(const struct state *before, const struct state *after)
{
	if (strcmp(before->status, after->status))
		fprintf(stderr, "# before:\n%s# after:\n%s", before->status, after->status);
	return !memcmp(before, after, sizeof(*before));
}

/* A read must not map anything. */
TEST_F(memory, NOWAIT_maps_nothing_to_read_it)
{
	const struct kind *kind = &variant->kind;
	struct state before, after;
	struct tested *t = &self->t;

	if (!t->runs)
		SKIP(return, "%s: %s", _metadata->name, kind->lacks());
	ASSERT_TRUE(read_state(t, &before));
	EXPECT_EQ(kind->nowait_read ? kind->nowait_read : t->size,
		  copy(t, false, 0, t->size, PROCESS_VM_NOWAIT));
	ASSERT_TRUE(read_state(t, &after));
	EXPECT_TRUE(same_state(&before, &after));
}

/* Write some bytes that can be written, then to the memory. */
static long write_both(struct tested *t, unsigned long flags)
{
	struct iovec local = { .iov_base = t->data, .iov_len = SOME + t->size };
	struct iovec remote[] = { { t->writable, SOME }, { t->addr, t->size } };
	struct pvm_call call = {
		.write = true, .pid = t->child.pid, .flags = flags,
		.local = &local, .nr_local = 1, .remote = remote, .nr_remote = 2,
	};

	local.iov_len = local.iov_len < PVM_SPACE ? local.iov_len : PVM_SPACE;
	return pvm_call(&call);
}

/*
 * A write that needs a fault ends exactly there, and makes no part of it. The
 * same call without the flag has the fault.
 */
TEST_F(memory, NOWAIT_write_ends_at_a_fault_and_changes_nothing)
{
	const struct kind *kind = &variant->kind;
	struct state before, after;
	struct tested *t = &self->t;
	size_t size;

	if (!t->runs)
		SKIP(return, "%s: %s", _metadata->name, kind->lacks());
	size = t->size < PVM_SPACE - SOME ? t->size : PVM_SPACE - SOME;
	memset(t->data, NEW, PVM_SPACE);
	ASSERT_TRUE(read_state(t, &before));
	EXPECT_EQ(kind->nowait_write ? kind->nowait_write : t->size,
		  copy(t, true, 0, t->size, PROCESS_VM_NOWAIT));
	EXPECT_EQ(kind->nowait_write ? SOME : SOME + size, write_both(t, PROCESS_VM_NOWAIT));
	ASSERT_TRUE(read_state(t, &after));
	EXPECT_TRUE(same_state(&before, &after));
	EXPECT_EQ(kind->write ? SOME : SOME + size, write_both(t, 0));
}

/* The memory is untouched, and each page of it would need a page table of its own. */
static bool make_far_apart(struct memory *memory)
{
	return map(memory, NR_APART * HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

TEST(NOWAIT_needs_no_page_tables_to_read)
{
	struct tested t = { .runs = false };
	struct state before, after;
	__u64 byte;
	size_t i;

	ASSERT_TRUE(start(&t, make_far_apart));
	ASSERT_TRUE(read_state(&t, &before));
	for (i = 0; i < NR_APART; i++) {
		byte = PROCMAP_POISON;
		ASSERT_EQ(sizeof(byte), pvm_copy(false, t.child.pid, t.addr + i * HUGE, &byte,
						 sizeof(byte), PROCESS_VM_NOWAIT));
		ASSERT_EQ(0, byte);
	}
	ASSERT_TRUE(read_state(&t, &after));
	EXPECT_TRUE(same_state(&before, &after));
	procmap_child_kill(&t.child);
}

/* [vsyscall] is no memory of the process. A kernel may make it readable or not. */
TEST(vsyscall_is_with_NOWAIT_what_it_is_without)
{
	const void *vsyscall = (void *)(unsigned long)VSYSCALL;
	unsigned char with[64], without[64];
	long expected;

	memset(with, PROCMAP_POISON, sizeof(with));
	memset(without, PROCMAP_POISON, sizeof(without));
	expected = pvm_copy(false, getpid(), vsyscall, without, sizeof(without), 0);
	EXPECT_EQ(expected, pvm_copy(false, getpid(), vsyscall, with, sizeof(with),
				     PROCESS_VM_NOWAIT));
	EXPECT_EQ(0, memcmp(with, without, sizeof(with)));
	EXPECT_EQ(-EFAULT, pvm_copy(true, getpid(), vsyscall, with, sizeof(with),
				    PROCESS_VM_NOWAIT));
}

TEST_HARNESS_MAIN
