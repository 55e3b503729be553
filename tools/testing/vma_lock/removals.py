#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Break the lock in each way that the file "removals" names, and see whether the tests notice.

Usage: removals.py --check [--src DIR]
       removals.py --ktree DIR [--src DIR] [--output DIR] [--rounds N] [NAME...]

Each removal is built and run until a test fails, for --rounds at most, which are the same each
time. What the model or a litmus test finds is left to `make model`, which runs all of them: the one
that is named must be there. The last line is "N found, N not found". --check builds nothing: what
can be removed must be in the code, and each barrier of the code must be in the file.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "model")
# What orders or joins accesses
BARRIER = re.compile(r"\b(smp_(mb|rmb|wmb|load_acquire|store_release)|raw_(read|write)_seqcount\w*|"
                     r"read_seqcount_retry|atomic_long_(read_acquire|set_release|try_cmpxchg|"
                     r"dec_return|fetch_add|fetch_or|andnot))\(")
# Seconds after which a test hangs: a loaded machine takes several minutes.
HUNG = 1800
COPIED = re.compile(r"(mm/vma_\w+\.[ch]|include/linux/(vma_\w+|maple_leaf|mm_ref)\.h)$")


class Removal:
    """One way to break the code."""

    def __init__(self, name, reason):
        self.name = name
        self.reason = reason
        self.finder = None
        self.edits = []

    def apply(self, src):
        for path, old, new in self.edits:
            full = os.path.join(src, path)
            with open(full, encoding="utf-8") as file:
                text = file.read()
            if text.count(old) != 1:
                raise SystemExit(f"removals.py: {self.name}: {path} has these lines "
                                 f"{text.count(old)} times, correct removals:\n{old}")
            with open(full, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))


def parse(path):
    """The removals of a file."""
    removals, old, new, place = [], [], [], None

    def finish():
        if place:
            # The first and the last line may be a part of a line.
            removals[-1].edits.append((place, "\n".join(old), "\n".join(new)))

    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines() + ["= end: "]:
            if line.startswith("= "):
                finish()
                place = None
                removals.append(Removal(*line[2:].split(": ", 1)))
            elif line.startswith("! "):
                removals[-1].finder = line[2:].split()
            elif line.startswith("@ "):
                finish()
                place, old, new = line[2:], [], []
            elif line.startswith("-"):
                old.append(line[1:])
            elif line.startswith("+"):
                new.append(line[1:])
    return removals[:-1]


def copy_sources(source, target):
    for directory in ("mm", "include/linux"):
        os.makedirs(os.path.join(target, directory), exist_ok=True)
        for name in os.listdir(os.path.join(source, directory)):
            path = os.path.join(directory, name)
            if COPIED.match(path):
                shutil.copy(os.path.join(source, path), os.path.join(target, path))


def barriers(src):
    """Each line of the code with a barrier, as (file, line)."""
    for directory in ("mm", "include/linux"):
        for name in sorted(os.listdir(os.path.join(src, directory))):
            path = os.path.join(directory, name)
            if not COPIED.match(path) or "kunit" in name:
                continue
            with open(os.path.join(src, path), encoding="utf-8") as file:
                for line in file:
                    if BARRIER.search(line) and not line.lstrip().startswith(("*", "/*")):
                        yield path, line.rstrip("\n")


def check(args, removals):
    """Is the code as the file says, and complete?"""
    known = {(path, line) for removal in removals for path, old, _ in removal.edits
             for line in old.split("\n")}
    missing = [f"{path}: {line.strip()}" for path, line in barriers(args.src)
               if (path, line) not in known]
    with tempfile.TemporaryDirectory(prefix="removals.") as src:
        for removal in removals:
            copy_sources(args.src, src)
            removal.apply(src)
    for line in missing:
        print(f"removals.py: no test says that this is needed, add it to removals: {line}")
    print(f"{len(removals)} removals, {len(missing)} barriers without one")
    return len(missing) != 0


def try_leaf(args, src):
    """The tests of the leaf reader."""
    leaf = os.path.join(HERE, "../maple_leaf")
    result = subprocess.run(
        ["make", "-C", leaf, "test", f"ROUNDS={args.rounds // 100}", "SEED=1", f"KTREE={args.ktree}",
         f"OUTPUT={args.output}/leaf", f"HEADER={src}/include/linux/maple_leaf.h"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    # Not found, or not built
    return "maple_leaf" if "\nnot ok" in result.stdout else None


def find_model(removal):
    """The rule of the model, or the litmus test, that `make model` tries."""
    kind, name = removal.finder
    if kind == "litmus":
        there = os.path.exists(os.path.join(MODEL, "litmus", f"{name}.litmus"))
    else:
        with open(os.path.join(MODEL, "run.py"), encoding="utf-8") as file:
            there = f'"{name}"' in file.read().partition("NOT_NEEDED")[0]
    return f"{kind} {name}" if there else None


def build(args, src, output):
    result = subprocess.run(
        ["make", "-C", HERE, "-j2", f"SRC={src}", f"KTREE={args.ktree}", f"OUTPUT={output}",
         "CFLAGS=-O2 -w", os.path.join(output, "vma_lock_steps")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"removals.py: does not build:\n{result.stdout[-2000:]}")


def run(output, rounds):
    """Why the test fails, or None."""
    try:
        result = subprocess.run([os.path.join(output, "vma_lock_steps"), f"rounds={rounds}", "1"],
                                stdout=subprocess.PIPE, text=True, check=False, timeout=HUNG)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if not result.returncode:
        return None
    lines = [line for line in result.stdout.splitlines() if "round" in line]
    return lines[-1] if lines else f"status {result.returncode}"


def try_removal(args, removal):
    """How it was found, or None."""
    if removal.finder and removal.finder != ["leaf"]:
        return find_model(removal)
    src = os.path.join(os.path.abspath(args.output), "src")
    output = os.path.join(args.output, "build")
    copy_sources(args.src, src)
    removal.apply(src)
    if removal.finder:
        return try_leaf(args, src)
    build(args, src, output)
    return run(output, args.rounds)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ktree", default=os.path.join(HERE, "../../.."))
    parser.add_argument("--src", default=os.path.join(HERE, "../../.."))
    parser.add_argument("--output", default="/tmp/removals")
    parser.add_argument("--rounds", type=int, default=60000)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.ktree = os.path.abspath(args.ktree)
    found = missed = 0
    removals = parse(os.path.join(HERE, "removals"))
    if args.check:
        return check(args, removals)
    for removal in removals:
        if args.names and removal.name not in args.names:
            continue
        how = try_removal(args, removal)
        found += how is not None
        missed += how is None
        print(f"{removal.name}: {how or 'NOT FOUND'}", flush=True)
    print(f"{found} found, {missed} not found")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
