// SPDX-License-Identifier: GPL-2.0
/* A child that changes its address space, and the test that looks at it: see writers_target.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scan.h"
#include "writers_target.h"

/*
 * The answer to the child if the look failed. Otherwise the answer is the
 * number of VMAs in its area.
 */
#define LOOK_FAILED	(~0ULL)

static bool in_area(const struct maps_vma *vma)
{
	return vma->start < WRITERS_AREA + WRITERS_SIZE && vma->end > WRITERS_AREA;
}

static bool same_answer(const struct maps_vma *vma, const struct procmap_call *call)
{
	const char *wrong = procmap_differs(vma, call);

	if (wrong)
		fprintf(stderr, "# %s of 0x%llx-0x%llx %s differs from the text\n", wrong,
			vma->start, vma->end, vma->name);
	return !wrong;
}

/* Query every VMA in a walk and by its last byte, and every hole by its first. */
static bool all_equal(int fd, const struct maps_text *text)
{
	struct procmap_call call;
	__u64 addr = 0;
	size_t i;

	for (i = 0; i < text->nr; i++) {
		const struct maps_vma *vma = &text->vma[i];

		if (procmap_ask(fd, addr, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, &call) ||
		    !same_answer(vma, &call))
			return false;
		if (vma->start != addr && procmap_ask(fd, addr, 0, &call) != -ENOENT)
			return false;
		if (procmap_ask(fd, vma->end - 1, 0, &call) || !same_answer(vma, &call))
			return false;
		addr = vma->end;
	}
	return procmap_ask(fd, addr, PROCMAP_QUERY_COVERING_OR_NEXT_VMA, &call) == -ENOENT;
}

/**
 * struct last_look - what the last look has found
 * @pid: the process; 0: there was no look yet
 * @fd: its maps file, which ends with the address space
 * @list: its VMAs
 */
static struct last_look {
	pid_t pid;
	int fd;
	struct scan_list list;
} last_look;

/* Did the last look find this VMA, just as it is now? */
static bool known(const struct scan_list *list, const struct procmap_record *record)
{
	struct procmap_record was;
	const char *name;
	size_t i;

	for (i = 0; i < last_look.list.nr; i++) {
		was = last_look.list.record[i];
		name = scan_name(&last_look.list, &was);
		was.name = record->name;
		was.generation = record->generation;
		if (!memcmp(&was, record, sizeof(was)))
			return name && !strcmp(name, scan_name(list, record));
	}
	return false;
}

static size_t nr_code(const struct scan_list *list)
{
	size_t i, nr = 0;

	for (i = 0; i < list->nr; i++)
		nr += scan_is_code(&list->record[i]);
	return nr;
}

/*
 * Who kept the last list must be told of all that has changed: by the
 * generation, by that of code, and by that of each VMA.
 */
static bool told_of_changes(const struct scan_list *list)
{
	const struct scan_list *last = &last_look.list;
	bool changed = list->nr != last->nr, code = nr_code(list) != nr_code(last);
	size_t i;

	for (i = 0; i < list->nr; i++) {
		const struct procmap_record *record = &list->record[i];

		if (known(list, record))
			continue;
		changed = true;
		code |= scan_is_code(record);
		if ((__s64)(record->generation - last->generation) > 0)
			continue;
		fprintf(stderr, "# 0x%llx-0x%llx has changed, its generation does not tell\n",
			record->start, record->end);
		return false;
	}
	if ((__s64)(list->generation - last->generation) < changed ||
	    (__s64)(list->code_generation - last->code_generation) < code) {
		fprintf(stderr, "# a change, and the generation is the same or less\n");
		return false;
	}
	return true;
}

/* Without per-VMA locks there are no generations. */
static bool scan_agrees(pid_t pid, int fd, const struct maps_text *text)
{
	struct procmap_scan again = {
		.size = sizeof(again),
		.record_size = sizeof(struct procmap_record),
	};
	struct scan_list list;
	bool good;

	if (scan_everything(fd, &list) || scan_check(fd, text, &list)) {
		scan_list_free(&list);
		return false;
	}
	/* After exec the process has another address space. */
	good = last_look.pid != pid || scan_ioctl(last_look.fd, &again) || !list.generation ||
	       told_of_changes(&list);
	scan_list_free(&last_look.list);
	if (last_look.pid)
		close(last_look.fd);
	last_look = (struct last_look){ .pid = pid, .fd = dup(fd), .list = list };
	return good;
}

/* Returns the number of VMAs in the area, or LOOK_FAILED. */
static __u64 look(pid_t pid)
{
	int fd = maps_open(pid);
	struct maps_text text;
	__u64 nr = 0;
	size_t i;

	if (fd < 0)
		return LOOK_FAILED;
	if (maps_text_read(fd, &text)) {
		close(fd);
		return LOOK_FAILED;
	}
	for (i = 0; i < text.nr; i++)
		nr += in_area(&text.vma[i]);
	if (!all_equal(fd, &text) || !scan_agrees(pid, fd, &text))
		nr = LOOK_FAILED;
	maps_text_free(&text);
	close(fd);
	return nr;
}

static int runs_case(struct procmap_child *child, void *arg)
{
	writers_fn **fn = arg;

	return (*fn)(child) ? 0 : 1;
}

/*
 * Run one case in a child, and look at it whenever it asks. Returns 0; 1 when
 * the case failed; 256 plus the signal that killed the child; or -errno.
 */
int writers_run(writers_fn *fn)
{
	struct procmap_child child;
	int ret = procmap_child_start(&child, runs_case, &fn);
	__u64 pid;

	if (ret)
		return ret;
	while (!procmap_recv(&child, &pid)) {
		ret = procmap_send(&child, look(pid ?: child.pid));
		if (ret)
			break;
	}
	return procmap_child_wait(&child);
}

/*
 * In the child: let the test look at another process. Returns true if all
 * answers agree with the text and the number is right.
 * @pid: the process; 0: the child itself
 * @nr: how many VMAs there must be in its area
 */
bool writers_seen_pid(struct procmap_child *child, pid_t pid, unsigned int nr)
{
	__u64 got;

	if (!HOLDS(!procmap_send(child, pid)) || !HOLDS(!procmap_recv(child, &got)))
		return false;
	if (got != nr)
		fprintf(stderr, "# %lld VMAs in the area, expected %u\n", (long long)got, nr);
	return got == nr;
}

/*
 * In the child: let the test look at it. Returns as writers_seen_pid().
 * @nr: how many VMAs there must be in the area
 */
bool writers_seen(struct procmap_child *child, unsigned int nr)
{
	return writers_seen_pid(child, 0, nr);
}

size_t writers_bytes(unsigned int pages)
{
	return (size_t)pages * sysconf(_SC_PAGESIZE);
}

char *writers_page(unsigned int page)
{
	return (char *)WRITERS_AREA + writers_bytes(page);
}

static bool map_at(unsigned int page, unsigned int pages, int prot, int flags, int fd,
		   unsigned int offset)
{
	char *at = writers_page(page);

	return mmap(at, writers_bytes(pages), prot, flags, fd, writers_bytes(offset)) == at;
}

/* Map private anonymous memory where nothing is mapped. Returns true if it was mapped. */
bool writers_map(unsigned int page, unsigned int pages, int prot)
{
	return map_at(page, pages, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Map private anonymous memory over existing mappings. Returns true if it was mapped. */
bool writers_map_over(unsigned int page, unsigned int pages, int prot)
{
	return map_at(page, pages, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Map a file, shared, over existing mappings. Returns true if it was mapped. */
bool writers_map_file(unsigned int page, unsigned int pages, int prot, int fd,
		      unsigned int offset)
{
	return map_at(page, pages, prot, MAP_SHARED | MAP_FIXED, fd, offset);
}

bool writers_unmap(unsigned int page, unsigned int pages)
{
	return !munmap(writers_page(page), writers_bytes(pages));
}

bool writers_protect(unsigned int page, unsigned int pages, int prot)
{
	return !mprotect(writers_page(page), writers_bytes(pages), prot);
}

bool writers_advise(unsigned int page, unsigned int pages, int advice)
{
	return !madvise(writers_page(page), writers_bytes(pages), advice);
}

/*
 * mremap() of pages to a certain place. Returns true if the pages are there.
 * @to: page number of the first page afterwards
 * @new: how many pages there must be afterwards
 */
bool writers_move(unsigned int from, unsigned int old, unsigned int to, unsigned int new,
		  int flags)
{
	return mremap(writers_page(from), writers_bytes(old), writers_bytes(new), flags,
		      writers_page(to)) == writers_page(to);
}
