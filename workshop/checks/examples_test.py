#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The example programs of documentation, man pages and README: built, and run in the test machine.

They are built as a reader would, with the commands that are written beside them. What they print is
compared with /proc/PID/maps, with readelf and with the memory that was read. With the argument
`base`, only those of the library, on the kernel without the series. Results as TAP.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from places import BUILD, ROOT

import common  # pylint: disable=wrong-import-order

# On the base kernel the library reads the text.
ON_BASE = sys.argv[-1] == "base"
NAME = "examples-base" if ON_BASE else "examples"
OUT = os.path.join(BUILD, NAME)
HEADERS = os.path.join(BUILD, "user", "usr", "include")
LIBRARY = os.path.join(ROOT, "tools", "procmap")
SAMPLES = os.path.join(ROOT, "samples", "procmap")
CFLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{LIBRARY}"]
MAN = ("PROCMAP_QUERY.2const", "PROCESS_VM_NOWAIT.2const")
INSTALLED = os.path.join(OUT, "installed")
# The example program of the library, where its man page has the compiler leave it.
LIBRARY_PROGRAM = "library/a.out"
# The same program with the library, in C and in Python
FIND = ("find", "find.py")
# What is built of samples: name, source, options. AREA: an area for so many records
SAMPLE_PROGRAMS = (
    ("procmap-scan", "procmap-scan"), ("process-vm-nowait", "process-vm-nowait"),
    *((f"{name}-32", name, "-m32", "-static")
      for name in ("procmap-query", "procmap-scan", "process-vm-nowait")),
    *((f"procmap-scan-{area}", "procmap-scan", f"-DAREA={area}") for area in (1, 5)))
SCANS = [name for name, sample, *_ in SAMPLE_PROGRAMS if sample == "procmap-scan"]
# The same program in other languages, and what compiles it
COMPILERS = {"query.go": "go build", "query.rs": "rustc -D warnings"}
LANGUAGES = (*COMPILERS, "query.py")


def read(*parts):
    return common.read(os.path.join(ROOT, *parts))


def man_block(text, *path):
    """The example in a man page that has this in it, as a reader would copy it."""
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE$", read(*path), re.M | re.S)
    (found,) = [block for block in blocks if text in block]
    return found.replace(r"\&", "").replace(r"\-", "-").replace(r"\e", "\\")


def readme_block(text, *path):
    """The indented block in a README that has this in it."""
    blocks = re.findall(r"^(?:    .*\n|\n)+", read(*path), re.M)
    (found,) = [block for block in blocks if text in block]
    return re.sub(r"^    ", "", found, flags=re.M)


def build(name, text, *more):
    cases.compile_c(text, os.path.join(OUT, name), *CFLAGS, *more)


def follow(command, where, **env):
    """Run a command of a page, exactly as it is there; a compiler must not have any remark."""
    result = subprocess.run(command, shell=True, cwd=where, env=dict(os.environ, **env),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False)
    if result.returncode or result.stdout:
        sys.exit(f"{command.strip()}: status {result.returncode}\n{result.stdout}")


def write(text, *path):
    common.write(os.path.join(OUT, *path), text)


def build_by_readmes():
    """With the headers of the system, at what looks like the top of the repository."""
    for name in "tools", "samples":
        os.symlink(os.path.join(ROOT, name), os.path.join(OUT, name))
    write(readme_block(" main(", "README.md"), "query.c")
    follow(readme_block("gcc ", "README.md"), OUT)
    follow(readme_block("gcc ", "tools", "procmap", "README"), OUT)


def build_by_library_page():
    """With nothing but what `make install` leaves."""
    subprocess.run(["make", "-s", "-C", LIBRARY, f"OUTPUT={OUT}/client/", "PREFIX=/usr",
                    f"DESTDIR={INSTALLED}", "install"], check=True, stdout=subprocess.DEVNULL)
    page = "tools", "procmap", "libprocmap.3"
    write(man_block("\nmain(", *page), "library", "program.c")
    follow(man_block("pkg", *page), os.path.join(OUT, "library"),
           PKG_CONFIG_LIBDIR=os.path.join(INSTALLED, "usr", "lib", "pkgconfig"),
           PKG_CONFIG_SYSROOT_DIR=INSTALLED)
    follow(f"gcc -Wall -Wextra {LIBRARY}/examples/find.c -I{INSTALLED}/usr/include "
           f"-L{INSTALLED}/usr/lib -lprocmap -o find", OUT)
    os.symlink(os.path.join(LIBRARY, "examples", "find.py"), os.path.join(OUT, "find.py"))


def build_all():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    build_by_library_page()
    if ON_BASE:
        return
    build_by_readmes()
    new = "-I", HEADERS
    for name, sample, *more in SAMPLE_PROGRAMS:
        build(name, read("samples", "procmap", f"{sample}.c"), *more, *new)
    for page in MAN:
        build(page, man_block("\nmain(", "Documentation", "man", page), *new)
    for name, compiler in COMPILERS.items():
        follow(f"{compiler} -o {name} samples/procmap/{name}", OUT,
               GOCACHE=os.path.join(OUT, "go-cache"))
    os.symlink(os.path.join(SAMPLES, "query.py"), os.path.join(OUT, "query.py"))


def run(name, *words, given=b""):
    """(exit status, output, errors) of an example."""
    result = cases.call(os.path.join(OUT, name), *map(str, words), timeout=60, input=given,
                        text=False, env=dict(os.environ, LD_LIBRARY_PATH=f"{INSTALLED}/usr/lib"))
    return result.returncode, result.stdout, result.stderr.decode()


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, not {want!r}")


class Target:
    """A process to look at."""

    def __init__(self, pid):
        self.pid = pid

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

    def without_name(self):
        """The start of a mapping that has none."""
        return int(re.findall(r"^(\w+)-\w+ \S+ 00000000 00:00 0 *$", read(f"/proc/{self.pid}/maps"),
                              re.M)[0], 16)

    def stack_end(self):
        (end,) = re.findall(r"^\w+-(\w+) .*\[stack\]$", read(f"/proc/{self.pid}/maps"), re.M)
        return int(end, 16)


@contextlib.contextmanager
def running_target():
    with cases.running("cat", "-n", given="ready\n", says="     1\tready\n") as child:
        yield Target(child.pid)


def line(addr, row):
    """What procmap-query says about an address."""
    start, _, _, offset, path = row
    build_id = cases.build_id(path) or "none"
    return f"{addr:x} offset {addr - start + offset:x} build ID {build_id} {path}\n".encode()


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
    equal(run("procmap-query", target.pid, "0"), (1, b"", "no mapping there\n"))
    equal(run("procmap-query", "0"), (1, b"", "/proc/0/maps: No such file or directory\n"))
    equal(run("procmap-query", 2), (1, b"", "PROCMAP_QUERY: No such process\n"))
    with ordinary_file() as pid:
        equal(run("procmap-query", pid, "0"), (1, b"", "this kernel has no PROCMAP_QUERY: "
                                               f"read the text of /proc/{pid}/maps\n"))


def test_the_sample_of_scans_resolves_code(target):
    want, given = b"", b""
    for row in target.maps():
        for addr in row[0], row[1] - 1:
            given += f"{addr:x}\n".encode()
            want += line(addr, row) if row in target.code() else \
                f"{addr:x} no executable file\n".encode()
    for name in SCANS:
        equal(run(name, target.pid, given=given), (0, want, ""))
        equal(run(name, target.pid), (0, b"", ""))


def test_the_man_page_of_scans_has_the_sample(_):
    sample = read("samples", "procmap", "procmap-scan.c").replace("\t", "    ")
    body = sample[sample.index("#include"):]
    equal(body, man_block("\nint main(", "Documentation", "man", "PROCMAP_SCAN.2const"))


def test_the_sample_of_scans_tells_what_is_wrong(target):
    for name in SCANS[:2]:
        equal(run(name, 0, given=b"0"), (1, b"", "/proc/0/maps: No such file or directory\n"))
        equal(run(name, 2, given=b"0"),
              (1, b"", "the process is gone, or has called execve()\n"))
        status, out, errors = run(name, target.pid, "0")
        equal((status, out, errors.startswith("usage: ")), (2, b"", True))
        with ordinary_file() as pid:
            equal(run(name, pid, given=b"0"),
                  (1, b"", f"no PROCMAP_SCAN: read the text of /proc/{pid}/maps\n"))


@contextlib.contextmanager
def ordinary_file():
    """A "PID" whose maps are a file that knows no more ioctls than an old kernel does."""
    with tempfile.TemporaryDirectory() as directory:
        write("", directory, "maps")
        yield f"..{directory}"


def test_other_languages_resolve(target):
    for name in LANGUAGES:
        for row in target.code():
            addr = row[1] - 1
            equal(run(name, target.pid, f"{addr:x}"), (0, line(addr, row), ""))
        addr = target.without_name()
        equal(run(name, target.pid, f"{addr:x}"),
              (0, f"{addr:x} offset 0 build ID none anonymous\n".encode(), ""))


def test_other_languages_tell_what_is_wrong(target):
    for name in LANGUAGES:
        equal(run(name, target.pid, "0"), (1, b"", "no mapping there\n"))
        with ordinary_file() as pid:
            equal(run(name, pid, "0"), (1, b"", "this kernel has no PROCMAP_QUERY\n"))
        equal(run(name, 2, "0")[:2], (1, b""))
        status, out, errors = run(name, 0, "0")
        equal((status, out, "/proc/0/maps" in errors, errors.count("\n")), (1, b"", True, 1))
        for words in (), (target.pid,), (target.pid, "0", "0"), (target.pid, "x"), \
                (target.pid, "10000000000000000"):
            status, out, errors = run(name, *words)
            equal((status, out), (2, b""))
            equal(re.fullmatch(r"usage: query(\.py)? PID ADDRESS\n", errors) is not None, True)


def test_the_program_of_the_man_page_of_queries(target):
    start, _, _, offset, path = target.code()[0]
    equal(run(MAN[0], target.pid, f"{start + 7:x}"),
          (0, f"offset {offset + 7:#x} of {path}\n".encode(), ""))
    equal(run(MAN[0], target.pid, "0"), (1, b"", f"{MAN[0]}: no mapping there\n"))
    equal(run(MAN[0], 2, "0"), (1, b"", f"{MAN[0]}: PROCMAP_QUERY: No such process\n"))


def test_the_program_of_the_readme(target):
    start, _, _, offset, path = target.code()[-1]
    equal(run("query", target.pid, f"{start + 7:x}"),
          (0, f"{path} + {offset + 7:#x}\n".encode(), ""))
    equal(run("query", target.pid, "0"), (1, b"", f"/proc/{target.pid}/maps: no mapping there\n"))
    equal(run("query", 0, "0"), (1, b"", "/proc/0/maps: No such file or directory\n"))


def test_the_program_of_the_readme_finds_itself(_):
    symbols = cases.call("nm", os.path.join(OUT, "query"), check=True).stdout
    (addr,) = re.findall(r"^(\w+) T main$", symbols, re.M)
    equal(run("query"), (0, f"{OUT}/query + {int(addr, 16):#x}\n".encode(), ""))


def test_the_program_of_the_library_page(target):
    rows = target.code()
    want = "".join(f"{path}+{offset + 7:#x}, build ID known\n" for _, _, _, offset, path in rows)
    equal(run(LIBRARY_PROGRAM, target.pid, "0", *[f"{row[0] + 7:x}" for row in rows]),
          (0, ("unmapped\n" + want).encode(), ""))
    equal(run(LIBRARY_PROGRAM, 0), (1, b"", "procmap: Invalid argument\n"))


def test_the_examples_of_the_library(target):
    want = "".join(f"{start:x}: {path}+{offset:#x}, {os.stat(path).st_size} bytes\n"
                   for start, _, _, offset, path in target.maps())
    for name in FIND:
        equal(run(name, target.pid, *[f"{row[0]:x}" for row in target.maps()], "0"),
              (0, f"{want}0: No such file or directory\n".encode(), ""))
        first = want.splitlines(keepends=True)[0]
        equal(run("/bin/sh", "-c", 'ulimit -n 20 && exec "$0" "$@"', f"{OUT}/{name}", target.pid,
                  *[first.split(":")[0]] * 30), (0, (first * 30).encode(), ""))
        status, out, errors = run(name, 0)
        equal((status, out, errors), (1, b"", "procmap_open: Invalid argument\n"))


def test_what_is_installed(_):
    pages = os.listdir(os.path.join(ROOT, "Documentation", "man"))
    found = [os.path.relpath(os.path.join(where, name), INSTALLED)
             for where, _, names in os.walk(INSTALLED) for name in names]
    header = read("tools", "procmap", "libprocmap.h")
    functions = re.findall(r"^\w.*\b(procmap_\w+)\(", header, re.M)
    equal(len(functions), 15)
    want = ["usr/bin/procmap", "usr/include/libprocmap.h", "usr/include/process-vm-abi.h",
            "usr/include/procmap-abi.h", "usr/lib/libprocmap.a", "usr/lib/libprocmap.so",
            "usr/lib/libprocmap.so.1", "usr/lib/libprocmap.so.1.2", "usr/lib/pkgconfig/libprocmap.pc",
            "usr/share/man/man1/procmap.1", "usr/share/man/man3/libprocmap.3",
            *[f"usr/share/man/man2const/{name}" for name in pages],
            *[f"usr/share/man/man3/{name}.3" for name in functions]]
    equal(sorted(found), sorted(want))
    (version,) = re.findall(r"^Version: (.*)$",
                            read(INSTALLED, "usr", "lib", "pkgconfig", "libprocmap.pc"), re.M)
    equal(run("installed/usr/bin/procmap", "--version"), (0, f"procmap {version}\n".encode(), ""))
    page = os.path.join(LIBRARY, "libprocmap.3")
    for name in functions:
        equal(read(INSTALLED, "usr", "share", "man", "man3", f"{name}.3"), read(page))


def test_nothing_is_left_after_uninstall(_):
    where = os.path.join(OUT, "uninstalled")
    command = ["make", "-s", "-C", LIBRARY, f"OUTPUT={OUT}/client/", f"DESTDIR={where}"]
    for goal in "install", "uninstall":
        subprocess.run([*command, goal], check=True, stdout=subprocess.DEVNULL)
        equal(any(names for _, _, names in os.walk(where)), goal == "install")


def test_memory_is_copied(target):
    addr, want = target.arguments()
    equal(run("process-vm-nowait", target.pid, f"{addr:x}", len(want)), (0, want, ""))


def test_a_short_copy_is_told(target):
    addr, _ = target.arguments()
    there = target.stack_end() - addr
    status, out, errors = run("process-vm-nowait", target.pid, f"{addr:x}", there + 1)
    equal((status, len(out), errors), (1, there, f"only the first {there} bytes are there\n"))


@cases.table({"what is not mapped is told": ("process-vm-nowait",),
              "the flags are found by 32 bit programs": ("process-vm-nowait-32",)})
def test_what_is_not_mapped(target, name):
    equal(run(name, target.pid, "10", 1),
          (1, b"", "the first byte is not mapped, or not there without waiting\n"))
    equal(run(name, 0x7fffffff, "10", 1), (1, b"", "pidfd_open: No such process\n"))


def test_the_program_of_the_man_page_of_process_vm(target):
    addr, want = target.arguments()
    equal(run(MAN[1], target.pid, f"{addr:x}"), (0, want.split(b"\0")[0] + b"\n", ""))


def main():
    if sys.argv[1:2] == ["--guest"]:
        chosen = {"test_": test_the_examples_of_the_library} if ON_BASE else globals()
        sys.exit(cases.run(chosen, running_target))
    build_all()
    sys.exit(cases.run_in_machine(__file__, NAME, 180,
                                  variant="base" if ON_BASE else "plain"))


if __name__ == "__main__":
    main()
