/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for all tests of PROCMAP_QUERY: queries that check every byte the
 * kernel may write, the text of /proc/<pid>/maps as the oracle, and child
 * processes. Functions return 0 or a descriptor on success, and -errno on
 * failure.
 */
#ifndef SELFTEST_PROCMAP_UTIL_H
#define SELFTEST_PROCMAP_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <linux/fs.h>

#ifndef PROCMAP_QUERY
#error "<linux/fs.h> lacks PROCMAP_QUERY: run 'make headers_install' in the patched tree first"
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

#define PROCMAP_FILTERS	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |	\
			 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED |	\
			 PROCMAP_QUERY_FILE_BACKED_VMA)
#define PROCMAP_FLAGS	(PROCMAP_FILTERS | PROCMAP_QUERY_COVERING_OR_NEXT_VMA)

#define PROCMAP_POISON		0xa5
#define PROCMAP_GUARD_SIZE	64
#define PROCMAP_NAME_ROOM	8192
#define PROCMAP_ID_ROOM		64

/* What procmap_call() returns when the kernel wrote where it must not. */
#define PROCMAP_OVERRUN		(-ENOTRECOVERABLE)

/**
 * struct procmap_call - a query, its buffers, and guard bytes around them
 * @q: the argument; procmap_call_init() sets it to ask for the name and the
 *	build ID
 */
struct procmap_call {
	__u8 guard_front[PROCMAP_GUARD_SIZE];
	struct procmap_query q;
	__u8 guard_query[PROCMAP_GUARD_SIZE];
	char name[PROCMAP_NAME_ROOM];
	__u8 guard_name[PROCMAP_GUARD_SIZE];
	__u8 build_id[PROCMAP_ID_ROOM];
	__u8 guard_id[PROCMAP_GUARD_SIZE];
};

/**
 * struct maps_vma - one line of the text
 * @flags: PROCMAP_QUERY_VMA_* bits
 * @page_size: size of its pages, which the text does not show
 * @inode: inode of the file; 0 if there is none
 * @name: the name as printed, with a newline as \012; "" if there is none
 */
struct maps_vma {
	__u64 start;
	__u64 end;
	__u64 flags;
	__u64 page_size;
	__u64 offset;
	__u64 inode;
	__u32 dev_major;
	__u32 dev_minor;
	const char *name;
};

/**
 * struct maps_text - a whole /proc/<pid>/maps
 * @vma: the VMAs, in order of address
 * @gate: the line of [vsyscall], which is not a VMA of the process; its end is
 *	0 if there is no such line
 * @buf_size: size of @buf in bytes
 * @vma_size: size of @vma in bytes
 */
struct maps_text {
	struct maps_vma *vma;
	size_t nr;
	struct maps_vma gate;
	char *buf;
	size_t buf_size;
	size_t vma_size;
};

/*
 * The longest that one wait may take. Only a hang takes so long, on whatever
 * machine: no verdict may depend on it.
 */
#define PROCMAP_HANG_MS	(5 * 60 * 1000)

/*
 * Look until @cond is so. Returns false after PROCMAP_HANG_MS. For what the
 * kernel shows but tells nobody.
 */
#define UNTIL(cond)							\
	({								\
		unsigned int looks_ = 0;				\
		bool so_;						\
									\
		while (!(so_ = (cond)) && procmap_look_again(&looks_))	\
			;						\
		so_;							\
	})

int procmap_open(pid_t pid, const char *name);
int maps_open(pid_t pid);
int procmap_ioctl(int fd, void *arg);
bool procmap_supported(void);
bool procmap_kernel_lacks_it(void);

bool procmap_is_poison(const char *what, const void *from, const void *to);
void procmap_call_init(struct procmap_call *call, __u64 addr, __u64 flags);
int procmap_call(int fd, struct procmap_call *call);
int procmap_ask(int fd, __u64 addr, __u64 flags, struct procmap_call *call);
int procmap_ask_self(const void *addr, struct procmap_call *call);

int maps_text_read(int fd, struct maps_text *text);
int maps_text_read_pid(pid_t pid, struct maps_text *text);
void maps_text_free(struct maps_text *text);
const struct maps_vma *maps_text_match(const struct maps_text *text, __u64 addr,
				       __u64 flags);
const char *procmap_differs(const struct maps_vma *vma, const struct procmap_call *call);
int procmap_check(int fd, const struct maps_text *text, __u64 addr, __u64 flags);

/**
 * struct procmap_child - one process that a test talks to
 * @pid: its PID; 0 in the child itself
 * @sock: a SOCK_SEQPACKET socket to the other side
 */
struct procmap_child {
	pid_t pid;
	int sock;
};

pid_t procmap_fork(void);
int procmap_child_start(struct procmap_child *child,
			int (*fn)(struct procmap_child *child, void *arg), void *arg);
int procmap_child_open(struct procmap_child *child,
		       int (*fn)(struct procmap_child *child, void *arg), void *arg, __u64 *value);
int procmap_exec(struct procmap_child *child, const char *program);
int procmap_child_exec(struct procmap_child *child, const char *program);
int procmap_child_finish(struct procmap_child *child);
int procmap_child_kill(struct procmap_child *child);
long procmap_child_kill_in_call(struct procmap_child *child);
int procmap_child_wait(struct procmap_child *child);

int procmap_waits(struct procmap_child *child, void *arg);
int procmap_tell(struct procmap_child *child, __u64 value);

int procmap_send(struct procmap_child *child, __u64 value);
int procmap_recv(struct procmap_child *child, __u64 *value);
int procmap_sync(struct procmap_child *child);
int procmap_send_fd(struct procmap_child *child, int fd);
int procmap_recv_fd(struct procmap_child *child);

/* An option of a mount; a value NULL: a flag */
struct procmap_option {
	const char *name;
	const char *value;
};

int procmap_open_numbered(int dir, unsigned int number, int flags);
int procmap_write(int dir, const char *file, const char *text);
int procmap_write_number(int dir, const char *file, long number);
int procmap_mount(const char *type, const struct procmap_option *options);
void *procmap_share(size_t size);
bool procmap_has_anon_names(void);
int procmap_pin(int cpu);
long procmap_value(const char *path, const char *key);
ssize_t procmap_read_all(int fd, char *space, size_t size);
int procmap_drop_root(void);
int procmap_become_root(void);
int procmap_cached_pages(void *addr, size_t size);
__u64 procmap_page_info(const char *path, const char *at);
int procmap_uffd_open(void);
int procmap_uffd(void *at, size_t size, __u64 mode);
int procmap_loop(int file, char *path, size_t size);
void procmap_grow_stack(void);
bool procmap_set_brk(unsigned long brk);
int procmap_set_mm(unsigned long start_brk, unsigned long brk, unsigned long stack);

bool procmap_look_again(unsigned int *looks);
bool procmap_holds(bool cond, const char *text, const char *file, int line);

/*
 * Prints a false @cond. For functions that run in a child, because the harness
 * does not see failures there.
 */
#define HOLDS(cond) procmap_holds(cond, #cond, __FILE__, __LINE__)

/* Skip the whole program if @lacking says what the kernel or the caller lacks. */
#define PROCMAP_REQUIRE(lacking)					\
	static void __attribute__((constructor)) require_more(void)	\
	{								\
		const char *what = lacking;				\
									\
		if (what)						\
			ksft_exit_skip("%s\n", what);			\
	}

#endif /* SELFTEST_PROCMAP_UTIL_H */
