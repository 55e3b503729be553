#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the build IDs that PROCMAP_QUERY finds with those of readelf -n, for all ELF files below
/usr of this machine.

The files are mapped in the test machine, on the root file system of the host: first with an empty
page cache, then once more. The exit status is 0 only if there was at least one file and all agree.
"""

import os
import re
import sys

import cases
from places import BUILD, ROOT

from common import Failure, main, rel, write  # pylint: disable=wrong-import-order

RESULTS = os.path.join(BUILD, "results", "buildid-usr")
PROGRAM = os.path.join(BUILD, "kselftest", "procmap", "buildid", "procmap_buildid_list")
TOP = "/usr"
TIMEOUT = 1800
BATCH = 500
MAX_BYTES = 20    # of a build ID
# Both passes in one machine, divided by an empty line.
BOTH = '"$0" --cold "$1" && echo && "$0" "$1"'
# Files that the shell has mapped, or that are links to one looked at before, are cached already.
MIN_COLD = 0.9

sys.path.insert(0, os.path.join(ROOT, "tools", "testing", "buildid"))
from corpus_from_files import elf_files  # noqa: E402  pylint: disable=wrong-import-position


def read_batch(paths):
    """{path: first build ID or "-"} as readelf -n prints it."""
    # With one file, readelf does not say which one it is about.
    out = cases.call("readelf", "-nW", "/dev/null", *paths, env={**os.environ, "LC_ALL": "C"},
                     errors="surrogateescape").stdout
    ids, path = dict.fromkeys(paths, "-"), None
    for line in out.splitlines():
        if line.startswith("File: "):
            path = line[len("File: "):]
        match = re.search(r"\sBuild ID: ([0-9a-f]+)$", line)
        if match and ids.get(path) == "-" and len(match[1]) <= 2 * MAX_BYTES:
            ids[path] = match[1]
    return ids


def from_readelf(top):
    paths = sorted(path for path in elf_files(top) if "\t" not in path)
    ids = {}
    for i in range(0, len(paths), BATCH):
        ids.update(read_batch(paths[i:i + BATCH]))
    return ids


def from_queries(paths):
    """For each pass {path: (build ID or "-", "cold" or "warm")}."""
    listing = os.path.join(RESULTS, "list")
    write(listing, b"".join(os.fsencode(path) + b"\n" for path in paths))
    result = cases.machine("buildid-usr/vm", ["sh", "-c", BOTH, PROGRAM, listing], "--root", "host",
                           "--timeout", str(TIMEOUT), encoding="utf-8", errors="surrogateescape")
    if result.returncode:
        raise Failure(f"{result.stderr}the test machine ended with status {result.returncode}; see "
                      f"{rel(RESULTS)}")
    passes = result.stdout.split("\n\n")
    if len(passes) != 2:
        raise Failure(f"the test machine printed {len(passes)} lists instead of two")
    return [{path: (found, state) for path, found, state in
             (line.split("\t") for line in text.rstrip("\n").split("\n"))} for text in passes]


def differences(want, got, name):
    """Print what differs in one pass, and return how much."""
    wrong = [path for path in want if got.get(path, ("nothing",))[0] != want[path]]
    for path in wrong:
        print(f"differs, {name}: {path}: readelf {want[path]}, "
              f"query {got.get(path, ('nothing',))[0]}")
    return len(wrong)


def command():
    want = from_readelf(TOP)
    if not want:
        raise Failure(f"there is no ELF file below {TOP}")
    first, second = from_queries(want)
    wrong = differences(want, first, "cold") + differences(want, second, "warm")
    cold = sum(state == "cold" for _, state in first.values())
    with_id = sum(found != "-" for found in want.values())
    print(f"{len(want)} ELF files below {TOP}, {with_id} of them with a build ID; "
          f"{cold} were not in the page cache at first; {wrong} differences")
    if cold < MIN_COLD * len(want):
        raise Failure("too many files were in the page cache: the first pass was not cold")
    return 1 if wrong else 0


if __name__ == "__main__":
    main(command)
