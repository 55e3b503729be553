#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The packages of `make deb` in a Debian root with systemd, beside Debian's own kernel. As TAP.

The root is that of the Debian release whose kernel the base is. apt installs both kernels in it;
what Debian's tools say on them is compared, and the kselftests run on ours. The machine has a disk
and a console; what deb_guest.sh writes is taken from the disk afterwards.
"""

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

import cases
from places import BUILD, ROOT

import console  # pylint: disable=wrong-import-order
from base import pinned  # pylint: disable=wrong-import-order
from common import interrupt_on, read, write  # pylint: disable=wrong-import-order
from vm import die_with_parent  # pylint: disable=wrong-import-order

DEB = os.path.join(BUILD, "deb")
TREE, IMAGE, RESULTS = (os.path.join(DEB, name) for name in ("root", "root.img", "results"))
QEMU = os.path.join(ROOT, "workshop", "qemu")
PACKAGES = ("bpftrace", "busybox-static", "criu", "crun", "dbus", "fuse-overlayfs", "gdb", "htop",
            "initramfs-tools", "kmod", "libpam-systemd", "linux-image-cloud-amd64", "linux-perf",
            "lsof", "podman", "procps", "python3-minimal", "strace", "systemd-sysv", "uidmap",
            "zstd")
UNIT = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/check/deb_guest.sh
ExecStopPost=systemctl poweroff
TimeoutStartSec=infinity
[Install]
WantedBy=default.target
"""
MODULE = """#include <linux/module.h>
#include <linux/mm.h>
static int __init start(void)
{
	pr_info("outside: a VMA has %zu bytes, an mm %zu\\n", sizeof(struct vm_area_struct),
		sizeof(struct mm_struct));
	return 0;
}
static void __exit stop(void) { }
module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
"""
# Tools may differ in these and be right.
CHANGING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+")
HUNG = 4 * 3600


def sources(suite):
    """sources.list of a suite, from where this machine has its own."""
    codename = re.search(r"^VERSION_CODENAME=(.*)$", read("/etc/os-release"), re.M).group(1)
    lines = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)",
                            "Identifier: Packages", "Component: main"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    pairs = sorted({tuple(line.split()) for line in lines}, key=lambda pair: pair[1])
    return [f"deb {uri} {name.replace(codename, suite)} main" for uri, name in pairs
            if name in (codename, f"{codename}-updates", f"{codename}-security")]


def isolated(*command):
    """Run a command with mounts and processes that end with it."""
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", *command], check=True,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                        "LC_ALL": "C.UTF-8"})


def in_root(*command):
    isolated("sh", "-c", 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && '
             'exec chroot "$0" "$@"', TREE, *command)


def apt(*words):
    in_root("apt-get", "-q", "-y", "-o", "APT::Sandbox::User=root", *words)


def make_root():
    """Debian with what the guest needs, once for each list of it."""
    suite = pinned()["debian"]
    lines = sources(suite)
    stamp, key = os.path.join(DEB, ".root"), "\n".join([*lines, *PACKAGES])
    if os.path.exists(stamp) and read(stamp) == key:
        return
    shutil.rmtree(TREE, ignore_errors=True)
    mirror = next(line.split()[1] for line in lines if line.split()[2] == suite)
    isolated("debootstrap", "--variant=minbase", suite, TREE, mirror)
    write(os.path.join(TREE, "etc/apt/sources.list"), "\n".join(lines) + "\n")
    apt("update")
    apt("install", "--no-install-recommends", *PACKAGES)
    apt("clean")
    in_root("useradd", "--create-home", "--shell", "/bin/bash", "tester")
    write(stamp, key)


def install():
    """apt installs our packages; returns the releases of Debian's kernel and of ours."""
    where = os.path.join(TREE, "debs")
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    for path in glob.glob(os.path.join(DEB, "*.deb")):
        if "-dbg_" not in path and "libc-dev" not in path:
            shutil.copy(path, where)
    apt("install", "--reinstall", "--allow-downgrades", "--no-install-recommends",
        *(f"/debs/{name}" for name in os.listdir(where)))
    shutil.rmtree(where)
    releases = sorted(os.listdir(os.path.join(TREE, "lib/modules")), key=lambda name: "procmap" in name)
    assert len(releases) == 2, releases
    return releases


def build_module(release):
    """A module that is not in the tree, against the headers of the package."""
    out = os.path.join(DEB, "outside")
    write(os.path.join(out, "outside.c"), MODULE)
    write(os.path.join(out, "Makefile"), "obj-m := outside.o\n")
    headers = os.path.join(TREE, "usr/src", f"linux-headers-{release}")
    subprocess.run(["make", "-C", headers, f"M={out}", "modules"], check=True,
                   stdout=subprocess.DEVNULL)
    return os.path.join(out, "outside.ko")


def fill(release):
    """What the guest runs, beside what is installed."""
    check = os.path.join(TREE, "check")
    shutil.rmtree(check, ignore_errors=True)
    os.makedirs(check)
    for path in (f"{QEMU}/deb_guest.sh", f"{QEMU}/kselftest.sh", build_module(release)):
        shutil.copy(path, check)
    # Where the test machine has them, too
    tests = os.path.join(TREE, "kselftest")
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(os.path.join(BUILD, "kselftest"), tests)
    write(os.path.join(TREE, "etc/systemd/system/check.service"), UNIT)
    in_root("systemctl", "enable", "check.service")
    in_root("chmod", "-R", "a+rX", "/check", "/kselftest")


def boot(release):
    """Boot a kernel of the root; {file: text} of what the guest wrote, and the console."""
    out = os.path.join(RESULTS, release)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(IMAGE)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", TREE, IMAGE, "6G"], check=True)
    log = os.path.join(out, "console.log")
    subprocess.run(["qemu-system-x86_64", "-nodefaults", "-no-user-config",
                    "-display", "none", "-no-reboot", "-accel", "tcg,thread=single", "-smp", "2",
                    "-m", "4G", "-cpu", "max", "-kernel", f"{TREE}/boot/vmlinuz-{release}",
                    "-initrd", f"{TREE}/boot/initrd.img-{release}", "-serial", f"file:{log}",
                    "-append", "root=/dev/vda rw console=ttyS0 systemd.show_status=0 panic=-1",
                    "-drive", f"file={IMAGE},format=raw,if=virtio,cache=unsafe",
                    "-object", "rng-random,id=rng,filename=/dev/urandom",
                    "-device", "virtio-rng-pci,rng=rng"], check=False, timeout=HUNG,
                   preexec_fn=die_with_parent)
    subprocess.run(["debugfs", "-R", f"rdump /out {out}", IMAGE], check=True,
                   capture_output=True)
    files = {name: read(os.path.join(out, "out", name), "rb").decode(errors="replace")
             for name in os.listdir(os.path.join(out, "out"))}
    return files, read(log, "rb").decode(errors="replace")


def without_figures(text):
    return [CHANGING.sub("N", console.STAMP.sub("", line.strip())) for line in text.splitlines()]


def compare_tools(report, base, ours):
    """What Debian's tools say on both kernels; and they do say something."""
    for name in sorted(name for name in base if name.startswith("tool-")):
        want, have = without_figures(base[name]), without_figures(ours.get(name, ""))
        report.case(want == have and len(want) > 1, name[5:],
                    "\n".join(["unpatched:", base[name], "patched:", ours.get(name, "")]))


def new_lines(base, ours):
    """The lines of a log that the other log does not have, whatever their figures."""
    return sorted(set(without_figures(ours)) - set(without_figures(base)))


def compare_logs(report, base, ours):
    """A new warning is a failure; all other lines that differ are shown."""
    # A busy host disturbs the calibration of clocks.
    more = [line for line in new_lines(base["warnings"], ours["warnings"])
            if not line.startswith(("tsc: ", "APIC calibration not consistent with PM-Timer: "))]
    report.case(not more, "no new warning in the log of the boot", "\n".join(more))
    for what, lines in (("without", new_lines(ours["messages"], base["messages"])),
                        ("with", new_lines(base["messages"], ours["messages"]))):
        cases.comment("\n".join([f"only {what} the series, the log has:", *lines]))


def compare_sizes(report, base, ours):
    for line in zip(base["kernel"].splitlines(), ours["kernel"].splitlines()):
        cases.comment(f"unpatched, patched: {line[0]}, {line[1]}")
    report.case("outside: a VMA has" in ours["kernel"], "a module that is not of the tree")
    report.case('"backend": "scan"' in ours["procmap"], "procmap scans", ours["procmap"])


def count_tests(report, ours):
    """Each program of the kselftests, as root, as a user, and under quotas."""
    for name in sorted(name for name in ours if name.startswith("kselftest-")):
        found = re.findall(r"^(ok|not ok) \d+ selftests: (\S+ \S+)(.*)$", ours[name], re.M)
        planned = sum(map(int, re.findall(r"^1\.\.(\d+)$", ours[name], re.M)))
        report.case(0 < planned == len(found), f"{name}: {len(found)} of {planned} programs")
        for word, program, more in found:
            report.case(word == "ok", f"{name}: {program.replace(': ', '/')}{more}")


def main():
    if os.geteuid():
        sys.exit("error: only root can install packages in a root of their own (debootstrap)")
    interrupt_on(signal.SIGTERM)
    make_root()
    debian, procmap = install()
    fill(procmap)
    report = cases.Report()
    results = {}
    for release in debian, procmap:
        results[release], log = boot(release)
        splat = console.find_splat(log) or console.find_panic(log)
        report.case(not splat, f"{release}: no splat", splat or "")
    compare_tools(report, results[debian], results[procmap])
    compare_logs(report, results[debian], results[procmap])
    compare_sizes(report, results[debian], results[procmap])
    count_tests(report, results[procmap])
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
