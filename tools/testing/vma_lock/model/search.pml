// SPDX-License-Identifier: GPL-2.0
/*
 * The search, next to a writer or next to the end of the address space. The tree
 * has one leaf with two slots, one for each of the addresses 0 and 1. A VMA of
 * two addresses is in both. Each search goes from address 0 to the end.
 */
#define VMAS		3
#define LAST		1	/* the last address */
#define SECTION_BEGUN	nr_removed = 0
#include "state.pml"

#ifndef OPS
#define OPS	2
#endif
#ifndef SEARCHERS
#define SEARCHERS	1
#endif

byte slot[2] = NONE;
bool gone;			/* RCU has freed the leaf and the memory of VMAs */
bool users = true;		/* mm->mm_users */
byte stores;
/* VMA_REMOVALS is 1: what a writer removes in several places grows this range. */
byte nr_removed;
byte range_start;
byte range_end;

/* Ghosts: a VMA that matches covers the address now, and since a search began. */
bool now[2];
bool kept[4];
#define KEPT(i)	kept[ME * 2 + (i)]

/* A system call begins that leaves at i a VMA that matches, or does not. */
inline call_begins(i, wanted)
{
	d_step {
		now[i] = now[i] && wanted;
		kept[i] = kept[i] && wanted;
		kept[i + 2] = kept[i + 2] && wanted;
		printf("writer: a call at address %d\n", i)
	}
}

inline call_ends(i, wanted)
{
	now[i] = wanted
}

inline stores_begin()
{
#ifndef NO_STORES
	stores++
#else
	skip
#endif
}

inline stores_end()
{
#ifndef NO_STORES
	stores++
#else
	skip
#endif
}

/* vma_tree_store() for one address. The tree may show a hole half-way. */
inline vma_tree_store(i, v)
{
	stores_begin();
	slot[i] = NONE;
	d_step { slot[i] = v; printf("writer: stores VMA %d at %d\n", v, i) };
	stores_end()
}

/* There is space for one range. */
inline vma_note_removal(first, after)
{
	vma_begin_write_section(A);
	if
#ifndef NO_RANGE_GROWS
	:: nr_removed == 1 ->
		if
		:: first < range_start -> range_start = first
		:: else
		fi;
		if
		:: after > range_end -> range_end = after
		:: else
		fi
#endif
	:: else ->
		range_start = first;
		range_end = after;
		nr_removed = 1
	fi;
	printf("writer: notes the range %d to %d\n", range_start, range_end)
}

/*
 * Its memory becomes a VMA of another address space, or stays free, which is
 * less dangerous: it then looks like a VMA that is write-locked.
 */
inline free_vma(v)
{
	vma_lock_retire(v);
	assert(!vma[v].held && !(vma[v].word & READERS));
	if
#ifdef SCENARIO_END
	:: true
#endif
	:: d_step { vma[v].space = B; vma[v].start = 0; vma[v].end = 2; vma[v].want = false };
	   vma[v].word = WRITE_LOCK(2)
	fi
}

/* A new VMA at i, in memory that is in no tree of this address space. */
inline new_vma(i, wanted)
{
	if
	:: slot[0] != 0 && slot[1] != 0 && spare != 0 -> cur = 0
	:: slot[0] != 1 && slot[1] != 1 && spare != 1 -> cur = 1
	:: else -> cur = 2
	fi;
	/* It leaves the other address space first. */
	vma_lock_retire(cur);
	assert(!(vma[cur].word & READERS));
	d_step {
		vma[cur].word = DETACHED;
		vma[cur].space = A;
		vma[cur].start = i;
		vma[cur].end = i + 1;
		vma[cur].want = wanted
	}
}

inline attach_and_store(i)
{
#ifdef NO_ATTACH_FIRST
	vma_tree_store(i, cur);
	vma_change_attach(cur)
#else
	vma_change_attach(cur);
	vma_tree_store(i, cur)
#endif
}

/* munmap() of the VMA at i, if that covers no more */
inline remove(i)
{
	spare = slot[i];
#if !defined(NO_NOTE) && !defined(NO_NOTE_FIRST)
	vma_note_removal(i, i + 1);
#endif
	vma_write_detach(spare);
	vma_tree_store(i, NONE)
#ifdef NO_NOTE_FIRST
	; vma_note_removal(i, i + 1)
#endif
}

/* mmap() with MAP_FIXED of another VMA at i */
inline op_replace(i, wanted)
{
	call_begins(i, wanted);
	remove(i);
	new_vma(i, wanted);
	attach_and_store(i);
	call_ends(i, wanted);
	free_vma(spare)
}

inline op_unmap(i)
{
	call_begins(i, false);
	remove(i);
	free_vma(spare)
}

inline op_map(i)
{
	new_vma(i, true);
	attach_and_store(i);
	call_ends(i, true)
}

/* mprotect(): it matches, or does not any more */
inline op_protect(i)
{
	cur = slot[i];
	call_begins(i, !vma[cur].want);
	vma_change_begin(cur);
	assert(!vma[cur].held);
	vma[cur].want = !vma[cur].want;
	call_ends(i, vma[cur].want)
}

/* VMA 0 and VMA 1 match both. One grows over the other: address 0 to 1, or 1 to 0. */
inline op_grow(i)
{
	cur = slot[i];
	spare = slot[1 - i];
	vma_change_begin(cur);
	vma_change_begin(spare);
	assert(!vma[cur].held && !vma[spare].held);
	vma[cur].start = 0;
	vma[cur].end = 2;
	vma_tree_store(1 - i, cur);
	free_vma(spare)
}

/* A VMA of two addresses is split: a new one takes i. */
inline op_split(i)
{
	spare = slot[i];
	vma_change_begin(spare);
	assert(!vma[spare].held);
	new_vma(i, vma[spare].want);
	vma_change_attach(cur);
	if
	:: i == 0 -> vma[spare].start = 1
	:: else -> vma[spare].end = 1
	fi;
	vma_tree_store(i, cur)
}

#define ALONE(i)	(slot[i] != NONE && slot[0] != slot[1])
#define BOTH_MATCH	(slot[0] != NONE && slot[1] != NONE && slot[0] != slot[1] && \
			 vma[slot[0]].want && vma[slot[1]].want)

proctype writer()
{
	WRITER_LOCALS;
	byte n, cur, where, spare = NONE;

	do
	:: n == OPS -> break
	:: else ->
		if
		:: where = 0
		:: where = 1
		fi;
		if
		:: ALONE(where) -> op_replace(where, true)
		:: ALONE(where) -> op_unmap(where)
		:: ALONE(where) -> op_protect(where)
		:: BOTH_MATCH -> op_grow(where)
		:: slot[0] == slot[1] && slot[0] != NONE -> op_split(where)
		:: slot[where] == NONE -> op_map(where)
		fi;
		/* The same section may go on. */
		if
		:: true -> vma_end_write_section(A)
		:: true
		fi;
		d_step { spare = NONE; cur = 0; where = 0; n++ }
	od;
	vma_end_write_section(A)
}

/* The last user has left. The tree leads to the VMAs while they are closed. */
proctype exit_mmap()
{
	WRITER_LOCALS;
	byte where;

	d_step { users = false; printf("writer: the last user has left\n") };
	do
	:: where > LAST -> break
	:: else ->
#ifdef NO_RELEASE_FIRST
		freed[vma[where].file] = true;
		vma_lock_retire(where);
#else
		vma_lock_retire(where);
		d_step { freed[vma[where].file] = true; printf("writer: closes VMA %d\n", where) };
#endif
		free_vma(where);
		where++
	od;
	slot[0] = NONE;
	slot[1] = NONE;
	synchronize_rcu();
	d_step { gone = true; printf("writer: RCU frees the leaf\n") }
}

#include "look.pml"

init {
	atomic {
		vma[0].word = WRITE_LOCK(255);
		vma[1].word = WRITE_LOCK(255);
		vma[0].space = A;
		vma[1].space = A;
		vma[0].end = 1;
		vma[1].start = 1;
		vma[1].end = 2;
		vma[1].file = 1;
		slot[0] = 0;
		slot[1] = 1;
		/* What matches? At least one: else there is nothing to miss. */
		if
		:: vma[0].want = true; now[0] = true
		:: vma[1].want = true; now[1] = true
		:: vma[0].want = true; vma[1].want = true; now[0] = true; now[1] = true
		fi;
#ifdef SCENARIO_END
		run exit_mmap();
#else
		run writer();
#endif
		run reader();
		if
		:: SEARCHERS == 2 -> run reader()
		:: else
		fi
	}
}
