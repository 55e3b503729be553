// SPDX-License-Identifier: GPL-2.0
/*
 * Find the build ID of an ELF image, which is not trusted: positions are computed with
 * checked arithmetic, and checked against the window by build_id_copy() and
 * build_id_skip(). No byte is read a second time on the assumption that it is still the
 * same.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/swab.h>

#include "buildid_elf.h"

#define BUILD_ID_NOTE_TYPE 3	/* NT_GNU_BUILD_ID */
#define BUILD_ID_NOTE_NAME "GNU"

/* Offsets of fields in a header; @note_type: p_type or sh_type of one that describes notes. */
struct build_id_table {
	u32 note_type;
	u8 entry_size;
	u8 type;
	u8 offset;
	u8 size;
	u8 align;
};

/* What differs between the ELF classes: the size of a word, and offsets. */
struct build_id_layout {
	u8 word;
	u8 e_phoff;
	u8 e_phentsize;
	u8 e_phnum;
	u8 e_shoff;
	u8 e_shentsize;
	u8 e_shnum;
	u8 sh_size;
	u8 sh_info;
	struct build_id_table segments;
	struct build_id_table sections;
};

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BUILD_ID_NATIVE ELFDATA2MSB
#else
#define BUILD_ID_NATIVE ELFDATA2LSB
#endif

#define BUILD_ID_LAYOUT(bits) {							\
	.word		= sizeof(((struct elf##bits##_hdr *)0)->e_phoff),	\
	.e_phoff	= offsetof(struct elf##bits##_hdr, e_phoff),		\
	.e_phentsize	= offsetof(struct elf##bits##_hdr, e_phentsize),	\
	.e_phnum	= offsetof(struct elf##bits##_hdr, e_phnum),		\
	.e_shoff	= offsetof(struct elf##bits##_hdr, e_shoff),		\
	.e_shentsize	= offsetof(struct elf##bits##_hdr, e_shentsize),	\
	.e_shnum	= offsetof(struct elf##bits##_hdr, e_shnum),		\
	.sh_size	= offsetof(struct elf##bits##_shdr, sh_size),		\
	.sh_info	= offsetof(struct elf##bits##_shdr, sh_info),		\
	.segments = {								\
		.note_type	= PT_NOTE,					\
		.entry_size	= sizeof(struct elf##bits##_phdr),		\
		.type		= offsetof(struct elf##bits##_phdr, p_type),	\
		.offset		= offsetof(struct elf##bits##_phdr, p_offset),	\
		.size		= offsetof(struct elf##bits##_phdr, p_filesz),	\
		.align		= offsetof(struct elf##bits##_phdr, p_align),	\
	},									\
	.sections = {								\
		.note_type	= SHT_NOTE,					\
		.entry_size	= sizeof(struct elf##bits##_shdr),		\
		.type		= offsetof(struct elf##bits##_shdr, sh_type),	\
		.offset		= offsetof(struct elf##bits##_shdr, sh_offset),	\
		.size		= offsetof(struct elf##bits##_shdr, sh_size),	\
		.align		= offsetof(struct elf##bits##_shdr, sh_addralign), \
	},									\
}

static const struct build_id_layout build_id_layout_32 = BUILD_ID_LAYOUT(32);
static const struct build_id_layout build_id_layout_64 = BUILD_ID_LAYOUT(64);

struct build_id_elf {
	struct build_id_reader *r;
	const struct build_id_layout *layout;
	bool swap;
	bool found;	/* there is a build ID note, valid or not */
	unsigned char *build_id;
	unsigned int *size;
};

static void build_id_fail(struct build_id_reader *r, int err)
{
	if (!r->err)
		r->err = err;
	r->win_len = 0;
}

/* The window does not hold all of the bytes. Each move of it counts as a read. */
static void build_id_copy_slow(struct build_id_reader *r, u64 pos, u8 *dst, size_t len)
{
	while (len && r->reads && !r->err) {
		u64 off = pos - r->win_pos;
		size_t n;
		int err;

		r->reads--;
		if (off >= r->win_len) {
			err = r->seek(r, pos);
			if (err)
				build_id_fail(r, err);
			continue;
		}
		n = r->win_len - off;
		if (n > len)
			n = len;
		memcpy(dst, r->win + off, n);
		dst += n;
		pos += n;
		len -= n;
	}
	/* The same as in build_id_copy(). */
	barrier();
	if (!len)
		return;
	memset(dst, 0, len);
	build_id_fail(r, -ENODATA);
}

/* Copy bytes, or zeros after an error. @len is mostly a constant: a few instructions. */
static __always_inline void build_id_copy(struct build_id_reader *r, u64 pos, void *dst, size_t len)
{
	/* A position before the window wraps round to one after its end. */
	u64 off = pos - r->win_pos;

	if (likely(off < r->win_len && len <= r->win_len - off && r->reads)) {
		r->reads--;
		memcpy(dst, r->win + off, len);
		/* Use the copy from now on: the compiler must not fetch from the window again. */
		barrier();
		return;
	}
	build_id_copy_slow(r, pos, dst, len);
}

static u32 build_id_u32(const struct build_id_elf *e, u32 raw)
{
	return e->swap ? __swab32(raw) : raw;
}

/* Read a field at @pos; 0 after an error. */
static u16 build_id_half(const struct build_id_elf *e, u64 pos)
{
	u16 raw;

	build_id_copy(e->r, pos, &raw, sizeof(raw));
	return e->swap ? __swab16(raw) : raw;
}

static u32 build_id_full(const struct build_id_elf *e, u64 pos)
{
	u32 raw;

	build_id_copy(e->r, pos, &raw, sizeof(raw));
	return build_id_u32(e, raw);
}

static u64 build_id_word(const struct build_id_elf *e, u64 pos)
{
	u64 raw;

	if (e->layout->word == sizeof(u32))
		return build_id_full(e, pos);
	build_id_copy(e->r, pos, &raw, sizeof(raw));
	return e->swap ? __swab64(raw) : raw;
}

/* The first build ID note decides, even if its ID has a length that cannot be reported. */
static void build_id_take(struct build_id_elf *e, u64 pos, u32 size)
{
	unsigned char id[BUILD_ID_ELF_MAX] = {};

	e->found = true;
	if (!size || size > sizeof(id)) {
		build_id_fail(e->r, -ENODATA);
		return;
	}
	/* Nearly all IDs are a SHA-1. A copy of constant length needs no call. */
	if (size == sizeof(id))
		build_id_copy(e->r, pos, id, sizeof(id));
	else
		build_id_copy(e->r, pos, id, size);
	if (e->r->err)
		return;
	memcpy(e->build_id, id, sizeof(id));
	*e->size = size;
}

static bool build_id_is_gnu(struct build_id_elf *e, u64 pos)
{
	char name[sizeof(BUILD_ID_NOTE_NAME)];

	build_id_copy(e->r, pos, name, sizeof(name));
	return !memcmp(name, BUILD_ID_NOTE_NAME, sizeof(name));
}

/* A note that is not wholly inside ends the walk, since the place of the next one is unknown. */
static void build_id_notes(struct build_id_elf *e, u64 pos, u64 size, u64 align)
{
	u64 end, desc, next;
	struct elf32_note n;	/* the same in both classes */

	if (check_add_overflow(pos, size, &end))
		return;
	/* Linkers write 0 and 1 for the default, 4. Only 4 and 8 are known. */
	if (align < 4)
		align = 4;
	else if (align != 4 && align != 8)
		return;

	for (; end - pos >= sizeof(n); pos += next) {
		build_id_copy(e->r, pos, &n, sizeof(n));
		if (e->r->err)
			return;
		n.n_namesz = build_id_u32(e, n.n_namesz);
		n.n_descsz = build_id_u32(e, n.n_descsz);
		/* These are sums of two 32-bit sizes: they cannot overflow. */
		desc = ALIGN((u64)sizeof(n) + n.n_namesz, align);
		next = ALIGN(desc + n.n_descsz, align);
		if (desc + n.n_descsz > end - pos)
			return;
		if (build_id_u32(e, n.n_type) == BUILD_ID_NOTE_TYPE &&
		    n.n_namesz == sizeof(BUILD_ID_NOTE_NAME) &&
		    build_id_is_gnu(e, pos + sizeof(n))) {
			build_id_take(e, pos + desc, n.n_descsz);
			return;
		}
		/* The last note may lack its padding. */
		if (next > end - pos)
			return;
	}
}

/*
 * The first position up to @end whose header tells of notes, or is not wholly in the
 * window. Headers that are skipped are no reads: the size of the window and its moves bound
 * their number.
 */
static u64 build_id_skip(const struct build_id_elf *e, const struct build_id_table *t, u64 pos,
			 u64 end)
{
	const struct build_id_reader *r = e->r;
	u32 note_type = build_id_u32(e, t->note_type);
	u64 off = pos - r->win_pos;
	u32 type;

	while (pos != end && off < r->win_len && t->entry_size <= r->win_len - off) {
		memcpy(&type, r->win + off + t->type, sizeof(type));
		if (type == note_type)
			break;
		pos += t->entry_size;
		off += t->entry_size;
	}
	return pos;
}

static void build_id_table(struct build_id_elf *e, const struct build_id_table *t, u64 pos,
			   u64 count)
{
	u64 size, end;

	if (check_mul_overflow(count, (u64)t->entry_size, &size) ||
	    check_add_overflow(pos, size, &end)) {
		build_id_fail(e->r, -ENODATA);
		return;
	}

	for (;;) {
		pos = build_id_skip(e, t, pos, end);
		if (pos == end)
			return;
		/* If the type has changed since, the new one counts. */
		if (build_id_full(e, pos + t->type) == t->note_type)
			build_id_notes(e, build_id_word(e, pos + t->offset),
				       build_id_word(e, pos + t->size),
				       build_id_word(e, pos + t->align));
		if (e->found || e->r->err)
			return;
		pos += t->entry_size;
	}
}

/*
 * If a table has more headers than the ELF header can count, section header 0 has their
 * number. Return the position of the field at @off there; 0 if there is no such header.
 */
static u64 build_id_extended(struct build_id_elf *e, u8 off)
{
	u64 shoff = build_id_word(e, e->layout->e_shoff);
	u64 pos;

	if (!shoff || check_add_overflow(shoff, (u64)off, &pos))
		return 0;
	return pos;
}

static void build_id_segments(struct build_id_elf *e)
{
	const struct build_id_layout *l = e->layout;
	u64 phoff = build_id_word(e, l->e_phoff);
	u32 phnum = build_id_half(e, l->e_phnum);
	u64 pos;

	if (phnum == PN_XNUM) {
		pos = build_id_extended(e, l->sh_info);
		phnum = pos ? build_id_full(e, pos) : 0;
	}
	if (!phoff || !phnum || build_id_half(e, l->e_phentsize) != l->segments.entry_size)
		return;
	build_id_table(e, &l->segments, phoff, phnum);
}

/*
 * Object files and kernel modules have only sections, Go's linker leaves the build ID out
 * of PT_NOTE, and program headers of split debug information may point to the wrong place.
 */
static void build_id_sections(struct build_id_elf *e)
{
	const struct build_id_layout *l = e->layout;
	u64 shoff = build_id_word(e, l->e_shoff);
	u64 shnum = build_id_half(e, l->e_shnum);
	u64 pos;

	if (!shoff || build_id_half(e, l->e_shentsize) != l->sections.entry_size)
		return;
	if (!shnum) {
		pos = build_id_extended(e, l->sh_size);
		shnum = pos ? build_id_word(e, pos) : 0;
	}
	build_id_table(e, &l->sections, shoff, shnum);
}

static bool build_id_ident(struct build_id_elf *e)
{
	u8 ident[8];

	build_id_copy(e->r, 0, ident, sizeof(ident));
	if (memcmp(ident, ELFMAG, SELFMAG))
		return false;

	if (ident[EI_CLASS] == ELFCLASS32)
		e->layout = &build_id_layout_32;
	else if (ident[EI_CLASS] == ELFCLASS64)
		e->layout = &build_id_layout_64;
	else
		return false;

	/* A file of the other byte order can still be mapped, for example by gdb. */
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return false;
	e->swap = ident[EI_DATA] != BUILD_ID_NATIVE;
	return true;
}

/**
 * build_id_elf_parse - find the GNU build ID of an ELF image, in segments, then in sections
 * @r: the image, @r->seek and @r->reads set, the rest zero
 * @build_id: out: the ID, padded with zeros to BUILD_ID_ELF_MAX bytes
 * @size: out: the length of the ID, 1 to BUILD_ID_ELF_MAX
 *
 * Context: any in which @r->seek may be called. Ends after @r->reads reads.
 * Return: 0; -ENODATA if the image has no build ID that can be reported, is no
 * ELF image or is damaged, or if no reads are left; else the error of @r->seek.
 * Writes @build_id and @size only on success.
 */
int build_id_elf_parse(struct build_id_reader *r, unsigned char *build_id, unsigned int *size)
{
	struct build_id_elf e = { .r = r, .build_id = build_id, .size = size };

	r->win_len = 0;
	r->err = 0;

	if (!build_id_ident(&e))
		return r->err ?: -ENODATA;

	build_id_segments(&e);
	/* After damaged segments try the sections, but not after a read error. */
	if (!e.found && r->err == -ENODATA)
		r->err = 0;
	if (!e.found && !r->err)
		build_id_sections(&e);
	if (!e.found && !r->err)
		return -ENODATA;
	return r->err;
}
