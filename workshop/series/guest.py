#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make initrd: user headers, kselftests, the client, and the test machine's initramfs.

usage: guest.py [VARIANT]; the architecture is that of the variant of the kernel (default plain)
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys

from common import BUILD, ROOT, SRC, lock, logged, main, read, rel, say, write
from git import Repo
from kernel import CROSS, Kernel

QEMU = os.path.join(ROOT, "workshop", "qemu")
SELFTESTS = ("procmap", *(f"procmap/{name}" for name in ("bench", "buildid", "fuzz", "torture", "wait")),
             "process_vm")


def place(kernel, name):
    """The place of something that the machine of a kernel needs."""
    stem, suffix = os.path.splitext(name)
    arch = "" if kernel.arch == "x86" else f"-{kernel.arch}"
    return os.path.join(BUILD, f"{stem}{arch}{suffix}")


def digest_of(*directories):
    """A key that changes when a file below one of the directories does."""
    digest = hashlib.sha256()
    for directory in directories:
        for where, names, files in os.walk(directory):
            names.sort()
            for name in sorted(files):
                path = os.path.join(where, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    digest.update(path.encode() + b"\0" + read(path, "rb"))
    return digest


def key(kernel):
    """Everything that the image is made from."""
    repo = Repo(SRC)
    digest = digest_of(QEMU)
    digest.update(repo.out("rev-parse", "HEAD^{tree}").encode())
    digest.update(repo.run("diff", "HEAD")[1])
    digest.update(read(os.path.abspath(__file__), "rb"))
    digest.update(subprocess.run([f"{CROSS[kernel.arch]}gcc", "--version"], capture_output=True,
                                 check=True).stdout)
    return digest.hexdigest()


def make_headers(kernel):
    say("HEADERS", rel(os.path.join(kernel.out, "usr/include")))
    kernel.make("headers", "headers")


def make_kselftest(kernel):
    """Build and install our kselftests, as far as the tree has them."""
    installed = place(kernel, "kselftest")
    shutil.rmtree(installed, ignore_errors=True)
    selftests = os.path.join(SRC, "tools/testing/selftests")
    targets = [name for name in SELFTESTS if os.path.isdir(os.path.join(selftests, name))]
    say("TESTS", f"{rel(installed)}: {' '.join(targets) or 'none in the series yet'}")
    if not targets:
        os.makedirs(installed)
        return
    logged("kselftest", ["make", "-C", selftests, f"O={kernel.out}", f"-j{os.cpu_count()}",
                         f"TARGETS={' '.join(targets)}", "FORCE_TARGETS=1",
                         f"KSFT_INSTALL_PATH={installed}", "install"],
           env=clean_environment(kernel))


def clean_environment(kernel):
    """The environment without what our own make left there for its children."""
    drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KSRC", "VARIANT", "BASE", "O", "OUTPUT")
    env = {name: value for name, value in os.environ.items() if name not in drop}
    if CROSS[kernel.arch]:
        env.update(ARCH=kernel.arch, CROSS_COMPILE=CROSS[kernel.arch])
    return env


def build_client(kernel, where, *flags):
    """Build the command-line client below tools/, its program in the directory `where`."""
    source = os.path.join(SRC, "tools", "procmap")
    tools = place(kernel, "tools")
    os.makedirs(os.path.join(tools, where), exist_ok=True)
    if not os.path.isdir(source):
        return
    work = os.path.join(tools, f"procmap-{where}")
    os.makedirs(work, exist_ok=True)
    say("CLIENT", rel(os.path.join(tools, where, "procmap")))
    logged(f"procmap-{where}", ["make", "-C", source, f"O={work}", f"-j{os.cpu_count()}",
                                f"KHDR_INCLUDES=-isystem {kernel.out}/usr/include", *flags],
           env=clean_environment(kernel))
    shutil.copy2(os.path.join(work, "procmap"), os.path.join(tools, where, "procmap"))


def make_clients(kernel):
    """One that is linked statically, for the initramfs; one with symbols, for the host's files."""
    build_client(kernel, "bin", "LDFLAGS=-static")
    if not CROSS[kernel.arch]:
        build_client(kernel, "host")


def make_initrd(kernel):
    init, initrd = place(kernel, "init"), place(kernel, "initrd.cpio")
    logged("init", [f"{CROSS[kernel.arch]}gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-o", init, os.path.join(QEMU, "init.c")])
    tool = os.path.join(BUILD, "gen_init_cpio")
    shutil.copy2(os.path.join(kernel.out, "usr", "gen_init_cpio"), tool)
    more = []
    if kernel.arch != "x86":
        busybox = place(kernel, "busybox")
        logged("busybox", [os.path.join(QEMU, "busybox.sh"), kernel.arch, busybox])
        more = ["--busybox", busybox]
    say("INITRD", rel(initrd))
    logged("initrd", ["python3", os.path.join(QEMU, "initrd.py"), "--gen-init-cpio", tool,
                      "--init", init, "--output", initrd, *more,
                      "--add", f"{place(kernel, 'kselftest')}=/kselftest",
                      "--add", f"{place(kernel, 'tools')}/bin=/bin"])


def command():
    kernel = Kernel(sys.argv[1] if len(sys.argv) > 1 else "plain")
    initrd, stamp = place(kernel, "initrd.cpio"), place(kernel, ".guest")
    with lock("guest"):
        wanted = key(kernel)
        if os.path.exists(stamp) and os.path.exists(initrd) and read(stamp) == wanted:
            say("INITRD", f"{rel(initrd)} is up to date")
            return
        make_headers(kernel)
        make_kselftest(kernel)
        make_clients(kernel)
        make_initrd(kernel)
        write(stamp, wanted)


if __name__ == "__main__":
    main(command)
