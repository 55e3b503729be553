// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the build ID parser on generated images, and of the reader on files
 * in shmem.
 */
#include <kunit/test.h>
#include <linux/anon_inodes.h>
#include <linux/buildid.h>
#include <linux/buildid_file.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/prandom.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "buildid_elf.h"
#include "buildid_image.h"

#define SEED 0x42494431
#define CANARY 0x5a
/*
 * More than the kernel allows: a window of one byte takes a move for each byte.
 */
#define IMAGE_READS 262144

/*
 * A reader over an image in memory. Each window is a copy of @step bytes in a
 * buffer of exactly that size, so that KASAN sees an access outside.
 */
struct image_reader {
	struct build_id_reader r;
	struct kunit *test;
	const u8 *image;
	u64 len;
	u32 step;
	u32 seeks;
	u32 seeks_left;		/* after these, the image is empty */
	bool overwrite;		/* a window changes when it moves on */
	u8 *scratch;
	u8 *mutable;
};

static int image_seek(struct build_id_reader *r, u64 pos)
{
	struct image_reader *m = container_of(r, struct image_reader, r);
	u32 n;

	m->seeks++;
	if (m->overwrite && r->win_len)
		memset(m->mutable + r->win_pos, CANARY, r->win_len);
	if (pos >= m->len || !m->seeks_left)
		return -ENODATA;
	m->seeks_left--;

	kfree(m->scratch);
	r->win_pos = rounddown(pos, m->step);
	n = min_t(u64, m->step, m->len - r->win_pos);
	m->scratch = kmemdup(m->image + r->win_pos, n, GFP_KERNEL);
	if (!m->scratch)
		return -ENOMEM;
	r->win = m->scratch;
	r->win_len = n;
	return 0;
}

static struct image_reader image_reader(struct kunit *test, const struct build_id_made *made)
{
	return (struct image_reader) {
		.r.seek = image_seek,
		.r.reads = IMAGE_READS,
		.test = test,
		.image = made->buf,
		.mutable = made->buf,
		.len = made->len,
		.step = PAGE_SIZE,
		.seeks_left = U32_MAX,
	};
}

struct result {
	unsigned char id[BUILD_ID_SIZE_MAX];
	unsigned int size;
	int err;
};

static struct result image_parse(struct image_reader *m)
{
	struct result res = { .size = CANARY };

	memset(res.id, CANARY, sizeof(res.id));
	res.err = build_id_elf_parse(&m->r, res.id, &res.size);
	kfree(m->scratch);
	m->scratch = NULL;
	return res;
}

static bool result_is_right(const struct result *res, const struct build_id_image *im)
{
	u32 i;

	if (res->err || res->size != im->id_size)
		return false;
	for (i = 0; i < sizeof(res->id); i++)
		if (res->id[i] != (i < im->id_size ? build_id_image_byte(i) : 0))
			return false;
	return true;
}

/* This error, and what the caller passed is unchanged. */
static bool result_fails(const struct result *res, int err)
{
	return res->err == err && res->size == CANARY &&
	       !memchr_inv(res->id, CANARY, sizeof(res->id));
}

static bool result_is_none(const struct result *res)
{
	return result_fails(res, -ENODATA);
}

static struct build_id_made image_make(struct kunit *test, const struct build_id_image *im)
{
	u8 *buf = kunit_kzalloc(test, build_id_image_size(im), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	return build_id_image_make(im, buf);
}

/*
 * The next image after @prev, of all variants of those in @from. The static
 * variables are safe: KUnit runs one case at a time.
 */
static const void *image_next(const void *prev, char *desc, const struct build_id_image *from,
			      u32 n)
{
	static struct build_id_image im;
	static u32 next;

	if (!prev)
		next = 0;
	if (next == n * BUILD_ID_VARIANTS)
		return NULL;
	im = build_id_image_variant(&from[next / BUILD_ID_VARIANTS], next % BUILD_ID_VARIANTS);
	next++;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %u-bit %s endian", im.name, im.is64 ? 64 : 32,
		 im.big ? "big" : "little");
	return &im;
}

static const void *image_gen_params(const void *prev, char *desc)
{
	return image_next(prev, desc, build_id_images, ARRAY_SIZE(build_id_images));
}

static const void *image_none_gen_params(const void *prev, char *desc)
{
	return image_next(prev, desc, build_id_images_none, ARRAY_SIZE(build_id_images_none));
}

static const u32 steps[] = { 1, 3, 16, 100, 4096, 1 << 20 };

static void found_through_any_window(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct image_reader m = image_reader(test, &made);
		struct result res;

		m.step = steps[i];
		res = image_parse(&m);
		KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, im), "window %u: %d, %u bytes",
				      steps[i], res.err, res.size);
	}
}

static void none_through_any_window(struct kunit *test)
{
	struct build_id_made made = image_make(test, test->param_value);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct image_reader m = image_reader(test, &made);
		struct result res;

		m.step = steps[i];
		res = image_parse(&m);
		KUNIT_EXPECT_TRUE_MSG(test, result_is_none(&res), "window %u: %d, %u bytes",
				      steps[i], res.err, res.size);
	}
}

static void cut_at_every_byte(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	u32 len;

	for (len = 0; len <= made.len; len++) {
		struct image_reader m = image_reader(test, &made);
		struct result res;
		bool right;

		m.len = len;
		res = image_parse(&m);
		right = result_is_right(&res, im);
		/*
		 * In between, it depends on which fields the parser looks at.
		 */
		if (len < made.id_at + im->id_size)
			KUNIT_ASSERT_TRUE_MSG(test, result_is_none(&res), "cut at %u", len);
		else if (len >= made.need)
			KUNIT_ASSERT_TRUE_MSG(test, right, "cut at %u: %d", len, res.err);
		else
			KUNIT_ASSERT_TRUE_MSG(test, right || result_is_none(&res),
					      "cut at %u", len);
	}
}

/*
 * The file becomes empty while the parser reads it, after any number of reads.
 */
static void shrinks_meanwhile(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	struct result res = {};
	u32 seeks;

	for (seeks = 0; seeks < 100000; seeks++) {
		struct image_reader m = image_reader(test, &made);

		m.step = 1;
		m.seeks_left = seeks;
		res = image_parse(&m);
		if (result_is_right(&res, im))
			break;
		KUNIT_ASSERT_TRUE_MSG(test, result_is_none(&res), "after %u reads: %d", seeks,
				      res.err);
	}
	KUNIT_EXPECT_TRUE(test, result_is_right(&res, im));
}

/*
 * All bytes change as soon as they have been read. If the ID is still right,
 * the parser did not read again what it had decided on.
 */
static void every_byte_read_once(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	struct image_reader m = image_reader(test, &made);
	struct result res;

	m.step = 1;
	m.overwrite = true;
	res = image_parse(&m);
	if (im->bare_segments || (im->sections_only && im->extended)) {
		/* It reads notes of segments, or e_shoff, twice: so it may find none. */
		KUNIT_EXPECT_TRUE(test, result_is_right(&res, im) || result_is_none(&res));
		return;
	}
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, im), "%d, %u bytes", res.err, res.size);
}

/* Change some bytes of @buf, but none from @keep to @keep_end. */
static void corrupt(struct rnd_state *rnd, u8 *buf, u32 len, u32 keep, u32 keep_end)
{
	u32 n = 1 + prandom_u32_state(rnd) % 8;

	while (n--) {
		/* Half of them at the start, where a byte matters most. */
		u32 range = prandom_u32_state(rnd) & 1 ? min(len, 256U) : len;
		u32 at = prandom_u32_state(rnd) % range;

		if (at < keep || at >= keep_end)
			buf[at] = prandom_u32_state(rnd);
	}
}

/* While all notes are intact, the result is never a wrong ID. */
static void corrupt_headers(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	u8 *copy = kunit_kmalloc(test, made.len, GFP_KERNEL);
	struct rnd_state rnd;
	u32 i, none = 0;

	KUNIT_ASSERT_NOT_NULL(test, copy);
	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < 1000; i++) {
		struct image_reader m = image_reader(test, &made);
		struct result res;

		memcpy(copy, made.buf, made.len);
		corrupt(&rnd, copy, made.len, made.notes_at, made.id_at + im->id_size);
		m.image = copy;
		res = image_parse(&m);
		none += result_is_none(&res);
		KUNIT_ASSERT_TRUE_MSG(test, result_is_right(&res, im) || result_is_none(&res),
				      "round %u: %d, %u bytes", i, res.err, res.size);
	}
	/*
	 * Some rounds must have damaged something that matters, and some not.
	 */
	KUNIT_EXPECT_GT(test, none, 0U);
	KUNIT_EXPECT_LT(test, none, i);
}

/*
 * Any ID may be the result, but the parser ends after a bounded number of
 * reads.
 */
static void corrupt_anywhere(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	u8 *copy = kunit_kmalloc(test, made.len, GFP_KERNEL);
	/* With KASAN and lockdep, some of the 72 images take seconds. */
	unsigned long end = jiffies + HZ / 2;
	struct rnd_state rnd;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, copy);
	prandom_seed_state(&rnd, SEED + 1);
	for (i = 0; i < 1000 && (i < 200 || time_before(jiffies, end)); i++) {
		struct image_reader m = image_reader(test, &made);
		struct result res;

		memcpy(copy, made.buf, made.len);
		corrupt(&rnd, copy, made.len, 0, 0);
		m.image = copy;
		m.step = steps[i % ARRAY_SIZE(steps)];
		res = image_parse(&m);
		KUNIT_ASSERT_TRUE_MSG(test, result_is_none(&res) ||
				      (!res.err && res.size && res.size <= BUILD_ID_SIZE_MAX),
				      "round %u: %d, %u bytes", i, res.err, res.size);
		KUNIT_ASSERT_LE(test, m.seeks, IMAGE_READS);
	}
}

/*
 * A usual shared library: 8 headers, 2 segments of notes, all in the first
 * page.
 */
static const struct build_id_image usual = {
	.name = "usual", .is64 = true, .big = IS_ENABLED(CONFIG_CPU_BIG_ENDIAN), .id_size = 20,
	.align = 4, .loads_before = 6, .segments_before = 1,
};

static void usual_file_needs_one_window(struct kunit *test)
{
	struct build_id_made made = image_make(test, &usual);
	struct image_reader m = image_reader(test, &made);
	struct result res = image_parse(&m);

	KUNIT_EXPECT_TRUE(test, result_is_right(&res, &usual));
	KUNIT_EXPECT_EQ(test, m.seeks, 1U);
	KUNIT_EXPECT_LE(test, IMAGE_READS - m.r.reads, 30U);
}

/*
 * There are more program headers than e_phnum can count. The last has the note.
 */
static void more_headers_than_e_phnum_counts(struct kunit *test)
{
	const struct build_id_image im = {
		.is64 = true, .id_size = 20, .align = 4, .extended = true, .loads_before = 70000,
	};
	u8 *buf = vzalloc(build_id_image_size(&im));
	struct build_id_made made;
	struct image_reader m;
	struct result res;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	made = build_id_image_make(&im, buf);
	m = image_reader(test, &made);
	res = image_parse(&m);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &im), "%d, %u bytes", res.err, res.size);
	vfree(buf);
}

/*
 * 65,534 segments all show the same 4 KiB of empty notes: 22 million notes to
 * look at.
 */
static void reading_is_bounded(struct kunit *test)
{
	const struct build_id_image im = { .is64 = true, .align = 4, .loads_before = 65533 };
	u8 *buf = vzalloc(build_id_image_size(&im) + 4000);
	struct build_id_made made;
	struct image_reader m;
	struct result res;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	made = build_id_image_make(&im, buf);
	/* Behind the image are zeros, which are empty notes. */
	made.len += 4000;
	for (i = 0; i < 65534; i++)
		build_id_image_segment(&im, buf + 64 + i * 56, PT_NOTE, made.len - 3996, 3996);
	m = image_reader(test, &made);
	m.step = 1 << 30;
	res = image_parse(&m);
	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	KUNIT_EXPECT_EQ(test, m.r.reads, 0U);
	vfree(buf);
}

/* One changed field of a little endian ELF64 image with one program header. */
struct tweak {
	const char *name;
	u32 off;
	u32 width;
	u64 val;
	bool right;	/* the ID must be found nevertheless */
};

static const struct tweak tweaks[] = {
	{ "magic", 0, 4, 0x474c457f },
	{ "class 0", 4, 1, 0 },
	{ "class 3", 4, 1, 3 },
	{ "byte order 0", 5, 1, 0 },
	{ "byte order 3", 5, 1, 3 },
	{ "type core", 16, 2, 4, true },
	{ "headers behind the end", 32, 8, 1 << 20 },
	{ "headers at the end of the address range", 32, 8, U64_MAX - 10 },
	{ "headers wrap round", 32, 8, U64_MAX - 55 },
	{ "headers negative", 32, 8, 1ULL << 63 },
	{ "header size", 54, 2, 57 },
	{ "no headers", 56, 2, 0 },
	{ "65,534 headers", 56, 2, 65534, true },
	{ "extended count without sections", 56, 2, 65535 },
	{ "note behind the end", 64 + 8, 8, 1 << 20 },
	{ "note at the end of the address range", 64 + 8, 8, U64_MAX },
	{ "note wraps round", 64 + 8, 8, U64_MAX - 35 },
	{ "note size 0", 64 + 32, 8, 0 },
	{ "note size huge", 64 + 32, 8, U64_MAX / 2, true },
	{ "note size wraps round", 64 + 32, 8, U64_MAX },
	{ "note size one short", 64 + 32, 8, 35 },
	{ "alignment huge", 64 + 48, 8, 1ULL << 63 },
	{ "name size", 120, 4, 5 },
	{ "name size huge", 120, 4, U32_MAX },
	{ "ID size 0", 124, 4, 0 },
	{ "ID size one more", 124, 4, 21 },
	{ "ID size one less", 124, 4, 19 },
	{ "ID size huge", 124, 4, U32_MAX },
	{ "note type", 128, 4, 4 },
	{ "name", 132, 4, 0x00554e48 },
	{ "name longer", 132, 4, 0x20554e47 },
};

static void tweak_describe(const struct tweak *t, char *desc)
{
	strscpy(desc, t->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(tweak, tweaks, tweak_describe);

static void hostile_field(struct kunit *test)
{
	struct build_id_image im = { .is64 = true, .id_size = 20, .align = 4 };
	const struct tweak *t = test->param_value;
	struct build_id_made made = image_make(test, &im);
	struct image_reader m;
	struct result res;

	KUNIT_ASSERT_EQ(test, made.note_at, 120U);
	build_id_image_put(&im, made.buf + t->off, t->width, t->val);
	m = image_reader(test, &made);
	res = image_parse(&m);
	if (!strcmp(t->name, "ID size one less"))
		im.id_size = 19;
	if (t->right || im.id_size == 19)
		KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &im), "%d", res.err);
	else
		KUNIT_EXPECT_TRUE_MSG(test, result_is_none(&res), "%d, %u bytes", res.err,
				      res.size);
}

/* The parser passes on the error of @seek, and ends. */
static int seek_io_error(struct build_id_reader *r, u64 pos)
{
	struct image_reader *m = container_of(r, struct image_reader, r);

	return m->seeks ? -EIO : image_seek(r, pos);
}

static void read_error_comes_through(struct kunit *test)
{
	const struct build_id_image im = { .is64 = true, .id_size = 20, .align = 4, .phoff = 5000 };
	struct build_id_made made = image_make(test, &im);
	struct image_reader m = image_reader(test, &made);
	struct result res;

	m.r.seek = seek_io_error;
	res = image_parse(&m);
	KUNIT_EXPECT_EQ(test, res.err, -EIO);
	KUNIT_EXPECT_EQ(test, m.seeks, 1U);
}

/* Files */

static struct file *file_make(struct kunit *test, loff_t size)
{
	struct file *file = shmem_kernel_file_setup("build_id", size, VM_NORESERVE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	return file;
}

/* Without TMPFS, files in shmem cannot be written. */
static void file_can_be_written(struct kunit *test, struct file *file)
{
	if (!file->f_op->write_iter)
		kunit_skip(test, "needs TMPFS");
}

/* Write only pages that are not all zeros, so that the rest stays a hole. */
static void file_fill(struct kunit *test, struct file *file, const struct build_id_made *made)
{
	u32 at, n;

	file_can_be_written(test, file);
	for (at = 0; at < made->len; at += n) {
		loff_t pos = at;

		n = min_t(u32, PAGE_SIZE, made->len - at);
		if (!memchr_inv(made->buf + at, 0, n))
			continue;
		KUNIT_ASSERT_EQ(test, kernel_write(file, made->buf + at, n, &pos), (ssize_t)n);
	}
}

static struct result file_read(struct file *file)
{
	struct result res = { .size = CANARY };

	memset(res.id, CANARY, sizeof(res.id));
	res.err = build_id_read_file(file, res.id, &res.size);
	return res;
}

/* Read as a query does under the lock of a VMA: with preemption disabled. */
static struct result file_read_cached(struct file *file)
{
	struct result res = { .size = CANARY };

	memset(res.id, CANARY, sizeof(res.id));
	preempt_disable();
	res.err = build_id_read_cached(file, res.id, &res.size);
	preempt_enable();
	return res;
}

static struct result file_read_in_nmi(struct file *file)
{
	struct result res = { .size = CANARY };

	/* Pages that the kernel does not map cannot be read there. */
	if (IS_ENABLED(CONFIG_HIGHMEM))
		return file_read_cached(file);
	memset(res.id, CANARY, sizeof(res.id));
	local_irq_disable();
	nmi_enter();
	res.err = build_id_read_atomic(file, res.id, &res.size);
	nmi_exit();
	local_irq_enable();
	return res;
}

static void file_is_read(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	struct file *file = file_make(test, made.len);
	struct result res;

	file_fill(test, file, &made);
	res = file_read(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, im), "%d, %u bytes", res.err, res.size);
	res = file_read_in_nmi(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, im), "NMI: %d, %u bytes", res.err,
			      res.size);
	fput(file);
}

/* The size of the file counts, not that of its pages. */
static void file_is_cut(struct kunit *test)
{
	const struct build_id_image *im = test->param_value;
	struct build_id_made made = image_make(test, im);
	struct file *file = file_make(test, made.len);
	struct result res;
	u32 at;

	file_fill(test, file, &made);
	for (at = made.len; at; at -= min(at, 9U)) {
		KUNIT_ASSERT_EQ(test, vfs_truncate(&file->f_path, at), 0L);
		res = file_read(file);
		if (at < made.id_at + im->id_size)
			KUNIT_ASSERT_TRUE_MSG(test, result_is_none(&res), "cut at %u", at);
		else if (at >= made.need)
			KUNIT_ASSERT_TRUE_MSG(test, result_is_right(&res, im), "cut at %u", at);
		res = file_read_in_nmi(file);
		if (at < made.id_at + im->id_size)
			KUNIT_ASSERT_TRUE_MSG(test, res.err, "NMI: cut at %u", at);
		else if (at >= made.need)
			KUNIT_ASSERT_TRUE_MSG(test, result_is_right(&res, im), "NMI: at %u", at);
	}
	fput(file);
}

/* Reading a hole gives an answer, and adds no page. */
static void hole_stays_a_hole(struct kunit *test)
{
	struct file *file = file_make(test, 64 << 20);
	struct result res = file_read(file);

	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	if (shmem_mapping(file->f_mapping))
		KUNIT_EXPECT_EQ(test, file->f_mapping->nrpages, 0UL);
	fput(file);
}

static void cached_file_is_read_at_once(struct kunit *test)
{
	struct build_id_made made = image_make(test, &usual);
	struct file *file = file_make(test, made.len);
	struct result res;
	long count;

	file_fill(test, file, &made);
	count = file_count(file);
	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &usual), "%d", res.err);
	KUNIT_EXPECT_EQ(test, file_count(file), count);
	fput(file);
}

/*
 * A hole of shmem is known to be zeros. A page that is not up to date is
 * unknown.
 */
static void page_that_is_not_there_is_not_waited_for(struct kunit *test)
{
	struct build_id_made made = image_make(test, &usual);
	struct file *file = file_make(test, made.len);
	struct result res;
	struct page *page;

	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	file_fill(test, file, &made);
	page = find_get_page(file->f_mapping, 0);
	KUNIT_ASSERT_NOT_NULL(test, page);
	ClearPageUptodate(page);
	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_fails(&res, -EAGAIN), "%d", res.err);
	res = file_read_in_nmi(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_fails(&res, -EAGAIN), "NMI: %d", res.err);
	/* Files in memory have no disk to read this page from. */
	lock_page(page);
	res = file_read(file);
	unlock_page(page);
	KUNIT_EXPECT_TRUE(test, result_fails(&res, -EIO));
	SetPageUptodate(page);
	put_page(page);
	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE(test, result_is_right(&res, &usual));
	fput(file);
}

/* NMI may have interrupted whoever froze the count of the page. */
static void frozen_page_is_read_in_nmi(struct kunit *test)
{
	struct build_id_made made = image_make(test, &usual);
	struct file *file = file_make(test, made.len);
	struct result res = { .err = -EBUSY };
	struct page *page;
	int count;

	file_fill(test, file, &made);
	page = find_get_page(file->f_mapping, 0);
	KUNIT_ASSERT_NOT_NULL(test, page);
	count = page_count(page);
	if (page_ref_freeze(page, count)) {
		res = file_read_in_nmi(file);
		page_ref_unfreeze(page, count);
	}
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &usual), "%d", res.err);
	put_page(page);
	fput(file);
}

/*
 * A thousand empty notes precede the build ID: too many while preemption is
 * disabled, but not for a reader that may sleep.
 */
static void many_notes_take_a_reader_that_sleeps(struct kunit *test)
{
	const struct build_id_image im = {
		.is64 = true, .id_size = 20, .align = 4, .loads_before = 1,
	};
	struct build_id_made made = image_make(test, &im);
	struct file *file = file_make(test, 4 * 4096);
	struct result res;

	build_id_image_segment(&im, made.buf + 64, PT_NOTE, 4096, 3 * 4096);
	file_fill(test, file, &made);
	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_fails(&res, -EAGAIN), "%d", res.err);
	res = file_read(file);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &im), "%d", res.err);
	fput(file);
}

/*
 * Make an image that takes @windows windows. Now and then one header more takes
 * two windows more, and the next one two fewer: the parser goes back if the
 * header that tells of the notes lies across a border.
 */
static struct build_id_made image_of_windows(struct kunit *test, struct build_id_image *im,
					     u32 windows)
{
	const u32 end = windows * 4096 / 56;
	struct build_id_made made;
	struct image_reader m;
	struct result res;

	for (im->loads_before = (windows - 2) * 4096 / 56; im->loads_before < end;
	     im->loads_before++) {
		u8 *buf = vzalloc(build_id_image_size(im));

		KUNIT_ASSERT_NOT_NULL(test, buf);
		made = build_id_image_make(im, buf);
		m = image_reader(test, &made);
		m.step = 4096;
		res = image_parse(&m);
		KUNIT_ASSERT_TRUE(test, result_is_right(&res, im));
		if (m.seeks == windows)
			break;
		vfree(buf);
	}
	KUNIT_ASSERT_EQ(test, m.seeks, windows);
	return made;
}

static struct result file_of_windows(struct kunit *test, struct build_id_image *im, u32 windows,
				     struct result (*read)(struct file *file))
{
	struct build_id_made made = image_of_windows(test, im, windows);
	struct file *file = file_make(test, made.len);
	struct result res;

	file_fill(test, file, &made);
	vfree(made.buf);
	res = read(file);
	fput(file);
	return res;
}

static void as_many_pages_as_may_be_read(struct kunit *test)
{
	struct build_id_image im = { .is64 = true, .id_size = 20, .align = 4, .phoff = 4096 };
	struct result res;

	if (PAGE_SIZE != 4096)
		return;
	res = file_of_windows(test, &im, 64, file_read);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &im), "%d", res.err);
	res = file_of_windows(test, &im, 65, file_read);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_none(&res), "%d", res.err);
	res = file_of_windows(test, &im, 4, file_read_cached);
	KUNIT_EXPECT_TRUE_MSG(test, result_is_right(&res, &im), "%d", res.err);
	res = file_of_windows(test, &im, 5, file_read_cached);
	KUNIT_EXPECT_TRUE_MSG(test, result_fails(&res, -EAGAIN), "%d", res.err);
}

static void empty_file_has_none(struct kunit *test)
{
	struct file *file = file_make(test, 0);
	struct result res = file_read(file);

	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	fput(file);
}

static void unreadable_file_is_left_alone(struct kunit *test)
{
	struct build_id_made made = image_make(test, &usual);
	struct file *file = file_make(test, made.len);
	struct result res;

	file_fill(test, file, &made);
	file->f_mode &= ~FMODE_READ;
	res = file_read(file);
	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	file->f_mode |= FMODE_READ;
	res = file_read(file);
	KUNIT_EXPECT_TRUE(test, result_is_right(&res, &usual));
	fput(file);
}

static void anonymous_inode_is_left_alone(struct kunit *test)
{
	static const struct file_operations fops = {};
	struct file *file = anon_inode_getfile("[build_id]", &fops, NULL, O_RDWR);
	struct result res;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	res = file_read(file);
	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	res = file_read_cached(file);
	KUNIT_EXPECT_TRUE(test, result_is_none(&res));
	fput(file);
}

struct writer {
	struct file *file;
	const struct build_id_made *made;
	struct completion started;
	int err;
};

/*
 * Truncate, empty and refill the file until told to stop, in whole pages only.
 * If it cut a page in two, readers would see the kernel zero a part of that
 * page, and half an ID would be a state of the file.
 */
static int writer_thread(void *arg)
{
	struct writer *w = arg;
	struct inode *inode = file_inode(w->file);
	u32 round = 0;

	while (!kthread_should_stop()) {
		loff_t pos = 0;

		if (kernel_write(w->file, w->made->buf, w->made->len, &pos) != w->made->len)
			w->err = -EIO;
		complete(&w->started);
		cond_resched();
		if (round++ & 1)
			w->err = w->err ?: vfs_truncate(&w->file->f_path, round % 5 * PAGE_SIZE);
		else
			truncate_pagecache(inode, 0);
		cond_resched();
	}
	return 0;
}

/*
 * The note is in one page, the headers are in two. So every state of the file
 * has the right ID or none.
 */
static void file_changes_meanwhile(struct kunit *test)
{
	const struct build_id_image im = {
		.is64 = true, .id_size = 20, .align = 4, .phoff = 4096 - 30, .loads_before = 3,
		.note_off = 12288 + 100,
	};
	struct build_id_made made = image_make(test, &im);
	struct writer w = { .file = file_make(test, made.len), .made = &made };
	u32 i, right = 0, none = 0, other = 0;
	struct task_struct *task;

	file_can_be_written(test, w.file);
	init_completion(&w.started);
	task = kthread_run(writer_thread, &w, "build_id_writer");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	wait_for_completion(&w.started);
	for (i = 0; i < 2000000 && (i < 20000 || !right || !none); i++) {
		struct result res = file_read_cached(w.file);

		if (result_fails(&res, -EAGAIN) || i % 8 == 0)
			res = file_read(w.file);

		right += result_is_right(&res, &im);
		none += result_is_none(&res);
		/* A page that the writer has just added is not up to date yet. */
		other += !result_is_right(&res, &im) && !result_is_none(&res) &&
			 !result_fails(&res, -EIO);
		cond_resched();
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, other, 0U);
	KUNIT_EXPECT_EQ(test, w.err, 0);
	/* Nothing was tested unless both were seen. */
	KUNIT_EXPECT_GT(test, right, 0U);
	KUNIT_EXPECT_GT(test, none, 0U);
	fput(w.file);
}

static struct kunit_case build_id_cases[] = {
	KUNIT_CASE_PARAM(found_through_any_window, image_gen_params),
	KUNIT_CASE_PARAM(none_through_any_window, image_none_gen_params),
	KUNIT_CASE_PARAM(cut_at_every_byte, image_gen_params),
	KUNIT_CASE_PARAM(shrinks_meanwhile, image_gen_params),
	KUNIT_CASE_PARAM(every_byte_read_once, image_gen_params),
	KUNIT_CASE_PARAM(corrupt_headers, image_gen_params),
	KUNIT_CASE_PARAM(corrupt_anywhere, image_gen_params),
	KUNIT_CASE_PARAM(hostile_field, tweak_gen_params),
	KUNIT_CASE(usual_file_needs_one_window),
	KUNIT_CASE(more_headers_than_e_phnum_counts),
	KUNIT_CASE(reading_is_bounded),
	KUNIT_CASE(read_error_comes_through),
	KUNIT_CASE_PARAM(file_is_read, image_gen_params),
	KUNIT_CASE_PARAM(file_is_cut, image_gen_params),
	KUNIT_CASE(hole_stays_a_hole),
	KUNIT_CASE(cached_file_is_read_at_once),
	KUNIT_CASE(page_that_is_not_there_is_not_waited_for),
	KUNIT_CASE(frozen_page_is_read_in_nmi),
	KUNIT_CASE(many_notes_take_a_reader_that_sleeps),
	KUNIT_CASE(as_many_pages_as_may_be_read),
	KUNIT_CASE(empty_file_has_none),
	KUNIT_CASE(unreadable_file_is_left_alone),
	KUNIT_CASE(anonymous_inode_is_left_alone),
	KUNIT_CASE(file_changes_meanwhile),
	{}
};

static struct kunit_suite build_id_suite = {
	.name = "build_id",
	.test_cases = build_id_cases,
};

kunit_test_suite(build_id_suite);
