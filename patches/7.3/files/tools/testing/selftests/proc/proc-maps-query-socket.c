// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_QUERY of a mapped socket: a query for the build ID must leave the data in the socket to
 * its owner.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/fs.h>
#include "kselftest_harness.h"

#define DATA_SIZE 256

FIXTURE(socket)
{
	int listener, sender, receiver;
	char *map;
};

/* A network of its own, so that the loopback device can be used by anybody. */
static int enter_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd, err;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	err = ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return err;
}

FIXTURE_SETUP(socket)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);

	if (enter_network())
		SKIP(return, "needs CONFIG_NET_NS, and root or CONFIG_USER_NS");

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, self->listener);
	ASSERT_EQ(0, bind(self->listener, (struct sockaddr *)&addr, len));
	ASSERT_EQ(0, listen(self->listener, 1));
	ASSERT_EQ(0, getsockname(self->listener, (struct sockaddr *)&addr, &len));
	self->sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, self->sender);
	ASSERT_EQ(0, connect(self->sender, (struct sockaddr *)&addr, len));
	self->receiver = accept(self->listener, NULL, NULL);
	ASSERT_LE(0, self->receiver);
	self->map = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, self->receiver, 0);
	ASSERT_NE(MAP_FAILED, self->map);
}

FIXTURE_TEARDOWN(socket)
{
	if (!self->map)
		return;
	munmap(self->map, getpagesize());
	close(self->receiver);
	close(self->sender);
	close(self->listener);
}

TEST_F(socket, build_id_leaves_data)
{
	char sent[DATA_SIZE], received[DATA_SIZE] = "", id[20];
	struct procmap_query q = {
		.size = sizeof(q),
		.query_addr = (uintptr_t)self->map,
		.build_id_size = sizeof(id),
		.build_id_addr = (uintptr_t)id,
	};
	int maps;

	memset(sent, 'a', sizeof(sent));
	ASSERT_EQ(DATA_SIZE, send(self->sender, sent, sizeof(sent), 0));
	/* Returns when all of it has arrived. */
	ASSERT_EQ(DATA_SIZE,
		  recv(self->receiver, received, sizeof(received), MSG_PEEK | MSG_WAITALL));

	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, maps);
	ASSERT_EQ(0, ioctl(maps, PROCMAP_QUERY, &q));
	EXPECT_EQ((uintptr_t)self->map, q.vma_start);
	EXPECT_EQ(0, q.build_id_size);
	EXPECT_EQ(DATA_SIZE, recv(self->receiver, received, sizeof(received), MSG_DONTWAIT));
	EXPECT_EQ(0, memcmp(sent, received, sizeof(sent)));
	close(maps);
}

TEST_HARNESS_MAIN
