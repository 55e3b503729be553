// SPDX-License-Identifier: GPL-2.0
/*
 * The text of /proc/<pid>/maps of a process that does not change. Its bytes are
 * those of the header lines in /proc/<pid>/smaps, which the kernel prints under
 * mmap_lock. Each read() returns as many of them as seq_model.c says. Then a
 * process that changes while one read() prints it.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kinds.h"
#include "procmap_harness.h"
#include "procmap_zoo.h"
#include "seq_model.h"
#include "stall.h"

#define MIB		(1024 * 1024)
#define TEXT_ROOM	(64 * 1024)

/* A buffer for the largest read. Static, so that reading maps no memory. */
static char space[MIB];

/**
 * struct reader - a descriptor of a maps file, and what is expected of it
 * @fd: the descriptor
 * @pos: its file position
 * @model: the model of its seq_file
 */
struct reader {
	int fd;
	off_t pos;
	struct seq_model model;
};

static int open_thread(pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	return procmap_open(0, path);
}

/*
 * Read the header lines of smaps. They begin with an address, in small letters;
 * all others begin with a large one. Returns their length, or -errno.
 */
static ssize_t read_headers(int smaps, char *text, size_t size)
{
	static char chunk[TEXT_ROOM];
	bool begins = true, keep = false;
	ssize_t got, i;
	size_t len = 0;

	while ((got = read(smaps, chunk, sizeof(chunk))) > 0) {
		for (i = 0; i < got; i++) {
			if (begins)
				keep = chunk[i] < 'A' || chunk[i] > 'Z';
			begins = chunk[i] == '\n';
			if (!keep)
				continue;
			if (len == size)
				return -EFBIG;
			text[len++] = chunk[i];
		}
	}
	return got < 0 ? -errno : (ssize_t)len;
}

static bool reader_open(struct reader *reader, pid_t pid, const char *text, size_t len)
{
	reader->fd = maps_open(pid);
	reader->pos = 0;
	seq_model_init(&reader->model, text, len);
	return reader->fd >= 0;
}

/* Compare what a read at @pos returned with the model and with the text. */
static bool agrees(struct reader *reader, off_t pos, size_t size, ssize_t got)
{
	size_t want = seq_model_read(&reader->model, pos, size);
	const char *text = reader->model.text + pos;
	ssize_t i;

	if (got == (ssize_t)want && (!got || !memcmp(text, space, got)))
		return true;
	fprintf(stderr, "# %zu bytes at %lld: got %zd, not %zu", size, (long long)pos, got, want);
	for (i = 0; i < got && i < (ssize_t)want; i++) {
		if (text[i] == space[i])
			continue;
		fprintf(stderr, "; byte %zd is '%c', not '%c'; '%.100s' instead of '%.100s'", i,
			space[i], text[i], space + i, text + i);
		break;
	}
	fprintf(stderr, "\n");
	return false;
}

static bool reads(struct reader *reader, size_t size)
{
	ssize_t got = read(reader->fd, space, size);
	off_t pos = reader->pos;

	if (got > 0)
		reader->pos += got;
	return agrees(reader, pos, size, got);
}

static bool preads(struct reader *reader, size_t size, off_t pos)
{
	return agrees(reader, pos, size, pread(reader->fd, space, size, pos));
}

static bool seeks(struct reader *reader, off_t pos, int whence)
{
	off_t want = whence == SEEK_CUR ? reader->pos + pos : pos;

	if (lseek(reader->fd, pos, whence) != want) {
		fprintf(stderr, "# lseek() to %lld: errno %d\n", (long long)want, errno);
		return false;
	}
	seq_model_seek(&reader->model, want);
	reader->pos = want;
	return true;
}

static bool at_end(const struct reader *reader)
{
	return reader->pos == (off_t)reader->model.len;
}

/* Read on to the end, and once more there. */
static bool reads_all(struct reader *reader, size_t size)
{
	while (!at_end(reader)) {
		if (!reads(reader, size))
			return false;
	}
	return reads(reader, size);
}

/* A process that waits, with what @variant->map maps, or a program. @text is what smaps shows. */
FIXTURE(text) {
	char dir[PATH_MAX / 2];
	struct procmap_child child;
	char text[TEXT_ROOM];
	size_t len;
	struct reader reader;
};

/*
 * @step: try each offset that is a multiple of this, and those around the ends
 * of lines and of pages.
 */
FIXTURE_VARIANT(text) {
	int (*map)(const char *dir);
	const char *program;
	size_t step;
};

FIXTURE_VARIANT_ADD(text, kinds) { .map = kinds_map, .step = 1 };
FIXTURE_VARIANT_ADD(text, long_paths) { .map = kinds_map_long, .step = 97 };
FIXTURE_VARIANT_ADD(text, program) { .program = "procmap_target", .step = 11 };

#ifdef PROCMAP_BOTH_SIZES
FIXTURE_VARIANT_ADD(text, program_of_32_bit) { .program = "procmap_target_32", .step = 11 };
#endif

struct mapper {
	int (*map)(const char *dir);
	const char *dir;
};

static int maps_and_waits(struct procmap_child *child, void *arg)
{
	const struct mapper *mapper = arg;
	int err = mapper->map(mapper->dir);

	if (err)
		fprintf(stderr, "# cannot map: %s\n", strerror(-err));
	return HOLDS(!err) ? procmap_tell(child, 0) : 1;
}

FIXTURE_SETUP(text)
{
	struct mapper mapper = { variant->map, self->dir };
	int ret, fd;
	ssize_t len;

	ASSERT_EQ(0, procmap_tmp_dir(self->dir, sizeof(self->dir)));
	if (variant->program)
		ret = procmap_child_exec(&self->child, variant->program);
	else
		ret = procmap_child_start(&self->child, maps_and_waits, &mapper);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, procmap_sync(&self->child));
	fd = stall_smaps_open(self->child.pid);
	ASSERT_LE(0, fd);
	len = read_headers(fd, self->text, sizeof(self->text));
	/* More than two pages, so that no test sees one buffer only. */
	ASSERT_LT(variant->program ? 4096 : 8192, len);
	self->len = len;
	close(fd);
	ASSERT_TRUE(reader_open(&self->reader, self->child.pid, self->text, self->len));
}

FIXTURE_TEARDOWN(text)
{
	close(self->reader.fd);
	EXPECT_EQ(0, procmap_child_finish(&self->child));
	EXPECT_EQ(0, kinds_remove(self->dir));
}

static const size_t sizes[] = { 1, 7, 100, 4096, MIB };

TEST_F(text, reads_of_every_size)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_TRUE(reader_open(&self->reader, self->child.pid, self->text, self->len));
		EXPECT_TRUE(reads_all(&self->reader, sizes[i]))
			TH_LOG("reading %zu bytes at a time", sizes[i]);
		close(self->reader.fd);
	}
}

static bool is_near_an_end(const struct seq_model *model, size_t pos)
{
	return pos % 4096 < 2 || !pos || pos + 1 >= model->len ||
	       memchr(model->text + pos - 1, '\n', 3);
}

/* The next offset to try. A slow kernel takes larger steps. */
static size_t next_offset(const struct seq_model *model, size_t pos, size_t step)
{
	step *= model->len / stall_scaled(model->len);
	do {
		pos++;
	} while (pos % step && !is_near_an_end(model, pos));
	return pos;
}

TEST_F(text, pread_at_every_offset)
{
	const struct seq_model *model = &self->reader.model;
	size_t pos;

	for (pos = 0; pos < self->len + 3; pos = next_offset(model, pos, variant->step))
		ASSERT_TRUE(preads(&self->reader, 100, pos));
	/* All that made no difference to the descriptor's own position. */
	EXPECT_TRUE(reads_all(&self->reader, 4096));
}

TEST_F(text, lseek_to_every_offset)
{
	const struct seq_model *model = &self->reader.model;
	size_t pos;

	for (pos = 0; pos < self->len + 3; pos = next_offset(model, pos, variant->step)) {
		ASSERT_TRUE(seeks(&self->reader, pos, SEEK_SET));
		ASSERT_TRUE(reads(&self->reader, 60));
		ASSERT_TRUE(reads(&self->reader, 200));
	}
}

/* A buffer of each size at the first line, and where the text goes on then. */
TEST_F(text, sizes_around_those_of_lines)
{
	size_t size;

	for (size = 1; size < 400; size++) {
		ASSERT_TRUE(seeks(&self->reader, 0, SEEK_SET));
		ASSERT_TRUE(reads(&self->reader, size));
		ASSERT_TRUE(reads(&self->reader, 4096));
		ASSERT_TRUE(reads(&self->reader, size));
	}
}

TEST_F(text, two_descriptors_in_turn)
{
	struct reader other;

	ASSERT_TRUE(reader_open(&other, self->child.pid, self->text, self->len));
	while (!at_end(&self->reader) || !at_end(&other)) {
		ASSERT_TRUE(reads(&self->reader, 17));
		ASSERT_TRUE(reads(&other, 333));
	}
	close(other.fd);
}

static unsigned int random_below(unsigned int *seed, unsigned int limit)
{
	return rand_r(seed) % limit;
}

/* Most sizes are small, but all orders of magnitude occur. */
static size_t random_size(unsigned int *seed)
{
	return random_below(seed, 2U << random_below(seed, 15));
}

static bool random_step(struct reader *reader, unsigned int *seed)
{
	size_t len = reader->model.len;
	off_t pos = random_below(seed, len + 100);

	switch (random_below(seed, 8)) {
	case 0:
		return seeks(reader, pos, SEEK_SET);
	case 1:
		return seeks(reader, random_below(seed, 200) - (reader->pos < 100 ? 0 : 100),
			     SEEK_CUR);
	case 2:
		return preads(reader, random_size(seed), pos);
	case 3:
		return preads(reader, random_size(seed), 0);
	default:
		return reads(reader, random_size(seed));
	}
}

TEST_F(text, calls_in_any_order)
{
	unsigned int seed, steps = stall_scaled(200);
	size_t i;

	for (seed = 1; seed <= 10; seed++) {
		unsigned int state = seed;

		ASSERT_TRUE(reader_open(&self->reader, self->child.pid, self->text, self->len));
		for (i = 0; i < steps; i++)
			ASSERT_TRUE(random_step(&self->reader, &state))
				TH_LOG("seed %u, step %zu", seed, i);
		close(self->reader.fd);
	}
}

TEST_F(text, positions_that_no_text_has)
{
	ASSERT_EQ(-1, lseek(self->reader.fd, 0, SEEK_END));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(-1, lseek(self->reader.fd, -1, SEEK_SET));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(-1, pread(self->reader.fd, space, 1, -1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_TRUE(seeks(&self->reader, self->len, SEEK_SET));
	EXPECT_TRUE(reads(&self->reader, 4096));
	EXPECT_TRUE(preads(&self->reader, 4096, 1LL << 40));
	EXPECT_TRUE(preads(&self->reader, 4096, LLONG_MAX - 8192));
	EXPECT_TRUE(seeks(&self->reader, self->len - 1, SEEK_SET));
	EXPECT_TRUE(reads_all(&self->reader, 4096));
}

/*
 * What cannot be copied stays in the buffer, for the next read. How near to the
 * end of the page the kernel copies depends on the architecture.
 */
TEST_F(text, bytes_that_cannot_be_copied_come_later)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	ssize_t got;

	ASSERT_NE((long)MAP_FAILED, (long)two);
	ASSERT_EQ(0, mprotect(two + page, page, PROT_NONE));
	got = read(self->reader.fd, two + page - 10, 100);
	ASSERT_LT(0, got);
	ASSERT_GE(10, got);
	EXPECT_EQ(0, memcmp(self->text, two + page - 10, got));
	EXPECT_EQ(-1, read(self->reader.fd, two + page, 100));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(20, read(self->reader.fd, two, 20));
	EXPECT_EQ(0, memcmp(self->text + got, two, 20));
	ASSERT_EQ(0, munmap(two, 2 * page));
}

/* The process itself, and its other thread. No function between the two reads maps memory. */
FIXTURE(own) {
	char text[TEXT_ROOM];
	struct reader reader;
	pthread_t thread;
	pid_t tid;
	int end[2];
};

static void *own_thread(void *arg)
{
	struct _test_data_own *self = arg;
	char byte;

	__atomic_store_n(&self->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	return (void *)(long)read(self->end[0], &byte, 1);
}

FIXTURE_SETUP(own)
{
	ASSERT_EQ(0, pipe2(self->end, O_CLOEXEC));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, own_thread, self));
	while (!__atomic_load_n(&self->tid, __ATOMIC_ACQUIRE))
		sched_yield();
}

FIXTURE_TEARDOWN(own)
{
	close(self->reader.fd);
}

static int own_end(struct _test_data_own *self)
{
	close(self->end[1]);
	return pthread_join(self->thread, NULL);
}

/* Touch what the reads use, so that neither changes the address space. */
static ssize_t own_headers(struct _test_data_own *self, pid_t tid)
{
	int smaps = open_thread(tid, "smaps");
	ssize_t len;

	self->reader.fd = open_thread(tid, "maps");
	if (smaps < 0 || self->reader.fd < 0)
		return -errno;
	memset(space, 0, sizeof(space));
	len = read_headers(smaps, self->text, sizeof(self->text));
	close(smaps);
	seq_model_init(&self->reader.model, self->text, len < 0 ? 0 : len);
	return len;
}

TEST_F(own, text_of_the_reader)
{
	ASSERT_LT(500, own_headers(self, getpid()));
	EXPECT_TRUE(reads_all(&self->reader, 4096));
	EXPECT_EQ(0, own_end(self));
}

TEST_F(own, text_of_a_thread)
{
	ASSERT_NE(getpid(), self->tid);
	ASSERT_LT(500, own_headers(self, self->tid));
	EXPECT_TRUE(reads_all(&self->reader, 7));
	EXPECT_EQ(0, own_end(self));
}

/* Waits until a thread that was joined has no directory in /proc either. */
static bool thread_leaves(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	return UNTIL(access(path, F_OK));
}

/* The text ends with its thread, although the address space lives on. */
TEST_F(own, thread_that_ended)
{
	ASSERT_LT(500, own_headers(self, self->tid));
	ASSERT_TRUE(reads(&self->reader, 10));
	ASSERT_EQ(0, own_end(self));
	ASSERT_TRUE(thread_leaves(self->tid));
	/* The rest of the first line is in the buffer. */
	EXPECT_LT(0, read(self->reader.fd, space, 4096));
	EXPECT_EQ(-1, read(self->reader.fd, space, 4096));
	EXPECT_EQ(ESRCH, errno);
	EXPECT_EQ(-1, pread(self->reader.fd, space, 4096, 100));
	EXPECT_EQ(ESRCH, errno);
}

/*
 * A target that ends. Each read that needs a new line then says what 6.1 says;
 * what the buffer has, it gives.
 */
FIXTURE(ending) {
	struct procmap_child child;
	int fd;
	int at_the_end;
	bool has_gate;
};

static int execs(struct procmap_child *child, void *arg)
{
	if (!procmap_waits(child, NULL))
		procmap_exec(child, "procmap_target");
	return HOLDS(false) ? 0 : 1;
}

FIXTURE_SETUP(ending)
{
	self->fd = -1;
	self->at_the_end = -1;
}

FIXTURE_TEARDOWN(ending)
{
	close(self->fd);
	close(self->at_the_end);
}

/* One descriptor has read 10 bytes, the other one all. Returns true on success. */
static bool begin_to_read(struct _test_data_ending *self,
			  int (*child)(struct procmap_child *child, void *arg))
{
	ssize_t got;

	if (procmap_child_start(&self->child, child, NULL))
		return false;
	self->fd = maps_open(self->child.pid);
	self->at_the_end = maps_open(self->child.pid);
	while ((got = read(self->at_the_end, space, MIB)) > 0)
		self->has_gate = memmem(space, got, "[vsyscall]\n", 11);
	return !got && read(self->fd, space, 10) == 10;
}

static long read_again(int fd)
{
	long got = read(fd, space, MIB);

	return got < 0 ? -errno : got;
}

static long pread_again(int fd, off_t pos)
{
	long got = pread(fd, space, MIB, pos);

	return got < 0 ? -errno : got;
}

TEST_F(ending, reaped)
{
	ASSERT_TRUE(begin_to_read(self, procmap_waits));
	ASSERT_EQ(0, procmap_child_finish(&self->child));
	EXPECT_LT(0, read_again(self->fd));
	EXPECT_EQ(-ESRCH, read_again(self->fd));
	EXPECT_EQ(-ESRCH, pread_again(self->fd, 20));
	EXPECT_EQ(-ESRCH, pread_again(self->fd, 0));
	EXPECT_EQ(-1, lseek(self->fd, 20, SEEK_SET));
	EXPECT_EQ(ESRCH, errno);
	EXPECT_EQ(0, lseek(self->fd, 0, SEEK_SET));
	EXPECT_EQ(-ESRCH, read_again(self->fd));
}

/*
 * Behind [vsyscall] there can be no other line, and the kernel looks no further.
 * Behind another last line it looks for the process.
 */
TEST_F(ending, reaped_after_the_last_line)
{
	ASSERT_TRUE(begin_to_read(self, procmap_waits));
	ASSERT_EQ(0, procmap_child_finish(&self->child));
	EXPECT_EQ(self->has_gate ? 0 : -ESRCH, read_again(self->at_the_end));
	EXPECT_EQ(-ESRCH, pread_again(self->at_the_end, 0));
}

/* The child has ended, and nobody has waited for it. */
static bool begin_with_a_zombie(struct _test_data_ending *self)
{
	siginfo_t info;

	return begin_to_read(self, procmap_waits) && !procmap_send(&self->child, 0) &&
	       !waitid(P_PID, self->child.pid, &info, WEXITED | WNOWAIT);
}

TEST_F(ending, zombie)
{
	ASSERT_TRUE(begin_with_a_zombie(self));
	EXPECT_LT(0, read_again(self->fd));
	EXPECT_EQ(0, read_again(self->fd));
	EXPECT_EQ(0, pread_again(self->fd, 20));
	EXPECT_EQ(0, pread_again(self->fd, 0));
	EXPECT_EQ(0, read_again(self->at_the_end));
	EXPECT_EQ(0, procmap_child_wait(&self->child));
	EXPECT_EQ(-ESRCH, pread_again(self->fd, 0));
}

TEST_F(ending, opened_as_a_zombie)
{
	int fd;

	ASSERT_TRUE(begin_with_a_zombie(self));
	fd = maps_open(self->child.pid);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, read_again(fd));
	EXPECT_EQ(0, procmap_child_wait(&self->child));
	EXPECT_EQ(-ESRCH, read_again(fd));
	close(fd);
}

TEST_F(ending, another_program)
{
	ASSERT_TRUE(begin_to_read(self, execs));
	ASSERT_EQ(0, procmap_send(&self->child, 0));
	ASSERT_EQ(0, procmap_sync(&self->child));
	EXPECT_LT(0, read_again(self->fd));
	EXPECT_EQ(0, read_again(self->fd));
	EXPECT_EQ(0, pread_again(self->fd, 0));
	EXPECT_EQ(0, read_again(self->at_the_end));
	EXPECT_EQ(0, procmap_child_finish(&self->child));
	EXPECT_EQ(-ESRCH, pread_again(self->fd, 0));
}

TEST(kernel_thread)
{
	/* kthreadd, whose PID is the same on every kernel. */
	int fd = maps_open(2);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, read_again(fd));
	EXPECT_EQ(0, pread_again(fd, 1));
	EXPECT_EQ(20, lseek(fd, 20, SEEK_SET));
	EXPECT_EQ(0, read_again(fd));
	close(fd);
}

#define BORDER_PAGES	4
#define BORDER_MOVES	4000

/**
 * struct border - two VMAs without a hole, and a thread that moves their border
 * @area: where they are
 * @size: of both together
 * @done: the thread has moved the border BORDER_MOVES times
 * @failed: it could not move the border
 */
struct border {
	char *area;
	size_t size;
	bool done;
	bool failed;
};

/*
 * The border is after the first page, then before the last one. A timer that
 * fires while the reader holds a VMA has the border moved before the next line.
 */
static void *moves_border(void *arg)
{
	const struct timespec nap = { .tv_nsec = 1000 };
	const size_t page = sysconf(_SC_PAGESIZE);
	struct border *border = arg;
	unsigned int i;

	for (i = 0; i < BORDER_MOVES; i++) {
		if (mprotect(border->area + page, border->size - 2 * page,
			     i % 2 ? PROT_READ | PROT_WRITE : PROT_READ))
			border->failed = true;
		nanosleep(&nap, NULL);
	}
	__atomic_store_n(&border->done, true, __ATOMIC_RELAXED);
	return NULL;
}

/* Do the lines of one read() cover the area? @first: where the first one ends. */
static bool covers(const struct border *border, char *text, unsigned long *first)
{
	unsigned long start, end, next = (unsigned long)border->area;
	const unsigned long last = next + border->size;
	char *line;

	*first = 0;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2)
			return false;
		if (end <= (unsigned long)border->area || start >= last)
			continue;
		if (start != next)
			fprintf(stderr, "# a line at 0x%lx follows one that ends at 0x%lx\n", start,
				next);
		if (start != next)
			return false;
		next = end;
		*first = *first ?: end;
	}
	return next == last;
}

/* 32-bit processes have no gate VMA, whose line would be the last one for good. */
TEST(the_end_of_the_file_stays_the_end)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct maps_text text;
	int fd = maps_open(0);
	void *end, *map;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, maps_text_read(fd, &text));
	end = (void *)(unsigned long)text.vma[text.nr - 1].end;
	map = mmap(end, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ASSERT_EQ(end, map);
	EXPECT_EQ(0, read(fd, space, sizeof(space)));
	EXPECT_EQ(0, munmap(map, page));
	maps_text_free(&text);
	close(fd);
}

/* Each page is mapped all the time: each read() has it in one line. */
TEST(pages_at_a_border_that_moves_are_in_one_line)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct border border = { .size = BORDER_PAGES * page };
	unsigned int low = 0, high = 0;
	unsigned long first;
	pthread_t thread;
	ssize_t got;
	char *map;
	int fd;

	map = mmap(NULL, border.size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	border.area = map + page;
	/* Both are accounted for, or they would not merge at the border. */
	ASSERT_EQ(0, mprotect(border.area, border.size, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, mprotect(border.area + border.size - page, page, PROT_READ));
	fd = maps_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, procmap_pin(sched_getcpu()));
	ASSERT_EQ(0, pthread_create(&thread, NULL, moves_border, &border));
	while (!__atomic_load_n(&border.done, __ATOMIC_RELAXED)) {
		got = pread(fd, space, TEXT_ROOM - 1, 0);
		ASSERT_LT(0, got);
		space[got] = '\0';
		ASSERT_TRUE(covers(&border, space, &first));
		low += first == (unsigned long)border.area + page;
		high += first == (unsigned long)border.area + border.size - page;
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_FALSE(border.failed);
	EXPECT_LT(0, low);
	EXPECT_LT(0, high);
	EXPECT_EQ(0, munmap(map, border.size + 2 * page));
	close(fd);
}

/*
 * From a root of its own a reader sees the paths that are below it, and all
 * others from the root of the mount namespace.
 */
struct rooted {
	const char *dir;
	char text[TEXT_ROOM];
};

#define ROOT_REFUSED	2

/* Map one page of a new file. */
static bool map_new(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = procmap_tmp_file(path, 1);
	if (fd < 0)
		return false;
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED && !close(fd);
}

static bool mount_here(const char *dir)
{
	return !mkdir(dir, 0700) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("text", dir, "tmpfs", 0, NULL);
}

static int reads_from_root(struct procmap_child *child, void *arg)
{
	struct rooted *rooted = arg;
	char other[PATH_MAX], root[PATH_MAX], want[PATH_MAX];
	struct reader reader = { .fd = -1 };
	ssize_t len;
	int smaps;

	snprintf(other, sizeof(other), "%s/other", rooted->dir);
	snprintf(root, sizeof(root), "%s/root", rooted->dir);
	snprintf(want, sizeof(want), " %.2048s/other/elsewhere\n", rooted->dir);
	if (procmap_become_root() || unshare(CLONE_NEWNS))
		return ROOT_REFUSED;
	if (!HOLDS(mount_here(other)) || !HOLDS(!mkdir(root, 0700)) ||
	    !HOLDS(map_new(other, "elsewhere")) || !HOLDS(map_new(root, "inside")) ||
	    !HOLDS(map_new(rooted->dir, "outside")))
		return 1;
	smaps = stall_smaps_open(0);
	if (!HOLDS(reader_open(&reader, 0, rooted->text, 0)) || !HOLDS(!chroot(root)))
		return 1;
	len = read_headers(smaps, rooted->text, sizeof(rooted->text));
	reader.model.len = len;
	if (!HOLDS(len > 500) || !HOLDS(memmem(rooted->text, len, " /inside\n", 9)) ||
	    !HOLDS(memmem(rooted->text, len, want, strlen(want))))
		return 1;
	return HOLDS(reads_all(&reader, 100)) ? 0 : 1;
}

TEST(from_a_root_of_the_reader)
{
	static struct rooted rooted;
	struct procmap_child child;
	char dir[PATH_MAX / 2];
	int ret;

	ASSERT_EQ(0, procmap_tmp_dir(dir, sizeof(dir)));
	rooted.dir = dir;
	memset(space, 0, sizeof(space));
	ASSERT_EQ(0, procmap_child_start(&child, reads_from_root, &rooted));
	ret = procmap_child_wait(&child);
	EXPECT_EQ(0, kinds_remove(dir));
	if (ret == ROOT_REFUSED && geteuid())
		SKIP(return, "%s: needs root, or user namespaces (CONFIG_USER_NS)",
		     _metadata->name);
	EXPECT_EQ(0, ret);
}

TEST_HARNESS_MAIN
