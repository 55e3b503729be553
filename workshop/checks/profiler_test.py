#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make shell VARIANT=profiler: bpftrace, bpftool and perf of this machine. Results as TAP.

What the profilers count is compared with what the programs did.
"""

import collections
import json
import os
import re
import shlex
import subprocess
import sys

import cases
import known
from places import BASE, BUILD, ROOT

SHELL = os.path.join(ROOT, "workshop", "qemu", "shell.sh")
PROCMAP = os.path.join(BUILD, "tools", "bin", "procmap")
COUNTED = os.path.join(known.OUT, "counted")
CFLAGS = ["-O0", "-g", "-fno-omit-frame-pointer"]
CALLS = 1000
# Calls a function with 0 to CALLS - 1; then reads memory without waiting, 8 bytes and from nowhere
COUNTED_SOURCE = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void counted(unsigned long n) { sink += n; }
static void read_at(void *from)
{
	uint64_t word;
	struct iovec local = { &word, sizeof(word) }, remote = { from, sizeof(word) };

	process_vm_readv(getpid(), &local, 1, &remote, 1, 2 /* PROCESS_VM_NOWAIT */);
}
int main(void)
{
	unsigned long i;

	for (i = 0; i < CALLS; i++)
		counted(i);
	read_at((void *)&sink);
	read_at(NULL);
	return 0;
}
"""
# Real programs that end at once: the driver, cc1 and as
COMPILE = ["/usr/bin/gcc", "-O2", "-x", "c", "-c", "-o", "/dev/null", "/tmp/compiled.c"]
PROCMAP_QUERY, ENOENT, EFAULT = 0xC0686611, 2, 14


def build():
    known.build()
    cases.compile_c(COUNTED_SOURCE, COUNTED, *CFLAGS, f"-DCALLS={CALLS}")


def run(*command):
    """(output, errors) of a program that succeeds."""
    result = cases.call(*command, timeout=240)
    assert result.returncode == 0, result
    return result.stdout, result.stderr


def bpftrace(program, *words):
    """The maps of a bpftrace program, and what the command that it ran printed."""
    out, errors = run("bpftrace", "-f", "json", *words, "-e", program)
    assert "ERROR" not in errors and "Lost" not in errors, errors
    maps, rest = {}, []
    for line in out.splitlines():
        if line.startswith('{"type": "map"'):
            maps.update(json.loads(line)["data"])
        elif not line.startswith('{"type"'):
            rest.append(line)
    return maps, rest


def sleeper():
    """A process that has its libraries and waits."""
    return cases.running("cat", given="loaded\n", says="loaded\n")


def listing(pid):
    """A command that asks one query for each executable mapping of a file, and one for the end.

    One more query comes first. It shows that the kernel has them.
    """
    return [PROCMAP, "--query", "-xf", str(pid)]


def mappings(lines):
    found = [line for line in lines if re.match(r"[0-9a-f]+-[0-9a-f]+ r-xp [0-9a-f]+ /", line)]
    assert len(found) >= 3, lines
    return len(found)


def test_btf_has_the_types_and_functions_of_the_series():
    out, _ = run("bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux")
    assert re.search(r"^\[\d+\] STRUCT 'procmap_query' size=104 vlen=15$", out, re.M)
    for name in "procmap_query", "vma_search_next", "find_and_lock_vma_rcu":
        assert re.search(rf"^\[\d+\] FUNC '{name}' type_id=\d+ linkage=static$", out, re.M), name


def test_bpftrace_kprobe_counts_queries():
    with sleeper() as child:
        maps, lines = bpftrace(f"""
            kprobe:procmap_ioctl /comm == "procmap" && arg1 == {PROCMAP_QUERY}/
            {{ @calls[arg1] = count(); @stack[kstack(3)] = count(); }}
            kretprobe:procmap_query /comm == "procmap"/ {{ @returned[(int32)retval] = count(); }}
            """, "-c", shlex.join(listing(child.pid)))
    found = mappings(lines)
    assert maps["@calls"] == {str(PROCMAP_QUERY): found + 2}, (maps, lines)
    assert maps["@returned"] == {"0": found + 1, str(-ENOENT): 1}, (maps, lines)
    (stack,) = maps["@stack"]
    names = re.findall(r"(\w+)\+\d+", stack)
    assert names[0] == "procmap_ioctl" and "__x64_sys_ioctl" in names, stack


def test_bpftrace_reads_the_types_of_the_kernel():
    with sleeper() as child:
        with open(f"/proc/{child.pid}/maps", encoding="utf-8") as text:
            vmas = sum("[vsyscall]" not in line for line in text)
        maps, _ = bpftrace("""
            kprobe:vma_search_next /comm == "procmap"/
            { @vmas[((struct vma_search *)arg0)->mm->map_count] = count(); }
            kprobe:procmap_ioctl /comm == "procmap"/
            { @name[str(((struct file *)arg0)->f_path.dentry->d_name.name)] = count(); }
            """, "-c", shlex.join(listing(child.pid)))
    assert list(maps["@vmas"]) == [str(vmas)], (maps, vmas)
    assert list(maps["@name"]) == ["maps"], maps


def test_bpftrace_tracepoints_show_flags_and_results_of_process_vm_readv():
    maps, _ = bpftrace("""
        tracepoint:syscalls:sys_enter_process_vm_readv /comm == "counted"/
        { @flags[tid] = args->flags; }
        tracepoint:syscalls:sys_exit_process_vm_readv /comm == "counted"/
        { @done[@flags[tid], args->ret] = count(); delete(@flags[tid]); }
        """, "-c", COUNTED)
    assert maps["@done"] == {"2,8": 1, f"2,{-EFAULT}": 1}, maps


def test_bpftrace_uprobe_sees_each_call_and_its_argument():
    maps, _ = bpftrace(f"uprobe:{COUNTED}:counted {{ @calls = count(); @sum = sum(arg0); }}",
                       "-c", COUNTED)
    assert maps == {"@calls": CALLS, "@sum": CALLS * (CALLS - 1) // 2}, maps


def known_shares(stacks):
    """Shares of the samples by what they were in; each stack is innermost first."""
    shares = collections.Counter()
    for names, count in stacks:
        shares["all"] += count
        for path in (("leaf", "often", "middle", "main"), ("leaf", "seldom", "middle", "main"),
                     ("leaf", "in_thread", "thread")):
            shares[path[1]] += count * (tuple(names[:len(path)]) == path)
    print("# samples:", dict(shares))
    return shares


def assert_known(shares, least):
    """main() divides its time three to one; a sample between two functions lacks a frame."""
    assert shares["all"] >= least, shares
    assert shares["often"] + shares["seldom"] + shares["in_thread"] > 0.9 * shares["all"], shares
    assert 2 < shares["often"] / shares["seldom"] < 4.5, shares


def test_bpftrace_profile_names_the_functions_of_a_process():
    with known.running() as target:
        maps, _ = bpftrace(f"profile:hz:97 /pid == {target.pid}/ {{ @[ustack] = count(); }}"
                           "interval:s:5 { exit(); }", "-p", str(target.pid))
    assert_known(known_shares((re.findall(r"(\w+)\+\d+", stack), count)
                              for stack, count in maps["@"].items()), 300)


def script_stacks(text):
    """The stacks of `perf script -F ip,sym`, each [names, 1]."""
    for sample in text.split("\n\n"):
        if sample.strip():
            yield [line.split(None, 1)[1] for line in sample.strip().splitlines()], 1


def test_perf_record_names_the_functions_of_a_process():
    data = "/tmp/perf.user"
    with known.running() as target:
        run("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "97", "-g", "-o", data,
            "-p", str(target.pid), "--", "sleep", "5")
        text, _ = run("perf", "script", "-i", data, "-F", "ip,sym")
    assert_known(known_shares(script_stacks(text)), 300)
    ids, _ = run("perf", "buildid-list", "-i", data)
    assert f"{cases.build_id(known.PROGRAM)} {known.PROGRAM}\n" in ids, ids


def test_perf_record_has_the_build_ids_of_processes_that_are_gone():
    data = "/tmp/perf.ids"
    with open("/tmp/compiled.c", "w", encoding="ascii") as file:
        file.write("#include <stdio.h>\n")
        file.writelines(f"int f{i}(int a, int b) {{ while (a--) b += printf(\"%d\", a); return b; }}\n"
                        for i in range(200))
    run("perf", "record", "-q", "--buildid-mmap", "-g", "-e", "cpu-clock:u", "-F", "997", "-o", data,
        "--", *COMPILE)
    text, _ = run("perf", "script", "-i", data, "--show-mmap-events", "-F", "comm,ip,dso")
    files = re.findall(r"PERF_RECORD_MMAP2 .* (\S+)\]: r-xp (/\S+)", text)
    assembler = os.path.basename(os.path.realpath("/usr/bin/as"))
    assert {"cc1", assembler} <= {os.path.basename(path) for _, path in files}, files
    for found, path in files:
        assert found == f"<{cases.build_id(path)}>", (found, path)
    innermost = re.findall(r"^\S+ *\n\s+[0-9a-f]+ \((.*)\)$", text, re.M)
    named = sum(place.startswith("/") for place in innermost)
    print(f"# {named} of {len(innermost)} samples in {len(files)} mappings of files")
    assert named > 300 and named > 0.95 * len(innermost), (named, len(innermost))


def test_perf_record_names_the_functions_of_the_kernel():
    data = "/tmp/perf.kernel"
    run("perf", "record", "-q", "-e", "cpu-clock:k", "-F", "997", "-g", "-o", data, "--",
        "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=4000", "status=none")
    text, _ = run("perf", "script", "-i", data, "--comm", "dd", "-F", "ip,sym")
    stacks = [names for names, _ in script_stacks(text)]
    reads = [names for names in stacks if {"read_zero", "ksys_read", "do_syscall_64"} <= {*names}]
    assert len(reads) > 50 and len(reads) > 0.8 * len(stacks), (len(reads), stacks[-3:])


def perf_count(event, *command):
    """(how often perf counted an event, the lines that the command printed)"""
    out, errors = run("perf", "stat", "-x", ",", "-e", event, "--", *command)
    (count,) = re.findall(rf"^(\d+),,{event},", errors, re.M)
    return int(count), out.splitlines()


def test_perf_counts_queries_by_a_tracepoint_and_by_a_probe_of_its_own():
    with sleeper() as child:
        base, _ = perf_count("syscalls:sys_enter_ioctl", PROCMAP, "--text", "-xf", str(child.pid))
        calls, lines = perf_count("syscalls:sys_enter_ioctl", *listing(child.pid))
        run("perf", "probe", "-q", "--add", "queries=procmap_query")
        try:
            probed, _ = perf_count("probe:queries", *listing(child.pid))
        finally:
            run("perf", "probe", "-q", "--del", "queries")
    assert calls - base == probed == mappings(lines) + 2, (base, calls, probed, lines)


def main():
    if sys.argv[1:] == ["--guest"]:
        sys.exit(cases.run(globals()))
    build()
    line = shlex.join(["env", f"BASE={BASE}", "/usr/bin/python3", os.path.abspath(__file__),
                       "--guest"])
    env = dict(os.environ, VARIANT="profiler", SHELL_TIMEOUT="600")
    sys.exit(subprocess.run([SHELL, line], check=False, env=env).returncode)


if __name__ == "__main__":
    main()
