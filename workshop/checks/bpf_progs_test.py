#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""BPF selftests of the tree in the machine; usage: bpf_progs_test.py VARIANT TEST...

Builds libbpf, bpftool and test_progs of the tree with Debian's clang, with these tests alone in it:
all of them together need a newer compiler. A TEST may be TEST/SUBTEST, or TEST=SKIP where the
machine may lack what it needs. Those that this base does not have are left out. On an unpatched kernel
(VARIANT=base, base-profiler) each must fail, but TEST=OK. ACCEL=icount counts instructions. Prints TAP.
"""

import os
import re
import subprocess
import sys

import cases
from places import BUILD, SRC

from common import read, write  # pylint: disable=wrong-import-order
from kernel import clean_environment  # pylint: disable=wrong-import-order

BPF = os.path.join(SRC, "tools", "testing", "selftests", "bpf")
# Of one variant: several run at the same time.
OUT = os.path.join(BUILD, f"bpf-{sys.argv[1]}")
INCLUDES = [f"-I{OUT}", f"-I{BPF}", f"-I{OUT}/inst/usr/include", f"-I{SRC}/tools/include",
            f"-I{SRC}/tools/include/uapi", f"-I{SRC}/tools/lib", f"-I{SRC}/tools/bpf/bpftool"]
# The key of signed programs, which no test here has. test_progs ends if the kernel does not take it.
CERT = ("static const unsigned char test_progs_verification_cert[1];\n"
        "static const unsigned int test_progs_verification_cert_len;\n"
        "#undef __NR_add_key\n#define __NR_add_key __NR_getpid\n")
# The kernel whose types the programs for an unpatched one are built with
TYPES = {"base": "plain", "base-profiler": "profiler"}
SKELETON = re.compile(r'^#include "(\w+)\.skel\.h"', re.M)


def run(*command, **more):
    subprocess.run(command, check=True, **more)


def output(name, *command):
    with open(os.path.join(OUT, name), "wb") as file:
        run(*command, stdout=file)


def program_of(word):
    """prog_tests/*.c of a TEST."""
    return re.match(r"\w+", word).group()


def build_tools(variant):
    """libbpf, bpftool, and the types of the kernel."""
    for name in ("libbpf", "bpftool"):
        os.makedirs(os.path.join(OUT, name), exist_ok=True)
    quiet = {"env": clean_environment("x86"), "stdout": subprocess.DEVNULL,
             "stderr": subprocess.DEVNULL}
    run("make", "-C", f"{SRC}/tools/lib/bpf", f"OUTPUT={OUT}/libbpf/", f"DESTDIR={OUT}/inst",
        "prefix=/usr", "install_headers", f"{OUT}/libbpf/libbpf.a", **quiet)
    run("make", "-C", f"{SRC}/tools/bpf/bpftool", f"OUTPUT={OUT}/bpftool/", "bootstrap", **quiet)
    output("vmlinux.h", f"{OUT}/bpftool/bootstrap/bpftool", "btf", "dump", "file",
           f"{BUILD}/{TYPES.get(variant, variant)}/vmlinux", "format", "c")


def build_program(name):
    program = os.path.join(OUT, f"{name}.bpf.o")
    run("clang", "-g", "-O2", "-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86", "-fms-extensions",
        "-Wno-microsoft-anon-tag", "-Wno-compare-distinct-pointer-types", *INCLUDES[:3],
        f"-I{SRC}/tools/include/uapi", f"-I{BPF}/libarena/include", "-c", f"{BPF}/progs/{name}.c", "-o",
        program)
    output(f"{name}.skel.h", f"{OUT}/bpftool/bootstrap/bpftool", "gen", "skeleton", program, "name",
           name)


def build_urandom_read():
    """What the tests of build IDs run: ./urandom_read"""
    sources = [f"{BPF}/urandom_read{name}.c" for name in ("_lib1", "_lib2", "", "_aux")]
    library = [f"-L{OUT}", "-lurandom_read", "-Wl,-rpath=."]
    version = f"{BPF}/liburandom_read.map"
    run("clang", "-g", "-shared", "-fPIC", *INCLUDES, *sources[:2], "-o", f"{OUT}/liburandom_read.so",
        *([f"-Wl,--version-script={version}"] if os.path.exists(version) else []))
    run("clang", "-g", *INCLUDES, *sources[2:], *library, "-Wl,-znow", "-Wl,--build-id=sha1", "-o",
        f"{OUT}/urandom_read")


def sources(tests):
    """Where the sources of test_progs are: those of its Makefile, and these tests."""
    rule = re.search(r"^TRUNNER_EXTRA_SOURCES := test_progs\.c(?:.*\\\n)*.*$",
                     read(f"{BPF}/Makefile"), re.M)
    for name in [*re.findall(r"\w+\.c\b", rule.group()), *(f"prog_tests/{test}.c" for test in tests)]:
        yield next(path for path in (f"{BPF}/{name}", f"{SRC}/tools/bpf/bpftool/{name}",
                                     f"{SRC}/kernel/bpf/{name}") if os.path.exists(path))


def build(variant, tests):
    build_tools(variant)
    write(f"{OUT}/verification_cert.h", CERT)
    write(f"{OUT}/prog_tests/tests.h", "".join(f"DEFINE_TEST({test})\n" for test in tests))
    for name in {name for test in tests
                 for name in SKELETON.findall(read(f"{BPF}/prog_tests/{test}.c"))}:
        build_program(name)
    objects = []
    for source in sources(tests):
        objects.append(os.path.join(OUT, os.path.basename(source)[:-2] + ".o"))
        run("clang", "-g", "-O0", *INCLUDES, "-c", source, "-o", objects[-1])
    # Subtests that do not run here call functions of other tests.
    run("clang", "-Wl,--build-id", "-Wl,--unresolved-symbols=ignore-in-object-files", *objects,
        f"{OUT}/libbpf/libbpf.a", "-rdynamic", "-lelf", "-lz", "-lrt", "-lpthread", "-o",
        f"{OUT}/test_progs")
    build_urandom_read()


def passes(variant, test, verdict):
    """Run a test in the machine; without a verdict it must fail."""
    result = cases.machine(f"bpf-{variant}",
                           ["/bin/sh", "-c", f"cd {OUT} && ./test_progs -v -a {test}"],
                           "--variant", variant, "--memory", "1G", "--root", "host",
                           "--timeout", "3600")
    cases.comment(result.stdout + result.stderr)
    # 1: a test failed; the machine's own troubles have other numbers
    if not verdict:
        return result.returncode == 1
    return result.returncode == 0 and re.search(rf" {test}:({verdict})$", result.stdout, re.M)


def main():
    variant = sys.argv[1]
    words = [word for word in sys.argv[2:] if os.path.exists(f"{BPF}/prog_tests/{program_of(word)}.c")]
    build(variant, list(dict.fromkeys(program_of(word) for word in words)))
    report = cases.Report()
    for word in words:
        test, _, verdict = word.partition("=")
        fails = variant in TYPES and not verdict
        report.case(passes(variant, test, "" if fails else f"OK|{verdict or 'OK'}"),
                    test + (" fails without the patches" if fails else ""))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
