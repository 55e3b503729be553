/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the results of a test program as TAP.
 */
#ifndef PROCMAP_TAP_H
#define PROCMAP_TAP_H

#include <stdbool.h>

/* Begin a test case. @name is the claim that it tests. */
void tap_begin(const char *name);
void tap_end(void);
void tap_skip(const char *why);

/* Note one result within a test case. Returns @ok. */
bool tap_check(bool ok, const char *what, int line);

/* Print the plan. Returns the exit status. */
int tap_finish(void);

#define CHECK(expression) tap_check((expression), #expression, __LINE__)

#endif /* PROCMAP_TAP_H */
