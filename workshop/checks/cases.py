# SPDX-License-Identifier: GPL-2.0
"""Run the functions test_* of a module and print the results as TAP."""

import contextlib
import os
import subprocess
import sys
import traceback

from places import BASE, BUILD, ROOT


def run(module, fixture=contextlib.nullcontext):
    """Run each test in turn. It is called with what the fixture gives, unless that is None.

    `module` is the caller's globals(). Returns the exit status.
    """
    tests = [value for name, value in module.items() if name.startswith("test_")]
    print(f"TAP version 13\n1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            with fixture() as thing:
                test(*([] if thing is None else [thing]))
            word = "ok"
        except Exception:  # pylint: disable=broad-except
            word = "not ok"
            failed += 1
            print("# " + traceback.format_exc().replace("\n", "\n# "))
        print(f"{word} {number} {test.__name__[5:].replace('_', ' ')}", flush=True)
    return 1 if failed else 0


def run_in_machine(script, name, timeout, variant="plain"):
    """Run a script with --guest in a kernel, on this machine's root; its exit status."""
    return subprocess.run([sys.executable, os.path.join(ROOT, "workshop", "qemu", "vm.py"),
                           "--root", "host", "--memory", "1G", "--timeout", str(timeout),
                           "--results", os.path.join(BUILD, "results", name),
                           "--variant", variant, "--env", f"BASE={BASE}", "--",
                           "/usr/bin/python3", os.path.abspath(script), "--guest", variant],
                          check=False).returncode
