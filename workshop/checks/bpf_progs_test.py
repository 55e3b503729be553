#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""BPF selftests of the tree in the machine; usage: bpf_progs_test.py VARIANT TEST...

Builds libbpf, bpftool and test_progs of the tree with Debian's clang, with these tests alone in it:
all of them together need a newer compiler. With VARIANT=base each of them must fail. Prints TAP.
"""

import os
import subprocess
import sys

from places import BUILD, ROOT, SRC

BPF = os.path.join(SRC, "tools", "testing", "selftests", "bpf")
OUT = os.path.join(BUILD, "bpf")
VM = [sys.executable, os.path.join(ROOT, "workshop", "qemu", "vm.py")]
SOURCES = ["btf_helpers.c", "cap_helpers.c", "cgroup_helpers.c", "disasm.c", "disasm_helpers.c",
           "jit_disasm_helpers.c", "json_writer.c", "network_helpers.c", "test_loader.c",
           "test_progs.c", "testing_helpers.c", "trace_helpers.c", "unpriv_helpers.c"]
INCLUDES = [f"-I{OUT}", f"-I{BPF}", f"-I{OUT}/inst/usr/include", f"-I{SRC}/tools/include",
            f"-I{SRC}/tools/include/uapi", f"-I{SRC}/tools/lib", f"-I{SRC}/tools/bpf/bpftool"]
# The key of signed programs, which no test here has; the machine has no keys at all.
CERT = ("#include <sys/syscall.h>\n#undef __NR_add_key\n#define __NR_add_key __NR_getpid\n"
        "static const unsigned char test_progs_verification_cert[1];\n"
        "static const unsigned int test_progs_verification_cert_len;\n")


def run(*command, **more):
    subprocess.run(command, check=True, **more)


def output(path, *command):
    with open(path, "wb") as file:
        run(*command, stdout=file)


def write(name, text):
    with open(os.path.join(OUT, name), "w", encoding="ascii") as file:
        file.write(text)


def build_tools():
    """libbpf, bpftool, and the types of the patched kernel."""
    for name in ("libbpf", "bpftool", "prog_tests"):
        os.makedirs(os.path.join(OUT, name), exist_ok=True)
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "BASE")}
    quiet = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run("make", "-C", f"{SRC}/tools/lib/bpf", f"OUTPUT={OUT}/libbpf/", f"DESTDIR={OUT}/inst",
        "prefix=/usr", "install_headers", f"{OUT}/libbpf/libbpf.a", **quiet)
    run("make", "-C", f"{SRC}/tools/bpf/bpftool", f"OUTPUT={OUT}/bpftool/", "bootstrap", **quiet)
    output(f"{OUT}/vmlinux.h", f"{OUT}/bpftool/bootstrap/bpftool", "btf", "dump", "file",
           f"{BUILD}/plain/vmlinux", "format", "c")


def build_program(test):
    """The BPF program of a test, and its skeleton."""
    program = os.path.join(OUT, f"{test}.bpf.o")
    run("clang", "-g", "-O2", "-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86", "-fms-extensions",
        "-Wno-microsoft-anon-tag", *INCLUDES[:3], f"-I{BPF}/libarena/include", "-c",
        f"{BPF}/progs/{test}.c", "-o", program)
    output(f"{OUT}/{test}.skel.h", f"{OUT}/bpftool/bootstrap/bpftool", "gen", "skeleton", program,
           "name", test)


def build(tests):
    """test_progs with these tests; returns its path."""
    build_tools()
    write("verification_cert.h", CERT)
    write("prog_tests/tests.h", "".join(f"DEFINE_TEST({test})\n" for test in tests))
    for test in tests:
        build_program(test)
    objects = []
    for source in [*SOURCES, *(f"prog_tests/{test}.c" for test in tests)]:
        where = next(path for path in (f"{BPF}/{source}", f"{SRC}/tools/bpf/bpftool/{source}",
                                       f"{SRC}/kernel/bpf/{source}") if os.path.exists(path))
        objects.append(os.path.join(OUT, os.path.basename(source)[:-2] + ".o"))
        run("clang", "-g", "-O0", *INCLUDES, "-c", where, "-o", objects[-1])
    program = os.path.join(OUT, "test_progs")
    run("clang", "-Wl,--build-id", *objects, f"{OUT}/libbpf/libbpf.a", "-rdynamic", "-lelf", "-lz", "-lrt",
        "-lpthread", "-o", program)
    return program


def main():
    variant, tests = sys.argv[1], sys.argv[2:]
    program = build(tests)
    print(f"TAP version 13\n1..{len(tests)}", flush=True)
    bad = 0
    for number, test in enumerate(tests, 1):
        result = subprocess.run([*VM, "--variant", variant, "--memory", "1G", "--root", "host",
                                 "--timeout", "600", "--results",
                                 os.path.join(BUILD, "results", f"bpf-{variant}"), "--",
                                 program, "-v", "-t", test], capture_output=True, text=True, check=False)
        # 1: a test failed; the machine's own troubles have other numbers
        good = result.returncode == (1 if variant == "base" else 0) and f"{test}:SKIP" not in result.stdout
        bad += not good
        print("".join(f"# {line}\n" for line in (result.stdout + result.stderr).splitlines()), end="")
        print(f"{'ok' if good else 'not ok'} {number} {test}"
              f"{' fails without the patches' if variant == 'base' else ''}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
