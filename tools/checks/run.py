#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run checks and count; usage: run.py NAME...

Each NAME is a target check-NAME of the Makefile. What it prints goes to build/log/check-NAME.log.
When that is TAP, each of its cases counts, otherwise the check is one case, by its exit status. A
skipped case fails unless tools/checks/skips lists it. The last line is the verdict.
"""

import fnmatch
import os
import signal
import subprocess
import sys
import time

import tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = os.path.join(ROOT, "build", "log")


def allowed_skips():
    """(check, case) patterns that may be skipped."""
    with open(os.path.join(ROOT, "tools", "checks", "skips"), encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    return [tuple(line.split(None, 1)) for line in lines if line]


def is_allowed(check, case, allowed):
    return any(fnmatch.fnmatch(check, left) and fnmatch.fnmatch(case, right)
               for left, right in allowed)


def run_make(name, log):
    """Run one check; Ctrl-C reaches it as well and then ends this program."""
    with open(log, "wb") as out:
        with subprocess.Popen(["make", "--no-print-directory", "-s", f"check-{name}"], cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT) as make:
            try:
                return make.wait()
            except KeyboardInterrupt:
                make.send_signal(signal.SIGTERM)
                make.wait()
                raise


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
    for line in text.splitlines()[-15:]:
        print(f"          | {line}")


def run_check(name, allowed):
    """Returns (passed, failed, skipped)."""
    log = os.path.join(LOGS, f"check-{name}.log")
    start = time.monotonic()
    status = run_make(name, log)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    cases = cases_of(name, status, text)
    bad = [case for case in cases if not case.passed or
           case.skipped and not is_allowed(name, case.name, allowed)]
    skipped = [case for case in cases if case.skipped and case not in bad]
    took = f"{time.monotonic() - start:.0f} s"
    if bad:
        show_failure(name, bad, log, text)
    elif len(cases) > 1:
        more = f", {len(skipped)} skipped" if skipped else ""
        print(f"  PASS    {name} ({len(cases) - len(skipped)} cases{more}, {took})")
    else:
        print(f"  PASS    {name} ({took})")
    sys.stdout.flush()
    return len(cases) - len(bad) - len(skipped), len(bad), len(skipped)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: run.py NAME...")
    os.makedirs(LOGS, exist_ok=True)
    allowed = allowed_skips()
    total = [0, 0, 0]
    try:
        for name in sys.argv[1:]:
            for number, count in enumerate(run_check(name, allowed)):
                total[number] += count
    except KeyboardInterrupt:
        print("interrupted")
        sys.exit(130)
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()
