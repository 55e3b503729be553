// SPDX-License-Identifier: GPL-2.0
/*
 * The lock word of a VMA, the sequence of an address space, and what readers
 * and writers do with them. Names are those of the code; see vma_lock.h,
 * mm/vma_lock.c and mm/vma_read.h.
 */

/*
 * The word has 2 bits for the readers, and 4 for the sequence, which does not
 * wrap in any scenario.
 */
#ifndef READERS
#define READERS			3
#endif
#define WAITING			4
#define DETACHED		8
#define SEQ_BITS		15
#define WRITE_LOCK(s)		(((s) & SEQ_BITS) << 4)
#define WRITE_LOCKED(w, s)	(((w) >> 4) == ((s) & SEQ_BITS))
#define ODD(s)			((s) & 1)

#define NONE		255

/* Address spaces: A is the one that readers look at, B is another one. */
#define A		0
#define B		1

typedef vm_area {
	byte word = DETACHED;
	byte space = NONE;	/* vm_mm */
	byte a;			/* two fields that a writer changes together: */
	byte file;		/* the file has the number a */
	byte start;
	byte end;
	bool want;		/* it matches what the search looks for */
	byte held;		/* ghost: readers of its address space that hold it */
};

vm_area vma[VMAS];
bool freed[2];			/* files */
byte seq[2];			/* mm->vma_seq */
byte queued = NONE;		/* the writer is in the queue of this word */
bool woken;

/* RCU: whoever reads; a grace period waits until each was outside once. */
bool rcu[2];

inline synchronize_rcu()
{
	!rcu[0];
	!rcu[1];
}

/* Writers have these variables. */
#define WRITER_LOCALS	byte old, new, m

/* A section that is begun: ranges of an earlier one do not count any more. */
#ifndef SECTION_BEGUN
#define SECTION_BEGUN	skip
#endif

inline vma_begin_write_section(mm)
{
	if
	:: ODD(seq[mm])
	:: else ->
#ifdef NO_RESET_AFTER_SEQ
		SECTION_BEGUN;
#endif
		d_step { seq[mm]++; printf("writer: the sequence is %d\n", seq[mm]) };
#ifndef NO_RESET_AFTER_SEQ
		SECTION_BEGUN
#endif
	fi
}

inline vma_end_write_section(mm)
{
	if
	:: !ODD(seq[mm])
	:: else -> d_step { seq[mm]++; printf("writer: the sequence is %d\n", seq[mm]) }
	fi
}

/* It may see the last reader leave while it spins, or sleep at any time. */
inline vma_lock_wait_for_readers(v)
{
	if
	:: !(vma[v].word & READERS)
	:: true ->
#ifndef NO_WAITING
		d_step {
			vma[v].word = vma[v].word | WAITING;
			printf("writer: sets WAITING\n")
		};
#endif
		do
		::
#ifdef NO_QUEUE_FIRST
			if
			:: !(vma[v].word & READERS) -> break
			:: else
			fi;
#endif
			atomic { queued = v; woken = false };
#ifndef NO_QUEUE_FIRST
			if
			:: !(vma[v].word & READERS) -> break
			:: else
			fi;
#endif
			printf("writer: sleeps\n");
			woken
		od;
		atomic { queued = NONE; woken = false };
#ifndef NO_WAITING_CLEARED
		vma[v].word = vma[v].word & (255 - WAITING)
#endif
	fi
}

/* vma_change_begin() if flags is 0, vma_write_detach() if it is DETACHED. */
inline vma_change_lock(v, flags)
{
	d_step { old = vma[v].word; m = vma[v].space };
	assert(!(old & DETACHED));
#ifndef NO_WRITE_LOCK
#ifdef NO_SEQ_FIRST
	d_step {
		new = WRITE_LOCK(seq[m] | 1) | (flags) | (vma[v].word & READERS);
		vma[v].word = new;
		printf("writer: write-locks VMA %d\n", v)
	};
	vma_begin_write_section(m);
#else
	vma_begin_write_section(m);
#ifdef NO_WRITER_ADD
	new = WRITE_LOCK(seq[m]) | (flags) | (old & READERS);
	d_step { vma[v].word = new; printf("writer: write-locks\n") };
#else
	d_step {
#ifdef NO_READERS_KEPT
		new = vma[v].word + (WRITE_LOCK(seq[m]) | (flags)) - old;
#else
		new = vma[v].word + (WRITE_LOCK(seq[m]) | (flags)) - (old & (255 - READERS));
		assert(new == (WRITE_LOCK(seq[m]) | (flags) | (vma[v].word & READERS)));
#endif
		vma[v].word = new;
		printf("writer: write-locks VMA %d\n", v)
	};
#endif
#endif
#ifndef NO_WAIT
	if
	:: new & READERS -> vma_lock_wait_for_readers(v)
	:: else
	fi;
#endif
#endif
	atomic { old = 0; new = 0; m = 0 }
}

inline vma_change_begin(v)
{
	m = vma[v].space;
	if
	:: vma[v].word == WRITE_LOCK(seq[m])
	:: else -> vma_change_lock(v, 0)
	fi
}

#ifdef NO_DETACH
#define REMOVAL		0
#else
#define REMOVAL		DETACHED
#endif

inline vma_write_detach(v)
{
	vma_change_lock(v, REMOVAL)
}

/* All fields are set. Nobody else writes the word of a detached VMA. */
inline vma_change_attach(v)
{
	m = vma[v].space;
#ifndef NO_ATTACH_SECTION
	vma_begin_write_section(m);
#endif
	d_step {
		vma[v].word = WRITE_LOCK(seq[m]);
		printf("writer: attaches VMA %d in address space %d\n", v, vma[v].space)
	}
}

inline vma_lock_retire(v)
{
	if
	:: vma[v].word & DETACHED -> assert(!(vma[v].word & READERS))
	:: else ->
		d_step {
			old = vma[v].word;
#ifndef NO_RELEASE_DETACH
			vma[v].word = old | DETACHED;
			printf("writer: detaches VMA %d\n", v)
#endif
		};
#ifndef NO_RELEASE_WAIT
		if
		:: old & READERS -> vma_lock_wait_for_readers(v)
		:: else
		fi;
#endif
		old = 0
	fi
}

/* Readers have these variables, and a number: 0 or 1. */
#define ME	(_pid - 2)
#define READER_LOCALS	byte word, s; bool got

#ifdef NO_WRITE_LOCK_TESTED
#define NOT_WRITE_LOCKED(w, s)	true
#else
#define NOT_WRITE_LOCKED(w, s)	(!WRITE_LOCKED(w, s))
#endif

#ifdef NO_DETACHED_TESTED
#define ATTACHED(w)	true
#else
#define ATTACHED(w)	(!((w) & DETACHED))
#endif

#ifdef NO_FULL_TESTED
#define ROOM(w)		true
#else
#define ROOM(w)		(((w) + 1) & READERS)
#endif

inline vma_hold_drop(v)
{
	d_step {
		vma[v].word--;
		word = vma[v].word;
		printf("reader %d: lets go of VMA %d\n", ME, v)
	};
#ifndef NO_WAKE_UP
	if
	:: atomic { (word & (READERS | WAITING)) == WAITING && queued == v -> woken = true;
		    printf("reader %d: wakes the writer\n", ME) }
	:: else
	fi;
#endif
	word = 0
}

/*
 * got: the lock is held. The code also looks at the sequence before the exchange,
 * to keep readers off the word that come in vain.
 */
inline vma_hold_try(v, mm)
{
	got = false;
	do
	::
	   word = vma[v].word;
	   if
#ifdef NO_EXCHANGE_FIRST
	   :: atomic { ATTACHED(word) && NOT_WRITE_LOCKED(word, seq[mm]) && ROOM(word) -> skip }
#else
	   :: ATTACHED(word) && ROOM(word)
#endif
	   :: else -> break
	   fi;
#ifdef NO_READER_CMPXCHG
	   d_step { vma[v].word = word + 1; got = true };
	   break
#else
	   if
	   :: atomic {
		vma[v].word == word ->
		vma[v].word = word + 1;
		got = true;
		printf("reader %d: counts in VMA %d\n", ME, v)
	      };
	      break
	   :: else
	   fi
#endif
	od;
#ifndef NO_EXCHANGE_FIRST
	if
	:: got && !NOT_WRITE_LOCKED(word, seq[mm]) -> got = false; vma_hold_drop(v)
	:: else
	fi;
#endif
	word = 0
}

/* A reader of its address space looks at the fields, one by one. */
inline look_at(v)
{
	d_step { vma[v].held++; printf("reader %d: holds VMA %d\n", ME, v) };
	s = vma[v].a;
	assert(vma[v].file == s);
	assert(!freed[vma[v].file]);
	assert(vma[v].a == s);
	d_step { vma[v].held--; s = 0 }
}

/* A writer changes the fields, one by one, and puts the file. */
inline change(v)
{
	assert(!vma[v].held);
	d_step { vma[v].a = 1 - vma[v].a; freed[vma[v].a] = false };
	assert(!vma[v].held);
	vma[v].file = vma[v].a;
	d_step { freed[1 - vma[v].a] = true; printf("writer: has changed VMA %d\n", v) }
}
