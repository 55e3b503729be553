#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""samples/procmap/profile on processes that end after some milliseconds; usage: ... VARIANT

Each sample is compared with the files themselves, and with what a profiler finds in /proc when it
has read the sample. The machine counts instructions: the load of this one does not decide which
samples there are. Results as TAP.
"""

import collections
import functools
import os
import re
import shutil
import subprocess
import sys

import cases
from places import BUILD, ROOT

OUT = os.path.join(BUILD, "profile")
PROGRAM = os.path.join(OUT, "brief")
PROCESSES = 1000
LINE = re.compile(r"(\d+) (.*) (\S+)\+0x([0-9a-f]+) (\S+)$")
# With an argument, starts itself without one so often: a process of some milliseconds
SOURCE = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sink;
int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 0;

	for (i = 0; !n && i < 1000000; i++)
		sink += i;
	for (i = 0; i < n; i++) {
		if (!fork()) {
			execl(argv[0], argv[0], NULL);
			_exit(127);
		}
		wait(NULL);
	}
	return 0;
}
"""


def build():
    """As a reader would: make in that directory."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "samples", "procmap", "profile"), OUT)
    subprocess.run(["make", "-s", "-C", OUT, "CFLAGS=-O2 -Wall -Wextra -Werror"], check=True)
    cases.compile_c(SOURCE, PROGRAM, "-O2")


def of_file(path):
    """(build ID, ranges of its code in the file)"""
    text = cases.call("readelf", "-nlW", path, check=True).stdout
    code = re.findall(r"^\s+LOAD\s+0x(\w+) \S+ \S+ 0x(\w+) \S+ R E", text, re.M)
    return (re.search(r"Build ID: (\w+)", text).group(1),
            [(int(start, 16), int(start, 16) + int(size, 16)) for start, size in code])


def files():
    """What the processes execute, by the last component of the path."""
    ldd = cases.call("ldd", PROGRAM, check=True).stdout
    paths = [PROGRAM, *re.findall(r"(/\S+) \(0x", ldd)]
    return {os.path.basename(os.path.realpath(path)): of_file(path) for path in paths}


def in_proc(pid):
    """Does /proc still have mappings of the process?"""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return bool(file.read(1))
    except OSError:
        return False


@functools.cache
def samples():
    """([(binary, offset, build ID)] of the processes, how many of them /proc still had, errors)"""
    found, later = [], 0
    with subprocess.Popen([os.path.join(OUT, "profile"), "2000", PROGRAM, str(PROCESSES)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for line in process.stdout:
            pid, comm, binary, offset, build_id = LINE.match(line).groups()
            if comm == "brief":
                found.append((binary, int(offset, 16), build_id))
                later += in_proc(pid)
        errors = process.stderr.read()
    assert process.returncode == 0, errors
    return found, later, errors


def test_nothing_is_lost():
    found, _, errors = samples()
    total, locked = map(int, re.fullmatch(r"profile: (\d+) samples, 0 lost, (\d+) found it locked\n",
                                          errors).groups())
    # These interrupted the writer of this VMA.
    print(f"# {locked} of {total} samples found the VMA locked")
    assert len(found) > PROCESSES and locked < 0.01 * total, errors


def test_each_sample_in_a_file_has_its_build_id_and_lies_in_its_code():
    known = files()
    for binary, offset, build_id in samples()[0]:
        if binary != "?":
            right, code = known[binary]
            assert build_id == right, (binary, build_id)
            assert any(start <= offset < end for start, end in code), (binary, hex(offset))


def test_samples_are_resolved():
    found, later, _ = samples()
    named = collections.Counter(binary for binary, _, _ in found)
    resolved = len(found) - named["?"]
    print(f"# {PROCESSES} processes, {len(found)} samples: {resolved} with binary, offset and build ID "
          f"({named}); of {later} /proc still had the process")
    assert resolved > 0.95 * len(found), named


def main():
    if "--guest" in sys.argv:
        sys.exit(cases.run(globals()))
    build()
    sys.exit(cases.run_in_machine(__file__, "profile", 900, "--accel", "icount",
                                  variant=sys.argv[1]))


if __name__ == "__main__":
    main()
