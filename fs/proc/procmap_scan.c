// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_SCAN: all VMAs of an address space as records, and whether they have
 * changed.
 *
 * A scan goes from VMA to VMA. While no writer is at work it copies those of a
 * whole leaf of the tree without a lock. It locks a VMA for its name or its
 * build ID. VMAs of one file that follow each other share both, and so do VMAs
 * without a name: only the first of such a row is locked. Beside a writer each
 * VMA is locked.
 *
 * What it copies goes to kernel memory of a fixed size. It goes on to the
 * caller's memory, which may fault, when nothing of the target is held.
 */
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_visit.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vma_base.h>
#include <linux/vma_generation.h>
#include <linux/vma_search.h>
#include "internal.h"

/* VMAs that are copied without a lock at once. A leaf has no more. */
#define PROCMAP_SCAN_CHUNK	16
/* Room for most paths; with the chunk it fills an object of 2 KiB. */
#define PROCMAP_SCAN_NAME	896

#define PROCMAP_SCAN_FLAGS						\
	(PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS |			\
	 PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED |	\
	 PROCMAP_SCAN_NOWAIT)

/* Each VMA has some of these bits. */
#define PROCMAP_COMMON_FLAGS						\
	(PROCMAP_QUERY_VMA_READABLE | PROCMAP_QUERY_VMA_WRITABLE |	\
	 PROCMAP_QUERY_VMA_EXECUTABLE | PROCMAP_QUERY_VMA_SHARED |	\
	 PROCMAP_QUERY_FILE_BACKED_VMA)

/* Few VMAs have one of these. */
#define PROCMAP_RARE_FLAGS						\
	(PROCMAP_RECORD_GROWS_DOWN | PROCMAP_RECORD_LOCKED |		\
	 PROCMAP_RECORD_HUGE | PROCMAP_RECORD_NO_HUGE |			\
	 PROCMAP_RECORD_NO_DUMP | PROCMAP_RECORD_NO_FORK |		\
	 PROCMAP_RECORD_WIPE_ON_FORK | PROCMAP_RECORD_UFFD_MISSING |	\
	 PROCMAP_RECORD_UFFD_WP | PROCMAP_RECORD_UFFD_MINOR)

#define PROCMAP_CONDITIONS						\
	(PROCMAP_COMMON_FLAGS | PROCMAP_RARE_FLAGS | PROCMAP_RECORD_UNLINKED)

static const struct {
	u64 record;
	unsigned long vm;
} procmap_rare_bits[] = {
	{ PROCMAP_RECORD_GROWS_DOWN,	VM_GROWSDOWN },
	{ PROCMAP_RECORD_LOCKED,	VM_LOCKED },
	{ PROCMAP_RECORD_HUGE,		VM_HUGEPAGE },
	{ PROCMAP_RECORD_NO_HUGE,	VM_NOHUGEPAGE },
	{ PROCMAP_RECORD_NO_DUMP,	VM_DONTDUMP },
	{ PROCMAP_RECORD_NO_FORK,	VM_DONTCOPY },
	{ PROCMAP_RECORD_WIPE_ON_FORK,	VM_WIPEONFORK },
	{ PROCMAP_RECORD_UFFD_MISSING,	VM_UFFD_MISSING },
	{ PROCMAP_RECORD_UFFD_WP,	VM_UFFD_WP },
	{ PROCMAP_RECORD_UFFD_MINOR,	VM_UFFD_MINOR },
};

#define PROCMAP_RARE_VM							\
	(VM_GROWSDOWN | VM_LOCKED | VM_HUGEPAGE | VM_NOHUGEPAGE |	\
	 VM_DONTDUMP | VM_DONTCOPY | VM_WIPEONFORK | VM_UFFD_MISSING |	\
	 VM_UFFD_WP | VM_UFFD_MINOR)

static_assert(sizeof(struct procmap_scan) == PROCMAP_SCAN_SIZE_VER0);
static_assert(sizeof(struct procmap_record) == PROCMAP_RECORD_SIZE_VER0);
static_assert(PROCMAP_QUERY_VMA_READABLE == VM_READ);
static_assert(PROCMAP_QUERY_VMA_WRITABLE == VM_WRITE);
static_assert(PROCMAP_QUERY_VMA_EXECUTABLE == VM_EXEC);
static_assert(PROCMAP_QUERY_VMA_SHARED <= VM_MAYSHARE);

/**
 * struct procmap_scan_room - kernel memory of a scan
 * @props: VMAs that were copied
 * @name: the name of one VMA
 */
struct procmap_scan_room {
	struct vma_props props[PROCMAP_SCAN_CHUNK];
	char name[PROCMAP_SCAN_NAME];
};

static_assert(sizeof(struct procmap_scan_room) <= 2048);

/**
 * struct procmap_tail - the end of a record, which all VMAs of one row have
 * @name: where the name begins in the area of names
 * @build_id_size: bytes of the build ID
 * @build_id: the build ID, with zeroes behind it
 * @reserved: 0
 */
struct procmap_tail {
	u32 name;
	u32 build_id_size;
	unsigned char build_id[BUILD_ID_SIZE_MAX];
	u32 reserved;
};

#define PROCMAP_TAIL_WORDS	(sizeof(struct procmap_tail) / sizeof(u64))

static_assert(offsetof(struct procmap_record, name) + sizeof(struct procmap_tail) ==
	      sizeof(struct procmap_record));
static_assert(offsetof(struct procmap_record, build_id) - offsetof(struct procmap_record, name) ==
	      offsetof(struct procmap_tail, build_id));

/**
 * struct procmap_scanner - the state of a scan
 * @args: the arguments
 * @walk: the search for VMAs
 * @end: look at VMAs that begin below this address
 * @complete: there are no more of them
 * @page_shift: page size of the VMAs in @room
 * @records: how many records were written
 * @names: bytes of names that were written
 * @row: the row of the last VMA; without a generation, no other VMA belongs to it
 * @row_flags: PROCMAP_RECORD_* bits about its name and build ID
 * @tail: the end of its record
 * @tail_words: the same, as it is copied
 * @room: kernel memory
 * @name: a name that was copied, and is still to be written; NULL: none
 * @name_len: its length with the NUL
 * @file: a file with a reference, whose build ID is still to be read; NULL: none
 * @name_buf: where to copy names: in @room, or memory of its own
 * @name_room: size of @name_buf in bytes
 */
struct procmap_scanner {
	struct procmap_scan args;
	struct vma_walk walk;
	u64 end;
	bool complete;
	u32 page_shift;
	u32 records;
	u32 names;
	struct vma_row row;
	u64 row_flags;
	union {
		struct procmap_tail tail;
		u64 tail_words[PROCMAP_TAIL_WORDS];
	};
	struct procmap_scan_room *room;
	const char *name;
	size_t name_len;
	struct file *file;
	char *name_buf;
	size_t name_room;
};

/*
 * Fetch a struct of the usual size, and only the input fields. -EAGAIN leaves
 * everything else to the general way, as for a query.
 */
static int procmap_scan_fetch_fast(struct procmap_scan *s, const struct procmap_scan __user *us)
{
	/* Some 32-bit architectures cannot read a u64 in this way. */
	if (!IS_ENABLED(CONFIG_64BIT) || !user_read_access_begin(us, sizeof(*s)))
		return -EAGAIN;
	unsafe_get_user(s->size, &us->size, fault);
	if (s->size != sizeof(*s))
		goto fault;
	unsafe_get_user(s->flags, &us->flags, fault);
	unsafe_get_user(s->start, &us->start, fault);
	unsafe_get_user(s->end, &us->end, fault);
	unsafe_get_user(s->all_of, &us->all_of, fault);
	unsafe_get_user(s->any_of, &us->any_of, fault);
	unsafe_get_user(s->none_of, &us->none_of, fault);
	unsafe_get_user(s->records, &us->records, fault);
	unsafe_get_user(s->records_len, &us->records_len, fault);
	unsafe_get_user(s->record_size, &us->record_size, fault);
	unsafe_get_user(s->names, &us->names, fault);
	unsafe_get_user(s->names_size, &us->names_size, fault);
	unsafe_get_user(s->reserved, &us->reserved, fault);
	unsafe_get_user(s->known_generation, &us->known_generation, fault);
	unsafe_get_user(s->code_generation, &us->code_generation, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EAGAIN;
}

static int procmap_scan_fetch(struct procmap_scan *s, const struct procmap_scan __user *us)
{
	u64 size;

	if (likely(!procmap_scan_fetch_fast(s, us)))
		return 0;
	if (get_user(size, &us->size))
		return -EFAULT;
	if (size < PROCMAP_SCAN_SIZE_VER0)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(s, sizeof(*s), us, size);
}

static int procmap_scan_check(const struct procmap_scan *s)
{
	const u64 both = PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED;

	if (s->flags & ~(u64)PROCMAP_SCAN_FLAGS || (s->flags & both) == both)
		return -EINVAL;
	if ((s->all_of | s->any_of | s->none_of) & ~(u64)PROCMAP_CONDITIONS)
		return -EINVAL;
	if (s->end && s->start >= s->end)
		return -EINVAL;
	if (s->record_size < PROCMAP_RECORD_SIZE_VER0 || s->record_size > PAGE_SIZE)
		return -EINVAL;
	return s->reserved ? -EINVAL : 0;
}

/*
 * Write all answers or none. The struct lies in two pages at most. So write the
 * last word first, with the value that it already has.
 */
static int procmap_scan_store(const struct procmap_scanner *sc, u64 next,
			      const struct vma_generations *generations,
			      struct procmap_scan __user *us)
{
	if (!user_write_access_begin(us, sizeof(*us)))
		return -EFAULT;
	unsafe_put_user(sc->args.code_generation, &us->code_generation, fault);
	unsafe_put_user(sc->records, &us->records_filled, fault);
	unsafe_put_user(sc->names, &us->names_filled, fault);
	unsafe_put_user(next, &us->next, fault);
	unsafe_put_user(generations->all, &us->generation, fault);
	unsafe_put_user(generations->code, &us->code_generation, fault);
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/* Bits of a VMA as bits of its record. */
static __always_inline u64 procmap_record_flags(const struct vma_props *props)
{
	const unsigned long vm = props->flags;
	u64 flags = (vm & (VM_READ | VM_WRITE | VM_EXEC)) |
		    (vm & VM_MAYSHARE) / (VM_MAYSHARE / PROCMAP_QUERY_VMA_SHARED);
	unsigned int i;

	if (props->file)
		flags |= PROCMAP_QUERY_FILE_BACKED_VMA;
	if (unlikely(props->unlinked))
		flags |= PROCMAP_RECORD_UNLINKED;
	if (likely(!(vm & PROCMAP_RARE_VM)))
		return flags;
	for (i = 0; i < ARRAY_SIZE(procmap_rare_bits); i++)
		if (vm & procmap_rare_bits[i].vm)
			flags |= procmap_rare_bits[i].record;
	return flags;
}

/* The bits that a VMA must have to have these of a record. */
static unsigned long procmap_record_to_vm_flags(u64 flags)
{
	unsigned long vm = flags & (VM_READ | VM_WRITE | VM_EXEC);
	unsigned int i;

	if (flags & PROCMAP_QUERY_VMA_SHARED)
		vm |= VM_MAYSHARE;
	for (i = 0; i < ARRAY_SIZE(procmap_rare_bits); i++)
		if (flags & procmap_rare_bits[i].record)
			vm |= procmap_rare_bits[i].vm;
	return vm;
}

static __always_inline bool procmap_scan_wants(const struct procmap_scan *s, u64 flags)
{
	return !(s->all_of & ~flags) && (!s->any_of || (s->any_of & flags)) &&
	       !(s->none_of & flags);
}

/*
 * Fill with zeroes what the caller's records have behind those of the kernel,
 * from record @first on.
 */
static int procmap_scan_clear_tails(const struct procmap_scanner *sc, u32 first)
{
	const u32 size = sc->args.record_size, known = sizeof(struct procmap_record);
	void __user *to = u64_to_user_ptr(sc->args.records) + (u64)first * size;

	for (; first < sc->records; first++, to += size)
		if (clear_user(to + known, size - known))
			return -EFAULT;
	return 0;
}

/*
 * Write records of the VMAs in the room. The caller's memory may fault, but
 * nothing of the target is held.
 */
static int procmap_scan_put(struct procmap_scanner *sc, unsigned int nr)
{
	const struct vma_props *props = sc->room->props, *last = props + nr;
	const struct procmap_scan *s = &sc->args;
	const bool conditions = s->all_of || s->any_of || s->none_of;
	const u32 record_size = s->record_size, first = sc->records;
	struct procmap_record __user *to =
		u64_to_user_ptr(s->records) + (u64)first * record_size;
	u64 __user *tail;
	u64 flags;

	while (props < last && unlikely(last[-1].start >= sc->end))
		last--;
	if (!user_write_access_begin(to, nr * record_size))
		return -EFAULT;
	for (; props < last; props++) {
		flags = procmap_record_flags(props);
		if (unlikely(conditions) && !procmap_scan_wants(s, flags))
			continue;
		flags |= sc->row_flags;
		unsafe_put_user(props->start, &to->start, fault);
		unsafe_put_user(props->end, &to->end, fault);
		unsafe_put_user(props->offset, &to->offset, fault);
		unsafe_put_user(props->ino, &to->inode, fault);
		unsafe_put_user(flags, &to->flags, fault);
		unsafe_put_user(MAJOR(props->dev), &to->dev_major, fault);
		unsafe_put_user(MINOR(props->dev), &to->dev_minor, fault);
		unsafe_put_user(props->inode_generation, &to->inode_generation, fault);
		unsafe_put_user(sc->page_shift, &to->page_shift, fault);
		unsafe_put_user(props->generation, &to->generation, fault);
		tail = (u64 __user *)&to->name;
		unsafe_put_user(sc->tail_words[0], tail, fault);
		unsafe_put_user(sc->tail_words[1], tail + 1, fault);
		unsafe_put_user(sc->tail_words[2], tail + 2, fault);
		unsafe_put_user(sc->tail_words[3], tail + 3, fault);
		to = (void __user *)to + record_size;
		sc->records++;
	}
	user_write_access_end();
	sc->complete = sc->walk.search.addr >= sc->end;
	return unlikely(record_size > sizeof(*to)) ? procmap_scan_clear_tails(sc, first) : 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

/* Is the held VMA one more of the row? Its file cannot be another one then. */
static bool procmap_scan_in_row(const struct procmap_scanner *sc,
				const struct vma_props *props, unsigned long generation)
{
	const struct vma_row *row = &sc->row;

	return props->file && row->file == props->file && generation &&
	       row->generation == generation;
}

/*
 * Copy the name of the held VMA. -ENAMETOOLONG: the path fits neither here nor
 * there; but one of more than PATH_MAX bytes is no error.
 */
static int procmap_scan_copy_name(struct procmap_scanner *sc, struct vm_area_struct *vma)
{
	size_t room = min_t(size_t, sc->name_room, sc->args.names_size - sc->names);
	char *path;

	if (!vma->vm_file || vma_given_name(vma)) {
		sc->name = procmap_copy_name(vma, sc->name_buf, sc->name_room);
		sc->name_len = sc->name ? strlen(sc->name) + 1 : 0;
		return 0;
	}
	if (!room)
		return -ENAMETOOLONG;
	path = d_path(vma_file_path(vma->vm_file), sc->name_buf, room);
	if (path == ERR_PTR(-ENAMETOOLONG) && room == PATH_MAX) {
		sc->row_flags = PROCMAP_RECORD_NAME_TOO_LONG;
		return 0;
	}
	if (IS_ERR(path))
		return PTR_ERR(path);
	sc->name = path;
	/* The path ends with the buffer. */
	sc->name_len = sc->name_buf + room - path;
	return 0;
}

/* Look for the build ID in the page cache, and take a reference to look on disk. */
static void procmap_scan_cached_build_id(struct procmap_scanner *sc, struct file *file)
{
	unsigned int size;
	int err = build_id_read_cached(file, sc->tail.build_id, &size);

	if (!err)
		sc->tail.build_id_size = size;
	else if (err == -EAGAIN && !(sc->args.flags & PROCMAP_SCAN_NOWAIT))
		sc->file = get_file(file);
	else if (err != -ENODATA)
		sc->row_flags |= PROCMAP_RECORD_BUILD_ID_UNKNOWN;
}

/* Begin a new row with the held VMA. Nothing here may sleep or allocate. */
static int procmap_scan_begin_row(struct procmap_scanner *sc, struct vm_area_struct *vma,
				  unsigned long generation)
{
	int err;

	sc->name = NULL;
	sc->row_flags = 0;
	sc->tail = (struct procmap_tail){ .name = PROCMAP_RECORD_NO_NAME };
	if (sc->args.flags & PROCMAP_SCAN_NAMES) {
		err = procmap_scan_copy_name(sc, vma);
		if (err)
			return err;
	}
	if (vma->vm_file && sc->args.flags & PROCMAP_SCAN_BUILD_IDS)
		procmap_scan_cached_build_id(sc, vma->vm_file);
	/*
	 * Without a generation nobody can tell who follows. A given name, or that
	 * of memory, is that of one VMA only.
	 */
	sc->row.file = vma->vm_file;
	sc->row.generation = vma_given_name(vma) || (!vma->vm_file && sc->name) ? 0 : generation;
	return 0;
}

/* Read the build ID from disk. Drops the reference to the file. */
static int procmap_scan_read_build_id(struct procmap_scanner *sc)
{
	struct file *file = sc->file;
	unsigned int size;
	int err;

	sc->file = NULL;
	err = build_id_read_file(file, sc->tail.build_id, &size);
	fput(file);
	if (!err)
		sc->tail.build_id_size = size;
	else if (err == -EIO)
		sc->row_flags |= PROCMAP_RECORD_BUILD_ID_UNKNOWN;
	return err == -EINTR ? err : 0;
}

static int procmap_scan_put_name(struct procmap_scanner *sc)
{
	const struct procmap_scan *s = &sc->args;

	if (sc->name_len > s->names_size - sc->names)
		return -ENAMETOOLONG;
	if (copy_to_user(u64_to_user_ptr(s->names) + sc->names, sc->name, sc->name_len))
		return -EFAULT;
	sc->tail.name = sc->names;
	sc->names += sc->name_len;
	sc->name = NULL;
	return 0;
}

/* The rest of a new row, with nothing of the target held. */
static int procmap_scan_end_row(struct procmap_scanner *sc)
{
	int err = 0;

	if (sc->file)
		err = procmap_scan_read_build_id(sc);
	if (!err && sc->name)
		err = procmap_scan_put_name(sc);
	return err;
}

/*
 * Allocate a larger buffer for the name. -ENAMETOOLONG: more room would not help;
 * -ENOMEM: no memory.
 */
static int procmap_scan_more_room(struct procmap_scanner *sc)
{
	if (sc->name_room == PATH_MAX || sc->args.names_size - sc->names <= sc->name_room)
		return -ENAMETOOLONG;
	sc->name_buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!sc->name_buf)
		return -ENOMEM;
	sc->name_room = PATH_MAX;
	return 0;
}

/* Copy the VMA that the walk holds to the room. */
static int procmap_scan_copy(struct procmap_scanner *sc, struct vm_area_struct *vma)
{
	struct vma_props *props = sc->room->props;
	unsigned long generation;

	vma_props_copy(&sc->walk.search, props);
	sc->page_shift = ilog2(vma_kernel_pagesize(vma));
	if (!(sc->args.flags & (PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS)))
		return 0;
	if (props->start >= sc->end ||
	    !procmap_scan_wants(&sc->args, procmap_record_flags(props)))
		return 0;
	generation = vma_search_generation(&sc->walk.search);
	if (!vma_given_name(vma) && procmap_scan_in_row(sc, props, generation))
		return 0;
	return procmap_scan_begin_row(sc, vma, generation);
}

/* Lock the next VMA and write its record. */
static int procmap_scan_one(struct procmap_scanner *sc)
{
	unsigned long addr = sc->walk.search.addr;
	struct vm_area_struct *vma = vma_walk_next(&sc->walk);
	int err;

	if (IS_ERR(vma))
		return PTR_ERR(vma);
	sc->complete = !vma;
	if (!vma)
		return 0;
	err = procmap_scan_copy(sc, vma);
	vma_search_release(&sc->walk.search);
	if (!err)
		err = procmap_scan_end_row(sc);
	if (!err)
		return procmap_scan_put(sc, 1);
	/* This VMA does not count: the walk is before it again. */
	sc->walk.search.addr = addr;
	sc->row.generation = 0;
	return err == -ENAMETOOLONG ? procmap_scan_more_room(sc) : err;
}

/* Write the records of the next VMAs, as many as can be had at once. */
static int procmap_scan_step(struct procmap_scanner *sc)
{
	const bool rows = sc->args.flags & (PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS);
	unsigned int nr = min_t(u32, PROCMAP_SCAN_CHUNK, sc->args.records_len - sc->records);

	if (rows && !sc->row.generation)
		return procmap_scan_one(sc);
	nr = vma_walk_read(&sc->walk, rows ? &sc->row : NULL, sc->room->props, nr);
	if (!nr)
		return procmap_scan_one(sc);
	sc->page_shift = PAGE_SHIFT;
	return procmap_scan_put(sc, nr);
}

static int procmap_scan_steps(struct procmap_scanner *sc)
{
	int err;

	while (!sc->complete && sc->records < sc->args.records_len) {
		err = procmap_scan_step(sc);
		/* What does not fit, or would have to wait, begins the next call. */
		if ((err == -ENAMETOOLONG || err == -EAGAIN) && sc->records)
			return 0;
		if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int procmap_scan_walk(struct procmap_scanner *sc, struct mm_struct *mm)
{
	const struct procmap_scan *s = &sc->args;
	/* At least one of one is all of it. */
	const u64 bits = s->all_of | (is_power_of_2(s->any_of) ? s->any_of : 0);
	int err;

	sc->room = kmalloc(sizeof(*sc->room), GFP_KERNEL_ACCOUNT);
	if (!sc->room)
		return -ENOMEM;
	vma_walk_begin(&sc->walk, mm, s->start);
	/* A writer behind the range is nobody to wait for. */
	sc->walk.search.last = min_t(u64, sc->end - 1, ULONG_MAX);
	sc->walk.search.flags = procmap_record_to_vm_flags(bits);
	sc->walk.search.file_only = bits & PROCMAP_QUERY_FILE_BACKED_VMA;
	sc->name = NULL;
	sc->file = NULL;
	sc->name_buf = sc->room->name;
	sc->name_room = sizeof(sc->room->name);
	sc->row.generation = 0;
	sc->row_flags = 0;
	sc->tail = (struct procmap_tail){ .name = PROCMAP_RECORD_NO_NAME };
	if (s->flags & PROCMAP_SCAN_NOWAIT)
		sc->walk.search.patience = 0;
	err = procmap_scan_steps(sc);
	vma_search_end(&sc->walk.search);
	if (sc->name_buf != sc->room->name)
		kfree(sc->name_buf);
	kfree(sc->room);
	return err;
}

/* Does what the caller knows still hold, so that he need not scan? */
static bool procmap_scan_holds(const struct procmap_scan *s, const struct vma_generations *now)
{
	const u64 known = s->known_generation;

	return known && ((s->flags & PROCMAP_SCAN_IF_CHANGED && known == now->all) ||
			 (s->flags & PROCMAP_SCAN_IF_CODE_CHANGED && known == now->code));
}

static int procmap_scan(struct mm_struct *mm, struct procmap_scan __user *us)
{
	struct procmap_scanner sc;
	struct procmap_scan *const s = &sc.args;
	struct vma_generations generations;
	u64 next;
	int err;

	err = procmap_scan_fetch(s, us);
	if (err)
		return err;
	err = procmap_scan_check(s);
	if (err)
		return err;
	if (!mm || mm_visit_over(mm))
		return -ESRCH;

	generations = vma_generations_now(mm);
	sc.end = s->end ?: U64_MAX;
	sc.records = 0;
	sc.names = 0;
	/* On a 32-bit kernel no VMA can be above that address. */
	sc.complete = s->start > ULONG_MAX || procmap_scan_holds(s, &generations);
	next = s->start;
	if (!sc.complete && s->records_len) {
		err = procmap_scan_walk(&sc, mm);
		if (err)
			return err;
		generations = vma_generations_kept(mm, generations);
		next = sc.walk.search.addr;
	}
	if (sc.complete)
		next = sc.end;
	return procmap_scan_store(&sc, next, &generations, us);
}

/**
 * DOC: errno of PROCMAP_SCAN
 *
 * .. list-table::
 *    :header-rows: 1
 *    :widths: 14 44 42
 *
 *    * - errno
 *      - when
 *      - tested by
 *    * - ESRCH
 *      - the address space is gone (its processes have exited or called execve(2)), or there was
 *        none when the file was opened
 *      - procmap_scan_errors_test: errors.esrch_process_gone
 *    * - EINVAL
 *      - ``size`` is below 128
 *      - procmap_scan_errors_test: errors.einval_size_too_small
 *    * - EINVAL
 *      - ``flags`` has an unknown bit, or both ``PROCMAP_SCAN_IF_CHANGED`` and
 *        ``PROCMAP_SCAN_IF_CODE_CHANGED``
 *      - procmap_scan_errors_test: errors.einval_unknown_flag, errors.einval_both_generations
 *    * - EINVAL
 *      - ``all_of``, ``any_of`` or ``none_of`` has an unknown bit, or one that is no condition
 *      - procmap_scan_errors_test: errors.einval_unknown_condition
 *    * - EINVAL
 *      - ``reserved`` is not 0
 *      - procmap_scan_errors_test: errors.einval_reserved
 *    * - EINVAL
 *      - ``end`` is not 0, and ``start`` is not below it
 *      - procmap_scan_errors_test: errors.einval_start_not_below_end
 *    * - EINVAL
 *      - ``record_size`` is below 96, or larger than a page
 *      - procmap_scan_errors_test: errors.einval_record_size
 *    * - E2BIG
 *      - ``size`` is larger than a page
 *      - procmap_scan_errors_test: errors.e2big_size_above_page_size
 *    * - E2BIG
 *      - the struct is larger than the kernel knows, and not zero in what it does not know
 *      - procmap_scan_errors_test: errors.e2big_longer_with_other_tail
 *    * - ENAMETOOLONG
 *      - the name of the first mapping does not fit the area of names, which has less than
 *        ``PATH_MAX`` bytes
 *      - procmap_scan_errors_test: errors.enametoolong_no_room_for_the_first_name;
 *        procmap_scan_test: scan.a_name_that_does_not_fit
 *    * - EAGAIN
 *      - with ``PROCMAP_SCAN_NOWAIT``: a writer is at work at the first mapping to be found, or
 *        before it
 *      - procmap_holes_test: holes.a_scan_that_does_not_wait_is_EAGAIN
 *    * - EFAULT
 *      - the struct cannot be read or written
 *      - procmap_scan_errors_test: errors.efault_argument_unmapped,
 *        errors.efault_argument_half_unmapped, errors.efault_argument_read_only
 *    * - EFAULT
 *      - a record or a name cannot be written
 *      - procmap_scan_errors_test: errors.efault_records_read_only,
 *        errors.efault_records_end_in_a_hole, errors.efault_names_read_only,
 *        errors.efault_tail_of_a_record
 *    * - ENOMEM
 *      - there is no memory for the scan, at most 6 KiB
 *      - procmap_faults_test: faults.scan.right_error_and_nothing_left_behind
 *    * - EINTR
 *      - the caller was killed
 *      - procmap_holes_test: holes.a_scan_that_is_killed_beside_a_writer_is_EINTR
 *    * - ENOTTY
 *      - the kernel does not know this operation, or not on this file
 *      - procmap_scan_errors_test: errors.enotty_other_files,
 *        errors.enotty_other_directions_and_numbers
 */

/**
 * procmap_ioctl() - ioctl() on /proc/<pid>/maps
 * @file: the open file, whose address space was authorised when it was opened
 * @cmd: PROCMAP_QUERY, or PROCMAP_SCAN with a struct of any size
 * @arg: user pointer to the struct of the operation
 *
 * Context: process context, no locks held. Sleeps, killable.
 * Return: 0, or an errno of the table of the operation. -ENOTTY: another @cmd.
 */
long procmap_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct seq_file *seq = file->private_data;
	struct proc_maps_private *priv = seq->private;

	/* The struct tells its size: a program may have been built with a larger one. */
	if ((cmd & ~IOCSIZE_MASK) != (PROCMAP_SCAN & ~IOCSIZE_MASK))
		return procmap_query_ioctl(file, cmd, arg);
	return procmap_scan(priv->mm, (struct procmap_scan __user *)arg);
}
