# SPDX-License-Identifier: GPL-2.0
"""Reading TAP, also as run_kselftest.sh nests it: the inner lines prefixed by `# `."""

import fnmatch
import re

RESULT = re.compile(r"^(not ok|ok) (\d+)\b[ -]*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")
DIRECTIVE = re.compile(r"# *(SKIP|XFAIL|TODO)\b *(.*)$", re.I)
PREFIX = re.compile(r"^# ?")


class Case:
    """One result line."""

    def __init__(self, name, passed, skipped, reason=""):
        self.name, self.passed, self.skipped, self.reason = name, passed, skipped, reason

    def matches(self, pattern):
        """Is it this case, or one that is skipped for this reason? Harnesses tell the reason with
        or without the name of the case."""
        return any(fnmatch.fnmatch(text, pattern)
                   for text in (self.name, f"{self.name}: {self.reason}"))


class Block:
    """A plan and its results at one level of nesting."""

    def __init__(self):
        self.plan = None
        self.cases = []
        self.numbers = []

    def take(self, line):
        """Returns the case when the line is a result."""
        plan = PLAN.match(line)
        if plan:
            self.plan = int(plan.group(1))
            return None
        match = RESULT.match(line)
        if not match:
            return None
        word, number, text = match.groups()
        directive = DIRECTIVE.search(text)
        skipped = bool(directive) and directive.group(1).upper() == "SKIP"
        reason = directive.group(2) if directive else ""
        name = DIRECTIVE.sub("", text).strip() or reason or f"case {number}"
        case = Case(name, word == "ok" and (not directive or skipped), skipped, reason)
        self.cases.append(case)
        self.numbers.append(int(number))
        return case

    def trouble(self):
        """What is wrong with the block as a whole, or None."""
        if self.plan is None:
            return "no plan" if self.cases else None
        if self.numbers != list(range(1, self.plan + 1)):
            return f"the plan says {self.plan} cases, {len(self.cases)} reported"
        return None


def parse(text):
    """All cases of a TAP stream; what is missing becomes a failed case.

    A nested block counts by its own cases. The outer line of a program counts if the program has no
    cases, or if the line fails although every inner case passed.
    """
    outer, inner, cases, blocks = Block(), Block(), [], []
    for line in text.splitlines():
        line = line.rstrip("\r")
        if line.startswith("#"):
            inner.take(PREFIX.sub("", line, count=1))
        elif line.startswith("TAP version ") and outer.plan is not None:
            blocks.append(outer)
            outer = Block()
        else:
            result = outer.take(line)
            if result:
                cases += close(inner, result)
                inner = Block()
    troubles = [block.trouble() for block in (*blocks, outer)]
    if not cases:
        troubles.append("no results")
    if inner.cases or inner.plan:
        troubles.append("the output ends inside a test")
    return cases + [Case(f"TAP: {trouble}", False, False) for trouble in troubles if trouble]


def close(inner, result):
    """The cases that a finished outer line stands for."""
    result.name = result.name.split(" # ")[0]
    if not inner.cases and inner.plan is None:
        return [result]
    cases = inner.cases
    for case in cases:
        case.name = f"{result.name}: {case.name}"
    trouble = inner.trouble()
    if trouble:
        cases.append(Case(f"{result.name}: {trouble}", False, False))
    elif not result.passed and all(case.passed for case in cases):
        cases.append(Case(f"{result.name}: failed after its cases passed", False, False))
    elif result.skipped and not any(case.skipped for case in cases):
        cases.append(Case(result.name, True, True))
    return cases
