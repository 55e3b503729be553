// SPDX-License-Identifier: GPL-2.0
/* Build IDs of a stack that may be read from disk, with addresses that have none. */
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <test_progs.h>

#include "stack_build_id_sleepable.skel.h"

#ifdef __x86_64__
/* What is on the way to the owner of the socket */
static const char data[256] = "data";

struct frame {
	struct frame *next;
	unsigned long ret;
};

/* The program runs on the first instruction. */
static noinline void probed(void)
{
	asm volatile("");
}

/* Call it with this frame as that of the caller. */
static void call_below(struct frame *frame)
{
	asm volatile("sub	$128, %%rsp\n"
		     "push	%%rbp\n"
		     "mov	%0, %%rbp\n"
		     "call	*%1\n"
		     "pop	%%rbp\n"
		     "add	$128, %%rsp\n"
		     : "+D" (frame) : "S" (probed)
		     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
}

/* A page of this program, mapped with a hole below and above it. */
static unsigned long map_between_holes(size_t page)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *hole, *map;

	if (!ASSERT_GE(fd, 0, "open"))
		return 0;
	hole = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NEQ(hole, MAP_FAILED, "mmap holes");
	map = mmap(hole + page, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	ASSERT_EQ(map, hole + page, "mmap file");
	ASSERT_OK(munmap(hole, page), "munmap hole below");
	ASSERT_OK(munmap(map + page, page), "munmap hole above");
	close(fd);
	return (unsigned long)map;
}

static int loopback_up(int fd)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	return ioctl(fd, SIOCSIFFLAGS, &lo);
}

/* A connection: what is sent to sockets[1] is received by sockets[0]. */
static int connect_sockets(int sockets[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sockets[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = loopback_up(listener) || bind(listener, (struct sockaddr *)&addr, len) ||
	      listen(listener, 1) || getsockname(listener, (struct sockaddr *)&addr, &len) ||
	      connect(sockets[1], (struct sockaddr *)&addr, len);
	sockets[0] = err ? -1 : accept(listener, NULL, NULL);
	close(listener);
	return sockets[0] < 0;
}

/* An address in a mapped socket with data, which stays mapped. */
static unsigned long map_socket(int sockets[2], size_t page)
{
	char received[sizeof(data)];
	void *map;

	if (!ASSERT_OK(connect_sockets(sockets), "connect"))
		return 0;
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, sockets[0], 0);
	if (!ASSERT_NEQ(map, MAP_FAILED, "mmap socket"))
		return 0;
	ASSERT_EQ(send(sockets[1], data, sizeof(data), 0), sizeof(data), "send");
	/* Returns when all of it has arrived. */
	ASSERT_EQ(recv(sockets[0], received, sizeof(received), MSG_PEEK | MSG_WAITALL),
		  sizeof(data), "peek");
	return (unsigned long)map + 16;
}

/* A frame with a build ID has its offset in the place of the address. */
static bool has_frame(struct stack_build_id_sleepable *skel, int status, __u64 addr)
{
	long i, nr = skel->bss->size / (long)sizeof(skel->bss->frames[0]);

	for (i = 0; i < nr; i++)
		if (skel->bss->frames[i].status == status && skel->bss->frames[i].ip == addr)
			return true;
	return false;
}

static bool has_no_build_id(struct stack_build_id_sleepable *skel, unsigned long addr)
{
	return has_frame(skel, BPF_STACK_BUILD_ID_IP, addr);
}

static void check_stack(struct stack_build_id_sleepable *skel, int sockets[2])
{
	struct frame frames[5] = { { &frames[1] }, { &frames[2] }, { &frames[3] }, { &frames[4] } };
	unsigned long page = getpagesize(), map;
	char received[sizeof(data)];

	frames[0].ret = map_socket(sockets, page);
	if (!frames[0].ret)
		return;
	skel->links.probe = bpf_program__attach_uprobe(skel->progs.probe, false, 0,
						       "/proc/self/exe", get_uprobe_offset(probed));
	if (!ASSERT_OK_PTR(skel->links.probe, "attach"))
		return;
	/* Last, so that nothing else is mapped there. */
	map = map_between_holes(page);
	if (!map)
		return;
	frames[1].ret = map - 16;
	frames[2].ret = map + page - 16;
	frames[3].ret = map + page;
	frames[4].ret = ULONG_MAX;
	call_below(frames);

	ASSERT_EQ(skel->bss->frames[0].status, BPF_STACK_BUILD_ID_VALID, "code has a build ID");
	ASSERT_TRUE(has_no_build_id(skel, frames[0].ret), "a socket has none");
	ASSERT_TRUE(has_no_build_id(skel, frames[1].ret), "a hole below has none");
	ASSERT_TRUE(has_frame(skel, BPF_STACK_BUILD_ID_VALID, page - 16), "a mapping has one");
	ASSERT_TRUE(has_no_build_id(skel, frames[3].ret), "a hole above has none");
	ASSERT_TRUE(has_no_build_id(skel, frames[4].ret), "the last address has none");
	ASSERT_EQ(recv(sockets[0], received, sizeof(received), MSG_DONTWAIT), sizeof(data),
		  "data that is left");
	ASSERT_OK(memcmp(received, data, sizeof(data)), "the same data");
}

void test_stack_build_id_sleepable(void)
{
	struct stack_build_id_sleepable *skel = stack_build_id_sleepable__open_and_load();
	int sockets[2] = { -1, -1 };

	if (!ASSERT_OK_PTR(skel, "open_and_load"))
		return;
	check_stack(skel, sockets);
	close(sockets[0]);
	close(sockets[1]);
	stack_build_id_sleepable__destroy(skel);
}
#else
void test_stack_build_id_sleepable(void)
{
	test__skip();
}
#endif
