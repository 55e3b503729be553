// SPDX-License-Identifier: GPL-2.0
/*
 * A program to be executed, or looked at by a debugger: waits at descriptor 0 until it is
 * told to end, or nobody is left.
 */
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
