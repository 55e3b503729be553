// SPDX-License-Identifier: GPL-2.0
/*
 * An address space to be looked at: says on the socket at descriptor 0 that it
 * is there, and whether it can use PROCMAP_QUERY itself. Ends when it is told
 * to, or when nobody is left to tell.
 */
#include "procmap_util.h"
#include "procmap_zoo.h"

int main(void)
{
	struct procmap_child self = { .sock = 0 };
	struct procmap_zoo zoo;

	if (procmap_zoo_map(&zoo) || procmap_send(&self, procmap_supported()))
		return 1;
	return procmap_sync(&self) ? 1 : 0;
}
