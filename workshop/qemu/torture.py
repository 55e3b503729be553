#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make torture: the torture test on each of the named kernels; usage: torture.py MINUTES VARIANT..."""

import os
import re
import sys

import vm

from common import BUILD, LOGS, logged, main, read, rel, say  # pylint: disable=wrong-import-order

PROGRAM = ["/kselftest/procmap/torture/procmap_torture", "--seconds"]
# What the program says every ten seconds
PROGRESS = re.compile(r"# \d+:\d\d of .*\n")


def torture(minutes, variant):
    """Boot the kernel for it, and print the results at the end."""
    say("TORTURE", f"{variant}, {minutes:g} minutes")
    name = f"torture-{variant}"
    logged(name, [os.path.abspath(vm.__file__), "--variant", variant,
                  "--memory", "2G", "--timeout", f"{minutes * 180 + 300:g}", "--results",
                  os.path.join(BUILD, "results", f"{variant}-torture"), "--",
                  *PROGRAM, f"{minutes * 60:.0f}"],
           describe=lambda line: f"{variant}, {line.removeprefix('# ')}",
           preexec_fn=vm.die_with_parent)
    log = os.path.join(LOGS, f"{name}.log")
    _, _, text = read(log).partition("\n")
    print(PROGRESS.sub("", text) + f"          log: {rel(log)}", flush=True)


def command():
    try:
        for variant in sys.argv[2:]:
            torture(float(sys.argv[1]), variant)
    except KeyboardInterrupt:
        print("interrupted, the machine was stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    main(command)
