// SPDX-License-Identifier: GPL-2.0
/* The mmap events of an existing process are those of its maps file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <uapi/linux/fs.h>
#include <internal/lib.h> // page_size
#include "build-id.h"
#include "debug.h"
#include "event.h"
#include "machine.h"
#include "symbol.h"
#include "tests.h"
#include "util/synthetic-events.h"

static FILE *maps;
static bool with_data;
/* The mapped files are copies of perf. */
static struct build_id perf_bid;
static unsigned int nr_deleted;

/* Parse lines of the text until one that there should be an event of. */
static bool next_line(struct perf_record_mmap2 *want)
{
	char line[PATH_MAX + 128], perm[5];
	__u64 end;
	int name;

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &want->start, &end, perm,
			   &want->pgoff, &want->maj, &want->min, &want->ino, &name) != 7)
			return false;
		if (perm[2] != 'x' && (!with_data || perm[0] != 'r'))
			continue;
		want->len = end - want->start;
		want->prot = (perm[0] == 'r' ? PROT_READ : 0) | (perm[1] == 'w' ? PROT_WRITE : 0) |
			     (perm[2] == 'x' ? PROT_EXEC : 0);
		want->flags = perm[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
		line[strcspn(line, "\n")] = '\0';
		strcpy(want->filename, line[name] ? line + name : "//anon");
		return true;
	}
	return false;
}

static bool has_build_id(const struct perf_record_mmap2 *event, const struct build_id *bid)
{
	return event->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
	       event->build_id_size == bid->size && !memcmp(event->build_id, bid->data, bid->size);
}

/* A build ID takes the place of the device and the inode. */
static bool is_same_file(const struct perf_record_mmap2 *event,
			 const struct perf_record_mmap2 *want)
{
	struct build_id bid = { .size = 0, };

	if (filename__read_build_id(want->filename, &bid) > 0)
		return has_build_id(event, &bid);
	if (strstr(want->filename, " (deleted)") && has_build_id(event, &perf_bid)) {
		nr_deleted++;
		return true;
	}
	return !(event->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	       event->maj == want->maj && event->min == want->min && event->ino == want->ino;
}

static int compare_event(const struct perf_tool *tool __maybe_unused, union perf_event *event,
			 struct perf_sample *sample __maybe_unused,
			 struct machine *machine __maybe_unused)
{
	const struct perf_record_mmap2 *mmap2 = &event->mmap2;
	struct perf_record_mmap2 want;

	TEST_ASSERT_VAL("event without a line", next_line(&want));
	pr_debug("%llx %s, wanted: %llx %s\n", mmap2->start, mmap2->filename, want.start,
		 want.filename);
	TEST_ASSERT_VAL("start", mmap2->start == want.start);
	TEST_ASSERT_VAL("length", mmap2->len == want.len);
	TEST_ASSERT_VAL("offset", mmap2->pgoff == want.pgoff);
	TEST_ASSERT_VAL("protection", mmap2->prot == want.prot);
	TEST_ASSERT_VAL("flags", mmap2->flags == want.flags);
	TEST_ASSERT_VAL("name", !strcmp(mmap2->filename, want.filename));
	TEST_ASSERT_VAL("file", is_same_file(mmap2, &want));
	TEST_ASSERT_VAL("data", !(want.prot & PROT_EXEC) ==
			!!(mmap2->header.misc & PERF_RECORD_MISC_MMAP_DATA));
	return 0;
}

/* Compare all events of a process, among them those of deleted files. */
static int compare(pid_t pid, bool mmap_data, unsigned int min_deleted)
{
	static union perf_event event;
	struct perf_record_mmap2 more;
	struct machine machine;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	TEST_ASSERT_VAL("cannot read maps", maps);
	TEST_ASSERT_VAL("no machine", !machine__init(&machine, "", HOST_KERNEL_ID));
	with_data = mmap_data;
	nr_deleted = 0;
	/* An emulator is slow. */
	proc_map_timeout = 600000;
	err = perf_event__synthesize_mmap_events(NULL, &event, pid, pid, compare_event, &machine,
						 mmap_data);
	machine__exit(&machine);
	TEST_ASSERT_VAL("events differ", !err);
	TEST_ASSERT_VAL("line without an event", !next_line(&more) && feof(maps));
	TEST_ASSERT_VAL("no build ID of a deleted file", nr_deleted >= min_deleted);
	fclose(maps);
	return TEST_OK;
}

static int map_copy(const char *path, int prot, off_t offset)
{
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_RDWR);
	void *mem;

	while (sendfile(to, from, NULL, 1 << 30) > 0)
		;
	mem = mmap(NULL, page_size, prot, MAP_PRIVATE, to, offset);
	close(from);
	close(to);
	return mem == MAP_FAILED ? -1 : 0;
}

static int compare_processes(unsigned int min_deleted)
{
	char kept[] = "/tmp/perf-test-kept-XXXXXX", deleted[] = "/tmp/perf-test-deleted-XXXXXX";
	int err = close(mkstemp(kept)) || close(mkstemp(deleted)) ||
		  map_copy(kept, PROT_READ | PROT_EXEC, 0) ||
		  map_copy(kept, PROT_READ, page_size) ||
		  map_copy(deleted, PROT_READ | PROT_EXEC, page_size) ||
		  mmap(NULL, page_size, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
	/* The child has the same mappings, and does not change them. */
	pid_t pid = err ? -1 : fork();

	while (!pid)
		pause();
	unlink(deleted);
	filename__read_build_id("/proc/self/exe", &perf_bid);
	err = pid < 0 || compare(pid, false, min_deleted) || compare(pid, true, 0) ||
	      compare(getpid(), false, min_deleted);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	unlink(kept);
	return err ? TEST_FAIL : TEST_OK;
}

static int test__same_events(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	return compare_processes(0);
}

static int test__build_id_of_deleted(struct test_suite *test __maybe_unused,
				     int subtest __maybe_unused)
{
	struct procmap_query query = { .size = sizeof(query), };
	int fd = open("/proc/self/maps", O_RDONLY);
	bool lacks_query = ioctl(fd, PROCMAP_QUERY, &query) && errno == ENOTTY;

	close(fd);
	if (lacks_query || filename__read_build_id("/proc/self/exe", &perf_bid) <= 0)
		return TEST_SKIP;
	return compare_processes(1);
}

static struct test_case tests__synthesize_mmap[] = {
	TEST_CASE("same events as the text", same_events),
	TEST_CASE_REASON("build ID of a deleted file", build_id_of_deleted,
			 "no PROCMAP_QUERY, or perf has no build ID"),
	{ .name = NULL, }
};

struct test_suite suite__synthesize_mmap = {
	.desc = "Synthesize mmap events",
	.test_cases = tests__synthesize_mmap,
};
