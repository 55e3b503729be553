/* SPDX-License-Identifier: GPL-2.0 */
/* A uprobe at a function of the program itself. */
#ifndef SELFTEST_PROCMAP_UPROBE_H
#define SELFTEST_PROCMAP_UPROBE_H

/* The name of the area that a process gets when it hits its first uprobe */
#define UPROBE_AREA	"[uprobes]"

int uprobe_open(void);
bool uprobe_hit(void);

#endif /* SELFTEST_PROCMAP_UPROBE_H */
