/* SPDX-License-Identifier: GPL-2.0 */
/* The parser knows no files or pages: so it also runs in tests and in user space. */
#ifndef _LIB_BUILDID_ELF_H
#define _LIB_BUILDID_ELF_H

#include <linux/types.h>

/* A SHA-1, as BUILD_ID_SIZE_MAX. A longer ID counts as none: cut, it would name another file. */
#define BUILD_ID_ELF_MAX 20

/* Limits of the cost of a file. A usual one needs one window of a page, and about 20 reads. */
#define BUILD_ID_FILE_PAGES 64
#define BUILD_ID_FILE_READS 4096

/**
 * struct build_id_reader - cursor over the bytes of an image
 * @seek: move the window to the byte at @pos, forwards or backwards: set @win,
 *	@win_pos and @win_len. Returns 0, -ENODATA after the end, or another
 *	negative errno if the byte cannot be read
 * @win: the bytes in the window; others may change them at any time
 * @win_pos: position in the image of the window's first byte
 * @win_len: bytes in the window, 0 before the first seek
 * @reads: how many reads, and moves of the window, are left
 * @err: an error: every read gives zeros. -ENODATA in the segments is cleared once, to try the
 *	sections; any other error ends the parser
 */
struct build_id_reader {
	int (*seek)(struct build_id_reader *r, u64 pos);
	const u8 *win;
	u64 win_pos;
	size_t win_len;
	unsigned int reads;
	int err;
};

int build_id_elf_parse(struct build_id_reader *r, unsigned char *build_id, unsigned int *size);

#endif /* _LIB_BUILDID_ELF_H */
