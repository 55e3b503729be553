#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Break the debug kernel in every way that its lkdtm module knows and that a detector has to tell.

One TAP case for each: the command succeeds, but the run of the machine must fail as one with a
splat, and show the right text. Each takes about half a minute.
"""

import os
import subprocess
import sys

from places import BUILD, ROOT

VM = os.path.join(ROOT, "workshop", "qemu", "vm.py")
RESULTS = os.path.join(BUILD, "results", "splats")
SPLAT = 120
DIRECT = "/sys/kernel/debug/provoke-crash/DIRECT"

# (name, what to write to lkdtm, before that, what must be shown)
CASES = (
    ("a warning", "WARNING", "", "WARNING: "),
    ("a failed assertion", "BUG", "", "kernel BUG at"),
    ("a null pointer", "EXCEPTION", "", "RIP: 0010:lkdtm_EXCEPTION"),
    ("memory used after it was freed", "WRITE_AFTER_FREE", "", "KASAN: use-after-free"),
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


def provoke(what, before):
    """Returns the exit status of vm.py and what it printed."""
    script = f"{before or ':'}; (echo {what} >{DIRECT}) & sleep 60"
    result = subprocess.run([sys.executable, VM, "--variant", "debug", "--memory", "2G", "--timeout",
                             "240", "--quiet", "--results", RESULTS, "--", "sh", "-c", script],
                            capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


def main():
    print("TAP version 13")
    print(f"1..{len(CASES)}", flush=True)
    failed = 0
    for number, (name, what, before, text) in enumerate(CASES, 1):
        status, shown = provoke(what, before)
        good = status == SPLAT and text in shown
        failed += not good
        for line in ("" if good else f"status {status}\n{shown}").splitlines()[:40]:
            print(f"# {line}")
        print(f"{'ok' if good else 'not ok'} {number} {name} is told", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
