#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The look-ups of the BPF selftests, on the patched kernel.

Builds test_progs of the patched tree with Debian's clang and libbpf and with one test in it, twice.
The first is against the uapi headers of tools, which have PROCMAP_QUERY, the second against those
of the system, which may lack it. The test compares the offsets with the program headers, and says
how it found them. Prints TAP.
"""

import os
import subprocess
import sys

import cases
from places import BUILD, SRC

from common import write  # pylint: disable=wrong-import-order

BPF = os.path.join(SRC, "tools", "testing", "selftests", "bpf")
SOURCES = ["test_progs.c", "trace_helpers.c", "testing_helpers.c", "cgroup_helpers.c",
           "network_helpers.c", "cap_helpers.c", "btf_helpers.c", "test_loader.c",
           "prog_tests/maps_lookup.c"]
# As in the Makefile of the BPF selftests, except for what needs a kernel with BTF
CFLAGS = ["-g", "-O0", "-Wall", "-Werror", f"-I{BPF}", f"-I{SRC}/tools/include"]
LIBS = ["-rdynamic", "-lbpf", "-lelf", "-lz", "-lrt", "-lpthread"]
HEADERS = {"new": [f"-I{SRC}/tools/include/uapi"], "old": []}
# These come before the headers of the system, which may be too new for this
OLD_FS = "#include_next <linux/fs.h>\n#undef PROCMAP_QUERY\n"


def build(name):
    """test_progs with one test; returns its path."""
    out = os.path.join(BUILD, "bpf", name)
    write(os.path.join(out, "prog_tests", "tests.h"), "DEFINE_TEST(maps_lookup)\n")
    if name == "old":
        write(os.path.join(out, "linux", "fs.h"), OLD_FS)
    objects = []
    for source in SOURCES:
        objects.append(os.path.join(out, os.path.basename(source)[:-2] + ".o"))
        subprocess.run(["clang", f"-I{out}", *CFLAGS, *HEADERS[name], "-c",
                        os.path.join(BPF, source), "-o", objects[-1]], check=True)
    program = os.path.join(out, "test_progs")
    subprocess.run(["clang", *objects, *LIBS, "-o", program], check=True)
    return program


def main():
    report = cases.Report()
    for name, source in ("new", "PROCMAP_QUERY"), ("old", "the text of /proc/self/maps"):
        result = cases.machine("bpf-plain", [build(name), "-v", "-t", "maps_lookup"], "--memory",
                               "1G", "--root", "host", "--timeout", "120")
        cases.comment(result.stdout + result.stderr)
        what = f"built with {name} headers, on the plain kernel"
        report.case(result.returncode == 0 and "#1       maps_lookup:OK\n" in result.stdout,
                    f"the offsets are those of the program headers, {what}")
        report.case(f"Addresses are looked up by {source}.\n" in result.stdout,
                    f"looked up by {source}, {what}")
    sys.exit(report.end())


if __name__ == "__main__":
    main()
