// SPDX-License-Identifier: GPL-2.0
/*
 * Find the build ID of an ELF image, which is not trusted: positions are computed with
 * checked arithmetic, and checked against the window by build_id_copy() and
 * build_id_skip(). No byte is read a second time as if it were still the same.
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

/* Offsets in the ELF header of what describes a table (e_*, sh_num), and in one entry of it. */
struct build_id_table {
	u32 note_type;	/* p_type or sh_type of a header that describes notes */
	u16 e_num_extended;	/* the value of e_num that means: see sh_num of section 0 */
	u8 e_num;
	u8 e_off;
	u8 e_entsize;
	u8 sh_num;
	u8 entry_size;
	u8 type;
	u8 offset;
	u8 size;
	u8 align;
};

/* What differs between the ELF classes: the size of a long, and offsets. */
struct build_id_layout {
	u8 long_size;
	struct build_id_table segments;
	struct build_id_table sections;
};

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BUILD_ID_NATIVE ELFDATA2MSB
#else
#define BUILD_ID_NATIVE ELFDATA2LSB
#endif

#define BUILD_ID_LAYOUT(bits) {							\
	.long_size = (bits) / 8,						\
	.segments = {								\
		.e_num_extended	= PN_XNUM,					\
		.e_num		= offsetof(struct elf##bits##_hdr, e_phnum),	\
		.e_off		= offsetof(struct elf##bits##_hdr, e_phoff),	\
		.e_entsize	= offsetof(struct elf##bits##_hdr, e_phentsize), \
		.sh_num		= offsetof(struct elf##bits##_shdr, sh_info),	\
		.note_type	= PT_NOTE,					\
		.entry_size	= sizeof(struct elf##bits##_phdr),		\
		.type		= offsetof(struct elf##bits##_phdr, p_type),	\
		.offset		= offsetof(struct elf##bits##_phdr, p_offset),	\
		.size		= offsetof(struct elf##bits##_phdr, p_filesz),	\
		.align		= offsetof(struct elf##bits##_phdr, p_align),	\
	},									\
	.sections = {								\
		.e_num_extended	= 0,						\
		.e_num		= offsetof(struct elf##bits##_hdr, e_shnum),	\
		.e_off		= offsetof(struct elf##bits##_hdr, e_shoff),	\
		.e_entsize	= offsetof(struct elf##bits##_hdr, e_shentsize), \
		.sh_num		= offsetof(struct elf##bits##_shdr, sh_size),	\
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

/* Each move of the window counts as a read. */
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

/* Copy bytes, or zeros after an error. @len is mostly a constant. */
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

/* Read a field at @pos; 0 after an error. A long has 32 or 64 bits, as the class says. */
static u16 build_id_half(const struct build_id_elf *e, u64 pos)
{
	u16 raw;

	build_id_copy(e->r, pos, &raw, sizeof(raw));
	return e->swap ? __swab16(raw) : raw;
}

static u32 build_id_word(const struct build_id_elf *e, u64 pos)
{
	u32 raw;

	build_id_copy(e->r, pos, &raw, sizeof(raw));
	return build_id_u32(e, raw);
}

static u64 build_id_long(const struct build_id_elf *e, u64 pos)
{
	u64 raw;

	if (e->layout->long_size == sizeof(u32))
		return build_id_word(e, pos);
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

/* A note that is not wholly inside ends the walk, since the place of the next one is unknown. */
static void build_id_notes(struct build_id_elf *e, u64 pos, u64 size, u64 align)
{
	char name[sizeof(BUILD_ID_NOTE_NAME)];
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
		if (build_id_u32(e, n.n_type) == BUILD_ID_NOTE_TYPE && n.n_namesz == sizeof(name)) {
			build_id_copy(e->r, pos + sizeof(n), name, sizeof(name));
			if (!memcmp(name, BUILD_ID_NOTE_NAME, sizeof(name))) {
				build_id_take(e, pos + desc, n.n_descsz);
				return;
			}
		}
		/* The last note may lack its padding. */
		if (next > end - pos)
			return;
	}
}

/*
 * The first position up to @end whose header tells of notes, or is not wholly in the
 * window. Skipped headers do not count as reads: the window and its moves bound their number.
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

/* If a table has more headers than the ELF header can count, section header 0 has their number. */
static u64 build_id_extended(struct build_id_elf *e, const struct build_id_table *t)
{
	const struct build_id_layout *l = e->layout;
	u64 pos = build_id_long(e, l->sections.e_off);

	if (!pos || check_add_overflow(pos, (u64)t->sh_num, &pos))
		return 0;
	return t == &l->segments ? build_id_word(e, pos) : build_id_long(e, pos);
}

static void build_id_table(struct build_id_elf *e, const struct build_id_table *t)
{
	u64 pos = build_id_long(e, t->e_off);
	u64 count = build_id_half(e, t->e_num);
	u64 size, end;

	if (!pos || build_id_half(e, t->e_entsize) != t->entry_size)
		return;
	if (count == t->e_num_extended)
		count = build_id_extended(e, t);
	if (check_mul_overflow(count, (u64)t->entry_size, &size) ||
	    check_add_overflow(pos, size, &end)) {
		build_id_fail(e->r, -ENODATA);
		return;
	}

	while ((pos = build_id_skip(e, t, pos, end)) != end) {
		/* If the type has changed since, the new one counts. */
		if (build_id_word(e, pos + t->type) == t->note_type)
			build_id_notes(e, build_id_long(e, pos + t->offset),
				       build_id_long(e, pos + t->size),
				       build_id_long(e, pos + t->align));
		if (e->found || e->r->err)
			return;
		pos += t->entry_size;
	}
}

static bool build_id_ident(struct build_id_elf *e)
{
	u8 ident[8];

	build_id_copy(e->r, 0, ident, sizeof(ident));
	if (memcmp(ident, ELFMAG, SELFMAG) ||
	    (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
	    (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
		return false;
	e->layout = ident[EI_CLASS] == ELFCLASS32 ? &build_id_layout_32 : &build_id_layout_64;
	/* A file of the other byte order can still be mapped, for example by gdb. */
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
 * Return: 0; -ENODATA: no build ID that can be reported, a damaged image, or no
 * reads are left; else the error of @r->seek. Only 0 writes @build_id and @size.
 */
int build_id_elf_parse(struct build_id_reader *r, unsigned char *build_id, unsigned int *size)
{
	struct build_id_elf e = { .r = r, .build_id = build_id, .size = size };

	if (!build_id_ident(&e))
		return r->err ?: -ENODATA;

	build_id_table(&e, &e.layout->segments);
	/*
	 * Object files and kernel modules have only sections, Go's linker leaves the build ID
	 * out of PT_NOTE, and segments of split debug information may point to the wrong place.
	 * If seek() has failed with another error, do not try the sections.
	 */
	if (!e.found && r->err == -ENODATA)
		r->err = 0;
	if (!e.found && !r->err)
		build_id_table(&e, &e.layout->sections);
	return e.found ? r->err : r->err ?: -ENODATA;
}
