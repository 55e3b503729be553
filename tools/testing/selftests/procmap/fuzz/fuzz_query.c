// SPDX-License-Identifier: GPL-2.0
/* PROCMAP_QUERY with any arguments, and the result that it must give: see fuzz.h. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../kselftest.h"
#include "fuzz.h"

#define SIZE_MIN	24

/* All results that a query may give, from the error table in <linux/procmap.h>. */
#define RACING	(FUZZ_DONE | FUZZ_ERR(EFAULT) | FUZZ_ERR(EINVAL) | FUZZ_ERR(E2BIG) |	\
		 FUZZ_ERR(ENOENT) | FUZZ_ERR(ENAMETOOLONG))

/**
 * struct query - one query, as the kernel must see it
 * @size: the size that the query claims
 * @q: its first bytes; the others are zero
 * @vma: the line of text that the kernel must find; NULL if there is none or it
 *	is not known
 * @name: the name in @vma, without escapes
 */
struct query {
	__u64 at;
	__u64 size;
	struct procmap_query q;
	const struct maps_vma *vma;
	const __u8 *id;
	char name[FUZZ_NAME_ROOM];
	size_t name_len;
};

static __u64 random_size(struct fuzz *fuzz)
{
	static const __u64 sizes[] = {
		0, 1, 8, 16, 23, 24, 25, 31, 32, 33, 72, 80, 81, 82, 84, 86, 88, 95, 96, 100, 103,
		105, 111, 112, 128, 256, 4095, 4096, 4097, 65535, 65536, 65537, 1ULL << 31,
		1ULL << 32, (1ULL << 32) + 104, ~0ULL, ~0ULL - 103,
	};

	if (fuzz_chance(fuzz, 70))
		return sizeof(struct procmap_query);
	if (fuzz_chance(fuzz, 30))
		return fuzz_below(fuzz, 4200);
	return fuzz_pick(fuzz, sizes, ARRAY_SIZE(sizes));
}

static __u64 random_flags(struct fuzz *fuzz)
{
	if (fuzz_chance(fuzz, 30))
		return fuzz_chance(fuzz, 50) ? PROCMAP_QUERY_COVERING_OR_NEXT_VMA : 0;
	if (fuzz_chance(fuzz, 10))
		return fuzz_below(fuzz, 64) | 1ULL << fuzz_below(fuzz, 64);
	return fuzz_below(fuzz, 64);
}

/* Choose a buffer that is good, bad, or good in part. */
static void random_buffer(struct fuzz *fuzz, __u64 *addr, __u32 *size)
{
	static const __u64 sizes[] = {
		1, 2, 8, 19, 20, 21, 32, 64, 256, 4096, 65536, 0x7fffffff, 0x80000000, 0xffffffff,
	};

	*addr = 0;
	*size = 0;
	if (fuzz_chance(fuzz, 25))
		return;
	if (fuzz_chance(fuzz, 95))
		*addr = fuzz_address(fuzz, &fuzz->local);
	if (fuzz_chance(fuzz, 95))
		*size = fuzz_chance(fuzz, 30) ? fuzz_below(fuzz, 64) :
						fuzz_pick(fuzz, sizes, ARRAY_SIZE(sizes));
}

static void random_query(struct fuzz *fuzz, struct procmap_query *q)
{
	__u8 *byte = (__u8 *)q;
	size_t i;

	for (i = 0; i < sizeof(*q); i++)
		byte[i] = fuzz_random(fuzz);
	q->size = random_size(fuzz);
	q->query_flags = random_flags(fuzz);
	q->query_addr = fuzz_target_address(fuzz);
	random_buffer(fuzz, &q->vma_name_addr, &q->vma_name_size);
	random_buffer(fuzz, &q->build_id_addr, &q->build_id_size);
}

static bool is_valid(const struct procmap_query *q)
{
	return !(q->query_flags & ~(__u64)PROCMAP_FLAGS) &&
	       !q->vma_name_size == !q->vma_name_addr && !q->build_id_size == !q->build_id_addr;
}

/* Return the possible errors for a buffer of @size that must take @len bytes. */
static __u64 buffer_errors(const struct fuzz *fuzz, __u64 addr, __u32 size, size_t len)
{
	if (!size)
		return 0;
	if (size < len)
		return FUZZ_ERR(ENAMETOOLONG);
	return fuzz_arena_span(&fuzz->local, addr, len, FUZZ_W) < len ? FUZZ_ERR(EFAULT) : 0;
}

static size_t written_size(const struct query *query)
{
	return query->size < sizeof(query->q) ? query->size : sizeof(query->q);
}

/* Return the possible errors after a VMA was found. */
static __u64 answer_errors(const struct fuzz *fuzz, struct query *query)
{
	const struct procmap_query *q = &query->q;
	size_t size = written_size(query);
	__u64 errors = buffer_errors(fuzz, q->vma_name_addr, q->vma_name_size, query->name_len) |
		       buffer_errors(fuzz, q->build_id_addr, q->build_id_size, query->id[0]);

	if (fuzz_arena_span(&fuzz->local, query->at, size, FUZZ_R | FUZZ_W) < size)
		errors |= FUZZ_ERR(EFAULT);
	return errors;
}

static __u64 expect(struct fuzz *fuzz, struct query *query)
{
	const struct fuzz_target *target = &fuzz->target;
	__u64 maybe = target->life == FUZZ_DYING ? FUZZ_ERR(ESRCH) : 0, errors;

	query->vma = NULL;
	errors = fuzz_fetch(fuzz, query->at, &query->q, sizeof(query->q), SIZE_MIN, &query->size);
	if (errors)
		return errors;
	if (!is_valid(&query->q))
		return FUZZ_ERR(EINVAL);
	if (target->life == FUZZ_DEAD)
		return FUZZ_ERR(ESRCH);
	if (target->life == FUZZ_EXECING)
		return RACING | FUZZ_ERR(ESRCH);
	query->vma = maps_text_match(&target->text, query->q.query_addr, query->q.query_flags);
	if (!query->vma)
		return FUZZ_ERR(ENOENT) | maybe;
	query->id = target->ids[query->vma - target->text.vma];
	query->name_len = fuzz_name(query->vma, query->name);
	errors = answer_errors(fuzz, query);
	return (errors ? errors : FUZZ_DONE) | maybe;
}

static void fill_answer(const struct query *query, struct procmap_query *q)
{
	const struct maps_vma *vma = query->vma;

	q->vma_start = vma->start;
	q->vma_end = vma->end;
	q->vma_flags = vma->flags;
	q->vma_page_size = vma->page_size;
	q->vma_offset = vma->inode ? vma->offset : 0;
	q->inode = vma->inode;
	q->dev_major = vma->dev_major;
	q->dev_minor = vma->dev_minor;
	q->vma_name_size = q->vma_name_size ? query->name_len : 0;
	q->build_id_size = q->build_id_size ? query->id[0] : 0;
}

/* Where a buffer overlaps the argument, the inputs may have changed. */
static void pass_inputs(struct fuzz *fuzz, const struct query *query)
{
	fuzz_arena_pass(&fuzz->local, query->at, offsetof(struct procmap_query, vma_start));
	if (query->size > offsetof(struct procmap_query, vma_name_addr))
		fuzz_arena_pass(&fuzz->local,
				query->at + offsetof(struct procmap_query, vma_name_addr), 16);
}

/* Expect the memory content that must follow a success. */
static void expect_answer(struct fuzz *fuzz, const struct query *query)
{
	const size_t outputs = offsetof(struct procmap_query, vma_start);
	const size_t inputs = offsetof(struct procmap_query, vma_name_addr);
	struct procmap_query q = query->q;
	size_t size = written_size(query);

	fill_answer(query, &q);
	/* The kernel writes the build ID first, the name over it, and the struct last. */
	if (q.build_id_size)
		fuzz_arena_expect(&fuzz->local, q.build_id_addr, query->id + 1, q.build_id_size);
	if (q.vma_name_size)
		fuzz_arena_expect(&fuzz->local, q.vma_name_addr, query->name, q.vma_name_size);
	if (fuzz_overlaps(query->at, size, q.vma_name_addr, q.vma_name_size) ||
	    fuzz_overlaps(query->at, size, q.build_id_addr, q.build_id_size))
		pass_inputs(fuzz, query);
	if (size > outputs)
		fuzz_arena_expect(&fuzz->local, query->at + outputs, (char *)&q + outputs,
				  (size < inputs ? size : inputs) - outputs);
}

/* An error may come after the buffers were written, if a VMA was found. */
static void expect_error(struct fuzz *fuzz, const struct query *query)
{
	const struct procmap_query *q = &query->q;
	size_t len = query->name_len;

	if (!query->vma)
		return;
	fuzz_arena_pass(&fuzz->local, q->vma_name_addr, len < q->vma_name_size ? len : 0);
	if (len == q->vma_name_size)
		fuzz_arena_pass(&fuzz->local, q->vma_name_addr, len);
	if (query->id[0] <= q->build_id_size)
		fuzz_arena_pass(&fuzz->local, q->build_id_addr, query->id[0]);
}

/* Check an answer about an unknown address space: it must at least fit the query. */
static bool is_plausible(struct fuzz *fuzz, const struct query *query)
{
	const struct procmap_query *was = &query->q;
	struct procmap_query q = *was;
	size_t size = written_size(query);
	__u64 asked = was->query_flags & PROCMAP_FILTERS & ~PROCMAP_QUERY_FILE_BACKED_VMA;

	memcpy(&q, fuzz_plain_at(fuzz, query->at), size);
	fuzz_arena_pass(&fuzz->local, query->at, size);
	if (was->vma_name_size)
		fuzz_arena_pass(&fuzz->local, was->vma_name_addr,
				size >= 84 ? q.vma_name_size : was->vma_name_size);
	if (was->build_id_size)
		fuzz_arena_pass(&fuzz->local, was->build_id_addr, FUZZ_ID_ROOM);
	if (size < offsetof(struct procmap_query, vma_page_size) ||
	    fuzz_overlaps(query->at, size, was->vma_name_addr, was->vma_name_size) ||
	    fuzz_overlaps(query->at, size, was->build_id_addr, was->build_id_size))
		return true;
	return q.vma_start < q.vma_end && was->query_addr < q.vma_end && !(asked & ~q.vma_flags) &&
	       (q.vma_start <= was->query_addr ||
		was->query_flags & PROCMAP_QUERY_COVERING_OR_NEXT_VMA);
}

static void pass_up_to(struct fuzz *fuzz, __u64 addr, __u32 size, __u32 max)
{
	fuzz_arena_pass(&fuzz->local, addr, size < max ? size : max);
}

/* A failed call may have found a VMA whose name has an unknown length. */
static void pass_unknown(struct fuzz *fuzz, const struct query *query)
{
	const struct procmap_query *q = &query->q;

	pass_up_to(fuzz, q->vma_name_addr, q->vma_name_size, FUZZ_NAME_ROOM);
	pass_up_to(fuzz, q->build_id_addr, q->build_id_size, FUZZ_ID_ROOM);
}

static void lie(struct fuzz *fuzz, const struct query *query, int *ret)
{
	static const __u64 wrong = 0x123;

	if (fuzz->lie == FUZZ_LIE_RESULT)
		*ret = *ret ? 0 : -ENOENT;
	if (fuzz->lie == FUZZ_LIE_OUTSIDE)
		fuzz->local.plain[6 * fuzz->local.page + 5] ^= 1;
	if (fuzz->lie == FUZZ_LIE_ANSWER && !*ret)
		memcpy(fuzz_plain_at(fuzz, query->at) + offsetof(struct procmap_query, query_flags),
		       &wrong, 8);
}

static bool check(struct fuzz *fuzz, struct query *query, int ret)
{
	bool unknown = fuzz->target.life == FUZZ_EXECING;
	bool fits = true;

	if (ret && unknown)
		pass_unknown(fuzz, query);
	else if (ret)
		expect_error(fuzz, query);
	else if (unknown)
		fits = is_plausible(fuzz, query);
	else
		expect_answer(fuzz, query);
	if (fits && fuzz_arena_check(&fuzz->local, "local"))
		return true;
	fprintf(stderr, "# the query at 0x%llx of 0x%llx with flags 0x%llx, size %llu: %s %d\n",
		query->at, query->q.query_addr, query->q.query_flags, query->size,
		fits ? "wrong bytes after it returned" : "it cannot have returned", ret);
	return false;
}

/*
 * Do one query and check the result. Returns false after an illegal result,
 * with a complaint on stderr.
 */
bool fuzz_query(struct fuzz *fuzz)
{
	struct query query;
	struct procmap_query q, other;
	__u64 allowed;
	int ret;

	query.at = (unsigned long)fuzz_address(fuzz, &fuzz->local);
	random_query(fuzz, &q);
	random_query(fuzz, &other);
	if (fuzz->racing)
		return fuzz_race_structs(fuzz, query.at, &q, &other, sizeof(q), procmap_ioctl,
					 RACING);
	fuzz_place(fuzz, query.at, &q, sizeof(q));
	allowed = expect(fuzz, &query);
	ret = procmap_ioctl(fuzz->target.maps, (void *)(unsigned long)query.at);
	lie(fuzz, &query, &ret);
	return fuzz_result(fuzz, allowed, ret, "query") && check(fuzz, &query, ret);
}
