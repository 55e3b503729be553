#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the build IDs that elf_buildid finds with those of readelf -n, for all ELF files below a
directory. Exit status 0 only if there was at least one file and all agree."""

import os
import re
import stat
import subprocess
import sys

BATCH = 500
MAX_BYTES = 20


def elf_files(top):
    """Paths of the regular files below top that start with the ELF magic."""
    for root, _, names in os.walk(top):
        for name in names:
            path = os.path.join(root, name)
            try:
                if not stat.S_ISREG(os.lstat(path).st_mode) or "\n" in path:
                    continue
                with open(path, "rb") as file:
                    if file.read(4) == b"\x7fELF":
                        yield path
            except OSError as err:
                print(f"readelf_compare: skipped {path}: {err.strerror}", file=sys.stderr)


def from_readelf(paths):
    """{path: first build ID or "-"} as readelf -n prints it."""
    # With one file, readelf does not say which one it is about.
    out = subprocess.run(["readelf", "-nW", "/dev/null", *paths], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
                         text=True, errors="surrogateescape", check=False).stdout
    ids, path = dict.fromkeys(paths, "-"), None
    for line in out.splitlines():
        if line.startswith("File: "):
            path = line[len("File: "):]
        match = re.search(r"\sBuild ID: ([0-9a-f]+)$", line)
        if match and ids.get(path) == "-" and len(match[1]) <= 2 * MAX_BYTES:
            ids[path] = match[1]
    return ids


def from_parser(tool, paths):
    """{path: build ID or "-"} of the parser under test."""
    out = subprocess.run([tool], input="".join(p + "\n" for p in paths), stdout=subprocess.PIPE,
                         text=True, errors="surrogateescape", check=True).stdout
    return {line.split(" ", 1)[1]: line.split(" ", 1)[0] for line in out.splitlines()}


def main():
    """Compare in batches; print every difference and the count."""
    if len(sys.argv) != 3 or not os.path.isdir(sys.argv[2]):
        sys.exit("usage: readelf_compare.py ELF_BUILDID DIRECTORY")
    tool, paths = sys.argv[1], sorted(elf_files(sys.argv[2]))
    differ = none = 0
    for i in range(0, len(paths), BATCH):
        batch = paths[i:i + BATCH]
        want, got = from_readelf(batch), from_parser(tool, batch)
        for path in batch:
            none += want[path] == "-"
            if want[path] != got.get(path):
                differ += 1
                print(f"differs: {path}: readelf {want[path]}, parser {got.get(path)}")
    print(f"{len(paths)} ELF files: {len(paths) - differ} equal, {differ} differ "
          f"({none} of all have no build ID)")
    sys.exit(0 if paths and not differ else 1)


if __name__ == "__main__":
    main()
