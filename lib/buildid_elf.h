/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the build ID in untrusted bytes of an ELF image. The parser knows no files or pages,
 * only a window that a seek() callback moves: so it also runs in tests and in user space.
 */
#ifndef _LIB_BUILDID_ELF_H
#define _LIB_BUILDID_ELF_H

#include <linux/types.h>

/*
 * The longest ID that is reported: a SHA-1, as BUILD_ID_SIZE_MAX. A truncated ID would name
 * another file, so a longer ID counts as none.
 */
#define BUILD_ID_ELF_MAX 20

/*
 * What one file may cost: moves of a window of one page, and reads. A usual file needs one
 * and about 20; headers that are skipped do not count.
 */
#define BUILD_ID_FILE_PAGES 64
#define BUILD_ID_FILE_READS 4096

/**
 * struct build_id_reader - cursor over the bytes of an image
 * @seek: move the window so that it holds at least the byte at @pos, and set @win,
 *	@win_pos and @win_len; in any order. Returns 0, -ENODATA after the
 *	end, or another negative errno if the byte cannot be read
 * @win: the bytes in the window. Others may change them at any time: the parser
 *	copies each byte out once and decides on the copy
 * @win_pos: position in the image of the window's first byte
 * @win_len: bytes in the window, 0 before the first seek
 * @reads: how many reads, and moves of the window, are left
 * @err: the first error. After it, every read gives zeros, and the parser stops
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
