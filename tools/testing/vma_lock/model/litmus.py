#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check litmus tests against the memory model of the kernel.

usage: litmus.py TEST.litmus...         each must be "Never", and need all its orderings
       litmus.py --validate DIR...      compare with the "Result:" of tests of the kernel

The bad outcome of a test, its "exists" clause, must be impossible. Then each
barrier, acquire, release and full ordering of an atomic operation is taken away,
one at a time. The bad outcome must become possible, unless the line ends with
"// not needed: reason".

This is the model of tools/memory-model/linux-kernel.cat itself, not a machine:
all candidate executions are made (each read takes its value from any write to
the same place, writes to one place come in any order), and the axioms of that
file decide which of them can happen. So nothing is assumed of the machine that
the kernel does not assume: writes may become visible to different processors at
different times, as on Power. Names of relations are those of that file.

What it is not: the grammar is a subset (no loops, no plain accesses, no SRCU, no
spin_trylock()); a control dependency ends with its if statement; a value that a
test computes is that of Python's integers.
"""

import argparse
import itertools
import os
import re
import sys

from litmus_read import ATOMIC, Blocked, NeedValue, Parser, Run, Unsupported

# What is left of a call without its ordering
WEAKER = {"smp_load_acquire": "READ_ONCE", "smp_store_release": "WRITE_ONCE",
          "rcu_assign_pointer": "WRITE_ONCE", "atomic_read_acquire": "atomic_read",
          "atomic_set_release": "atomic_set", "smp_mb": "", "smp_rmb": "", "smp_wmb": "",
          "smp_store_mb": "WRITE_ONCE", "synchronize_rcu": "smp_mb", "rcu_read_lock": "",
          "spin_lock": ""}
PARTNER = {"rcu_read_lock": "rcu_read_unlock", "spin_lock": "spin_unlock"}


def compose(*relations):
    """r ; s ; ..., where a relation is a list: for each event, the set of others as bits."""
    result = relations[0]
    for other in relations[1:]:
        result = [join(other, row) for row in result]
    return result


def join(relation, row):
    """All that the events of @row lead to."""
    result = 0
    while row:
        low = row & -row
        result |= relation[low.bit_length() - 1]
        row ^= low
    return result


def union(*relations):
    return [merge(rows) for rows in zip(*relations)]


def merge(rows):
    result = 0
    for row in rows:
        result |= row
    return result


def both(left, right):
    return [a & b for a, b in zip(left, right)]


def optional(relation):
    """r?"""
    return [row | 1 << i for i, row in enumerate(relation)]


def closure(relation):
    """r+"""
    rows = list(relation)
    for k, row in enumerate(rows):
        for i, other in enumerate(rows):
            if other >> k & 1:
                rows[i] |= rows[k]
    return rows


def star(relation):
    return optional(closure(relation))


def inverse(relation):
    size = range(len(relation))
    return [sum((relation[j] >> i & 1) << j for j in size) for i in size]


def irreflexive(relation):
    return not any(row >> i & 1 for i, row in enumerate(relation))


def acyclic(relation):
    return irreflexive(closure(relation))


class Execution:
    """What each thread did. Relations that depend on no other thread are made once."""

    def __init__(self, runs, init):
        self.events = [{"kind": "W", "loc": loc, "value": value, "tags": {"init"}, "thread": -1}
                       for loc, value in init.items()]
        base = [len(self.events)]
        for run in runs:
            self.events += run.events
            base.append(len(self.events))
        self.size = range(len(self.events))
        self.int = self.relation(lambda a, b: a["thread"] == b["thread"])
        self.ext = [~row for row in self.int]
        self.po = [row & -2 << i if self.events[i]["thread"] >= 0 else 0
                   for i, row in enumerate(self.int)]
        self.writes = self.events_where(lambda e: e["kind"] == "W")
        self.loc = self.relation(lambda a, b: a["loc"] is not None and a["loc"] == b["loc"])
        deps = {name: [0] * len(self.events) for name in ("addr", "data", "ctrl", "rmw")}
        for run, start in zip(runs, base):
            for name, before, after in run.deps:
                deps[name][start + before] |= 1 << start + after
        self.deps = deps
        self.local_order()

    def relation(self, test):
        return [sum(1 << j for j in self.size if test(self.events[i], self.events[j]))
                for i in self.size]

    def events_where(self, test):
        return sum(1 << i for i in self.size if test(self.events[i]))

    def tagged(self, tag):
        return self.events_where(lambda e: tag in e["tags"])

    def only(self, events):
        """[events]"""
        return [1 << i & events for i in self.size]

    def between(self, tag, before, after):
        """[before] ; po ; [F with this tag] ; po ; [after]"""
        return compose(self.only(before), self.po, self.only(self.tagged(tag)), self.po,
                       self.only(after))

    def local_order(self):
        """fence, and what of ppo needs no other thread"""
        access = self.events_where(lambda e: e["kind"] != "F")
        rmw = merge(self.deps["rmw"]) | merge(inverse(self.deps["rmw"]))
        reads = access & ~self.writes & ~self.tagged("noreturn")
        po, only, opt = self.po, self.only, optional(self.po)
        self.acq_po = compose(only(self.tagged("acquire")), po, only(access))
        self.po_rel = compose(only(access), po, only(self.tagged("release")))
        self.wmb = self.between("wmb", self.writes, self.writes)
        self.strong = union(
            self.between("mb", access, access),
            compose(self.between("before-atomic", access, rmw), opt, only(access)),
            compose(only(access), opt, self.between("after-atomic", rmw, access)),
            compose(only(access), opt, self.between("after-spinlock", self.tagged("LKW"), access)),
            compose(po, only(self.tagged("sync-rcu")), opt))
        fence = union(self.strong, self.po_rel, self.acq_po, self.wmb,
                      self.between("rmb", reads, reads))
        dep = union(self.deps["addr"], self.deps["data"])
        to_write = compose(union(dep, self.deps["ctrl"]), only(self.writes))
        self.dep, self.ppo = dep, union(fence, to_write, self.deps["addr"])
        locks = self.tagged("rcu-lock"), self.tagged("rcu-unlock")
        self.rscs = [next((1 << j for j in self.size if row >> j & 1 and locks[1] >> j & 1), 0)
                     if locks[0] >> i & 1 else 0 for i, row in enumerate(po)]

    def allowed(self, rf, co):
        """The axioms of linux-kernel.cat, for accesses that are all marked."""
        fr = both(compose(inverse(rf), co), [~(1 << i) for i in self.size])
        if not acyclic(union(both(self.po, self.loc), rf, co, fr)):
            return False
        if any(both(self.deps["rmw"], compose(both(fr, self.ext), both(co, self.ext)))):
            return False
        overwrite, rfe = union(co, fr), both(rf, self.ext)
        unlock = compose(self.po, self.only(self.tagged("UL")), union(self.po, rf),
                         self.only(self.tagged("LKR")), self.po)
        ppo = union(self.ppo, both(overwrite, self.int), both(unlock, self.int),
                    compose(self.dep, both(rf, self.int)))
        strong = union(self.strong, compose(
            self.po, self.only(self.tagged("UL")), union(co, self.po),
            self.only(self.tagged("LKW")), self.between("after-unlock-lock", -1, -1)))
        cumul = union(compose(optional(rfe), union(strong, self.po_rel)), self.wmb, unlock)
        prop = compose(optional(both(overwrite, self.ext)), star(cumul), optional(rfe))
        other = [~(1 << i) for i in self.size]
        hb = union(ppo, rfe, both(both(prop, other), self.int))
        if not acyclic(hb):
            return False
        pb = compose(prop, strong, star(hb))
        return acyclic(pb) and self.rcu(prop, hb, pb)

    def rcu(self, prop, hb, pb):
        """Grace periods: as many of them as read sections, in any order."""
        if not any(self.rscs) or not self.tagged("sync-rcu"):
            return True
        link = compose(optional(self.po), star(hb), star(pb), prop, self.po)
        gp, section = self.only(self.tagged("sync-rcu")), inverse(self.rscs)
        order, last = gp, None
        while order != last:
            last = order
            order = union(order, compose(gp, link, section), compose(section, link, gp),
                          compose(gp, link, order, link, section),
                          compose(section, link, order, link, gp), compose(order, link, order))
        fence = compose(self.po, order, optional(self.po))
        return irreflexive(compose(prop, fence, star(hb), star(pb)))

    def choices(self):
        """All ways to read (rf) and to order writes (co); and the last values."""
        sources = [[(w, r) for w in self.size if self.writes >> w & 1 and
                    (self.events[w]["loc"], self.events[w]["value"]) ==
                    (self.events[r]["loc"], self.events[r]["value"])]
                   for r in self.size if self.events[r]["kind"] == "R"]
        places = {}
        for i in self.size:
            if self.writes >> i & 1:
                places.setdefault(self.events[i]["loc"], []).append(i)
        orders = [[(w[0],) + tail for tail in itertools.permutations(w[1:])]
                  for w in places.values()]
        for order in itertools.product(*orders):
            co = [0] * len(self.events)
            for row in order:
                for first, then in itertools.combinations(row, 2):
                    co[first] |= 1 << then
            if not acyclic(union(both(self.po, self.loc), co)):
                continue
            last = {self.events[row[-1]]["loc"]: self.events[row[-1]]["value"] for row in order}
            for pairs in itertools.product(*sources):
                rf = [0] * len(self.events)
                for write, read in pairs:
                    rf[write] |= 1 << read
                yield rf, co, last


def holds(test, runs, last):
    """Is the condition true? Without the last values of memory: None if that depends on them."""
    if test[0] == "is":
        if ":" in test[1]:
            thread, name = test[1].split(":")
            return runs[int(thread)].regs.get(name, (0, None))[0] == test[2]
        return None if last is None else last.get(test[1], 0) == test[2]
    values = [holds(inner, runs, last) for inner in test[1:]]
    if test[0] == "not":
        return None if values[0] is None else not values[0]
    sure = test[0] == "or"
    return sure if sure in values else None if None in values else not sure


def thread_runs(parser, thread, names, domain):
    """All runs of a thread, with any values that its reads can have."""
    todo, runs = [()], []
    while todo:
        values = todo.pop()
        try:
            runs.append(Run(thread, parser.threads[thread], names, values))
        except NeedValue as need:
            todo += [values + (value,) for value in domain.setdefault(need.args[0], {0})]
        except Blocked:
            pass
    return runs


def all_runs(parser, names):
    """For each thread its runs. More values may be written when more values are read."""
    domain, count = {loc: {value} for loc, value in parser.init.items()}, -1
    while count != sum(map(len, domain.values())) and count < 100:
        count = sum(map(len, domain.values()))
        runs = [thread_runs(parser, i, names, domain) for i in range(len(parser.threads))]
        for event in (event for some in runs for run in some for event in run.events):
            if event["kind"] == "W":
                domain.setdefault(event["loc"], {parser.init.get(event["loc"], 0)}) \
                    .add(event["value"])
    return runs


def can_happen(parser, names):
    """Is there an execution with the bad outcome?"""
    for runs in itertools.product(*all_runs(parser, names)):
        if holds(parser.exists, runs, None) is False:
            continue
        places = {event["loc"] for run in runs for event in run.events} - {None}
        init = {loc: parser.init.get(loc, 0) for loc in sorted(places | set(parser.init))}
        execution = Execution(runs, init)
        for rf, co, last in execution.choices():
            if holds(parser.exists, runs, last) and execution.allowed(rf, co):
                return True
    return False


def weaker(name):
    """What is left of a call without its ordering; None: it has none."""
    match = ATOMIC.fullmatch(name)
    if not match:
        return WEAKER.get(name)
    bare = name[:-len(match[3])] if match[3] else name
    if match[3] == "_relaxed" or (not match[2] and not match[1].startswith(
            ("fetch", "xchg", "cmpxchg"))):
        return None
    return bare + "_relaxed"


def weakenings(parser):
    """Yields (call, names of all calls with that one made weaker)."""
    names = [name for _, name, _ in parser.calls]
    done = set()
    for call, (thread, name, _) in enumerate(parser.calls):
        other = weaker(name)
        if other is None or (thread, name) in done:
            continue
        changed = list(names)
        changed[call] = other
        if name in PARTNER:
            done.add((thread, name))
            gone = (name, PARTNER[name])
            changed = ["" if t == thread and n in gone else n for t, n, _ in parser.calls]
        yield call, other, changed


def check(path):
    """Check a test of ours; returns the number of checks, and of failures."""
    with open(path, encoding="utf-8") as file:
        parser = Parser(file.read())
    name = os.path.basename(path).removesuffix(".litmus")
    bad = can_happen(parser, [call for _, call, _ in parser.calls])
    print(f"{'FAIL' if bad else 'ok'}: {name}: {'Sometimes' if bad else 'Never'}")
    total, failed = 1, int(bad)
    for call, other, names in weakenings(parser):
        thread, what, line = parser.calls[call]
        happens = can_happen(parser, names)
        kept = line in parser.kept
        total += 1
        failed += happens == kept
        print(f"{'FAIL' if happens == kept else 'ok'}: {name}: P{thread} line {line + 1}: "
              f"{what} -> {other or 'nothing'}: {'Sometimes' if happens else 'Never'}"
              f"{', as noted' if kept else ''}")
    return total, failed


def validate(directories):
    """Compare with what the tests of the kernel say."""
    counts = {"agree": 0, "differ": 0, "not supported": 0}
    paths = sorted(os.path.join(top, file) for directory in directories
                   for top, _, files in os.walk(directory) for file in files
                   if file.endswith(".litmus"))
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        expected = re.search(r"Result: (\w+)", text)
        try:
            parser = Parser(text)
            bad = can_happen(parser, [call for _, call, _ in parser.calls])
        except Unsupported as reason:
            verdict, said = "not supported", str(reason)
        else:
            said = "Sometimes" if bad else "Never"
            verdict = "agree" if not expected or said == expected[1] else "differ"
            if not expected:
                verdict, said = "not supported", f"no result in the test; here {said}"
        counts[verdict] += 1
        print(f"{verdict}: {os.path.basename(path)}: {said}")
    print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
    return counts["differ"]


def main():
    parser = argparse.ArgumentParser(description="Check litmus tests against linux-kernel.cat")
    parser.add_argument("--validate", action="store_true", help="PATH: directories of the kernel")
    parser.add_argument("path", nargs="+")
    args = parser.parse_args()
    if args.validate:
        return 1 if validate(args.path) else 0
    total = failed = 0
    for path in args.path:
        counts = check(path)
        total, failed = total + counts[0], failed + counts[1]
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
