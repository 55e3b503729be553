#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each fault that a patch mends is there without it: tests fail on the unpatched kernel.

patches/BASE/faults names these cases, FOLDER:PROGRAM CASE a line. One TAP case for each: it is
right if it fails on VARIANT=base, and if all other cases of its program pass.
"""

import os
import subprocess
import sys

import parts
import tap
from places import PATCHES, ROOT


def listed():
    """{program: cases that must fail}"""
    faults = {}
    with open(os.path.join(PATCHES, "faults"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                program, case = line.split(None, 1)
                faults.setdefault(program, set()).add(case.strip())
    return faults


def failing(program):
    """Which cases of a program fail on the unpatched kernel, and what it printed."""
    command = parts.kselftest("base", "root", program).command
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    cases = [case for case in tap.parse(result.stdout) if not case.passed or case.skipped]
    return {case.name.rpartition(": ")[2] for case in cases}, result.stdout + result.stderr


def main():
    number, bad = 0, 0
    print("TAP version 13")
    for program, wanted in listed().items():
        found, text = failing(program)
        for case in sorted(wanted | found):
            number += 1
            good = case in wanted and case in found
            bad += not good
            print(f"{'ok' if good else 'not ok'} {number} {program} {case}", flush=True)
        if found != wanted:
            print("".join(f"# {line}\n" for line in text.splitlines()[-40:]), end="")
    print(f"1..{number}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
