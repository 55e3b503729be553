#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run checks and count; usage: run.py [--beside 'NAME...'] NAME...

Each NAME is a target check-NAME of the Makefile. What it prints goes to check-NAME.log of build/log.
If that is TAP, each of its cases counts. Otherwise the check is one case, by its exit status. A
skipped case fails unless workshop/checks/skips lists it. The last line is the verdict.

The checks that --beside names run one after the other, at the same time as the rest: a test machine
leaves one of two processors idle most of the time. Whoever is done first takes over from the other.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import signal
import subprocess
import sys
import threading
import time

import tap
from places import LOGS, ROOT

from common import Progress  # pylint: disable=wrong-import-order

TROUBLE = re.compile(r"vm: (?!the emulator failed)")
FAILED = re.compile(r"[# ]*not ok ")


def allowed_skips():
    """(check, case) patterns that may be skipped."""
    with open(os.path.join(ROOT, "workshop", "checks", "skips"), encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [tuple(line.split(None, 1)) for line in lines if line]


def is_allowed(check, case, allowed):
    return any(fnmatch.fnmatch(check, left) and fnmatch.fnmatch(case, right)
               for left, right in allowed)


def cases_of(name, status, text):
    """The counted cases of one check."""
    if not any(line.startswith("TAP version ") for line in text.splitlines()):
        return [tap.Case(name, status == 0, False)]
    cases = tap.parse(text)
    if status and all(case.passed for case in cases):
        cases.append(tap.Case(f"exit status {status} although all cases passed", False, False))
    return cases


def show_failure(name, bad, log, text):
    print(f"  FAIL    {name}, log: {os.path.relpath(log, ROOT)}")
    for case in bad[:20]:
        if case.name != name:
            print(f"            {case.name}{' (skipped)' if case.skipped else ''}")
    for line in telling_lines(text):
        print(f"          | {line}")


def telling_lines(text):
    """Of a log: what the test machine said of itself, from its first line on; else what was printed
    before the first case failed; else the last lines."""
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines) if TROUBLE.match(line)), None)
    if begin is not None:
        return lines[begin:begin + 40]
    end = next((number for number, line in enumerate(lines) if FAILED.match(line)), len(lines) - 1)
    return lines[max(0, end - 24):end + 1]


class Work:
    """What is left to do for each lane, in order."""

    def __init__(self, names):
        self.left = [list(some) for some in names]
        self.total = sum(map(len, names))
        self.taking = threading.Lock()

    def take(self, lane):
        """The next check of a lane, or of another one; None if there is nothing more."""
        with self.taking:
            for names in self.left[lane:] + self.left[:lane]:
                if names:
                    return names.pop(0)
        return None


class Lane:
    """Checks that run one after the other; failures and output of lanes do not mix."""

    printing = threading.Lock()
    progress = Progress()

    def __init__(self, number, work, allowed):
        self.number, self.work, self.allowed = number, work, allowed
        self.counts = [0, 0, 0]
        self.done, self.now = 0, None
        self.starting = threading.Lock()
        self.make = None
        self.stopped = False

    def run(self):
        while name := self.work.take(self.number):
            self.now = (name, time.monotonic())
            for number, count in enumerate(self.check(name)):
                self.counts[number] += count
            self.done += 1
        self.now = None

    def run_make(self, name, log):
        """Returns the status; make has a process group of its own, so that Ctrl-C comes here alone."""
        with open(log, "wb") as out:
            with self.starting:
                if self.stopped:
                    return None
                self.make = subprocess.Popen(  # pylint: disable=consider-using-with
                    ["make", "--no-print-directory", "-s", f"check-{name}"], cwd=ROOT,
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, process_group=0)
            return self.make.wait()

    def stop(self):
        """End what a check has started, as Ctrl-C does."""
        with self.starting:
            self.stopped = True
            if self.make and self.make.poll() is None:
                os.killpg(self.make.pid, signal.SIGINT)

    def check(self, name):
        """Returns (passed, failed, skipped)."""
        log = os.path.join(LOGS, f"check-{name}.log")
        start = time.monotonic()
        status = self.run_make(name, log)
        if self.stopped:
            return 0, 0, 0
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        cases = cases_of(name, status, text)
        bad = [case for case in cases if not case.passed or
               case.skipped and not is_allowed(name, case.name, self.allowed)]
        skipped = [case for case in cases if case.skipped and case not in bad]
        took = f"{time.monotonic() - start:.0f} s"
        with self.printing:
            self.progress.end()
            if bad:
                show_failure(name, bad, log, text)
            elif len(cases) > 1:
                more = f", {len(skipped)} skipped" if skipped else ""
                print(f"  PASS    {name} ({len(cases) - len(skipped)} cases{more}, {took})")
            else:
                print(f"  PASS    {name} ({took})")
            sys.stdout.flush()
        return len(cases) - len(bad) - len(skipped), len(bad), len(skipped)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, usage="run.py [--beside 'NAME...'] NAME...",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", default="", help="those of the names that run beside the others")
    parser.add_argument("names", nargs="+", metavar="NAME")
    args = parser.parse_args()
    return [[name for name in args.names if (name in args.beside.split()) == beside]
            for beside in (False, True)]


def show_progress(lanes, total):
    """How many checks are done, and what runs since when."""
    now = time.monotonic()
    running = [f"{name} ({int(now - start) // 60} min)"
               for name, start in (lane.now for lane in lanes if lane.now)]
    with Lane.printing:
        Lane.progress.tell(f"{sum(lane.done for lane in lanes)} of {total} done, now "
                           f"{' and '.join(running)}")


def wait_for_all(runs, lanes, total):
    left = runs
    while left:
        done, left = concurrent.futures.wait(left, Lane.progress.pause,
                                             concurrent.futures.FIRST_COMPLETED)
        for run in done:
            run.result()
        if not done:
            show_progress(lanes, total)


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    os.makedirs(LOGS, exist_ok=True)
    allowed = allowed_skips()
    work = Work(parse())
    lanes = [Lane(number, work, allowed) for number in range(len(work.left))]
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        runs = [pool.submit(lane.run) for lane in lanes]
        try:
            wait_for_all(runs, lanes, work.total)
        except BaseException as reason:
            for lane in lanes:
                lane.stop()
            if not isinstance(reason, KeyboardInterrupt):
                raise
            print("interrupted")
            sys.exit(130)
    Lane.progress.end()
    total = [sum(counts) for counts in zip(*(lane.counts for lane in lanes))]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()
