#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel with its KUnit tests on, and turn their report into TAP; usage: kunit.py VARIANT"""

import os
import re
import sys

import cases
from places import BUILD

import console  # pylint: disable=wrong-import-order
from common import read  # pylint: disable=wrong-import-order

# Cases are indented by four columns; deeper lines are the parameters of one case.
REPORT = re.compile(r"^(    )?(# |not ok |ok |1\.\.\d)")


def report(text):
    """The lines of the report; the kernel indents those of a suite, which become comments."""
    started = False
    for line in console.lines(text):
        if not started:
            started = re.match(r"K?TAP version ", line) is not None
        elif REPORT.match(line):
            yield line if not line.startswith(" ") else f"# {line.strip()}"


def main():
    variant = sys.argv[1]
    status = cases.machine(f"kunit-{variant}", ["true"], "--variant", variant, "--memory", "2G",
                           "--timeout", "3600", "--append", "kunit.enable=1",
                           capture_output=False).returncode
    print("TAP version 13")
    log = read(os.path.join(BUILD, "results", f"kunit-{variant}", "console.log"), "rb")
    for line in report(log.decode(errors="replace")):
        print(line)
    sys.exit(status)


if __name__ == "__main__":
    main()
