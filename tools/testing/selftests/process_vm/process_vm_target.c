// SPDX-License-Identifier: GPL-2.0
/* A program to execute or to debug. It waits until descriptor 0 has a byte or is at its end. */
#include <unistd.h>

const char *message = "read by a debugger";
int answer = 41;

int wait_for_the_end(void)
{
	char byte;

	return read(0, &byte, 1) < 0;
}

int main(void)
{
	return wait_for_the_end();
}
