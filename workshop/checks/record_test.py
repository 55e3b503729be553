#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""procmap record, in the test machine, on a program whose functions are known. Results as TAP.

The program is compiled with frame pointers. addr2line turns every frame that is said to be in it
into a symbol, from nothing but offset and build ID. Then the same is done on real code, that of the
client, which lists a process over and over. There the test compares with the machine code whether
each caller calls its callee.
"""

import bisect
import glob
import os
import pathlib
import re
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
PROCMAP = os.path.join(BUILD, "tools", "bin", "procmap")
REAL = os.path.join(OUT, "real")
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


def build():
    os.makedirs(OUT, exist_ok=True)
    subprocess.run(["gcc", *CFLAGS, "-x", "c", "-", "-o", PROGRAM], input=SOURCE, text=True,
                   check=True)
    client = os.path.join(ROOT, "tools", "procmap")
    subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    "-isystem", os.path.join(BUILD, "plain", "usr", "include"), f"-I{client}",
                    "-Dmain=client_main", *glob.glob(os.path.join(client, "*.c")),
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
    """The program, running."""

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([PROGRAM], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def record(pid, *words):
    """(exit status, output, errors)"""
    result = subprocess.run([PROCMAP, "record", *words[:-1], str(pid), words[-1]],
                            capture_output=True, text=True, check=False, timeout=120)
    return result.returncode, result.stdout, result.stderr


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
        with subprocess.Popen([PROCMAP, "record", str(target.pid), "100"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            time.sleep(3)
            client.send_signal(signal.SIGINT)
            out, errors = client.communicate(timeout=20)
    assert (client.returncode, errors) == (0, ""), (client.returncode, errors)
    assert Profile(out).samples > 50, out


def test_the_end_of_the_process_is_the_end_of_the_samples():
    start = time.monotonic()
    with Target() as target:
        with subprocess.Popen([PROCMAP, "record", str(target.pid), "100"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            time.sleep(3)
            target.kill()
            out, errors = client.communicate(timeout=20)
    assert client.returncode == 0, (client.returncode, errors)
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


def guest():
    """In the machine: all tests."""
    return cases.run(globals())


def main():
    if sys.argv[1:] == ["--guest"]:
        sys.exit(guest())
    build()
    sys.exit(cases.run_in_machine(__file__, "record", 300))


if __name__ == "__main__":
    main()
