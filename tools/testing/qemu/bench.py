#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the cost of a patched kernel with the unpatched base, in guest instructions.

Boots both kernels under QEMU's -icount shift=0, where one tick of the clock is one guest
instruction, with the same initramfs; runs procmap_bench in each; prints one Markdown table and
writes bench.md and bench.json. Every figure is the median of the repetitions.

Exit status: 0, all limits are kept; 1, a limit is missed; 2, there are no figures to compare.
"""

import argparse
import contextlib
import fnmatch
import hashlib
import json
import os
import signal
import subprocess
import sys

import vm

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = vm.BUILD
ACCEL = "QEMU TCG, -icount shift=0,sleep=off, one processor"
OURS = {"CONFIG_PROCMAP_QUERY", "CONFIG_PER_VMA_LOCK", "CONFIG_BUILDID_FILE"}
KERNELS = ("base", "patched")


class Failure(Exception):
    """One line for the user, exit status 2."""


def at_most(value):
    return f"at most {value:,}", lambda row, _: row.patched <= value


def above_base(percent):
    return f"base + {percent} %", lambda row, _: row.patched <= row.base * (1 + percent / 100)


def above_case(name, percent):
    """Compared with another case of the same kernel; None when that has no figure."""
    def kept(row, rows):
        other = rows.get(name)
        if other is None or other.patched is None:
            return None
        return row.patched <= other.patched * (1 + percent / 100)
    return f"{name} + {percent} %", kept


# What each case may cost. The first pattern that fits counts; no limit where none fits.
LIMITS = (
    ("mm/*", above_base(3)),
    ("query/covering/10000", at_most(800)),
    # Ten times the VMAs: logarithmic growth from 10,000 is a quarter.
    ("query/covering/100000", above_case("query/covering/10000", 25)),
    ("add/name", at_most(900)),
    ("add/build-id*", at_most(1500)),
    ("walk/*/per-vma", at_most(100)),
    ("readv/8", above_base(1)),
    ("readv/8-nowait", above_case("readv/8", 10)),
)


class Row:
    """One case on both kernels."""

    def __init__(self, cases):
        self.name = cases["patched"]["name"]
        self.what = cases["patched"]["what"]
        self.cases = cases
        self.base = cases.get("base", {}).get("median")
        self.patched = cases["patched"].get("median")
        self.limit, self.kept = "", None

    def judge(self, rows):
        """Set limit and kept; what has a limit and no figure misses it."""
        for pattern, (text, kept) in LIMITS:
            if fnmatch.fnmatch(self.name, pattern):
                self.limit = text
                if self.patched is None:
                    self.kept = False
                elif "base" in text and self.base is None:
                    self.kept = False
                else:
                    self.kept = kept(self, rows)
                return

    def figure(self, kernel):
        case = self.cases.get(kernel)
        if case is None:
            return "-"
        return f"{case['median']:,.1f}" if case["status"] == "ok" else case["status"]

    def change(self):
        if self.base and self.patched is not None:
            return f"{100 * (self.patched / self.base - 1):+.2f}"
        return ""

    def agree(self):
        """Share of the repetitions within 1 % of the median, the worse of both kernels."""
        shares = [case["agree"] for case in self.cases.values() if "agree" in case]
        return f"{100 * min(shares):.0f} %" if shares else ""

    def verdict(self):
        return {True: "yes", False: "**NO**", None: ""}[self.kept]

    def cells(self):
        return (f"`{self.name}`", self.what, self.figure("base"), self.figure("patched"),
                self.change(), self.limit, self.verdict(), self.agree())

    def as_json(self):
        return {"name": self.name, "what": self.what, "base": self.base, "patched": self.patched,
                "limit": self.limit or None, "kept": self.kept,
                "status": {kernel: case["status"] for kernel, case in self.cases.items()},
                "reason": {kernel: case["reason"] for kernel, case in self.cases.items()
                           if "reason" in case}}


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="BZIMAGE",
                        default=os.path.join(BUILD, "base", "bzImage"))
    parser.add_argument("--patched", metavar="BZIMAGE",
                        default=os.path.join(BUILD, "plain", "bzImage"))
    parser.add_argument("--initrd", default=os.path.join(BUILD, "initrd.cpio"))
    parser.add_argument("--program", default="/kselftest/procmap/procmap_bench",
                        help="the benchmark, in the initramfs")
    parser.add_argument("--select", action="append", default=[], metavar="PATTERN",
                        help="only these cases, a shell pattern; may be given again")
    parser.add_argument("--reps", type=int, metavar="N", help="repetitions of each case")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="boot each kernel so "
                        "often, and say by how much the runs differ (default 1)")
    parser.add_argument("--timeout", type=int, default=1200, help="seconds for one boot")
    parser.add_argument("--out", metavar="DIR", default=os.path.join(BUILD, "results"))
    args = parser.parse_args(argv)
    for path, make in ((args.base, "make kernel VARIANT=base"), (args.patched, "make kernel"),
                       (args.initrd, "make initrd")):
        if not os.path.isfile(path):
            raise Failure(f"{path} does not exist; `{make}` makes it")
    if args.runs < 1:
        raise Failure(f"--runs {args.runs}: give 1 or more")
    return args


def read_config(image):
    """The symbols that the kernel was built with; None when there is no .config beside it."""
    where = os.path.dirname(os.path.abspath(image))
    for path in (where, os.path.dirname(os.path.dirname(os.path.dirname(where)))):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(path, ".config"), encoding="utf-8") as file:
                return {line.strip() for line in file if line.startswith("CONFIG_")}
    return None


def config_hash(config):
    if config is None:
        return "unknown"
    return hashlib.sha256("\n".join(sorted(config)).encode()).hexdigest()[:16]


def config_difference(configs):
    """Symbols that are not ours and differ: then the comparison says little."""
    if None in configs.values():
        return None
    return sorted({line.split("=")[0] for line in configs["base"] ^ configs["patched"]} - OURS)


def boot(args, kernel, image, config):
    """Run the benchmark in one kernel and return what it printed."""
    command = [sys.executable, os.path.join(HERE, "vm.py"), "--accel", "icount",
               "--kernel", image, "--initrd", args.initrd, "--timeout", str(args.timeout),
               "--results", os.path.join(args.out, f"bench-{kernel}"), "--",
               args.program, "--json", "--accel", ACCEL, "--config-hash", config_hash(config)]
    command += [word for pattern in args.select for word in ("--select", pattern)]
    command += ["--reps", str(args.reps)] if args.reps else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          preexec_fn=vm.die_with_parent) as machine:
        try:
            text, _ = machine.communicate()
        except KeyboardInterrupt:
            # After Ctrl-C it is ending by itself; after another signal it knows nothing yet.
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.wait(timeout=5)
            machine.terminate()
            raise
    if machine.returncode not in (0, 1):
        raise Failure(f"the {kernel} kernel gave no figures (status {machine.returncode})")
    try:
        result = json.loads(text)
    except ValueError as error:
        raise Failure(f"the {kernel} kernel's figures are not JSON: {error}") from error
    check(kernel, result)
    return result


def check(kernel, result):
    """Figures that are not instructions, and cases that failed, are not compared."""
    env = result["environment"]
    if env["unit"] != "instructions":
        raise Failure(f"on the {kernel} kernel an instruction took "
                      f"{env['ticks_per_instruction']} ticks, not 1: these are not instructions")
    failed = [f"{case['name']} ({case['reason']})" for case in result["cases"]
              if case["status"] == "failed"]
    if failed:
        raise Failure(f"on the {kernel} kernel failed: {', '.join(failed)}")


def medians(result):
    return {case["name"]: case["median"] for case in result["cases"] if "median" in case}


def repeatability(runs):
    """How far the figures of further runs are from those of the first, as text."""
    first = medians(runs[0])
    change = {name: max(abs(100 * (medians(run)[name] / value - 1)) for run in runs[1:])
              for name, value in first.items() if value}
    worst = max(change, key=change.get)
    same = sum(percent == 0 for percent in change.values())
    text = f"{len(runs)} runs, {same} of {len(change)} figures the same to the instruction"
    return text if same == len(change) else \
        f"{text}, the others within {change[worst]:.2f} % (`{worst}`)"


def make_rows(results):
    cases = {kernel: {case["name"]: case for case in results[kernel]["cases"]}
             for kernel in KERNELS}
    rows = {name: Row({kernel: cases[kernel][name] for kernel in KERNELS
                       if name in cases[kernel]}) for name in cases["patched"]}
    for row in rows.values():
        row.judge(rows)
    return list(rows.values())


def table(rows):
    head = ("case", "what", "base", "patched", "change %", "limit", "kept", "agree")
    lines = ["| " + " | ".join(head) + " |", "|---|---|--:|--:|--:|---|---|--:|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    return lines


def reasons(rows):
    """Why a case has no figure, once for each reason."""
    told = {}
    for row in rows:
        for kernel, case in row.cases.items():
            if case["status"] != "ok":
                told.setdefault((kernel, case["reason"]), []).append(f"`{row.name}`")
    return [f"Not available on {kernel}, {why}: {', '.join(names)}"
            for (kernel, why), names in told.items()]


def report(rows, runs, configs):
    """The whole text, as lines of Markdown."""
    lines = ["# Cost in guest instructions", "", f"Accelerator: {ACCEL}", ""]
    for kernel in KERNELS:
        env = runs[kernel][0]["environment"]
        lines.append(f"- {kernel}: Linux {env['release']}, configuration {env['config_hash']}; "
                     f"{env['ticks_per_instruction']:g} ticks an instruction, median of "
                     f"{env['reps']} repetitions after {env['warm_up']} to warm up")
    differ = config_difference(configs)
    if differ is None:
        lines.append("- the configurations could not be compared")
    elif differ:
        lines.append(f"- **the configurations differ** in {', '.join(differ)}")
    for kernel in KERNELS:
        if len(runs[kernel]) > 1:
            lines.append(f"- {kernel}: {repeatability(runs[kernel])}")
    lines += ["", *table(rows), "", *reasons(rows), ""]
    missed = [row.name for row in rows if row.kept is False]
    judged = sum(row.kept is not None for row in rows)
    lines.append(f"{judged - len(missed)} of {judged} limits kept"
                 + (f"; missed: {', '.join(missed)}" if missed else ""))
    return lines, bool(missed)


def save(path, text):
    """In one step, so that an interruption leaves the old or the new file."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


def compare(args):
    images = {"base": args.base, "patched": args.patched}
    configs = {kernel: read_config(image) for kernel, image in images.items()}
    os.makedirs(args.out, exist_ok=True)
    runs = {kernel: [] for kernel in KERNELS}
    for number in range(args.runs):
        for kernel in KERNELS:
            print(f"bench: {kernel}, run {number + 1} of {args.runs}", file=sys.stderr, flush=True)
            runs[kernel].append(boot(args, kernel, images[kernel], configs[kernel]))
    rows = make_rows({kernel: runs[kernel][0] for kernel in KERNELS})
    lines, missed = report(rows, runs, configs)
    text = "\n".join(lines) + "\n"
    save(os.path.join(args.out, "bench.md"), text)
    save(os.path.join(args.out, "bench.json"),
         json.dumps({"rows": [row.as_json() for row in rows], "runs": runs}, indent=1) + "\n")
    sys.stdout.write(text)
    return 1 if missed else 0


def main():
    signal.signal(signal.SIGTERM, vm.interrupt)
    signal.signal(signal.SIGHUP, vm.interrupt)
    try:
        return compare(parse(sys.argv[1:]))
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted, nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
