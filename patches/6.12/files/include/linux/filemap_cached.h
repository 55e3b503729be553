/* SPDX-License-Identifier: GPL-2.0 */
/* The page cache: lookups that neither wait nor read, with NULL for an error; second reads. */
#ifndef _LINUX_FILEMAP_CACHED_H
#define _LINUX_FILEMAP_CACHED_H

#include <linux/err.h>
#include <linux/pagemap.h>

/* The folio at @index, with a reference; or a value entry; NULL: none. */
static inline struct folio *filemap_cached_entry(struct address_space *mapping, pgoff_t index)
{
	return filemap_get_entry(mapping, index);
}

/* The folio at @index, with a reference; NULL: none. */
static inline struct folio *filemap_cached_folio(struct address_space *mapping, pgoff_t index)
{
	struct folio *folio = filemap_get_folio(mapping, index);

	return IS_ERR(folio) ? NULL : folio;
}

/* Nothing: a folio does not remember that its last read has failed. */
static inline void filemap_forget_error(struct folio *folio)
{
}

#endif /* _LINUX_FILEMAP_CACHED_H */
