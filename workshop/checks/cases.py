# SPDX-License-Identifier: GPL-2.0
"""What tests share: results as TAP, functions test_* of a module, the test machine."""

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import traceback

from places import BASE, BUILD, ROOT

VM = (sys.executable, os.path.join(ROOT, "workshop", "qemu", "vm.py"))


def comment(text):
    sys.stdout.writelines(f"# {line}\n" for line in text.splitlines())


class Report:
    """Results as TAP; the plan comes last."""

    def __init__(self):
        self.number = self.failed = 0
        print("TAP version 13", flush=True)

    def case(self, good, name, details=""):
        """One result; the details are for one that is not good."""
        self.number += 1
        self.failed += not good
        if not good:
            comment(details)
        print(f"{'ok' if good else 'not ok'} {self.number} {name}", flush=True)

    def end(self):
        """Returns the exit status."""
        print(f"1..{self.number}", flush=True)
        return 1 if self.failed else 0


def run(module, fixture=contextlib.nullcontext):
    """Run each test in turn. It is called with what the fixture gives, unless that is None.

    `module` is the caller's globals(). Returns the exit status.
    """
    # A shell ignores it in the background, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report()
    for test in [value for name, value in module.items() if name.startswith("test_")]:
        wrong = ""
        try:
            with fixture() as thing:
                test(*([] if thing is None else [thing]))
        except Exception:  # pylint: disable=broad-except
            wrong = traceback.format_exc()
        report.case(not wrong, test.__name__[5:].replace("_", " "), wrong)
    return report.end()


def refused(result, *words):
    """A command failed, with a single line of its own that has all the words."""
    lines = [line for line in result.stderr.splitlines()
             if not line.startswith(("make: ", "make[", "notice: "))]
    assert result.returncode, f"succeeded: {result.stdout}"
    assert len(lines) == 1, f"not one line: {lines}"
    for word in words:
        assert word in lines[0], f"no `{word}` in: {lines[0]}"


@functools.cache
def build_id(path):
    """As readelf prints it; None for files without one, such as those of a locale."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False)
    found = re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)
    return found and found.group(1)


def machine(name, command, *options, **more):
    """Run a command in the test machine, with options of vm.py; logs go to results/NAME."""
    more = {"capture_output": True, "text": True, **more}
    return subprocess.run([*VM, "--results", os.path.join(BUILD, "results", name), *options, "--",
                           *command], check=False, **more)


def run_in_machine(script, name, timeout, variant="plain"):
    """Run a script with --guest in a kernel, on this machine's root; its exit status."""
    return machine(name, ["/usr/bin/python3", os.path.abspath(script), "--guest", variant],
                   "--root", "host", "--memory", "1G", "--timeout", str(timeout),
                   "--variant", variant, "--env", f"BASE={BASE}", capture_output=False).returncode
