// SPDX-License-Identifier: GPL-2.0
/*
 * The events of mappings are the same, whether PROCMAP_SCAN, PROCMAP_QUERY or the
 * text tells the mappings.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/compiler.h>
#include <linux/kernel.h>

#include "debug.h"
#include "event.h"
#include "machine.h"
#include "symbol_conf.h"
#include "tests.h"
#include "tool.h"
#include "util/proc-maps.h"
#include "util/synthetic-events.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

#define EVENTS_SIZE	(64UL << 20)
#define MANY		10000
#define HUGE		(2UL << 20)
/* Together more than PATH_MAX */
#define LONG_NAME	250
#define LONG_DEPTH	17

/* Events, one after the other. */
struct events {
	struct perf_tool tool;
	char *at;		/* EVENTS_SIZE bytes */
	size_t used;
	unsigned int nr;
	pid_t victim;		/* dies at the first event, if not 0 */
};

static struct machines machines;

static void kill_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int gather(const struct perf_tool *tool, union perf_event *event,
		  struct perf_sample *sample __maybe_unused,
		  struct machine *machine __maybe_unused)
{
	struct events *events = (struct events *)container_of(tool, struct events, tool);

	if (events->used + event->header.size > EVENTS_SIZE)
		return -1;
	memcpy(events->at + events->used, event, event->header.size);
	events->used += event->header.size;
	events->nr++;
	if (events->victim)
		kill_process(events->victim);
	events->victim = 0;
	return 0;
}

/* An area that does not grow: our own mappings are compared, too. */
static bool events__init(struct events *events)
{
	memset(events, 0, sizeof(*events));
	events->at = mmap(NULL, EVENTS_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return events->at != MAP_FAILED;
}

static void events__exit(struct events *events)
{
	munmap(events->at, EVENTS_SIZE);
}

/* The events of a process, read in one of the ways. */
static int synthesize(struct events *events, enum proc_maps_call call, pid_t pid, bool data)
{
	static union perf_event event;

	events->used = 0;
	events->nr = 0;
	proc_maps__allow(proc_maps__name(call));
	/* The tool is const for some versions of perf. */
	return perf_event__synthesize_mmap_events(&events->tool, &event, pid, pid,
						  (perf_event__handler_t)gather, &machines.host,
						  data);
}

static bool is_lacking(enum proc_maps_call call)
{
	struct events events;

	if (!events__init(&events))
		return false;
	synthesize(&events, call, getpid(), false);
	events__exit(&events);
	return proc_maps__best() != call;
}

static bool are_equal(const struct events *left, const struct events *right)
{
	return left->used == right->used && !memcmp(left->at, right->at, left->used);
}

static const struct perf_record_mmap2 *event_at(const struct events *events, size_t at)
{
	return at < events->used ? (void *)(events->at + at) : NULL;
}

static void show(const char *what, const struct perf_record_mmap2 *event)
{
	if (!event) {
		pr_debug("  %s: no event\n", what);
		return;
	}
	pr_debug("  %s: %llx+%llx prot %x flags %x misc %x pgoff %llx file %x:%x %llu %s\n", what,
		 event->start, event->len, event->prot, event->flags, event->header.misc,
		 event->pgoff, event->maj, event->min, event->ino, event->filename);
}

static void show_difference(enum proc_maps_call call, const struct events *events,
			    const struct events *text)
{
	const struct perf_record_mmap2 *left, *right;
	size_t at = 0;

	do {
		left = event_at(events, at);
		right = event_at(text, at);
		at += left ? left->header.size : 0;
	} while (left && right && !memcmp(left, right, right->header.size));
	show(proc_maps__name(call), left);
	show("text", right);
}

/* Compare, while the process does not change. Returns 1 if it always does. */
static int compare_process(enum proc_maps_call call, pid_t pid, bool data,
			   struct events *events, struct events texts[2])
{
	int turn;

	for (turn = 0; turn < 20; turn++) {
		if (synthesize(&texts[0], PROC_MAPS_TEXT, pid, data) ||
		    synthesize(events, call, pid, data) ||
		    synthesize(&texts[1], PROC_MAPS_TEXT, pid, data))
			return 1;
		if (!are_equal(&texts[0], &texts[1]))
			continue;
		if (are_equal(events, &texts[0]))
			return 0;
		pr_debug("process %d, %s data:\n", pid, data ? "with" : "without");
		show_difference(call, events, &texts[0]);
		return -1;
	}
	return 1;
}

/* Compare a process that stands still: at least so many events, with data and without. */
static int compare_still(enum proc_maps_call call, pid_t pid, unsigned int least)
{
	struct events events, texts[2];
	int ret = TEST_FAIL;

	if (!events__init(&events) || !events__init(&texts[0]) || !events__init(&texts[1]))
		return TEST_FAIL;
	if (!compare_process(call, pid, false, &events, texts) && events.nr >= least &&
	    !compare_process(call, pid, true, &events, texts) && events.nr >= least)
		ret = TEST_OK;
	else
		pr_debug("%u events\n", events.nr);
	events__exit(&events);
	events__exit(&texts[0]);
	events__exit(&texts[1]);
	return ret;
}

/* Fork a process that does something, says so, and waits to be killed. */
static pid_t start(void (*prepare)(void *arg), void *arg)
{
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		prepare(arg);
		if (write(pipes[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	if (pid > 0 && read(pipes[0], &byte, 1) != 1) {
		kill_process(pid);
		pid = -1;
	}
	close(pipes[0]);
	return pid;
}

static void map_anonymous(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 6 * page, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		_exit(1);
	mprotect(pages + page, page, PROT_NONE);
	mprotect(pages + 2 * page, page, PROT_EXEC);
	mprotect(pages + 3 * page, page, PROT_READ);
	mprotect(pages + 4 * page, page, PROT_WRITE);
	/* Not every kernel has names. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, pages, page, "perf test");
	mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mmap(NULL, HUGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED)
		pr_debug("no huge pages, without them\n");
}

static void map_file(int fd, off_t offset, int flags)
{
	long page = sysconf(_SC_PAGESIZE);

	if (fd < 0 || mmap(NULL, page, PROT_READ | PROT_EXEC, flags, fd, offset) == MAP_FAILED ||
	    mmap(NULL, page, PROT_READ, flags, fd, offset + page) == MAP_FAILED)
		_exit(1);
	close(fd);
}

/* A copy of a program, which has a build ID, if this perf has one. */
static int copy_of_perf(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	char bytes[16384];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, n) != n)
			_exit(1);
	close(from);
	return to;
}

/* Map files of names that the text writes in other ways. */
static void map_files(void *dir)
{
	static const char * const names[] = {
		"plain", "a b", " a  b ", "a\nb", "\n", "a\\012b", "a (deleted)", "[heap]",
	};
	char path[PATH_MAX];
	unsigned int i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", (char *)dir, names[i]);
		map_file(copy_of_perf(path), 0, i % 2 ? MAP_PRIVATE : MAP_SHARED);
	}
	snprintf(path, sizeof(path), "%s/%s", (char *)dir, "deleted");
	fd = copy_of_perf(path);
	unlink(path);
	map_file(fd, 0, MAP_PRIVATE);
	fd = memfd_create("perf test", 0);
	if (ftruncate(fd, 1L << 33))
		_exit(1);
	map_file(fd, 1L << 32, MAP_SHARED);
	map_file(open("/dev/zero", O_RDWR | O_CLOEXEC), 0, MAP_PRIVATE);
	map_anonymous();
}

static void remove_dir(const char *dir)
{
	DIR *files = opendir(dir);
	struct dirent *file;

	while (files && (file = readdir(files)))
		unlinkat(dirfd(files), file->d_name, 0);
	if (files)
		closedir(files);
	rmdir(dir);
}

/* Run a test on a process that has mappings of every kind. */
static int with_every_kind(enum proc_maps_call call,
			   int (*test)(enum proc_maps_call call, pid_t pid))
{
	char dir[] = "/tmp/perf-proc-maps-XXXXXX";
	int ret = TEST_FAIL;
	pid_t pid;

	if (!mkdtemp(dir))
		return TEST_FAIL;
	pid = start(map_files, dir);
	if (pid > 0) {
		ret = test(call, pid);
		kill_process(pid);
	}
	remove_dir(dir);
	return ret;
}

static int compare_every_kind(enum proc_maps_call call, pid_t pid)
{
	/* Eleven files, four anonymous mappings. */
	return compare_still(call, pid, 15);
}

static int test_kinds(enum proc_maps_call call)
{
	return with_every_kind(call, compare_every_kind);
}

static void map_many(void *arg __maybe_unused)
{
	long i, page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * MANY * page, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		_exit(1);
	for (i = 1; i < 2 * MANY; i += 2)
		if (mprotect(pages + i * page, page, PROT_NONE))
			_exit(1);
}

static int test_many(enum proc_maps_call call)
{
	pid_t pid = start(map_many, NULL);
	int ret;

	if (pid < 0)
		return TEST_FAIL;
	ret = compare_still(call, pid, MANY);
	kill_process(pid);
	return ret;
}

/* What a process told until it died is the beginning of what it would have told. */
static int test_exit(enum proc_maps_call call)
{
	pid_t pid = start(map_many, NULL);
	struct events events, text;
	int ret = TEST_FAIL;

	if (pid < 0 || !events__init(&events) || !events__init(&text))
		return TEST_FAIL;
	events.victim = pid;
	if (!synthesize(&text, PROC_MAPS_TEXT, pid, false) &&
	    !synthesize(&events, call, pid, false) && events.nr && events.nr < MANY &&
	    !memcmp(events.at, text.at, events.used))
		ret = TEST_OK;
	else
		pr_debug("%u events of %u\n", events.nr, text.nr);
	events__exit(&events);
	events__exit(&text);
	return ret;
}

/*
 * Map a file whose name no call can tell, among files that have short names. It
 * lies in folders that are too deep for one path.
 */
static void map_long_name(void *dir)
{
	char name[LONG_NAME + 1];
	unsigned int depth;

	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = '\0';
	if (chdir(dir))
		_exit(1);
	map_file(copy_of_perf("before"), 0, MAP_PRIVATE);
	for (depth = 0; depth < LONG_DEPTH; depth++)
		if (mkdir(name, 0700) || chdir(name))
			_exit(1);
	map_file(copy_of_perf("long"), 0, MAP_PRIVATE);
	unlink("long");
	for (depth = 0; depth < LONG_DEPTH; depth++)
		if (chdir("..") || rmdir(name))
			_exit(1);
	map_file(copy_of_perf("after"), 0, MAP_PRIVATE);
}

/* The text tells what is left of the process, and nothing twice. */
static int test_long_name(enum proc_maps_call call)
{
	char dir[] = "/tmp/perf-proc-maps-XXXXXX";
	int ret = TEST_FAIL;
	pid_t pid;

	if (!mkdtemp(dir))
		return TEST_FAIL;
	pid = start(map_long_name, dir);
	if (pid > 0) {
		ret = compare_still(call, pid, 5);
		kill_process(pid);
	}
	remove_dir(dir);
	return ret;
}

static int test_every_process(enum proc_maps_call call)
{
	unsigned int nr[3] = { 0, 0, 0 };
	struct events events, texts[2];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	if (!proc || !events__init(&events) || !events__init(&texts[0]) || !events__init(&texts[1]))
		return TEST_FAIL;
	while ((entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid <= 0)
			continue;
		nr[1 + compare_process(call, pid, false, &events, texts)]++;
		nr[1 + compare_process(call, pid, true, &events, texts)]++;
	}
	closedir(proc);
	events__exit(&events);
	events__exit(&texts[0]);
	events__exit(&texts[1]);
	pr_debug("%u lists equal, %u differ, %u of processes that changed or could not be read\n",
		 nr[1], nr[0], nr[2]);
	return nr[1] && !nr[0] ? TEST_OK : TEST_FAIL;
}

static bool has_build_id(const struct perf_record_mmap2 *event)
{
	return event->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
}

/*
 * The build ID is that which is found in the file. It is not missing, unless the
 * file cannot be found by its name.
 */
static bool is_same_build_id(const struct perf_record_mmap2 *event,
			     const struct perf_record_mmap2 *text)
{
	if (has_build_id(event) && has_build_id(text))
		return event->build_id_size == text->build_id_size &&
		       !memcmp(event->build_id, text->build_id, event->build_id_size);
	return !has_build_id(text) && (!has_build_id(event) || access(event->filename, R_OK));
}

static int compare_build_ids(enum proc_maps_call call, pid_t pid)
{
	const struct perf_record_mmap2 *event, *text;
	unsigned int both = 0, more = 0;
	struct events events, texts;
	size_t at;

	if (!events__init(&events) || !events__init(&texts))
		return TEST_FAIL;
	symbol_conf.buildid_mmap2 = true;
	if (synthesize(&texts, PROC_MAPS_TEXT, pid, false) || synthesize(&events, call, pid, false))
		events.used = 0;
	symbol_conf.buildid_mmap2 = false;
	for (at = 0; at < events.used; at += event->header.size) {
		event = event_at(&events, at);
		text = event_at(&texts, at);
		if (!text || event->start != text->start || !is_same_build_id(event, text)) {
			show(proc_maps__name(call), event);
			show("file", text);
			break;
		}
		both += has_build_id(text);
		more += has_build_id(event) && !has_build_id(text);
	}
	pr_debug("%u build IDs equal, %u of files that have no such name\n", both, more);
	at = at == events.used && events.used == texts.used;
	events__exit(&events);
	events__exit(&texts);
	/* A name that is written in another way, and a deleted file. */
	return at && both >= 6 && more >= 2 ? TEST_OK : TEST_FAIL;
}

static int test_build_ids(enum proc_maps_call call)
{
	return with_every_kind(call, compare_build_ids);
}

/* Run a test, without a limit of time: an emulator is slow. */
static int run(enum proc_maps_call call, int (*test)(enum proc_maps_call call))
{
	unsigned int timeout = proc_map_timeout;
	int ret = TEST_SKIP;

	machines__init(&machines);
	proc_map_timeout = 600000;
	if (!is_lacking(call))
		ret = test(call);
	proc_map_timeout = timeout;
	proc_maps__allow("scan");
	machines__exit(&machines);
	return ret;
}

#define PROC_MAPS_TEST(_name, _call)							\
static int test__##_name##_by_##_call(struct test_suite *suite __maybe_unused,		\
				      int subtest __maybe_unused)			\
{											\
	return run(PROC_MAPS_##_call, test_##_name);					\
}

PROC_MAPS_TEST(kinds, SCAN)
PROC_MAPS_TEST(many, SCAN)
PROC_MAPS_TEST(exit, SCAN)
PROC_MAPS_TEST(build_ids, SCAN)
PROC_MAPS_TEST(long_name, SCAN)
PROC_MAPS_TEST(every_process, SCAN)
PROC_MAPS_TEST(kinds, QUERY)
PROC_MAPS_TEST(many, QUERY)
PROC_MAPS_TEST(exit, QUERY)
PROC_MAPS_TEST(build_ids, QUERY)
PROC_MAPS_TEST(long_name, QUERY)
PROC_MAPS_TEST(every_process, QUERY)

#define NO_SCAN		"the kernel has no PROCMAP_SCAN"
#define NO_QUERY	"the kernel has no PROCMAP_QUERY"

static struct test_case tests__proc_maps[] = {
	TEST_CASE_REASON("by scan: mappings of every kind", kinds_by_SCAN, NO_SCAN),
	TEST_CASE_REASON("by scan: 10,000 mappings", many_by_SCAN, NO_SCAN),
	TEST_CASE_REASON("by scan: a process that exits meanwhile", exit_by_SCAN, NO_SCAN),
	TEST_CASE_REASON("by scan: build IDs", build_ids_by_SCAN, NO_SCAN),
	TEST_CASE_REASON("by scan: a name longer than a path", long_name_by_SCAN, NO_SCAN),
	TEST_CASE_REASON("by scan: every process", every_process_by_SCAN, NO_SCAN),
	TEST_CASE_REASON("by query: mappings of every kind", kinds_by_QUERY, NO_QUERY),
	TEST_CASE_REASON("by query: 10,000 mappings", many_by_QUERY, NO_QUERY),
	TEST_CASE_REASON("by query: a process that exits meanwhile", exit_by_QUERY, NO_QUERY),
	TEST_CASE_REASON("by query: build IDs", build_ids_by_QUERY, NO_QUERY),
	TEST_CASE_REASON("by query: a name longer than a path", long_name_by_QUERY, NO_QUERY),
	TEST_CASE_REASON("by query: every process", every_process_by_QUERY, NO_QUERY),
	{ .name = NULL, }
};

struct test_suite suite__proc_maps = {
	.desc = "Mappings of processes are those of their text",
	.test_cases = tests__proc_maps,
};
