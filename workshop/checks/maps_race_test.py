#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Mainline's own test of maps output beside a writer, proc-maps-race, on the patched kernel.

The base has no such test. It comes from Debian's package of a later kernel, and each case runs for
a minute of the machine's clock. The machine has one processor, which counts instructions, so that
no read waits for long because this computer has other things to do; its kernel lets reader and
writer preempt each other anywhere. Prints TAP.
"""

import os
import re
import subprocess
import sys

import cases
from places import BUILD, ROOT

from common import TOP, read, write  # pylint: disable=wrong-import-order

LATER = "7.3"
TARBALL = f"linux-source-{LATER}.tar.xz"
WHERE = os.path.join(TOP, "mainline")
PROGRAM = os.path.join(WHERE, "proc-maps-race")
SELFTESTS = "tools/testing/selftests"
FILES = (f"*/{SELFTESTS}/*.h", f"*/{SELFTESTS}/proc/proc-maps-race.c", "*/tools/include/*")
SECONDS = 60
WRITERS = ("split", "resize", "remap")


def unpack():
    """Only the files of the test, from where `make BASE=7.3 tree` has its source."""
    subprocess.run([os.path.join(ROOT, "workshop", "series", "packages.sh"), "base"], check=True,
                   cwd=ROOT, env=dict(os.environ, BASE=LATER, KSRC=""))
    tarball = next(path for path in (os.path.join(TOP, LATER, TARBALL), f"/usr/src/{TARBALL}")
                   if os.path.exists(path))
    source = os.path.join(WHERE, "src")
    os.makedirs(source, exist_ok=True)
    subprocess.run(["tar", "-xf", tarball, "-C", source, "--strip-components=1", "--wildcards",
                    *FILES], check=True)
    return source


def build():
    """Compile the test, whose harness must not end a case after 30 seconds."""
    source = unpack()
    harness = os.path.join(source, SELFTESTS, "kselftest_harness.h")
    text, changes = re.subn(r"(#define TEST_TIMEOUT_DEFAULT) \d+", rf"\1 {20 * SECONDS}",
                            read(harness))
    assert changes == 1, "the harness has another limit"
    write(harness, text)
    subprocess.run(["gcc", "-O2", "-static", "-pthread", "-D_GNU_SOURCE=",
                    f"-I{source}/{SELFTESTS}", f"-I{source}/tools/include", "-isystem",
                    os.path.join(BUILD, "user", "usr", "include"), "-o", f"{PROGRAM}.new",
                    f"{source}/{SELFTESTS}/proc/proc-maps-race.c"], check=True)
    os.rename(f"{PROGRAM}.new", PROGRAM)


def test_maps_output_beside_a_writer():
    """Each case of the test that reads maps; the smaps of the base are as they were."""
    if not os.path.exists(PROGRAM):
        build()
    names = [f"test_maps_tearing_from_{writer}" for writer in WRITERS]
    chosen = [word for name in names for word in ("-t", name)]
    result = cases.machine("maps-race", [PROGRAM, *chosen], "--root", "host", "--memory", "1G",
                           "--variant", "preempt", "--accel", "slow", "--timeout", "5400", "--env",
                           f"DURATION={SECONDS}")
    for name in names:
        assert re.search(rf"^ok \d+ proc_maps_race.maps.{name}$", result.stdout, re.M), \
            f"{name}, status {result.returncode}:\n{result.stdout}{result.stderr}"


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
