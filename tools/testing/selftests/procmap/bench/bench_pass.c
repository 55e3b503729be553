// SPDX-License-Identifier: GPL-2.0
/* The results of the passes of procmap_bench: see bench_pass.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench_pass.h"

#define PASS_BUFFER	65536
#define PASS_VMAS	1024
#define PASS_NAME_MAX	4096

/**
 * bench_pass_init() - allocate space for a pass
 * @pass: zeroed or not; bench_pass_free() frees it
 * @pid: the process
 * @address: for the symbolizer pass: the addresses, ascending; the caller keeps
 *	them
 * @nr: their number; 0: no addresses
 *
 * Return: 0 or -errno
 */
int bench_pass_init(struct bench_pass *pass, pid_t pid, const unsigned long *address, size_t nr)
{
	memset(pass, 0, sizeof(*pass));
	pass->pid = pid;
	pass->address = address;
	pass->addresses = nr;
	pass->vma_max = PASS_VMAS;
	pass->names_max = BENCH_PASS_NAMES;
	pass->index = malloc((nr ?: 1) * sizeof(*pass->index));
	pass->vma = malloc(pass->vma_max * sizeof(*pass->vma));
	pass->names = malloc(pass->names_max);
	pass->buffer = malloc(PASS_BUFFER);
	if (!pass->index || !pass->vma || !pass->names || !pass->buffer) {
		bench_pass_free(pass);
		return -ENOMEM;
	}
	/* Touch all pages, so that no pass pays for their faults. */
	memset(pass->index, 0, (nr ?: 1) * sizeof(*pass->index));
	memset(pass->vma, 0, pass->vma_max * sizeof(*pass->vma));
	memset(pass->names, 0, pass->names_max);
	memset(pass->buffer, 0, PASS_BUFFER);
	return 0;
}

/**
 * bench_pass_free() - free the space of a pass
 * @pass: the pass; afterwards it is zeroed
 */
void bench_pass_free(struct bench_pass *pass)
{
	free(pass->index);
	free(pass->vma);
	free(pass->names);
	free(pass->buffer);
	free(pass->records);
	memset(pass, 0, sizeof(*pass));
}

/**
 * bench_pass_begin() - forget all results
 * @pass: the pass
 */
void bench_pass_begin(struct bench_pass *pass)
{
	pass->nr = 0;
	pass->names[0] = 0;
	pass->used = 1;
}

static int pass_enlarge(void **space, size_t *max, size_t size)
{
	void *more = realloc(*space, 2 * *max * size);

	if (!more)
		return -ENOMEM;
	*space = more;
	*max *= 2;
	return 0;
}

/**
 * bench_pass_space() - make space for more results
 * @pass: the pass
 * @vmas: for so many more VMAs
 * @names: for so many more bytes of names
 *
 * Return: 0 or -ENOMEM
 */
int bench_pass_space(struct bench_pass *pass, size_t vmas, size_t names)
{
	int err = 0;

	while (!err && pass->nr + vmas > pass->vma_max)
		err = pass_enlarge((void **)&pass->vma, &pass->vma_max, sizeof(*pass->vma));
	while (!err && pass->used + names > pass->names_max)
		err = pass_enlarge((void **)&pass->names, &pass->names_max, 1);
	return err;
}

/**
 * bench_pass_add() - add a VMA to the results
 * @pass: the pass
 * @name: its name, or NULL; the name of the VMA before is not stored twice
 * @len: bytes of the name
 *
 * Return: the VMA, with only the name set; NULL: no memory
 */
struct bench_vma *bench_pass_add(struct bench_pass *pass, const char *name, size_t len)
{
	const struct bench_vma *last = pass->nr ? &pass->vma[pass->nr - 1] : NULL;
	struct bench_vma *vma;

	if (pass->nr == pass->vma_max &&
	    pass_enlarge((void **)&pass->vma, &pass->vma_max, sizeof(*pass->vma)))
		return NULL;
	if (pass->used + PASS_NAME_MAX > pass->names_max &&
	    pass_enlarge((void **)&pass->names, &pass->names_max, 1))
		return NULL;
	last = pass->nr ? &pass->vma[pass->nr - 1] : NULL;
	vma = &pass->vma[pass->nr++];
	vma->name = 0;
	vma->build_id_size = 0;
	if (!len || len >= PASS_NAME_MAX)
		return vma;
	if (last && !memcmp(pass->names + last->name, name, len) &&
	    !pass->names[last->name + len]) {
		vma->name = last->name;
		return vma;
	}
	vma->name = pass->used;
	memcpy(pass->names + pass->used, name, len);
	pass->names[pass->used + len] = 0;
	pass->used += len + 1;
	return vma;
}

/**
 * bench_pass_same_file() - find an earlier VMA of the file of the last one
 * @pass: the pass; its last VMA has device and inode set
 *
 * A file has few VMAs, close to each other, so this looks only at the last few.
 *
 * Return: the earlier VMA, whose build ID is known; or NULL
 */
const struct bench_vma *bench_pass_same_file(const struct bench_pass *pass)
{
	const struct bench_vma *new = &pass->vma[pass->nr - 1], *vma = new;
	int i;

	for (i = 0; i < 8 && vma > pass->vma; i++) {
		vma--;
		if (vma->inode == new->inode && vma->dev_major == new->dev_major &&
		    vma->dev_minor == new->dev_minor)
			return vma;
	}
	return NULL;
}

static const char *vma_differ(const struct bench_pass *a, const struct bench_pass *b, size_t i)
{
	const struct bench_vma *x = &a->vma[i], *y = &b->vma[i];

	if (x->start != y->start || x->end != y->end)
		return "the ranges of a mapping differ";
	if (x->offset != y->offset || x->inode != y->inode || x->dev_major != y->dev_major ||
	    x->dev_minor != y->dev_minor)
		return "the files of a mapping differ";
	if (a->flags && x->flags != y->flags)
		return "the protection of a mapping differs";
	if (strcmp(a->names + x->name, b->names + y->name))
		return "the names of a mapping differ";
	if (a->build_id && (x->build_id_size != y->build_id_size ||
			    memcmp(x->build_id, y->build_id, x->build_id_size)))
		return "the build IDs of a mapping differ";
	return NULL;
}

/**
 * bench_pass_differ() - do two passes have different results?
 * @a: one pass
 * @b: the other pass
 *
 * Return: NULL, or what differs.
 */
const char *bench_pass_differ(const struct bench_pass *a, const struct bench_pass *b)
{
	const char *what = NULL;
	size_t i;

	if (a->nr != b->nr)
		return "the numbers of mappings differ";
	for (i = 0; i < a->nr && !what; i++)
		what = vma_differ(a, b, i);
	if (!what && a->addresses != b->addresses)
		what = "the numbers of addresses differ";
	if (!what && memcmp(a->index, b->index, a->addresses * sizeof(*a->index)))
		what = "an address is in different mappings";
	return what;
}
