#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""perf of the tree, on the patched kernel and on the base. Results as TAP.

Three test machines run perf and keep what it says: the patched kernel and the base with two
processors, and the patched kernel once more with one that counts instructions. The cases look at
that. What the benchmark needs is printed as comments.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import time

import cases
from places import BASE, BUILD

from common import read  # pylint: disable=wrong-import-order

OUT = os.path.join(BUILD, "perf-test")
PERF = os.path.join(BUILD, "perf", "perf")
WORK, LIBWORK = os.path.join(OUT, "work"), os.path.join(OUT, "libwork.so")
MANY = os.path.join(OUT, "many.so")
# A process without [vsyscall]
SLEEPER32 = os.path.join(OUT, "sleeper32")
LIBRARIES = [os.path.join(OUT, f"lib{number}.so") for number in range(50)]
LOADED = {"few": [], "libraries": LIBRARIES, "mappings": [MANY]}
ROUNDS = {"text": 20, "query": 200, "scan": 200}
SLEEPERS = 30
CFLAGS = ["-O0", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id"]
# Without an argument it sleeps
SOURCE = r"""
#include <unistd.h>
void leaf(unsigned long n);
static volatile int sink;
static __attribute__((noinline)) void often(void) { leaf(30000); sink++; }
static __attribute__((noinline)) void seldom(void) { leaf(10000); sink++; }
int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 1)
		pause();
	for (;;) {
		often();
		seldom();
	}
}
"""
LEAF = "volatile unsigned long sink; void leaf(unsigned long n) { while (n--) sink += n; }"
MANY_SOURCE = r"""
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((constructor)) static void map(void)
{
	char *pages = mmap(NULL, MANY * 4096UL, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long i;

	if (pages == MAP_FAILED)
		abort();
	for (i = 1; i < MANY; i += 2)
		if (mprotect(pages + i * 4096, 4096, PROT_READ | PROT_WRITE))
			abort();
}
"""
# mappings of every kind ... subtest 1: Ok, or 66.1: mappings of every kind    : Ok
VERDICT = re.compile(r"^(?:.* subtest \d+|\s*\d+\.\d+: .*): (Ok|FAILED!|Skip.*)$", re.M)
MMAP2 = re.compile(r"PERF_RECORD_MMAP2 (\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) "
                   r"(?:<([0-9a-f]+)>|([0-9a-f]+):([0-9a-f]+) (\d+) \d+)\]: (\S+) (.*)$", re.M)
TOOK = re.compile(r"Average synthesis took: ([0-9.]+) usec")
SCAN, QUERY = "0x1e", "0x11"
BASE_QUERIES = "PROCMAP_QUERY" in read(os.path.join(BUILD, "src-base/include/uapi/linux/fs.h"))


# On this machine

def compile_program(source, path, *flags):
    cases.compile_c(source, path, *CFLAGS, *flags)


def build():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    compile_program(LEAF, LIBWORK, "-shared", "-fPIC")
    compile_program(SOURCE, WORK, f"-L{OUT}", "-Wl,--no-as-needed", f"-Wl,-rpath,{OUT}", "-l:libwork.so")
    compile_program("int pause(void); int main(void) { return pause(); }", SLEEPER32, "-m32")
    compile_program(MANY_SOURCE, MANY, "-shared", "-fPIC", "-DMANY=10000")
    for number, path in enumerate(LIBRARIES):
        compile_program(f"int f{number}(void) {{ return {number}; }}", path, "-shared", "-fPIC")


@functools.cache
def machine(name):
    """{file: text} of what perf said on a kernel: plain, base, or counted."""
    kernel = ["--variant", "plain", "--accel", "icount"] if name == "counted" else ["--variant", name]
    command = ["/usr/bin/python3", os.path.abspath(__file__), "--guest", name]
    files = cases.files_of(f"perf-{name}", command, *kernel, "--root", "host", "--memory", "2G",
                           "--timeout", "600", "--env", f"BASE={BASE}")
    return {file: content.decode(errors="replace") for file, content in files.items()}


# In the test machine

def perf(name, *words, before=(), preload=()):
    """Run perf; what it prints goes to NAME.out and NAME.err."""
    env = dict(os.environ, LD_PRELOAD=" ".join(preload), HOME="/tmp", PERF_PAGER="cat")
    with open(f"/out/{name}.out", "wb") as out, open(f"/out/{name}.err", "wb") as err:
        subprocess.run([*before, PERF, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                       env=env, check=True, timeout=300)


def start(*words, preload=()):
    return subprocess.Popen(  # pylint: disable=consider-using-with
        words, env=dict(os.environ, LD_PRELOAD=" ".join(preload)))


def end(process):
    process.kill()
    process.wait()


def compare_events():
    with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as file:
        file.write("8")
    listing = cases.call(PERF, "test", "list", check=True)
    number = re.search(r"^ *(\d+): Mappings of processes are", listing.stdout + listing.stderr, re.M)
    sleeper = start(SLEEPER32)
    perf("test", "test", "-v", number.group(1))
    assert sleeper.poll() is None
    end(sleeper)


def record_work():
    work = start(WORK, "busy")
    time.sleep(0.5)
    shutil.copy(f"/proc/{work.pid}/maps", "/out/maps")
    perf("record", "record", "-v", "-N", "-a", "-g", "-e", "cpu-clock", "-F", "200",
         "-o", "/tmp/perf.data", "--", "sleep", "4")
    perf("ids", "record", "-a", "--buildid-mmap", "-e", "cpu-clock", "-o", "/tmp/ids.data", "--",
         "sleep", "0.2", before=("strace", "-f", "-e", "trace=open,openat", "-o", "/out/opened"))
    end(work)
    data = ("-i", "/tmp/perf.data")
    perf("report", "report", *data, "--stdio", "--no-children", "-g", "none", "--comms", "work",
         "-F", "overhead,sym,dso")
    perf("script", "script", *data, "--comms", "work", "-F", "ip,sym,dso")
    perf("events", "script", *data, "--show-mmap-events")
    perf("id-events", "script", "-i", "/tmp/ids.data", "--show-mmap-events")


def fall_back(*inject):
    """Which calls perf makes until it knows what the kernel has."""
    perf("bench", "bench", "internals", "synthesize", "-v", "-i", "5",
         before=("strace", "-e", "trace=ioctl", *inject, "-o", "/out/calls"))


def count_instructions():
    bench = ("bench", "internals", "synthesize")
    for what, preload in LOADED.items():
        for maps, rounds in ROUNDS.items():
            name = f"st-{what}-{maps}"
            # Once before, since the clock leaps when the machine waits for a file of this one
            for number in (1, rounds):
                perf(name, *bench, "--st", "-i", str(number), "--maps", maps, preload=preload)
    sleepers = [start(WORK, preload=LIBRARIES) for _ in range(SLEEPERS)]
    time.sleep(1)
    for maps in ROUNDS:
        perf(f"mt-{maps}", *bench, "--mt", "-m", "1", "-M", "2", "-I", "5", "--maps", maps)
    for sleeper in sleepers:
        end(sleeper)


def guest(name):
    if name == "counted":
        count_instructions()
        return
    compare_events()
    record_work()
    # The first call fails as if the kernel did not have it, on the base the second, too
    fall_back("-e", "inject=ioctl:error=ENOTTY:when=" + ("1..2" if name == "base" else "1"))


# The cases

def on_both(claim):
    """Rows for a case of each kernel."""
    return {claim: ("plain",), f"{claim} on the base": ("base",)}


def verdicts(kernel):
    text = machine(kernel)["test.err"] + machine(kernel)["test.out"]
    print("# " + text.rstrip().replace("\n", "\n# "))
    return VERDICT.findall(text), text


def test_events_are_those_of_the_text():
    found, text = verdicts("plain")
    assert found == ["Ok"] * 12, found
    assert "no huge pages" not in text


def test_on_the_base_there_are_no_scans():
    found, _ = verdicts("base")
    queried = "Ok" if BASE_QUERIES else "Skip (the kernel has no PROCMAP_QUERY)"
    assert found == ["Skip (the kernel has no PROCMAP_SCAN)"] * 6 + [queried] * 6, found


def mmap_events(text):
    """{path: [(pid, start, length, offset, device and inode or build ID, protection)]}"""
    found = {}
    for pid, start, length, offset, build_id, major, minor, inode, prot, path in MMAP2.findall(text):
        file = build_id or (int(major, 16), int(minor, 16), int(inode))
        found.setdefault(path, []).append((int(pid), int(start, 16), int(length, 16),
                                           int(offset, 16), file, prot))
    return found


def executable_lines(text):
    """The same of the text of maps, without the pid."""
    found = {}
    for line in text.splitlines():
        words = line.split(None, 5)
        if "x" not in words[1]:
            continue
        start, end = (int(word, 16) for word in words[0].split("-"))
        major, minor = (int(word, 16) for word in words[3].split(":"))
        path = words[5] if len(words) > 5 else "//anon"
        found.setdefault(path, []).append((start, end - start, int(words[2], 16),
                                           (major, minor, int(words[4])), words[1]))
    return found


@cases.table(on_both("a recording has the mappings"))
def test_mappings(kernel):
    """Those of the program that ran before it."""
    texts = machine(kernel)
    events = mmap_events(texts["events.out"])
    pid = events[WORK][0][0]
    mine = {path: [event[1:] for event in some if event[0] == pid]
            for path, some in events.items()}
    mine = {path: some for path, some in mine.items() if some}
    want = executable_lines(texts["maps"])
    assert mine == want, f"{mine}\n{want}"
    assert LIBWORK in mine and "[vdso]" in mine and "[vsyscall]" in mine


@cases.table(on_both("a report has the right symbols"))
def test_symbols(kernel):
    """Three of four samples are in a function that often() called."""
    texts = machine(kernel)
    samples = [re.findall(r"^\s*[0-9a-f]+ (\S+) \((.*)\)$", block, re.M)
               for block in texts["script.out"].split("\n\n")]
    stacks = [[symbol for symbol, _ in sample] for sample in samples if sample]
    leaves = [stack for stack in stacks if stack[0] == "leaf"]
    often = sum(stack[1:2] == ["often"] for stack in leaves)
    seldom = sum(stack[1:2] == ["seldom"] for stack in leaves)
    print(f"# {len(stacks)} samples, in leaf() {len(leaves)}, called by often() {often}, by seldom() "
          f"{seldom}")
    assert len(stacks) > 100 and len(leaves) > 0.8 * len(stacks)
    assert often + seldom > 0.95 * len(leaves) and 0.65 < often / (often + seldom) < 0.85
    assert all("main" in stack for stack in leaves if len(stack) > 2)
    assert all(dso == LIBWORK for sample in samples for symbol, dso in sample if symbol == "leaf")
    first = next(line for line in texts["report.out"].splitlines() if line and line[0] != "#")
    assert re.search(r"\[\.\] leaf\s+libwork\.so", first), first


@cases.table({"build ids come from the kernel": ("plain", [False] * 2),
              f"build ids come from {'the kernel' if BASE_QUERIES else 'files'} on the base":
              ("base", [not BASE_QUERIES] * 2)})
def test_build_ids(kernel, opened):
    """They are those of the files; ours are opened where the kernel does not tell."""
    texts = machine(kernel)
    events = mmap_events(texts["id-events.out"])
    checked = 0
    for path, some in events.items():
        want = path[0] == "/" and os.path.isfile(path) and cases.build_id(path)
        if want:
            assert all(event[4] == want for event in some), (path, want, some)
            checked += 1
    print(f"# {checked} files")
    assert checked > 5 and WORK in events and LIBWORK in events
    assert [f'"{path}"' in texts["opened"] for path in (WORK, LIBWORK)] == opened


def calls(kernel):
    """(number of the operation, result) of calls on files maps, and what perf said."""
    texts = machine(kernel)
    return re.findall(r"_IOC\(_IOC_READ\|_IOC_WRITE, 0x66, (0x[0-9a-f]+), .*= (-1 \w+|0)",
                      texts["calls"]), texts["bench.err"]


def test_without_a_scan_perf_queries():
    found, said = calls("plain")
    assert found[0] == (SCAN, "-1 ENOTTY") and all(call[0] == QUERY for call in found[1:]), found
    assert len(found) > 20 and sum(call == (QUERY, "0") for call in found) > 20
    assert said.count("mappings of processes: PROCMAP_QUERY") == 1, said


def test_without_either_perf_reads_the_text():
    found, said = calls("base")
    assert found == [(SCAN, "-1 ENOTTY"), (QUERY, "-1 ENOTTY")], found
    assert said.count("mappings of processes: the text of maps") == 1, said


def test_verbose_says_what_is_used():
    assert machine("plain")["record.err"].count("mappings of processes: PROCMAP_SCAN") == 1
    base = "PROCMAP_QUERY" if BASE_QUERIES else "the text of maps"
    assert machine("base")["record.err"].count(f"mappings of processes: {base}") == 1


def took(name):
    """What a benchmark took, in instructions; several figures with several numbers of threads."""
    return [float(usec) * 1000 for usec in TOOK.findall(machine("counted")[f"{name}.out"])]


@cases.table({"a scan costs less with 50 libraries": (("st-few", 1), ("st-libraries", 3)),
              "a scan costs less with 10000 mappings": (("st-mappings", 20),),
              "a scan costs less with all processes": (("mt", 3),)})
def test_costs(*limits):
    """So many times less than the text, at least."""
    for name, limit in limits:
        costs = {maps: took(f"{name}-{maps}") for maps in ROUNDS}
        for maps, some in costs.items():
            told = ", ".join(f"{cost:,.0f}" for cost in some)
            print(f"# {name} {maps}: {told} instructions")
        for text, scan in zip(costs["text"], costs["scan"]):
            assert scan * limit <= text, f"{text / scan:.1f} times cheaper, not {limit}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--guest"]:
        guest(sys.argv[2])
    else:
        build()
        sys.exit(cases.run(globals()))
