// SPDX-License-Identifier: GPL-2.0
/*
 * The maps output, /proc/<pid>/maps, one locked VMA at a time: seq_file allocates and
 * copies to user memory when nothing is held.
 *
 * The position is the start of the VMA after the last line: no address that stays mapped is
 * left out. A VMA that begins below the position has grown or merged since. If the last line is
 * still in the buffer, the line of this VMA replaces it; if the VMA begins inside of the range of
 * that line, only the rest of the VMA is printed. Else the VMA is printed whole.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mm_ref.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/vma_base.h>
#include <linux/vma_search.h>
#include "internal.h"
#include "procmap.h"

/* The position after the gate VMA, which is the last line. */
#define PROCMAP_MAPS_END	(-1UL)
/* How long a read that has lines waits at one place for a writer, in jiffies. */
#define PROCMAP_MAPS_PATIENCE	(HZ / 10)
/* The column of the name. */
#define PROCMAP_MAPS_WIDTH	(25 + sizeof(void *) * 6 - 1)
/* Offset, device and inode without a file. */
#define PROCMAP_NO_FILE		"00000000 00:00 0 "
#define PROCMAP_MAPS_DIGITS	16
/* Space for a part of a line: 3 numbers, 4 permissions and 4 other characters. */
#define PROCMAP_MAPS_PART	(3 * PROCMAP_MAPS_DIGITS + 4 + 4)

struct procmap_digits {
	unsigned long value;
	unsigned int len;
	char str[PROCMAP_MAPS_DIGITS];
};

/* The second part of a line, from the device to the newline. */
struct procmap_file_part {
	const struct file *file;
	unsigned long seq;
	size_t column;
	size_t start;	/* in the buffer */
	size_t len;
};

struct procmap_line {
	unsigned long prev_end;	/* where the VMA of the line before ended */
	unsigned long addr;
	size_t start;	/* in the buffer */
	size_t end;	/* 0: no line yet */
};

struct procmap_maps {
	struct proc_maps_private maps;	/* must be first */
	struct vma_walk walk;
	struct procmap_digits last_end;	/* of the last VMA; the next one often begins there */
	struct procmap_line line;	/* the last one, while the buffer ends with it */
	struct procmap_file_part last;	/* the last one, while the buffer has it */
	bool cut_short;	/* the last read ended before a VMA that was changing */
};

/* The gate VMA comes after all others. */
static void *procmap_maps_find(struct procmap_maps *pm)
{
	struct vm_area_struct *vma = vma_walk_next(&pm->walk);

	if (vma == ERR_PTR(-ESRCH))
		return NULL;
	return vma ?: get_gate_vma(pm->maps.mm);
}

static void *procmap_maps_start(struct seq_file *m, loff_t *ppos)
{
	struct procmap_maps *pm = m->private;
	struct task_struct *task;
	void *vma;

	if (*ppos == PROCMAP_MAPS_END)
		return NULL;
	/* The output ends when the task is gone, even if its memory lives on. */
	task = get_proc_task(pm->maps.inode);
	if (!task)
		return ERR_PTR(-ESRCH);
	put_task_struct(task);
	if (!pm->maps.mm)
		return NULL;
	vma_walk_begin(&pm->walk, pm->maps.mm, *ppos);
	pm->last.file = NULL;
	pm->line.end = 0;
	vma = procmap_maps_find(pm);
	/*
	 * Do not wait long for a writer once there are lines: seq_read_iter() returns these at
	 * -EAGAIN. But callers of traverse(), for pread() and lseek(), take it for "the buffer is
	 * larger now", and call again. So the start after an -EAGAIN waits without limit.
	 */
	if (!pm->cut_short)
		pm->walk.search.patience = PROCMAP_MAPS_PATIENCE;
	pm->cut_short = false;
	return vma;
}

static void *procmap_maps_next(struct seq_file *m, void *v, loff_t *ppos)
{
	struct procmap_maps *pm = m->private;
	void *vma;

	/* The gate VMA needs no lock. */
	if (!pm->walk.search.vma) {
		*ppos = PROCMAP_MAPS_END;
		return NULL;
	}
	*ppos = pm->walk.search.addr;
	vma_search_release(&pm->walk.search);
	if (fatal_signal_pending(current))
		return ERR_PTR(-EINTR);
	cond_resched();
	vma = procmap_maps_find(pm);
	if (pm->walk.search.vma)
		*ppos = max_t(unsigned long, *ppos, pm->walk.search.vma->vm_start);
	else if (!vma)
		*ppos = PROCMAP_MAPS_END - 1;	/* the end, but start() still looks for the task */
	pm->cut_short = vma == ERR_PTR(-EAGAIN);
	return vma;
}

static void procmap_maps_stop(struct seq_file *m, void *v)
{
	struct procmap_maps *pm = m->private;

	vma_search_end(&pm->walk.search);
}

/* The eight hexadecimal digits of a value, the first one in the highest byte. */
static u64 procmap_hex(u32 value)
{
	u64 digits = value, letters;

	digits = (digits | digits << 16) & 0x0000ffff0000ffff;
	digits = (digits | digits << 8) & 0x00ff00ff00ff00ff;
	digits = (digits | digits << 4) & 0x0f0f0f0f0f0f0f0f;
	/* Adding 6 carries into the next four bits where the digit is a letter. */
	letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
	return digits + 0x3030303030303030 + letters * ('a' - '9' - 1);
}

static void procmap_format_digits(char *to, u64 digits)
{
	const __be64 bytes = cpu_to_be64(digits);

	memcpy(to, &bytes, sizeof(bytes));
}

/* Like "%08llx". May write up to 16 bytes. */
static char *procmap_format_hex8(char *to, u64 value)
{
	const unsigned int high = DIV_ROUND_UP(fls(value >> 32), 4);

	if (high) {
		procmap_format_digits(to, procmap_hex(value >> 32) << (64 - 8 * high));
		to += high;
	}
	procmap_format_digits(to, procmap_hex(value));
	return to + 8;
}

/* Like "%02x". May write up to 8 bytes. */
static char *procmap_format_hex2(char *to, u32 value)
{
	unsigned int len = max(2, DIV_ROUND_UP(fls(value), 4));

	procmap_format_digits(to, procmap_hex(value) << (64 - 8 * len));
	return to + len;
}

static char *procmap_format_range(char *to, struct procmap_digits *last, unsigned long start,
				  unsigned long end)
{
	if (start == last->value && last->len) {
		memcpy(to, last->str, PROCMAP_MAPS_DIGITS);
		to += last->len;
	} else {
		to = procmap_format_hex8(to, start);
	}
	*to++ = '-';
	last->value = end;
	last->len = procmap_format_hex8(to, end) - to;
	memcpy(last->str, to, PROCMAP_MAPS_DIGITS);
	return to + last->len;
}

static char *procmap_format_flags(char *to, unsigned long flags)
{
	*to++ = flags & VM_READ ? 'r' : '-';
	*to++ = flags & VM_WRITE ? 'w' : '-';
	*to++ = flags & VM_EXEC ? 'x' : '-';
	*to++ = flags & VM_MAYSHARE ? 's' : 'p';
	return to;
}

static char *procmap_format_inode(char *to, const struct inode *inode)
{
	to = procmap_format_hex2(to, MAJOR(inode->i_sb->s_dev));
	*to++ = ':';
	to = procmap_format_hex2(to, MINOR(inode->i_sb->s_dev));
	*to++ = ' ';
	to += num_to_str(to, 20, inode->i_ino, 0);
	*to++ = ' ';
	return to;
}

/* Format into the buffer of seq_file or, near its end, into @spare, as the line may still fit. */
static char *procmap_maps_space(struct seq_file *m, char *spare)
{
	char *buf;

	return seq_get_buf(m, &buf) >= PROCMAP_MAPS_PART ? buf : spare;
}

static void procmap_maps_print(struct seq_file *m, const char *from, const char *end)
{
	if (likely(from == m->buf + m->count))
		seq_commit(m, end - from);
	else
		seq_write(m, from, end - from);
}

static void procmap_show_name(struct seq_file *m, struct vm_area_struct *vma)
{
	const char *name, *end;
	size_t size;
	char *buf;

	seq_pad(m, ' ');
	size = seq_get_buf(m, &buf);
	name = procmap_vma_name(vma, buf, size);
	if (IS_ERR(name)) {
		seq_commit(m, -1);
		return;
	}
	end = strchrnul(name, '\n');
	if (likely(!*end))
		end = memmove(buf, name, end - name) + (end - name);
	else
		end = mangle_path(buf, name, "\n");
	seq_commit(m, end ? end - buf : -1);
}

/*
 * Repeat the second part of the last line if file and padding are the same. With the same
 * seq no VMA has changed since: it is no other file at the same place in memory.
 */
static bool procmap_repeat_file_part(struct seq_file *m, const struct procmap_file_part *last,
				     const struct procmap_file_part *now)
{
	if (!now->file || now->file != last->file || now->column != last->column ||
	    !now->seq || now->seq != last->seq)
		return false;
	/* After lseek() the buffer is filled from its start. */
	if (last->start + last->len > now->start)
		return false;
	seq_write(m, m->buf + last->start, last->len);
	return true;
}

static void procmap_show_file(struct seq_file *m, struct vm_area_struct *vma, size_t column,
			      char *spare)
{
	struct procmap_maps *pm = m->private;
	struct procmap_file_part now = {
		.file = vma_given_name(vma) ? NULL : vma->vm_file,
		.seq = vma_search_seq(&pm->walk.search),
		.column = column,
		.start = m->count,
	};
	char *what;

	if (!procmap_repeat_file_part(m, &pm->last, &now)) {
		what = procmap_maps_space(m, spare);
		procmap_maps_print(m, what,
				   procmap_format_inode(what, vma_file_inode(vma->vm_file)));
		procmap_show_name(m, vma);
		seq_putc(m, '\n');
	}
	now.len = m->count - now.start;
	pm->last = now;
}

static void procmap_show_line(struct seq_file *m, struct vm_area_struct *vma, unsigned long start)
{
	struct procmap_maps *pm = m->private;
	char spare[PROCMAP_MAPS_PART];
	char *line, *to;

	seq_setwidth(m, PROCMAP_MAPS_WIDTH);
	line = procmap_maps_space(m, spare);
	to = procmap_format_range(line, &pm->last_end, start, vma->vm_end);
	*to++ = ' ';
	to = procmap_format_flags(to, vma->vm_flags);
	*to++ = ' ';
	if (vma->vm_file) {
		to = procmap_format_hex8(to, ((u64)vma->vm_pgoff << PAGE_SHIFT) +
					     (start - vma->vm_start));
		*to++ = ' ';
		procmap_maps_print(m, line, to);
		procmap_show_file(m, vma, to - line, spare);
	} else {
		memcpy(to, PROCMAP_NO_FILE, sizeof(PROCMAP_NO_FILE) - 1);
		procmap_maps_print(m, line, to + sizeof(PROCMAP_NO_FILE) - 1);
		if (proc_vma_fixed_name(vma) || vma_given_name(vma))
			procmap_show_name(m, vma);
		seq_putc(m, '\n');
	}
}

/*
 * The held VMA has grown over the last line: replace that. If there is no space for both,
 * the last line stays, and the next read prints this VMA.
 */
static void procmap_replace_line(struct seq_file *m, struct vm_area_struct *vma)
{
	struct procmap_maps *pm = m->private;
	struct procmap_line *line = &pm->line;
	size_t len;

	/* Begin no lower than the line before the replaced one ends, if the buffer has that. */
	line->addr = line->start ? max(vma->vm_start, line->prev_end) : vma->vm_start;
	procmap_show_line(m, vma, line->addr);
	if (seq_has_overflowed(m))
		return;
	len = m->count - line->end;
	memmove(m->buf + line->start, m->buf + line->end, len);
	m->count = line->start + len;
	line->end = m->count;
	pm->last.file = NULL;
}

static int procmap_maps_show(struct seq_file *m, void *v)
{
	struct procmap_maps *pm = m->private;
	struct procmap_line *line = &pm->line;
	struct vm_area_struct *vma = v;
	unsigned long start = vma->vm_start;

	/* The buffer has the last line only if it ends with it: not at the start of a read(). */
	if (unlikely(start < m->index) && line->end && line->end == m->count) {
		if (start <= line->addr) {
			procmap_replace_line(m, vma);
			return 0;
		}
		/* It begins inside of the last line: what is before it must stay. */
		start = m->index;
	}
	/* last_end still is that of the line before: procmap_show_line() overwrites it. */
	line->prev_end = pm->last_end.value;
	line->addr = start;
	line->start = m->count;
	procmap_show_line(m, vma, start);
	line->end = m->count;
	return 0;
}

static const struct seq_operations procmap_maps_operations = {
	.start	= procmap_maps_start,
	.next	= procmap_maps_next,
	.stop	= procmap_maps_stop,
	.show	= procmap_maps_show,
};

/**
 * procmap_maps_open() - open /proc/<pid>/maps
 * @inode: the inode
 * @file: the file
 *
 * Context: process context, no locks held. Sleeps.
 * Return: 0; -ENOMEM: no memory; -ESRCH: the task is gone; -EACCES: the caller
 * may not look into it; -EINTR: killed while waiting for its execve().
 */
int procmap_maps_open(struct inode *inode, struct file *file)
{
	struct task_struct *task = get_proc_task(inode);
	struct proc_maps_private *maps;
	struct mm_struct *mm;

	if (!task)
		return -ESRCH;
	/* proc_mem_open() would take mm_users, if only for a moment. */
	mm = mm_ref_access(task, PTRACE_MODE_READ_FSCREDS);
	put_task_struct(task);
	if (mm == ERR_PTR(-ESRCH))
		mm = NULL;
	else if (IS_ERR(mm))
		return PTR_ERR(mm);
	maps = __seq_open_private(file, &procmap_maps_operations, sizeof(struct procmap_maps));
	if (maps) {
		maps->inode = inode;
		maps->mm = mm;
		return 0;
	}
	if (mm)
		mmdrop(mm);
	return -ENOMEM;
}
