// SPDX-License-Identifier: GPL-2.0
/*
 * PROCMAP_SCAN with any arguments, and the result that it must give: see fuzz.h.
 *
 * The text of the target does not tell the generations, the generation of an
 * inode, nor whether a VMA is locked, grows and so on. All this must stay as it
 * was in a plain scan, because the target does not change. A dying target may
 * have lost its generations. The documentation leaves open where a scan goes on:
 * anywhere between the last record and the VMA that comes next.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../kselftest.h"
#include "fuzz.h"
#include "scan.h"

/*
 * All results that a scan may give, from the error table in
 * Documentation/userspace-api/procmap_scan.rst.
 */
#define RACING	(FUZZ_DONE | FUZZ_ERR(EFAULT) | FUZZ_ERR(EINVAL) | FUZZ_ERR(E2BIG) |	\
		 FUZZ_ERR(ENAMETOOLONG) | FUZZ_ERR(EAGAIN))

/* The outputs of the struct, with inputs in between. */
#define OUTPUTS		offsetof(struct procmap_scan, records_filled)
#define OUTPUTS_SIZE	(sizeof(struct procmap_scan) - OUTPUTS)

/**
 * struct found - a VMA that a scan must find
 * @line: its line in the text
 * @name: where its name must begin
 * @name_size: bytes of the name that must be written for it; 0: it has no name,
 *	or that of the record before
 */
struct found {
	size_t line;
	__u32 name;
	__u32 name_size;
};

/**
 * struct foreseen - one scan, as the kernel must see it
 * @at: the argument of ioctl()
 * @size: the size that the scan claims
 * @s: its first bytes; the others are zero
 * @looks: it looks for VMAs, so it may write to the areas
 * @too_long: the first name does not fit
 * @nr: how many VMAs it must find
 * @names: bytes of names that it must write
 * @next_low: the lowest value that @s.next may get
 * @next_high: the highest one
 * @found: the VMAs
 */
struct foreseen {
	__u64 at;
	__u64 size;
	struct procmap_scan s;
	bool looks;
	bool too_long;
	__u32 nr;
	__u32 names;
	__u64 next_low;
	__u64 next_high;
	struct found found[FUZZ_MAX_LINES];
};

static bool is_valid(const struct fuzz *fuzz, const struct procmap_scan *s)
{
	const __u64 both = PROCMAP_SCAN_IF_CHANGED | PROCMAP_SCAN_IF_CODE_CHANGED;

	return !(s->flags & ~(__u64)FUZZ_SCAN_FLAGS) && (s->flags & both) != both &&
	       !((s->all_of | s->any_of | s->none_of) & ~(__u64)FUZZ_RECORD_FLAGS) &&
	       (!s->end || s->start < s->end) && !s->reserved &&
	       s->record_size >= PROCMAP_RECORD_SIZE_VER0 && s->record_size <= fuzz->local.page;
}

/* Does what the scan knows still hold? A generation of 0 never does. */
static bool holds(const struct fuzz *fuzz, const struct procmap_scan *s)
{
	const struct procmap_scan *is = &fuzz->target.scan;
	const __u64 known = s->known_generation;

	return known && ((s->flags & PROCMAP_SCAN_IF_CHANGED && known == is->generation) ||
			 (s->flags & PROCMAP_SCAN_IF_CODE_CHANGED && known == is->code_generation));
}

static __u64 end_of(const struct procmap_scan *s)
{
	return s->end ? s->end : ~0ULL;
}

static __u64 flags_of(const struct fuzz_target *target, size_t line)
{
	const struct maps_vma *vma = &target->text.vma[line];

	return vma->flags | (vma->inode ? PROCMAP_QUERY_FILE_BACKED_VMA : 0) |
	       (target->records[line].flags & FUZZ_RARE_FLAGS);
}

static bool same_file(const struct maps_vma *one, const struct maps_vma *other)
{
	return one->inode && one->inode == other->inode && one->dev_major == other->dev_major &&
	       one->dev_minor == other->dev_minor;
}

/*
 * Add a VMA to what the scan must find. Return false if it has no space for the
 * record or for the name.
 */
static bool add(const struct fuzz *fuzz, struct foreseen *scan, size_t line, bool in_row)
{
	struct found *found = &scan->found[scan->nr];
	static char name[FUZZ_NAME_ROOM];

	if (scan->nr == scan->s.records_len)
		return false;
	*found = (struct found){ .line = line, .name = PROCMAP_RECORD_NO_NAME };
	if (in_row) {
		found->name = found[-1].name;
	} else if (scan->s.flags & PROCMAP_SCAN_NAMES) {
		found->name_size = fuzz_name(&fuzz->target.text.vma[line], name);
		scan->too_long = !scan->nr && found->name_size > scan->s.names_size;
		if (found->name_size > scan->s.names_size - scan->names)
			return false;
		if (found->name_size)
			found->name = scan->names;
		scan->names += found->name_size;
	}
	scan->nr++;
	return true;
}

/*
 * Find what the scan must find. VMAs of one file make a row, which has one name.
 * What @all_of or a single bit of @any_of excludes does not interrupt a row, but
 * what @none_of or several bits of @any_of exclude does, and whatever is about the
 * file. A kernel without generations cannot tell who follows.
 */
static void find(const struct fuzz *fuzz, struct foreseen *scan)
{
	const struct fuzz_target *target = &fuzz->target;
	const struct maps_vma *vma = target->text.vma, *row = NULL;
	const struct procmap_scan *s = &scan->s;
	const __u64 all_of = s->all_of | (s->any_of & (s->any_of - 1) ? 0 : s->any_of);
	size_t i;

	for (i = 0; i < target->text.nr && vma[i].start < end_of(s); i++) {
		__u64 flags = flags_of(target, i), end = vma[i].end;

		if (end <= s->start || (all_of & ~flags & ~PROCMAP_RECORD_UNLINKED))
			continue;
		if (row && !same_file(row, &vma[i]))
			row = NULL;
		if ((all_of & ~flags) || (s->any_of && !(s->any_of & flags)) ||
		    (s->none_of & flags))
			continue;
		if (!add(fuzz, scan, i, row)) {
			scan->next_high = vma[i].start;
			return;
		}
		scan->next_low = end < end_of(s) ? end : end_of(s);
		row = target->scan.generation && vma[i].inode ? &vma[i] : NULL;
	}
	scan->next_high = end_of(s);
	if (scan->nr < s->records_len)
		scan->next_low = end_of(s);
}

static void foresee(const struct fuzz *fuzz, struct foreseen *scan)
{
	bool still = holds(fuzz, &scan->s);

	scan->next_low = still ? end_of(&scan->s) : scan->s.start;
	scan->next_high = scan->next_low;
	scan->looks = !still && scan->s.records_len;
	if (scan->looks)
		find(fuzz, scan);
}

static bool is_writable(const struct fuzz *fuzz, __u64 addr, __u64 size)
{
	return fuzz_arena_span(&fuzz->local, addr, size, FUZZ_W) == size;
}

static __u64 record_at(const struct procmap_scan *s, __u32 nr)
{
	return s->records + (__u64)nr * s->record_size;
}

/* Can everything be written that must be? No more than that need be writable. */
static bool all_writable(const struct fuzz *fuzz, const struct foreseen *scan)
{
	const struct procmap_scan *s = &scan->s;
	__u32 i;

	for (i = 0; i < scan->nr; i++) {
		const struct found *found = &scan->found[i];

		if (!is_writable(fuzz, record_at(s, i), s->record_size) ||
		    (found->name_size && !is_writable(fuzz, s->names + found->name,
						      found->name_size)))
			return false;
	}
	return is_writable(fuzz, scan->at + OUTPUTS, OUTPUTS_SIZE);
}

/*
 * Return the results that may follow when the target has been looked at. Bad
 * records may be an error even if none is to be written.
 */
static __u64 answer_results(const struct fuzz *fuzz, const struct foreseen *scan)
{
	bool bad = scan->looks && !is_writable(fuzz, scan->s.records, 1);
	__u64 maybe = bad ? FUZZ_ERR(EFAULT) : 0;

	if (scan->too_long)
		return FUZZ_ERR(ENAMETOOLONG) | maybe;
	return all_writable(fuzz, scan) ? FUZZ_DONE | maybe : FUZZ_ERR(EFAULT);
}

static __u64 expect(struct fuzz *fuzz, struct foreseen *scan)
{
	const struct fuzz_target *target = &fuzz->target;
	__u64 maybe = target->life == FUZZ_DYING ? FUZZ_ERR(ESRCH) : 0, errors;

	scan->looks = false;
	scan->too_long = false;
	scan->nr = 0;
	scan->names = 0;
	errors = fuzz_fetch(fuzz, scan->at, &scan->s, sizeof(scan->s), PROCMAP_SCAN_SIZE_VER0,
			    &scan->size);
	if (errors)
		return errors;
	if (!is_valid(fuzz, &scan->s))
		return FUZZ_ERR(EINVAL);
	if (target->life == FUZZ_DEAD)
		return FUZZ_ERR(ESRCH);
	if (target->life == FUZZ_EXECING) {
		scan->looks = true;
		return RACING | FUZZ_ERR(ESRCH);
	}
	foresee(fuzz, scan);
	return answer_results(fuzz, scan) | maybe;
}

static void fill_record(const struct fuzz *fuzz, const struct foreseen *scan,
			const struct found *found, struct procmap_record *record)
{
	const struct maps_vma *vma = &fuzz->target.text.vma[found->line];
	const __u8 *id = fuzz->target.ids[found->line];

	*record = (struct procmap_record) {
		.start = vma->start,
		.end = vma->end,
		.offset = vma->inode ? vma->offset : 0,
		.inode = vma->inode,
		.flags = flags_of(&fuzz->target, found->line),
		.dev_major = vma->dev_major,
		.dev_minor = vma->dev_minor,
		.page_shift = __builtin_ctzll(vma->page_size),
		.generation = fuzz->target.records[found->line].generation,
		.name = found->name,
	};
	if (vma->inode)
		record->inode_generation = fuzz->target.records[found->line].inode_generation;
	if (scan->s.flags & PROCMAP_SCAN_BUILD_IDS) {
		record->build_id_size = id[0];
		memcpy(record->build_id, id + 1, id[0]);
	}
}

/* Expect one record, with zeroes after what the kernel knows, and its name. */
static void expect_found(struct fuzz *fuzz, const struct foreseen *scan, __u32 nr)
{
	static union {
		struct procmap_record record;
		char bytes[65536];
	} area;
	static char name[FUZZ_NAME_ROOM];
	const struct found *found = &scan->found[nr];

	fill_record(fuzz, scan, found, &area.record);
	if (found->name_size) {
		fuzz_name(&fuzz->target.text.vma[found->line], name);
		fuzz_arena_expect(&fuzz->local, scan->s.names + found->name, name,
				  found->name_size);
	}
	fuzz_arena_expect(&fuzz->local, record_at(&scan->s, nr), &area, scan->s.record_size);
}

/* A dying target may have lost a generation; others keep it. */
static __u64 generation_of(const struct fuzz_target *target, __u64 was, __u64 is)
{
	return target->life == FUZZ_DYING && !is ? 0 : was;
}

/* Expect outputs in the struct, but not the inputs between them. */
static void expect_outputs(struct fuzz *fuzz, __u64 at, const struct procmap_scan *s)
{
	const size_t next = offsetof(struct procmap_scan, next);
	const size_t generations = offsetof(struct procmap_scan, generation);

	fuzz_arena_expect(&fuzz->local, at + OUTPUTS, &s->records_filled, 8);
	fuzz_arena_expect(&fuzz->local, at + next, &s->next, 8);
	fuzz_arena_expect(&fuzz->local, at + generations, &s->generation, 16);
}

/*
 * Expect the memory content that must follow a success. The areas may overlap:
 * the kernel writes one VMA after the other, and the struct last. Return false
 * if the scan cannot go on there.
 */
static bool expect_answer(struct fuzz *fuzz, const struct foreseen *scan)
{
	const struct fuzz_target *target = &fuzz->target;
	struct procmap_scan s = scan->s, is;
	__u32 i;

	for (i = 0; i < scan->nr; i++)
		expect_found(fuzz, scan, i);
	memcpy(&is, fuzz_plain_at(fuzz, scan->at), sizeof(is));
	s.records_filled = scan->nr;
	s.names_filled = scan->names;
	s.next = is.next;
	s.generation = generation_of(target, target->scan.generation, is.generation);
	s.code_generation = generation_of(target, target->scan.code_generation,
					  is.code_generation);
	expect_outputs(fuzz, scan->at, &s);
	return is.next >= scan->next_low && is.next <= scan->next_high;
}

/* Can this be a record of any VMA that the scan asked for? */
static bool is_possible(const struct procmap_scan *was, const struct procmap_scan *is,
			const struct procmap_record *record)
{
	const __u64 unknown = was->flags & PROCMAP_SCAN_BUILD_IDS && !record->build_id_size ?
			      PROCMAP_RECORD_BUILD_ID_UNKNOWN : 0;
	const __u64 flags = record->flags & ~unknown;
	bool named = record->name != PROCMAP_RECORD_NO_NAME;
	__u32 i;

	for (i = record->build_id_size; i < sizeof(record->build_id); i++)
		if (record->build_id[i])
			return false;
	return record->start < record->end && record->end > was->start &&
	       record->start < end_of(was) && !(flags & ~(__u64)FUZZ_RECORD_FLAGS) &&
	       !(was->all_of & ~flags) && (!was->any_of || (was->any_of & flags)) &&
	       !(was->none_of & flags) &&
	       (!named || (was->flags & PROCMAP_SCAN_NAMES && record->name < is->names_filled)) &&
	       record->build_id_size <= sizeof(record->build_id) && !record->reserved &&
	       (!record->build_id_size || was->flags & PROCMAP_SCAN_BUILD_IDS);
}

/*
 * Can these be all records of a scan? Next to a writer a VMA may have grown or
 * merged with the one before, which has its record already.
 */
static bool are_possible(const struct fuzz *fuzz, const struct foreseen *scan,
			 const struct procmap_scan *is)
{
	struct procmap_record record;
	__u64 last = 0;
	__u32 i;

	for (i = 0; i < is->records_filled; i++) {
		const char *at = fuzz_plain_at(fuzz, record_at(is, i));
		const char *end = at + is->record_size;

		memcpy(&record, at, sizeof(record));
		if (!is_possible(&scan->s, is, &record) || record.end <= last ||
		    (is->generation && record.start < last))
			return false;
		last = record.end;
		for (at += sizeof(record); at < end; at++)
			if (*at)
				return false;
	}
	return true;
}

/* Check an answer about an unknown address space: it must at least fit the arguments. */
static bool is_plausible(struct fuzz *fuzz, const struct foreseen *scan)
{
	struct procmap_scan is = scan->s;
	__u64 size;

	memcpy(&is.records_filled, fuzz_plain_at(fuzz, scan->at + OUTPUTS), OUTPUTS_SIZE);
	size = (__u64)is.records_filled * is.record_size;
	if (is.records_filled > is.records_len || is.names_filled > is.names_size ||
	    is.next < is.start || is.next > end_of(&is) || !is_writable(fuzz, is.records, size) ||
	    !is_writable(fuzz, scan->at + OUTPUTS, OUTPUTS_SIZE))
		return false;
	expect_outputs(fuzz, scan->at, &is);
	fuzz_arena_pass(&fuzz->local, is.records, size);
	fuzz_arena_pass(&fuzz->local, is.names, is.names_filled);
	return fuzz_overlaps(is.records, size, is.names, is.names_filled) ||
	       fuzz_overlaps(is.records, size, scan->at, sizeof(is)) ||
	       are_possible(fuzz, scan, &is);
}

/* An error may come after records and names were written. */
static void expect_error(struct fuzz *fuzz, const struct foreseen *scan)
{
	const struct procmap_scan *s = &scan->s;

	if (!scan->looks)
		return;
	fuzz_arena_pass(&fuzz->local, s->records, (__u64)s->records_len * s->record_size);
	if (s->flags & PROCMAP_SCAN_NAMES)
		fuzz_arena_pass(&fuzz->local, s->names, s->names_size);
}

static void lie(struct fuzz *fuzz, const struct foreseen *scan, int *ret)
{
	const struct procmap_scan *s = &scan->s;

	if (fuzz->lie == FUZZ_LIE_RESULT)
		*ret = *ret ? 0 : -ENOENT;
	if (fuzz->lie == FUZZ_LIE_OUTSIDE)
		fuzz->local.plain[6 * fuzz->local.page + 5] ^= 1;
	if (*ret)
		return;
	if (fuzz->lie == FUZZ_LIE_ANSWER)
		*fuzz_plain_at(fuzz, scan->at + OUTPUTS + fuzz_below(fuzz, 8)) ^= 1;
	if (fuzz->lie == FUZZ_LIE_RECORD && scan->nr)
		*fuzz_plain_at(fuzz, s->records + fuzz_below(fuzz, s->record_size)) ^= 1;
	if (fuzz->lie == FUZZ_LIE_NAME && scan->names)
		*fuzz_plain_at(fuzz, s->names + fuzz_below(fuzz, scan->names)) ^= 1;
}

static bool check(struct fuzz *fuzz, const struct foreseen *scan, int ret)
{
	bool fits = true;

	if (ret)
		expect_error(fuzz, scan);
	else if (fuzz->target.life == FUZZ_EXECING)
		fits = is_plausible(fuzz, scan);
	else
		fits = expect_answer(fuzz, scan);
	if (!fits)
		fprintf(stderr, "# the answer of a scan cannot be\n");
	return fits && fuzz_arena_check(&fuzz->local, "local");
}

static void complain(const struct foreseen *scan, int ret)
{
	const struct procmap_scan *s = &scan->s;

	fprintf(stderr, "# the scan at 0x%llx of 0x%llx to 0x%llx with flags 0x%llx, size %llu,\n",
		scan->at, s->start, s->end, s->flags, scan->size);
	fprintf(stderr, "# all of 0x%llx, any of 0x%llx, none of 0x%llx, known 0x%llx,\n",
		s->all_of, s->any_of, s->none_of, s->known_generation);
	fprintf(stderr, "# %u records of %u at 0x%llx,\n", s->records_len, s->record_size,
		s->records);
	fprintf(stderr, "# names of %u at 0x%llx: returned %d, foreseen: %u records, %u of names\n",
		s->names_size, s->names, ret, scan->nr, scan->names);
}

/*
 * Do one scan and check the result. Returns false after an illegal result, with
 * a complaint on stderr.
 */
bool fuzz_scan(struct fuzz *fuzz)
{
	static struct foreseen scan;
	struct procmap_scan s, other;
	__u64 allowed;
	int ret;

	scan.at = (unsigned long)fuzz_space(fuzz, &fuzz->local, sizeof(s));
	fuzz_random_scan(fuzz, &s);
	fuzz_random_scan(fuzz, &other);
	if (fuzz->racing)
		return fuzz_race_structs(fuzz, scan.at, &s, &other, sizeof(s), scan_ioctl, RACING);
	fuzz_place(fuzz, scan.at, &s, sizeof(s));
	allowed = expect(fuzz, &scan);
	ret = scan_ioctl(fuzz->target.maps, (void *)(unsigned long)scan.at);
	lie(fuzz, &scan, &ret);
	if (fuzz_result(fuzz, allowed, ret, "scan") && check(fuzz, &scan, ret))
		return true;
	complain(&scan, ret);
	return false;
}
