#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make test T=...: build what has changed and run kselftests by name; usage: test.py NAME...

NAME is FOLDER/PROGRAM or PROGRAM, below tools/testing/selftests, or its source: both sizes run, or with _32 only
that one. Or it is a file of the kernel: then the programs run that cover it, by the table of
workshop/README.md. VARIANT chooses the kernel.
"""

import fnmatch
import os
import subprocess
import sys

import covers
import needs
import parts
from places import BUILD, ROOT

import tree  # pylint: disable=wrong-import-order
from common import Failure, main, read  # pylint: disable=wrong-import-order


def make(*wanted):
    needs.run_packages([group for need in wanted for group in needs.packages(need)] + ["vm"])
    tree.make_tree()
    for need in wanted:
        if subprocess.run(needs.command(need), cwd=ROOT, check=False).returncode:
            sys.exit(1)


def programs_of(name, there):
    """FOLDER:PROGRAM of what is installed, for one argument."""
    name = name.removeprefix("tools/testing/selftests/").removesuffix(".c")
    folder, _, program = name.rpartition("/")
    found = [test for test in there
             if fnmatch.fnmatch(test.partition(":")[2], program) or
             fnmatch.fnmatch(test.partition(":")[2], f"{program}_32")]
    if folder:
        found = [test for test in found if test.partition(":")[0] == folder]
    if not found:
        raise Failure(f"no kselftest is named {name}, and no row of the table in workshop/README.md "
                      f"covers such a file; there are {' '.join(sorted(there))}")
    return found


def resolve(names, there):
    """The programs to run, and the parts of `make check` to run beside them."""
    tests, others = [], []
    for name in names:
        row = covers.row_of(name)
        for word in row or [name]:
            if word in {part.name for part in parts.PARTS}:
                others.append(word)
            else:
                tests += programs_of(word, there)
    return list(dict.fromkeys(tests)), others


def command():
    names = sys.argv[1:]
    if not names:
        raise Failure("say which: make test T=procmap/procmap_scan_test, or T=fs/proc/procmap_scan.c")
    variant = os.environ.get("VARIANT") or "plain"
    arm = variant == "arm64"
    make("guest:arm64" if arm else parts.GUEST, f"kernel:{variant}")
    installed = os.path.join(BUILD, "kselftest-arm64" if arm else "kselftest", "kselftest-list.txt")
    tests, others = resolve(names, read(installed).split())
    status = 0
    if tests:
        part = parts.kselftest(variant, "root", *tests)
        status = subprocess.run(part.command, cwd=ROOT, check=False).returncode
    if others:
        status |= subprocess.run([sys.executable, os.path.join(ROOT, parts.CHECKS, "run.py"), *others],
                                 cwd=ROOT, check=False).returncode
    return 1 if status else 0


if __name__ == "__main__":
    main(command)
