# SPDX-License-Identifier: GPL-2.0
"""Cases of procmap_bench on both kernels: figures, limits and their table."""

import fnmatch

KERNELS = ("base", "patched")
LOOPS = ("python3", "1000", "10000")    # processes of the profiler loop


def at_most(value):
    return f"at most {value:,}", lambda row, _: row.patched <= value


def above_base(percent):
    return f"base + {percent} %", lambda row, _: row.patched <= row.base * (1 + percent / 100)


def share_of_base(share):
    return f"base x {share}", lambda row, _: row.patched <= row.base * share


def beside(name, kernel, kept):
    """The figure beside that of another case on a kernel; None if that has none."""
    def judge(row, rows):
        other = getattr(rows[name], kernel) if name in rows else None
        return None if other is None else kept(row.patched, other)
    return judge


def above_case(name, percent):
    return f"{name} + {percent} %", \
        beside(name, "patched", lambda figure, other: figure <= other * (1 + percent / 100))


def share_of_case(name, times, kernel="patched"):
    return f"1/{times} of {name}" + (", unpatched" if kernel == "base" else ""), \
        beside(name, kernel, lambda figure, other: figure <= other / times)


def right_and_below(name):
    below = beside(name, "patched", lambda figure, other: figure < other)
    return f"0 wrong answers, less than {name}", lambda row, rows: row.wrong == 0 and below(row, rows)


# What each case may cost. The first pattern that fits counts; no limit where none fits.
LIMITS = (
    ("mm/*", above_base(3)),
    ("query/covering/10000", at_most(800)),
    # Ten times as many mappings as 10,000: with logarithmic growth a quarter more.
    ("query/covering/100000", above_case("query/covering/10000", 25)),
    ("add/name", at_most(900)),
    ("add/build-id", at_most(1500)),
    # However long the file is
    ("query/library/long", above_case("query/library/build-id", 1)),
    ("walk/*/per-mapping", at_most(100)),
    ("text/*", share_of_base(0.75)),
    ("scan/unchanged", at_most(420)),
    ("scan/code-unchanged", at_most(420)),
    ("scan/libraries", at_most(120)),
    ("scan/libraries-names", at_most(250)),
    ("scan/anonymous-names", at_most(140)),
    ("scan/executable", share_of_case("synthesize/text/mixed", 50, "base")),
    ("dump/scan/anonymous", share_of_case("dump/text/anonymous", 4)),
    *((f"dump/scan/{key}", share_of_case(f"dump/text/{key}", 5, "base"))
      for key in ("libraries", "mixed", "10000")),
    *((f"loop/cache/{size}", right_and_below(f"loop/query/{size}")) for size in LOOPS),
    ("readv/8", above_base(1)),
    ("readv/8-nowait", above_case("readv/8", 10)),
)


# Figures that are computed from two cases: what the first one has more, for each of so many units.
DIFFERENCES = (
    ("add/name", "what the name adds to a query", "query/library/name", "query/library/plain", 1),
    ("add/build-id", "what the build ID adds to a query", "query/library/build-id",
     "query/library/plain", 1),
    ("walk/adjacent/per-mapping", "passing one mapping that the filter excludes",
     "walk/adjacent/10000", "walk/adjacent/10", 9990),
    ("walk/holes/per-mapping", "passing one mapping that the filter excludes and a hole",
     "walk/holes/10000", "walk/holes/10", 9990),
)


def verdict(kept):
    return {True: "yes", False: "**NO**", None: ""}[kept]


class Row:  # pylint: disable=too-many-instance-attributes
    """One case on both kernels."""

    def __init__(self, cases):
        self.name = cases["patched"]["name"]
        self.what = cases["patched"]["what"]
        self.cases = cases
        self.base = cases.get("base", {}).get("median")
        self.patched = cases["patched"].get("median")
        self.items = cases["patched"].get("items") or cases.get("base", {}).get("items")
        counted = cases["patched"] if "answers" in cases["patched"] else cases.get("base", {})
        self.answers, self.wrong = counted.get("answers"), counted.get("wrong")
        self.limit, self.kept = "", None

    def judge(self, rows):
        """Set limit and kept; a case with a limit and no figure misses the limit."""
        for pattern, (text, kept) in LIMITS:
            if fnmatch.fnmatch(self.name, pattern):
                self.limit = text
                missing = self.patched is None or "base" in text and self.base is None
                self.kept = False if missing else kept(self, rows)
                return

    def figure(self, kernel):
        case = self.cases.get(kernel)
        if case is None:
            return "-"
        return f"{case['median']:,.1f}" if case["status"] == "ok" else case["status"]

    def change(self):
        if self.base and self.patched is not None:
            return f"{100 * (self.patched / self.base - 1):+.2f}"
        return ""

    def agree(self):
        """Share of the repetitions within 1 % of the median, the worse of both kernels."""
        shares = [case["agree"] for case in self.cases.values() if "agree" in case]
        return f"{100 * min(shares):.0f} %" if shares else ""

    def cells(self):
        return (f"`{self.name}`", self.what, self.figure("base"), self.figure("patched"),
                self.change(), self.limit, verdict(self.kept), self.agree())

    def as_json(self):
        return {"name": self.name, "what": self.what, "base": self.base, "patched": self.patched,
                "items": self.items, "answers": self.answers, "wrong": self.wrong,
                "limit": self.limit or None, "kept": self.kept,
                "status": {kernel: case["status"] for kernel, case in self.cases.items()},
                "reason": {kernel: case["reason"] for kernel, case in self.cases.items()
                           if "reason" in case}}


def with_differences(cases):
    """The cases of one kernel by name, and what is computed from them."""
    found = {case["name"]: case for case in cases}
    for name, what, *pair, units in DIFFERENCES:
        if not all(one in found for one in pair):
            continue
        plus, minus = (found[one] for one in pair)
        lacks = [case["reason"] for case in (plus, minus) if case["status"] != "ok"]
        found[name] = {"name": name, "what": what}
        found[name] |= ({"status": "not available", "reason": lacks[0]} if lacks else
                        {"status": "ok", "median": (plus["median"] - minus["median"]) / units})
    return found


def make_rows(results):
    cases = {kernel: with_differences(results[kernel]["cases"]) for kernel in KERNELS}
    rows = {name: Row({kernel: cases[kernel][name] for kernel in KERNELS
                       if name in cases[kernel]}) for name in cases["patched"]}
    for row in rows.values():
        row.judge(rows)
    return rows


def table(rows):
    head = ("case", "what", "base", "patched", "change %", "limit", "kept", "agree")
    lines = ["| " + " | ".join(head) + " |", "|---|---|--:|--:|--:|---|---|--:|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows.values()]
    return lines


def reasons(rows):
    """Why a case has no figure, once for each reason."""
    told = {}
    for row in rows.values():
        for kernel, case in row.cases.items():
            if case["status"] != "ok":
                told.setdefault((kernel, case["reason"]), []).append(f"`{row.name}`")
    return [f"Not available on {kernel}, {why}: {', '.join(names)}"
            for (kernel, why), names in told.items()]
