/* SPDX-License-Identifier: GPL-2.0 */
/*
 * VMAs of every kind that the text of /proc/<pid>/maps shows in a way of its
 * own. Their addresses are the same in every process and on every kernel.
 */
#ifndef SELFTEST_PROCMAP_KINDS_H
#define SELFTEST_PROCMAP_KINDS_H

int kinds_map(const char *dir);
int kinds_map_long(const char *dir);
int kinds_remove(const char *dir);

#endif /* SELFTEST_PROCMAP_KINDS_H */
