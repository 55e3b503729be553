#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make check and make check-all: run parts and count; usage: run.py [options] [NAME...]

Without a name it runs the parts that belong to `make check`, with --all all parts; a NAME may be a
pattern. What a part has passed is not run again until something changes that decides its result;
the cases that passed then count. --fresh runs all the same. --status runs nothing, and says of each
part on which commit it passed, and whether that still holds.

What a part prints goes to check-NAME.log of build/log. If that is TAP, each of its cases counts.
Otherwise the part is one case, by its exit status. A skipped case fails unless workshop/checks/skips
lists it. The last line is the verdict.

Parts that boot a machine run one after the other, all others next to them: a machine leaves one of
two processors idle most of the time. The lane that is done first takes over from the other one.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import signal
import subprocess
import threading
import time

import needs
import parts
import tap
from places import BASE, BUILD, LOGS, ROOT

import tree  # pylint: disable=wrong-import-order
from common import (Failure, Progress, default_base, entries,  # pylint: disable=wrong-import-order
                    main, read, say, write)

TROUBLE = re.compile(r"vm: (?!the emulator failed)")
FAILED = re.compile(r"[# ]*not ok ")
FIRST, OTHER = 0, 1


def cases_of(name, status, text):
    if not any(line.startswith("TAP version ") for line in text.splitlines()):
        return [tap.Case(name, status == 0, False)]
    cases = tap.parse(text)
    if status and all(case.passed for case in cases):
        cases.append(tap.Case(f"exit status {status} although all cases passed", False, False))
    return cases


def telling_lines(text):
    """Of a log: what the test machine said of itself, from its first line on; else what was printed
    before the first case failed; else the last lines."""
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines) if TROUBLE.match(line)), None)
    if begin is not None:
        return lines[begin:begin + 40]
    end = next((number for number, line in enumerate(lines) if FAILED.match(line)), len(lines) - 1)
    return lines[max(0, end - 24):end + 1]


class Records:
    """What each part did the last time, below build/BASE/passed."""

    @staticmethod
    def path(name):
        return os.path.join(BUILD, "passed", f"{name}.json")

    def get(self, name):
        try:
            return json.loads(read(self.path(name)))
        except (FileNotFoundError, ValueError):
            return {}

    def put(self, name, key, counts, took):
        write(self.path(name), json.dumps({
            "key": key, "counts": counts, "took": times(took), "commit": commit(),
            "when": time.strftime("%Y-%m-%d %H:%M")}))

    def holds(self, name, key):
        """Did the part pass with what there is now?"""
        record = self.get(name)
        return record.get("key") == key and not record["counts"][1]


def commit():
    """The commit of this repository, with a + if files differ from it."""
    def git(*words):
        return subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, *words], check=False,
                              capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else "")


# What chooses within a part: what passed then is not all of it.
CHOICES = {"configs": "CONFIGS", "points": "POINTS"}

# A part to run, or something to make before
Job = collections.namedtuple("Job", "name command after part", defaults=(None,))


def jobs_for(todo):
    """The jobs of each lane: what parts need comes first, the kernel that most wait for before all."""
    wanted = dict.fromkeys(need for part in todo for need in part.needs if needs.command(need))
    lanes = [[], []]
    for need in wanted:
        lanes[FIRST if need == parts.PLAIN else OTHER].append(Job(need, needs.command(need), ()))
    for part in todo:
        after = tuple(need for need in part.needs if need in wanted)
        lanes[FIRST if part.machine else OTHER].append(Job(part.name, part.command, after, part))
    return lanes


class Work:
    """What is left to do for each lane, in order."""

    def __init__(self, lanes):
        self.left = lanes
        self.total = sum(map(len, lanes))
        self.made, self.failed = set(), set()
        self.change = threading.Condition()

    def next_of(self, lane):
        """A job that can start, and whether there may be one later; waits for none."""
        for jobs in self.left[lane:] + self.left[:lane]:
            for job in jobs:
                if self.made.issuperset(job.after) or self.failed.intersection(job.after):
                    jobs.remove(job)
                    return job, True
        return None, any(self.left)

    def take(self, lane):
        """The next job of a lane, or of another one; None if there is nothing more."""
        with self.change:
            while True:
                job, more = self.next_of(lane)
                if job or not more:
                    return job
                self.change.wait()

    def end(self, job, good):
        with self.change:
            (self.made if good else self.failed).add(job.name)
            self.change.notify_all()

    def missing(self, job):
        return [need for need in job.after if need in self.failed]


class Lane:
    """Jobs that run one after the other; failures and output of lanes do not mix."""

    printing = threading.Lock()
    progress = Progress()

    def __init__(self, number, work, keys):
        self.number, self.work, self.keys = number, work, keys
        # (part, case) patterns that may be skipped
        self.allowed = [line.split(None, 1)
                        for line in entries(os.path.join(ROOT, "workshop", "checks", "skips"))]
        self.counts = [0, 0, 0]
        self.done, self.now = 0, None
        self.starting = threading.Lock()
        self.child = None
        self.stopped = False

    def run(self):
        while job := self.work.take(self.number):
            self.now = (job.name, time.monotonic())
            counts = self.do(job)
            self.counts = [sum(pair) for pair in zip(self.counts, counts)]
            self.done += 1
            self.work.end(job, not counts[1])
            self.now = None

    def start(self, job, log):
        """Returns the status and the processor time; the job has a process group of its own, so that
        Ctrl-C comes here alone."""
        env = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VARIANT")}
        with open(log, "wb") as out:
            with self.starting:
                if self.stopped:
                    return None, 0
                self.child = subprocess.Popen(  # pylint: disable=consider-using-with
                    job.command, cwd=ROOT, env=dict(env, BASE=BASE), stdin=subprocess.DEVNULL,
                    stdout=out, stderr=subprocess.STDOUT, process_group=0)
            _, status, usage = os.wait4(self.child.pid, 0)
            self.child.returncode = os.waitstatus_to_exitcode(status)
            return self.child.returncode, usage.ru_utime + usage.ru_stime

    def stop(self):
        """End what a job has started, as Ctrl-C does."""
        with self.starting:
            self.stopped = True
            if self.child and self.child.returncode is None:
                os.killpg(self.child.pid, signal.SIGINT)

    def do(self, job):
        """Returns (passed, failed, skipped); what is only made counts when it fails."""
        missing = self.work.missing(job)
        if missing:
            self.tell(f"  NOT RUN {job.name}: no {' and no '.join(missing)}")
            return 0, 1, 0
        log = os.path.join(LOGS, f"check-{job.name.replace(':', '-')}.log")
        start = time.monotonic()
        status, cpu = self.start(job, log)
        if self.stopped:
            return 0, 0, 0
        return self.judge(job, status, log, (time.monotonic() - start, cpu))

    def judge(self, job, status, log, took):
        text = read(log, "rb").decode(errors="replace")
        if not job.part:
            if status:
                self.tell(failure(job.name, [], log, text))
            else:
                self.tell(f"  MADE    {job.name} ({times(took)})")
            return 0, int(status != 0), 0
        cases = cases_of(job.name, status, text)
        bad = [case for case in cases if not case.passed or
               case.skipped and not any(fnmatch.fnmatch(job.name, part) and case.matches(reason)
                                        for part, reason in self.allowed)]
        skipped = [case for case in cases if case.skipped and case not in bad]
        counts = len(cases) - len(bad) - len(skipped), len(bad), len(skipped)
        if not os.environ.get(CHOICES.get(job.name, "")):
            Records().put(job.name, self.keys[job.name], counts, took)
        self.tell(failure(job.name, bad, log, text) if bad else
                  f"  PASS    {job.name} ({in_words(counts)}, {times(took)})")
        return counts

    def tell(self, text):
        with self.printing:
            self.progress.end()
            print(text, flush=True)


def times(took):
    """What a job took: seconds, and those of a processor."""
    return "{:.0f} s, {:.0f} s of processor".format(*took)


def in_words(counts):
    return f"{counts[0]} cases" + (f", {counts[2]} skipped" if counts[2] else "") \
        if sum(counts) > 1 else "1 case"


def failure(name, bad, log, text):
    lines = [f"  FAIL    {name}, log: {os.path.relpath(log, ROOT)}"]
    for case in bad[:20]:
        if case.name != name:
            lines.append(f"            {case.name}{' (skipped)' if case.skipped else ''}")
    return "\n".join(lines + [f"          | {line}" for line in telling_lines(text)])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, usage="run.py [options] [NAME...]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all parts")
    parser.add_argument("--fresh", action="store_true", help="also what has passed")
    parser.add_argument("--status", action="store_true", help="run nothing")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def chosen(args):
    """The parts to run, in the order of the list."""
    names = [part.name for part in parts.PARTS]
    for name in args.names:
        if not fnmatch.filter(names, name):
            raise Failure(f"ONLY={name} is no part; there are {' '.join(sorted(names))}")
    if args.names:
        return [part for part in parts.PARTS
                if any(fnmatch.fnmatch(part.name, name) for name in args.names)]
    return [part for part in parts.PARTS if (args.all or part.every) and
            not (part.once and BASE != default_base())]


def make_keys(todo):
    """The key of each part; makes the tree if one needs it."""
    if any(part.needs for part in todo):
        needs.run_packages(("tree", "base"))
        tree.make_tree()
    keys = needs.Keys()
    return {part.name: keys.part(part) for part in todo}


def show_status(todo, keys):
    width = max(len(part.name) for part in todo)
    for part in todo:
        record = Records().get(part.name)
        state = "never run" if not record else \
            "FAILED" if record["counts"][1] else \
            "passed" if record["key"] == keys[part.name] else "stale"
        about = f"{record['commit']:<13}  {record['when']}  {in_words(record['counts'])}, " \
                f"{record['took']}" if record else ""
        print(f"{part.name:<{width}}  {state:<9}  {about}".rstrip())


def show_progress(lanes, total):
    """How many jobs are done, and what runs since when."""
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


def run_jobs(todo, keys):
    """Returns (passed, failed, skipped)."""
    needs.run_packages([group for part in todo for need in part.needs for group in needs.packages(need)]
                       + [group for part in todo for group in part.packages])
    work = Work(jobs_for(todo))
    lanes = [Lane(number, work, keys) for number in (FIRST, OTHER)]
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        runs = [pool.submit(lane.run) for lane in lanes]
        try:
            wait_for_all(runs, lanes, work.total)
        except BaseException:
            for lane in lanes:
                lane.stop()
            raise
    Lane.progress.end()
    return [sum(counts) for counts in zip(*(lane.counts for lane in lanes))]


def command():
    # A shell ignores it in the background, and so would what is started here, which it has to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args = parse()
    todo = chosen(args)
    os.makedirs(LOGS, exist_ok=True)
    keys = make_keys(todo)
    if args.status:
        show_status(todo, keys)
        return 0
    records = Records()
    held = [] if args.fresh else [part for part in todo if records.holds(part.name, keys[part.name])]
    total = [0, 0, 0]
    for part in held:
        record = records.get(part.name)
        total = [sum(pair) for pair in zip(total, record["counts"])]
        say("PASSED", f"{part.name} ({in_words(record['counts'])}, on {record['commit']})")
    todo = [part for part in todo if part not in held]
    if todo:
        total = [sum(pair) for pair in zip(total, run_jobs(todo, keys))]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    main(command)
