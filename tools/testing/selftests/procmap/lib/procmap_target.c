// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose address space the tests query. It reports on the socket at
 * descriptor 0 that it is ready, and whether it can use PROCMAP_QUERY itself.
 * It ends when it gets a message, or when the other side is gone.
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
