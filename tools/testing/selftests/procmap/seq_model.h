/* SPDX-License-Identifier: GPL-2.0 */
/* How many bytes each read() of a seq_file returns, by the rules of fs/seq_file.c in Linux 6.1. */
#ifndef SELFTEST_PROCMAP_SEQ_MODEL_H
#define SELFTEST_PROCMAP_SEQ_MODEL_H

#include <stddef.h>
#include <linux/types.h>

/**
 * struct seq_model - what a seq_file knows between two calls
 * @text: the whole text, which does not change; each record is a line
 * @len: its length
 * @size: size of the buffer, 0 before there is one
 * @count: bytes in the buffer that nobody has read yet; they end at @next
 * @next: where the next line to be put into the buffer begins in @text
 * @read_pos: the file position that belongs to @next and @count
 */
struct seq_model {
	const char *text;
	size_t len;
	size_t size;
	size_t count;
	size_t next;
	__u64 read_pos;
};

void seq_model_init(struct seq_model *model, const char *text, size_t len);
void seq_model_seek(struct seq_model *model, __u64 pos);
size_t seq_model_read(struct seq_model *model, __u64 pos, size_t size);

#endif /* SELFTEST_PROCMAP_SEQ_MODEL_H */
