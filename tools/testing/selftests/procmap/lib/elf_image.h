/* SPDX-License-Identifier: GPL-2.0 */
/* Small ELF images with a build ID, and the build IDs of images in memory. */
#ifndef SELFTEST_ELF_IMAGE_H
#define SELFTEST_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define ELF_IMAGE_SIZE	256
#define ELF_IMAGE_ID	64
/* Where the notes of an image are, and the size of an empty note */
#define ELF_IMAGE_NOTE	128
#define ELF_IMAGE_EMPTY	12

/**
 * struct elf_image - a small ELF image
 * @data: the whole image; only its build ID is of any use
 * @id: its build ID
 * @id_size: bytes of @id
 */
struct elf_image {
	char data[ELF_IMAGE_SIZE];
	unsigned char id[ELF_IMAGE_ID];
	unsigned int id_size;
};

void elf_image_make(struct elf_image *image, bool is64, unsigned int id_size, unsigned char seed);
void elf_image_put(const struct elf_image *image, char *file, size_t notes_at, unsigned int empty);
int elf_image_ask(int maps, const void *addr, const struct elf_image *image);
int elf_image_scan(int maps, const void *addr, const struct elf_image *image, __u64 flags);
const unsigned char *elf_image_find(const void *data, size_t size, unsigned int *id_size);

#endif /* SELFTEST_ELF_IMAGE_H */
