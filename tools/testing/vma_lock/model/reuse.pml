// SPDX-License-Identifier: GPL-2.0
/*
 * One VMA that is removed, freed and used again, in the same address space or
 * in another one. Each reader looks at an address space of its own. It keeps
 * the pointer that it found for as long as it likes: the memory is that of a
 * VMA for ever.
 */
#define VMAS	1
#include "state.pml"

#ifndef READS
#define READS	1
#endif
#ifndef ROUNDS
#define ROUNDS	2
#endif

byte tree[2] = NONE;

/* What is done to a VMA that no reader may hold any more. */
inline tear_down()
{
	assert(!vma[0].held);
	d_step { freed[vma[0].file] = true; printf("writer: closes VMA 0\n") }
}

/* munmap(): with mmap_lock for reading at the end. */
inline unmap()
{
	vma_write_detach(0);
	tree[space] = NONE;
	vma_end_write_section(space);
	tear_down();
	vma_lock_retire(0)
}

/* A merge: the VMA is freed in the section in which it was removed. */
inline merge()
{
	vma_change_begin(0);
	tree[space] = NONE;
	vma_lock_retire(0);
	tear_down();
	vma_end_write_section(space)
}

inline free_memory()
{
	assert(!vma[0].held);
	assert(!(vma[0].word & READERS));
	printf("writer: frees VMA 0\n")
}

/* vm_area_alloc() or vm_area_dup(): all is overwritten. The word is detached before and after. */
inline alloc()
{
#ifdef NO_WORD_KEPT
	vma[0].word = 0;
#endif
	vma[0].space = NONE;
	vma[0].file = NONE;
	vma[0].word = DETACHED;
	d_step { vma[0].a = 0; freed[0] = false };
	vma[0].space = space;
	vma[0].file = 0
}

inline attach()
{
#ifdef NO_FIELDS_FIRST
	d_step { vma[0].space = space; vma[0].word = WRITE_LOCK(seq[space] | 1) };
	alloc();
#else
	alloc();
#endif
	vma_change_attach(0);
	tree[space] = 0;
	vma_end_write_section(space)
}

proctype writer()
{
	WRITER_LOCALS;
	byte n, space;

	do
	:: n == ROUNDS -> break
	:: else ->
		if
		:: unmap()
		:: merge()
		fi;
		free_memory();
		if
		:: space = A
		:: space = B
		fi;
		attach();
		if
		:: vma_change_begin(0); change(0); vma_end_write_section(space)
		:: space == B -> vma_begin_write_section(A); vma_end_write_section(A)
		:: true
		fi;
		n++
	od
}

proctype reader(byte space)
{
	READER_LOCALS;
	byte v, n;

	do
	:: n == READS -> break
	:: else ->
		v = tree[space];
		if
		:: v == NONE
		:: else ->
			vma_hold_try(0, space);
#ifdef NO_SPACE_TESTED
			if
			:: got -> look_at(0); vma_hold_drop(0)
			:: else
			fi
#else
			if
			:: got && vma[0].space == space ->
				look_at(0);
				vma_hold_drop(0)
			:: got && vma[0].space != space ->
				printf("reader %d: is a stranger\n", ME);
				vma_hold_drop(0)
			:: else
			fi
#endif
		fi;
		d_step { got = false; v = 0; n++ }
	od
}

init {
	atomic {
		vma[0].word = WRITE_LOCK(255);
		vma[0].space = A;
		tree[A] = 0;
		freed[1] = true;
		run writer();
		run reader(A);
		if
		:: run reader(A)
		:: run reader(B)
		fi
	}
}
