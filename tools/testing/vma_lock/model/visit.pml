// SPDX-License-Identifier: GPL-2.0
/*
 * A visitor takes mmap_lock for reading and is no user. The last user leaves
 * and tears the address space down; see mm/mm_ref.c.
 */
bool users = true;		/* mm->mm_users */
byte lockers;			/* mm->ref_lockers */
byte visitors;			/* ghost: visitors that have seen users */

proctype last_user()
{
	d_step { users = false; printf("last user: leaves\n") };
#ifndef NO_VISIT_END
	!lockers;
#endif
	d_step { printf("last user: tears the address space down\n"); assert(!visitors) }
}

proctype visitor()
{
#ifndef NO_VISIT_COUNT
	atomic { lockers++; printf("visitor %d: is counted\n", _pid) };
#endif
#ifndef NO_USERS_AFTER_COUNT
	if
	:: atomic { users -> visitors++; printf("visitor %d: sees users\n", _pid) }
	:: else -> goto leave
	fi;
#else
	visitors++;
#endif
	assert(visitors);
	visitors--;
leave:
#ifndef NO_VISIT_COUNT
	lockers--
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
