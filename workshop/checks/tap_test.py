#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what judges all other tests: the readers of TAP and console, and what runs the parts."""

import argparse
import os
import re
import sys
import tempfile
import unittest
import unittest.mock

import needs
import run
import tap
from parts import Part

import console  # pylint: disable=wrong-import-order

INNER = "# selftests: a: b\n# TAP version 13\n# 1..2\n# ok 1 x\n"


def judged(text):
    """(passed, failed, skipped) of a stream after its header."""
    cases = tap.parse("TAP version 13\n" + text)
    return (sum(case.passed and not case.skipped for case in cases),
            sum(not case.passed for case in cases), sum(case.skipped for case in cases))


# What counts as passed, failed and skipped: (why, stream after its header, counts)
COUNTS = (
    ("inner cases count instead of their program",
     f"1..1\n{INNER}# ok 2 y\nok 1 a: b\n", (2, 0, 0)),
    ("a failed case fails", f"1..1\n{INNER}# not ok 2 y\nnot ok 1 a: b # exit=1\n", (1, 1, 0)),
    ("a skipped case is a skip", f"1..1\n{INNER}# ok 2 # SKIP no root\nok 1 a: b\n", (1, 0, 1)),
    ("an expected failure is a failure", f"1..1\n{INNER}# ok 2 # XFAIL y\nok 1 a: b\n", (1, 1, 0)),
    ("a program without cases counts itself",
     "1..2\nok 1 a: b\nnot ok 2 a: c # exit=1\n", (1, 1, 0)),
    ("a skipped program is a skip", "1..1\nok 1 a: b # SKIP\n", (0, 0, 1)),
    ("a short program fails", f"1..1\n{INNER}ok 1 a: b\n", (1, 1, 0)),
    ("a crash after the last case fails",
     f"1..1\n{INNER}# ok 2 y\nnot ok 1 a: b # exit=139\n", (2, 1, 0)),
    ("an end inside a program fails", f"1..1\n{INNER}", (0, 3, 0)),
    ("missing programs fail", "1..2\nok 1 a: b\n", (1, 1, 0)),
    ("a missing plan fails", "ok 1 a: b\n", (1, 1, 0)),
    ("silence fails", "", (0, 1, 0)),
    ("the same number twice fails", "1..2\nok 1 a\nok 1 b\n", (2, 1, 0)),
    ("each collection has its plan", "1..1\nok 1 a\nTAP version 13\n1..1\nok 1 b\n", (2, 0, 0)),
    ("each collection has its plan", "1..2\nok 1 a\nTAP version 13\n1..1\nok 1 b\n", (2, 1, 0)),
)


class Tap(unittest.TestCase):
    """Reading TAP."""

    def test_what_counts(self):
        for why, text, counts in COUNTS:
            with self.subTest(why):
                self.assertEqual(judged(text), counts)

    def test_a_skip_is_known_by_its_reason(self):
        for line in ("ok 1 # SKIP y: no root", "ok 1 x.y # SKIP y: no root", "ok 1 x.y # SKIP no root"):
            case, = tap.parse(f"TAP version 13\n1..1\n# 1..1\n# {line}\nok 1 a: b\n")
            self.assertTrue(case.matches("a: b: *: no root"), case.name)
            self.assertFalse(case.matches("a: b: *: no cgroup"), case.name)


SPLATS = """\
WARNING: CPU: 0 PID: 42 at mm/mmap.c:100 vma_lock+0x10/0x20
WARNING: possible circular locking dependency detected
WARNING: suspicious RCU usage
BUG: KASAN: use-after-free in find_vma+0x1/0x2
BUG: KCSAN: data-race in a / b
BUG: sleeping function called from invalid context at mm/util.c:1
BUG: kernel NULL pointer dereference, address: 0000000000000000
BUG: Bad rss-counter state mm:00000000 type:MM_ANONPAGES val:1
BUG: unable to handle page fault for address: ffffffff
kernel BUG at mm/vma_lock.c:1!
general protection fault, probably for non-canonical address
INFO: task cat:12 blocked for more than 120 seconds.
rcu: INFO: rcu_sched self-detected stall on CPU
watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [cat:12]
UBSAN: shift-out-of-bounds in lib/x.c:1:2
unreferenced object 0xffff888 (size 64):
refcount_t: underflow; use-after-free.
""".splitlines()


class Choice(unittest.TestCase):
    """Which parts run."""

    def names(self, base, *names):
        args = argparse.Namespace(names=list(names), all=False)
        with unittest.mock.patch.object(run, "BASE", base):
            return [part.name for part in run.chosen(args)]

    def test_what_takes_nothing_of_a_kernel_runs_with_the_first_base_only(self):
        first, other = self.names(run.default_base()), self.names("another")
        self.assertEqual(set(first) - set(other),
                         {part.name for part in run.parts.PARTS if part.once and part.every})
        self.assertIn("spdx", first)
        self.assertIn("kunit", other)
        self.assertEqual(self.names("another", "spdx"), ["spdx"])


class Runs(unittest.TestCase):
    """Which parts run, when, and what they leave."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = holder.name
        for module, name in ((run, "BUILD"), (run, "LOGS"), (needs, "ROOT")):
            self.replace(module, name, self.top)
        self.replace(needs, "run_packages", lambda groups: None)
        self.replace(needs, "command", lambda need: ("sh", "-c", self.makes[need]))
        self.replace(run.Lane, "tell", lambda lane, text: self.said.append(text))
        self.makes, self.said = {}, []

    def replace(self, where, name, value):
        patch = unittest.mock.patch.object(where, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def run_parts(self, *parts):
        return tuple(run.run_jobs(list(parts), {part.name: "key" for part in parts}))

    def shell(self, name, line, *needed, machine=False):
        return Part(name, ("sh", "-c", line.replace("@", self.top)), needed, machine=machine)

    def test_a_part_starts_when_what_it_needs_is_made(self):
        self.makes["kernel:plain"] = f"sleep 0.2; touch {self.top}/made"
        parts = [self.shell(f"{name}", "test -e @/made", "kernel:plain", machine=name == "a")
                 for name in "abc"]
        self.assertEqual(self.run_parts(*parts), (3, 0, 0))

    def test_without_what_it_needs_it_fails_and_does_not_run(self):
        self.makes["guest"] = "exit 1"
        parts = self.shell("a", "touch @/ran", "guest"), self.shell("b", "true")
        self.assertEqual(self.run_parts(*parts), (1, 2, 0))
        self.assertFalse(os.path.exists(os.path.join(self.top, "ran")))
        self.assertIn("  NOT RUN a: no guest", self.said)

    def test_a_status_and_a_failed_case_fail(self):
        tell = "echo TAP version 13; echo 1..2; echo ok 1 a; echo "
        parts = (self.shell("a", "exit 1"), self.shell("b", f"{tell} ok 2 b; exit 1"),
                 self.shell("c", f"{tell} not ok 2 b"), self.shell("d", f"{tell} 'ok 2 b # SKIP x'"))
        self.assertEqual(self.run_parts(*parts), (4, 4, 0))

    def test_only_what_passed_with_the_same_key_holds(self):
        self.run_parts(self.shell("good", "true"), self.shell("bad", "false"))
        records = run.Records()
        self.assertTrue(records.holds("good", "key"))
        for name, key in ("good", "other"), ("bad", "key"), ("never", "key"):
            self.assertFalse(records.holds(name, key), name)

    def test_a_part_of_which_a_choice_ran_has_not_passed(self):
        with unittest.mock.patch.dict(os.environ, CONFIGS="one"):
            self.run_parts(self.shell("configs", "true"), self.shell("points", "true"))
        self.assertEqual(run.Records().get("configs"), {})
        self.assertTrue(run.Records().holds("points", "key"))

    def key(self, part, **files):
        for name, text in files.items():
            os.makedirs(os.path.join(self.top, name), exist_ok=True)
            with open(os.path.join(self.top, name, "file"), "w", encoding="ascii") as file:
                file.write(text)
        self.replace(needs, "repository_files", lambda *_: [f"{name}/file" for name in files])
        return needs.Keys().part(part)

    def test_a_key_depends_on_the_inputs_of_a_part_and_on_its_command(self):
        part = Part("a", ("true",), inputs=("mm", "fs/file"))
        first = self.key(part, mm="1", fs="1", lib="1")
        self.assertEqual(self.key(part, mm="1", fs="1", lib="2"), first)
        self.assertNotEqual(self.key(part, mm="2", fs="1", lib="1"), first)
        self.assertNotEqual(self.key(part, mm="1", fs="2", lib="1"), first)
        self.assertNotEqual(self.key(part, mm="1", lib="1"), first)
        other = Part("a", ("false",), inputs=part.inputs)
        self.assertNotEqual(self.key(other, mm="1", fs="1", lib="1"), first)


class Console(unittest.TestCase):
    """Which lines of the console are splats."""

    def test_splats_are_found(self):
        for line in SPLATS:
            text = console.find_splat(f"[    0.1] x\n[    1.234567][   T12] {line}\r\n y\n")
            self.assertIsNotNone(text, line)
            self.assertTrue(text.startswith(line), text)

    def test_a_known_splat_is_passed_over_and_the_next_is_found(self):
        race = "=====\nBUG: KCSAN: data-race in {} / {}\n\nread to 0xf of 8 bytes\n=====\n"
        text = race.format("a", "b") + race.format("c", "d")
        known = [re.compile("data-race in a / b$")]
        self.assertIn("c / d", console.find_splat(text, known))
        self.assertIsNone(console.find_splat(race.format("a", "b"), known))

    def test_a_fault_of_the_emulator_is_told_from_one_of_the_kernel(self):
        begin = "[    0.5] sched_clock: Marking stable (1, 2)->(3, 4)\r\n"
        dead = "[    0.6] int3: 0000 [#1] SMP\n[    0.6] Kernel panic - not syncing: Fatal\n"
        init = "[    0.6] Run /init as init process\n"
        self.assertTrue(console.emulator_fault(begin))
        self.assertTrue(console.emulator_fault(begin + dead))
        for text in ("", begin + init, begin + init + dead, begin + "[ 0.6] Oops: 0000 [#1] SMP\n"):
            self.assertFalse(console.emulator_fault(text), text)
        self.assertTrue(console.emulator_fault("", crashed=True))
        self.assertFalse(console.emulator_fault(begin + init, crashed=True))


def main():
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
