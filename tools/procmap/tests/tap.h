/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Print the results of a test program as TAP.
 */
#ifndef PROCMAP_TAP_H
#define PROCMAP_TAP_H

#include <stdbool.h>

/**
 * tap_begin() - begin a test case
 * @name: the claim that it tests
 */
void tap_begin(const char *name);

/**
 * tap_end() - print the result of the test case
 */
void tap_end(void);

/**
 * tap_skip() - print that the test case cannot be run
 * @why: what is missing
 */
void tap_skip(const char *why);

/**
 * tap_check() - note one result within a test case
 * @ok: whether the result is right
 * @what: the expression
 * @line: its line number
 *
 * Return: @ok.
 */
bool tap_check(bool ok, const char *what, int line);

/**
 * tap_finish() - print the plan
 *
 * Return: exit status.
 */
int tap_finish(void);

#define CHECK(expression) tap_check((expression), #expression, __LINE__)

#endif /* PROCMAP_TAP_H */
