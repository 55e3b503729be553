# SPDX-License-Identifier: GPL-2.0
"""Our entries of MAINTAINERS, merged into the kernel's file in alphabetical order."""

import fnmatch
import functools
import os
import re

from common import ROOT, read
from series import is_kernel_path

START = re.compile(r"^(?![A-Z]:\t)\S[^\n]*\n(?=[A-Z]:\t)", re.M)


def sections(text):
    """The entries of a MAINTAINERS file: (title, lines) in order, after the leading prose."""
    starts = [match.start() for match in START.finditer(text)]
    for begin, end in zip(starts, starts[1:] + [len(text)]):
        block = text[begin:end].rstrip("\n").split("\n")
        yield block[0], block[1:]


def matches(pattern, paths):
    if pattern.endswith("/"):
        return any(path.startswith(pattern) for path in paths)
    return any(fnmatch.fnmatch(path, pattern) and path.count("/") == pattern.count("/")
               for path in paths)


def our_sections(paths):
    """Our entries with only those F: lines that name something in the tree."""
    for title, lines in sections(read(os.path.join(ROOT, "MAINTAINERS"))):
        files = [line for line in lines if line.startswith("F:\t")]
        wanted = [line for line in files
                  if is_kernel_path(line[3:]) and matches(line[3:], paths)]
        if wanted:
            yield title, [line for line in lines if line not in files or line in wanted]


@functools.lru_cache(maxsize=2)
def titles(text):
    """Where the entries of a MAINTAINERS file start, and what they are called in capitals."""
    return [(match.start(), match.group().strip().upper()) for match in START.finditer(text)]


def place_for(title, starts, end):
    """Where an entry belongs; the file is sorted for the most part, so look at both neighbours."""
    best = (-1, end)
    for (_, before), (place, after) in zip(starts, starts[1:]):
        if before <= title.upper() < after:
            common = sum(len(os.path.commonprefix([title.upper(), other]))
                         for other in (before, after))
            best = max(best, (common, place))
    return best[1]


def merge(base_text, paths):
    """The base's MAINTAINERS with our entries for the given paths."""
    text, starts = base_text, titles(base_text)
    for title, lines in our_sections(paths):
        block = "\n".join([title, *lines]) + "\n\n"
        place = place_for(title, starts, len(text))
        text = text[:place] + block + text[place:]
        starts = sorted([(start if start < place else start + len(block), name)
                         for start, name in starts] + [(place, title.upper())])
    return text
