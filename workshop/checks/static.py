#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Static checks of this repository; usage: static.py CHECK. Each prints what is wrong, if anything."""

import fnmatch
import os
import re
import sys
import tempfile

import cases
import covers
import errno_tables
import parts
from places import BASE, BUILD, ROOT, SRC
from base import stands_alone  # pylint: disable=wrong-import-order
from common import Failure, entries, main, read, write  # pylint: disable=wrong-import-order
import maintainers  # pylint: disable=wrong-import-order
from series import adapters, is_kernel_path, overlay_files, repository_files  # pylint: disable=wrong-import-order

HEADERS = os.path.join(BUILD, "user", "usr", "include")
MAX_LINES = 80
NO_SPDX = re.compile(r"(^COPYING|^LICENSES/.*|^MAINTAINERS|^patches/default|\.patch|/cover-letter|"
                     r"/settings)$")


def ours():
    """All files of the repository except links, also those that git does not know yet."""
    return [name for name in repository_files("--cached", "--others", "--exclude-standard")
            if os.path.isfile(os.path.join(ROOT, name))
            and not os.path.islink(os.path.join(ROOT, name))]


def lines_of(name):
    return read(os.path.join(ROOT, name), "rb").decode(errors="replace").splitlines()


def ours_in_c():
    return [name for name in ours() if name.endswith((".c", ".h"))]


def kernel_objects():
    """Overlay sources, and those of single bases, that are part of the kernel, not user programs."""
    own = {f"patches/{base}/files/{name}": name for base, names in adapters().items()
           for name in names}
    names = {name: name for name in overlay_files()} | own
    return [path for path, name in names.items()
            if name.endswith((".c", ".h")) and not name.startswith(("tools/", "samples/", "Documentation/"))]


def function_length():
    """No function is longer than 80 lines, no line wider than 100 columns."""
    wrong = []
    for name in ours_in_c():
        start = None
        for number, line in enumerate(lines_of(name), 1):
            # A string is not broken: one must be able to search for it.
            if len(line.expandtabs(8)) > 100 and not line.lstrip().startswith('"'):
                wrong.append(f"{name}:{number}: line wider than 100 columns")
            if line == "{":
                start = number
            elif line.startswith("}") and start:
                if number - start - 1 > MAX_LINES:
                    wrong.append(f"{name}:{start}: function of {number - start - 1} lines")
                start = None
    return wrong


def spdx():
    """Each file says its licence in one of its first three lines."""
    return [f"{name}: no SPDX-License-Identifier" for name in ours()
            if not NO_SPDX.search(name) and lines_of(name)
            and not any("SPDX-License-Identifier:" in line for line in lines_of(name)[:3])]


def maintained():
    """Each file is covered by an F: line of MAINTAINERS, and each F: line covers something.

    Files of a base that stands alone have the entries that its kernel has.
    """
    names = ours() + sum((names for base, names in adapters().items() if not stands_alone(base)),
                         overlay_files())
    patterns = [line[3:] for _, lines in
                maintainers.sections("\n".join(lines_of("MAINTAINERS")))
                for line in lines if line.startswith("F:\t")]
    wrong = [f"{name}: no entry in MAINTAINERS" for name in names
             if not any(maintainers.matches(pattern, [name]) for pattern in patterns)]
    return wrong + [f"MAINTAINERS: F: {pattern} matches nothing" for pattern in patterns
                    if not maintainers.matches(pattern, names)]


def includes(*headers):
    return "".join(f"#include <{header}>\n" for header in headers) + "extern int nothing;\n"


def compiled(what, text, *where):
    """What compilers of C90 and C++98 say about a text, with headers from nowhere else."""
    wrong = []
    for command in (["gcc", "-std=c90", "-pedantic", "-x", "c"],
                    ["gcc", "-std=c90", "-pedantic", "-m32", "-x", "c"],
                    ["g++", "-std=c++98", "-pedantic", "-Wno-long-long", "-x", "c++"]):
        result = cases.call(*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-nostdinc",
                            *where, "-", input=text)
        if result.returncode:
            wrong.append(f"{' '.join(command)} {what}:\n{result.stderr}")
    return wrong


def uapi():
    """Each installed uapi header of ours compiles alone, as C90 and as C++; and what stands in for them."""
    wrong = []
    for name in overlay_files():
        if name.startswith("include/uapi/"):
            header = os.path.relpath(name, "include/uapi")
            wrong += compiled(f"<{header}>", includes(header, header),
                              "-I", os.path.join(ROOT, "include/uapi"), "-isystem", HEADERS)
    return wrong + stand_in()


def stand_in():
    """Our two headers have the ABI, whether or not those of the system know it."""
    values = {"PROCMAP_QUERY": 0xc0686611, "PROCMAP_QUERY_VMA_READABLE": 1,
              "PROCMAP_QUERY_VMA_WRITABLE": 2, "PROCMAP_QUERY_VMA_EXECUTABLE": 4,
              "PROCMAP_QUERY_VMA_SHARED": 8, "PROCMAP_QUERY_COVERING_OR_NEXT_VMA": 0x10,
              "PROCMAP_QUERY_FILE_BACKED_VMA": 0x20, "PROCESS_VM_PIDFD": 1, "PROCESS_VM_NOWAIT": 2}
    text = "".join(f"extern char is_{name}[{name} == {value:#x} ? 1 : -1];\n"
                   for name, value in values.items())
    ours, uapi_header = ("procmap-abi.h", "process-vm-abi.h"), "linux/process_vm.h"
    where = ["-I", os.path.join(ROOT, "tools/procmap"), "-isystem", HEADERS]
    wrong = compiled("*-abi.h, new headers", includes(*ours, *ours, uapi_header) + text, *where)
    wrong += compiled("*-abi.h behind new headers", includes(uapi_header, *ours) + text, *where)
    with tempfile.TemporaryDirectory() as old:
        write(os.path.join(old, "linux/fs.h"), "")
        wrong += compiled("*-abi.h, old headers", includes(*ours, *ours) + text,
                          "-I", old, *where)
    return wrong


def kernel_doc():
    """The kernel's own checker finds nothing, and what other files call is documented."""
    names = kernel_objects()
    if not names:
        return []
    result = cases.call("perl", os.path.join(SRC, "scripts/kernel-doc"), "-none", "-Werror",
                        *[os.path.join(ROOT, name) for name in names])
    wrong = [line for line in result.stderr.splitlines() if line.strip()]
    if result.returncode and not wrong:
        wrong.append(f"kernel-doc: status {result.returncode}")
    for name in names:
        if name.endswith(".c") and "kunit" not in name and "_test" not in name:
            wrong += undocumented(name, "\n".join(lines_of(name)))
    for name in ours():
        if name.endswith(".patch") and name.startswith(f"patches/{BASE}/"):
            wrong += undocumented(name, added_by(name))
    return wrong


def added_by(patch):
    """The lines that a patch adds to files of the kernel proper."""
    lines, inside = [], False
    for line in lines_of(patch):
        if line.startswith("+++ "):
            inside = not line.startswith("+++ b/tools/")
        elif line.startswith("+") and inside:
            lines.append(line[1:])
    return "\n".join(lines)


def undocumented(name, text):
    """Functions with external linkage without a kernel-doc comment right before them."""
    found = re.findall(r"^(?!static|struct \w+ \{|#|\s|typedef|EXPORT|BPF_CALL|DEFINE|MODULE|late_|core_)"
                       r"[\w *]*?\b(\w+)\([^;{]*\)\n\{", text, re.M)
    return [f"{name}: {function}() is called from elsewhere and has no kernel-doc"
            for function in found if not re.search(rf"/\*\*\n \* {function}(?:\(\))? ", text)]


def shellcheck():
    """Scripts are silent under shellcheck and no longer than 150 lines."""
    scripts = [name for name in ours() if name.endswith(".sh") or
               lines_of(name)[:1] and re.match(r"#!.*\b(ba|da|)sh\b", lines_of(name)[0])]
    result = cases.call("shellcheck", "--shell=bash", *scripts, cwd=ROOT)
    wrong = [result.stdout + result.stderr] if result.returncode else []
    return wrong + [f"{name}: {len(lines_of(name))} lines, more than 150" for name in scripts
                    if len(lines_of(name)) > 150]


def own_c_style():
    """checkpatch --strict on our C files that are not part of the series."""
    wrong = []
    for name in ours_in_c():
        if is_kernel_path(name):
            continue
        result = cases.call("perl", os.path.join(SRC, "scripts/checkpatch.pl"), "--strict",
                            "--no-tree", "--terse", "--no-summary", "-f", name, cwd=ROOT)
        if result.returncode or result.stdout.strip():
            wrong.append(result.stdout.strip() or result.stderr.strip())
    return wrong


CLOCK = re.compile(r"\b(clock_gettime|gettimeofday|getrusage|usleep|nanosleep|sleep|alarm|"
                   r"setitimer|timer_settime|timerfd_settime|stall_now_ns|pvm_now)\(|\btime\(NULL\)|"
                   r"\btime\.(monotonic|time|sleep)\(")
TESTS = re.compile(r"(tools/testing/(selftests/(procmap|process_vm)|vma_lock|maple_leaf|buildid)/|"
                   r"tools/(procmap|perf)/tests/|lib/.*_kunit|mm/.*_kunit|workshop/checks/\w+_test).*\.(c|h|py)$")


def clocks():
    """Tests use the clock only where the list says why; no verdict depends on it."""
    wrong, allowed = [], {}
    for line in entries(os.path.join(ROOT, "workshop", "checks", "clocks")):
        name, count, _ = line.split(None, 2)
        allowed[name] = int(count)
    for name in ours():
        uses = [number for number, line in enumerate(lines_of(name), 1) if CLOCK.search(line)] \
            if TESTS.match(name) else []
        if len(uses) != allowed.pop(name, 0):
            wrong.append(f"{name}: lines {', '.join(map(str, uses))} use the clock, and workshop/checks/"
                         "clocks has another number: end by an event, or count instructions")
    return wrong + [f"workshop/checks/clocks: there is no {name}" for name in allowed]


def covered():
    """Each file of the kernel has a row in the table "which file, which tests", and each row is true."""
    rows, names = covers.rows(), ours()
    wrong = [] if rows else [f"{covers.README}: no table of files and tests"]
    for patterns, tests in rows:
        wrong += [f"{covers.README}: no file is {pattern}" for pattern in patterns
                  if not fnmatch.filter(names, pattern)]
        wrong += [f"{covers.README}: no test is {test}" for test in tests
                  if test not in {part.name for part in parts.PARTS}
                  and not fnmatch.filter(names, f"tools/testing/selftests/{test}.c")]
    return wrong + [f"{name}: no row of {covers.README} says which tests cover it"
                    for name in kernel_objects() if not covers.row_of(name)]


CHECKS = {"function-length": function_length, "spdx": spdx, "maintained": maintained,
          "uapi": uapi, "kernel-doc": kernel_doc, "shellcheck": shellcheck,
          "own-c-style": own_c_style, "clocks": clocks, "covered": covered,
          "errno": errno_tables.check}


def command():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        raise Failure(f"usage: static.py {'|'.join(CHECKS)}")
    wrong = CHECKS[sys.argv[1]]()
    for text in wrong:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    main(command)
