# SPDX-License-Identifier: GPL-2.0
"""The parts of `make check` and `make check-all`: what each runs, needs, and depends on.

A part passes or fails by its exit status. If it prints TAP, each case counts on its own. To add one,
add it to PARTS.
"""

import dataclasses
import os

from places import BASE, BUILD, ROOT, SRC
from base import stands_alone  # pylint: disable=wrong-import-order
from common import read  # pylint: disable=wrong-import-order

CHECKS = os.path.join("workshop", "checks")
VM = ("python3", "workshop/qemu/vm.py")
RESULTS = os.path.join(os.path.relpath(BUILD, ROOT), "results")
# Seconds after which a machine counts as hung: a loaded host takes several times as long as an idle
# one, which needs five minutes. Slow kernels have SLOW times as long.
HUNG = 1800
SLOW = {"debug": 4, "kcsan": 4}

# What a part can need, see needs.py.
TREE, CODE, MAILS, PERF, DEB, PLAIN, GUEST = \
    "tree", "code", "mails", "perf", "deb", "kernel:plain", "guest:plain"


@dataclasses.dataclass
class Part:
    """One line of the result.

    @command: what runs, at the top of the repository
    @needs: what must be made before
    @inputs: files of this repository that decide the result, beside what it needs: paths, a
        directory stands for all below it; "." is everything
    @packages: groups of packages.sh
    @machine: it boots a test machine; other parts run next to those that do
    @every: it belongs to `make check`; others only to `make check-all`
    @once: it takes nothing of a kernel, so it runs with the first base only, unless it is named
    """

    name: str
    command: tuple
    needs: tuple = ()
    inputs: tuple = ()
    packages: tuple = ()
    machine: bool = False
    every: bool = False
    once: bool = False


def script(name, *words, **more):
    own = f"{CHECKS}/{name}"
    shared = (f"{CHECKS}/cases.py", f"{CHECKS}/places.py", "workshop/series/common.py")
    more["inputs"] = (own, *shared, *more.get("inputs", ()))
    return dict(command=("python3", own, *words), **more)


def static(name, *needs, packages=(), once=True):
    return Part(name, needs=needs, packages=packages, every=True, once=once,
                **script("static.py", name, inputs=(".",)))


STATIC = [
    static("shellcheck", packages=("shell",)),
    static("function-length"),
    static("spdx"),
    static("maintained"),
    static("clocks"),
    static("covered"),
    static("own-c-style", TREE),
    static("uapi", GUEST, packages=("uapi",), once=False),
    static("kernel-doc", TREE, once=False),
    # Each row of an errno table has a test, and the man pages have its errno.
    static("errno"),
    # The programs that read results and the console.
    Part("readers", every=True, once=True, **script("tap_test.py", inputs=("workshop",))),
    # checkpatch.pl --strict accepts every patch that `make series` writes.
    Part("checkpatch", needs=(MAILS,), every=True, **script("code.py", "checkpatch")),
]

# In user space: the same files of the kernel, against an oracle, in a counted number of rounds.
LOCK = ("include/linux", "mm", "patches", "tools/testing/vma_lock")
PAPERS = tuple(f"workshop/{name}.rst"
               for name in ("procmap_attacks", "procmap_figures", "vma_lock_proof"))
LOCK_ARGS = (f"KTREE={SRC}", f"OUTPUT={BUILD}/vma_lock")
USER = [
    Part("maple-leaf", ("make", "-C", "tools/testing/maple_leaf", "test", "ROUNDS=30", "SEED=1",
                        f"KTREE={SRC}", f"OUTPUT={BUILD}/maple_leaf"),
         needs=(TREE,), inputs=("include/linux", "patches", "tools/testing/maple_leaf"),
         packages=("user",), every=True),
    Part("vma-lock", ("make", "-C", "tools/testing/vma_lock", "all-tests", "ROUNDS=30", "SEED=1",
                      *LOCK_ARGS),
         needs=(TREE,), inputs=LOCK, packages=("user",), every=True),
    Part("buildid-fuzz", ("make", "-C", "tools/testing/buildid", "fuzz", "ROUNDS=150000", "SEED=1",
                          f"OUTPUT={BUILD}/buildid"),
         inputs=("include/linux", "lib", "tools/testing/buildid"), packages=("user",), every=True,
         once=True),
    # The client's own tests, on a made-up kernel.
    Part("client", ("sh", "-c", f"mkdir -p {BUILD}/client-test && make -C tools/procmap "
                    f"O={BUILD}/client-test check"),
         inputs=("include/uapi", "tools/procmap"), packages=("guest", "uapi"), every=True,
         once=True),
    # Several bases, with made-up kernels of a few files.
    Part("bases", every=True, once=True, packages=("tree",),
         **script("bases_test.py", inputs=("Makefile", "workshop"))),
    # The documentation and the man pages build without warnings.
    Part("docs", every=True, needs=(TREE,), packages=("docs",),
         **script("docs_test.py", inputs=("Documentation", "samples", "include", "fs", "lib", "mm",
                                          "patches", "tools/procmap", *PAPERS))),
    # Each VMA is write-locked before a write, or the write is excused by name; and the rule misses
    # each write-lock that is taken away. The table of excuses is that of the tree.
    Part("vma-lock-writes", ("sh", "-c", f"cd {SRC} && tools/testing/vma_lock/write_locks.py . && "
                             "tools/testing/vma_lock/write_locks.py . --self-test"),
         needs=(CODE,), inputs=("patches", "tools/testing/vma_lock"), packages=("user",)),
    # The model of the lock, without each rule; and the litmus tests, without each barrier.
    Part("vma-lock-model", ("make", "-C", "tools/testing/vma_lock", "model"),
         inputs=("tools/testing/vma_lock",), packages=("user",), once=True),
    # Break the lock in each way that "removals" names; each must be noticed.
    Part("vma-lock-removals", ("tools/testing/vma_lock/removals.py", "--ktree", SRC, "--output",
                               f"{BUILD}/vma_lock-removals"),
         needs=(TREE,), inputs=LOCK, packages=("user",)),
    # sparse and W=1 report nothing new.
    Part("warnings", needs=(PLAIN,), packages=("code",),
         **script("code.py", "warnings", inputs=(f"patches/{BASE}/base",))),
    # Every commit of the series builds.
    Part("commits", needs=(PLAIN, MAILS), **script("code.py", "commits")),
    # The files of the series compile without a warning in every configuration of configs.table.
    Part("configs", needs=(CODE,), packages=("kernel", "cross"),
         **script("configs.py", inputs=(f"{CHECKS}/configs.table",))),
    # make tree, apply, series and refresh, and their answers to bad input.
    Part("series", needs=(MAILS,), packages=("code",),
         **script("series_test.py", inputs=("Makefile", "workshop", "patches"))),
    # The series fits the newest point release.
    Part("points", needs=(MAILS,), **script("points_test.py", inputs=("workshop/series",))),
]


TESTS = "tools/testing/selftests"
SHARED = f"{TESTS}/procmap/lib"
ALL_TESTS = (f"{TESTS}/procmap", f"{TESTS}/process_vm")
OTHER_TESTS = (SHARED, f"{TESTS}/process_vm",
               *(f"{TESTS}/procmap/{name}" for name in ("bench", "buildid", "fuzz", "torture", "wait")))


def kselftest(variant, who, *choice, every=False, inputs=ALL_TESTS):
    """Our kselftests as root or as an ordinary user; `choice` is for workshop/qemu/kselftest.sh."""
    # Single programs, of which make test may run many, have no name of their own.
    named = not any(":" in word for word in choice)
    name = "-".join(("kselftest", variant, who, *(choice if named else ["test"])))
    command = (*VM, "--variant", variant, "--memory", "2G",
               "--timeout", str(HUNG * SLOW.get(variant, 1)),
               "--results", f"{RESULTS}/{name}", "--append", "secretmem.enable=1",
               "--env", f"VM_TIMEOUT_SCALE={SLOW.get(variant, 2)}",
               *(["--uid", "1000"] if who == "user" else []),
               *(["--accel", "icount"] if "exact" in choice else []), "--", "kselftest", *choice)
    arm = ("arm64",) if variant == "arm64" else ()
    guest = "guest:arm64" if arm else GUEST
    return Part(name, command, (f"kernel:{variant}", guest), ("workshop/qemu", *inputs),
                ("vm", *arm), True, every)


def guest_script(name, *words, needs=(PLAIN, GUEST), packages=(), inputs=(), every=False, part=None):
    """A part that is a script, and boots machines with the root file system of this one."""
    return Part(part or name.partition("_test")[0], needs=needs, packages=("vm", *packages),
                machine=True, every=every,
                **script(name, *words, inputs=("workshop/qemu", "tools/procmap", *inputs)))


def in_series(path):
    """Does the series of this base add this file?"""
    return path in read(os.path.join(ROOT, "patches", BASE, "series")).split()


def client_tests(name, line):
    """Tests of the library and the client, in the machine."""
    where = f"{BUILD}/client-guest"
    build = f"make -s -C tools/procmap O={where} tests"
    run = " ".join((*VM, "--memory", "1G", "--timeout", str(HUNG), "--results", f"{RESULTS}/{name}",
                    "--root", "host", "--", "/bin/sh", "-c", f"'cd {where}/tests && {line}'"))
    return Part(name, ("sh", "-c", f"mkdir -p {where} && {build} && {run}"), (PLAIN, GUEST),
                ("tools/procmap", "workshop/qemu"), ("vm",), True)


def in_host_root(name, *words, every=False, inputs=(), packages=()):
    """A part that runs a command in the machine, on the root file system of this one."""
    return Part(name, (*VM, "--memory", "2G", "--timeout", str(HUNG), "--results", f"{RESULTS}/{name}",
                       "--root", "host", "--", *words), (PLAIN, GUEST), ("workshop/qemu", *inputs),
                ("vm", *packages), True, every)


def torture(variant):
    return Part(f"torture-{variant}", ("python3", "workshop/qemu/torture.py", "1", variant),
                (f"kernel:{variant}", GUEST), ("workshop/qemu", SHARED, f"{TESTS}/procmap/torture"),
                ("vm",), True)


# The machine counts no cycles, so what takes its samples from NMI skips: one case of find_vma.
BPF_PROGS = ("find_vma_held", "find_vma_wq", "stack_build_id_held",
             "stack_build_id_sleepable", "find_vma=SKIP",
             "stacktrace_build_id", "stacktrace_build_id_nmi=SKIP", "iters/task_vma",
             "iters_task_vma_held", "vma_cost")
# What they find on the unpatched kernel: lookups that fail, stacks without build IDs
BPF_FAULTS = ("find_vma_held", "stack_build_id_held", "stack_build_id_sleepable",
              "iters_task_vma_held")

MACHINE = [
    kselftest("plain", "root", "64", "maps", every=True, inputs=(f"{TESTS}/procmap",)),
    kselftest("plain", "root", "64", "other", every=True, inputs=OTHER_TESTS),
    kselftest("plain", "root", "32", every=True),
    kselftest("plain", "root", "exact", every=True),
    kselftest("plain", "user", "perm", every=True),
    # Tests inside the kernel.
    guest_script("kunit.py", "plain", part="kunit", every=True),
    # The main job, on this machine's own root file system.
    in_host_root("run", f"{ROOT}/workshop/qemu/run.sh", f"{BUILD}/tools/bin/procmap", every=True,
                 inputs=("tools/procmap",)),
    # The programs in documentation, man pages and README build and print the truth.
    guest_script("examples_test.py", packages=("examples",), every=True,
                 inputs=("Documentation", "README.md", "samples")),

    # So do those of the library on the kernel without the series.
    guest_script("examples_test.py", "base", part="examples-base", needs=("kernel:base", GUEST),
                 packages=("examples",)),

    kselftest("plain", "user", "64"),
    kselftest("plain", "user", "32"),
    # The test machine distinguishes all ways to fail.
    guest_script("vm_test.py", packages=("shell",)),
    # The text of /proc/<pid>/maps is that of the unpatched kernel, byte for byte.
    guest_script("maps_test.py", needs=(PLAIN, "kernel:base", GUEST), inputs=(f"{TESTS}/procmap",)),
    # Mainline's test of maps output beside a writer, a minute a case.
    guest_script("maps_race_test.py", part="maps-race", needs=("kernel:preempt", GUEST)),
    # Debian's gdb and strace work as on any kernel.
    in_host_root("debuggers", f"{ROOT}/workshop/qemu/debuggers.sh",
                 f"{BUILD}/kselftest/process_vm/process_vm_target", inputs=(f"{TESTS}/process_vm",),
                 packages=("debuggers",)),
    # Every ELF file of this machine has the build ID that readelf finds, cached or not.
    guest_script("buildid_usr.py", part="buildid-usr",
                 inputs=(f"{TESTS}/procmap", "tools/testing/buildid")),
    # The BPF selftests find the same offsets by queries and by text; those of 6.12 do so by themselves.
    *([guest_script("bpf_test.py", packages=("bpf",), inputs=("patches", f"{TESTS}/bpf"))]
      if in_series(f"{TESTS}/bpf/prog_tests/maps_lookup.c") else []),
    # Lookups of BPF programs, and the base's own tests of these helpers.
    guest_script("bpf_progs_test.py", "profiler", *BPF_PROGS, part="bpf-vma",
                 needs=("kernel:profiler", GUEST), packages=("bpf", "profiler"),
                 inputs=("patches", f"{TESTS}/bpf")),
    guest_script("bpf_progs_test.py", "base-profiler", *BPF_FAULTS, part="bpf-vma-base",
                 needs=("kernel:profiler", "kernel:base-profiler", GUEST),
                 packages=("bpf", "profiler"), inputs=("patches", f"{TESTS}/bpf")),
    # The library on the patched kernel: its cache is never stale; then all tests of the client.
    client_tests("cache", "./live-test"),
    client_tests("client-guest", f"{ROOT}/tools/procmap/tests/cli-test.py .."),
    # perf of the tree asks for mappings by scans, and falls back.
    guest_script("perf_test.py", needs=(PLAIN, "kernel:base", GUEST, PERF), packages=("perf",)),
    # make shell: its status and its terminal.
    guest_script("shell_test.py"),
    # make torture ends as it should, and leaves no machine behind.
    guest_script("torture_test.py", inputs=(f"{CHECKS}/vm_test.py",)),

    # The other kernels.
    kselftest("debug", "root", "64", "maps", inputs=(f"{TESTS}/procmap",)),
    kselftest("debug", "root", "64", "other", inputs=OTHER_TESTS),
    kselftest("kcsan", "root", "racing"),
    *(kselftest(variant, "root") for variant in ("preempt", "up", "nolock")),
    kselftest("preempt", "root", "exact"),
    kselftest("arm64", "root", "64"),
    torture("debug"),
    torture("kcsan"),
    guest_script("kunit.py", "debug", part="kunit-debug", needs=("kernel:debug", GUEST)),
    # Each detector of the debug kernel reports its kind of bug.
    guest_script("splats.py", part="splats", needs=("kernel:debug", GUEST)),
    # bpftrace, bpftool and perf of this machine count what happened.
    guest_script("profiler_test.py", needs=("kernel:profiler", GUEST), packages=("profiler",),
                 inputs=(f"{CHECKS}/known.py",)),
    # The BPF program in samples names the code of processes that are gone at once.
    guest_script("profile_sample_test.py", "profiler", part="profile",
                 needs=("kernel:profiler", GUEST), packages=("bpf", "profiler"),
                 inputs=("samples/procmap/profile",)),
]

# Debian's kernel beside that of `make deb`, in a Debian root: its tools, the kselftests, quotas.
MACHINE.append(guest_script("deb_test.py", needs=(DEB, GUEST), packages=("debian",),
                            inputs=("workshop/debian", *ALL_TESTS)))

# The base's own tests of /proc and mm/ find what they find without the patches.
MAINLINE = guest_script("mainline_test.py", needs=(PLAIN, "kernel:base", GUEST), packages=("mm",),
                        inputs=("patches",))
MACHINE.append(MAINLINE)

BPF_TESTS = ("iters_task_vma_skipped", "stacktrace_build_id_hole", "stacktrace_build_id_irq")
# Patches that stand alone bring their tests to folders of the kernel's own kselftests.
ALONE = [
    kselftest("plain", "root", every=True, inputs=("patches",)),
    in_host_root("run", f"{ROOT}/workshop/qemu/run.sh", f"{BUILD}/tools/bin/procmap", every=True,
                 inputs=("tools/procmap",)),
    # Each test of the patches fails on the kernel without them, as the series says.
    guest_script("faults_test.py", needs=("kernel:base", GUEST), inputs=("patches",), every=True),
    *(guest_script("bpf_progs_test.py", variant, *BPF_TESTS, part=f"bpf-{variant}",
                   needs=(PLAIN, f"kernel:{variant}", GUEST), inputs=("patches",), packages=("bpf",),
                   every=True) for variant in ("plain", "base")),
    # perf test exits with 0 whatever failed.
    dataclasses.replace(in_host_root("perf", "/bin/sh", "-c", f"{BUILD}/perf/perf test -v 'Synthesize "
                                     "mmap events' >/tmp/perf 2>&1; cat /tmp/perf; grep 'Passed "
                                     "subtests *: 2$' /tmp/perf", packages=("perf",),
                                     inputs=("patches",)),
                        needs=(PLAIN, GUEST, PERF)),
    MAINLINE,
    kselftest("debug", "root", inputs=("patches",)),
    kselftest("kcsan", "root", inputs=("patches",)),
    *(part for part in STATIC if part.name == "checkpatch"),
    *(part for part in USER if part.name in ("configs", "warnings")),
    # Each of them boots, and passes the tests of its tree.
    *(dataclasses.replace(part, needs=(*part.needs, GUEST), packages=("vm",), machine=True)
      for part in USER if part.name == "commits"),
]

# Machine parts first: each list is worked off in order, and the other one by whoever is done first.
PARTS = ALONE if stands_alone() else [*MACHINE, *STATIC, *USER]
