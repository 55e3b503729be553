// SPDX-License-Identifier: GPL-2.0
/* Records of PROCMAP_SCAN: the bits of a VMA, conditions, and the array. */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include "procmap_flags.h"
#include "procmap_record.h"

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

/* Few VMAs have one of these: the others need no pass over the table. */
#define PROCMAP_RARE_VM							\
	(VM_GROWSDOWN | VM_LOCKED | VM_HUGEPAGE | VM_NOHUGEPAGE |	\
	 VM_DONTDUMP | VM_DONTCOPY | VM_WIPEONFORK | VM_UFFD_MISSING |	\
	 VM_UFFD_WP | VM_UFFD_MINOR)

static __always_inline u64 procmap_record_flags(const struct vma_props *props)
{
	const unsigned long vm = props->flags;
	u64 flags = procmap_flags_from_vm(vm);
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

/**
 * procmap_record_to_vm_flags() - translate bits of a record
 * @flags: the bits
 *
 * Return: their VM_* bits.
 */
unsigned long procmap_record_to_vm_flags(u64 flags)
{
	unsigned long vm = procmap_flags_to_vm(flags);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(procmap_rare_bits); i++)
		if (flags & procmap_rare_bits[i].record)
			vm |= procmap_rare_bits[i].vm;
	return vm;
}

/* To be inlined, like procmap_record_flags(): user memory may be open for writing. */
static __always_inline bool procmap_flags_wanted(const struct procmap_scan *s, u64 flags)
{
	return !(s->all_of & ~flags) && (!s->any_of || (s->any_of & flags)) &&
	       !(s->none_of & flags);
}

/**
 * procmap_record_wanted() - test the conditions of a scan
 * @s: the arguments of the scan
 * @props: properties of a VMA
 *
 * Return: whether the scan wants a record of this VMA.
 */
bool procmap_record_wanted(const struct procmap_scan *s, const struct vma_props *props)
{
	return procmap_flags_wanted(s, procmap_record_flags(props));
}

/* Zero what the kernel does not know of the caller's records, from record @first on. */
static int procmap_records_clear_tails(const struct procmap_records *records, u32 first)
{
	const u32 size = records->args.record_size, known = sizeof(struct procmap_record);
	void __user *to = u64_to_user_ptr(records->args.records) + (u64)first * size;

	for (; first < records->filled; first++, to += size)
		if (clear_user(to + known, size - known))
			return -EFAULT;
	return 0;
}

/**
 * procmap_records_copy_out() - write records of the VMAs that a scan wants
 * @records: the array, which has space for all of them
 * @props: properties of the VMAs
 * @nr: how many there are
 *
 * Context: process context. Handles page faults of the caller's memory.
 * Return: 0, or -EFAULT.
 */
int procmap_records_copy_out(struct procmap_records *records, const struct vma_props *props,
			     unsigned int nr)
{
	const struct vma_props *end = props + nr;
	const struct procmap_scan *s = &records->args;
	const bool conditions = procmap_has_conditions(s);
	const u32 size = s->record_size, first = records->filled;
	struct procmap_record __user *to = u64_to_user_ptr(s->records) + (u64)first * size;
	u64 __user *tail;
	u64 flags;

	if (!user_write_access_begin(to, nr * size))
		return -EFAULT;
	for (; props < end; props++) {
		flags = procmap_record_flags(props);
		if (unlikely(conditions) && !procmap_flags_wanted(s, flags))
			continue;
		flags |= records->flags;
		unsafe_put_user(props->start, &to->start, fault);
		unsafe_put_user(props->end, &to->end, fault);
		unsafe_put_user(props->offset, &to->offset, fault);
		unsafe_put_user(props->ino, &to->inode, fault);
		unsafe_put_user(flags, &to->flags, fault);
		unsafe_put_user(MAJOR(props->dev), &to->dev_major, fault);
		unsafe_put_user(MINOR(props->dev), &to->dev_minor, fault);
		unsafe_put_user(props->inode_generation, &to->inode_generation, fault);
		unsafe_put_user(records->page_shift, &to->page_shift, fault);
		unsafe_put_user(props->generation, &to->generation, fault);
		tail = (u64 __user *)&to->name;
		unsafe_put_user(records->tail_words[0], tail, fault);
		unsafe_put_user(records->tail_words[1], tail + 1, fault);
		unsafe_put_user(records->tail_words[2], tail + 2, fault);
		unsafe_put_user(records->tail_words[3], tail + 3, fault);
		to = (void __user *)to + size;
		records->filled++;
	}
	user_write_access_end();
	return unlikely(size > sizeof(*to)) ? procmap_records_clear_tails(records, first) : 0;
fault:
	user_write_access_end();
	return -EFAULT;
}
