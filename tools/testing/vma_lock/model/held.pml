// SPDX-License-Identifier: GPL-2.0
/*
 * The generation of a VMA that a reader holds (vma_generation_held()). If it is
 * the same twice, the VMA is the same.
 */
#define VMAS	1
#include "state.pml"

#ifndef SECTIONS
#define SECTIONS	3
#endif

byte born = 1;			/* ghost: the generation that began with the last change */

proctype writer()
{
	WRITER_LOCALS;
	byte n;

	do
	:: n == SECTIONS -> break
	:: else ->
		if
		:: vma_change_begin(0);
		   d_step { vma[0].a++; born = seq[A] + 2; printf("writer: changes VMA 0\n") }
		:: true -> vma_begin_write_section(A)
		fi;
		vma_end_write_section(A);
		n++
	od
}

inline vma_generation_held()
{
#ifdef NO_WRITE_LOCK_FIRST
	s = seq[A];
	word = vma[0].word;
#else
	word = vma[0].word;
	s = seq[A];
#endif
	d_step {
		if
#ifndef NO_HELD_WRITE_LOCKED
		:: WRITE_LOCKED(word, s) -> generation[n] = 0
#endif
		:: else ->
			generation[n] = ((s + 1) / 2) * 2;
			generation[n] = generation[n] + 2 -
					((generation[n] - (word >> 4)) & SEQ_BITS)
		fi;
		printf("reader %d: generation %d\n", ME, generation[n]);
		word = 0;
		s = 0
	}
}

proctype reader()
{
	READER_LOCALS;
	byte n, generation[2], version[2];

	do
	:: n == 2 -> break
	:: else ->
		vma_hold_try(0, A);
		if
		:: got ->
			vma_generation_held();
			assert(!generation[n] || generation[n] == born);
			version[n] = vma[0].a;
			vma_hold_drop(0)
		:: else
		fi;
		got = false;
		n++
	od;
	assert(!generation[0] || generation[0] != generation[1] || version[0] == version[1])
}

init {
	atomic {
		vma[0].word = WRITE_LOCK(255);
		vma[0].space = A;
		run writer();
		run reader();
		run reader()
	}
}
