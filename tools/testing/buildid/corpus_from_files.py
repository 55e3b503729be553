#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Seeds for the fuzzer from the ELF files below a directory: their first page, small files whole. At
most LIMIT files, spread evenly over all, always the same ones for the same directory."""

import hashlib
import os
import stat
import sys

HEAD = 4096
WHOLE = 16384


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
                print(f"skipped {path}: {err.strerror}", file=sys.stderr)


def main():
    """Copy the heads to the corpus, named by their hash so that equal ones are kept once."""
    if len(sys.argv) != 4 or not os.path.isdir(sys.argv[1]) or not sys.argv[3].isdigit():
        sys.exit("usage: corpus_from_files.py DIRECTORY CORPUS LIMIT")
    paths, corpus, limit = sorted(elf_files(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    if not paths or not limit:
        sys.exit(f"corpus_from_files.py: no ELF files below {sys.argv[1]}")
    for path in paths[::-(-len(paths) // limit)]:
        with open(path, "rb") as file:
            data = file.read(WHOLE + 1)
        if len(data) > WHOLE:
            data = data[:HEAD]
        with open(os.path.join(corpus, hashlib.sha256(data).hexdigest()[:16]), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
