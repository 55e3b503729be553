// SPDX-License-Identifier: GPL-2.0
/* The common part of all victims: see victim.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "victim.h"

/*
 * In a victim: get two pages of its own, the first one filled. Returns the
 * second page, which the caller replaces or uses as it is; NULL: no memory.
 */
char *victim_pair(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *pair = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (pair == MAP_FAILED)
		return NULL;
	memset(pair, VICTIM_BYTE, page);
	return pair + page;
}

/*
 * In a victim: map the file of its server. Returns the address, or NULL.
 * @where: address, or NULL for any
 *
 * No descriptor stays open, because a later close() would send a request to the
 * server.
 */
char *victim_map_file(struct victim *victim, char *where, size_t size, int flags)
{
	int fd = fuse_server_open(&victim->server, 0, O_RDWR);
	char *map;

	if (fd < 0)
		return NULL;
	map = mmap(where, size, PROT_READ | PROT_WRITE, flags | (where ? MAP_FIXED : 0), fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/*
 * Start the process of a victim.
 * @fn: its function, with the victim as argument; it sends the address and then
 *	waits for a message before it ends
 */
int victim_run(struct victim *victim, int (*fn)(struct procmap_child *child, void *arg))
{
	__u64 addr;
	int ret = procmap_child_start(&victim->child, fn, victim);

	if (ret)
		return ret;
	victim->child_runs = true;
	victim->pid = victim->child.pid;
	ret = procmap_recv(&victim->child, &addr);
	victim->addr = (char *)(unsigned long)addr;
	return ret;
}

/*
 * Start a server for a victim, with one file.
 * @init_flags: see fuse_server_start()
 */
int victim_serve(struct victim *victim, unsigned int pages, unsigned int init_flags)
{
	struct fuse_server_file file = { .size = pages * sysconf(_SC_PAGESIZE) };
	void *data = malloc(file.size);
	int ret;

	if (!data)
		return -ENOMEM;
	file.data = memset(data, VICTIM_BYTE, file.size);
	ret = fuse_server_start(&victim->server, &file, 1, init_flags);
	free(data);
	victim->server_runs = !ret;
	victim->file_size = file.size;
	return ret;
}

/*
 * Start a victim, and wait until it is in its state. Returns 0; -EDEADLK: it
 * did not get into its state; or another -errno.
 * @victim: the victim; victim_stop() ends it, also when this function fails
 */
int victim_start(struct victim *victim, const struct victim_kind *kind)
{
	*victim = (struct victim) { .kind = kind, .file = -1, .loop = -1, .go = { -1, -1 } };
	if (pipe2(victim->go, O_CLOEXEC))
		return -errno;
	return kind->start(victim);
}

/*
 * End a victim and everything that belongs to it.
 * @victim: the victim; it may be released or not, or half started
 */
void victim_stop(struct victim *victim)
{
	if (victim->child_runs)
		kill(victim->child.pid, SIGKILL);
	if (victim->pid > 0 && victim->pid != victim->child.pid)
		kill(victim->pid, SIGKILL);
	/* A killed process that waits for the server does not notice the kill, so release it. */
	if (victim->server_runs) {
		fuse_server_release(&victim->server, 0, FUSE_READ);
		fuse_server_release(&victim->server, 0, FUSE_WRITE);
		fuse_server_release(&victim->server, 0, FUSE_SETATTR);
		fuse_server_unlock(&victim->server);
	}
	if (victim->child_runs)
		procmap_child_wait(&victim->child);
	victim_swap_off(victim);
	close(victim->go[0]);
	close(victim->go[1]);
	close(victim->file);
	if (victim->server_runs)
		fuse_server_stop(&victim->server);
}
