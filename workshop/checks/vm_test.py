#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the test machine: it tells each way to fail from the others. Results as TAP."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock

import cases
from places import BUILD, ROOT

from common import read, write  # pylint: disable=wrong-import-order

NAME = "vm-test"
RESULTS = os.path.join(BUILD, "results", NAME)


def vm(*args, timeout="120"):
    """Run a shell line in the machine; the last argument is the line, the others are options."""
    return cases.machine(NAME, ["sh", "-c", args[-1]], "--timeout", timeout, *args[:-1])


def ended(result, status, *words):
    assert result.returncode == status, f"status {result.returncode}: {result.stderr}"
    for word in words:
        assert word in result.stderr, f"no `{word}` in: {result.stderr}"


def test_output_and_status_of_a_command_come_back():
    result = vm("echo out; echo err >&2; exit 7")
    ended(result, 7)
    assert (result.stdout, result.stderr) == ("out\n", "err\n"), result


def test_much_output_arrives_whole():
    result = vm("seq 100000")
    ended(result, 0)
    assert result.stdout.splitlines() == [str(number) for number in range(1, 100001)]


def test_an_unknown_command_is_told():
    ended(cases.machine(NAME, ["no-such-command"]), 127, "no-such-command")


def test_a_repository_below_tmp_is_there():
    with tempfile.TemporaryDirectory(prefix="vm-test-", dir="/tmp") as top:
        for name in ("workshop", "patches"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(top, name))
        program = os.path.join(top, "program")
        shutil.copy("/bin/true", program)
        result = cases.call(
            sys.executable, os.path.join(top, "workshop", "qemu", "vm.py"), "--root", "host",
            "--kernel", os.path.join(BUILD, "plain", "bzImage"),
            "--initrd", os.path.join(BUILD, "initrd.cpio"), "--", "sh", "-c",
            f"{program} && touch {top}/left_behind")
        ended(result, 0)
        assert not os.path.exists(os.path.join(top, "left_behind")), "the host was written to"


@cases.table({
    "a command killed by a signal is told": ("kill -9 $$", 137),
    "a splat fails a command that succeeds":
        ("echo 'WARNING: CPU: 0 PID: 1 at mm/mmap.c:1 f+0x1/0x2' >/dev/kmsg; sleep 0.2", 120,
         "splat", "mm/mmap.c:1"),
    "a panic is told from a splat": ("echo c >/proc/sysrq-trigger; sleep 100", 121, "panic",
                                     "sysrq triggered crash"),
    "silence is a broken harness": ("echo b >/proc/sysrq-trigger; sleep 100", 123,
                                    "without a verdict"),
})
def test_the_end(line, status, *words):
    ended(vm(line), status, *words)


def test_a_hang_ends_in_time_and_shows_what_the_machine_does():
    start = time.monotonic()
    ended(vm("echo '<6>last words' >/dev/kmsg; echo output; sleep 1000", timeout="20"), 122,
          "ends with\noutput\n", "last words", "sleep", "S: __schedule", "nanosleep")
    assert time.monotonic() - start < 200, "the time limit was not kept"


def test_a_command_can_run_as_an_ordinary_user():
    result = vm("--uid", "1000", "id -u; id -g; touch /x 2>/dev/null || echo refused")
    assert result.stdout == "1000\n1000\nrefused\n", result


def test_the_root_of_the_host_is_there_and_stays_as_it_is():
    probe = f"{ROOT}/build/vm-test-probe"
    result = vm("--root", "host", f"python3 -c 'print(6*7)'; touch {probe} && ls {probe}")
    ended(result, 0)
    assert result.stdout == f"42\n{probe}\n", result
    assert not os.path.exists(probe), "the machine wrote to the host"


def test_files_come_back_from_out():
    assert cases.files_of(NAME, ["sh", "-c", "echo hello >/out/file"]) == {"file": b"hello\n"}


def test_under_icount_a_run_repeats_to_the_instruction():
    line = "cat /proc/uptime"
    first, second = (vm("--accel", "icount", line) for _ in range(2))
    ended(first, 0)
    assert first.stdout == second.stdout, f"{first.stdout} {second.stdout}"


def test_each_processor_has_a_timer_and_a_clock_of_nanoseconds():
    """Also next to programs that keep the host busy while it boots."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        result = vm("cat /sys/devices/system/clocksource/clocksource0/current_clocksource; "
                    "dmesg | grep 'APIC timer disabled'; true")
    finally:
        for child in busy:
            child.kill()
            child.wait()
    ended(result, 0)
    assert result.stdout in ("tsc\n", "tsc-early\n"), result.stdout


def accel_of(*options):
    """How QEMU was told to run two processors, if the environment does not say how."""
    with unittest.mock.patch.dict(os.environ, ACCEL=""):
        result = vm(*options, "nproc")
    ended(result, 0)
    assert result.stdout == "2\n", result
    command = json.loads(read(os.path.join(RESULTS, "command.json")))
    return command[command.index("-accel") + 1]


def test_a_kernel_with_probes_runs_in_one_thread():
    with tempfile.TemporaryDirectory() as where:
        kernel = shutil.copy(os.path.join(BUILD, "plain", "bzImage"), where)
        write(os.path.join(where, ".config"), "CONFIG_KPROBES=y\n")
        assert accel_of("--kernel", kernel) == "tcg,thread=single"
        assert accel_of("--kernel", kernel, "--accel", "multi") == "tcg,thread=multi"
    assert accel_of() == "tcg,thread=multi"


def test_a_missing_kernel_is_one_line():
    result = cases.machine(NAME, ["true"], "--kernel", "/nonexistent")
    ended(result, 123, "/nonexistent")
    assert len(result.stderr.splitlines()) == 1, result.stderr


def qemu_below(pid):
    """QEMU processes that a process started."""
    return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]


def end_with(number):
    """Start a machine, send a signal to the runner, return (status, QEMU is gone)."""
    with subprocess.Popen([*cases.VM, "--results", RESULTS, "--", "sleep", "100"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        children = []
        while not children and child.poll() is None:
            time.sleep(0.2)
            children = qemu_below(child.pid)
        time.sleep(1)
        child.send_signal(number)
        status = child.wait(20)
    time.sleep(1)
    return status, not any(is_alive(pid) for pid in children)


def is_alive(pid):
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ctrl_c_ends_the_machine():
    assert end_with(signal.SIGINT) == (130, True)


def test_killing_the_runner_ends_the_machine():
    assert end_with(signal.SIGKILL) == (-signal.SIGKILL, True)


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
