// SPDX-License-Identifier: GPL-2.0
/* Random arguments for PROCMAP_SCAN: see fuzz.h. */
#include "../../kselftest.h"
#include "fuzz.h"

static __u64 random_size(struct fuzz *fuzz)
{
	static const __u64 sizes[] = {
		0, 1, 8, 120, 127, 128, 129, 132, 135, 136, 144, 256, 4095, 4096, 4097, 65535,
		65536, 65537, 1ULL << 31, 1ULL << 32, (1ULL << 32) + 128, ~0ULL, ~0ULL - 127,
	};

	if (fuzz_chance(fuzz, 80))
		return sizeof(struct procmap_scan);
	if (fuzz_chance(fuzz, 50))
		return fuzz_below(fuzz, 4200);
	return fuzz_pick(fuzz, sizes, ARRAY_SIZE(sizes));
}

static __u64 random_flags(struct fuzz *fuzz)
{
	__u64 flags = fuzz_below(fuzz, FUZZ_SCAN_FLAGS + 1);

	return fuzz_chance(fuzz, 5) ? flags | 1ULL << fuzz_below(fuzz, 64) : flags;
}

/* Mostly bits that many VMAs have. */
static __u64 random_condition(struct fuzz *fuzz)
{
	if (fuzz_chance(fuzz, 50))
		return 0;
	if (fuzz_chance(fuzz, 60))
		return fuzz_random(fuzz) & fuzz_random(fuzz) & PROCMAP_FILTERS;
	if (fuzz_chance(fuzz, 10))
		return 1ULL << fuzz_below(fuzz, 64);
	return fuzz_random(fuzz) & fuzz_random(fuzz) & FUZZ_RECORD_FLAGS;
}

static void random_range(struct fuzz *fuzz, struct procmap_scan *s)
{
	__u64 one = fuzz_chance(fuzz, 30) ? 0 : fuzz_target_address(fuzz);
	__u64 other = fuzz_chance(fuzz, 50) ? 0 : fuzz_target_address(fuzz);
	bool swap = other && one > other && fuzz_chance(fuzz, 90);

	s->start = swap ? other : one;
	s->end = swap ? one : other;
}

static void random_records(struct fuzz *fuzz, struct procmap_scan *s)
{
	static const __u64 lens[] = {
		0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 1000, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	static const __u64 sizes[] = {
		0, 1, 95, 97, 98, 100, 103, 104, 111, 112, 128, 200, 1000, 2048, 4095, 4096, 4097,
		65536, 65537, 0x80000000, 0xffffffff,
	};

	s->records_len = fuzz_chance(fuzz, 70) ? fuzz_below(fuzz, 12) :
						 fuzz_pick(fuzz, lens, ARRAY_SIZE(lens));
	s->record_size = sizeof(struct procmap_record);
	if (fuzz_chance(fuzz, 20))
		s->record_size = fuzz_pick(fuzz, sizes, ARRAY_SIZE(sizes));
	else if (fuzz_chance(fuzz, 20))
		s->record_size += fuzz_below(fuzz, 300);
	s->records = 0;
	if (fuzz_chance(fuzz, 95))
		s->records = fuzz_space(fuzz, &fuzz->local, (__u64)s->records_len * s->record_size);
}

static void random_names(struct fuzz *fuzz, struct procmap_scan *s)
{
	static const __u64 sizes[] = {
		0, 1, 2, 8, 64, 256, 1023, 1024, 1025, 4096, 65536, 0x7fffffff, 0x80000000,
		0xffffffff,
	};

	s->names_size = fuzz_chance(fuzz, 40) ? fuzz_below(fuzz, 200) :
						fuzz_pick(fuzz, sizes, ARRAY_SIZE(sizes));
	s->names = fuzz_chance(fuzz, 95) ? fuzz_space(fuzz, &fuzz->local, s->names_size) : 0;
}

static __u64 random_generation(struct fuzz *fuzz, __u64 is)
{
	const __u64 near[] = { 0, 1, is - 2, is - 1, is + 1, is + 2 };

	if (fuzz_chance(fuzz, 30))
		return is;
	return fuzz_chance(fuzz, 50) ? fuzz_pick(fuzz, near, ARRAY_SIZE(near)) : fuzz_random(fuzz);
}

void fuzz_random_scan(struct fuzz *fuzz, struct procmap_scan *s)
{
	__u8 *byte = (__u8 *)s;
	size_t i;

	for (i = 0; i < sizeof(*s); i++)
		byte[i] = fuzz_random(fuzz);
	s->size = random_size(fuzz);
	s->flags = random_flags(fuzz);
	random_range(fuzz, s);
	s->all_of = random_condition(fuzz);
	s->any_of = random_condition(fuzz);
	s->none_of = random_condition(fuzz);
	random_records(fuzz, s);
	random_names(fuzz, s);
	s->known_generation = random_generation(fuzz, fuzz_chance(fuzz, 50) ?
							  fuzz->target.scan.generation :
							  fuzz->target.scan.code_generation);
	if (fuzz_chance(fuzz, 97))
		s->reserved = 0;
}
