// SPDX-License-Identifier: GPL-2.0
/*
 * A model of per-VMA locks; see Documentation/mm/vma_lock.rst.
 *
 * Spin explores every interleaving of the steps of one writer and its readers.
 * A step is one access to memory, or one atomic operation. Each step is visible
 * to all at once: the model assumes sequential consistency. What processors and
 * compilers may reorder is the matter of litmus/. SCENARIO_* selects what
 * happens. NO_* takes one rule or one check away; the assertions must then fail.
 * run.py runs all of them.
 */
#ifdef SCENARIO_LOCK
#include "lock.pml"
#endif
#ifdef SCENARIO_REUSE
#include "reuse.pml"
#endif
#if defined(SCENARIO_SEARCH) || defined(SCENARIO_END)
#include "search.pml"
#endif
#ifdef SCENARIO_WALK
#include "walk.pml"
#endif
#ifdef SCENARIO_VISIT
#include "visit.pml"
#endif
#ifdef SCENARIO_GENERATION
#include "generation.pml"
#endif
#ifdef SCENARIO_HELD
#include "held.pml"
#endif
