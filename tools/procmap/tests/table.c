// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "table.h"

#define R PROCMAP_READ
#define W PROCMAP_WRITE
#define X PROCMAP_EXEC
#define S PROCMAP_SHARED
#define F PROCMAP_FILE

struct row {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor, flags, build_id_size;
	const char *name;
};

static const struct row odd_rows[] = {
	{ 0x0, 0x1000, 0, 0, 0, 0, R, 0, NULL },
	{ 0x1000, 0x2000, 0, 247498, 0xfe, 0, F | R, 20, "/usr/bin/prog" },
	{ 0x2000, 0x5000, 0x1000, 247498, 0xfe, 0, F | R | X, 20, "/usr/bin/prog" },
	{ 0x5000, 0x6000, 0x4000, 247498, 0xfe, 0, F | R | W, 20, "/usr/bin/prog" },
	{ 0x6000, 0x7000, 0, 0, 0, 0, R | W, 0, NULL },
	{ 0x10000, 0x20000, 0, 0, 0, 0, R | W, 0, "[heap]" },
	{ 0x30000, 0x31000, 0, 0, 0, 0, R | W, 0, "[anon:a name with spaces]" },
	{ 0x31000, 0x32000, 0, 0, 0, 0, R | W, 0, "[anon:]" },
	{ 0x32000, 0x33000, 0, 0, 0, 0, 0, 0, "[anon:]]" },
	{ 0x40000, 0x41000, 0x123456789a000, 1, 0x103, 0xfffff, F | R | X | S, 1, "/big offset" },
	{ 0x41000, 0x42000, 0, 18446744073709551615u, 0xfff, 0, F | R | S, 0, "/big inode" },
	{ 0x42000, 0x43000, 0, 0, 0, 5, F | R | W | S, 0, "/inode 0 on device 0:5" },
	{ 0x43000, 0x44000, 0, 7, 0, 1, F | R | W | S, 0, "/memfd:x (deleted)" },
	{ 0x44000, 0x45000, 0, 8, 8, 1, F | R | X, 20, "/tmp/gone (deleted)" },
	{ 0x45000, 0x46000, 0, 9, 8, 1, F | R, 0, "/tmp/this one is (deleted) (deleted)" },
	{ 0x46000, 0x47000, 0, 10, 8, 1, F | R, 0, "/tmp/two\nlines\n" },
	{ 0x47000, 0x48000, 0, 11, 8, 1, F | R, 0, "/tmp/ends in spaces  " },
	{ 0x48000, 0x49000, 0, 12, 8, 1, F | R, 0, "/tmp/back\\slash \\0122\\\\\\01" },
	{ 0x49000, 0x4a000, 0, 13, 8, 1, F | R, 0, "/tmp/\xc3\xa4\xff\x01\x7f\t\"'" },
	{ 0x4a000, 0x4b000, 0, 14, 8, 1, F | R, 0, "/[vsyscall]" },
	{ 0x4b000, 0x4c000, 0, 15, 8, 1, F | R, 0, "(unreachable)/x" },
	{ 0x4c000, 0x4d000, 0, 16, 0, 0xe, F | R | S, 0, "anon_inode:[perf_event]" },
	{ 0x50000, 0x50000000, 0, 17, 0, 0xf, F | R | W, 0, "/anon_hugepage (deleted)" },
	{ 0x7fff00000000, 0x7fff00021000, 0, 0, 0, 0, R | W, 0, "[stack]" },
	{ 0x7fff00030000, 0x7fff00034000, 0, 0, 0, 0, R, 0, "[vvar]" },
	{ 0x7fff00034000, 0x7fff00036000, 0, 0, 0, 0, R | X, 0, "[vdso]" },
	{ 0xfffffffffff00000, 0xfffffffffffff000, 0, 0, 0, 0, W, 0, NULL },
};

static void text_line(FILE *out, const struct procmap_vma *vma)
{
	const char *p = vma->name;
	int len;

	len = fprintf(out, "%08jx-%08jx %c%c%c%c %08jx %02x:%02x %ju ", (uintmax_t)vma->start,
		      (uintmax_t)vma->end, vma->flags & R ? 'r' : '-',
		      vma->flags & W ? 'w' : '-', vma->flags & X ? 'x' : '-',
		      vma->flags & S ? 's' : 'p', (uintmax_t)vma->offset, vma->dev_major,
		      vma->dev_minor, (uintmax_t)vma->inode);
	if (p)
		fprintf(out, "%*s", len < 73 ? 73 - len : 1, "");
	for (; p && *p; p++) {
		if (*p == '\n' && vma->flags & F)
			fputs("\\012", out);
		else
			fputc(*p, out);
	}
	fputc('\n', out);
}

/*
 * Write the text as the kernel does, with [vsyscall], which is no VMA, at the
 * end.
 */
static void table_write(struct table *table)
{
	FILE *out;
	size_t i;

	table->fd = memfd_create("table", MFD_CLOEXEC);
	out = fdopen(dup(table->fd), "w");
	if (!out)
		abort();
	for (i = 0; i < table->nr; i++)
		text_line(out, &table->vmas[i]);
	fputs("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]\n", out);
	if (fclose(out))
		abort();
}

static struct procmap_vma *table_alloc(struct table *table, size_t nr)
{
	table->nr = nr;
	table->vmas = calloc(nr, sizeof(*table->vmas));
	if (!table->vmas)
		abort();
	return table->vmas;
}

static void vma_name(struct procmap_vma *vma, const char *name)
{
	vma->name_buf = strdup(name);
	if (!vma->name_buf)
		abort();
	vma->name = vma->name_buf;
}

void table_odd(struct table *table)
{
	const size_t nr = ARRAY_SIZE(odd_rows);
	struct procmap_vma *vma = table_alloc(table, nr);
	const struct row *row = odd_rows;

	for (; row < odd_rows + nr; row++, vma++) {
		vma->start = row->start;
		vma->end = row->end;
		vma->offset = row->offset;
		vma->inode = row->inode;
		vma->dev_major = row->dev_major;
		vma->dev_minor = row->dev_minor;
		vma->flags = row->flags;
		vma->page_size = row->inode == 17 ? 0x200000 : 0x1000;
		vma->build_id_size = row->build_id_size;
		memset(vma->build_id, row->inode & 0xff, row->build_id_size);
		if (row->name)
			vma_name(vma, row->name);
	}
	table_write(table);
}

void table_large(struct table *table, size_t nr)
{
	struct procmap_vma *vma = table_alloc(table, nr);
	char name[64];
	size_t i;

	for (i = 0; i < nr; i++, vma++) {
		/* Leave a hole after every third VMA. */
		vma->start = 0x100000 + i * 0x3000 + i / 3 * 0x1000;
		vma->end = vma->start + 0x3000;
		vma->flags = R | (i % 2 ? W : 0) | (i % 50 ? 0 : X);
		vma->page_size = 0x1000;
		if (i % 4)
			continue;
		vma->flags |= F;
		vma->inode = i + 1;
		vma->dev_major = 8;
		snprintf(name, sizeof(name), "/lib/number-%zu.so", i);
		vma_name(vma, name);
	}
	table_write(table);
}

void table_long_name(struct table *table, size_t len, char fill)
{
	struct procmap_vma *vma = table_alloc(table, 2);
	char *name = malloc(len + 1);

	if (!name)
		abort();
	memset(name, fill, len);
	name[0] = '/';
	name[len] = '\0';
	*vma = (struct procmap_vma){
		.start = 0x1000, .end = 0x3000, .inode = 5, .dev_major = 8, .flags = R | F,
		.page_size = 0x1000,
	};
	vma[1] = *vma;
	vma[1].start = 0x3000;
	vma[1].end = 0x4000;
	vma_name(&vma[0], name);
	vma_name(&vma[1], "/short");
	free(name);
	table_write(table);
}

void table_free(struct table *table)
{
	size_t i;

	for (i = 0; i < table->nr; i++)
		procmap_vma_free(&table->vmas[i]);
	free(table->vmas);
	close(table->fd);
}

int text_fd(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	return fd;
}
