// SPDX-License-Identifier: GPL-2.0
/*
 * The reader's side of the search; see mm/vma_lookup.[ch]. At each place it looks
 * in the quiet way or in the careful way.
 */

/* The addresses from lo to hi are passed: none of them is seen again. */
inline passed(lo, hi)
{
	d_step {
		pos = lo;
		do
		:: pos <= hi && pos <= LAST ->
			missed = missed || KEPT(pos);
			printf("reader %d: passes address %d\n", ME, pos);
			pos++
		:: else -> break
		od;
		pos = 0
	}
}

inline read_slot(i, to)
{
	d_step { assert(!gone); to = slot[i] }
}

/* vma_seems_wanted(), without the lock */
#define SEEMS_WANTED(v)		((v) != NONE && vma[(v) % VMAS].want)

#ifdef NO_SEQ_CONFIRM
#define SEQ_SAME(q)	true
#else
#define SEQ_SAME(q)	(seq[A] == (q))
#endif

#ifdef NO_USERS_CONFIRM
#define USERS_LAST	true
#else
#define USERS_LAST	users
#endif

/* got: nothing has changed since the sequence was seen */
inline vma_seq_unchanged()
{
#ifdef SCENARIO_END
	got = SEQ_SAME(seen);
	got = got && USERS_LAST
#else
	got = SEQ_SAME(seen)
#endif
}

/* Lock v and test it again. It may be any other VMA by now. */
inline vma_search_lock(v)
{
	vma_hold_try(v, A);
	if
	:: got && vma[v].space != A -> vma_hold_drop(v); got = false
#ifndef NO_TEST_AGAIN
	:: got && vma[v].space == A && !(addr < vma[v].end && vma[v].want) ->
		vma_hold_drop(v);
		got = false
#endif
	:: else
	fi
}

inline found(v)
{
	d_step {
		vma[v].held++;
		assert(vma[v].space == A && vma[v].want);
		assert(slot[vma[v].start] == v && slot[vma[v].end - 1] == v);
		printf("reader %d: holds VMA %d\n", ME, v)
	};
	passed(addr, vma[v].start - 1);
	rcu[ME] = false;
	assert(!missed);
	assert(!freed[vma[v].file]);
	d_step { vma[v].held--; addr = vma[v].end };
	vma_hold_drop(v)
}

inline vma_lookup_fast()
{
	/* The first VMA in the rest of the leaf that seems to match. */
	at = addr;
	do
	:: at > LAST -> cur = NONE; break
	:: else ->
		read_slot(at, cur);
		if
		:: SEEMS_WANTED(cur) -> break
		:: else -> at++
		fi
	od;
	if
	:: cur == NONE ->
		vma_seq_unchanged();
		if
		:: got -> passed(addr, LAST); addr = LAST + 1
		:: else
		fi
	:: else ->
		vma_search_lock(cur);
		if
		:: got ->
#ifndef NO_START_CONFIRM
			if
			:: vma[cur].start > addr ->
				vma_seq_unchanged();
				if
				:: !got -> vma_hold_drop(cur)
				:: else
				fi
			:: else
			fi;
#endif
			if
			:: got -> found(cur)
			:: else
			fi
		:: else
		fi
	fi
}

/* got: the hole is outside of the range, up to what last is now. */
inline vma_hole_outside()
{
	got = true;
	at = range_start;
	if
	:: range_end <= addr || at > last
	:: else ->
		if
		:: at <= addr -> got = false
		:: else -> last = at - 1
		fi
	fi
}

/* got: the hole from addr to last is not a transient one */
inline vma_hole_is_real()
{
	got = true;
#ifndef NO_RANGES
	if
	:: ODD(seen) && nr_removed == 1 -> vma_hole_outside()
	:: else
	fi;
#endif
#ifndef NO_HOLE_SEQ
	got = got && seq[A] == seen
#endif
}

#ifdef NO_STORES_EVEN
#define STORED(c)	false
#else
#define STORED(c)	ODD(c)
#endif

#ifdef NO_STORES_SAME
#define STORES_SAME(c)	true
#else
#define STORES_SAME(c)	(stores == (c))
#endif

#ifdef NO_USERS_TREE
#define USERS_STILL	true
#else
#define USERS_STILL	users
#endif

inline vma_lookup_slow()
{
	count = stores;
	read_slot(addr, cur);
	last = addr;
	/* The pivot: the entry goes on as long as the slots are the same. */
	if
	:: addr < LAST ->
		read_slot(addr + 1, at);
		if
		:: at == cur -> last = LAST
		:: else
		fi
	:: else
	fi;
	if
	:: SEEMS_WANTED(cur) ->
		vma_search_lock(cur);
		if
#ifndef NO_START_TESTED
		:: got && vma[cur].start > addr -> vma_hold_drop(cur)
		:: got && vma[cur].start <= addr -> found(cur)
#else
		:: got -> found(cur)
#endif
		:: else
		fi
	:: else ->
		got = !STORED(count) && STORES_SAME(count);
#ifdef SCENARIO_END
		got = got && USERS_STILL;
#endif
		if
		:: got && cur == NONE -> vma_hole_is_real()
		:: else
		fi;
		if
		:: got -> passed(addr, last); addr = last + 1
		:: else
		fi
	fi
}

proctype reader()
{
	READER_LOCALS;
	byte addr, seen, count, cur, at, last, pos;
	bool missed;

	d_step { KEPT(0) = now[0]; KEPT(1) = now[1] };
	do
	:: addr > LAST ->
		/* There is none, unless the address space is gone. */
		assert(!missed || !users);
		break
	:: else ->
#ifndef NO_RCU
		rcu[ME] = true;
#endif
#if defined(SCENARIO_END) && !defined(NO_USERS_FIRST)
		if
		:: !users -> addr = LAST + 1
		:: else
		fi;
#endif
		/* Some steps in one RCU section */
		do
		:: addr <= LAST ->
			seen = seq[A];
			if
#ifdef NO_SEQ_EVEN
			:: true -> vma_lookup_fast()
#else
			:: !ODD(seen) -> vma_lookup_fast()
#endif
			:: true -> vma_lookup_slow()
			fi;
			atomic { got = false; seen = 0; count = 0; cur = 0; at = 0; last = 0 };
			if
			:: true -> break
			:: addr <= LAST && rcu[ME]
			fi
		:: else -> break
		od;
		rcu[ME] = false
	od
}
