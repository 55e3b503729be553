/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VMA_LOCK_REPORT_H
#define _VMA_LOCK_REPORT_H

#include <stdbool.h>
#include <linux/types.h>

/* A thread that waits for longer than this waits for ever. */
#define HANG_SECONDS	180

/**
 * struct report_length - when to stop
 * @rounds: after so many rounds; 0: when the time is over
 * @until: that time
 */
struct report_length {
	unsigned long rounds;
	double until;
};

#ifdef __SANITIZE_THREAD__
const char *__tsan_default_suppressions(void);
#endif
void report_same_addresses(char **argv);
void report_start(const char *number, unsigned int plan);
void report_begin(const char *name);
u64 report_round(unsigned long round);
void report_end(void);
struct report_length report_length(const char *text);
bool report_goes_on(const struct report_length *length, unsigned long rounds);

#endif
