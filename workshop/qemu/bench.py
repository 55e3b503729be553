#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What queries cost, and whom: figures of a patched kernel beside those of the base.

Boots both kernels with the same initramfs and runs procmap_bench in each, in two ways:

  instructions  under QEMU's -icount shift=0, one processor: one tick of the clock is one guest
                instruction. Every figure is the median of the repetitions, and repeats
  scenes        on two processors, in real time: several programs at work at once, in turns. On a
                busy machine the real time of an emulator means little; ratios of one run mean more

Prints tables in Markdown, the first one with all limits, and writes bench.md, bench.json and
bench-vmas.svg.

Exit status: 0, all limits are kept; 1, one is missed; 2, there are no figures to compare.
"""

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys

import bench_plot
import bench_scenes
import bench_tables
import vm
from bench_cases import KERNELS, make_rows, reasons, table

from common import Failure, interrupt_on, read, write  # pylint: disable=wrong-import-order

BUILD = vm.BUILD
RESULTS = os.path.join(BUILD, "results")
VM = [sys.executable, os.path.abspath(vm.__file__), "--quiet", "--timeout", "1200"]
PROGRAM = "/kselftest/procmap/bench/procmap_bench"
VARIANTS = {"base": "base", "patched": "plain"}
ACCEL = {"instructions": ("icount", "QEMU TCG, -icount shift=0,sleep=off, one processor"),
         "scenes": ("multi", "QEMU TCG, thread=multi, two processors")}
SCENES = ("stall/*", "wait/*")
CASES = ("mm/*", "ioctl/*", "query/*", "walk/*", "text/*", "scan/*", "readv/*", "symbolize/*",
         "synthesize/*", "dump/*", "share/*", "loop/*")
ROUNDS, PLAY = 25, 100
LIBRARY = os.path.join(vm.ROOT, "tools", "procmap")
# A thousand look-ups of the library cost at most so many times what as many queries do.
BOUND = 1.2
# What answers that are kept cost at most, in instructions.
KEPT = {"nothing changes, 100 VMAs": 600, "nothing changes, a batch of 100": 8000}
NOTHING = 2     # status of procmap_bench when no case fits
OURS = {"CONFIG_PROCMAP_QUERY", "CONFIG_VMA_SEARCH", "CONFIG_BUILDID_FILE"}


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(ACCEL), help="only this (default: both)")
    parser.add_argument("--select", action="append", default=[], metavar="PATTERN",
                        help="only these cases and scenes, a shell pattern; may be given again")
    args = parser.parse_args(argv)
    for path, make in (("base/bzImage", "make kernel VARIANT=base"),
                       ("plain/bzImage", "make kernel"), ("initrd.cpio", "make initrd")):
        if not os.path.isfile(os.path.join(BUILD, path)):
            raise Failure(f"build has no {path}; `{make}` makes it")
    return args


def read_config(kernel):
    """The symbols that a kernel was built with."""
    lines = read(os.path.join(BUILD, VARIANTS[kernel], ".config")).splitlines()
    return {line for line in lines if line.startswith("CONFIG_")}


def config_hash(config):
    return hashlib.sha256("\n".join(sorted(config)).encode()).hexdigest()[:16]


def config_difference(configs):
    """Symbols that are not ours and differ; if there are any, the comparison says little."""
    return sorted({line.split("=")[0] for line in configs["base"] ^ configs["patched"]} - OURS)


def command_of(args, kernel, part, config):
    accel, told = ACCEL[part]
    command = [*VM, "--accel", accel, "--memory", "2G", "--variant", VARIANTS[kernel],
               "--results", os.path.join(RESULTS, f"bench-{part}-{kernel}"), "--",
               PROGRAM, "--json", "--accel", told, "--config-hash", config_hash(config)]
    command += [word for pattern in args.select for word in ("--select", pattern)]
    command += [word for pattern in (SCENES if part == "instructions" else CASES)
                for word in ("--skip", pattern)]
    if part == "instructions":
        return command
    return command + ["--reps", str(ROUNDS), "--warm-up", "1", "--play", str(PLAY)]


def start(args, kernel, part, config):
    """Boot one kernel; its output goes to a file of the results, so that it never waits for us."""
    return subprocess.Popen(  # pylint: disable=consider-using-with
        command_of(args, kernel, part, config), stdout=subprocess.DEVNULL,
        preexec_fn=vm.die_with_parent)


def finish(machines):
    """Wait for machines; end them if the wait is interrupted."""
    try:
        for machine in machines.values():
            machine.wait()
    except KeyboardInterrupt:
        for machine in machines.values():
            # After Ctrl-C the machine is ending by itself; of another signal it knows nothing yet.
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.wait(timeout=5)
            machine.terminate()
            machine.wait()
        raise


def fetch(kernel, part, machine):
    if machine.returncode not in (0, 1):
        raise Failure(f"the {kernel} kernel gave no figures (status {machine.returncode})")
    path = os.path.join(RESULTS, f"bench-{part}-{kernel}", "stdout")
    try:
        result = json.loads(read(path))
    except (OSError, ValueError) as error:
        raise Failure(f"the {kernel} kernel's figures are not JSON: {error}") from error
    check(kernel, part, result)
    return result


def check(kernel, part, result):
    """Do not compare figures that are not instructions, or cases that failed."""
    env = result["environment"]
    if part == "instructions" and env["unit"] != "instructions":
        raise Failure(f"on the {kernel} kernel an instruction took "
                      f"{env['ticks_per_instruction']} ticks, not 1: these are not instructions")
    failed = [f"{case['name']} ({case['reason']})" for case in result["cases"] + result["scenes"]
              if case["status"] == "failed"]
    if failed:
        raise Failure(f"on the {kernel} kernel failed: {', '.join(failed)}")


def measure(args, part, configs):
    """Both kernels: at once, if time does not matter, else one after the other.

    None, when nothing of this part is selected.
    """
    groups = [KERNELS] if part == "instructions" else [(kernel,) for kernel in KERNELS]
    results = {}
    for group in groups:
        print(f"bench: {part}: {' and '.join(group)}", file=sys.stderr, flush=True)
        machines = {kernel: start(args, kernel, part, configs[kernel]) for kernel in group}
        finish(machines)
        if args.select and any(machine.returncode == NOTHING for machine in machines.values()):
            return None
        for kernel, machine in machines.items():
            results[kernel] = fetch(kernel, part, machine)
    return results


def library():
    """What look-ups of the library cost on the patched kernel, beside queries."""
    where = os.path.join(BUILD, "cost")
    os.makedirs(where, exist_ok=True)
    subprocess.run(["make", "-s", "-C", LIBRARY, f"O={where}", f"{where}/tests/cost"], check=True)
    print("bench: library", file=sys.stderr, flush=True)
    done = subprocess.run(
        [*VM, "--accel", ACCEL["instructions"][0], "--variant", VARIANTS["patched"],
         "--root", "host", "--results", os.path.join(RESULTS, "bench-library"),
         "--", f"{where}/tests/cost"], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Failure(f"the library gave no figures (status {done.returncode})")
    lines = read(os.path.join(RESULTS, "bench-library", "stdout")).splitlines()
    return [json.loads(line) for line in lines]


def describe(counted, scenes, configs):
    """Where the figures come from, as lines of Markdown."""
    lines = ["# What queries cost, and whom", "",
             "All of it is printed by `make bench`. Instructions are guest instructions, counted "
             f"under {ACCEL['instructions'][1]}; times are in microseconds, on "
             f"{ACCEL['scenes'][1]}, and mean little but as ratios.", ""]
    for kernel in KERNELS:
        for results in filter(None, (counted, scenes)):
            env = results[kernel]["environment"]
            lines.append(f"- {kernel}: Linux {env['release']}, configuration "
                         f"{env['config_hash']}; {env['accelerator']}; {env['reps']} repetitions "
                         f"after {env['warm_up']} to warm up")
    if scenes:
        lines.append(f"- the host's load at the end of the scenes was {os.getloadavg()[0]:.1f}; "
                     "the machine itself is two of it at most, the rest blurs the latencies")
    differ = config_difference(configs)
    if differ:
        lines.append(f"- **the configurations differ** in {', '.join(differ)}")
    return lines


def section(title, lines, empty=2):
    """A table with a heading; nothing if it has no rows."""
    return ["", f"## {title}", "", *lines] if len(lines) > empty else []


def sections(rows, scenes):
    """All tables but the first one."""
    lines = []
    if rows:
        lines += section("Passes, in instructions (on the patched kernel, but for the text of base)",
                         bench_tables.passes(rows))
        lines += section("What each mapping costs, in instructions", bench_tables.costs(rows))
        lines += section("The share of the mappings that is asked for", bench_tables.shares(rows))
        lines += section("Scans, in instructions", bench_tables.scans(rows))
        lines += section("Rounds of a profiler, in instructions, of a process that maps and unmaps "
                         "all the time and replaces code", bench_tables.loops(rows))
    for kernel in KERNELS if scenes else ():
        lines += section(f"A process that changes its address space, {kernel} kernel",
                         ["Ratios are medians over the rounds: to the same readers of another "
                          "process, for those to no reader.", "",
                          *bench_tables.stalls(scenes[kernel])], 4)
        lines += section(f"process_vm_readv(), {kernel} kernel", bench_tables.waits(scenes[kernel]))
    if rows:
        lines += section("All cases", [*table(rows), "", *reasons(rows)])
    return lines


def conclude(rows, more, looked_up):
    """The last line, and whether a limit is missed."""
    judged = [(row.name, row.kept) for row in rows.values()]
    judged += [(one.what, one.kept) for one in more]
    judged = [(name, kept) for name, kept in judged if kept is not None]
    judged += [(f"library: {run['what']}", run["kept"]["worst"] <= BOUND * run["queries"]["worst"])
               for run in looked_up if run["queries"]["worst"]]
    judged += [(f"library, kept: {run['what']}", run["kept"]["last"] <= KEPT[run["what"]])
               for run in looked_up if run["what"] in KEPT]
    missed = [name for name, kept in judged if not kept]
    line = f"{len(judged) - len(missed)} of {len(judged)} limits kept"
    return line + (f"; missed: {'; '.join(missed)}" if missed else ""), bool(missed)


def compare(args):
    configs = {kernel: read_config(kernel) for kernel in KERNELS}
    os.makedirs(RESULTS, exist_ok=True)
    counted, played, scenes, rows, more, looked_up = None, None, None, {}, [], []
    if args.part != "scenes":
        counted = measure(args, "instructions", configs)
        if counted:
            rows = make_rows(counted)
        if not args.select:
            looked_up = library()
    if args.part != "instructions":
        played = measure(args, "scenes", configs)
    if not counted and not played:
        raise Failure(f"no case or scene fits --select {' '.join(args.select)}; "
                      "procmap_bench --list shows them")
    if played:
        scenes = {kernel: bench_scenes.Scenes(played[kernel]) for kernel in KERNELS}
        if not args.select:
            more = bench_scenes.stall_limits(scenes["patched"], scenes["base"])
            more += bench_scenes.wait_limits(scenes["patched"])
    last, missed = conclude(rows, more, looked_up)
    lines = [*describe(counted, played, configs), "",
             *bench_tables.limits(rows, more), *sections(rows, scenes),
             *section("Look-ups of the library, in instructions each: the last 1,000, the worst "
                      "1,000 in a row and the first 100; changes are before look-ups",
                      bench_tables.library(looked_up)), "", last]
    text = "\n".join(lines) + "\n"
    write(os.path.join(RESULTS, "bench.md"), text)
    write(os.path.join(RESULTS, "bench.json"),
          json.dumps({"rows": [row.as_json() for row in rows.values()],
                      "limits": [one._asdict() for one in more],
                      "instructions": counted, "scenes": played, "library": looked_up},
                     indent=1) + "\n")
    plot = bench_plot.plot_sizes(rows)
    if plot:
        write(os.path.join(RESULTS, "bench-vmas.svg"), plot)
    sys.stdout.write(text)
    return 1 if missed else 0


def main():
    interrupt_on(signal.SIGTERM, signal.SIGHUP)
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
