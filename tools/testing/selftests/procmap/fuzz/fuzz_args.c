// SPDX-License-Identifier: GPL-2.0
/*
 * What fuzz_query.c and fuzz_scan.c share: structs that tell their size, and the
 * names of VMAs. See fuzz.h.
 */
#include <string.h>

#include "fuzz.h"

/*
 * Put a struct where the kernel will look.
 * @from: the struct; its first member is its size, which may be a lie
 *
 * The bytes after it are mostly zero.
 */
void fuzz_place(struct fuzz *fuzz, __u64 at, const void *from, size_t known)
{
	static const char zeroes[4096];
	static const char one = 1;
	__u64 size;

	memcpy(&size, from, sizeof(size));
	fuzz_arena_poke(&fuzz->local, at, from, known);
	if (size <= known)
		return;
	fuzz_arena_poke(&fuzz->local, at + known, zeroes, sizeof(zeroes));
	if (fuzz_chance(fuzz, 30))
		fuzz_arena_poke(&fuzz->local, at + known + fuzz_below(fuzz, 128), &one, 1);
}

static bool any_set(const __u8 *byte, size_t size)
{
	while (size && !*byte) {
		byte++;
		size--;
	}
	return size;
}

/*
 * Read a struct as the kernel does. Returns the errors that must follow; 0: go
 * on.
 * @to: out: its first bytes; the others are zero
 * @size: out: the size that the struct claims
 */
__u64 fuzz_fetch(const struct fuzz *fuzz, __u64 at, void *to, size_t known, __u64 min, __u64 *size)
{
	static __u8 arg[65536];
	__u64 errors = 0;
	size_t got;

	memset(to, 0, known);
	if (fuzz_arena_peek(&fuzz->local, at, size, sizeof(*size)) < sizeof(*size))
		return FUZZ_ERR(EFAULT);
	if (*size > fuzz->local.page)
		return FUZZ_ERR(E2BIG);
	got = fuzz_arena_peek(&fuzz->local, at, arg, *size);
	if (*size > known && got > known && any_set(arg + known, got - known))
		errors |= FUZZ_ERR(E2BIG);
	if (got < *size)
		errors |= FUZZ_ERR(EFAULT);
	if (*size < min)
		errors |= FUZZ_ERR(EINVAL);
	memcpy(to, arg, *size < known ? *size : known);
	return errors;
}

/*
 * The name of a VMA, as the kernel must write it. Returns its length with the
 * NUL; 0: there is none.
 * @vma: the line of text, which escapes only the newline, as \012
 * @name: out: the name without escapes; space for FUZZ_NAME_ROOM bytes
 */
size_t fuzz_name(const struct maps_vma *vma, char *name)
{
	const char *from = vma->name;
	char *to = name;

	while (*from && to < name + FUZZ_NAME_ROOM - 1) {
		bool newline = !strncmp(from, "\\012", 4);

		*to++ = newline ? '\n' : *from;
		from += newline ? 4 : 1;
	}
	*to = '\0';
	return *name ? to + 1 - name : 0;
}

bool fuzz_overlaps(__u64 one, __u64 size, __u64 other, __u64 other_size)
{
	return one < other + other_size && other < one + size;
}

/* Where a byte of the local arena is readable and writable. */
char *fuzz_plain_at(const struct fuzz *fuzz, __u64 addr)
{
	return fuzz->local.plain + (addr - (unsigned long)fuzz->local.at);
}

/*
 * Race two structs at one place. The kernel may see each byte of either.
 * @size: of each
 * @allowed: set of FUZZ_DONE and FUZZ_ERR()
 */
bool fuzz_race_structs(struct fuzz *fuzz, __u64 at, const void *one, const void *other,
		       size_t size, int (*call)(int maps, void *arg), __u64 allowed)
{
	bool good = true;
	unsigned int i;

	at &= ~7ULL;
	fuzz_place(fuzz, at, one, size);
	if (fuzz_arena_span(&fuzz->local, at, size, FUZZ_R) == size)
		fuzz_race(fuzz_plain_at(fuzz, at), one, other, size);
	for (i = 0; i < 16 && good; i++)
		good = fuzz_result(fuzz, allowed,
				   call(fuzz->target.maps, (void *)(unsigned long)at), "a race");
	fuzz_race_pause();
	fuzz_arena_poke(&fuzz->local, at, one, size);
	fuzz_arena_pass(&fuzz->local, (unsigned long)fuzz->local.at, fuzz->local.size);
	return good && fuzz_arena_check(&fuzz->local, "local");
}
