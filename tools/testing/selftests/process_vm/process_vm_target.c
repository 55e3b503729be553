// SPDX-License-Identifier: GPL-2.0
/* A program to be executed: waits at descriptor 0 until it is told to end, or nobody is left. */
#include <sys/socket.h>

int main(void)
{
	char byte;

	return recv(0, &byte, 1, 0) < 0;
}
