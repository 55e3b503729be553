#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The look-ups of the BPF selftests, on each of the named kernels; usage: bpf_test.py VARIANT...

Builds test_progs of the patched tree with Debian's clang and libbpf and with one test in it, twice.
The first is against the uapi headers of tools, which have PROCMAP_QUERY, the second against those
of the system, which may lack it. All kernels must give the same offsets, and say how they found
them. Prints TAP.
"""

import os
import re
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
QUERY, TEXT = "PROCMAP_QUERY", "the text of /proc/self/maps"


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


def run(program, variant):
    """Run the test in the machine; (exit status, output)."""
    result = cases.machine(f"bpf-{variant}", [program, "-v", "-t", "maps_lookup"], "--variant",
                           variant, "--memory", "1G", "--root", "host", "--timeout", "120")
    cases.comment(result.stdout + result.stderr)
    return result.returncode, result.stdout


def offsets(output):
    """The lines with the offsets; they do not depend on where an object is loaded."""
    return re.findall(r"^\S+: offset -?\d+, for a uprobe -?\d+$", output, re.M)


def main():
    variants = sys.argv[1:]
    if not variants:
        sys.exit("usage: bpf_test.py VARIANT...")
    report = cases.Report()
    for name in HEADERS:
        program, first = build(name), None
        for variant in variants:
            status, output = run(program, variant)
            found = offsets(output)
            source = QUERY if name == "new" and variant != "base" else TEXT
            what = f"built with {name} headers, on the {variant} kernel"
            report.case(status == 0 and "#1       maps_lookup:OK\n" in output,
                        f"the offsets are those of the program headers, {what}")
            report.case(f"Addresses are looked up by {source}.\n" in output,
                        f"looked up by {source}, {what}")
            if first is not None:
                report.case(len(found) == 6 and found == first,
                            f"the offsets are those of the {variants[0]} kernel, {what}")
            first = first or found
    sys.exit(report.end())


if __name__ == "__main__":
    main()
