// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer harness for lib/buildid_elf.c.
 *
 * Every window is an allocation of exactly its size, so AddressSanitizer sees
 * each access outside. The harness checks an ID against the input without the
 * help of the parser.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../lib/buildid_elf.h"

struct fuzz_reader {
	struct build_id_reader r;
	const u8 *image;
	u64 len;
	u64 step;
	u32 seeks;
	u32 seeks_left;
	u8 *window;
};

struct fuzz_result {
	int err;
	/* The limit on reads was reached. Smaller windows reach it earlier. */
	bool cut_short;
	unsigned int size;
	unsigned char id[BUILD_ID_ELF_MAX];
};

#define CANARY 0x5a
/*
 * More than the kernel allows: a window of one byte takes a move for each byte.
 */
#define FUZZ_READS 262144

static void fuzz_check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int fuzz_seek(struct build_id_reader *r, u64 pos)
{
	struct fuzz_reader *f = (struct fuzz_reader *)r;
	u64 start = pos - pos % f->step;
	size_t n = f->step;

	f->seeks++;
	if (pos >= f->len || !f->seeks_left)
		return -ENODATA;
	f->seeks_left--;
	if (n > f->len - start)
		n = f->len - start;

	free(f->window);
	f->window = malloc(n);
	fuzz_check(f->window, "no memory");
	memcpy(f->window, f->image + start, n);
	r->win = f->window;
	r->win_pos = start;
	r->win_len = n;
	return 0;
}

static struct fuzz_result fuzz_parse(const u8 *image, size_t len, u64 step, u32 seeks)
{
	struct fuzz_reader f = {
		.r.seek = fuzz_seek, .r.reads = FUZZ_READS, .image = image, .len = len,
		.step = step, .seeks_left = seeks,
	};
	struct fuzz_result res = { .size = CANARY };

	memset(res.id, CANARY, sizeof(res.id));
	res.err = build_id_elf_parse(&f.r, res.id, &res.size);
	res.cut_short = !f.r.reads;
	free(f.window);
	fuzz_check(f.seeks <= FUZZ_READS, "reads without bound");
	return res;
}

static u32 fuzz_u32(const u8 *at, bool big)
{
	return big ? (u32)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3] :
		     (u32)at[3] << 24 | at[2] << 16 | at[1] << 8 | at[0];
}

/* Is there a build ID note with this ID anywhere in the image? */
static bool fuzz_in_image(const u8 *image, size_t len, const struct fuzz_result *res)
{
	bool big = image[5] == 2;
	size_t i;

	for (i = 0; i + 16 + res->size <= len; i++)
		if (fuzz_u32(image + i, big) == 4 && fuzz_u32(image + i + 4, big) == res->size &&
		    fuzz_u32(image + i + 8, big) == 3 && !memcmp(image + i + 12, "GNU", 4) &&
		    !memcmp(image + i + 16, res->id, res->size))
			return true;
	return false;
}

static void fuzz_check_result(const u8 *image, size_t len, const struct fuzz_result *res)
{
	unsigned int i;

	if (res->err) {
		fuzz_check(res->err == -ENODATA, "an error that nobody reported");
		fuzz_check(res->size == CANARY, "size written without an ID");
		for (i = 0; i < sizeof(res->id); i++)
			fuzz_check(res->id[i] == CANARY, "ID written without an ID");
		return;
	}
	fuzz_check(res->size && res->size <= BUILD_ID_ELF_MAX, "size out of range");
	for (i = res->size; i < sizeof(res->id); i++)
		fuzz_check(!res->id[i], "ID is not padded");
	fuzz_check(fuzz_in_image(image, len, res), "ID is not in the image");
}

/* libFuzzer calls the function by this name. */
int fuzz_one(const u8 *data, size_t len) __asm__("LLVMFuzzerTestOneInput");

int fuzz_one(const u8 *data, size_t len)
{
	struct fuzz_result whole, part;
	u32 seeks;

	whole = fuzz_parse(data, len, 4096, UINT32_MAX);
	fuzz_check_result(data, len, &whole);

	/* The size and place of the windows must not matter. */
	part = fuzz_parse(data, len, 1 + len % 61, UINT32_MAX);
	fuzz_check_result(data, len, &part);
	if (!whole.cut_short && !part.cut_short)
		fuzz_check(whole.err == part.err && whole.size == part.size &&
			   !memcmp(whole.id, part.id, sizeof(whole.id)),
			   "answer depends on the window");

	/* A file that shrinks must not get another ID either. */
	for (seeks = 0; seeks < 8; seeks++) {
		part = fuzz_parse(data, len, 16, 3 * seeks);
		fuzz_check_result(data, len, &part);
	}
	return 0;
}
