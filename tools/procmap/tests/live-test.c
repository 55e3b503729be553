// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is the cache of the library ever stale? Needs a kernel with scans.
 *
 * A thread changes mappings of this process all the time, and counts: the number
 * is odd while it is at work. Another thread looks up the same mappings. If the
 * number was even and the same before and after a look-up, the answer must be
 * what that number stands for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../libprocmap.h"
#include "tap.h"

#define CODE		(PROCMAP_EXEC | PROCMAP_FILE)
/* Far from where the kernel puts mappings: nothing else may come to a hole. */
#define BASE		((void *)0x100000000000)
#define PLACES		8
#define STATES		4
#define LOOKUPS		200000
/* One in so many changes is one of code. */
#define CODE_EVERY	16

/**
 * struct live - what both threads share
 * @base: where the mappings are, every second page
 * @fd: a file to map
 * @changes: twice the number of changes so far, and 1 if one is being made
 * @state: of each place: 0: nothing; 1: memory; 2, 3: code at offset 0, or 1 page
 * @stop: the writer shall end
 */
static struct live {
	char *base;
	size_t page;
	int fd;
	unsigned long changes;
	unsigned int state[PLACES];
	bool stop;
} live;

static char *place(unsigned int nr)
{
	return live.base + (2 * nr + 1) * live.page;
}

static bool make_state(unsigned int nr, unsigned int state)
{
	const bool code = state >= 2;
	const int flags = MAP_FIXED | MAP_PRIVATE | (code ? 0 : MAP_ANONYMOUS);

	if (!state)
		return !munmap(place(nr), live.page);
	return mmap(place(nr), live.page, code ? PROT_READ | PROT_EXEC : PROT_READ, flags,
		    code ? live.fd : -1, state == 3 ? live.page : 0) == place(nr);
}

/* Code is mapped at places of its own, so that changes of it are rare. */
static void *write_states(void *arg)
{
	unsigned int random = 1, nr, state;

	while (!__atomic_load_n(&live.stop, __ATOMIC_RELAXED)) {
		nr = rand_r(&random) % (PLACES / 2);
		state = rand_r(&random) % 2;
		if (!(rand_r(&random) % CODE_EVERY)) {
			nr += PLACES / 2;
			state = rand_r(&random) % STATES;
		}
		__atomic_fetch_add(&live.changes, 1, __ATOMIC_SEQ_CST);
		if (!make_state(nr, state))
			abort();
		__atomic_store_n(&live.state[nr], state, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&live.changes, 1, __ATOMIC_SEQ_CST);
		/* Leave time for some look-ups between two changes. */
		if (!(rand_r(&random) % 4))
			usleep(rand_r(&random) % 200);
	}
	return arg;
}

/* Is this the answer for a place in this state? */
static bool is_right(unsigned int nr, unsigned int state, unsigned int flags, int found,
		     const struct procmap_vma *vma)
{
	const uint64_t at = (uintptr_t)place(nr);

	if (!state || ((flags & CODE) && state < 2))
		return found && errno == ENOENT;
	return !found && vma->start == at && vma->end == at + live.page &&
	       !(vma->flags & PROCMAP_EXEC) == (state < 2) &&
	       vma->offset == (state == 3 ? live.page : 0);
}

/* Look up until enough answers could be judged. Returns the number of wrong ones. */
static unsigned long look_up(enum procmap_backend backend, unsigned int flags,
			     unsigned long lookups)
{
	struct procmap *pm = procmap_open(getpid(), backend);
	unsigned int random = 2, nr, state;
	struct procmap_vma vma = PROCMAP_VMA_INIT;
	unsigned long before, judged = 0, wrong = 0;
	int found;

	while (CHECK(pm) && judged < lookups) {
		nr = rand_r(&random) % PLACES;
		before = __atomic_load_n(&live.changes, __ATOMIC_SEQ_CST);
		state = __atomic_load_n(&live.state[nr], __ATOMIC_SEQ_CST);
		found = procmap_find(pm, (uintptr_t)place(nr), flags, &vma);
		if (before & 1 || before != __atomic_load_n(&live.changes, __ATOMIC_SEQ_CST))
			continue;
		judged++;
		wrong += !is_right(nr, state, flags, found, &vma);
	}
	procmap_vma_free(&vma);
	procmap_close(pm);
	return wrong;
}

static void test_look_ups(enum procmap_backend backend, unsigned int flags, const char *what)
{
	pthread_t writer;

	tap_begin(what);
	live.stop = false;
	CHECK(!pthread_create(&writer, NULL, write_states, NULL));
	CHECK(!look_up(backend, flags, LOOKUPS));
	__atomic_store_n(&live.stop, true, __ATOMIC_RELAXED);
	CHECK(!pthread_join(writer, NULL));
	tap_end();
}

static bool set_up(void)
{
	live.page = sysconf(_SC_PAGESIZE);
	live.base = BASE;
	live.fd = memfd_create("code", MFD_CLOEXEC);
	return live.fd >= 0 && !ftruncate(live.fd, 2 * live.page);
}

int main(void)
{
	struct procmap *pm;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("TAP version 13");
	tap_begin("the kernel has scans, and the library takes them");
	pm = procmap_open(getpid(), PROCMAP_BACKEND_AUTO);
	CHECK(pm && procmap_get_backend(pm) == PROCMAP_BACKEND_SCAN);
	procmap_close(pm);
	CHECK(set_up());
	tap_end();
	test_look_ups(PROCMAP_BACKEND_SCAN, 0, "look-ups of all VMAs are never stale");
	test_look_ups(PROCMAP_BACKEND_SCAN, CODE, "look-ups of code are never stale");
	test_look_ups(PROCMAP_BACKEND_QUERY, CODE, "nor are queries");
	return tap_finish();
}
