// SPDX-License-Identifier: GPL-2.0
/*
 * A walk keeps a leaf over the end of an RCU section (vma_walk_resume()). Each
 * write section replaces the leaf. RCU frees it, after or before the section
 * ends. At last the address space ends, and RCU frees the last leaf.
 */
#define VMAS	1
#include "state.pml"

#ifndef SECTIONS
#define SECTIONS	2
#endif
#ifndef STEPS
#define STEPS	2
#endif

#define LEAVES	2

bool users = true;
byte root;			/* the leaf of the tree */
byte content[LEAVES];
bool gone[LEAVES];
byte version;			/* ghost: what the tree holds */

inline rcu_free(l)
{
#ifndef NO_GRACE_PERIOD
	synchronize_rcu();
#endif
	d_step { gone[l] = true; printf("writer: RCU frees leaf %d\n", l) }
}

inline replace_leaf()
{
	d_step {
		gone[1 - root] = false;
		content[1 - root] = version + 1;
		version++;
		root = 1 - root;
		printf("writer: the tree has leaf %d\n", root)
	}
}

proctype writer()
{
	byte n;

	do
	:: n == SECTIONS -> break
	:: else ->
#ifdef NO_SECTION_FIRST
		replace_leaf();
		vma_begin_write_section(A);
#else
		vma_begin_write_section(A);
		replace_leaf();
#endif
		if
		:: rcu_free(1 - root); vma_end_write_section(A)
		:: vma_end_write_section(A); rcu_free(1 - root)
		fi;
		n++
	od;
	atomic { users = false; printf("writer: the last user has left\n") };
	rcu_free(root)
}

inline read_leaf(l)
{
	assert(!gone[l]);
	value = content[l]
}

proctype reader()
{
	byte n, s, leaf, value, kept = NONE, kept_seq = 1;

	do
	:: n == STEPS -> break
	:: else ->
#ifdef NO_SEQ_IN_SECTION
		s = seq[A];
#endif
		d_step { rcu[ME] = true; printf("reader %d: an RCU section\n", ME) };
#ifndef NO_USERS_FIRST
		if
		:: !users -> n = STEPS - 1; goto out
		:: else
		fi;
#endif
#ifndef NO_SEQ_IN_SECTION
		s = seq[A];
#endif
		if
		:: ODD(s) -> goto out
		:: else
		fi;
#ifdef NO_KEPT_SEQ
		if
		:: kept != NONE -> leaf = kept
#else
		if
		:: d_step { kept_seq == s -> leaf = kept; printf("reader %d: goes on in leaf %d\n", ME, leaf) }
#endif
		:: else -> leaf = root
		fi;
		read_leaf(leaf);
		if
		:: atomic { seq[A] == s && users -> assert(value == version) };
		   kept = leaf;
		   kept_seq = s
		:: else
		fi;
out:		rcu[ME] = false;
		d_step { s = 0; leaf = 0; value = 0; n++ }
	od
}

init {
	atomic {
		run writer();
		run reader();
		run reader()
	}
}
