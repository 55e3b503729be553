# SPDX-License-Identifier: GPL-2.0
"""The table "which file, which tests" of workshop/README.md."""

import fnmatch
import os
import re

from places import ROOT

from common import read  # pylint: disable=wrong-import-order

README = os.path.join("workshop", "README.md")
ROW = re.compile(r"^\| (`[^|]+`) \| (`[^|]+`) \|$", re.M)


def rows():
    """(patterns of files, names of kselftests and of parts of `make check`) of each row."""
    _, _, table = read(os.path.join(ROOT, README)).partition("\n## Which file, which tests\n")
    table = table.partition("\n## ")[0]
    return [tuple(re.findall(r"`([^`]+)`", cell) for cell in row) for row in ROW.findall(table)]


def row_of(name):
    """The tests of a file, of the first row that it fits; empty if it fits none.

    What a base overrides has the row of its path in a kernel tree.
    """
    name = re.sub(r"^patches/[^/]+/files/", "", name)
    return next((tests for patterns, tests in rows()
                 if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)), [])
