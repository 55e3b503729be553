// SPDX-License-Identifier: GPL-2.0-only
/*
 * The client with the fake kernel: PROCMAP_FAKE in the environment says what
 * that kernel does:
 *
 *	off		there is no such ioctl
 *	noscan		there are queries, but no scans
 *	errno:E:N	queries and scans fail with error E from the N-th on
 *	lie:N:M		answers N to M are wrong
 *	kept:N:M	the same, and no mapping ever changes
 *	eof:N		the text ends from the N-th read on
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"

static void __attribute__((constructor)) fake_env(void)
{
	const char *what = getenv("PROCMAP_FAKE");

	if (!what || !*what)
		return;
	if (!strcmp(what, "noscan"))
		fake.no_scan = true;
	else if (!strcmp(what, "off"))
		fake.query_errno = ENOTTY;
	else if (sscanf(what, "kept:%lu:%lu", &fake.lie_from, &fake.lie_to) == 2)
		fake.generation = 1;
	else if (sscanf(what, "errno:%d:%lu", &fake.query_errno, &fake.query_errno_from) != 2 &&
		 sscanf(what, "lie:%lu:%lu", &fake.lie_from, &fake.lie_to) != 2 &&
		 sscanf(what, "eof:%lu", &fake.read_eof_from) != 1)
		abort();
}
