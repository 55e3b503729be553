// SPDX-License-Identifier: GPL-2.0
/*
 * One VMA that stays in its address space. A writer changes it or, in the same
 * address space, something else.
 */
#define VMAS	1
#include "state.pml"

#ifndef SECTIONS
#define SECTIONS	3
#endif
#ifndef READS
#define READS		2
#endif

proctype writer()
{
	WRITER_LOCALS;
	byte n;

	do
	:: n == SECTIONS -> break
	:: else ->
		if
		:: vma_change_begin(0); change(0)
		:: true -> vma_begin_write_section(A)
		fi;
		vma_end_write_section(A);
		n++
	od
}

proctype reader()
{
	READER_LOCALS;
	byte n;

	do
	:: n == READS -> break
	:: else ->
		vma_hold_try(0, A);
		if
		:: got -> look_at(0); vma_hold_drop(0)
		:: else
		fi;
		got = false;
		n++
	od
}

init {
	atomic {
		vma[0].word = WRITE_LOCK(255);
		vma[0].space = A;
		freed[1] = true;
		run writer();
		run reader();
		run reader()
	}
}
