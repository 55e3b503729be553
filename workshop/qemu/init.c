// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the test machine. It prepares the root file system, runs one command
 * and sends its output to the host. At the end it sends the verdict.
 *
 * Each output has a virtio port of its own. So no text of the kernel on the
 * console can be taken for a result. A step that fails stops the machine
 * without a verdict, and the host reports a broken harness.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define P9_OPTIONS	"trans=virtio,version=9p2000.L,msize=262144"

/* A command's standard output or error on its way to the host. */
struct stream {
	const char *port_name;
	int port;
	int pipe[2];
	bool open;
	unsigned long long bytes;
};

static struct stream streams[] = {
	{ .port_name = "stdout" },
	{ .port_name = "stderr" },
};

static int verdict_port;

/* The terminal of an interactive command, and the port that tells its size; else -1. */
static int terminal = -1;
static int size_port = -1;

static noreturn void power_off(void)
{
	sync();
	/* With -no-reboot on the host, a reboot ends the machine. Powering off needs ACPI. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static noreturn void stop(const char *step, const char *what)
{
	printf("init: %s %s: %s\n", step, what, strerror(errno));
	fflush(stdout);
	power_off();
}

static void write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done < 0 && errno != EINTR)
			stop("write to", "a port");
		if (done > 0) {
			data += done;
			size -= done;
		}
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		stop("write", path);
	close(fd);
}

/* Return the whole file, terminated by an additional NUL. */
static char *read_file(const char *path, size_t *size)
{
	char *data = NULL;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		stop("open", path);
	*size = 0;
	do {
		data = realloc(data, *size + 4096 + 1);
		if (!data)
			stop("memory for", path);
		got = read(fd, data + *size, 4096);
		if (got < 0)
			stop("read", path);
		*size += got;
	} while (got);
	close(fd);
	data[*size] = 0;
	return data;
}

static void mount_at(const char *source, const char *where, const char *type,
		     unsigned long flags, const char *options)
{
	mkdir(where, 0755);
	if (mount(source, where, type, flags, options))
		stop("mount", where);
}

static void mount_basics(void)
{
	mount_at("proc", "/proc", "proc", 0, NULL);
	mount_at("sysfs", "/sys", "sysfs", 0, NULL);
	mount_at("dev", "/dev", "devtmpfs", 0, NULL);
	mount_at("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666");
	mount_at("shm", "/dev/shm", "tmpfs", 0, "mode=1777");
	mount_at("run", "/run", "tmpfs", 0, "mode=0755");
	mount_at("tmp", "/tmp", "tmpfs", MS_NODEV, "mode=1777");
	/* Only debug kernels have it: it controls kmemleak and fault injection. */
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	mkdir("/dev/hugepages", 0755);
	mount("hugetlbfs", "/dev/hugepages", "hugetlbfs", 0, "mode=1777");
}

static void link_dev(void)
{
	static const char * const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
		{ "pts/ptmx", "/dev/ptmx" },
	};
	size_t i;

	unlink("/dev/ptmx");
	for (i = 0; i < ARRAY_SIZE(links); i++)
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			stop("link", links[i][1]);
}

/* Find a port by the host's name for it: the numbers follow the order of discovery. */
static int open_port(const char *name, int flags)
{
	char path[512], have[64] = "";
	struct dirent *entry;
	DIR *dir = opendir("/sys/class/virtio-ports");
	int fd = -1;

	if (!dir)
		stop("find port", name);
	while (fd < 0 && (entry = readdir(dir))) {
		FILE *file;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%63s", have) == 1 && !strcmp(have, name)) {
			snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
			fd = open(path, flags | O_CLOEXEC);
		}
		fclose(file);
	}
	closedir(dir);
	if (fd < 0)
		stop("open port", name);
	return fd;
}

static void open_ports(void)
{
	size_t i;

	verdict_port = open_port("verdict", O_WRONLY);
	for (i = 0; i < ARRAY_SIZE(streams); i++)
		streams[i].port = open_port(streams[i].port_name, O_WRONLY);
}

/* The place of a directory that a file system of this machine hides; "": of none. */
static char *hidden_place(void)
{
	static char path[PATH_MAX];
	size_t size;

	if (!access("/vm/hidden", F_OK))
		snprintf(path, sizeof(path), "/newroot%s", read_file("/vm/hidden", &size));
	return path;
}

static int open_hidden(const char *path)
{
	int fd = *path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (*path && fd < 0)
		stop("open", path);
	return fd;
}

/* Put the directory back into its place, in the file system that hides it. */
static void show_hidden(char *path, int fd)
{
	char source[64], *slash;

	if (fd < 0)
		return;
	for (slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	snprintf(source, sizeof(source), "/newroot/proc/self/fd/%d", fd);
	mount_at(source, path, NULL, MS_BIND, NULL);
	close(fd);
}

/* The host's root is the lower layer under a tmpfs. Its programs run, but cannot change it. */
static void enter_host_root(void)
{
	static const char * const moved[] = { "/proc", "/sys", "/dev", "/run", "/tmp" };
	char *hidden = hidden_place();
	char path[64];
	size_t i;
	int fd;

	mount_at("host", "/host", "9p", MS_RDONLY, P9_OPTIONS ",cache=loose");
	mount_at("upper", "/upper", "tmpfs", 0, "mode=0755");
	mkdir("/upper/data", 0755);
	mkdir("/upper/work", 0755);
	mount_at("overlay", "/newroot", "overlay", 0,
		 "lowerdir=/host,upperdir=/upper/data,workdir=/upper/work");
	fd = open_hidden(hidden);
	for (i = 0; i < ARRAY_SIZE(moved); i++) {
		snprintf(path, sizeof(path), "/newroot%s", moved[i]);
		mkdir(path, 0755);
		if (mount(moved[i], path, NULL, MS_MOVE, NULL))
			stop("move", moved[i]);
	}
	show_hidden(hidden, fd);
	if (mkdir("/newroot/vm", 0755) || mount("/vm", "/newroot/vm", NULL, MS_BIND, NULL))
		stop("bind", "/vm");
	if (chdir("/newroot") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		stop("enter", "the host's root");
}

static void raise_limits(void)
{
	struct rlimit core = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };

	setrlimit(RLIMIT_CORE, &core);
	if (sethostname("vm", 2))
		stop("set", "host name");
}

/* Convert the NUL-separated strings of a file to a vector that ends with NULL. */
static char **read_vector(const char *path)
{
	size_t size, count = 0, i;
	char *data = read_file(path, &size);
	char **vector = calloc(size + 1, sizeof(*vector));

	if (!vector)
		stop("memory for", path);
	for (i = 0; i < size; i += strlen(data + i) + 1)
		vector[count++] = data + i;
	return vector;
}

static void become_user(void)
{
	const char *uid = getenv("VM_UID");
	gid_t id = uid ? atoi(uid) : 0;

	if (!id)
		return;
	/* The user can open /dev/stdout only if the pipe behind it belongs to them. */
	if (fchown(1, id, id) || fchown(2, id, id))
		stop("give output to user", uid);
	if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
		stop("become user", uid);
}

/* The host writes "lines columns\n" for each change; the last line counts. */
static void take_terminal_size(void)
{
	struct winsize size = { 0 };
	char text[256], *line;
	ssize_t got = read(size_port, text, sizeof(text) - 1);

	if (got <= 0) {
		close(size_port);
		size_port = -1;
		return;
	}
	text[got] = 0;
	if (text[got - 1] == '\n')
		text[got - 1] = 0;
	line = strrchr(text, '\n');
	if (sscanf(line ? line + 1 : text, "%hu %hu", &size.ws_row, &size.ws_col) == 2)
		ioctl(terminal, TIOCSWINSZ, &size);
}

/* The command must find the size when it starts, so wait for it, but not forever. */
static void open_terminal(void)
{
	struct pollfd fd = { .events = POLLIN };

	terminal = open("/dev/hvc0", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		stop("open", "/dev/hvc0");
	size_port = open_port("size", O_RDWR);
	fd.fd = size_port;
	if (poll(&fd, 1, 5000) > 0)
		take_terminal_size();
}

static noreturn void run_child(void)
{
	char **command = read_vector("/vm/command");
	int input = terminal >= 0 ? terminal : open("/dev/null", O_RDWR);

	setsid();
	if (input < 0 || dup2(input, 0) < 0)
		_exit(126);
	if (terminal >= 0)
		ioctl(0, TIOCSCTTY, 1);
	if (dup2(terminal >= 0 ? 0 : streams[0].pipe[1], 1) < 0 ||
	    dup2(terminal >= 0 ? 0 : streams[1].pipe[1], 2) < 0)
		_exit(126);
	become_user();
	environ = read_vector("/vm/environment");
	if (chdir(getenv("PWD") ?: "/"))
		chdir("/");
	execvp(command[0], command);
	fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static pid_t start_command(void)
{
	size_t i;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(streams); i++)
		if (pipe2(streams[i].pipe, O_CLOEXEC))
			stop("make", "a pipe");
	pid = fork();
	if (pid < 0)
		stop("fork", "the command");
	if (!pid)
		run_child();
	for (i = 0; i < ARRAY_SIZE(streams); i++) {
		close(streams[i].pipe[1]);
		streams[i].open = true;
		fcntl(streams[i].pipe[0], F_SETFL, O_NONBLOCK);
	}
	return pid;
}

/* Pass on the data in the pipe; returns false if there is none. */
static bool pass_on(struct stream *s)
{
	static char buffer[65536];
	ssize_t got = s->open ? read(s->pipe[0], buffer, sizeof(buffer)) : 0;

	if (got > 0) {
		write_all(s->port, buffer, got);
		s->bytes += got;
	} else if (!got) {
		s->open = false;
	}
	return got > 0;
}

/* Reap all processes. A process that outlives the command does not delay the end. */
static int wait_for_command(pid_t pid)
{
	struct pollfd fds[ARRAY_SIZE(streams) + 1];
	int status = 0;
	pid_t dead;
	size_t i;

	do {
		for (i = 0; i < ARRAY_SIZE(streams); i++) {
			fds[i].fd = streams[i].open ? streams[i].pipe[0] : -1;
			fds[i].events = POLLIN;
		}
		fds[i] = (struct pollfd){ .fd = size_port, .events = POLLIN };
		poll(fds, ARRAY_SIZE(fds), 50);
		if (fds[i].revents)
			take_terminal_size();
		while ((dead = waitpid(-1, &status, WNOHANG)) > 0 && dead != pid)
			;
		for (i = 0; i < ARRAY_SIZE(streams); i++)
			while (pass_on(&streams[i]))
				;
	} while (dead != pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Return the number of leaks. Their traces go to the console. */
static int scan_for_leaks(void)
{
	static const char path[] = "/sys/kernel/debug/kmemleak";
	size_t size, leaks = 0;
	char *report, *at;
	int i;

	if (access(path, R_OK | W_OK))
		return 0;
	/* kmemleak reports no young objects. The second scan drops transient ones. */
	sleep(5);
	for (i = 0; i < 2; i++)
		write_file(path, "scan\n");
	report = read_file(path, &size);
	for (at = report; (at = strstr(at, "unreferenced object")); at++)
		leaks++;
	printf("%s", report);
	free(report);
	return leaks;
}

static void send_verdict(int status, int leaks)
{
	char line[128];

	snprintf(line, sizeof(line), "status %d stdout %llu stderr %llu leaks %d\n",
		 status, streams[0].bytes, streams[1].bytes, leaks);
	write_all(verdict_port, line, strlen(line));
	fsync(verdict_port);
	close(verdict_port);
}

int main(void)
{
	const char *root = getenv("VM_ROOT");
	int status;

	if (getpid() != 1) {
		fprintf(stderr, "init: this is PID 1 of the test machine only\n");
		return 1;
	}
	setlinebuf(stdout);
	mount_basics();
	link_dev();
	open_ports();
	if (root && !strcmp(root, "host"))
		enter_host_root();
	if (getenv("VM_OUT"))
		mount_at("out", "/out", "9p", 0, P9_OPTIONS);
	raise_limits();
	if (getenv("VM_INTERACTIVE"))
		open_terminal();
	status = wait_for_command(start_command());
	send_verdict(status, scan_for_leaks());
	power_off();
}
