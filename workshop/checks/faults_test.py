#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each fault that a patch mends is there without it: tests fail on the unpatched kernel.

patches/BASE/faults names these cases, FOLDER:PROGRAM CASE a line. One TAP case for each: it is
right if it fails on VARIANT=base, and if all other cases of its program pass.
"""

import os
import sys

import cases
import parts
import tap
from places import PATCHES, ROOT

from common import entries  # pylint: disable=wrong-import-order


def listed():
    """{program: cases that must fail}"""
    faults = {}
    for line in entries(os.path.join(PATCHES, "faults")):
        program, case = line.split(None, 1)
        faults.setdefault(program, set()).add(case)
    return faults


def main():
    report = cases.Report()
    for program, wanted in listed().items():
        result = cases.call(*parts.kselftest("base", "root", program).command, cwd=ROOT)
        found = {case.name.rpartition(": ")[2] for case in tap.parse(result.stdout)
                 if not case.passed or case.skipped}
        for case in sorted(wanted | found):
            report.case(case in wanted & found, f"{program} {case}")
        if found != wanted:
            cases.comment("\n".join((result.stdout + result.stderr).splitlines()[-40:]))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
