// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel must read only regular files for a build ID. Other files can be
 * mapped, too: reading a socket would take its bytes, and reading a ring or a
 * device could do anything.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>

#include "elf_image.h"
#include "procmap_harness.h"

#define SHA1_SIZE	20

/* Does a query say that there is a file, but no build ID? */
static bool has_none(const void *at)
{
	struct procmap_call call;
	int ret = procmap_ask_self(at, &call);

	return HOLDS(!ret) && HOLDS(call.q.inode) && HOLDS(!call.q.build_id_size) &&
	       HOLDS(call.build_id[0] == PROCMAP_POISON);
}

/* Make both ends of a connection, over the loopback device of a network namespace of its own. */
static bool connect_both(int ends[2])
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!HOLDS(!ioctl(listener, SIOCSIFFLAGS, &lo)) ||
	    !HOLDS(!bind(listener, (struct sockaddr *)&addr, len)) ||
	    !HOLDS(!listen(listener, 1)) ||
	    !HOLDS(!getsockname(listener, (struct sockaddr *)&addr, &len)) ||
	    !HOLDS(!connect(ends[0], (struct sockaddr *)&addr, len)))
		return false;
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return HOLDS(ends[1] >= 0);
}

#define NO_NETWORK	2

/*
 * The bytes that have arrived look like an ELF file with a build ID. All of
 * them must be there afterwards.
 */
static int asks_about_a_connection(struct procmap_child *child, void *arg)
{
	char got[ELF_IMAGE_SIZE] = "";
	struct elf_image image;
	int ends[2];
	char *map;

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET))
		return NO_NETWORK;
	if (!connect_both(ends))
		return 1;
	map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, ends[1], 0);
	/* Nothing has arrived yet. The query must not wait for it. */
	if (!HOLDS(map != MAP_FAILED) || !HOLDS(has_none(map)))
		return 1;
	elf_image_make(&image, true, SHA1_SIZE, 50);
	if (!HOLDS(write(ends[0], image.data, sizeof(got)) == sizeof(got)) ||
	    !HOLDS(recv(ends[1], got, sizeof(got), MSG_PEEK | MSG_WAITALL) == sizeof(got)) ||
	    !HOLDS(has_none(map)))
		return 1;
	memset(got, 0, sizeof(got));
	return HOLDS(recv(ends[1], got, sizeof(got), MSG_DONTWAIT) == sizeof(got)) &&
	       HOLDS(!memcmp(got, image.data, sizeof(got))) ? 0 : 1;
}

TEST(bytes_of_a_connection_stay_in_it)
{
	struct procmap_child child;
	int status;

	ASSERT_EQ(0, procmap_child_start(&child, asks_about_a_connection, NULL));
	status = procmap_child_wait(&child);
	if (status == NO_NETWORK)
		SKIP(return, "%s: kernel without network namespaces (CONFIG_NET_NS)",
		     _metadata->name);
	EXPECT_EQ(0, status);
}

TEST(ring_of_perf)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
		.size = sizeof(attr), .exclude_kernel = 1, .exclude_hv = 1,
	};
	size_t size = 2 * sysconf(_SC_PAGESIZE);
	int fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	char *map;

	if (access("/proc/sys/kernel/perf_event_paranoid", F_OK))
		SKIP(return, "%s: kernel without perf events (CONFIG_PERF_EVENTS)",
		     _metadata->name);
	if (fd < 0 && errno == EACCES && geteuid())
		SKIP(return, "%s: perf events (perf_event_paranoid is 3): needs root",
		     _metadata->name);
	ASSERT_LE(0, fd);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_none(map));
	munmap(map, size);
	close(fd);
}

TEST(ring_of_io_uring)
{
	struct io_uring_params params = {};
	int fd = syscall(__NR_io_uring_setup, 4, &params);
	size_t size = params.sq_off.array + params.sq_entries * sizeof(__u32);
	struct elf_image image;
	char *map;

	ASSERT_LE(0, fd)
		TH_LOG("no io_uring (CONFIG_IO_URING)");
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_none(map));
	munmap(map, size);

	/* The entries are writable memory, which can contain an image. */
	size = params.sq_entries * sizeof(struct io_uring_sqe);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	elf_image_make(&image, true, SHA1_SIZE, 51);
	ASSERT_LE(sizeof(image.data), size);
	memcpy(map, image.data, sizeof(image.data));
	EXPECT_TRUE(has_none(map));
	EXPECT_EQ(0, memcmp(map, image.data, sizeof(image.data)));
	munmap(map, size);
	close(fd);
}

/* A private mapping of the device is anonymous memory that shows the device's name. */
TEST(device_of_zeros)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	struct elf_image image;
	char *map;

	ASSERT_LE(0, fd);
	map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE((long)MAP_FAILED, (long)map);
	EXPECT_TRUE(has_none(map));
	elf_image_make(&image, true, SHA1_SIZE, 52);
	memcpy(map, image.data, sizeof(image.data));
	EXPECT_TRUE(has_none(map));
	munmap(map, sysconf(_SC_PAGESIZE));
	close(fd);
}

TEST_HARNESS_MAIN
