# SPDX-License-Identifier: GPL-2.0
"""Figures of procmap_bench as Markdown."""

from bench_cases import LOOPS, verdict
from bench_scenes import CALLS, QUANTILES, READERS, SIZES, elsewhere

WAYS = ("text", "text-cached", "query", "query-skip", "cache")
PROGRAMS = ("busybox", "python3")
# Processes of 10,000 mappings: key, what a pass takes, for people
COSTS = (("libraries", "dump", "libraries, five mappings a file"),
         ("anonymous", "dump", "anonymous mappings"),
         ("mixed", "dump", "mixed mappings, 1 % of which are code"),
         ("mixed", "synthesize", "of these, the code: the whole pass"))


def markdown(head, rows):
    """A table; the first column is text, the others are figures."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def times(one, other):
    return f"{one / other:,.1f}" if one and other else "-"


def limits(rows, more):
    """Every figure that has a limit, beside that limit."""
    lines = [(f"`{row.name}`: {row.what}", number(row.base, 1), number(row.patched, 1), row.limit,
              verdict(row.kept)) for row in rows.values() if row.limit]
    lines += [(one.what, one.base, one.figure, one.limit, verdict(one.kept)) for one in more]
    return markdown(("figure", "base", "patched", "limit", "kept"), lines)


def best(row):
    """The figures that there are: only the patched kernel has queries."""
    return row.patched if row else None


def passes(found):
    """The symbolizer pass and the synthesizer pass, in instructions."""
    lines = []
    for key in (*map(str, SIZES), *PROGRAMS):
        row = found.get(f"symbolize/text/{key}")
        if not row:
            continue
        line = [f"{int(key):,} mappings" if key.isdigit() else key, number(row.items)]
        for kind in ("symbolize", "synthesize"):
            text, query = found.get(f"{kind}/text/{key}"), best(found.get(f"{kind}/query/{key}"))
            line += (number(text.base), number(text.patched), number(query),
                     times(text.patched, query)) if text else "-" * 4
        line.append(times(best(found.get(f"symbolize/text-id/{key}")),
                          best(found.get(f"symbolize/query-id/{key}"))))
        lines.append(line)
    return markdown(("process", "addresses", "symbolizer pass: text, base", "text", "queries",
                     "times cheaper", "synthesizer pass: text, base", "text", "queries",
                     "times cheaper", "symbolizer pass with build IDs: times cheaper"), lines)


def shares(found):
    """How the cost depends on the share of the mappings that is asked for."""
    lines = []
    for name, row in found.items():
        if name.startswith("share/text/"):
            share = name.rsplit("/", 1)[1]
            query = best(found.get(f"share/query/{share}"))
            lines.append((f"{share} %", number(row.items), number(row.patched), number(query),
                          times(row.patched, query)))
    return markdown(("of 10,000 mappings", "addresses", "text", "queries", "times cheaper"), lines)


def scans(found):
    """All mappings, and all executable files, of processes of each size."""
    lines = []
    for size in SIZES:
        if f"dump/text/{size}" not in found and f"synthesize/scan/{size}" not in found:
            continue
        line = [f"{size:,} mappings"]
        for kind in ("dump", "synthesize"):
            text, query, scan = (found.get(f"{kind}/{way}/{size}")
                                 for way in ("text", "query", "scan"))
            line += (number(text.base if text else None), number(best(text)),
                     number(best(query)), number(best(scan)))
        lines.append(line)
    return markdown(("process", "all mappings: text, base", "text", "queries", "scan",
                     "executable files: text, base", "text", "queries", "scan"), lines)


def costs(found):
    """What each way costs, for each mapping, or as a whole for the few that are code."""
    lines = []
    for key, kind, what in COSTS:
        text, query, scan = (found.get(f"{kind}/{way}/{key}") for way in ("text", "query", "scan"))
        if not text or not text.items:
            continue
        each = text.items if kind == "dump" else 1
        bare = best(found.get(f"scan/{key}")) if kind == "dump" else None
        lines.append((what, *(number(figure and figure / each) for figure in
                              (text.base, text.patched, best(query))), number(bare),
                      number(best(scan) and best(scan) / each),
                      times(text.base, best(scan)), times(text.patched, best(scan))))
    return markdown(("10,000 mappings, each", "text, base", "text", "queries", "scan, no names",
                     "scan, names", "times cheaper than base", "than text"), lines)


def loops(found):
    """Rounds of a profiler, and how many of its answers were wrong."""
    lines = []
    for size in LOOPS:
        for way in WAYS:
            row = found.get(f"loop/{way}/{size}")
            if row:
                process = f"{int(size):,} mappings" if size.isdigit() else size
                lines.append((f"{process}: {row.what}", number(row.base), number(row.patched),
                              number(row.wrong), number(row.answers)))
    return markdown(("process: way", "a round, base", "patched", "wrong answers", "of"), lines)


def library(runs):
    lines = [(run["what"], *(number(run[who][when]) if run[who][when] else ""
                             for when in ("last", "worst", "first") for who in ("kept", "queries")))
             for run in runs]
    return markdown(("process", "last", "queries", "worst", "queries", "first", "queries"), lines)


def latencies(scenes, name, call):
    """In microseconds."""
    values = (scenes.latency(name, call, key) for key in ("p50", "p99", "max"))
    return " / ".join(number(value and value / 1000, 1) for value in values)


def stalls(scenes):
    """Latencies of a process that changes its address space, and what readers do to them."""
    kinds = ["none"] + [f"{kind}-{readers}" for kind in
                        ("text", "text-elsewhere", "query", "elsewhere") for readers in READERS]
    lines = []
    for size in SIZES:
        for kind in kinds:
            name = f"stall/{kind}/{size}"
            if not scenes.get(name):
                continue
            other = f"stall/{elsewhere(kind)}/{size}"
            lines.append((f"{size:,}: {kind}", *(latencies(scenes, name, call) for call in CALLS),
                          *(" / ".join(number(scenes.ratio(name, other, call, key), 2)
                                       for call in CALLS) for key in QUANTILES),
                          number(scenes.rate(name, "sleeps"), 1)))
    return markdown(("mappings: readers", *(f"{call}, p50 / p99 / max" for call in CALLS),
                     *(f"{key} of each, ratio" for key in QUANTILES), "waits a second"), lines)


def waits(scenes):
    lines = []
    for name in scenes.all:
        if not name.startswith("wait/") or not scenes.get(name):
            continue
        rounds = len(scenes.get(name)["rounds"])
        hangs = scenes.count(name, "hangs")
        lines.append((f"`{name[5:]}`", number(scenes.calls(name, "reader") or 0),
                      latencies(scenes, name, "reader"),
                      f"{hangs} of {rounds}" if hangs else ""))
    return markdown(("page, flags", "calls that came back", "latency, p50 / p99 / max",
                     "rounds in which it hung"), lines)
