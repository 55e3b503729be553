# SPDX-License-Identifier: GPL-2.0
"""A program whose functions and their shares of the time are known, for tests of profilers."""

import os

import cases
from places import BUILD

OUT = os.path.join(BUILD, "known")
PROGRAM = os.path.join(OUT, "known")
# Without -O0 a function that calls no other has no frame, whatever the other options are
CFLAGS = ["-O0", "-g", "-fno-omit-frame-pointer", "-pthread"]
# main() divides its time between two callees, three to one; a thread that is started later has a
# stack of its own.
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long sink;
static __attribute__((noinline)) void leaf(unsigned long n) { while (n--) sink += n; }
static __attribute__((noinline)) void often(void) { leaf(30000); sink++; }
static __attribute__((noinline)) void seldom(void) { leaf(10000); sink++; }
static __attribute__((noinline)) void middle(void) { often(); seldom(); sink++; }
static __attribute__((noinline)) void in_thread(void) { leaf(10000); sink++; }
static void *thread(void *arg) { for (;;) in_thread(); return arg; }
int main(void)
{
	pthread_t id;
	int i;

	puts("ready");
	fflush(stdout);
	for (i = 0; ; i++) {
		if (i == 200)
			pthread_create(&id, NULL, thread, NULL);
		middle();
	}
}
"""


def build():
    os.makedirs(OUT, exist_ok=True)
    cases.compile_c(SOURCE, PROGRAM, *CFLAGS)


def running():
    return cases.running(PROGRAM, says="ready\n")
