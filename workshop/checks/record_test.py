#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""procmap record, in the test machine, on a program whose functions are known. Results as TAP.

The program is compiled with frame pointers. addr2line turns every frame that is said to be in it
into a symbol, from nothing but offset and build ID. Then the same is done on real code, that of the
client, which lists a process over and over. There the test compares with the machine code whether
each caller calls its callee.

What the client says about symbols itself is tested on a program in C++, also if that is stripped,
deleted or in another mount namespace, or if its path leads to another program.
"""

import bisect
import contextlib
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import cases
from places import BUILD, ROOT

OUT = os.path.join(BUILD, "record")
PROGRAM = os.path.join(OUT, "known")
PROCMAP = os.path.join(BUILD, "tools", "host", "procmap")
WITHOUT_LIBDW = os.path.join(BUILD, "tools", "bin", "procmap")
REAL = os.path.join(OUT, "real")
SHAPES = os.path.join(OUT, "shapes")
STRIPPED = os.path.join(OUT, "stripped")
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
# Without -O0 a function that calls no other has no frame, whatever the other options are
CFLAGS = ["-O0", "-g", "-fno-omit-frame-pointer", "-pthread"]
FRAME = re.compile(r"(.*)\+0x([0-9a-f]+)(?:@([0-9a-f]+))?$")
# main() divides its time between two callees, three to one; a thread that is started later has a
# stack of its own.
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long sink;
static __attribute__((noinline)) void leaf(unsigned long n) { while (n--) sink += n; }
static __attribute__((noinline)) void often(void) { leaf(30000); sink++; }
static __attribute__((noinline)) void seldom(void) { leaf(10000); sink++; }
static __attribute__((noinline)) void middle(void) { often(); seldom(); sink++; }
static __attribute__((noinline)) void in_thread(void) { leaf(10000); sink++; }
static void *thread(void *arg) { for (;;) in_thread(); return arg; }
int main(void)
{
	pthread_t id;
	int i;

	puts("ready");
	fflush(stdout);
	for (i = 0; ; i++) {
		if (i == 200)
			pthread_create(&id, NULL, thread, NULL);
		middle();
	}
}
"""
# All of the client but its main()
REAL_MAIN = r"""
#undef main
#include <stdlib.h>
#include "cli.h"
int main(int argc, char **argv)
{
	struct cli cli = { .pid = atoi(argv[argc - 1]) };

	for (;;) {
		cli.backend = PROCMAP_BACKEND_TEXT;
		if (cli_list(&cli))
			return 1;
		cli.backend = PROCMAP_BACKEND_QUERY;
		if (cli_list(&cli))
			return 1;
	}
}
"""
# Without the last three a function that seldom calls another seldom has a frame. The function that
# takes all the time is inlined twice over; only the template is exported.
SHAPES_FLAGS = ["-O2", "-g", "-rdynamic", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                "-fno-shrink-wrap"]
SHAPES_SOURCE = r"""
#include <unistd.h>
static volatile unsigned long sink;
static __attribute__((noinline)) void seldom() { sink++; }
namespace shapes {
template <typename T> struct Sum {
	static inline __attribute__((always_inline)) void add(T n)
	{
		while (n--)
			sink += n;
		if (!sink)
			seldom();
	}
	static inline __attribute__((always_inline)) void twice(T n) { add(n); add(n); }
};
namespace {
__attribute__((noinline)) void hidden(unsigned long n) { Sum<unsigned long>::twice(n); }
}
template <typename T> __attribute__((noinline)) void outer(T n) { hidden(n); sink++; }
}
static __attribute__((noinline)) void fixed() { shapes::outer<long>(10000); sink++; }
int main()
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		fixed();
}
"""
SHAPES_STACK = ["main", "fixed", "shapes::outer<long>", "shapes::(anonymous namespace)::hidden",
                "shapes::Sum<unsigned long>::twice", "shapes::Sum<unsigned long>::add"]


def build():
    os.makedirs(OUT, exist_ok=True)
    subprocess.run(["gcc", *CFLAGS, "-x", "c", "-", "-o", PROGRAM], input=SOURCE, text=True,
                   check=True)
    subprocess.run(["g++", *SHAPES_FLAGS, "-x", "c++", "-", "-o", SHAPES], input=SHAPES_SOURCE,
                   text=True, check=True)
    subprocess.run(["strip", "-o", STRIPPED, SHAPES], check=True)
    client = os.path.join(ROOT, "tools", "procmap")
    # Symbols are none of what the program does
    sources = set(glob.glob(f"{client}/*.c")) - {f"{client}/record-symbols.c"}
    subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    "-isystem", os.path.join(BUILD, "user", "usr", "include"), f"-I{client}",
                    "-Dmain=client_main", *sorted(sources),
                    "-x", "c", "-", "-o", REAL], input=REAL_MAIN, text=True, check=True)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Symbols:
    """What addr2line says about offsets in a file."""

    def __init__(self, path):
        self.path, self.known = path, {}
        rows = re.findall(r"^  LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)",
                          output_of("readelf", "-lW", path), re.M)
        self.segments = [tuple(int(word, 16) for word in row) for row in rows]

    def addr(self, offset):
        """The address that the linker gave to this offset."""
        (addr,) = [vaddr + offset - start for start, vaddr, size in self.segments
                   if start <= offset < start + size]
        return addr

    def at(self, offset):
        """The function; addr2line takes addresses, not offsets."""
        if offset not in self.known:
            self.known[offset] = output_of("addr2line", "-f", "-e", self.path,
                                           hex(self.addr(offset))).split("\n")[0]
        return self.known[offset]


class Code:
    """The machine code of a program."""

    def __init__(self, path):
        text = output_of("objdump", "-d", "--no-show-raw-insn", path)
        self.functions = {int(addr, 16): name
                          for addr, name in re.findall(r"^(\w+) <(.*)>:$", text, re.M)}
        rows = re.findall(r"^ +(\w+):\t(.*)$", text, re.M)
        self.code = {int(addr, 16): insn for addr, insn in rows}
        self.addrs, self.starts = sorted(self.code), sorted(self.functions)

    def insn(self, addr):
        """The instruction that this address is in."""
        return self.code[self.addrs[bisect.bisect_right(self.addrs, addr) - 1]]

    def start(self, addr):
        """The first address of the function that this one is in."""
        return self.starts[bisect.bisect_right(self.starts, addr) - 1]

    def calls(self, caller, callee):
        """Whether the instruction at one address calls the function of the other."""
        insn = self.insn(caller)
        direct = re.match(r"call +(\w+) <", insn)
        return int(direct.group(1), 16) == self.start(callee) if direct else "call" in insn


class Profile:
    """Folded stacks, parsed."""

    def __init__(self, text):
        symbols = Symbols(PROGRAM)
        (self.build_id,) = re.findall(r"Build ID: (\w+)", output_of("readelf", "-n", PROGRAM))
        self.stacks, self.roots = [], set()
        for line in text.splitlines():
            words, _, count = line.rpartition(" ")
            root, *frames = words.split(";")
            self.roots.add(root)
            self.stacks.append((int(count), [self.name(frame, symbols) for frame in frames]))
        self.samples = sum(count for count, _ in self.stacks)

    def name(self, frame, symbols):
        match = FRAME.fullmatch(frame)
        if not match or match.group(1) != PROGRAM:
            return frame
        assert match.group(3) == self.build_id, f"{frame}: not build ID {self.build_id}"
        return symbols.at(int(match.group(2), 16))

    def with_path(self, *names):
        """Samples whose stacks have these functions one below the other."""
        def has(frames):
            return any(frames[i:i + len(names)] == list(names) for i in range(len(frames)))
        return sum(count for count, frames in self.stacks if has(frames))


class Target:
    """A program, running."""

    def __init__(self, *words):
        self.words = words or [PROGRAM]

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(*words):
    """(exit status, output, errors)"""
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    return result.returncode, result.stdout, result.stderr


def record(pid, *words):
    """(exit status, output, errors) with offsets"""
    return run(PROCMAP, "record", "--no-symbols", *words[:-1], str(pid), words[-1])


def symbols_of(pid, *before, program=PROCMAP):
    """The stacks with symbols, as (count, frames) without those outside of main()."""
    status, out, errors = run(*before, program, "record", "-F", "500", str(pid), "4")
    assert (status, errors) == (0, ""), (status, errors)
    stacks = []
    for line in out.splitlines():
        words, _, count = line.rpartition(" ")
        frames = words.split(";")
        stacks.append((int(count), frames[frames.index("main") if "main" in frames else 2:]))
    return stacks


def share(stacks, wanted):
    """The share of the samples in stacks that `wanted` says yes to; there must be many samples."""
    samples = sum(count for count, _ in stacks)
    assert samples > 30, stacks
    return sum(count for count, frames in stacks if wanted(frames)) / samples


def is_shapes(frames):
    return frames == SHAPES_STACK


def is_offsets(path):
    """Whether all frames are offsets in this file, with its build ID."""
    (build_id,) = re.findall(r"Build ID: (\w+)", output_of("readelf", "-n", path))

    def check(frames):
        found = [FRAME.fullmatch(frame) for frame in frames]
        return all(match and match.group(1) == path and match.group(3) == build_id
                   for match in found)
    return check


@contextlib.contextmanager
def covered(path, by):
    """While another file is mounted over a path."""
    subprocess.run(["mount", "--bind", by, path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def test_stacks_are_those_of_the_program():
    with Target() as target:
        status, out, errors = record(target.pid, "-F", "500", "6")
    assert (status, errors) == (0, ""), (status, errors)
    profile = Profile(out)
    print(f"# {profile.samples} samples, {len(profile.stacks)} stacks")
    assert profile.roots == {"known"}, profile.roots
    assert profile.samples > 1000, profile.samples
    main = profile.with_path("main", "middle")
    often = profile.with_path("main", "middle", "often", "leaf")
    seldom = profile.with_path("main", "middle", "seldom", "leaf")
    thread = profile.with_path("thread", "in_thread", "leaf")
    # A few samples: a function that has not set up its frame yet hides its caller
    assert often + seldom > 0.95 * main, (often, seldom, main)
    assert main + thread > 0.95 * profile.samples, (main, thread, profile.samples)
    assert 2.4 < often / seldom < 3.7, (often, seldom)
    assert thread > 0.2 * profile.samples, (thread, profile.samples)


def real_stacks(text, symbols):
    """(count, addresses in the program from the outermost inwards) of a profile of REAL."""
    for line in text.splitlines():
        words, _, count = line.rpartition(" ")
        frames = [FRAME.fullmatch(frame) for frame in words.split(";")[1:]]
        yield int(count), [symbols.addr(int(frame.group(2), 16)) for frame in frames
                           if frame and frame.group(1) == REAL]


def test_callers_call_their_callees_in_a_real_program():
    with subprocess.Popen(["sleep", "1000"]) as sleep:
        with subprocess.Popen([REAL, str(sleep.pid)], stdout=subprocess.DEVNULL) as target:
            time.sleep(1)
            status, out, errors = record(target.pid, "-F", "500", "4")
            target.kill()
        sleep.kill()
    assert (status, errors) == (0, ""), (status, errors)
    symbols, code = Symbols(REAL), Code(REAL)
    good, bad, seen = 0, 0, set()
    for count, addrs in real_stacks(out, symbols):
        # The caller of the innermost function is uncertain: that may not have set up its frame
        for caller, callee in zip(addrs[:-1], addrs[1:-1]):
            right = code.calls(caller, callee)
            good, bad = good + count * right, bad + count * (not right)
        for addr in set(addrs) - seen:
            seen.add(addr)
            symbol = code.functions[code.start(addr)]
            # The compiler may inline functions: one of those named is the one of the symbol table
            known = output_of("addr2line", "-f", "-i", "-e", REAL, hex(addr)).split("\n")
            assert symbol.split(".")[0].split("@")[0] in known or "plt" in symbol, (symbol, known)
    print(f"# {good} calls that are there, {bad} that are not")
    assert good > 500 and bad < good / 100, out[-3000:]


def test_without_queries_the_stacks_are_the_same_but_for_build_ids():
    with Target() as target:
        status, out, errors = record(target.pid, "--text", "-F", "500", "3")
    assert (status, errors) == (0, ""), (status, errors)
    assert "@" not in out
    profile = Profile(re.sub(rf"({re.escape(PROGRAM)}\+0x\w+)",
                             lambda match: f"{match.group(1)}@{Profile('').build_id}", out))
    leaf = sum(count for count, frames in profile.stacks if frames[-1:] == ["leaf"])
    assert leaf > 0.9 * profile.samples > 300, (leaf, profile.samples)


def test_ctrl_c_prints_what_there_is():
    with Target() as target:
        with subprocess.Popen([PROCMAP, "record", "--no-symbols", str(target.pid), "100"],
                              text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            time.sleep(3)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, ""), (process.returncode, errors)
    assert Profile(out).samples > 50, out


def test_the_end_of_the_process_is_the_end_of_the_samples():
    start = time.monotonic()
    with Target() as target:
        with subprocess.Popen([PROCMAP, "record", "--no-symbols", str(target.pid), "100"],
                              text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            time.sleep(3)
            target.kill()
            out, errors = process.communicate(timeout=20)
    assert process.returncode == 0, (process.returncode, errors)
    assert re.fullmatch(rf"(procmap: \d+ samples left out: process {target.pid} exited or called "
                        r"execve\(\) before they were resolved\n)?", errors), errors
    assert Profile(out).samples > 50, out
    assert time.monotonic() - start < 60


def test_after_an_execve_it_goes_on():
    with tempfile.TemporaryDirectory() as where:
        go = pathlib.Path(where, "go")
        line = f"while [ ! -e {go} ]; do :; done; exec {PROGRAM}"
        with subprocess.Popen(["sh", "-c", line], stdout=subprocess.DEVNULL) as target:
            timer = threading.Timer(3, go.touch)
            timer.start()
            status, out, errors = record(target.pid, "8")
            timer.join()
            target.kill()
    assert status == 0, (status, errors)
    profile = Profile(out)
    assert profile.roots == {"sh", "known"}, profile.roots
    assert profile.with_path("main", "middle") > 20, out


def test_a_process_that_sleeps_has_no_samples():
    with subprocess.Popen(["sleep", "100"]) as target:
        time.sleep(1)
        status, out, errors = record(target.pid, "1")
        target.kill()
    assert (status, out) == (1, ""), (status, out)
    assert errors == f"procmap: no samples: did process {target.pid} run?\n", errors


def test_an_ordinary_user_may_not_sample_others():
    with Target() as target:
        result = subprocess.run(["setpriv", "--reuid=1000", "--clear-groups", PROCMAP, "record",
                                 str(target.pid), "1"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, ""), result
    assert "no permission" in result.stderr and len(result.stderr.splitlines()) == 1, result


def test_symbols_are_those_of_the_source():
    with Target(SHAPES) as target:
        stacks = symbols_of(target.pid)
    assert share(stacks, is_shapes) > 0.9, stacks
    # Each box of a flame graph once, not an instruction
    assert len(stacks) < 20, stacks


def test_a_program_that_is_gone_and_dead_has_symbols():
    gone = f"{SHAPES}-gone"
    shutil.copy(SHAPES, gone)
    with Target(gone) as target:
        os.unlink(gone)
        with subprocess.Popen([PROCMAP, "record", "--symbols", str(target.pid), "100"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(3)
            target.kill()
            out, _ = process.communicate(timeout=60)
    assert ";".join(SHAPES_STACK) in out, out


def test_a_stripped_program_has_exported_symbols_and_offsets():
    with Target(STRIPPED) as target:
        stacks = symbols_of(target.pid)
    wanted = is_offsets(STRIPPED)

    def is_stripped(frames):
        return frames[:1] == ["main"] and frames[2:3] == ["shapes::outer<long>"] and \
            len(frames) == 4 and wanted([frames[1], frames[3]])
    assert share(stacks, is_stripped) > 0.9, stacks


def test_another_program_at_the_path_gives_no_symbols():
    """Only root can reach the program itself. The other one has symbols at the same offsets."""
    other = f"{SHAPES}-other"
    shutil.copy(SHAPES, other)
    (build_id,) = re.findall(r"Build ID: (\w+)", output_of("readelf", "-n", SHAPES))
    data = pathlib.Path(SHAPES).read_bytes()
    assert data.count(bytes.fromhex(build_id)) == 1
    pathlib.Path(other).write_bytes(data.replace(bytes.fromhex(build_id), bytes(20)))
    user = ["setpriv", "--reuid=1000", "--clear-groups"]
    with Target(*user, SHAPES) as target:
        before = symbols_of(target.pid, *user)
        with covered(SHAPES, other):
            users, roots = symbols_of(target.pid, *user), symbols_of(target.pid)
    assert share(before, is_shapes) > 0.9, before
    assert share(users, is_offsets(SHAPES)) > 0.9, users
    assert share(roots, is_shapes) > 0.9, roots


def test_a_deleted_program_has_symbols_for_root():
    gone = f"{SHAPES}-gone"
    shutil.copy(SHAPES, gone)
    with Target(gone) as target:
        os.unlink(gone)
        stacks = symbols_of(target.pid)
    assert share(stacks, is_shapes) > 0.9, stacks


def test_a_program_in_another_mount_namespace_has_symbols():
    user = ["setpriv", "--reuid=1000", "--clear-groups"]
    line = f"mount -t tmpfs none /mnt && cp {SHAPES} /mnt/hidden && exec /mnt/hidden"
    with Target(*user, "unshare", "-Urm", "sh", "-c", line) as target:
        assert not os.path.exists("/mnt/hidden")
        roots, users = symbols_of(target.pid), symbols_of(target.pid, *user)
    assert share(roots, is_shapes) > 0.9, roots
    assert share(users, is_shapes) > 0.9, users


def test_without_libdw_there_are_offsets():
    with Target(SHAPES) as target:
        stacks = symbols_of(target.pid, program=WITHOUT_LIBDW)
        asked = run(WITHOUT_LIBDW, "record", "--symbols", str(target.pid), "3")
    assert share(stacks, is_offsets(SHAPES)) > 0.9, stacks
    assert asked == (2, "", "procmap: this procmap was built without symbols: leave --symbols out, "
                            "or build it with libdw and libiberty\n"), asked


def test_flamegraph_draws_the_functions():
    with Target(SHAPES) as target:
        folded = subprocess.run([PROCMAP, "record", str(target.pid), "2"], capture_output=True,
                                check=True)
    svg = subprocess.run(["perl", FLAMEGRAPH, "/dev/stdin"], input=folded.stdout,
                         capture_output=True, check=True).stdout.decode()
    titles = re.findall(r"<title>(.*) \(\d+ samples, (\d+)\.\d+%\)</title>", svg)
    for name in SHAPES_STACK:
        # It prints other brackets, which are none of SVG's
        shown = name.replace("<", "(").replace(">", ")")
        assert [int(share) for title, share in titles if title == shown and int(share) > 90], svg


def guest():
    """In the machine: all tests."""
    return cases.run(globals())


def main():
    if sys.argv[1:] == ["--guest"]:
        sys.exit(guest())
    build()
    sys.exit(cases.run_in_machine(__file__, "record", 600))


if __name__ == "__main__":
    main()
