// SPDX-License-Identifier: GPL-2.0
/* A FUSE server that answers when it is told to: see fuse_server.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/userfaultfd.h>

#include "fuse_server.h"
#include "procmap_util.h"

#define SERVER_MAX_WRITE	(64 * 1024)
#define SERVER_BUFFER		(SERVER_MAX_WRITE + 4096)
#define SERVER_OPCODES		64
/* Seconds for which an answer is valid, so that the kernel asks for nothing twice. */
#define SERVER_VALID		1000000
/* Node ID of the first file; the root directory has 1. */
#define SERVER_FIRST_NODE	2
/*
 * Limits of background requests, for which nobody waits. The kernel holds back
 * AIO reads beyond the limit, so tests with AIO need a higher one.
 */
#define SERVER_BACKGROUND	12
#define SERVER_BACKGROUND_AIO	1024

/* Commands of the test. The server answers each with a note. */
enum {
	COMMAND_STALL, COMMAND_RELEASE, COMMAND_FAIL, COMMAND_COUNT, COMMAND_LOCK, COMMAND_UNLOCK,
	COMMAND_OPEN_FLAGS,
};

struct command {
	int what;
	unsigned int file;
	unsigned int opcode;
	unsigned int times;
	int error;
	__u64 offset;
	unsigned int open_flags;
};

/* A message of the server: a command is in force, or a request is held. */
struct note {
	bool held;
	unsigned int count;
	struct fuse_server_held request;
};

struct request {
	struct request *next;
	size_t size;
	struct fuse_in_header in;
	char arg[];
};

struct rule {
	unsigned int count;
	bool stall;
	unsigned int fail;
	int error;
};

struct file {
	char *data;
	size_t size;
	unsigned int open_flags;
	struct rule rules[SERVER_OPCODES];
};

struct server {
	int dev;
	int sock;
	unsigned int nr;
	struct file files[FUSE_SERVER_FILES];
	struct request *held;
	unsigned int init_flags;
	pid_t locker;
};

static void reply(struct server *s, const struct fuse_in_header *in, int error, const void *data,
		  size_t size)
{
	struct fuse_out_header out = {
		.len = sizeof(out) + (error ? 0 : size),
		.error = error,
		.unique = in->unique,
	};
	struct iovec iov[] = {
		{ .iov_base = &out, .iov_len = sizeof(out) },
		{ .iov_base = (void *)data, .iov_len = error ? 0 : size },
	};

	/* Fails if the caller has been killed, which does no harm. */
	(void)!writev(s->dev, iov, 2);
}

static struct file *file_of_node(struct server *s, __u64 node)
{
	return node - SERVER_FIRST_NODE < s->nr ? &s->files[node - SERVER_FIRST_NODE] : NULL;
}

static void fill_attr(struct server *s, __u64 node, struct fuse_attr *attr)
{
	const struct file *file = file_of_node(s, node);

	memset(attr, 0, sizeof(*attr));
	attr->ino = node;
	attr->mode = file ? S_IFREG | 0777 : S_IFDIR | 0755;
	attr->size = file ? file->size : 0;
	attr->blocks = attr->size / 512;
	attr->nlink = 1;
	attr->blksize = 4096;
}

static void do_init(struct server *s, const struct request *req)
{
	const struct fuse_init_in *arg = (const void *)req->arg;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = arg->max_readahead,
		/* The kernel keeps changed times and sends them when a mapping is closed. */
		.flags = FUSE_WRITEBACK_CACHE | s->init_flags,
		.max_background = SERVER_BACKGROUND,
		.congestion_threshold = 9,
		.max_write = SERVER_MAX_WRITE,
		.time_gran = 1,
	};

	if (s->init_flags & FUSE_ASYNC_DIO)
		out.max_background = SERVER_BACKGROUND_AIO;
	reply(s, &req->in, 0, &out, sizeof(out));
}

static void do_lookup(struct server *s, const struct request *req)
{
	struct fuse_entry_out out = { .entry_valid = SERVER_VALID, .attr_valid = SERVER_VALID };
	unsigned int number;
	char rest;

	if (sscanf(req->arg, "file%u%c", &number, &rest) != 1 || number >= s->nr) {
		reply(s, &req->in, -ENOENT, NULL, 0);
		return;
	}
	out.nodeid = SERVER_FIRST_NODE + number;
	fill_attr(s, out.nodeid, &out.attr);
	reply(s, &req->in, 0, &out, sizeof(out));
}

static void do_attr(struct server *s, const struct request *req)
{
	struct fuse_attr_out out = { .attr_valid = SERVER_VALID };

	fill_attr(s, req->in.nodeid, &out.attr);
	reply(s, &req->in, 0, &out, sizeof(out));
}

static void do_open(struct server *s, const struct request *req)
{
	const struct file *file = file_of_node(s, req->in.nodeid);
	struct fuse_open_out out = { .open_flags = file ? file->open_flags : 0 };

	reply(s, &req->in, 0, &out, sizeof(out));
}

static void do_read(struct server *s, const struct request *req)
{
	const struct fuse_read_in *arg = (const void *)req->arg;
	const struct file *file = file_of_node(s, req->in.nodeid);
	size_t size = 0;

	if (!file) {
		reply(s, &req->in, -EISDIR, NULL, 0);
		return;
	}
	if (arg->offset < file->size)
		size = file->size - arg->offset;
	if (size > arg->size)
		size = arg->size;
	reply(s, &req->in, 0, file->data + arg->offset, size);
}

static void do_write(struct server *s, const struct request *req)
{
	const struct fuse_write_in *arg = (const void *)req->arg;
	struct fuse_write_out out = { .size = arg->size };
	struct file *file = file_of_node(s, req->in.nodeid);

	if (!file || arg->offset > file->size || arg->size > file->size - arg->offset) {
		reply(s, &req->in, -ENOSPC, NULL, 0);
		return;
	}
	memcpy(file->data + arg->offset, req->arg + sizeof(*arg), arg->size);
	reply(s, &req->in, 0, &out, sizeof(out));
}

static void answer(struct server *s, const struct request *req)
{
	switch (req->in.opcode) {
	case FUSE_INIT:
		return do_init(s, req);
	case FUSE_LOOKUP:
		return do_lookup(s, req);
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		return do_attr(s, req);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return do_open(s, req);
	case FUSE_READ:
		return do_read(s, req);
	case FUSE_WRITE:
		return do_write(s, req);
	case FUSE_ACCESS:
	case FUSE_READDIR:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_FALLOCATE:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return reply(s, &req->in, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return reply(s, &req->in, -EOPNOTSUPP, NULL, 0);
	}
}

static void hold(struct server *s, const struct request *req, unsigned int file)
{
	struct request *copy = malloc(sizeof(*copy) + req->size);
	struct note note = {
		.held = true,
		.request = { .file = file, .opcode = req->in.opcode },
	};

	if (!copy)
		_exit(1);
	memcpy(copy, req, sizeof(*copy) + req->size);
	copy->next = s->held;
	s->held = copy;
	if (send(s->sock, &note, sizeof(note), MSG_NOSIGNAL) != sizeof(note))
		_exit(1);
}

static void handle(struct server *s, const struct request *req)
{
	struct file *file = file_of_node(s, req->in.nodeid);
	struct rule *rule = NULL;

	if (file && req->in.opcode < SERVER_OPCODES)
		rule = &file->rules[req->in.opcode];
	if (rule)
		rule->count++;
	if (rule && rule->fail) {
		rule->fail--;
		reply(s, &req->in, -rule->error, NULL, 0);
	} else if (rule && rule->stall) {
		hold(s, req, file - s->files);
	} else {
		answer(s, req);
	}
}

static void release_held(struct server *s, unsigned int file, unsigned int opcode)
{
	struct request **link = &s->held;

	while (*link) {
		struct request *req = *link;

		if (req->in.nodeid != SERVER_FIRST_NODE + file || req->in.opcode != opcode) {
			link = &req->next;
			continue;
		}
		*link = req->next;
		answer(s, req);
		free(req);
	}
}

/* Memory whose first use waits for ever. NULL if there is no userfaultfd. */
static void *endless_page(void)
{
	size_t size = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return procmap_uffd(page, size, UFFDIO_REGISTER_MODE_MISSING) < 0 ? NULL : page;
}

/*
 * Give the kernel a page of a file for its cache, from memory that never comes.
 * The kernel keeps the page locked while it waits for that memory.
 */
static void lock_page(struct server *s, const struct command *command)
{
	struct {
		struct fuse_out_header out;
		struct fuse_notify_store_out store;
	} head = {
		.out.error = FUSE_NOTIFY_STORE,
		.store.nodeid = SERVER_FIRST_NODE + command->file,
		.store.offset = command->offset,
		.store.size = sysconf(_SC_PAGESIZE),
	};
	struct iovec iov[] = {
		{ .iov_base = &head, .iov_len = sizeof(head) },
		{ .iov_base = endless_page(), .iov_len = head.store.size },
	};

	head.out.len = sizeof(head) + head.store.size;
	if (iov[1].iov_base)
		(void)!writev(s->dev, iov, 2);
}

static pid_t start_locker(struct server *s, const struct command *command)
{
	pid_t pid = procmap_fork();

	if (pid)
		return pid;
	close(s->sock);
	lock_page(s, command);
	_exit(1);
}

static void stop_locker(struct server *s)
{
	if (s->locker > 0) {
		kill(s->locker, SIGKILL);
		waitpid(s->locker, NULL, 0);
	}
	s->locker = 0;
}

static void obey(struct server *s)
{
	struct note note = { .held = false };
	struct command command;
	struct rule *rule;

	/* The test is gone, so nobody can ask for anything. */
	if (recv(s->sock, &command, sizeof(command), 0) != sizeof(command))
		_exit(0);
	rule = &s->files[command.file].rules[command.opcode];
	switch (command.what) {
	case COMMAND_STALL:
		rule->stall = true;
		break;
	case COMMAND_RELEASE:
		rule->stall = false;
		release_held(s, command.file, command.opcode);
		break;
	case COMMAND_FAIL:
		rule->fail = command.times;
		rule->error = command.error;
		break;
	case COMMAND_COUNT:
		note.count = rule->count;
		break;
	case COMMAND_LOCK:
		stop_locker(s);
		s->locker = start_locker(s, &command);
		note.count = s->locker > 0 ? s->locker : 0;
		break;
	case COMMAND_UNLOCK:
		stop_locker(s);
		break;
	case COMMAND_OPEN_FLAGS:
		s->files[command.file].open_flags = command.open_flags;
		break;
	}
	if (send(s->sock, &note, sizeof(note), MSG_NOSIGNAL) != sizeof(note))
		_exit(1);
}

/*
 * Handle one request at a time, and commands first, so that a command is in
 * force once it has been answered.
 */
static void serve(struct server *s)
{
	struct request *req = malloc(sizeof(*req) + SERVER_BUFFER);
	struct pollfd fds[] = {
		{ .fd = s->sock, .events = POLLIN },
		{ .fd = s->dev, .events = POLLIN },
	};
	struct iovec iov[] = {
		{ .iov_base = &req->in, .iov_len = sizeof(req->in) },
		{ .iov_base = req->arg, .iov_len = SERVER_BUFFER },
	};

	if (!req)
		_exit(1);
	for (;;) {
		ssize_t got;

		if (poll(fds, 2, -1) < 0)
			_exit(1);
		if (fds[0].revents) {
			obey(s);
			continue;
		}
		got = readv(s->dev, iov, 2);
		if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOENT))
			continue;
		if (got < (ssize_t)sizeof(req->in))
			_exit(0);
		req->size = got - sizeof(req->in);
		handle(s, req);
	}
}

/*
 * With @others, other users than the mounter may use the mount, too. Do not set
 * it for a mount in a user namespace: it would exclude processes of the mounter
 * that are outside of that namespace.
 */
static int make_mount(int dev, bool others)
{
	char number[16];
	const struct procmap_option options[] = {
		{ "source", "fuse_server" }, { "fd", number }, { "rootmode", "40755" },
		{ "user_id", "0" }, { "group_id", "0" }, { others ? "allow_other" : NULL, NULL },
		{ NULL },
	};

	snprintf(number, sizeof(number), "%d", dev);
	return procmap_mount("fuse", options);
}

static int make_files(struct server *s, const struct fuse_server_file *files, unsigned int nr)
{
	for (s->nr = 0; s->nr < nr; s->nr++) {
		struct file *file = &s->files[s->nr];

		file->size = files[s->nr].size;
		file->data = calloc(1, file->size + 1);
		if (!file->data)
			return -ENOMEM;
		if (files[s->nr].data)
			memcpy(file->data, files[s->nr].data, file->size);
	}
	return 0;
}

static void run(int sock, const struct fuse_server_file *files, unsigned int nr,
		unsigned int init_flags)
{
	struct procmap_child starter = { .sock = sock };
	bool root = !geteuid();
	struct server s = { .sock = sock, .init_flags = init_flags };
	int mount = procmap_become_root();

	if (!mount)
		mount = make_files(&s, files, nr);
	if (!mount) {
		s.dev = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
		mount = s.dev < 0 ? -errno : make_mount(s.dev, root);
	}
	if (procmap_send_fd(&starter, mount) || mount < 0)
		_exit(1);
	close(mount);
	serve(&s);
}

/*
 * Start a server. Returns 0 or -errno. -ENOENT: no /dev/fuse. -EACCES: no
 * access to it. -ENODEV: no FUSE in this kernel. -EPERM or -EINVAL may also
 * mean that there are no user namespaces.
 * @files: its files, copied
 * @nr: their number, at most FUSE_SERVER_FILES
 * @init_flags: FUSE_ASYNC_READ: the kernel does not wait for what it reads
 *	ahead; FUSE_ASYNC_DIO: io_submit() does not wait for files opened with
 *	O_DIRECT
 */
int fuse_server_start(struct fuse_server *server, const struct fuse_server_file *files,
		      unsigned int nr, unsigned int init_flags)
{
	struct procmap_child child;
	int sock[2];

	if (nr > FUSE_SERVER_FILES)
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return -errno;
	server->nr_notes = 0;
	memset(server->holders, 0, sizeof(server->holders));
	server->pid = procmap_fork();
	if (!server->pid) {
		close(sock[0]);
		run(sock[1], files, nr, init_flags);
	}
	close(sock[1]);
	server->sock = sock[0];
	child = (struct procmap_child){ .pid = server->pid, .sock = sock[0] };
	server->mount = server->pid < 0 ? -errno : procmap_recv_fd(&child);
	if (server->mount >= 0)
		return 0;
	close(sock[0]);
	if (server->pid > 0)
		waitpid(server->pid, NULL, 0);
	server->pid = 0;
	return server->mount;
}

/* Wait for a holder, if there is one. Returns 0, or -EIO if it has failed. */
static int end_holder(struct fuse_server_holder *holder)
{
	pid_t pid = holder->pid;
	int status;

	holder->pid = 0;
	return !pid || (waitpid(pid, &status, 0) == pid && !status) ? 0 : -EIO;
}

/*
 * End a server, if it runs.
 * @server: the server; all callers that wait for an answer get an error
 */
void fuse_server_stop(struct fuse_server *server)
{
	unsigned int i;

	if (server->pid <= 0)
		return;
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
	server->pid = 0;
	for (i = 0; i < FUSE_SERVER_FILES; i++)
		end_holder(&server->holders[i]);
	close(server->sock);
	close(server->mount);
}

/*
 * Say why there can be no server here. Returns what the kernel or the caller
 * lacks. NULL if a server can be started, or if that fails for a reason that
 * must not skip the tests.
 */
const char *fuse_server_lacking(void)
{
	struct fuse_server server;
	int ret = fuse_server_start(&server, NULL, 0, 0);

	if (ret == -ENOENT || ret == -ENODEV)
		return "kernel without FUSE (CONFIG_FUSE_FS)";
	if (ret == -EACCES)
		return "no access to /dev/fuse";
	if (ret == -EPERM || ret == -EINVAL)
		return "neither root nor user namespaces (CONFIG_USER_NS)";
	if (!ret)
		fuse_server_stop(&server);
	return NULL;
}

int fuse_server_open(struct fuse_server *server, unsigned int file, int flags)
{
	return procmap_open_numbered(server->mount, file, flags);
}

/*
 * Wait for the next note. Returns 0, -ETIMEDOUT, -EPIPE if the server is gone,
 * or another -errno.
 */
static int next_note(struct fuse_server *server, struct note *note)
{
	struct pollfd fd = { .fd = server->sock, .events = POLLIN };
	int ready = poll(&fd, 1, PROCMAP_HANG_MS);

	if (ready < 0)
		return -errno;
	if (!ready)
		return -ETIMEDOUT;
	if (recv(server->sock, note, sizeof(*note), 0) != sizeof(*note))
		return -EPIPE;
	if (!note->held)
		return 0;
	if (server->nr_notes == FUSE_SERVER_NOTES)
		return -ENOBUFS;
	server->notes[server->nr_notes++] = note->request;
	return 0;
}

/* Returns the count of the note that answers the command, or -errno. */
static int order(struct fuse_server *server, struct command command)
{
	struct note note = { .held = true };
	int ret;

	if (command.file >= FUSE_SERVER_FILES || command.opcode >= SERVER_OPCODES)
		return -EINVAL;
	if (send(server->sock, &command, sizeof(command), MSG_NOSIGNAL) != sizeof(command))
		return -errno;
	while (note.held) {
		ret = next_note(server, &note);
		if (ret)
			return ret;
	}
	return note.count;
}

/*
 * Hold requests without an answer from now on.
 * @opcode: kind of the requests: FUSE_READ, FUSE_SETATTR, ...
 */
int fuse_server_stall(struct fuse_server *server, unsigned int file, unsigned int opcode)
{
	return order(server, (struct command){ .what = COMMAND_STALL, .file = file,
					       .opcode = opcode });
}

/* Let the next requests fail, even if they are stalled. */
int fuse_server_fail(struct fuse_server *server, unsigned int file, unsigned int opcode,
		     unsigned int times, int error)
{
	return order(server, (struct command){ .what = COMMAND_FAIL, .file = file,
					       .opcode = opcode, .times = times, .error = error });
}

/* Count the requests that have come so far. Returns their number, or -errno. */
int fuse_server_count(struct fuse_server *server, unsigned int file, unsigned int opcode)
{
	return order(server, (struct command){ .what = COMMAND_COUNT, .file = file,
					       .opcode = opcode });
}

/*
 * Make the kernel lock a page in its cache for ever. Returns the PID of that
 * process, or -errno.
 *
 * This starts a process that gets stuck in the kernel as soon as the page is
 * locked. Only one page can be locked at a time. Userfaultfd needs root.
 */
pid_t fuse_server_lock(struct fuse_server *server, unsigned int file, __u64 offset)
{
	int ret = order(server, (struct command){ .what = COMMAND_LOCK, .file = file,
						  .offset = offset });

	return ret ? ret : -EAGAIN;
}

/* Make the kernel unlock the page, which is unchanged. */
int fuse_server_unlock(struct fuse_server *server)
{
	return order(server, (struct command){ .what = COMMAND_UNLOCK });
}

/*
 * Set what the server answers when a file is opened.
 * @open_flags: FOPEN_*, from now on
 */
int fuse_server_open_flags(struct fuse_server *server, unsigned int file, unsigned int open_flags)
{
	return order(server, (struct command){ .what = COMMAND_OPEN_FLAGS, .file = file,
					       .open_flags = open_flags });
}

/* Open a file of a server without the page cache. Returns a descriptor or -errno. */
int fuse_server_open_direct(struct fuse_server *server, unsigned int file)
{
	int ret = fuse_server_open_flags(server, file, FOPEN_DIRECT_IO), fd;

	if (ret)
		return ret;
	fd = fuse_server_open(server, file, O_RDWR);
	ret = fuse_server_open_flags(server, file, 0);
	return ret ? ret : fd;
}

/* Forget the first note that fits. Returns 0 if there was one. */
static int take_note(struct fuse_server *server, unsigned int file, unsigned int opcode)
{
	unsigned int i;

	for (i = 0; i < server->nr_notes; i++) {
		struct fuse_server_held *held = &server->notes[i];

		if (held->file != file || held->opcode != opcode)
			continue;
		*held = server->notes[--server->nr_notes];
		return 0;
	}
	return -EAGAIN;
}

/* Answer held requests, and all later ones. */
int fuse_server_release(struct fuse_server *server, unsigned int file, unsigned int opcode)
{
	int ret = order(server, (struct command){ .what = COMMAND_RELEASE, .file = file,
						  .opcode = opcode });
	struct fuse_server_holder *holder;

	if (ret)
		return ret;
	while (!take_note(server, file, opcode))
		;
	holder = &server->holders[file];
	return holder->opcode == opcode ? end_holder(holder) : 0;
}

/*
 * Wait until a request is held. Returns 0, -ETIMEDOUT, or another -errno.
 *
 * Each request is reported once.
 */
int fuse_server_wait_held(struct fuse_server *server, unsigned int file, unsigned int opcode)
{
	struct note note;

	while (take_note(server, file, opcode)) {
		int ret = next_note(server, &note);

		if (ret)
			return ret;
	}
	return 0;
}

static int start_holder(struct fuse_server *server, unsigned int file, unsigned int opcode,
			bool (*asks)(int fd))
{
	pid_t pid = procmap_fork();
	int fd;

	if (pid) {
		server->holders[file] = (struct fuse_server_holder) {
			.pid = pid < 0 ? 0 : pid, .opcode = opcode,
		};
		return pid < 0 ? -errno : 0;
	}
	fd = fuse_server_open(server, file, O_RDWR);
	_exit(fd >= 0 && asks(fd) ? 0 : 1);
}

static int hold_up(struct fuse_server *server, unsigned int file, unsigned int opcode,
		   bool (*asks)(int fd))
{
	return fuse_server_stall(server, file, opcode) ?:
	       start_holder(server, file, opcode, asks) ?:
	       fuse_server_wait_held(server, file, opcode);
}

static bool reads_a_byte(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

/*
 * Stall reads, and let one process wait for the first page. Returns 0,
 * -ETIMEDOUT, or another -errno.
 * @file: number of the file, whose descriptors have a page cache by default
 *
 * The kernel keeps the page locked. So mmap() of a descriptor without page
 * cache (FOPEN_DIRECT_IO) waits, too, unkillably, with mmap_lock held for
 * writing: it drops all cached pages of the file first. All of it lasts until
 * FUSE_READ is released.
 */
int fuse_server_hold_page(struct fuse_server *server, unsigned int file)
{
	return hold_up(server, file, FUSE_READ, reads_a_byte);
}

static bool changes_times(int fd)
{
	return !fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1);
}

/*
 * Stall changed times, and let one process wait for them. Returns 0,
 * -ETIMEDOUT, or another -errno.
 *
 * The kernel marks the inode as being written. Whoever then closes a mapping or
 * a descriptor of the file waits, unkillably, until FUSE_SETATTR is released.
 * That includes processes that have inherited a descriptor, and end.
 *
 * A store to a shared mapping would not do instead: the kernel may begin to
 * write back by itself. It then cleans the inode, although its thread cannot
 * send the times to a mount of a user namespace, and nobody waits.
 */
int fuse_server_hold_inode(struct fuse_server *server, unsigned int file)
{
	return hold_up(server, file, FUSE_SETATTR, changes_times);
}
