/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find the build ID in untrusted bytes of an ELF image, wherever they come
 * from.
 *
 * The parser knows nothing about files, pages or memory. It reads the image
 * through a window that a seek() callback moves. So the same source serves the
 * kernel (a window is a page of the page cache), KUnit (windows over generated
 * images) and the fuzzer in user space.
 */
#ifndef _LIB_BUILDID_ELF_H
#define _LIB_BUILDID_ELF_H

#include <linux/types.h>

/*
 * The longest ID that is reported: a SHA-1. BUILD_ID_SIZE_MAX, and so every
 * user of build IDs in the kernel's ABI, has no space for more. A truncated ID
 * would name another file, so a longer ID counts as none.
 */
#define BUILD_ID_ELF_MAX 20

/*
 * What one file may cost, in the kernel and in tools that want the same result:
 * moves of a window of one page, where going back to a page counts again, and
 * reads. A usual file needs one move and about 20 reads. A table of program
 * headers that fills 64 pages takes one or two reads a page, since the headers
 * that the parser skips do not count.
 */
#define BUILD_ID_FILE_PAGES 64
#define BUILD_ID_FILE_READS 4096

/**
 * struct build_id_reader - cursor over the bytes of an image
 * @seek: move the window so that it holds at least the byte at @pos, and set
 *	@win, @win_pos and @win_len. Returns 0, or a negative errno if there is
 *	no such byte (-ENODATA after the end) or it cannot be read. The parser
 *	calls it with positions in any order.
 * @win: the bytes in the window. A writer of the image may change them at any
 *	time. The parser copies each byte out once and decides on the copy.
 * @win_pos: position in the image of the window's first byte
 * @win_len: bytes in the window, 0 before the first seek
 * @reads: how many reads, and moves of the window, are left before the parser
 *	gives up
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
