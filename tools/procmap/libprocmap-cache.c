// SPDX-License-Identifier: MIT
/*
 * libprocmap: a cache of answers.
 *
 * It has the VMAs that queries have found since the address space got the
 * generation that the cache knows. If the kernel says that the address space
 * still has this generation, they all hold. Else they are dropped.
 *
 * All that a cache may cost in vain (asking for the generation, searching and
 * keeping VMAs) is paid from a credit. A twelfth of the cost of each query goes
 * there, and what answers without a query have saved. Without credit a look-up is
 * just a query. So, whatever the process does, 1,000 look-ups cost at most what 1,000
 * queries do, and 1,000 / 12 queries, and the largest credit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "procmap-abi.h"
#include "libprocmap-internal.h"

/*
 * Costs in instructions, user space included. They need not be exact: if all are
 * twice as high, nothing changes.
 */
#define PROCMAP_COST_QUERY	800
#define PROCMAP_COST_NAME	500
#define PROCMAP_COST_ASK	450
#define PROCMAP_COST_SEARCH	100
#define PROCMAP_COST_KEEP	450
#define PROCMAP_COST_SCAN	1000
#define PROCMAP_COST_MOST	(PROCMAP_COST_ASK + PROCMAP_COST_SEARCH + PROCMAP_COST_KEEP)

/* A twelfth of each query; at most 75 of 1,000 queries; a new handle has less. */
#define PROCMAP_CREDIT_PART	12
#define PROCMAP_CREDIT_MOST	(75 * PROCMAP_COST_QUERY)
#define PROCMAP_CREDIT_FIRST	(8 * PROCMAP_COST_QUERY)

/* For the two kinds of VMAs together. */
#define PROCMAP_CACHE_MEMORY	(2048U * 1024)
#define PROCMAP_CHUNK_SIZE	4000

/**
 * struct procmap_chunk - memory for entries
 * @next: the next one, or NULL
 * @size: bytes of @data
 * @data: the memory
 */
struct procmap_chunk {
	struct procmap_chunk *next;
	size_t size;
	char data[];
};

/* What a query costs. */
static long procmap_cost(unsigned int flags)
{
	return flags & PROCMAP_NAME ? PROCMAP_COST_QUERY + PROCMAP_COST_NAME : PROCMAP_COST_QUERY;
}

static void procmap_credit(struct procmap *pm, long amount)
{
	pm->credit += amount;
	if (pm->credit > PROCMAP_CREDIT_MOST)
		pm->credit = PROCMAP_CREDIT_MOST;
}

static void procmap_cache_drop(struct procmap_cache *cache)
{
	cache->root = NULL;
	cache->first = NULL;
	cache->last = NULL;
	cache->chunk = cache->chunks;
	cache->used = 0;
}

void procmap_cache_init(struct procmap *pm)
{
	pm->credit = PROCMAP_CREDIT_FIRST;
	pm->memory = PROCMAP_CACHE_MEMORY;
	pm->random = (uintptr_t)pm;
}

void procmap_cache_free(struct procmap *pm)
{
	struct procmap_chunk *chunk;
	int i;

	for (i = 0; i < PROCMAP_CACHES; i++) {
		while ((chunk = pm->cache[i].chunks)) {
			pm->cache[i].chunks = chunk->next;
			free(chunk);
		}
		memset(&pm->cache[i], 0, sizeof(pm->cache[i]));
	}
}

/* Go to a chunk with space for @size bytes: the next one, or a new one. */
static bool procmap_cache_chunk(const struct procmap *pm, struct procmap_cache *cache, size_t size)
{
	struct procmap_chunk *chunk = cache->chunk ? cache->chunk->next : NULL;

	if (!chunk || chunk->size < size) {
		if (size < PROCMAP_CHUNK_SIZE)
			size = PROCMAP_CHUNK_SIZE;
		if (cache->memory + size > pm->memory / PROCMAP_CACHES)
			return false;
		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return false;
		chunk->size = size;
		chunk->next = cache->chunk ? cache->chunk->next : NULL;
		*(cache->chunk ? &cache->chunk->next : &cache->chunks) = chunk;
		cache->memory += size;
	}
	cache->chunk = chunk;
	cache->used = 0;
	return true;
}

static struct procmap_entry *procmap_cache_alloc(const struct procmap *pm,
						 struct procmap_cache *cache, size_t size)
{
	const size_t align = sizeof(uint64_t);
	struct procmap_entry *entry;

	size = (size + align - 1) / align * align;
	if ((!cache->chunk || cache->chunk->size - cache->used < size) &&
	    !procmap_cache_chunk(pm, cache, size))
		return NULL;
	entry = (struct procmap_entry *)(cache->chunk->data + cache->used);
	cache->used += size;
	return entry;
}

/* The entry that covers @addr, or NULL. */
static struct procmap_entry *procmap_cache_search(const struct procmap_cache *cache, uint64_t addr)
{
	struct procmap_entry *entry = cache->root;

	while (entry) {
		if (addr < entry->vma.start)
			entry = entry->left;
		else if (addr >= entry->vma.end)
			entry = entry->right;
		else
			break;
	}
	return entry;
}

/* The last entry that ends below @end, or NULL. */
static struct procmap_entry *procmap_cache_before(const struct procmap_cache *cache, uint64_t end)
{
	struct procmap_entry *entry = cache->root, *found = NULL;

	while (entry) {
		if (entry->vma.end < end) {
			found = entry;
			entry = entry->right;
		} else {
			entry = entry->left;
		}
	}
	return found;
}

/* Make two trees of one: of entries that end below @end, and of those above. */
static void procmap_cache_split(struct procmap_entry *tree, uint64_t end,
				struct procmap_entry **left, struct procmap_entry **right)
{
	while (tree) {
		if (tree->vma.end < end) {
			*left = tree;
			left = &tree->right;
			tree = tree->right;
		} else {
			*right = tree;
			right = &tree->left;
			tree = tree->left;
		}
	}
	*left = NULL;
	*right = NULL;
}

static void procmap_cache_insert(struct procmap_cache *cache, struct procmap_entry *new)
{
	struct procmap_entry **link = &cache->root, *before, *old;

	while (*link && (*link)->vma.end != new->vma.end && (*link)->priority > new->priority)
		link = (*link)->vma.end < new->vma.end ? &(*link)->right : &(*link)->left;
	old = *link;
	*link = new;
	if (old && old->vma.end == new->vma.end) {
		new->left = old->left;
		new->right = old->right;
		new->priority = old->priority;
	} else {
		procmap_cache_split(old, new->vma.end, &new->left, &new->right);
	}
	before = procmap_cache_before(cache, new->vma.end);
	link = before ? &before->next : &cache->first;
	new->next = *link && (*link)->vma.end == new->vma.end ? (*link)->next : *link;
	*link = new;
}

static uint32_t procmap_cache_random(struct procmap *pm)
{
	pm->random += UINT64_C(0x9e3779b97f4a7c15);
	return ((pm->random ^ pm->random >> 32) * UINT64_C(0xbf58476d1ce4e5b9)) >> 32;
}

/* A bit of procmap_entry.flags: a scan was asked, too. */
#define PROCMAP_SCANNED		0x10000

/* Keep an answer. If there is no space, forget all and begin anew. */
static void procmap_cache_keep(struct procmap *pm, struct procmap_cache *cache,
			       const struct procmap_vma *vma, unsigned int flags)
{
	const size_t name_size = vma->name ? strlen(vma->name) + 1 : 0;
	struct procmap_entry *entry = procmap_cache_alloc(pm, cache, sizeof(*entry) + name_size);

	if (!entry) {
		procmap_cache_drop(cache);
		return;
	}
	entry->priority = procmap_cache_random(pm);
	entry->flags = vma->flags | flags;
	if (vma->known & PROCMAP_KNOWN_NAME)
		entry->flags |= PROCMAP_NAME;
	if (vma->known & PROCMAP_KNOWN_BUILD_ID)
		entry->flags |= PROCMAP_BUILD_ID;
	entry->vma = *vma;
	entry->vma.name = name_size ? memcpy(entry->name, vma->name, name_size) : NULL;
	procmap_cache_insert(cache, entry);
}

/*
 * Ask whether the cache holds. Forget all if it does not, and begin with the
 * generation of now. Return: 1 if it holds, 0 if not, -1 with errno.
 */
static int procmap_cache_ask(struct procmap *pm, struct procmap_cache *cache)
{
	const int ret = procmap_scan_holds(pm, cache == &pm->cache[1], &cache->generation);

	pm->going_on = true;
	pm->credit -= PROCMAP_COST_ASK;
	if (!ret) {
		procmap_cache_drop(cache);
		pm->random += cache->generation;
	}
	return ret;
}

/*
 * A query does not tell a file without a build ID from one that it could not read.
 * Scan for this, or each look-up would need a query. If the scan does not know either,
 * do not scan again: there is nothing new to keep.
 */
static int procmap_cache_no_build_id(struct procmap *pm, struct procmap_cache *cache,
				     uint64_t addr, unsigned int flags, struct procmap_vma *vma)
{
	const unsigned int had = (flags & ~PROCMAP_BUILD_ID) | PROCMAP_SCANNED;
	const struct procmap_entry *entry = procmap_cache_search(cache, addr);

	if (entry && procmap_entry_answers(entry, had))
		return 0;
	procmap_credit(pm, -PROCMAP_COST_SCAN - PROCMAP_COST_KEEP);
	if (procmap_scan_find(pm, addr, flags, vma))
		return -1;
	procmap_cache_keep(pm, cache, vma, PROCMAP_SCANNED);
	return 0;
}

/*
 * Query, and keep the answer if the cache has a generation. Not static, so that
 * the compiler leaves it out of line: an answer that is kept does not pay for what
 * this needs.
 */
int procmap_cache_query(struct procmap *pm, struct procmap_cache *cache, uint64_t addr,
			unsigned int flags, struct procmap_vma *vma)
{
	procmap_credit(pm, procmap_cost(flags) / PROCMAP_CREDIT_PART - PROCMAP_COST_SEARCH);
	if (procmap_query_find(pm, addr, flags, vma))
		return -1;
	if (cache->generation) {
		if (flags & PROCMAP_BUILD_ID && !(vma->known & PROCMAP_KNOWN_BUILD_ID))
			return procmap_cache_no_build_id(pm, cache, addr, flags, vma);
		procmap_credit(pm, -PROCMAP_COST_KEEP);
		procmap_cache_keep(pm, cache, vma, 0);
	}
	return 0;
}

void procmap_cache_saved(struct procmap *pm, unsigned int flags, size_t nr)
{
	procmap_credit(pm, nr * (procmap_cost(flags) - 2 * PROCMAP_COST_SEARCH));
}

int procmap_cache_find(struct procmap *pm, uint64_t addr, unsigned int flags,
		       struct procmap_vma *vma)
{
	struct procmap_cache *cache = procmap_cache_of(pm, flags);
	struct procmap_entry *entry;
	int ret;

	if (flags & PROCMAP_DETAILS)
		return procmap_scan_find(pm, addr, flags, vma);
	if (flags & PROCMAP_NAME_NOW)
		return procmap_query_find(pm, addr, flags, vma);
	if (pm->credit < PROCMAP_COST_MOST) {
		procmap_credit(pm, procmap_cost(flags) / PROCMAP_CREDIT_PART);
		return procmap_query_find(pm, addr, flags, vma);
	}
	entry = procmap_cache_search(cache, addr);
	if (entry && !procmap_entry_answers(entry, flags))
		entry = NULL;
	if (!pm->going_on && (entry || !cache->generation)) {
		ret = procmap_cache_ask(pm, cache);
		if (ret < 0)
			return -1;
		if (!ret)
			entry = NULL;
	}
	if (!entry)
		return procmap_cache_query(pm, cache, addr, flags, vma);
	cache->last = entry;
	procmap_credit(pm, procmap_cost(flags) - 2 * PROCMAP_COST_SEARCH);
	procmap_entry_copy(entry, flags, vma);
	return vma->name ? procmap_vma_own_name(vma) : 0;
}
