// SPDX-License-Identifier: GPL-2.0
/* Memory of the machine: what is freed is overwritten at once. */
#include <linux/slab.h>

#include "shim/kernel.h"

struct kmem_cache {
	unsigned int size;
	unsigned int align;
};

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align,
				     unsigned int flags, void (*ctor)(void *))
{
	struct kmem_cache *cache = malloc(sizeof(*cache));

	cache->size = size;
	cache->align = align;
	return cache;
}

void *kmem_cache_alloc_lru(struct kmem_cache *cache, struct list_lru *lru, int gfp)
{
	void *object = aligned_alloc(cache->align, cache->size);

	memset(object, gfp & __GFP_ZERO ? 0 : 0x5a, cache->size);
	return object;
}

int kmem_cache_alloc_bulk(struct kmem_cache *cache, gfp_t gfp, size_t size, void **p)
{
	size_t i;

	for (i = 0; i < size; i++)
		p[i] = kmem_cache_alloc_lru(cache, NULL, gfp);
	return size;
}

void kmem_cache_free(struct kmem_cache *cache, void *object)
{
	memset(object, 0x6b, cache->size);
	free(object);
}

void kmem_cache_free_bulk(struct kmem_cache *cache, size_t size, void **list)
{
	while (size--)
		kmem_cache_free(cache, *list++);
}
