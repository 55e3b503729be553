// SPDX-License-Identifier: GPL-2.0
/*
 * A model of fs/seq_file.c: see seq_model.h.
 *
 * The buffer has one page at first. A line fits if a byte of the buffer is left
 * over after it. If the first line of a read does not fit, the buffer doubles
 * until it does, and stays as large. A read takes what the buffer still has.
 * Only if that is all of it, the read fills the buffer again, once, with whole
 * lines: with at least one, and with more while the buffer has less than the
 * reader still wants and the next line fits.
 */
#include <string.h>
#include <unistd.h>

#include "seq_model.h"

/* Model a descriptor that was just opened. */
void seq_model_init(struct seq_model *model, const char *text, size_t len)
{
	*model = (struct seq_model){ .text = text, .len = len };
}

/* The length of the next line; 0 at the end of the text. */
static size_t next_line(const struct seq_model *model)
{
	const char *line = model->text + model->next;
	const char *newline = memchr(line, '\n', model->len - model->next);

	return newline ? newline + 1 - line : 0;
}

static void need_buffer(struct seq_model *model, size_t line)
{
	if (!model->size)
		model->size = sysconf(_SC_PAGESIZE);
	while (line >= model->size)
		model->size *= 2;
}

/* Like traverse(): one line at a time, until a line has @pos inside or after. */
static void go_to(struct seq_model *model, __u64 pos)
{
	size_t line;

	model->next = 0;
	model->count = 0;
	if (pos)
		need_buffer(model, 0);
	while (model->next < pos && (line = next_line(model))) {
		need_buffer(model, line);
		model->next += line;
	}
	if (model->next > pos)
		model->count = model->next - pos;
	model->read_pos = pos;
}

/* Model lseek(). */
void seq_model_seek(struct seq_model *model, __u64 pos)
{
	if (pos != model->read_pos)
		go_to(model, pos);
}

static size_t copy(struct seq_model *model, size_t size)
{
	size_t copied = model->count < size ? model->count : size;

	model->count -= copied;
	return copied;
}

static void fill(struct seq_model *model, size_t size)
{
	size_t line = next_line(model);

	need_buffer(model, line);
	if (!line)
		return;
	do {
		model->next += line;
		model->count += line;
		line = next_line(model);
	} while (line && model->count < size && model->count + line < model->size);
}

/*
 * Model read() and pread(). Returns what the call returns; the bytes are those
 * of the text from @pos on.
 * @pos: the position; that of the descriptor for read()
 */
size_t seq_model_read(struct seq_model *model, __u64 pos, size_t size)
{
	size_t copied;

	if (!size)
		return 0;
	if (!pos || pos != model->read_pos)
		go_to(model, pos);
	copied = copy(model, size);
	if (!model->count) {
		fill(model, size - copied);
		copied += copy(model, size - copied);
	}
	model->read_pos += copied;
	return copied;
}
