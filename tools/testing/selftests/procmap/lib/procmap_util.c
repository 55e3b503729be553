// SPDX-License-Identifier: GPL-2.0
/* Queries, text oracle and children: see procmap_util.h. */
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <linux/userfaultfd.h>

#include "procmap_util.h"

#define NOBODY	65534

/*
 * Open a file of /proc/<pid> for reading.
 * @pid: the process; 0: the caller
 */
int procmap_open(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int maps_open(pid_t pid)
{
	return procmap_open(pid, "maps");
}

/*
 * Plain PROCMAP_QUERY, without any checks. Returns what ioctl() returned, but
 * -errno on failure.
 * @arg: the argument, good or bad
 */
int procmap_ioctl(int fd, void *arg)
{
	int ret = ioctl(fd, PROCMAP_QUERY, arg);

	return ret < 0 ? -errno : ret;
}

/*
 * Does this kernel know the command? Returns false if the kernel answers
 * ENOTTY.
 *
 * The argument cannot be read, so only a kernel without the command answers
 * ENOTTY. The tests judge every other answer.
 */
bool procmap_supported(void)
{
	int fd = maps_open(0);
	int ret;

	if (fd < 0)
		return true;
	ret = procmap_ioctl(fd, NULL);
	close(fd);
	return ret != -ENOTTY;
}

/*
 * Set up a query for everything, with poisoned buffers.
 * @call: what to set up; @call->q may be changed afterwards
 */
void procmap_call_init(struct procmap_call *call, __u64 addr, __u64 flags)
{
	memset(call, PROCMAP_POISON, sizeof(*call));
	call->q.size = sizeof(call->q);
	call->q.query_flags = flags;
	call->q.query_addr = addr;
	call->q.vma_name_size = sizeof(call->name);
	call->q.build_id_size = sizeof(call->build_id);
	call->q.vma_name_addr = (unsigned long)call->name;
	call->q.build_id_addr = (unsigned long)call->build_id;
}

/* Has the kernel left this memory alone? Returns false if not, with a complaint on stderr. */
bool procmap_is_poison(const char *what, const void *from, const void *to)
{
	const __u8 *p;

	for (p = from; p < (const __u8 *)to; p++) {
		if (*p != PROCMAP_POISON) {
			fprintf(stderr, "# %s: byte %td of %td is 0x%02x, written by the kernel\n",
				what, p - (const __u8 *)from,
				(const __u8 *)to - (const __u8 *)from, *p);
			return false;
		}
	}
	return true;
}

/* If the caller made a buffer smaller, its guard begins after the new size. */
static bool buffers_intact(const struct procmap_call *call, __u32 name_end, __u32 id_end)
{
	if (call->q.vma_name_addr == (unsigned long)call->name &&
	    !procmap_is_poison("name", call->name + name_end, call->guard_name))
		return false;
	if (call->q.build_id_addr == (unsigned long)call->build_id &&
	    !procmap_is_poison("build ID", call->build_id + id_end, call->guard_id))
		return false;
	return procmap_is_poison("before the query", call->guard_front, &call->q) &&
	       procmap_is_poison("after the query", call->guard_query, call->name) &&
	       procmap_is_poison("after the name", call->guard_name, call->build_id) &&
	       procmap_is_poison("after the build ID", call->guard_id, call + 1);
}

static bool inputs_kept(const struct procmap_query *is, const struct procmap_query *was)
{
	return is->size == was->size && is->query_flags == was->query_flags &&
	       is->query_addr == was->query_addr && is->vma_name_addr == was->vma_name_addr &&
	       is->build_id_addr == was->build_id_addr;
}

/*
 * Query, and check that nothing but the answer was written. Returns 0, -errno,
 * or PROCMAP_OVERRUN if one of these rules is broken.
 * @call: from procmap_call_init()
 *
 * On success the input fields must be unchanged, and the kernel may write only
 * as many bytes of each buffer as the answer counts. On an error the whole
 * struct must be unchanged, and the kernel must not write beyond the given
 * buffer sizes.
 */
int procmap_call(int fd, struct procmap_call *call)
{
	struct procmap_query was = call->q;
	int ret = procmap_ioctl(fd, &call->q);

	if (ret) {
		if (!memcmp(&was, &call->q, sizeof(was)) &&
		    buffers_intact(call, was.vma_name_size, was.build_id_size))
			return ret;
	} else if (inputs_kept(&call->q, &was) &&
		   call->q.vma_name_size <= was.vma_name_size &&
		   call->q.build_id_size <= was.build_id_size &&
		   buffers_intact(call, call->q.vma_name_size, call->q.build_id_size)) {
		return 0;
	}
	fprintf(stderr, "# a query that returned %d wrote where it must not\n", ret);
	return PROCMAP_OVERRUN;
}

/* procmap_call_init() and procmap_call() in one. Returns as procmap_call(). */
int procmap_ask(int fd, __u64 addr, __u64 flags, struct procmap_call *call)
{
	procmap_call_init(call, addr, flags);
	return procmap_call(fd, call);
}

/*
 * Ask for the VMA that covers an address of the caller. Returns as
 * procmap_call(), or the -errno of opening the maps file.
 */
int procmap_ask_self(const void *addr, struct procmap_call *call)
{
	int fd = maps_open(0);
	int ret;

	if (fd < 0)
		return fd;
	ret = procmap_ask(fd, (unsigned long)addr, 0, call);
	close(fd);
	return ret;
}

static __u64 huge_page_size(void)
{
	static __u64 size;
	long kb;

	if (!size) {
		kb = procmap_value("/proc/meminfo", "Hugepagesize:");
		size = kb > 0 ? 1024 * kb : 1;
	}
	return size;
}

static __u64 page_size_of(const char *name)
{
	if (!strcmp(name, "/anon_hugepage (deleted)"))
		return huge_page_size();
	return sysconf(_SC_PAGESIZE);
}

/* @line ends with a NUL in place of its newline. */
static int parse_line(char *line, struct maps_vma *vma)
{
	char perm[5];
	int pos = -1;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &vma->start, &vma->end, perm,
		   &vma->offset, &vma->dev_major, &vma->dev_minor, &vma->inode, &pos) != 7)
		return -EPROTO;
	if (pos < 0 || line[pos] != ' ')
		return -EPROTO;
	vma->name = line + pos + strspn(line + pos, " ");
	vma->flags = (perm[0] == 'r' ? PROCMAP_QUERY_VMA_READABLE : 0) |
		     (perm[1] == 'w' ? PROCMAP_QUERY_VMA_WRITABLE : 0) |
		     (perm[2] == 'x' ? PROCMAP_QUERY_VMA_EXECUTABLE : 0) |
		     (perm[3] == 's' ? PROCMAP_QUERY_VMA_SHARED : 0);
	vma->page_size = page_size_of(vma->name);
	return 0;
}

static int parse_text(struct maps_text *text, char *end)
{
	char *line = text->buf;

	text->nr = 0;
	memset(&text->gate, 0, sizeof(text->gate));
	while (line < end) {
		struct maps_vma *vma = &text->vma[text->nr];
		char *newline = memchr(line, '\n', end - line);

		if (!newline || text->nr == text->vma_size / sizeof(*vma))
			return -EPROTO;
		*newline = '\0';
		if (parse_line(line, vma))
			return -EPROTO;
		if (strcmp(vma->name, "[vsyscall]"))
			text->nr++;
		else
			text->gate = *vma;
		line = newline + 1;
	}
	return 0;
}

/*
 * Read a file from its position to its end. Returns the number of bytes, or
 * -errno; -EFBIG: @space is too small.
 * @space: gets the contents, with a NUL after it
 */
ssize_t procmap_read_all(int fd, char *space, size_t size)
{
	size_t len = 0;
	ssize_t got;

	do {
		got = read(fd, space + len, size - len);
		if (got < 0)
			return -errno;
		len += got;
	} while (got && len < size);
	if (len == size)
		return -EFBIG;
	space[len] = '\0';
	return len;
}

static void *map_space(size_t size)
{
	void *space = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return space == MAP_FAILED ? NULL : space;
}

/* A line of text has at least 41 bytes, so @vma never needs more space. */
static int text_space(struct maps_text *text, size_t size)
{
	text->buf_size = size;
	text->vma_size = size / 41 * sizeof(*text->vma);
	text->buf = map_space(text->buf_size);
	text->vma = map_space(text->vma_size);
	if (text->buf && text->vma)
		return 0;
	maps_text_free(text);
	return -ENOMEM;
}

/*
 * Grow the stack before the text is read. If it grew later, its VMA would
 * differ from what the text shows.
 */
void procmap_grow_stack(void)
{
	char space[128 * 1024];

	space[0] = 0;
	asm volatile("" : : "r" (space) : "memory");
}

/*
 * Read and parse the whole text, from its start. Returns 0 or -errno. -EPROTO:
 * a line could not be parsed.
 * @fd: descriptor of a maps file; its offset is at the end afterwards
 * @text: gets the lines; maps_text_free() releases them
 *
 * The function maps all memory before it reads. So the text of the caller's own
 * address space is still right when the function returns.
 */
int maps_text_read(int fd, struct maps_text *text)
{
	size_t size = 64 * 1024;
	ssize_t len;
	int ret;

	huge_page_size();
	procmap_grow_stack();
	for (;;) {
		ret = text_space(text, size);
		if (ret)
			return ret;
		len = lseek(fd, 0, SEEK_SET) ? -errno :
					       procmap_read_all(fd, text->buf, text->buf_size);
		if (len != -EFBIG)
			break;
		maps_text_free(text);
		size *= 4;
	}
	ret = len < 0 ? len : parse_text(text, text->buf + len);
	if (ret)
		maps_text_free(text);
	return ret;
}

/*
 * maps_text_read() on a descriptor of its own.
 * @pid: the process; 0: the caller
 * @text: gets the lines; maps_text_free() releases them
 */
int maps_text_read_pid(pid_t pid, struct maps_text *text)
{
	int fd = maps_open(pid);
	int ret;

	if (fd < 0)
		return fd;
	ret = maps_text_read(fd, text);
	close(fd);
	return ret;
}

void maps_text_free(struct maps_text *text)
{
	if (text->buf)
		munmap(text->buf, text->buf_size);
	if (text->vma)
		munmap(text->vma, text->vma_size);
	memset(text, 0, sizeof(*text));
}

static bool passes(const struct maps_vma *vma, __u64 flags)
{
	__u64 has = vma->flags | (vma->inode ? PROCMAP_QUERY_FILE_BACKED_VMA : 0);

	return !(flags & PROCMAP_FILTERS & ~has);
}

/*
 * The oracle: what a query must find. Returns the line; NULL where the query
 * must fail with ENOENT.
 */
const struct maps_vma *maps_text_match(const struct maps_text *text, __u64 addr,
				       __u64 flags)
{
	size_t low = 0, high = text->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (text->vma[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	for (; low < text->nr; low++) {
		const struct maps_vma *vma = &text->vma[low];
		bool covers = vma->start <= addr;

		if (!covers && !(flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA))
			return NULL;
		if (passes(vma, flags))
			return vma;
	}
	return NULL;
}

/* The text prints a newline as \012 and everything else as it is. */
static bool same_name(const char *text, const char *name)
{
	for (; *name; name++) {
		if (*name == '\n') {
			if (strncmp(text, "\\012", 4))
				return false;
			text += 4;
		} else if (*text++ != *name) {
			return false;
		}
	}
	return !*text;
}

static const char *name_differs(const struct maps_vma *vma, const struct procmap_call *call)
{
	size_t size = call->q.vma_name_size;

	if (!*vma->name)
		return size ? "a name where the text has none" : NULL;
	if (!size)
		return "no name where the text has one";
	if (size > sizeof(call->name) || strnlen(call->name, size) != size - 1)
		return "a size of the name that is not its length with the NUL";
	return same_name(vma->name, call->name) ? NULL : "vma_name";
}

/*
 * Compare an answer with a line of text. Returns NULL if all fields are equal,
 * else the name of one that is not.
 */
const char *procmap_differs(const struct maps_vma *vma, const struct procmap_call *call)
{
	const struct procmap_query *q = &call->q;

	if (q->vma_start != vma->start)
		return "vma_start";
	if (q->vma_end != vma->end)
		return "vma_end";
	if (q->vma_flags != vma->flags)
		return "vma_flags";
	if (q->vma_page_size != vma->page_size)
		return "vma_page_size";
	if (q->vma_offset != vma->offset)
		return "vma_offset";
	if (q->inode != vma->inode)
		return "inode";
	if (q->dev_major != vma->dev_major)
		return "dev_major";
	if (q->dev_minor != vma->dev_minor)
		return "dev_minor";
	return name_differs(vma, call);
}

/*
 * Query, and compare the answer with the oracle. Returns 0 if both agree, else
 * -EUCLEAN with the difference on stderr.
 */
int procmap_check(int fd, const struct maps_text *text, __u64 addr, __u64 flags)
{
	const struct maps_vma *vma = maps_text_match(text, addr, flags);
	struct procmap_call call;
	const char *wrong = NULL;
	int ret = procmap_ask(fd, addr, flags, &call);

	if (ret != (vma ? 0 : -ENOENT))
		wrong = "the result";
	else if (vma)
		wrong = procmap_differs(vma, &call);
	if (!wrong)
		return 0;
	fprintf(stderr, "# query of 0x%llx with flags 0x%02llx: %s differs: returned %d,",
		addr, flags, wrong, ret);
	if (!ret)
		fprintf(stderr, " 0x%llx-0x%llx flags 0x%llx;", call.q.vma_start,
			call.q.vma_end, call.q.vma_flags);
	if (vma)
		fprintf(stderr, " text has 0x%llx-0x%llx flags 0x%llx %.200s\n", vma->start,
			vma->end, vma->flags, vma->name);
	else
		fprintf(stderr, " text has nothing\n");
	return -EUCLEAN;
}

/* Fork a child that dies when its parent does. Returns as fork(). */
pid_t procmap_fork(void)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(126);
	return pid;
}

/*
 * Run a function in a child.
 * @fn: what to run; its return value is the exit status
 */
int procmap_child_start(struct procmap_child *child,
			int (*fn)(struct procmap_child *child, void *arg), void *arg)
{
	int sock[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock))
		return -errno;
	child->pid = procmap_fork();
	if (child->pid < 0) {
		ret = -errno;
		close(sock[0]);
		close(sock[1]);
		return ret;
	}
	child->sock = sock[!child->pid];
	close(sock[!!child->pid]);
	if (child->pid)
		return 0;
	_exit(fn(child, arg));
}

/*
 * Run a function in a child that first sends a number, and open its maps file.
 * Returns the descriptor or -errno.
 * @value: gets the number; NULL: it does not matter
 */
int procmap_child_open(struct procmap_child *child,
		       int (*fn)(struct procmap_child *child, void *arg), void *arg, __u64 *value)
{
	int ret = procmap_child_start(child, fn, arg);
	__u64 number;

	if (!ret)
		ret = procmap_recv(child, value ?: &number);
	return ret ? ret : maps_open(child->pid);
}

/*
 * In a child: execute a program of the test directory. Returns only on failure:
 * -errno.
 * @child: what the function of the child got; its socket becomes descriptor 0
 *	of the program
 * @program: file name, without directory
 */
int procmap_exec(struct procmap_child *child, const char *program)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return -errno;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash + strlen(program) + 2 > path + sizeof(path))
		return -ENAMETOOLONG;
	strcpy(slash + 1, program);
	if (dup2(child->sock, 0))
		return -errno;
	execl(path, program, NULL);
	return -errno;
}

static int runs_program(struct procmap_child *child, void *arg)
{
	int ret = procmap_exec(child, arg);

	fprintf(stderr, "# cannot run %s: %s\n", (char *)arg, strerror(-ret));
	return 127;
}

/*
 * Run a program of the test directory in a child.
 * @child: gets the child; the program has the socket as descriptor 0
 * @program: file name, without directory
 */
int procmap_child_exec(struct procmap_child *child, const char *program)
{
	return procmap_child_start(child, runs_program, (void *)program);
}

/*
 * Wait for the end of a child. Returns its exit status, 256 plus the signal
 * that killed it, or -errno.
 */
int procmap_child_wait(struct procmap_child *child)
{
	int status;

	close(child->sock);
	if (waitpid(child->pid, &status, 0) != child->pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* Tell a child that waits to end. Returns as procmap_child_wait(). */
int procmap_child_finish(struct procmap_child *child)
{
	int ret = procmap_send(child, 0);
	int status = procmap_child_wait(child);

	return ret ? ret : status;
}

/*
 * Kill a child and wait for its end. Returns as procmap_child_wait(): 256 +
 * SIGKILL if all went well.
 */
int procmap_child_kill(struct procmap_child *child)
{
	if (kill(child->pid, SIGKILL))
		return -errno;
	return procmap_child_wait(child);
}

/* The register that has the result of a system call. */
#if defined(__x86_64__)
#define RESULT	rax
#elif defined(__i386__)
#define RESULT	eax
#elif defined(__aarch64__)
#define RESULT	regs[0]
#endif

/* Returns the result of the last system call of a stopped child, or -errno. */
static long result_of_call(pid_t pid)
{
#ifdef RESULT
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	return ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) ? -errno : (long)regs.RESULT;
#else
	return -EOPNOTSUPP;
#endif
}

/*
 * Kill a child that sleeps in a system call. Returns what the call returned, or
 * -errno. -EPROTO: the child ended in another way.
 *
 * The child never sees what the call returns, but a tracer does while the child
 * exits. The function also waits for the end of the child.
 */
long procmap_child_kill_in_call(struct procmap_child *child)
{
	const int out = SIGTRAP | PTRACE_EVENT_EXIT << 8;
	long ret = -EPROTO;
	int status;

	if (ptrace(PTRACE_SEIZE, child->pid, NULL, PTRACE_O_TRACEEXIT) ||
	    kill(child->pid, SIGKILL))
		return -errno;
	if (waitpid(child->pid, &status, 0) != child->pid)
		return -errno;
	if (WIFSTOPPED(status) && status >> 8 == out) {
		ret = result_of_call(child->pid);
		if (ptrace(PTRACE_CONT, child->pid, NULL, NULL))
			return -errno;
	}
	return procmap_child_wait(child) == 256 + SIGKILL ? ret : -EPROTO;
}

/*
 * Can no program use PROCMAP_QUERY here? Returns true when both word sizes get
 * ENOTTY.
 *
 * A 32-bit program gets ENOTTY from a kernel without the feature, but also from
 * a kernel that forgot 32-bit callers. So the function asks procmap_target as
 * well, which has the word size of the kernel where both sizes can be built. If
 * in doubt it returns false: then the tests run and fail.
 */
bool procmap_kernel_lacks_it(void)
{
	struct procmap_child child;
	__u64 supported;

	if (procmap_supported() || procmap_child_exec(&child, "procmap_target"))
		return false;
	if (procmap_recv(&child, &supported))
		supported = true;
	return !procmap_child_finish(&child) && !supported;
}

/* Send a number to the other side. */
int procmap_send(struct procmap_child *child, __u64 value)
{
	if (send(child->sock, &value, sizeof(value), MSG_NOSIGNAL) != sizeof(value))
		return -errno;
	return 0;
}

/*
 * Wait for a message, or for the end of the other side. The kernel looks for messages first: it may
 * report the end though a message came just before. The next recv() returns that.
 */
static void wait_for_message(int sock)
{
	char byte;

	recv(sock, &byte, sizeof(byte), MSG_PEEK);
}

/*
 * Wait for a number from the other side. Returns 0, -errno, or -EPIPE when the
 * other side is gone.
 */
int procmap_recv(struct procmap_child *child, __u64 *value)
{
	ssize_t got;

	wait_for_message(child->sock);
	got = recv(child->sock, value, sizeof(*value), 0);
	if (got < 0)
		return -errno;
	return got == sizeof(*value) ? 0 : -EPIPE;
}

/* Wait for a number that does not matter. Returns as procmap_recv(). */
int procmap_sync(struct procmap_child *child)
{
	__u64 value;

	return procmap_recv(child, &value);
}

/* A function of a child that waits until it is told to end. */
int procmap_waits(struct procmap_child *child, void *arg)
{
	return procmap_sync(child) ? 1 : 0;
}

/* In a child: send a number, and wait until it is told to end. Returns the exit status. */
int procmap_tell(struct procmap_child *child, __u64 value)
{
	return HOLDS(!procmap_send(child, value)) ? procmap_waits(child, NULL) : 1;
}

union fd_message {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/*
 * Pass a descriptor to the other side.
 * @fd: the descriptor; or -errno, to say why there is none
 */
int procmap_send_fd(struct procmap_child *child, int fd)
{
	union fd_message control = { .buf = { 0 } };
	struct iovec iov = { .iov_base = &fd, .iov_len = sizeof(fd) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(child->sock, &msg, MSG_NOSIGNAL) == sizeof(fd) ? 0 : -errno;
}

/*
 * Wait for a descriptor from the other side. Returns the descriptor, or -errno:
 * what the other side sent in its place; -EPIPE when it is gone.
 */
int procmap_recv_fd(struct procmap_child *child)
{
	union fd_message control;
	int fd = -EPIPE;
	struct iovec iov = { .iov_base = &fd, .iov_len = sizeof(fd) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *cmsg;

	wait_for_message(child->sock);
	if (recvmsg(child->sock, &msg, MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	else if (fd >= 0)
		fd = -EPROTO;
	return fd;
}

/* Map zeroes that all children share. Returns the memory, or NULL. */
void *procmap_share(size_t size)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

bool procmap_has_anon_names(void)
{
	return !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, 0L, 0L, NULL);
}

int procmap_pin(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ? -errno : 0;
}

/*
 * Get the number after the word @key at the start of a line, or with NULL the
 * one that a line begins with. Returns -1 if there is none.
 */
long procmap_value(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[256], word[64];
	long value, found = -1;

	while (file && found < 0 && fgets(line, sizeof(line), file)) {
		if (key ? sscanf(line, "%63s %ld", word, &value) == 2 && !strcmp(word, key) :
			  sscanf(line, "%ld", &value) == 1)
			found = value;
	}
	if (file)
		fclose(file);
	return found;
}

/*
 * Pause between two looks; see UNTIL(). Returns false after as many looks as
 * take PROCMAP_HANG_MS or longer.
 */
bool procmap_look_again(unsigned int *looks)
{
	if (++*looks >= PROCMAP_HANG_MS)
		return false;
	usleep(1000);
	return true;
}

/* Print a condition that is false; see HOLDS(). Returns @cond. */
bool procmap_holds(bool cond, const char *text, const char *file, int line)
{
	if (!cond)
		fprintf(stderr, "# %s:%d: in a child: not %s (errno %d)\n", file, line, text,
			errno);
	return cond;
}

/* Turn root into nobody; other users stay what they are. */
int procmap_drop_root(void)
{
	if (geteuid())
		return 0;
	return setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ? -errno : 0;
}

/* Write a text, or a number, to a file below an open directory, or AT_FDCWD. */
int procmap_write(int dir, const char *file, const char *text)
{
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	int ret = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

int procmap_write_number(int dir, const char *file, long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", number);
	return procmap_write(dir, file, text);
}

/* Open "file<number>" below an open directory. */
int procmap_open_numbered(int dir, unsigned int number, int flags)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "file%u", number);
	fd = openat(dir, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Mount a file system that has no mount point but only a descriptor.
 * @options: up to a name NULL
 */
int procmap_mount(const char *type, const struct procmap_option *options)
{
	int fs = syscall(__NR_fsopen, type, FSOPEN_CLOEXEC), ret = 0, mount;

	if (fs < 0)
		return -errno;
	for (; !ret && options->name; options++)
		ret = syscall(__NR_fsconfig, fs,
			      options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			      options->name, options->value, 0);
	if (!ret)
		ret = syscall(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	mount = ret ? -1 : syscall(__NR_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mount < 0)
		mount = -errno;
	close(fs);
	return mount;
}

/*
 * Turn an ordinary user into root of new namespaces.
 *
 * The process may mount there, and no mount outlives it. If the caller is root
 * already, it keeps its namespaces.
 */
int procmap_become_root(void)
{
	char uid_map[32], gid_map[32];
	int ret;

	if (!geteuid())
		return 0;
	snprintf(uid_map, sizeof(uid_map), "0 %d 1", geteuid());
	snprintf(gid_map, sizeof(gid_map), "0 %d 1", getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -errno;
	ret = procmap_write(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (!ret)
		ret = procmap_write(AT_FDCWD, "/proc/self/uid_map", uid_map);
	return ret ? ret : procmap_write(AT_FDCWD, "/proc/self/gid_map", gid_map);
}

/* Count pages of a mapping that are in the page cache. Returns how many, or -errno. */
int procmap_cached_pages(void *addr, size_t size)
{
	const size_t pages = size / sysconf(_SC_PAGESIZE);
	unsigned char *page = malloc(pages);
	int nr = 0;
	size_t i;

	if (!page)
		return -ENOMEM;
	if (mincore(addr, size, page))
		nr = -errno;
	for (i = 0; nr >= 0 && i < pages; i++)
		nr += page[i] & 1;
	free(page);
	return nr;
}

static bool read_word(const char *path, __u64 index, __u64 *word)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool got = pread(fd, word, sizeof(*word), index * sizeof(*word)) == sizeof(*word);

	close(fd);
	return got;
}

/*
 * Look up the page at an address in a file that has a word for each page frame:
 * "/proc/kpageflags", "/proc/kpagecgroup". Touches the page, and needs root.
 * Returns the word, or -1.
 */
__u64 procmap_page_info(const char *path, const char *at)
{
	__u64 entry, word;

	__atomic_load_n(at, __ATOMIC_RELAXED);
	if (!read_word("/proc/self/pagemap", (unsigned long)at / sysconf(_SC_PAGESIZE), &entry) ||
	    !read_word(path, entry & ((1ULL << 55) - 1), &word))
		return -1;
	return word;
}

/* Open a userfaultfd for faults of user mode, without any features. */
int procmap_uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0 || !ioctl(fd, UFFDIO_API, &api))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EINVAL;
}

/*
 * Let faults in a range wait for ever: nobody reads their userfaultfd. Returns
 * its descriptor, -EPERM if the caller cannot have one, or another -errno. When
 * it is closed, the kernel handles the faults itself again.
 * @mode: UFFDIO_REGISTER_MODE_*
 */
int procmap_uffd(void *at, size_t size, __u64 mode)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = mode == UFFDIO_REGISTER_MODE_MINOR ? UFFD_FEATURE_MINOR_SHMEM : 0,
	};
	struct uffdio_register area = {
		.range = { .start = (unsigned long)at, .len = size }, .mode = mode,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -EPERM;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &area))
		ret = -errno;
	if (ret)
		close(fd);
	return ret ?: fd;
}

/*
 * Make a block device of a file, until all its descriptors are closed. Returns
 * one.
 * @path: gets the path of the device
 */
int procmap_loop(int file, char *path, size_t size)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	struct loop_config config = { .fd = file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int fd, ret;

	if (number < 0)
		return -errno;
	close(control);
	snprintf(path, size, "/dev/loop%d", number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && !ioctl(fd, LOOP_CONFIGURE, &config))
		return fd;
	ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Move the end of the heap. Returns true if it is there. That of libc does not know other heaps. */
bool procmap_set_brk(unsigned long brk)
{
	return (unsigned long)syscall(__NR_brk, brk) == brk;
}

/* Say where heap and stack are. Code, data, arguments and environment are next to nothing. */
int procmap_set_mm(unsigned long start_brk, unsigned long brk, unsigned long stack)
{
	unsigned long code = (unsigned long)procmap_set_mm;
	/* struct prctl_mm_map as the kernel has it. A 32-bit program has another one. */
	struct {
		__u64 start_code, end_code, start_data, end_data, start_brk, brk, start_stack;
		__u64 arg_start, arg_end, env_start, env_end, auxv;
		__u32 auxv_size, exe_fd;
	} map = {
		.start_code = code, .end_code = code + 1, .start_data = code, .end_data = code + 1,
		.start_brk = start_brk, .brk = brk, .start_stack = stack, .arg_start = stack,
		.arg_end = stack, .env_start = stack, .env_end = stack, .exe_fd = -1,
	};

	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0);
}
