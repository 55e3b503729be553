#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Verify the model of per-VMA locks; usage: run.py [--traces] [--litmus] [NAME...]

Each scenario must hold in all its states. Then each rule and each check that the
model has is taken away, one at a time, and the verifier must find a
counterexample: the shortest one is counted, and shown with --traces. NAME is a
scenario, or NO_something. --litmus checks litmus/ as well.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "vma_lock.pml")
FAST = ["-O1", "-DSAFETY"]
SMALL = FAST + ["-DCOLLAPSE"]   # takes longer, and less memory
SHORTEST = ["-O0", "-DSAFETY", "-DBFS"]

# Name, what else is defined, and what is taken away. What is not needed alone has a reason.
SCENARIOS = [
    ("LOCK", "", ["NO_WRITE_LOCK", "NO_WAIT", "NO_SEQ_FIRST", "NO_WRITER_ADD",
                  "NO_READERS_KEPT", "NO_WAITING", "NO_QUEUE_FIRST", "NO_WAKE_UP",
                  "NO_WRITE_LOCK_TESTED", "NO_READER_CMPXCHG"]),
    ("LOCK", "READERS=1", ["NO_FULL_TESTED"]),
    ("REUSE", "", ["NO_DETACH", "NO_DETACHED_TESTED", "NO_RELEASE_DETACH", "NO_RELEASE_WAIT",
                   "NO_WORD_KEPT", "NO_FIELDS_FIRST", "NO_SPACE_TESTED", "NO_EXCHANGE_FIRST"]),
    ("SEARCH", "", ["NO_WRITE_LOCK", "NO_SEQ_EVEN", "NO_SEQ_CONFIRM", "NO_START_CONFIRM",
                    "NO_TEST_AGAIN", "NO_START_TESTED", "NO_STORES", "NO_STORES_EVEN",
                    "NO_STORES_SAME", "NO_NOTE", "NO_NOTE_FIRST", "NO_RANGE_GROWS", "NO_RANGES",
                    "NO_HOLE_SEQ"]),
    ("END", "SEARCHERS=2", ["NO_USERS_CONFIRM", "NO_USERS_TREE", "NO_USERS_FIRST", "NO_RCU",
                            "NO_RELEASE_FIRST", "NO_RELEASE_DETACH", "NO_RELEASE_WAIT"]),
    ("WALK", "", ["NO_SECTION_FIRST", "NO_GRACE_PERIOD", "NO_SEQ_IN_SECTION", "NO_USERS_FIRST",
                  "NO_KEPT_SEQ"]),
    ("VISIT", "", ["NO_VISIT_END", "NO_VISIT_COUNT", "NO_USERS_AFTER_COUNT"]),
    ("GENERATION", "", ["NO_NOTE_AT_WRITE_LOCK", "NO_NOTE_AT_ATTACH", "NO_NOTE_OF_MPROTECT",
                        "NO_NOTE_FIRST", "NO_ATTACH_SECTION", "NO_CODE_BEGUN_TESTED", "NO_KEPT"]),
    ("HELD", "", ["NO_WRITE_LOCK_FIRST", "NO_HELD_WRITE_LOCKED"]),
]

# The model holds without these. They are in the code for the reason that is given.
NOT_NEEDED = [
    ("LOCK", "", "NO_WAITING_CLEARED", "it saves wake-ups"),
    ("LOCK", "", "NO_EXCHANGE_FIRST", "words differ in one address space, so the exchange confirms"),
    ("GENERATION", "SECTIONS=2", "NO_SEQ_BEFORE_CODE", "the comparison at the end finds out"),
    ("SEARCH", "OPS=1", "NO_ATTACH_FIRST", "a VMA that is not attached looks write-locked"),
    ("SEARCH", "OPS=1", "NO_RESET_AFTER_SEQ", "the end of the last section changed the sequence"),
]


class Broken(Exception):
    """A tool failed."""


def run(command, where):
    result = subprocess.run(command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    return result.returncode, result.stdout


def defines(scenario, *more):
    words = [word for text in more for word in text.replace("+", " ").split()]
    return [f"-DSCENARIO_{scenario}"] + [f"-D{word}" for word in words]


def verify(where, flags, options):
    """Returns the number of states, that of errors, and the steps of the counterexample."""
    for command in (["spin", "-a"] + flags + [MODEL], ["gcc", "-w"] + options + ["-opan", "pan.c"]):
        status, output = run(command, where)
        if status:
            raise Broken(output)
    _, output = run(["./pan", "-m2000000"], where)
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    if not errors or not states or "max search depth too small" in output or \
       "out of memory" in output or "Search not completed" in output and errors[1] == "0":
        raise Broken(output)
    depth = re.search(r"\(at depth (\d+)\)", output)
    memory = re.search(r"([\d.]+)\s+total actual memory", output)
    return {"states": int(states[1]), "errors": int(errors[1]),
            "steps": int(depth[1]) if depth else 0,
            "memory": float(memory[1]) if memory else 0}


def trace(where, flags):
    """What the model says on the way to the error, and the error."""
    _, output = run(["spin", "-t", "-k", "vma_lock.pml.trail"] + flags + [MODEL], where)
    lines = [line.strip() for line in output.split("\n")]
    said = [line for line in lines if re.match(r"(writer|reader|visitor|last user)\b.*:", line)]
    failed = [line for line in lines if "failed assertion" in line]
    return said + (failed or ["nobody can go on"])


class Checks:
    """Counts what passes and what fails."""

    def __init__(self, traces):
        self.passed = self.failed = 0
        self.traces = traces

    def say(self, good, text):
        self.passed += good
        self.failed += not good
        print(("" if good else "FAIL: ") + text, flush=True)

    def one(self, name, scenario, more, removed, reason=None):
        """Verify one variant; @removed must fail, unless there is a reason why not."""
        title = " ".join([scenario] + more.split())
        flags = defines(scenario, more, removed)
        full = not removed or reason
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="vma_lock.") as where:
            try:
                result = verify(where, flags, SHORTEST if not full else
                                SMALL if scenario == "SEARCH" else FAST)
            except Broken as error:
                self.say(False, f"{title} {removed}: {error}")
                return
            cost = f"{result['states']} states, {time.monotonic() - begin:.1f} s"
            if not removed:
                verdict = name if result["errors"] else "holds"
                self.say(not result["errors"], f"{title}: {verdict} ({cost}, "
                         f"{result['memory']:.0f} MB)")
            elif reason:
                self.say(not result["errors"], f"{title} without {removed}: holds: {reason}")
            else:
                self.say(result["errors"], f"{title} without {removed}: " +
                         (f"counterexample in {result['steps']} steps" if result["errors"]
                          else f"no counterexample ({cost})"))
            if result["errors"] and (self.traces or full):
                print("".join(f"    {line}\n" for line in trace(where, flags)), end="")


def main():
    parser = argparse.ArgumentParser(description="Verify the model of per-VMA locks")
    parser.add_argument("--traces", action="store_true", help="show the counterexamples")
    parser.add_argument("--litmus", action="store_true", help="check litmus/, too")
    parser.add_argument("name", nargs="*", help="only this scenario, or this removal")
    args = parser.parse_args()
    checks = Checks(args.traces)

    def wanted(*names):
        return not args.name or any(name in args.name for name in names)

    for scenario, more, removals in SCENARIOS:
        if wanted(scenario):
            checks.one("does not hold", scenario, more, "")
        for removed in removals:
            if wanted(scenario, removed):
                checks.one("", scenario, more, removed)
    for scenario, more, removed, reason in NOT_NEEDED:
        if wanted(scenario, removed):
            checks.one("", scenario, more, removed, reason)
    if args.litmus:
        paths = sorted(os.path.join(HERE, "litmus", name)
                       for name in os.listdir(os.path.join(HERE, "litmus")))
        status, output = run([sys.executable, os.path.join(HERE, "litmus.py")] + paths, HERE)
        counts = re.search(r"(\d+) passed, (\d+) failed\n\Z", output)
        print("\n".join(line for line in output.split("\n") if line.startswith("FAIL")), end="")
        checks.passed += int(counts[1]) if counts else 0
        checks.failed += int(counts[2]) if counts else 1
        print(f"litmus tests: {counts[0].strip() if counts else f'ended with status {status}'}")
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
