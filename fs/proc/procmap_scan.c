// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_SCAN: all VMAs of an address space as records, and whether they have changed.
 * While no writer is at work, a scan copies a whole leaf of the tree without a lock. It locks
 * the first of a run of VMAs that share name and build ID, and those whose page size hugetlbfs
 * or a driver knows. Concurrent with a writer it locks each. It writes the caller's memory,
 * which may fault, with nothing held. A scan that has asked writers to let it in stays counted
 * meanwhile, even if that fault never ends: the target then loses 2 ms in 20 ms at most.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vma_base.h>
#include <linux/vma_generation.h>
#include <linux/vma_search.h>
#include "internal.h"
#include "procmap.h"
#include "procmap_record.h"

/* VMAs that are copied without a lock at once. A leaf has no more. */
#define PROCMAP_SCAN_CHUNK	16
/* Space for most paths; with the chunk it fills an object of 2 KiB. */
#define PROCMAP_SCAN_NAME	896

#define PROCMAP_SCAN_FLAGS						\
	(PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS |			\
	 PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED |	\
	 PROCMAP_SCAN_NOWAIT)

static_assert(sizeof(struct procmap_scan) == PROCMAP_SCAN_SIZE_VER0);

struct procmap_scan_space {
	struct vma_props props[PROCMAP_SCAN_CHUNK];
	char name[PROCMAP_SCAN_NAME];
};

static_assert(sizeof(struct procmap_scan_space) <= 2048);

struct procmap_scanner {
	struct procmap_records out;
	struct vma_walk walk;
	u64 end;	/* only VMAs that begin below this address */
	bool complete;	/* there are no more of them */
	u32 names;	/* bytes of names that were written */
	struct vma_run run;	/* successive VMAs with the same file; seq 0: none follows */
	struct procmap_scan_space *space;
	struct procmap_name name;	/* still to be written, if it has a length */
	struct file *file;	/* a reference, if its build ID must be read; or NULL */
};

/* Fetch only the input fields. -EAGAIN leaves all else to procmap_fetch(). */
static int procmap_scan_fetch_fast(struct procmap_scan *s, const struct procmap_scan __user *us)
{
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
	/* It is out only; procmap_scan_store() writes it back as a test. */
	unsafe_get_user(s->code_generation, &us->code_generation, fault);
	user_read_access_end();
	return 0;
fault:
	user_read_access_end();
	return -EAGAIN;
}

static int procmap_scan_check(const struct procmap_scan *s)
{
	const u64 both = PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED;

	if (s->flags & ~(u64)PROCMAP_SCAN_FLAGS || (s->flags & both) == both ||
	    (s->all_of | s->any_of | s->none_of) & ~(u64)PROCMAP_CONDITIONS ||
	    (s->end && s->start >= s->end) ||
	    s->record_size < PROCMAP_RECORD_SIZE_VER0 || s->record_size > PAGE_SIZE || s->reserved)
		return -EINVAL;
	return 0;
}

/*
 * All answers or none. The struct is in two pages at most. Writing the old code_generation tests
 * the last page, and records_filled tests the first: after that nothing faults.
 */
static int procmap_scan_store(const struct procmap_scanner *sc, u64 next,
			      const struct vma_generations *generations,
			      struct procmap_scan __user *us)
{
	if (!user_write_access_begin(us, sizeof(*us)))
		return -EFAULT;
	unsafe_put_user(sc->out.args.code_generation, &us->code_generation, fault);
	unsafe_put_user(sc->out.filled, &us->records_filled, fault);
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

static size_t procmap_scan_names_left(const struct procmap_scanner *sc)
{
	return sc->out.args.names_size - sc->names;
}

/* Nothing of the target is held. */
static int procmap_scan_copy_out(struct procmap_scanner *sc, unsigned int nr)
{
	const struct vma_props *props = sc->space->props;

	while (nr && unlikely(props[nr - 1].start >= sc->end))
		nr--;
	sc->complete = sc->walk.search.addr >= sc->end;
	return procmap_records_copy_out(&sc->out, props, nr);
}

static void procmap_scan_reset_run(struct procmap_scanner *sc)
{
	sc->run.seq = 0;
	sc->name.len = 0;
	sc->out.flags = 0;
	sc->out.tail = (struct procmap_tail){ .name = PROCMAP_RECORD_NO_NAME };
}

/* Nothing here may sleep or allocate. */
static int procmap_scan_begin_run(struct procmap_scanner *sc, struct vm_area_struct *vma,
				  unsigned long seq)
{
	const size_t left = procmap_scan_names_left(sc);
	const u64 flags = sc->out.args.flags;
	int err;

	procmap_scan_reset_run(sc);
	if (flags & PROCMAP_SCAN_NAMES) {
		err = procmap_name_copy(&sc->name, vma, left);
		/* A name that fits no buffer is no error. */
		if (err == -ENAMETOOLONG && min(sc->name.size, left) >= PATH_MAX)
			sc->out.flags = PROCMAP_RECORD_NAME_TOO_LONG;
		else if (err)
			return err;
	}
	if (vma->vm_file && flags & PROCMAP_SCAN_BUILD_IDS &&
	    !procmap_build_id_find(&sc->out.tail.build_id, vma->vm_file,
				   flags & PROCMAP_SCAN_NOWAIT ? NULL : &sc->file))
		sc->out.flags |= PROCMAP_RECORD_BUILD_ID_UNKNOWN;
	/* A given name, or one without a file, is that of one VMA only. */
	if (vma_given_name(vma) || (!vma->vm_file && sc->name.len))
		return 0;
	sc->run.file = vma->vm_file;
	sc->run.seq = seq;
	return 0;
}

/* The rest of a new run, with nothing of the target held. */
static int procmap_scan_end_run(struct procmap_scanner *sc)
{
	int err;

	if (sc->file) {
		err = procmap_build_id_read(&sc->out.tail.build_id, &sc->file);
		if (err == -EINTR)
			return err;
		if (err)
			sc->out.flags |= PROCMAP_RECORD_BUILD_ID_UNKNOWN;
	}
	if (!sc->name.len)
		return 0;
	err = procmap_name_copy_out(&sc->name, u64_to_user_ptr(sc->out.args.names) + sc->names,
				    procmap_scan_names_left(sc));
	if (err)
		return err;
	sc->out.tail.name = sc->names;
	sc->names += sc->name.len;
	sc->name.len = 0;
	return 0;
}

static int procmap_scan_copy(struct procmap_scanner *sc, struct vm_area_struct *vma)
{
	struct vma_props *props = sc->space->props;
	unsigned long seq;

	vma_props_copy(&sc->walk.search, props);
	sc->out.page_shift = ilog2(vma_kernel_pagesize(vma));
	if (!(sc->out.args.flags & (PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS)))
		return 0;
	/* A VMA that is not wanted is not copied out: name and build ID of the run do no harm. */
	if (props->start >= sc->end)
		return 0;
	if (procmap_has_conditions(&sc->out.args) && !procmap_record_wanted(&sc->out.args, props))
		return 0;
	seq = vma_search_seq(&sc->walk.search);
	/* One more of the run? With the same seq its file cannot be another one. */
	if (!vma_given_name(vma) && props->file && sc->run.file == props->file &&
	    seq && sc->run.seq == seq)
		return 0;
	return procmap_scan_begin_run(sc, vma, seq);
}

static int procmap_scan_one(struct procmap_scanner *sc)
{
	unsigned long addr = sc->walk.search.addr;
	struct vm_area_struct *vma = vma_walk_next(&sc->walk);
	int err;

	sc->complete = !vma;
	if (IS_ERR_OR_NULL(vma))
		return PTR_ERR_OR_ZERO(vma);
	err = procmap_scan_copy(sc, vma);
	vma_search_release(&sc->walk.search);
	if (!err)
		err = procmap_scan_end_run(sc);
	if (!err)
		return procmap_scan_copy_out(sc, 1);
	/* This VMA does not count: the walk is before it again. */
	sc->walk.search.addr = addr;
	sc->run.seq = 0;
	/* If the space for names could grow, this is 0, and the caller tries this VMA again. */
	return err == -ENAMETOOLONG ? procmap_name_grow(&sc->name, procmap_scan_names_left(sc)) :
				      err;
}

static int procmap_scan_step(struct procmap_scanner *sc)
{
	const struct procmap_scan *s = &sc->out.args;
	const bool runs = s->flags & (PROCMAP_SCAN_NAMES | PROCMAP_SCAN_BUILD_IDS);
	unsigned int nr = min_t(u32, PROCMAP_SCAN_CHUNK, s->records_len - sc->out.filled);

	/* The first VMA of a run is locked for its name and build ID. */
	if (runs && !sc->run.seq)
		return procmap_scan_one(sc);
	nr = vma_walk_read(&sc->walk, runs ? &sc->run : NULL, sc->space->props, nr);
	if (!nr)
		return procmap_scan_one(sc);
	sc->out.page_shift = PAGE_SHIFT;
	return procmap_scan_copy_out(sc, nr);
}

static int procmap_scan_steps(struct procmap_scanner *sc)
{
	int err;

	while (!sc->complete && sc->out.filled < sc->out.args.records_len) {
		err = procmap_scan_step(sc);
		/* What does not fit, or would have to wait, begins the next call. */
		if ((err == -ENAMETOOLONG || err == -EAGAIN) && sc->out.filled)
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
	const struct procmap_scan *s = &sc->out.args;
	/* any_of with a single bit is the same as all_of. */
	const u64 bits = s->all_of | (is_power_of_2(s->any_of) ? s->any_of : 0);
	int err;

	sc->space = kmalloc(sizeof(*sc->space), GFP_KERNEL_ACCOUNT);
	if (!sc->space)
		return -ENOMEM;
	vma_walk_begin(&sc->walk, mm, s->start);
	/* Do not wait for writers beyond the range. */
	sc->walk.search.last = min_t(u64, sc->end - 1, ULONG_MAX);
	sc->walk.search.flags = procmap_record_to_vm_flags(bits);
	sc->walk.search.file_only = bits & PROCMAP_QUERY_FILE_BACKED_VMA;
	if (s->flags & PROCMAP_SCAN_NOWAIT)
		sc->walk.search.patience = 0;
	sc->file = NULL;
	sc->name.buf = sc->space->name;
	sc->name.size = sizeof(sc->space->name);
	procmap_scan_reset_run(sc);
	err = procmap_scan_steps(sc);
	vma_search_end(&sc->walk.search);
	procmap_name_free(&sc->name);
	kfree(sc->space);
	return err;
}

/* Is the caller's generation still current? */
static bool procmap_scan_current(const struct procmap_scan *s, const struct vma_generations *now)
{
	const u64 known = s->known_generation;

	return known && ((s->flags & PROCMAP_SCAN_IF_CHANGED && known == now->all) ||
			 (s->flags & PROCMAP_SCAN_IF_CODE_CHANGED && known == now->code));
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
 *      - ``reserved`` is not 0, or ``end`` is not 0 and ``start`` is not below it
 *      - procmap_scan_errors_test: errors.einval_reserved, errors.einval_start_not_below_end
 *    * - EINVAL
 *      - ``record_size`` is below 96, or larger than a page
 *      - procmap_scan_errors_test: errors.einval_record_size
 *    * - E2BIG
 *      - ``size`` is larger than a page, or than the kernel's with excess bytes that are not zero
 *      - procmap_scan_errors_test: errors.e2big_size_above_page_size,
 *        errors.e2big_longer_with_other_tail
 *    * - ENAMETOOLONG
 *      - the name of the first mapping does not fit the area of names, which has less than
 *        ``PATH_MAX`` bytes
 *      - procmap_scan_errors_test: errors.enametoolong_no_space_for_the_first_name;
 *        procmap_scan_test: scan.a_name_that_does_not_fit
 *    * - EAGAIN
 *      - with ``PROCMAP_SCAN_NOWAIT``: a writer is at work at the first mapping to be found, or
 *        before it
 *      - procmap_holes_test: holes.a_scan_that_does_not_wait_is_EAGAIN
 *    * - EFAULT
 *      - the struct cannot be read or written, or a record or a name cannot be written
 *      - procmap_scan_errors_test: errors.efault_argument_unmapped,
 *        errors.efault_argument_half_unmapped, errors.efault_argument_read_only,
 *        errors.efault_records_read_only, errors.efault_records_end_in_a_hole,
 *        errors.efault_names_read_only, errors.efault_tail_of_a_record
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
 * procmap_scan() - PROCMAP_SCAN
 * @mm: the address space, its mm_count held; NULL: none
 * @us: the caller's struct
 *
 * Context: process context, no locks held. Sleeps, killable.
 * Return: 0, or an errno of the table above.
 */
int procmap_scan(struct mm_struct *mm, struct procmap_scan __user *us)
{
	struct procmap_scanner sc;
	struct procmap_scan *const s = &sc.out.args;
	struct vma_generations generations;
	u64 next;
	int err = procmap_scan_fetch_fast(s, us);

	if (unlikely(err))
		err = procmap_fetch(s, sizeof(*s), us, PROCMAP_SCAN_SIZE_VER0);
	if (!err)
		err = procmap_scan_check(s);
	if (err)
		return err;
	if (!mm || mm_ref_exited(mm))
		return -ESRCH;

	generations = vma_generations_now(mm);
	sc.end = s->end ?: U64_MAX;
	sc.out.filled = 0;
	sc.names = 0;
	/* On a 32-bit kernel no VMA can be above that address. */
	sc.complete = s->start > ULONG_MAX || procmap_scan_current(s, &generations);
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
