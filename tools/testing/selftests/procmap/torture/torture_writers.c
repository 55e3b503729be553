// SPDX-License-Identifier: GPL-2.0
/* Writers: each announces the next state of its region, then changes it. See torture.h. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "torture_writers.h"

#define BIG_PAUSE_US	5000
#define NEW_FILE_PAUSE_US	5000

/* The bits of a unit that correspond to the PROT_* arguments of mmap(). */
#define UNIT_PROT	(UNIT_READ | UNIT_WRITE | UNIT_EXEC)

static const struct torture_state *now(const struct torture_owner *o)
{
	return &o->region->state[o->region->reached % TORTURE_STATES];
}

static char *addr_of(const struct torture_owner *o, unsigned int unit)
{
	return (char *)(unsigned long)(o->region->base + unit * o->region->unit);
}

static size_t bytes(const struct torture_owner *o, unsigned int units)
{
	return units * o->region->unit;
}

/* Return a copy of the present state, for the caller to change and announce. */
static struct torture_state *next_state(struct torture_owner *o)
{
	struct torture_state *next = &o->region->state[(o->region->reached + 1) % TORTURE_STATES];

	*next = *now(o);
	return next;
}

static void announce(struct torture_owner *o, enum torture_op op)
{
	o->region->state[(o->region->reached + 1) % TORTURE_STATES].op = op;
	__atomic_store_n(&o->region->announced, o->region->reached + 1, __ATOMIC_SEQ_CST);
}

static bool reached(struct torture_owner *o, bool good)
{
	enum torture_op op = o->region->state[o->region->announced % TORTURE_STATES].op;

	torture_count(&o->t->ops[op]);
	if (!good) {
		torture_fail(o->t, "operation %d of the writer of %llx failed: errno %d", op,
			     o->region->base, errno);
		return false;
	}
	__atomic_store_n(&o->region->reached, o->region->announced, __ATOMIC_SEQ_CST);
	return true;
}

static unsigned int any(struct torture_owner *o, unsigned int limit)
{
	return torture_random(&o->random, limit);
}

/* Pick a few units, whatever their properties. */
static void pick(struct torture_owner *o, unsigned int *first, unsigned int *units)
{
	*first = any(o, o->region->units);
	*units = 1 + any(o, 8);
	if (*units > o->region->units - *first)
		*units = o->region->units - *first;
}

/* Pick a few units that have @bits under @mask; return false if chance finds none. */
static bool pick_like(struct torture_owner *o, __u32 mask, __u32 bits, unsigned int *first,
		      unsigned int *units)
{
	unsigned int i;

	pick(o, first, units);
	for (i = 0; i < *units; i++)
		if ((now(o)->unit[*first + i] & mask) != bits)
			break;
	*units = i;
	return i;
}

/* Pick a few units of one VMA, not registered with userfaultfd. */
static bool pick_in_vma(struct torture_owner *o, unsigned int *first, unsigned int *units)
{
	const __u32 *unit = now(o)->unit;
	unsigned int i;

	if (!pick_like(o, UNIT_MAPPED | UNIT_UFFD, UNIT_MAPPED, first, units))
		return false;
	for (i = 1; i < *units; i++)
		if (!torture_same_vma(unit[*first + i - 1], unit[*first + i]))
			break;
	*units = i;
	return true;
}

/*
 * MAP_NORESERVE: accounted memory would get a flag that decides about merging.
 * No query shows whether a VMA ever had it.
 */
static bool map(struct torture_owner *o, unsigned int first, unsigned int units, __u32 unit,
		int flags)
{
	int fd = unit & UNIT_FILE ? o->t->file[o->region->file].fd : -1;
	char *addr = addr_of(o, first);

	flags |= MAP_FIXED | MAP_NORESERVE | (unit & UNIT_SHARED ? MAP_SHARED : MAP_PRIVATE) |
		 (unit & UNIT_FILE ? 0 : MAP_ANONYMOUS);
	return mmap(addr, bytes(o, units), torture_prot(unit), flags, fd,
		    (unit >> UNIT_OFFSET_SHIFT) * o->region->unit) == addr;
}

static __u32 random_unit(struct torture_owner *o, unsigned int first)
{
	__u32 unit = UNIT_MAPPED | any(o, UNIT_PROT + 1);

	/* Mostly use the offset at which neighbours can merge. */
	if (any(o, 2))
		unit |= UNIT_FILE | (any(o, 2) ? UNIT_SHARED : 0) |
			(first + (any(o, 4) ? 0 : TORTURE_UNITS)) << UNIT_OFFSET_SHIFT;
	return unit;
}

static bool do_mmap(struct torture_owner *o)
{
	enum torture_op op = OP_MMAP;
	unsigned int first, units, i;
	struct torture_state *next = next_state(o);
	__u32 unit;

	pick(o, &first, &units);
	unit = random_unit(o, first);
	for (i = 0; i < units; i++) {
		if (next->unit[first + i] & UNIT_MAPPED)
			op = OP_MMAP_OVER;
		next->unit[first + i] = unit + (unit & UNIT_FILE ? i << UNIT_OFFSET_SHIFT : 0);
	}
	if (op == OP_MMAP && unit & UNIT_FILE)
		op = OP_MMAP_FILE;
	announce(o, op);
	return reached(o, map(o, first, units, unit, 0));
}

static bool do_munmap(struct torture_owner *o)
{
	unsigned int first, units;
	struct torture_state *next = next_state(o);

	pick(o, &first, &units);
	memset(&next->unit[first], 0, units * sizeof(next->unit[0]));
	announce(o, OP_MUNMAP);
	return reached(o, !munmap(addr_of(o, first), bytes(o, units)));
}

static bool do_mprotect(struct torture_owner *o)
{
	__u32 prot = any(o, UNIT_PROT + 1);
	unsigned int first, units, i;
	struct torture_state *next = next_state(o);

	if (!pick_like(o, UNIT_MAPPED, UNIT_MAPPED, &first, &units))
		return true;
	for (i = first; i < first + units; i++)
		next->unit[i] = (next->unit[i] & ~UNIT_PROT) | prot;
	announce(o, o->region->kind == REGION_BIG ? OP_BIG_MPROTECT : OP_MPROTECT);
	return reached(o, !mprotect(addr_of(o, first), bytes(o, units), torture_prot(prot)));
}

static bool do_mremap_move(struct torture_owner *o)
{
	unsigned int first, units, to, i;
	struct torture_state *next = next_state(o);

	if (!pick_in_vma(o, &first, &units))
		return true;
	to = any(o, o->region->units - units + 1);
	if (to < first + units && first < to + units)
		return true;
	for (i = 0; i < units; i++) {
		next->unit[to + i] = next->unit[first + i];
		next->unit[first + i] = 0;
	}
	announce(o, OP_MREMAP_MOVE);
	return reached(o, mremap(addr_of(o, first), bytes(o, units), bytes(o, units),
			      MREMAP_MAYMOVE | MREMAP_FIXED, addr_of(o, to)) == addr_of(o, to));
}

/* Grow a VMA into the hole right after it. */
static bool do_mremap_grow(struct torture_owner *o)
{
	unsigned int first, units, more = 0, i;
	struct torture_state *next = next_state(o);

	if (!pick_in_vma(o, &first, &units))
		return true;
	for (i = first + units; i < o->region->units && more < 4; i++, more++) {
		if (next->unit[i] & UNIT_MAPPED)
			break;
		next->unit[i] = next->unit[i - 1];
		if (next->unit[i] & UNIT_FILE)
			next->unit[i] += 1 << UNIT_OFFSET_SHIFT;
	}
	if (!more)
		return true;
	announce(o, OP_MREMAP_GROW);
	return reached(o, mremap(addr_of(o, first), bytes(o, units), bytes(o, units + more), 0) ==
		       addr_of(o, first));
}

static bool do_mremap_shrink(struct torture_owner *o)
{
	unsigned int first, units, less;
	struct torture_state *next = next_state(o);

	if (!pick_in_vma(o, &first, &units) || units < 2)
		return true;
	less = 1 + any(o, units - 1);
	memset(&next->unit[first + units - less], 0, less * sizeof(next->unit[0]));
	announce(o, OP_MREMAP_SHRINK);
	return reached(o, mremap(addr_of(o, first), bytes(o, units), bytes(o, units - less), 0) ==
		       addr_of(o, first));
}

/* Announce that some mapped units, with no other bits of @mask, change bits. */
static bool set_bits(struct torture_owner *o, enum torture_op op, __u32 mask, __u32 clear,
		     __u32 set, unsigned int *first, unsigned int *units)
{
	struct torture_state *next = next_state(o);
	unsigned int i;

	if (!pick_like(o, mask, UNIT_MAPPED, first, units))
		return false;
	for (i = *first; i < *first + *units; i++)
		next->unit[i] = (next->unit[i] & ~clear) | set;
	announce(o, op);
	return true;
}

static bool do_madvise(struct torture_owner *o)
{
	static const struct {
		__u32 bit;
		int set;
		int clear;
	} advices[] = {
		{ UNIT_DONTDUMP, MADV_DONTDUMP, MADV_DODUMP },
		{ UNIT_DONTFORK, MADV_DONTFORK, MADV_DOFORK },
		{ UNIT_SEQUENTIAL, MADV_SEQUENTIAL, MADV_NORMAL },
	};
	unsigned int i = any(o, sizeof(advices) / sizeof(*advices));
	unsigned int first, units;
	bool set = any(o, 2);
	__u32 bit = advices[i].bit;

	if (!set_bits(o, OP_MADVISE, UNIT_MAPPED, bit, set ? bit : 0, &first, &units))
		return true;
	return reached(o, !madvise(addr_of(o, first), bytes(o, units),
					       set ? advices[i].set : advices[i].clear));
}

static bool do_anon_name(struct torture_owner *o)
{
	unsigned int first, units, name = any(o, 4);

	if (!set_bits(o, OP_ANON_NAME, UNIT_MAPPED | UNIT_FILE, UNIT_NAME, name << UNIT_NAME_SHIFT,
		      &first, &units))
		return true;
	return reached(o, !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, addr_of(o, first),
			      bytes(o, units), torture_anon_name(name)));
}

/*
 * Toggle userfaultfd for a VMA or a part of it. Do so only where the result
 * cannot merge with its neighbours: userfaultfd does not always merge what
 * could merge.
 */
static bool set_uffd(struct torture_owner *o, enum torture_op op, __u32 was,
		     struct uffdio_range *range)
{
	struct torture_state *next = next_state(o);
	unsigned int first, units, end, i;

	if (!pick_like(o, UNIT_MAPPED | UNIT_UFFD, UNIT_MAPPED | was, &first, &units))
		return false;
	for (end = first + 1; end < first + units; end++)
		if (!torture_same_vma(next->unit[end - 1], next->unit[end]))
			break;
	for (i = first; i < end; i++)
		next->unit[i] ^= UNIT_UFFD;
	if (first && torture_same_vma(next->unit[first - 1], next->unit[first]))
		return false;
	if (end < o->region->units && torture_same_vma(next->unit[end - 1], next->unit[end]))
		return false;
	range->start = (unsigned long)addr_of(o, first);
	range->len = bytes(o, end - first);
	announce(o, op);
	return true;
}

static bool do_uffd_register(struct torture_owner *o)
{
	struct uffdio_register arg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (!set_uffd(o, OP_UFFD_REGISTER, 0, &arg.range))
		return true;
	return reached(o, !ioctl(o->uffd, UFFDIO_REGISTER, &arg));
}

static bool do_uffd_unregister(struct torture_owner *o)
{
	struct uffdio_range range;

	if (!set_uffd(o, OP_UFFD_UNREGISTER, UNIT_UFFD, &range))
		return true;
	return reached(o, !ioctl(o->uffd, UFFDIO_UNREGISTER, &range));
}

static bool do_mlock(struct torture_owner *o)
{
	unsigned int first, units;

	if (!set_bits(o, OP_MLOCK, UNIT_MAPPED, 0, UNIT_LOCKED, &first, &units))
		return true;
	return reached(o, !mlock2(addr_of(o, first), bytes(o, units), MLOCK_ONFAULT));
}

static bool do_munlock(struct torture_owner *o)
{
	unsigned int first, units;

	if (!set_bits(o, OP_MUNLOCK, UNIT_MAPPED, UNIT_LOCKED, 0, &first, &units))
		return true;
	return reached(o, !munlock(addr_of(o, first), bytes(o, units)));
}

static bool do_mixed(struct torture_owner *o)
{
	static bool (* const ops[])(struct torture_owner *o) = {
		do_mmap, do_mmap, do_mmap, do_munmap, do_mprotect, do_mprotect, do_mremap_move,
		do_mremap_grow, do_mremap_shrink, do_madvise, do_anon_name, do_uffd_register,
		do_uffd_unregister, do_mlock, do_munlock,
	};
	unsigned int i = any(o, sizeof(ops) / sizeof(*ops));

	if (ops[i] == do_anon_name && o->t->without[OP_ANON_NAME])
		return true;
	if ((ops[i] == do_uffd_register || ops[i] == do_uffd_unregister) && o->uffd < 0)
		return true;
	return ops[i](o);
}

/*
 * Map much memory that is populated. Removing it takes longer than a reader
 * retries before it waits.
 */
static bool do_big_over(struct torture_owner *o)
{
	unsigned int first = any(o, o->region->units), units = o->region->units - first, i;
	__u32 unit = UNIT_MAPPED | UNIT_READ | UNIT_WRITE | UNIT_FILE | UNIT_SHARED |
		     first << UNIT_OFFSET_SHIFT;
	struct torture_state *next = next_state(o);

	for (i = 0; i < units; i++)
		next->unit[first + i] = unit + (i << UNIT_OFFSET_SHIFT);
	announce(o, OP_BIG_OVER);
	return reached(o, map(o, first, units, unit, MAP_POPULATE));
}

static bool do_big(struct torture_owner *o)
{
	switch (any(o, 4)) {
	case 0:
		return do_munmap(o);
	case 1:
		return do_mprotect(o);
	default:
		return do_big_over(o);
	}
}

#define UNIT_STACK	(UNIT_MAPPED | UNIT_READ | UNIT_WRITE)

static bool do_stack(struct torture_owner *o)
{
	unsigned int units = o->region->units, start = 0, to, i;
	struct torture_state *next = next_state(o);

	while (start < units && !(next->unit[start] & UNIT_MAPPED))
		start++;
	if (!start || (start < units && !any(o, 4))) {
		to = start + 1 + any(o, units - start);
		memset(next->unit, 0, to * sizeof(next->unit[0]));
		announce(o, OP_STACK_CUT);
		return reached(o, !munmap(addr_of(o, start), bytes(o, to - start)));
	}
	to = any(o, start);
	for (i = to; i < units; i++)
		next->unit[i] = UNIT_STACK;
	announce(o, start == units ? OP_STACK_MAP : OP_STACK_GROW);
	if (start == units)
		return reached(o, map(o, to, units - to, UNIT_STACK, MAP_GROWSDOWN));
	__atomic_store_n(addr_of(o, to), 1, __ATOMIC_RELAXED);
	return reached(o, true);
}

static bool do_heap(struct torture_owner *o)
{
	unsigned int to = o->heap_least + any(o, o->region->units - o->heap_least + 1), i;
	unsigned long end = (unsigned long)addr_of(o, to);
	struct torture_state *next = next_state(o);

	for (i = 0; i < o->region->units; i++)
		next->unit[i] = i < to ? UNIT_MAPPED | UNIT_READ | UNIT_WRITE | UNIT_HEAP : 0;
	announce(o, OP_BRK);
	return reached(o, (unsigned long)syscall(__NR_brk, end) == end);
}

/* Close the file. The last of its units that is mapped over frees it. */
static bool next_file(struct torture_owner *o)
{
	if (o->file >= 0)
		close(o->file);
	/* The kernel frees the file before only after an RCU grace period. */
	usleep(NEW_FILE_PAUSE_US);
	o->file = memfd_create(TORTURE_NEW_FILE, MFD_CLOEXEC);
	o->second = !o->second;
	o->cursor = 0;
	return o->file >= 0;
}

/*
 * Map a new file over the one before, a unit at a time, then the next. Each
 * unit is a VMA: the offsets do not fit. A file is soon at the place in memory
 * where one was that is gone.
 */
static bool do_files(struct torture_owner *o)
{
	struct torture_state *next = next_state(o);
	unsigned int unit;
	struct stat st;

	if ((o->file < 0 || o->cursor == o->region->units) && !next_file(o))
		return reached(o, false);
	if (fstat(o->file, &st))
		return reached(o, false);
	unit = o->cursor++;
	next->inode[o->second] = st.st_ino;
	next->unit[unit] = UNIT_MAPPED | UNIT_READ | UNIT_FILE | (o->second ? UNIT_SECOND : 0) |
			   2 * unit << UNIT_OFFSET_SHIFT;
	announce(o, OP_NEW_FILE);
	return reached(o, mmap(addr_of(o, unit), bytes(o, 1), PROT_READ, MAP_PRIVATE | MAP_FIXED,
			       o->file, bytes(o, 2 * unit)) == addr_of(o, unit));
}

/* Only one state of the writer's own region is legal: the present one. */
static bool look(struct torture_owner *o)
{
	__u64 addr = o->region->base + any(o, o->region->units) * o->region->unit;
	struct torture_query query;

	torture_count(&o->t->asks[ASK_OWN_STATE]);
	return torture_ask(o->t, &query, o->maps, addr, 0, TORTURE_NAME_ROOM);
}

int torture_write(struct torture_owner *o)
{
	static bool (* const change[])(struct torture_owner *o) = {
		[REGION_MIXED] = do_mixed,
		[REGION_BIG] = do_big,
		[REGION_STACK] = do_stack,
		[REGION_FILES] = do_files,
		[REGION_HEAP] = do_heap,
	};

	while (!torture_stopped(o->t)) {
		torture_count(&o->t->beat[o->actor]);
		/* This writer holds mmap_lock for long, so let others work in between. */
		if (o->region->kind == REGION_BIG)
			usleep(BIG_PAUSE_US);
		if (!change[o->region->kind](o))
			break;
		if (!any(o, 4) && !look(o))
			break;
	}
	return 0;
}
