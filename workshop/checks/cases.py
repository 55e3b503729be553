# SPDX-License-Identifier: GPL-2.0
"""What tests share: results as TAP, functions test_* of a module, the test machine."""

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback

from places import BASE, BUILD, ROOT

from common import read  # pylint: disable=wrong-import-order

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


def table(rows):
    """For a test that is a case for each row: {name of the case: arguments}."""
    def mark(test):
        test.rows = rows
        return test
    return mark


def run(module, fixture=contextlib.nullcontext):
    """Run each test in turn. It is called with what the fixture gives, unless that is None.

    `module` is the caller's globals(). Returns the exit status.
    """
    # A shell ignores it in the background, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report()
    for test in [value for name, value in module.items() if name.startswith("test_")]:
        rows = getattr(test, "rows", {test.__name__[5:].replace("_", " "): ()})
        for name, row in rows.items():
            wrong = ""
            try:
                with fixture() as thing:
                    test(*([] if thing is None else [thing]), *row)
            except Exception:  # pylint: disable=broad-except
                wrong = traceback.format_exc()
            report.case(not wrong, name, wrong)
    return report.end()


def call(*command, **more):
    """Run a command to its end, and keep what it prints as text."""
    return subprocess.run(command, **{"capture_output": True, "text": True, "check": False, **more})


@contextlib.contextmanager
def running(*command, given="", says):
    """A program that has said something, and is killed in the end."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
        try:
            child.stdin.write(given)
            child.stdin.flush()
            assert child.stdout.readline() == says
            yield child
        finally:
            child.kill()


def compile_c(source, path, *flags):
    call("gcc", *flags, "-x", "c", "-", "-o", path, input=source, check=True, capture_output=False)


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
    found = re.search(r"Build ID: ([0-9a-f]+)", call("readelf", "-n", path).stdout)
    return found and found.group(1)


def machine(name, command, *options, **more):
    """Run a command in the test machine, with options of vm.py; logs go to results/NAME."""
    return call(*VM, "--results", os.path.join(BUILD, "results", name), *options, "--", *command,
                **more)


def files_of(name, command, *options):
    """{file: content} of what a command that succeeds writes to /out in the test machine."""
    out = os.path.join(BUILD, "results", name, "out")
    shutil.rmtree(out, ignore_errors=True)
    result = machine(name, command, *options, "--out", out)
    assert result.returncode == 0, f"status {result.returncode}: {result.stderr}"
    return {file: read(os.path.join(out, file), "rb") for file in os.listdir(out)}


def run_in_machine(script, name, timeout, *options, variant="plain"):
    """Run a script with --guest in a kernel, on this machine's root; its exit status."""
    return machine(name, ["/usr/bin/python3", os.path.abspath(script), "--guest", variant],
                   "--root", "host", "--memory", "1G", "--timeout", str(timeout),
                   "--variant", variant, "--env", f"BASE={BASE}", *options,
                   capture_output=False).returncode
