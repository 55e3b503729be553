#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Mainline's own test of maps output beside a writer, proc-maps-race, on the patched kernel.

The base has no such test. It comes from Debian's package of a later kernel, and each case runs for
a minute of the machine's clock. The machine has two processors that run in turn and count
instructions, so that no read waits for long because this computer has other things to do. Prints
TAP.
"""

import os
import re
import shlex
import subprocess
import sys

import cases
from places import BUILD

LATER = "linux-source-7.3"
SUITE = "trixie-backports"
WHERE = os.path.join(os.path.dirname(BUILD), "mainline")
PROGRAM = os.path.join(WHERE, "proc-maps-race")
SELFTESTS = "tools/testing/selftests"
FILES = (f"*/{SELFTESTS}/*.h", f"*/{SELFTESTS}/proc/proc-maps-race.c", "*/tools/include/*")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SECONDS = 60
WRITERS = ("split", "resize", "remap")


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def mirror():
    """Where this machine has its packages from."""
    lines = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    found = [line for line in lines if line.endswith("/debian/")]
    if not found:
        sys.exit("error: apt of this machine knows no mirror of Debian, and so no later kernel")
    return found[0]


def download():
    """Debian's package of the later kernel, without a change of this machine's configuration."""
    apt = os.path.join(WHERE, "apt")
    for name in ("lists/partial", "cache/archives/partial", "state"):
        os.makedirs(os.path.join(apt, name), exist_ok=True)
    sources = os.path.join(apt, "sources.list")
    with open(sources, "w", encoding="ascii") as file:
        file.write(f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main\n")
    options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::lists={apt}/lists", f"-oDir::Cache={apt}/cache", "-q"]
    run("apt-get", *options, "update")
    run("apt-get", *options, "download", LATER, cwd=WHERE)
    return next(os.path.join(WHERE, name) for name in os.listdir(WHERE)
                if name.startswith(f"{LATER}_"))


def unpack(package):
    """Only the files of the test."""
    source = os.path.join(WHERE, "src")
    os.makedirs(source, exist_ok=True)
    names = " ".join(map(shlex.quote, FILES))
    run("sh", "-c", f"dpkg-deb --fsys-tarfile {shlex.quote(package)} | "
        f"tar -xO ./usr/src/{LATER}.tar.xz | "
        f"tar -xJ -C {shlex.quote(source)} --strip-components=1 --wildcards {names}")
    os.unlink(package)
    return source


def build():
    """Compile the test, whose harness must not end a case after 30 seconds."""
    source = unpack(download())
    harness = os.path.join(source, SELFTESTS, "kselftest_harness.h")
    with open(harness, encoding="utf-8") as file:
        text, changes = re.subn(r"(#define TEST_TIMEOUT_DEFAULT) \d+", rf"\1 {20 * SECONDS}",
                                file.read())
    assert changes == 1, "the harness has another limit"
    with open(harness, "w", encoding="utf-8") as file:
        file.write(text)
    run("gcc", "-O2", "-static", "-pthread", "-D_GNU_SOURCE=", f"-I{source}/{SELFTESTS}",
        f"-I{source}/tools/include", "-isystem", os.path.join(BUILD, "user", "usr", "include"),
        "-o", f"{PROGRAM}.new", f"{source}/{SELFTESTS}/proc/proc-maps-race.c")
    os.rename(f"{PROGRAM}.new", PROGRAM)


def test_maps_output_beside_a_writer():
    """Each case of the test that reads maps; the smaps of the base are as they were."""
    if not os.path.exists(PROGRAM):
        build()
    names = [f"test_maps_tearing_from_{writer}" for writer in WRITERS]
    chosen = [word for name in names for word in ("-t", name)]
    result = cases.machine("maps-race", [PROGRAM, *chosen], "--root", "host", "--memory", "1G",
                           "--accel", "turns", "--timeout", "5400", "--env", f"DURATION={SECONDS}")
    for name in names:
        assert re.search(rf"^ok \d+ proc_maps_race.maps.{name}$", result.stdout, re.M), \
            f"{name}, status {result.returncode}:\n{result.stdout}{result.stderr}"


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
