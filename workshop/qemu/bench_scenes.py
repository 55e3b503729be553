# SPDX-License-Identifier: GPL-2.0
"""Scenes of procmap_bench: latencies of several programs at work at once, as ratios of one run."""

import collections
import math
import statistics

SIZES = (30, 1000, 10000, 100000)
READERS = (1, 2, 4)
CALLS = ("mmap", "mprotect", "munmap")
STALL_LIMIT = 1.1
QUANTILES = ("p50", "p99")


class Scenes:
    """The scenes that one kernel played."""

    def __init__(self, result):
        self.all = {scene["name"]: scene for scene in result.get("scenes", ())}

    def get(self, name):
        """The scene, if there are figures of it."""
        scene = self.all.get(name)
        return scene if scene and scene["status"] == "ok" and scene["rounds"] else None

    def latency(self, name, call, key):
        """Median over the rounds; of maxima the largest. None without figures."""
        scene = self.get(name)
        values = [turn[call][key] for turn in scene["rounds"] if call in turn] if scene else []
        if not values:
            return None
        return max(values) if key == "max" else statistics.median(values)

    def rate(self, name, key):
        """How often a second."""
        return self.count(name, key) / self.count(name, "seconds") if self.get(name) else None

    def count(self, name, key):
        scene = self.get(name)
        return sum(turn[key] for turn in scene["rounds"]) if scene else None

    def calls(self, name, call):
        """How many there were in all rounds."""
        scene = self.get(name)
        return sum(turn[call]["nr"] for turn in scene["rounds"] if call in turn) if scene else None

    def ratio(self, name, other, call, key):
        """The median of the ratios in each turn, which plays one scene soon after the other."""
        one, two = self.get(name), self.get(other)
        if not one or not two:
            return None
        pairs = [(a[call][key], b[call][key]) for a, b in zip(one["rounds"], two["rounds"])
                 if call in a and call in b and b[call][key]]
        return statistics.median(a / b for a, b in pairs) if pairs else None

    def mean_ratio(self, kind, other, key):
        """Geometric mean over the calls and sizes of ratio()."""
        ratios = [self.ratio(f"stall/{kind}/{size}", f"stall/{other}/{size}", call, key)
                  for size in SIZES for call in CALLS]
        ratios = [ratio for ratio in ratios if ratio]
        return math.exp(statistics.mean(map(math.log, ratios))) if ratios else None


def elsewhere(kind):
    """What a scene is compared with: the same readers of another process, for those nobody."""
    what, _, readers = kind.rpartition("-")
    other = {"text": "text-elsewhere", "query": "elsewhere"}.get(what)
    return f"{other}-{readers}" if other else "none"


# One figure beside its limit; the limit is empty where there is none
Limit = collections.namedtuple("Limit", "what figure limit kept base", defaults=("",))


def stall_limit(patched, kind, key, doing):
    """What readers may do to a process that changes its address space."""
    mean = patched.mean_ratio(kind, elsewhere(kind), key)
    return Limit(f"{key} of mmap, mprotect, munmap with {doing} it, of that with the same "
                  "looking at another process",
                  "-" if mean is None else f"{mean:.2f}", f"at most {STALL_LIMIT}",
                  mean is not None and mean <= STALL_LIMIT)


def stall_figures(kernels, kind, key, doing):
    """The same beside no reader, on each kernel."""
    means = [scenes.mean_ratio(kind, "none", key) for scenes in kernels]
    base, patched = ("-" if mean is None else f"{mean:.2f}" for mean in means)
    return Limit(f"{key} with {doing} it, of that with no reader", patched, "", None, base)


def stall_limits(patched, base):
    kinds = [(f"{kind}-{readers}", f"{readers} {verb}") for kind, verb in
             (("query", "querying"), ("text", "reading the text of")) for readers in READERS]
    return ([stall_limit(patched, kind, key, doing) for key in QUANTILES for kind, doing in kinds]
            + [stall_figures((base, patched), kind, key, doing)
               for key in QUANTILES for kind, doing in kinds])


def wait_limits(patched):
    """With NOWAIT every call comes back."""
    for name in sorted(patched.all):
        if name.startswith("wait/") and name.endswith("/nowait"):
            longest, hangs = patched.latency(name, "reader", "max"), patched.count(name, "hangs")
            calls = patched.calls(name, "reader")
            figure = "-" if longest is None else \
                f"{hangs} hung; {calls:,} calls, the longest {longest / 1e6:.1f} ms"
            yield Limit(f"`{name}` comes back", figure, "always", longest is not None and not hangs)
