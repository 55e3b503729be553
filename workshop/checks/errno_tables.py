# SPDX-License-Identifier: GPL-2.0
"""The errno tables, in a DOC: comment beside the code.

Each row of a table names the tests that prove it: each test exists, and its source mentions the
errno. The pages take the table from the comment; the man page has the same errnos.
"""

import glob
import os
import re
from collections import namedtuple

from places import ROOT

from common import Failure, read  # pylint: disable=wrong-import-order

SELFTESTS = os.path.join(ROOT, "tools", "testing", "selftests")

Table = namedtuple("Table", "title source page man")
Row = namedtuple("Row", "errno when tests")

TABLES = (
    Table("errno of PROCMAP_QUERY", "fs/proc/procmap_query.c",
          "Documentation/userspace-api/procmap_query.rst",
          "Documentation/man/PROCMAP_QUERY.2const"),
    Table("errno of PROCMAP_SCAN", "fs/proc/procmap_scan.c",
          "Documentation/userspace-api/procmap_scan.rst",
          "Documentation/man/PROCMAP_SCAN.2const"),
    Table("errno of PROCESS_VM_PIDFD and PROCESS_VM_NOWAIT", "mm/process_vm_nowait.c",
          "Documentation/userspace-api/process_vm.rst",
          "Documentation/man/PROCESS_VM_NOWAIT.2const"),
)


def rows_of(table):
    """The rows of the list-table in the DOC: comment."""
    comment = re.search(rf"^/\*\*\n \* DOC: {re.escape(table.title)}\n(.*?)^ \*/$",
                        read(os.path.join(ROOT, table.source)), re.M | re.S)
    if not comment:
        raise Failure(f"{table.source}: no comment 'DOC: {table.title}'")
    rows = []
    for line in re.findall(r"^ \*(?: {4}(.+))?$", comment.group(1), re.M):
        if line.startswith("* - "):
            rows.append([line[4:]])
        elif line.startswith("  - "):
            rows[-1].append(line[4:])
        elif rows and line:
            rows[-1][-1] += " " + line.strip()
    for row in rows:
        if len(row) not in (2, 3):
            raise Failure(f"{table.source}: {table.title}: not a row: {row}")
    return [Row(*row, *[""] * (3 - len(row))) for row in rows[1:]]


# The name in a line that begins a function or a variable
DEFINED = re.compile(r"^[\w *]*?(?:\b(\w+)\(|\b(\w+)(?:\[\w*\])* = \{$)")


def names_of(chunk):
    """What a chunk defines: macros, functions, variables."""
    names = set(re.findall(r"^#define (\w+)", chunk, re.M))
    for line in chunk.splitlines():
        found = DEFINED.match(line) if line[:1].isalpha() else None
        names.update(found.groups() if found else ())
    return names - {None}


class Source:
    """A C file of the selftests."""

    def __init__(self, path):
        # The top-level definitions, each with the lines before it that are in none
        chunks = re.split(r"^\}.*;?\n", read(path), flags=re.M)
        self.definitions = {}
        self.cases = {}     # (fixture or None, case): chunk
        self.variants = {}  # (fixture, variant): chunk
        for chunk in chunks:
            for name in names_of(chunk):
                self.definitions.setdefault(name, chunk)
            for case in re.findall(r"^TEST(?:_SIGNAL)?\((\w+)", chunk, re.M):
                self.cases[None, case] = chunk
            for key in re.findall(r"^TEST_F\w*\((\w+), (\w+)", chunk, re.M):
                self.cases[key] = chunk
            for line in re.findall(r"^FIXTURE_VARIANT_ADD\(.*", chunk, re.M):
                key = tuple(re.findall(r"\w+", line)[1:3])
                self.variants[key] = line if line.endswith("};") else chunk

    def reach(self, start):
        """All chunks that a chunk leads to inside this file."""
        seen, todo = [], [start]
        while todo:
            chunk = todo.pop()
            if chunk not in seen:
                seen.append(chunk)
                todo += [self.definitions[name] for name in set(re.findall(r"\w+", chunk))
                         if name in self.definitions]
        return seen


class Tests:
    """The test programs, by name."""

    def __init__(self):
        paths = glob.glob(os.path.join(SELFTESTS, "**", "*.c"), recursive=True)
        self.sources = {os.path.basename(path)[:-2]: Source(path) for path in paths}
        headers = glob.glob(os.path.join(SELFTESTS, "**", "*.h"), recursive=True)
        self.macros = {name: value for path in headers for name, value in
                       re.findall(r"^#define (\w+)((?:.*\\\n)*.*)$", read(path), re.M)}

    def text_of(self, program, name):
        """The source of a test, with what it calls in its file; None: there is no such test.

        A test is CASE, FIXTURE.CASE or FIXTURE.VARIANT.CASE. What a variant stands for may be
        defined in another file, with macros of a header.
        """
        source = self.sources.get(program)
        parts = name.split(".")
        if not source or len(parts) > 3:
            return None
        case = source.cases.get((parts[0] if len(parts) > 1 else None, parts[-1]))
        if not case:
            return None
        text = source.reach(case)
        if len(parts) == 3:
            variant = source.variants.get((parts[0], parts[1]))
            if not variant:
                return None
            text += source.reach(variant)
            for word in re.findall(r"&(\w+)", variant):
                text += [other.definitions[word] for other in self.sources.values()
                         if word in other.definitions]
            text += [self.macros[word] for word in set(re.findall(r"\w+", "\n".join(text)))
                     if word in self.macros]
        return "\n".join(text)


def tests_of(row):
    """(program, test) of each test that a row names."""
    found = []
    for part in filter(None, row.tests.split(";")):
        program, _, names = part.partition(":")
        found += [(program.strip(), name.strip()) for name in names.split(",")]
    return found


def untested(table, rows, tests):
    wrong = []
    for row in rows:
        where = f"{table.source}: {row.errno} ({row.when})"
        if not tests_of(row):
            wrong.append(f"{where}: no test")
        for program, name in tests_of(row):
            text = tests.text_of(program, name)
            if text is None:
                wrong.append(f"{where}: there is no test {program}: {name}")
            elif not re.search(rf"\b{row.errno}\b", text):
                wrong.append(f"{where}: {program}: {name} does not mention {row.errno}")
    return wrong


def missing(table, rows):
    wrong = []
    if f":doc: {table.title}\n" not in read(os.path.join(ROOT, table.page)):
        wrong.append(f"{table.page}: does not take '{table.title}' from {table.source}")
    man = read(os.path.join(ROOT, table.man))
    errors = man.partition("\n.SH ERRORS\n")[2].partition("\n.SH ")[0]
    told = set(re.findall(r"^\.TP\n\.B (E\w+)$", errors, re.M))
    return wrong + [f"{table.man}: {errno} is not in ERRORS, or not in {table.source}"
                    for errno in sorted(told ^ {row.errno for row in rows})]


def check():
    tests, wrong = Tests(), []
    for table in TABLES:
        rows = rows_of(table)
        wrong += untested(table, rows, tests) + missing(table, rows)
    return wrong
