/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generate ELF images for tests of the build ID parser, in KUnit and in user space. Offsets
 * of fields are numbers from the ELF specification: the parser takes them from structs.
 */
#ifndef _LIB_BUILDID_IMAGE_H
#define _LIB_BUILDID_IMAGE_H

#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "buildid_elf.h"

/* An image to generate. */
struct build_id_image {
	const char *name;	/* for the test's output */
	bool is64;
	bool big;	/* big endian */
	bool sections_only;	/* no program headers; the notes are in sections */
	bool bare_segments;	/* the build ID is only in a section, other notes in segments */
	bool extended;	/* the number of headers is in section header 0 */
	u8 id_size;	/* 0: no build ID; more than 20: the parser takes none */
	u8 align;	/* what the headers state, 0 to 16 */
	u8 notes_before;	/* other notes before the build ID in its segment */
	u8 segments_before;	/* PT_NOTE segments before the one with the build ID */
	u32 loads_before;	/* PT_LOAD segments before all these */
	u32 phoff;	/* position of the program headers; 0: after the ELF header */
	u32 note_off;	/* position of the notes; 0: after the program headers */
};

struct build_id_made {
	u8 *buf;
	u32 len;
	u32 id_at;	/* position of the build ID */
	u32 notes_at;	/* of the first note */
	u32 note_at;	/* of the note with the build ID */
	u32 need;	/* bytes from the start that the parser needs for the build ID */
};

/* Space for everything except the tables and the gaps. */
#define BUILD_ID_IMAGE_SLACK 4096

static inline u32 build_id_image_size(const struct build_id_image *im)
{
	return im->phoff + im->note_off + (im->loads_before + im->segments_before + 1) * 56 +
	       BUILD_ID_IMAGE_SLACK;
}

static inline u8 build_id_image_byte(u32 i)
{
	return 0xa1 + 7 * i;
}

static inline void build_id_image_put(const struct build_id_image *im, u8 *at, u32 width, u64 val)
{
	u32 i;

	for (i = 0; i < width; i++)
		at[im->big ? width - 1 - i : i] = val >> (8 * i);
}

/* A field of the size of a word. */
static inline void build_id_image_word(const struct build_id_image *im, u8 *at, u32 off64,
				       u32 off32, u64 val)
{
	build_id_image_put(im, at + (im->is64 ? off64 : off32), im->is64 ? 8 : 4, val);
}

static inline u32 build_id_image_note(const struct build_id_image *im, u8 *at, u32 type, u32 desc)
{
	u32 align = im->align == 8 ? 8 : 4;
	u32 i;

	build_id_image_put(im, at, 4, 4);
	build_id_image_put(im, at + 4, 4, desc);
	build_id_image_put(im, at + 8, 4, type);
	memcpy(at + 12, "GNU", 4);
	for (i = 0; i < desc; i++)
		at[16 + i] = build_id_image_byte(i);
	return 16 + ALIGN(desc, align);
}

static inline void build_id_image_segment(const struct build_id_image *im, u8 *at, u32 type,
					  u32 off, u32 size)
{
	build_id_image_put(im, at, 4, type);
	build_id_image_word(im, at, 8, 4, off);
	build_id_image_word(im, at, 32, 16, size);
	build_id_image_word(im, at, 48, 28, im->align);
}

static inline void build_id_image_section(const struct build_id_image *im, u8 *at, u32 type,
					  u32 off, u32 size)
{
	build_id_image_put(im, at + 4, 4, type);
	build_id_image_word(im, at, 24, 16, off);
	build_id_image_word(im, at, 32, 20, size);
	build_id_image_word(im, at, 48, 32, im->align);
}

static inline void build_id_image_ehdr(const struct build_id_image *im, u8 *at,
				       u32 phoff, u32 phnum, u32 shoff, u32 shnum)
{
	memcpy(at, "\177ELF", 4);
	at[4] = im->is64 ? 2 : 1;
	at[5] = im->big ? 2 : 1;
	at[6] = 1;
	build_id_image_put(im, at + 16, 2, im->sections_only ? 1 : 3);
	build_id_image_word(im, at, 32, 28, phoff);
	build_id_image_word(im, at, 40, 32, shoff);
	at += im->is64 ? 54 : 42;
	build_id_image_put(im, at, 2, im->is64 ? 56 : 32);
	build_id_image_put(im, at + 2, 2, im->extended && phnum ? 0xffff : phnum);
	build_id_image_put(im, at + 4, 2, im->is64 ? 64 : 40);
	build_id_image_put(im, at + 6, 2, im->extended ? 0 : shnum);
}

/* Write all segments but the last, move *@note after their notes, return where the last begins. */
static inline u32 build_id_image_others(const struct build_id_image *im, u8 *buf, u32 ph, u32 *note)
{
	u32 size = im->is64 ? 56 : 32;
	u32 i, len;

	for (i = 0; i < im->loads_before; i++, ph += size)
		build_id_image_segment(im, buf + ph, PT_LOAD, i << 12, 1 << 12);
	for (i = 0; i < im->segments_before; i++, ph += size) {
		len = build_id_image_note(im, buf + *note, 5, 16);
		build_id_image_segment(im, buf + ph, PT_NOTE, *note, len);
		*note += len;
	}
	return ph;
}

/* The mandatory empty section header, with the extended counts, and one for the notes. */
static inline u32 build_id_image_sections(const struct build_id_image *im, u8 *buf, u32 sh,
					  u32 phnum, u32 note, u32 note_size)
{
	bool notes = im->sections_only || im->bare_segments;
	u32 size = im->is64 ? 64 : 40;

	if (im->extended) {
		build_id_image_word(im, buf + sh, 32, 20, 1 + notes);
		build_id_image_put(im, buf + sh + (im->is64 ? 44 : 28), 4, phnum);
	}
	if (notes)
		build_id_image_section(im, buf + sh + size, SHT_NOTE, note, note_size);
	return sh + size * (1 + notes);
}

/* Generate an image in @buf, which has build_id_image_size() bytes of zeros. */
static inline struct build_id_made build_id_image_make(const struct build_id_image *im, u8 *buf)
{
	u32 phnum = im->sections_only ? 0 : im->loads_before + im->segments_before + 1;
	u32 phoff = im->phoff ?: (im->is64 ? 64 : 52);
	u32 ph_end = phoff + phnum * (im->is64 ? 56 : 32);
	u32 note = im->note_off ?: ph_end;
	struct build_id_made made = { .buf = buf, .notes_at = note };
	u32 ph = phoff, i, first, sh;

	if (phnum)
		ph = build_id_image_others(im, buf, phoff, &note);

	first = note;
	for (i = 0; i < im->notes_before; i++)
		note += build_id_image_note(im, buf + note, 1 + 4 * i, 3 * i);
	if (phnum && im->bare_segments)
		build_id_image_segment(im, buf + ph, PT_NOTE, first, note - first);
	made.note_at = note;
	made.id_at = note + 16;
	if (im->id_size)
		note += build_id_image_note(im, buf + note, 3, im->id_size);
	if (phnum && !im->bare_segments)
		build_id_image_segment(im, buf + ph, PT_NOTE, first, note - first);

	sh = ALIGN(note > ph_end ? note : ph_end, 8);
	made.len = build_id_image_sections(im, buf, sh, phnum, first, note - first);
	build_id_image_ehdr(im, buf, phnum ? phoff : 0, phnum, sh,
			    1 + (im->sections_only || im->bare_segments));
	made.need = made.id_at + im->id_size;
	if (im->extended || im->sections_only || im->bare_segments)
		made.need = made.len;
	else if (made.need < ph_end)
		made.need = ph_end;
	return made;
}

/* Images whose build ID must be found, in both classes and byte orders. */
static const struct build_id_image build_id_images[] = {
	{ "plain", .id_size = 20, .align = 4 },
	{ "shortest ID", .id_size = 1, .align = 4 },
	{ "align 8", .id_size = 20, .align = 8, .notes_before = 3 },
	{ "align 8, odd ID", .id_size = 13, .align = 8, .notes_before = 6 },
	{ "no alignment", .id_size = 8, .align = 0, .notes_before = 2 },
	{ "alignment 1", .id_size = 16, .align = 1, .notes_before = 4 },
	{ "several notes", .id_size = 20, .align = 4, .notes_before = 9 },
	{ "several segments",
	  .id_size = 20, .align = 4, .loads_before = 4, .segments_before = 5, .notes_before = 1 },
	{ "far headers", .id_size = 20, .align = 4, .phoff = 9001 },
	{ "headers across pages",
	  .id_size = 20, .align = 8, .phoff = 4096 - 30, .loads_before = 2, .segments_before = 1 },
	{ "far note", .id_size = 20, .align = 4, .note_off = 12288 },
	{ "note header across pages", .id_size = 20, .align = 4, .note_off = 8192 - 6 },
	{ "ID across pages", .id_size = 20, .align = 4, .note_off = 4096 - 23 },
	{ "notes before headers", .id_size = 17, .align = 4, .note_off = 70, .phoff = 5000 },
	{ "extended count", .id_size = 20, .align = 4, .extended = true, .loads_before = 3 },
	{ "sections only", .id_size = 20, .align = 4, .sections_only = true, .notes_before = 2 },
	{ "sections only, extended count",
	  .id_size = 20, .align = 8, .sections_only = true, .extended = true },
	{ "not in the segments",
	  .id_size = 20, .align = 4, .bare_segments = true, .notes_before = 1 },
};

/* Images without a build ID that could be reported. */
static const struct build_id_image build_id_images_none[] = {
	{ "no ID", .align = 4, .notes_before = 3, .segments_before = 2 },
	{ "ID of 21 bytes", .id_size = 21, .align = 4 },
	{ "ID of 64 bytes", .id_size = 64, .align = 8 },
	{ "alignment 16", .id_size = 20, .align = 16 },
	{ "alignment 5", .id_size = 20, .align = 5 },
};

/* Classes and byte orders. */
#define BUILD_ID_VARIANTS 4

static inline struct build_id_image build_id_image_variant(const struct build_id_image *im, u32 v)
{
	struct build_id_image res = *im;

	res.is64 = v & 1;
	res.big = v & 2;
	return res;
}

#endif /* _LIB_BUILDID_IMAGE_H */
