// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tap.h"

static struct {
	const char *name;
	int cases;
	int failed_cases;
	int failed_checks;
	int checks;
} tap;

void tap_begin(const char *name)
{
	tap.name = name;
	tap.checks = 0;
	tap.failed_checks = 0;
}

void tap_end(void)
{
	/* A case without any check does not pass. */
	bool ok = tap.checks && !tap.failed_checks;

	tap.cases++;
	tap.failed_cases += !ok;
	printf("%s %d - %s (%d checks)\n", ok ? "ok" : "not ok", tap.cases, tap.name, tap.checks);
	fflush(stdout);
}

void tap_skip(const char *why)
{
	tap.cases++;
	printf("ok %d - %s # SKIP %s\n", tap.cases, tap.name, why);
	fflush(stdout);
}

bool tap_check(bool ok, const char *what, int line)
{
	int err = errno;

	tap.checks++;
	if (!ok && tap.failed_checks++ < 10)
		printf("# line %d: not true: %s (errno %d: %s)\n", line, what, err, strerror(err));
	errno = err;
	return ok;
}

int tap_finish(void)
{
	printf("1..%d\n", tap.cases);
	return tap.failed_cases || fflush(stdout) ? 1 : 0;
}
