#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Break the debug kernel in every way that its lkdtm module knows and that a detector has to tell.

One TAP case for each: the command succeeds, but the run of the machine must fail as one with a
splat, and show the right text. Each takes about half a minute.
"""

import sys

import cases

SPLAT = 120
DIRECT = "/sys/kernel/debug/provoke-crash/DIRECT"

# (name, what to write to lkdtm, before that, what must be shown)
CASES = (
    ("a warning", "WARNING", "", "WARNING: "),
    ("a failed assertion", "BUG", "", "kernel BUG at"),
    ("a null pointer", "EXCEPTION", "", "RIP: 0010:lkdtm_EXCEPTION"),
    ("memory used after it was freed", "WRITE_AFTER_FREE", "",
     "use-after-free in lkdtm_WRITE_AFTER_FREE"),
    ("memory used behind its end", "SLAB_LINEAR_OVERFLOW", "", "KASAN: slab-out-of-bounds"),
    ("an index out of its array", "ARRAY_BOUNDS", "", "array-index-out-of-bounds"),
    ("a list that is not one", "CORRUPT_LIST_ADD", "", "list_add corruption"),
    ("a counter that overflows", "REFCOUNT_INC_OVERFLOW", "", "refcount_t: "),
    ("a task that hangs", "HUNG_TASK", "echo 5 >/proc/sys/kernel/hung_task_timeout_secs",
     "blocked for more"),
    ("a processor that is stuck", "SOFTLOCKUP", "echo 3 >/proc/sys/kernel/watchdog_thresh",
     "soft lockup"),
    ("a grace period that does not end", "SOFTLOCKUP",
     "echo 0 >/proc/sys/kernel/watchdog; echo 5 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout",
     "rcu"),
)


def main():
    report = cases.Report()
    for name, what, before, text in CASES:
        script = f"{before or ':'}; (echo {what} >{DIRECT}) & sleep 60"
        result = cases.machine("splats", ["sh", "-c", script], "--variant", "debug", "--memory",
                               "2G", "--timeout", "240", "--quiet")
        shown = f"status {result.returncode}\n{result.stderr}".splitlines()[:40]
        report.case(result.returncode == SPLAT and text in result.stderr, f"{name} is told",
                    "\n".join(shown))
    sys.exit(report.end())


if __name__ == "__main__":
    main()
