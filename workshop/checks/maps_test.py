#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The text of /proc/<pid>/maps: reads return the same as on the unpatched kernel, byte for byte.

procmap_maps_dump sets up the same processes on both kernels and writes down what each read()
returns. Nothing is masked: the machine counts instructions and has one processor, so that
addresses, device and inode numbers are the same each time. Prints TAP.
"""

import functools
import os
import re
import sys

import cases

KERNELS = ("base", "plain")
PROGRAMS = ("procmap_maps_dump", "procmap_maps_dump_32")
HEADER = re.compile(rb"^(?:read|pread|lseek) \d+ at \d+ = -?\d+$", re.M)
# What must be in the text, so that the comparison is one of something
LINES = (b"/row\n", b"/linked\n", b"/all/layered\n", b"/file (deleted)\n",
         b"/a\\012file\\012\\012of lines\\012\n", b"/replaced (deleted)\n", b" [heap]\n",
         b" [stack]\n", b" [vdso]\n", b" [vvar]\n", b" [anon:name]\n", b" [anon:]\n",
         b" /memfd:a memfd\\012of two lines (deleted)\n", b" /SYSV00001234 (deleted)\n",
         b" /dev/zero\n", b" /dev/zero (deleted)\n", b" anon_inode:[perf_event]\n",
         b" /[aio] (deleted)\n", b" /anon_hugepage (deleted)\n")
# What calls must have returned: a large read one buffer, a read at the end, a zombie and a kernel
# thread nothing, and a process that is gone ESRCH
CALLS = (rb"^read 1048576 at 0 = 40\d\d$", rb"^read 1 at \d+ = 0$", rb"^read 4096 at 0 = 0$",
         rb"^read 4096 at \d+ = -3$", rb"^lseek 0 at 100 = -3$", rb"^read 7 at \d+ = 7$")


@functools.cache
def dumps(kernel):
    """{program: what it wrote} on one kernel."""
    script = " && ".join(f"/kselftest/procmap/{program} /out/{program}" for program in PROGRAMS)
    return cases.files_of(f"maps-{kernel}", ["sh", "-c", script], "--variant", kernel, "--accel",
                          "icount", "--timeout", "300")


def difference(one, other):
    """Tell the first difference of two dumps in words; None if there is none."""
    if one == other:
        return None
    at = len(os.path.commonprefix([one, other]))
    call = "no call"
    for header in HEADER.finditer(one, 0, at):
        call = header.group().decode()
    part = slice(max(at - 60, 0), at + 60)
    return f"byte {at}, in or after `{call}`: {one[part]} and {other[part]}"


@cases.table({"the same for 64 bit programs": PROGRAMS[:1],
              "the same for 32 bit programs": PROGRAMS[1:]})
def test_the_same(program):
    words = difference(*(dumps(kernel)[program] for kernel in KERNELS))
    assert words is None, words


def test_every_kind_of_line_and_of_answer_is_there():
    for program in PROGRAMS:
        text = dumps("base")[program]
        missing = [line for line in LINES if line not in text]
        missing += [call for call in CALLS if not re.search(call, text, re.M)]
        assert not missing, f"{program}: {missing}"
        assert max(len(line) for line in text.split(b"\n")) > 4096, f"{program}: no long path"
    assert b" [vsyscall]\n" in dumps("base")[PROGRAMS[0]], "no [vsyscall]"


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
