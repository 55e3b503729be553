// SPDX-License-Identifier: GPL-2.0
/*
 * Generations. VMA 0 is code, VMA 1 is not, VMA 2 is not there yet. A reader
 * looks at all of them, twice. If it is told the same generation, it has seen
 * the same. The version of a VMA changes with each change of it.
 */
#ifndef SECTIONS
#define SECTIONS	3
#endif
#define VMAS	3
#include "state.pml"

byte code = 1;			/* mm->vma_changes.code */
byte version[VMAS];
bool is_code[VMAS];

inline vma_note_code(flags)
{
	if
	:: flags -> d_step { code = seq[A] + 2; printf("writer: notes code: %d\n", code) }
	:: else
	fi
}

/* vma_change_lock(), vma_change_attach(): code is noted before the change. */
inline begin_change(v)
{
	vma_begin_write_section(A);
#ifndef NO_NOTE_AT_WRITE_LOCK
	vma_note_code(is_code[v])
#endif
}

inline change_version(v)
{
	d_step { version[v]++; printf("writer: changes VMA %d\n", v) }
}

inline mprotect_exec(v)
{
	begin_change(v);
#ifndef NO_NOTE_FIRST
#ifndef NO_NOTE_OF_MPROTECT
	vma_note_code(true);
#endif
	d_step { is_code[v] = true; version[v]++; printf("writer: VMA %d is code\n", v) }
#else
	d_step { is_code[v] = true; version[v]++; printf("writer: VMA %d is code\n", v) };
	vma_note_code(true)
#endif
}

inline attach_code(v)
{
#ifndef NO_ATTACH_SECTION
	vma_begin_write_section(A);
#endif
#ifndef NO_NOTE_AT_ATTACH
	vma_note_code(true);
#endif
	d_step { is_code[v] = true; version[v]++; printf("writer: VMA %d is code\n", v) }
}

proctype writer()
{
	byte n;

	do
	:: n == SECTIONS -> break
	:: else ->
		if
		:: true -> begin_change(0); change_version(0)
		:: true -> begin_change(1); change_version(1)
		:: true -> mprotect_exec(1)
		:: true -> attach_code(2)
		fi;
		/* The same section may go on. */
		if
		:: true -> vma_end_write_section(A)
		:: true
		fi;
		n++
	od;
	vma_end_write_section(A)
}

/* What the reader has read in one go */
typedef view {
	byte all;
	byte code;
	byte version[VMAS];
	byte code_version[VMAS];
}

inline vma_generations_now(g_all, g_code)
{
#ifdef NO_SEQ_BEFORE_CODE
	g_code = code;
	s = seq[A];
#else
	s = seq[A];
	g_code = code;
#endif
	d_step {
		if
		:: ODD(s) -> g_all = 0
		:: else -> g_all = s + 1
		fi;
#ifndef NO_CODE_BEGUN_TESTED
		if
		:: g_code > s + 1 -> g_code = 0
		:: else
		fi;
#endif
		s = 0
	}
}

inline read_vma(v)
{
	got = is_code[v];
	d_step {
		look[n].version[v] = version[v];
		look[n].code_version[v] = (got -> version[v] : 0);
		got = false
	}
}

inline vma_generations_kept()
{
#ifndef NO_KEPT
	vma_generations_now(all, c);
	d_step {
		if
		:: all != look[n].all -> look[n].all = 0
		:: else
		fi;
		if
		:: c != look[n].code -> look[n].code = 0
		:: else
		fi;
		all = 0;
		c = 0
	}
#else
	skip
#endif
}

#define SAME(what)	(look[0].what[0] == look[1].what[0] && \
			 look[0].what[1] == look[1].what[1] && \
			 look[0].what[2] == look[1].what[2])

proctype reader()
{
	byte n, s, all, c;
	bool got;
	view look[2];

	do
	:: n == 2 -> break
	:: else ->
		vma_generations_now(all, c);
		d_step { look[n].all = all; look[n].code = c; all = 0; c = 0 };
		read_vma(0);
		read_vma(1);
		read_vma(2);
		vma_generations_kept();
		printf("reader: generation %d, of code %d\n", look[n].all, look[n].code);
		n++
	od;
	assert(!look[0].all || look[0].all != look[1].all || SAME(version));
	assert(!look[0].code || look[0].code != look[1].code || SAME(code_version))
}

init {
	atomic {
		is_code[0] = true;
		version[0] = 1;
		version[1] = 1;
		run writer();
		run reader()
	}
}
