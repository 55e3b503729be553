/* SPDX-License-Identifier: GPL-2.0 */
/* Lookups in the page cache that neither wait nor read; NULL instead of an error. */
#ifndef _LINUX_FILEMAP_CACHED_H
#define _LINUX_FILEMAP_CACHED_H

#include <linux/pagemap.h>

/* The folio at @index, with a reference; or a value entry; NULL: none. */
static inline struct folio *filemap_cached_entry(struct address_space *mapping, pgoff_t index)
{
	return __filemap_get_folio(mapping, index, FGP_ENTRY, 0);
}

/* The folio at @index, with a reference; NULL: none. */
static inline struct folio *filemap_cached_folio(struct address_space *mapping, pgoff_t index)
{
	return filemap_get_folio(mapping, index);
}

#endif /* _LINUX_FILEMAP_CACHED_H */
