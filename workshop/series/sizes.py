# SPDX-License-Identifier: GPL-2.0
"""How many lines each patch adds, as a table, and what is too long for a reviewer."""

import collections
import re

from common import Failure

# Lines of one kind that a patch may add
LIMITS = {"kernel": 500, "tools": 2000}

KINDS = (
    ("", re.compile(r"MAINTAINERS$")),
    ("documentation", re.compile(r"Documentation/|samples/|.*\.(rst|[1-9])$|.*/README$")),
    ("tools", re.compile(r"tools/|.*_kunit\.c$|lib/buildid_image\.h$")),
    ("kernel", re.compile(r"")),
)

Size = collections.namedtuple("Size", "subject lines")


def kind_of(name):
    """What the lines of a file are; "" if they do not count."""
    return next(kind for kind, pattern in KINDS if pattern.match(name))


def sizes(repo, start, tip):
    """A Size for each commit, oldest first; lines is {kind: lines that it adds}."""
    text = repo.out("log", "--reverse", "--no-renames", "--numstat", "--format=%x01%s", f"{start}..{tip}")
    for commit in text.split("\1")[1:]:
        subject, *rows = commit.strip().splitlines()
        lines = collections.Counter()
        for added, _, name in (row.split("\t") for row in rows if row):
            lines[kind_of(name)] += int(added)
        yield Size(subject, lines)


def check_sizes(repo, start, tip):
    """Print the table; fail if a patch is too long."""
    found = list(sizes(repo, start, tip))
    print("  kernel   tools  documentation   lines that each patch adds")
    for size in found:
        print(f"  {size.lines['kernel']:6}  {size.lines['tools']:6}  {size.lines['documentation']:13}   "
              f"{size.subject}")
    long = [f"`{size.subject}` adds {size.lines[kind]} lines of {kind}, more than {limit}"
            for size in found for kind, limit in LIMITS.items() if size.lines[kind] > limit]
    if long:
        raise Failure("; ".join(long))
