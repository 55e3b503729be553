/* SPDX-License-Identifier: GPL-2.0 */
/* The page cache: lookups that neither wait nor read, with NULL for an error; second reads. */
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

/*
 * Call it before ->read_folio() of a folio that is there already, and locked. The error of
 * its last read would pass for one of this read: btrfs would not verify the data (fs-verity).
 */
static inline void filemap_forget_error(struct folio *folio)
{
	folio_clear_error(folio);
}

#endif /* _LINUX_FILEMAP_CACHED_H */
