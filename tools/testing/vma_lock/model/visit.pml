// SPDX-License-Identifier: GPL-2.0
/*
 * A visitor takes mmap_lock for reading and is no user. The last user leaves
 * and tears the address space down; see mm/mm_ref.c.
 */
bool users = true;		/* mm->mm_users */
bool writing;			/* mmap_lock */
byte reading;
byte visitors;			/* ghost: visitors that have seen users */

proctype last_user()
{
	d_step { users = false; printf("last user: leaves\n") };
#ifndef NO_VISIT_END
	atomic { !writing && !reading -> writing = true };
	writing = false;
#endif
	d_step { printf("last user: tears the address space down\n"); assert(!visitors) }
}

proctype visitor()
{
#ifndef NO_VISIT_LOCK
	atomic { !writing -> reading++; printf("visitor %d: has mmap_lock\n", _pid) };
#endif
#ifndef NO_USERS_UNDER_LOCK
	if
	:: atomic { users -> visitors++; printf("visitor %d: sees users\n", _pid) }
	:: else -> goto unlock
	fi;
#else
	visitors++;
#endif
	assert(visitors);
	visitors--;
unlock:
#ifndef NO_VISIT_LOCK
	reading--
#else
	skip
#endif
}

init {
	atomic {
		run last_user();
		run visitor();
		run visitor()
	}
}
