#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make torture ends as it should. Results as TAP."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import cases
from places import ROOT
from vm_test import is_alive, qemu_below

QEMU = os.path.join(ROOT, "workshop", "qemu")
# A shell line in place of the program, which gets the seconds as $0
OTHER = "import sys; sys.path.insert(0, {qemu!r}); import torture; " \
        "torture.PROGRAM = {program!r}; " \
        "sys.argv = ['torture', '1', *{variants!r}]; torture.main(torture.command)"
SAYS = "echo ok 1 first; sleep {seconds}; echo ok 2 last; {after}"


def other(line, *variants):
    return [sys.executable, "-c", OTHER.format(qemu=QEMU, program=["sh", "-c", line],
                                               variants=variants or ("plain",))]


def test_a_failure_ends_it_with_the_end_of_the_log():
    result = cases.call(*other(SAYS.format(seconds=1, after="exit 3"), "plain", "other"))
    assert result.returncode == 1 and result.stdout.count("TORTURE") == 1, result
    assert "ok 2 last\nerror: " in result.stderr, result.stderr
    assert re.search(r"status 3; the full log is \S+/torture-plain.log\n$", result.stderr), result


def machines(pid):
    """The QEMU processes below the vm.py that a process started."""
    return [qemu for vm in qemu_below(pid) for qemu in qemu_below(vm)]


def end_with(number, whole_group):
    """Start it, send a signal; returns (status, errors), and fails if something is left behind."""
    with tempfile.TemporaryDirectory() as where:
        with subprocess.Popen(other(SAYS.format(seconds=100, after="")), process_group=0, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=dict(os.environ, TMPDIR=where)) as child:
            end = time.monotonic() + 60
            while not machines(child.pid) and time.monotonic() < end:
                time.sleep(0.2)
            left = qemu_below(child.pid) + machines(child.pid)
            assert len(left) == 2, left
            time.sleep(2)
            (os.killpg if whole_group else os.kill)(child.pid, number)
            _, errors = child.communicate(timeout=30)
        time.sleep(1)
        assert not any(is_alive(pid) for pid in left), "a machine is left behind"
        if number != signal.SIGKILL:
            assert not os.listdir(where), os.listdir(where)
    return child.returncode, errors


def test_ctrl_c_ends_the_machine():
    assert end_with(signal.SIGINT, True) == (130, "interrupted, the machine was stopped\n")


def test_a_signal_ends_the_machine():
    assert end_with(signal.SIGTERM, False) == (130, "interrupted, the machine was stopped\n")


def test_killing_it_ends_the_machine():
    assert end_with(signal.SIGKILL, False)[0] == -signal.SIGKILL


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
