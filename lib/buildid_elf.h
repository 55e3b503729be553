/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ELF build IDs out of untrusted bytes, wherever those bytes come from.
 *
 * The parser knows nothing about files, pages or memory: it looks at the image through a window
 * that a seek() callback moves. So the same source serves the kernel (a window is a page of the
 * page cache), KUnit (windows over made images) and the fuzzer in user space.
 */
#ifndef _LIB_BUILDID_ELF_H
#define _LIB_BUILDID_ELF_H

#include <linux/types.h>

/*
 * The longest ID that is reported: a SHA-1, which is what BUILD_ID_SIZE_MAX, and with it every user
 * of build IDs in the kernel's ABI, has room for. A cut ID would name some other file, so a longer
 * one counts as none.
 */
#define BUILD_ID_ELF_MAX 20

/*
 * What one file may cost, for the kernel and for whoever wants to see what the kernel sees: moves
 * of a window of one page, back to the same page counted again, and reads. A usual file needs one
 * and about 20. A table of program headers that fills as many pages is read with one or two reads a
 * page, as headers that are of no interest do not count.
 */
#define BUILD_ID_FILE_PAGES 64
#define BUILD_ID_FILE_READS 4096

/**
 * struct build_id_reader - cursor over the bytes of an image
 * @seek: move the window so that it holds at least the byte at @pos, and set @win, @win_pos and
 *	  @win_len; a negative errno if there is no such byte (-ENODATA behind the end) or it cannot
 *	  be read. Called with positions in any order.
 * @win: the bytes in the window. They are shared with whoever writes the image and may change at
 *	 any time; the parser copies each one out once and decides on the copy.
 * @win_pos: position in the image of the window's first byte
 * @win_len: bytes in the window, 0 before the first seek
 * @reads: reads, and moves of the window, before the parser gives up; those that are left
 * @err: the first error; from then on every read gives zeros and nothing is looked at any more
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
