// SPDX-License-Identifier: GPL-2.0
/*
 * A reader: every kind of search, and what its answer must be. See "Never
 * misses, never invents" in Documentation/mm/vma_lock.rst.
 */
#include "reader.h"

#include <linux/err.h>
#include <linux/mm_ref.h>
#include <linux/vma_generation.h>
#include <linux/vma_lock.h>
#include <linux/vma_search.h>

#define ROW_MAX		8
#define HOLD_MAX	2000

/**
 * struct found - what a walk has found
 * @window: when
 * @args: what it looked for
 * @page: it has looked at all before this one
 * @list: the regions
 * @nr: their number
 * @held: number of the last region that was held, and its
 * @generation: vma_search_seq(); 0: not known
 * @beside: for each region, number of another one that was there in the same
 *	generation, plus 1; 0: not known
 */
struct found {
	struct window window;
	struct search_args args;
	unsigned int page;
	struct region list[PAGES];
	unsigned int nr;
	unsigned int held;
	unsigned long generation;
	unsigned int beside[PAGES];
};

static void choose_args(struct reader *reader, struct search_args *args)
{
	const bool code = !below(&reader->rng, 3);

	*args = (struct search_args) {
		.page = below(&reader->rng, 2) ? below(&reader->rng, PAGES) : 0,
		.flags = code || below(&reader->rng, 2) ? VM_EXEC : 0,
		.file_only = code || !below(&reader->rng, 3),
	};
}

static void set_args(struct vma_search *search, const struct search_args *args)
{
	search->flags = args->flags;
	search->file_only = args->file_only;
	search->last = address_of(PAGES) - 1;
}

/* Nobody changes a VMA that is held, or closes its file. */
static void look_at_held(struct reader *reader, const struct vm_area_struct *vma,
			 struct region *region)
{
	/* Sometimes so long that the writer goes to sleep. */
	unsigned int times = below(&reader->rng, below(&reader->rng, 64) ? 3 : HOLD_MAX);
	struct region again;

	if (vma->vm_mm != &reader->space->mm)
		wrong("a VMA of another address space was found", vma->vm_start);
	region_of(vma, region);
	do {
		if (vma->vm_file && READ_ONCE(vma->vm_file->count) <= 0)
			wrong("the file of a VMA that is held was closed", vma->vm_start);
		shim_yield();
		region_of(vma, &again);
		if (!region_same(region, &again))
			wrong("a VMA that is held has changed", vma->vm_start);
	} while (times--);
}

static void check_region(const struct window *window, const struct search_args *args,
			 const struct region *region)
{
	if (window_lost(window))
		return;
	if (!search_args_match(args, region))
		wrong("a VMA that does not match was found", region->start);
	if (!window_had(window, region) && !window_lost(window))
		wrong("a VMA that never was like that was found", region->start);
}

/* Nothing was passed that was there and matched all the time. */
static void check_passed(const struct window *window, const struct search_args *args,
			 unsigned int from, unsigned int to)
{
	for (; from < to && from < PAGES; from++)
		if (!window_could_pass(window, args, from) && !window_lost(window))
			wrong("a VMA was missed, or a hole that never was believed in", from);
}

static void check_found(const struct window *window, const struct search_args *args,
			const struct region *region)
{
	check_region(window, args, region);
	check_passed(window, args, args->page, region->start);
}

/* One address; the search may not wait. */
static struct vm_area_struct *search_rcu(struct mm_struct *mm, unsigned int page, bool covering)
{
	struct vma_search search;

	if (!covering)
		return find_and_lock_vma_rcu(mm, address_of(page));
	vma_search_begin(&search, mm, address_of(page));
	search.covering = true;
	return vma_search_rcu(&search);
}

static void search_once(struct reader *reader)
{
	const unsigned int page = below(&reader->rng, PAGES);
	const struct search_args args = { .page = page };
	const bool covering = below(&reader->rng, 2);
	struct mm_struct *mm = &reader->space->mm;
	struct vm_area_struct *vma;
	struct region region;
	struct window window;
	unsigned long slept;

	window_begin(&window);
	slept = covering ? space_writer_sleeps(reader->space, page) : 0;
	vma = search_rcu(mm, page, covering);
	if (IS_ERR(vma)) {
		if (slept && slept == space_writer_sleeps(reader->space, page))
			wrong("a search waits for a writer that leaves its page alone", page);
		reader->stats.busy++;
		return;
	}
	if (vma) {
		look_at_held(reader, vma, &region);
		vma_hold_end(vma);
	}
	if (!vma && mm_ref_exited(mm)) {
		reader->stats.over++;
		return;
	}
	reader->stats.lost += !window_end(&window);
	if (vma) {
		reader->stats.found++;
		check_found(&window, &args, &region);
	} else {
		reader->stats.none++;
		check_passed(&window, &args, page, covering ? page + 1 : PAGES);
	}
}

/* One address or the next VMA from there, however long it takes. */
static void search_waiting(struct reader *reader)
{
	struct mm_struct *mm = &reader->space->mm;
	struct vm_area_struct *vma;
	struct vma_search search;
	struct search_args args;
	struct region region;
	struct window window;

	choose_args(reader, &args);
	window_begin(&window);
	vma_search_begin(&search, mm, address_of(args.page));
	set_args(&search, &args);
	search.covering = below(&reader->rng, 2);
	vma = vma_search_next(&search);
	if (IS_ERR(vma)) {
		reader->stats.over++;
		return;
	}
	if (vma) {
		look_at_held(reader, vma, &region);
		vma_search_end(&search);
	}
	reader->stats.lost += !window_end(&window);
	if (!vma) {
		reader->stats.none++;
		check_passed(&window, &args, args.page, search.covering ? args.page + 1 : PAGES);
		return;
	}
	reader->stats.found++;
	if (search.covering && region.start > args.page)
		wrong("a VMA that does not cover the address was found", args.page);
	check_found(&window, &args, &region);
}

/* VMAs that follow each other without a hole. */
static void search_contiguous(struct reader *reader)
{
	struct search_args args = { .page = below(&reader->rng, PAGES) };
	struct mm_struct *mm = &reader->space->mm;
	struct vm_area_struct *vma;
	struct region region, list[PAGES];
	unsigned int nr = 0;
	struct vma_walk walk;
	struct window window;

	vma_walk_begin(&walk, mm, address_of(args.page));
	walk.search.covering = true;
	window_begin(&window);
	do {
		vma = vma_walk_next(&walk);
		if (IS_ERR_OR_NULL(vma))
			break;
		look_at_held(reader, vma, &region);
		/* The next call lets go of it, too. */
		if (below(&reader->rng, 2))
			vma_search_end(&walk.search);
		if (region.start > args.page || region.end <= args.page)
			wrong("a VMA that does not cover the address was found", args.page);
		args.page = region.end;
		list[nr++] = region;
	} while (args.page < PAGES);
	vma_search_end(&walk.search);
	reader->stats.lost += !window_end(&window);
	while (nr--)
		check_region(&window, &args, &list[nr]);
}

/* From the copied properties back to the region; all of the file must agree. */
static void region_of_props(const struct vma_props *props, struct region *region)
{
	*region = (struct region) {
		.start = page_of(props->start), .end = page_of(props->end),
		.flags = props->flags, .pgoff = props->offset >> PAGE_SHIFT, .file = props->ino,
	};
	if (!props->file) {
		/* A region without a file has an offset, too; it is not copied. */
		if (props->offset || props->ino || props->dev || props->inode_generation)
			wrong("a VMA without a file has one", region->start);
	} else if (props->inode_generation != ~(u32)props->ino || props->dev != 77) {
		wrong("a VMA has the file of another one", region->start);
	}
}

/* A VMA that begins at the same page and has the same generation is the same, in all respects. */
static void check_generation_of(struct reader *reader, const struct region *region, u64 generation)
{
	struct known_vma *known = &reader->vma[region->start];

	if (!generation)
		return;
	if (known->generation == generation && !region_same(&known->region, region))
		wrong("the generation of a VMA holds, and the VMA has changed", region->start);
	known->generation = generation;
	known->region = *region;
}

static void found_add(struct found *found, const struct region *region, unsigned int beside)
{
	if (found->nr == PAGES)
		wrong("a walk finds more VMAs than there are pages", found->nr);
	found->beside[found->nr] = beside;
	found->list[found->nr++] = *region;
}

/* Take the next VMA with its lock. Returns false at the end. */
static bool walk_held(struct reader *reader, struct vma_walk *walk, struct found *found,
		      struct vma_run *row)
{
	struct vm_area_struct *vma = vma_walk_next(walk);
	struct vma_props props;
	struct region region;
	unsigned int beside = 0;

	if (IS_ERR_OR_NULL(vma) || vma->vm_start >= address_of(PAGES)) {
		reader->stats.over += IS_ERR(vma);
		found->page = IS_ERR(vma) ? found->page : PAGES;
		vma_search_end(&walk->search);
		return false;
	}
	look_at_held(reader, vma, &region);
	vma_props_copy(&walk->search, &props);
	row->file = vma->vm_file;
	row->seq = vma_search_seq(&walk->search);
	if (row->seq && row->seq == found->generation)
		beside = found->held + 1;
	found->generation = row->seq;
	found->held = found->nr;
	vma_search_end(&walk->search);
	region_of_props(&props, &region);
	check_generation_of(reader, &region, props.generation);
	found_add(found, &region, beside);
	return true;
}

/* Take what can be copied without a lock. */
static void walk_copied(struct reader *reader, struct vma_walk *walk, struct found *found,
			struct vma_run *row)
{
	unsigned int nr = 1 + below(&reader->rng, ROW_MAX), from = page_of(walk->search.addr);
	const bool in_row = row->seq && below(&reader->rng, 2);
	const struct file *file = row->file;
	struct vma_props props[ROW_MAX];
	struct region copied[ROW_MAX];
	struct search_args args = found->args;
	struct window window;
	bool over;
	unsigned int i;

	/* Let a whole system call come between, now and then. */
	for (i = below(&reader->rng, 8) ? 0 : below(&reader->rng, 200); i; i--)
		shim_yield();
	window_begin(&window);
	over = in_row && READ_ONCE(reader->space->mm.vma_seq) != row->seq;
	nr = vma_walk_read(walk, in_row ? row : NULL, props, nr);
	if (nr && over)
		wrong("a row outlasts its generation", from);
	window_end(&window);
	for (i = 0; i < nr; i++) {
		region_of_props(&props[i], &copied[i]);
		if (in_row && (props[i].file != file ||
			       copied[i].file != found->list[found->held].file))
			wrong("a VMA of another file was taken for one of the row", from);
		check_generation_of(reader, &copied[i], props[i].generation);
		found_add(found, &copied[i], in_row ? found->held + 1 : 0);
	}
	reader->stats.copied += nr;
	if (!nr)
		return;
	/*
	 * One instant for all of them, and nothing between them. Leaves before the
	 * first were passed at other instants; check_walk() looks at those.
	 */
	args.page = copied[0].start;
	if (!window_had_list(&window, &args, page_of(props[nr - 1].end), copied, nr) &&
	    !window_lost(&window))
		wrong("VMAs were copied that never were there together", from);
}

/* Is the list what the process had at one time? Of code alone, if @code. */
static void check_snapshot(const struct found *found, bool code)
{
	struct search_args args = found->args;

	if (code) {
		args.flags = VM_EXEC;
		args.file_only = true;
	}
	if (!window_had_list(&found->window, &args, PAGES, found->list, found->nr) &&
	    !window_lost(&found->window))
		wrong(code ? "code never was like that, and its generation held" :
			     "the process never was like that, and its generation held", 0);
}

/* What has the same generation is the same. */
static void check_known(struct known *known, u64 generation, const struct found *found)
{
	unsigned int i;
	bool same = known->nr == found->nr;

	for (i = 0; same && i < found->nr; i++)
		same = region_same(&known->list[i], &found->list[i]);
	if (known->generation == generation && !same)
		wrong("a generation holds, and what was kept does not", found->nr);
	known->generation = generation;
	known->nr = found->nr;
	memcpy(known->list, found->list, found->nr * sizeof(found->list[0]));
}

static void check_walk(struct reader *reader, struct found *found, struct vma_generations kept)
{
	const bool complete = found->page == PAGES;
	const bool code = (found->args.flags & VM_EXEC) && found->args.file_only;
	unsigned int i, other, page = found->args.page;

	for (i = 0; i < found->nr; i++) {
		check_region(&found->window, &found->args, &found->list[i]);
		other = found->beside[i];
		if (other &&
		    !window_had_both(&found->window, &found->list[other - 1], &found->list[i]) &&
		    !window_lost(&found->window))
			wrong("two VMAs of one generation were never there together", i);
		check_passed(&found->window, &found->args, page, found->list[i].start);
		page = found->list[i].end;
	}
	check_passed(&found->window, &found->args, page, found->page);
	if (kept.all && complete) {
		reader->stats.snapshots++;
		check_snapshot(found, false);
		if (!found->args.page && !found->args.flags && !found->args.file_only)
			check_known(&reader->all, kept.all, found);
	}
	if (kept.code && complete && code) {
		reader->stats.code++;
		check_snapshot(found, true);
		if (!found->args.page)
			check_known(&reader->code, kept.code, found);
	}
}

/* Generations only go up, and that of code is one of them. */
static void check_generations(struct reader *reader, const struct vma_generations *now)
{
	if (now->all && now->all < reader->generation)
		wrong("a generation came back", now->all);
	if (now->all && now->code > now->all)
		wrong("code has a generation that did not begin", now->code - now->all);
	if (now->all)
		reader->generation = now->all;
}

/* All VMAs that match, some with their locks, others copied in rows. */
static void search_all(struct reader *reader)
{
	struct mm_struct *mm = &reader->space->mm;
	struct vma_generations now, kept;
	struct vma_run row = { };
	struct vma_walk walk;
	struct found found;
	bool more;

	choose_args(reader, &found.args);
	found.nr = 0;
	found.generation = 0;
	found.page = found.args.page;
	window_begin(&found.window);
	now = vma_generations_now(mm);
	check_generations(reader, &now);
	vma_walk_begin(&walk, mm, address_of(found.args.page));
	set_args(&walk.search, &found.args);
	do {
		if (below(&reader->rng, 2) && walk.search.addr < address_of(PAGES))
			walk_copied(reader, &walk, &found, &row);
		more = walk_held(reader, &walk, &found, &row);
	} while (more && walk.search.addr < address_of(PAGES));
	if (more)
		found.page = PAGES;
	kept = vma_generations_kept(mm, now);
	reader->stats.lost += !window_end(&found.window);
	check_walk(reader, &found, kept);
}

/* While a generation lasts, no VMA changes. */
static void watch_generation(struct reader *reader)
{
	struct vm_area_struct **at = &reader->space->at[below(&reader->rng, PAGES)];
	struct mm_struct *mm = &reader->space->mm;
	struct vm_area_struct *vma;
	struct vma_generations now;
	unsigned long generation, flags;
	struct vma_search search;
	unsigned int turns;

	/* Half of the looks begin next to a writer: there a generation would be wrong soon. */
	for (turns = 64 * below(&reader->rng, 2); turns; turns--) {
		/* It begins and ends at any time. */
		if (data_race(READ_ONCE(mm->vma_seq)) & 1)
			break;
		shim_yield();
	}
	vma_search_begin(&search, mm, 0);
	generation = vma_search_seq(&search);
	now = vma_generations_now(mm);
	smp_rmb(); /* The generation before the VMA. */
	vma = data_race(READ_ONCE(*at)); /* Writers go on. */
	if (!vma)
		return;
	/* The VMA may be changed, freed or reused now: that is what the generations must tell. */
	flags = data_race(READ_ONCE(vma->vm_flags));
	for (turns = below(&reader->rng, 64); turns; turns--)
		shim_yield();
	smp_rmb(); /* One look before the other. */
	if (data_race(READ_ONCE(vma->vm_flags)) == flags)
		return;
	smp_rmb(); /* The VMA before the generation. */
	if (generation && vma_search_seq(&search) == generation && !mm_ref_exited(mm))
		wrong("a generation lasts, and a VMA has changed", flags);
	if (now.all && vma_generations_kept(mm, now).all)
		wrong("a generation is kept, and a VMA has changed", flags);
}

/* Prepare a reader for an address space; the counts go on. */
void reader_begin(struct reader *reader, struct space *space, u64 seed)
{
	reader->space = space;
	reader->rng = seed;
	reader->generation = 0;
	reader->all.generation = 0;
	reader->code.generation = 0;
	memset(reader->vma, 0, sizeof(reader->vma));
}

/* Search once, in any way. */
void reader_search(struct reader *reader)
{
	reader->stats.searches++;
	switch (below(&reader->rng, 7)) {
	case 0:
	case 1:
		search_all(reader);
		break;
	case 2:
		search_waiting(reader);
		break;
	case 3:
		search_contiguous(reader);
		break;
	case 4:
		watch_generation(reader);
		break;
	default:
		search_once(reader);
		break;
	}
}

/* The counts of all readers. */
struct reader_stats reader_sum(const struct reader *readers, unsigned int nr)
{
	struct reader_stats sum = { };

	for (; nr; nr--, readers++) {
		sum.searches += readers->stats.searches;
		sum.found += readers->stats.found;
		sum.none += readers->stats.none;
		sum.busy += readers->stats.busy;
		sum.over += readers->stats.over;
		sum.copied += readers->stats.copied;
		sum.snapshots += readers->stats.snapshots;
		sum.code += readers->stats.code;
		sum.lost += readers->stats.lost;
	}
	return sum;
}

/* Returns what no reader has met, or NULL. */
const char *reader_not_met(const struct reader_stats *sum)
{
	if (!sum->copied)
		return "VMAs copied without a lock";
	if (!sum->snapshots)
		return "walks in one generation";
	if (!sum->code)
		return "walks of code in one generation";
	return sum->over ? NULL : "ends of address spaces";
}

/* A line with the counts. */
void reader_print(const struct reader_stats *stats)
{
	printf("# searches %lu: VMAs held %lu, nothing there %lu, writer met %lu, over %lu\n",
	       stats->searches, stats->found, stats->none, stats->busy, stats->over);
	printf("# copied without a lock %lu, whole walks in one generation %lu, of code %lu; ",
	       stats->copied, stats->snapshots, stats->code);
	printf("not checked %lu\n", stats->lost);
}
