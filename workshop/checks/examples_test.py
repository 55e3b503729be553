#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The example programs of documentation, man pages and README: built, and run in the test machine.

What they print is compared with /proc/PID/maps, with readelf and with the memory that was read.
Results as TAP.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys

import cases
from places import BUILD, ROOT

OUT = os.path.join(BUILD, "examples")
HEADERS = os.path.join(BUILD, "plain", "usr", "include")
CFLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-isystem", HEADERS]
LIBRARY = os.path.join(ROOT, "tools", "procmap")
LIBRARY_SOURCES = ("libprocmap.c", "libprocmap-query.c", "libprocmap-text.c")
SAMPLES = ("procmap-query", "process-vm-nowait")
MAN = ("PROCMAP_QUERY.2const", "PROCESS_VM_NOWAIT.2const")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def man_program(page):
    """The program in a man page, as a reader would copy it."""
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE$", read("Documentation", "man", page), re.M | re.S)
    (program,) = [block for block in blocks if "\nmain(" in block]
    return program.replace(r"\&", "").replace(r"\-", "-").replace(r"\e", "\\")


def readme_program(*path):
    """The program in a README: the indented block with a main()."""
    blocks = re.findall(r"^(?:    .*\n|\n)+", read(*path), re.M)
    (program,) = [block for block in blocks if " main(" in block]
    return re.sub(r"^    ", "", program, flags=re.M)


def build(name, text, *more):
    path = os.path.join(OUT, name)
    subprocess.run(["gcc", *CFLAGS, "-x", "c", "-", *more, "-o", path], input=text, text=True,
                   check=True)


def build_all():
    os.makedirs(OUT, exist_ok=True)
    for name in SAMPLES:
        build(name, read("samples", "procmap", f"{name}.c"))
        build(f"{name}-32", read("samples", "procmap", f"{name}.c"), "-m32", "-static")
    for page in MAN:
        build(page, man_program(page))
    build("README", readme_program("README.md"))
    build("library", readme_program("tools", "procmap", "README"), f"-I{LIBRARY}",
          *[os.path.join(LIBRARY, name) for name in LIBRARY_SOURCES])


def run(name, *words):
    """(exit status, output, errors) of an example."""
    result = subprocess.run([os.path.join(OUT, name), *map(str, words)], capture_output=True,
                            check=False, timeout=60)
    return result.returncode, result.stdout, result.stderr.decode()


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, not {want!r}")


class Target:
    """A process to look at."""

    def __init__(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(["cat", "-n"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.process.stdin.write(b"ready\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        self.pid = self.process.pid

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def maps(self):
        """(start, end, permissions, offset, path) of the mappings of files."""
        text = read(f"/proc/{self.pid}/maps")
        rows = re.findall(r"^(\w+)-(\w+) (\S+) (\w+) \S+ \d+ +(/.*)$", text, re.M)
        return [(int(start, 16), int(end, 16), perms, int(offset, 16), path)
                for start, end, perms, offset, path in rows]

    def code(self):
        """The executable ones."""
        return [row for row in self.maps() if "x" in row[2]]

    def arguments(self):
        """Address and contents of its command line."""
        fields = read(f"/proc/{self.pid}/stat").rpartition(")")[2].split()
        return int(fields[45]), read(f"/proc/{self.pid}/cmdline").encode()

    def stack_end(self):
        (end,) = re.findall(r"^\w+-(\w+) .*\[stack\]$", read(f"/proc/{self.pid}/maps"), re.M)
        return int(end, 16)


def build_id(path):
    """The digits, or "none" for files without one, such as those of a locale."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False)
    found = re.search(r"Build ID: (\w+)", notes.stdout)
    return found.group(1) if found else "none"


def line(addr, row):
    """What procmap-query says about an address."""
    start, _, _, offset, path = row
    return f"{addr:x} offset {addr - start + offset:x} build ID {build_id(path)} {path}\n".encode()


def test_the_list_is_that_of_the_text(target):
    want = b"".join(line(row[0], row) for row in target.code())
    equal(len(target.code()) >= 3, True)
    for name in "procmap-query", "procmap-query-32":
        equal(run(name, target.pid), (0, want, ""))


def test_addresses_are_resolved(target):
    for row in target.maps():
        for addr in row[0], (row[0] + row[1]) // 2, row[1] - 1:
            equal(run("procmap-query", target.pid, f"{addr:x}"), (0, line(addr, row), ""))


def test_what_cannot_be_answered_is_told(target):
    equal(run("procmap-query", target.pid, "0"),
          (1, b"", "PROCMAP_QUERY: No such file or directory\n"))
    equal(run("procmap-query", "0"), (1, b"", "/proc/0/maps: No such file or directory\n"))
    equal(run("procmap-query", 2), (1, b"", "PROCMAP_QUERY: No such process\n"))


def test_the_program_of_the_man_page_of_queries(target):
    start, _, _, offset, path = target.code()[0]
    equal(run(MAN[0], target.pid, f"{start + 7:x}"),
          (0, f"offset {offset + 7:#x} of {path}\n".encode(), ""))
    equal(run(MAN[0], target.pid, "0"), (1, b"", f"{MAN[0]}: PROCMAP_QUERY: "
                                         "No such file or directory\n"))


def test_the_program_of_the_readme(target):
    start, _, _, offset, path = target.code()[-1]
    equal(run("README", target.pid, f"{start + 7:x}"),
          (0, f"{path} + {offset + 7:#x}\n".encode(), ""))


def test_the_program_of_the_readme_of_the_library(target):
    rows = target.code()
    want = "".join(f"{path}+{offset + 7:#x}, build ID known\n" for _, _, _, offset, path in rows)
    equal(run("library", target.pid, "0", *[f"{row[0] + 7:x}" for row in rows]),
          (0, ("?+0x0, build ID not known\n" + want).encode(), ""))
    equal(run("library", 0), (1, b"", "procmap: Invalid argument\n"))


def test_memory_is_copied(target):
    addr, want = target.arguments()
    equal(run("process-vm-nowait", target.pid, f"{addr:x}", len(want)), (0, want, ""))


def test_a_short_copy_is_told(target):
    addr, _ = target.arguments()
    there = target.stack_end() - addr
    status, out, errors = run("process-vm-nowait", target.pid, f"{addr:x}", there + 1)
    equal((status, len(out), errors), (1, there, f"only the first {there} bytes are there\n"))


def test_what_is_not_mapped_is_told(target):
    equal(run("process-vm-nowait", target.pid, "10", 1),
          (1, b"", "the first byte is not mapped, or not there without waiting\n"))
    equal(run("process-vm-nowait", 0x7fffffff, "10", 1),
          (1, b"", "pidfd_open: No such process\n"))


def test_the_flags_are_found_by_32_bit_programs(target):
    equal(run("process-vm-nowait-32", target.pid, "10", 1),
          (1, b"", "the first byte is not mapped, or not there without waiting\n"))


def test_the_program_of_the_man_page_of_process_vm(target):
    addr, want = target.arguments()
    equal(run(MAN[1], target.pid, f"{addr:x}"), (0, want.split(b"\0")[0] + b"\n", ""))


@contextlib.contextmanager
def running_target():
    target = Target()
    try:
        yield target
    finally:
        target.stop()


def guest():
    """In the machine: all tests, each beside a target of its own."""
    return cases.run(globals(), running_target)


def main():
    if sys.argv[1:] == ["--guest"]:
        sys.exit(guest())
    build_all()
    sys.exit(cases.run_in_machine(__file__, "examples", 180))


if __name__ == "__main__":
    main()
