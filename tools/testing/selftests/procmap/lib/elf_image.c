// SPDX-License-Identifier: GPL-2.0
/* Small ELF images with a build ID: see elf_image.h. */
#include <errno.h>
#include <string.h>
#include <linux/elf.h>
#include <linux/fs.h>

#include "elf_image.h"
#include "scan.h"

#define NOTE_AT		ELF_IMAGE_NOTE
#define NOTE_NAME	"GNU"
#define NOTE_TYPE	3	/* NT_GNU_BUILD_ID */
/* The header of a note is the same in both classes. */
#define NOTE_HEAD	(sizeof(struct elf32_note) + sizeof(NOTE_NAME))

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define IMAGE_DATA	ELFDATA2MSB
#else
#define IMAGE_DATA	ELFDATA2LSB
#endif

#if __SIZEOF_LONG__ == 8
#define OWN_CLASS	ELFCLASS64
#define own_hdr		elf64_hdr
#define own_phdr	elf64_phdr
#else
#define OWN_CLASS	ELFCLASS32
#define own_hdr		elf32_hdr
#define own_phdr	elf32_phdr
#endif

#define EHDR(class, headers)							\
	.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class, IMAGE_DATA, 1 },	\
	.e_type = ET_DYN,							\
	.e_version = EV_CURRENT,						\
	.e_phoff = sizeof((headers).ehdr),					\
	.e_ehsize = sizeof((headers).ehdr),					\
	.e_phentsize = sizeof((headers).phdr),					\
	.e_phnum = 1
#define PHDR(size)	.p_type = PT_NOTE, .p_offset = NOTE_AT, .p_filesz = (size), .p_align = 4

static void put_headers_64(char *data, size_t note_size)
{
	const struct {
		struct elf64_hdr ehdr;
		struct elf64_phdr phdr;
	} headers = { { EHDR(ELFCLASS64, headers) }, { PHDR(note_size) } };

	memcpy(data, &headers, sizeof(headers));
}

static void put_headers_32(char *data, size_t note_size)
{
	const struct {
		struct elf32_hdr ehdr;
		struct elf32_phdr phdr;
	} headers = { { EHDR(ELFCLASS32, headers) }, { PHDR(note_size) } };

	memcpy(data, &headers, sizeof(headers));
}

/*
 * Make an image.
 * @is64: ELF64, else ELF32
 * @id_size: length of the build ID, 0 to ELF_IMAGE_ID
 * @seed: first byte of the build ID; each byte differs from the one before
 */
void elf_image_make(struct elf_image *image, bool is64, unsigned int id_size, unsigned char seed)
{
	const struct elf32_note nhdr = {
		.n_namesz = sizeof(NOTE_NAME), .n_descsz = id_size, .n_type = NOTE_TYPE,
	};
	unsigned int i;

	memset(image, 0, sizeof(*image));
	image->id_size = id_size;
	for (i = 0; i < id_size; i++)
		image->id[i] = seed + 13 * i;
	if (is64)
		put_headers_64(image->data, NOTE_HEAD + id_size);
	else
		put_headers_32(image->data, NOTE_HEAD + id_size);
	memcpy(image->data + NOTE_AT, &nhdr, sizeof(nhdr));
	memcpy(image->data + NOTE_AT + sizeof(nhdr), NOTE_NAME, sizeof(NOTE_NAME));
	memcpy(image->data + NOTE_AT + NOTE_HEAD, image->id, id_size);
}

/*
 * Write an ELF64 image with its notes elsewhere.
 * @file: the file's contents, zeros
 * @notes_at: position of the notes, at least ELF_IMAGE_NOTE
 * @empty: number of empty notes before the one with the build ID
 */
void elf_image_put(const struct elf_image *image, char *file, size_t notes_at, unsigned int empty)
{
	const size_t head = sizeof(struct elf64_hdr);
	struct elf64_phdr phdr;

	memcpy(&phdr, image->data + head, sizeof(phdr));
	phdr.p_offset = notes_at;
	phdr.p_filesz += empty * ELF_IMAGE_EMPTY;
	memcpy(file, image->data, head);
	memcpy(file + head, &phdr, sizeof(phdr));
	memcpy(file + notes_at + empty * ELF_IMAGE_EMPTY, image->data + NOTE_AT,
	       ELF_IMAGE_SIZE - NOTE_AT);
}

static int size_if_right(const struct elf_image *image, const unsigned char *id,
			 unsigned int size)
{
	if (size && (size != image->id_size || memcmp(id, image->id, size)))
		return -EUCLEAN;
	return size;
}

/*
 * Ask for the build ID of a mapping of an image. Returns the length of the
 * build ID, 0 if there is none; -errno; -EUCLEAN if it is not that of the
 * image.
 */
int elf_image_ask(int maps, const void *addr, const struct elf_image *image)
{
	struct procmap_call call;
	int ret = procmap_ask(maps, (unsigned long)addr, 0, &call);

	return ret ?: size_if_right(image, call.build_id, call.q.build_id_size);
}

/*
 * Scan for the build ID of a mapping of an image. Returns as elf_image_ask();
 * -EIO if the record says that it is not known.
 * @flags: PROCMAP_SCAN_NOWAIT or 0
 */
int elf_image_scan(int maps, const void *addr, const struct elf_image *image, __u64 flags)
{
	struct procmap_record record;
	int ret = scan_one(maps, addr, PROCMAP_SCAN_BUILD_IDS | flags, &record, NULL, 0);

	if (ret)
		return ret;
	if (record.flags & PROCMAP_RECORD_BUILD_ID_UNKNOWN)
		return record.build_id_size ? -EUCLEAN : -EIO;
	return size_if_right(image, record.build_id, record.build_id_size);
}

/* Find the build ID in notes that are padded to 4 bytes. */
static const unsigned char *find_note(const void *notes, size_t size, unsigned int *id_size)
{
	const char *p = notes, *end = p + size;

	while (end - p >= (ptrdiff_t)sizeof(struct elf32_note)) {
		const struct elf32_note *nhdr = (const void *)p;
		const char *name = p + sizeof(*nhdr);
		const char *desc = name + (nhdr->n_namesz + 3) / 4 * 4;

		if (nhdr->n_type == NOTE_TYPE && nhdr->n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(name, NOTE_NAME, sizeof(NOTE_NAME))) {
			*id_size = nhdr->n_descsz;
			return (const unsigned char *)desc;
		}
		p = desc + (nhdr->n_descsz + 3) / 4 * 4;
	}
	return NULL;
}

/*
 * Find the build ID of a program that this linker made. Returns the build ID,
 * or NULL. NULL also means that @data is not an ELF file of the word size of
 * this program.
 * @data: the file, or at least its headers and notes
 * @size: size of @data; the headers and notes of an ELF file are trusted
 */
const unsigned char *elf_image_find(const void *data, size_t size, unsigned int *id_size)
{
	const struct own_hdr *ehdr = data;
	const struct own_phdr *phdr;
	unsigned int i;

	if (size < sizeof(*ehdr) || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) ||
	    ehdr->e_ident[EI_CLASS] != OWN_CLASS)
		return NULL;
	phdr = data + ehdr->e_phoff;
	for (i = 0; i < ehdr->e_phnum; i++) {
		const unsigned char *id;

		/* Notes aligned to 8 bytes describe processor features. */
		if (phdr[i].p_type != PT_NOTE || phdr[i].p_align > 4)
			continue;
		id = find_note(data + phdr[i].p_offset, phdr[i].p_filesz, id_size);
		if (id)
			return id;
	}
	return NULL;
}
