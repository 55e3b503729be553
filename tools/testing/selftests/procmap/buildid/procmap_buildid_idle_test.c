// SPDX-License-Identifier: GPL-2.0
/*
 * A program does its work next to threads of idle priority that ask for build
 * IDs, of files that take as long as any file may. Whatever they cost is on
 * their own account: nobody of normal priority works for them.
 *
 * The test compares the time that passes with the processor time of all of them.
 * That is exact if the machine has one processor.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "elf_image.h"
#include "procmap_harness.h"
#include "stall.h"

#define SHA1_SIZE	20
#define NR_CALLERS	16
/* Each empty note takes one of the 4096 reads that a file may take. */
#define EMPTY		4000
#define FILE_SIZE	(ELF_IMAGE_SIZE + EMPTY * ELF_IMAGE_EMPTY)
/* Half a second if the processor does one of these in a nanosecond. */
#define WORK		200000000
#define CPU		0

FIXTURE(idle) {
	struct elf_image image;
	char *map;
	int maps;
	unsigned long *asked;
	struct procmap_child caller[NR_CALLERS];
};

FIXTURE_SETUP(idle)
{
	static char data[FILE_SIZE];
	int fd = memfd_create("image", MFD_CLOEXEC);

	elf_image_make(&self->image, true, SHA1_SIZE, 50);
	elf_image_put(&self->image, data, ELF_IMAGE_NOTE, EMPTY);
	ASSERT_EQ(FILE_SIZE, write(fd, data, FILE_SIZE));
	self->map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	self->asked = procmap_share(sizeof(*self->asked));
	ASSERT_NE((long)MAP_FAILED, (long)self->map);
	ASSERT_NE(NULL, (void *)self->asked);
	self->maps = maps_open(0);
	ASSERT_LE(0, self->maps);
	ASSERT_EQ(0, procmap_pin(CPU));
}

FIXTURE_TEARDOWN(idle)
{
}

static int asks_idly(struct procmap_child *child, void *arg)
{
	const struct _test_data_idle *self = arg;

	if (!HOLDS(!stall_idle()))
		return 1;
	while (HOLDS(elf_image_ask(self->maps, self->map, &self->image) == SHA1_SIZE))
		__atomic_fetch_add(self->asked, 1, __ATOMIC_RELAXED);
	return 1;
}

static void work(void)
{
	unsigned int i;

	for (i = 0; i < WORK; i++)
		asm volatile("" : "+r" (i));
}

static __u64 clock_ns(clockid_t clock)
{
	struct timespec ts = { };

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Returns the processor time of this program, and of those that ask. */
static __u64 used_ns(const struct _test_data_idle *self)
{
	__u64 ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	clockid_t clock;
	unsigned int i;

	for (i = 0; i < NR_CALLERS; i++)
		if (HOLDS(!clock_getcpuclockid(self->caller[i].pid, &clock)))
			ns += clock_ns(clock);
	return ns;
}

TEST_F(idle, threads_that_ask_do_not_burn_the_processor_of_others)
{
	unsigned long before, asked;
	__u64 passed, used;
	unsigned int i;

	for (i = 0; i < NR_CALLERS; i++)
		ASSERT_EQ(0, procmap_child_start(&self->caller[i], asks_idly, self));
	ASSERT_TRUE(UNTIL(__atomic_load_n(self->asked, __ATOMIC_RELAXED) >= NR_CALLERS));
	before = *self->asked;
	passed = stall_now_ns();
	used = used_ns(self);
	/* Their share is small: a whole query of theirs may take more than one turn. */
	do {
		work();
		asked = __atomic_load_n(self->asked, __ATOMIC_RELAXED) - before;
	} while (!asked);
	used = used_ns(self) - used;
	passed = stall_now_ns() - passed;
	for (i = 0; i < NR_CALLERS; i++)
		EXPECT_EQ(256 + SIGKILL, procmap_child_kill(&self->caller[i]));
	TH_LOG("%lu queries of %u idle threads: %llu of %llu us are on their account or ours",
	       asked, NR_CALLERS, (unsigned long long)used / 1000,
	       (unsigned long long)passed / 1000);
	EXPECT_GE(used * 50, passed * 49);
}

TEST_HARNESS_MAIN
