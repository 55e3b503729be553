#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make check BASE=all: the checks of each base in turn, and the sum; usage: all.py TARGET BASE..."""

import re
import subprocess
import sys

VERDICT = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")


def check(target, base):
    """Show what the checks of a base say; returns the status and the last line."""
    print(f"  BASE    {base}", flush=True)
    last = ""
    with subprocess.Popen(["make", "--no-print-directory", target, f"BASE={base}"],
                          stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            last = line.strip()
    return child.returncode, last


def main():
    total = [0, 0, 0]
    for base in sys.argv[2:]:
        status, last = check(sys.argv[1], base)
        verdict = VERDICT.fullmatch(last)
        counts = [int(count) for count in verdict.groups()] if verdict else [0, 0, 0]
        # It ended before it had a verdict, or its verdict does not tell the reason
        if status and not counts[1]:
            print(f"  FAIL    the checks of {base} ended with status {status}")
            counts[1] = 1
        total = [sum(pair) for pair in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
