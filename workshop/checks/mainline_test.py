#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The base's own kselftests find the same on the patched kernel as on the unpatched one.

Those of /proc, and of calls that change or look at VMAs, one TAP case for each program. Those of
/proc/uptime are left out: they compare it with a clock, and fail on a busy machine. Some fail on
both kernels, as the machine has no swap and one node. So it is the results of all its cases that
must be the same, and most programs must pass. Figures in their names do not count.
"""

import os
import re
import subprocess
import sys

import cases
from places import BUILD, SRC_BASE

from kernel import clean_environment  # pylint: disable=wrong-import-order

TESTS = "tools/testing/selftests"
OUT = os.path.join(BUILD, "mainline")
# mm/ of the tests is vm/ in older trees. A base has some of them. Left out are those that give up
# after some seconds: droppable, khugepaged, migration and mrelease_test.
MM = ("cow", "guard-regions", "hugetlb-madvise", "ksm_functional_tests", "madv_populate",
      "map_fixed_noreplace", "map_populate", "mdwe_test", "memfd_secret", "merge", "mkdirty",
      "mlock2-tests", "mremap_dontunmap", "mremap_test", "mseal_test", "pagemap_ioctl",
      "prctl_thp_disable", "process_madv", "rmap", "soft-dirty", "split_huge_page_test",
      "uffd-unit-tests", "userfaultfd")
ARGUMENTS = {"userfaultfd": "anon 20 16"}
RESULT = re.compile(r"^(?:ok|not ok) .*$|^status \d+$", re.M)
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def sources():
    """{folder: programs} of the unpatched tree."""
    mm = next(name for name in ("mm", "vm") if os.path.isdir(os.path.join(SRC_BASE, TESTS, name)))
    files = {name: set(os.listdir(os.path.join(SRC_BASE, TESTS, name))) for name in ("proc", mm)}
    return {"proc": sorted(name[:-2] for name in files["proc"] if name.endswith(".c") and
                           not name.startswith("proc-uptime")),
            mm: [name for name in MM if f"{name}.c" in files[mm]]}


def build():
    """Build them one by one: some do not compile on every Debian. Returns lines of a script."""
    lines = ["echo 128 >/proc/sys/vm/nr_hugepages"]
    for folder, names in sources().items():
        out = os.path.join(OUT, folder)
        os.makedirs(out, exist_ok=True)
        subprocess.run(["make", "-k", "-C", os.path.join(SRC_BASE, TESTS, folder), f"OUTPUT={out}",
                        f"KHDR_INCLUDES=-isystem {BUILD}/user/usr/include", f"-j{os.cpu_count()}",
                        *(os.path.join(out, name) for name in names)],
                       env=clean_environment("x86"), check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        built = [name for name in names if os.path.exists(os.path.join(out, name))]
        print(f"# not built in {folder}/: {' '.join(sorted(set(names) - set(built))) or 'none'}")
        lines += [f"cd {out}", *(f"echo running {folder}/{name}; ./{name} {ARGUMENTS.get(name, '')}; "
                                 "status=$?; echo; echo status $status" for name in built)]
    return lines


def results(variant, lines):
    """{program: its lines of results}"""
    script = os.path.join(OUT, "run.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("\n".join([*lines, "echo ended", ""]))
    # mremap_test finds its place taken now and then where addresses are random.
    run = cases.machine(f"mainline-{variant}", ["/bin/sh", script], "--variant", variant, "--memory",
                        "5G", "--timeout", "7200", "--append", "secretmem.enable=1 norandmaps",
                        "--root", "host")
    if not run.stdout.endswith("ended\n"):
        sys.exit(f"error: no end on {variant}\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    sections = re.split(r"^running (.*)$", run.stdout, flags=re.M)[1:]
    return {name: RESULT.findall(text) for name, text in zip(sections[::2], sections[1::2])}


def figureless(lines):
    return [*(NUMBER.sub("N", line) for line in lines[:-1]), *lines[-1:]]


def main():
    lines = build()
    base, plain = results("base", lines), results("plain", lines)
    report = cases.Report()
    for name, want in base.items():
        have = plain.get(name, ["none"])
        report.case(figureless(have) == figureless(want),
                    f"{name} ({len(want) - 1} cases, {want[-1]})",
                    "\n".join([*want, "patched:", *have]))
    passed = sum(want[-1] == "status 0" for want in base.values())
    report.case(passed * 4 >= len(base) * 3, f"{passed} programs pass")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
