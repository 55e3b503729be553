// SPDX-License-Identifier: GPL-2.0
/* Children of the target: see torture.h. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torture.h"
#include "uprobe.h"

/* A child that is left behind ends by itself. */
#define CHILD_SECONDS	(PROCMAP_HANG_MS / 1000)
#define CHILD_STEPS	16
/* A fork holds mmap_lock of the parent for a long time. */
#define FORK_PAUSE_US	5000

/* Readers query a child from now on, until it has gone. */
static void show_child(struct torture *t)
{
	__atomic_store_n(&t->child, getpid(), __ATOMIC_SEQ_CST);
}

/* The child must see the sentinels as its parent does. */
static int look_at_self(struct torture *t)
{
	int maps = maps_open(0);
	struct torture_query query;
	unsigned int i;

	if (maps < 0 || !uprobe_hit())
		return 1;
	show_child(t);
	for (i = 0; i < t->nr_regions; i++) {
		const struct torture_region *region = &t->region[i];

		if (region->kind == REGION_SENTINEL &&
		    !torture_ask(t, &query, maps, region->base, 0, TORTURE_NAME_ROOM))
			break;
	}
	close(maps);
	return 0;
}

static int become_program(struct torture *t)
{
	char * const argv[] = { "procmap_torture", "--exec-child", NULL };
	char * const envp[] = { NULL };

	show_child(t);
	execve("/proc/self/exe", argv, envp);
	return 1;
}

/* The program as a child of the target executes it. Returns the exit status. */
int torture_exec_child(void)
{
	size_t size = CHILD_STEPS * getpagesize();
	unsigned int i;
	char *map;

	alarm(CHILD_SECONDS);
	if (!uprobe_hit())
		return 1;
	for (i = 0; i < CHILD_STEPS; i++) {
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED || mprotect(map + size / 2, size / 2, PROT_READ) ||
		    munmap(map, size / 4) || sbrk(getpagesize()) == (void *)-1)
			return 1;
		usleep(100);
	}
	return 0;
}

/* Fork once, or fork and exec, and wait for the child. */
static void fork_once(struct torture *t, unsigned int actor, unsigned int *random)
{
	bool exec = torture_random(random, 2);
	pid_t pid;
	int status;

	usleep(FORK_PAUSE_US);
	pid = fork();
	if (!pid) {
		alarm(CHILD_SECONDS);
		_exit(exec ? become_program(t) : look_at_self(t));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		torture_fail(t, "fork() or waitpid() failed: errno %d", errno);
		return;
	}
	__atomic_store_n(&t->child, 0, __ATOMIC_SEQ_CST);
	torture_count(&t->ops[exec ? OP_EXEC : OP_FORK]);
	torture_count(&t->beat[actor]);
	if (status)
		torture_fail(t, "a child of the target ended with status 0x%x", status);
}

int torture_forks(struct torture *t, unsigned int actor)
{
	unsigned int random = torture_seed(t, actor);

	while (!torture_stopped(t))
		fork_once(t, actor, &random);
	return 0;
}
