#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make initrd: user headers, kselftests, the client, and the test machine's initramfs."""

import hashlib
import os
import shutil
import stat
import subprocess

from common import BUILD, ROOT, SRC, lock, logged, main, read, rel, say, write
from git import Repo
from kernel import Kernel

QEMU = os.path.join(ROOT, "tools", "testing", "qemu")
SELFTESTS = ("procmap", "process_vm")
KSELFTEST = os.path.join(BUILD, "kselftest")
TOOLS = os.path.join(BUILD, "tools")
INITRD = os.path.join(BUILD, "initrd.cpio")
STAMP = os.path.join(BUILD, ".guest")


def digest_of(*directories):
    """Changes when a file below one of the directories does."""
    digest = hashlib.sha256()
    for directory in directories:
        for where, names, files in os.walk(directory):
            names.sort()
            for name in sorted(files):
                path = os.path.join(where, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    digest.update(path.encode() + b"\0" + read(path, "rb"))
    return digest


def key():
    """Everything that the image is made from."""
    repo = Repo(SRC)
    digest = digest_of(QEMU)
    digest.update(repo.out("rev-parse", "HEAD^{tree}").encode())
    digest.update(repo.run("diff", "HEAD")[1])
    digest.update(read(os.path.abspath(__file__), "rb"))
    digest.update(subprocess.run(["gcc", "--version"], capture_output=True, check=True).stdout)
    return digest.hexdigest()


def make_headers(kernel):
    say("HEADERS", rel(os.path.join(kernel.out, "usr/include")))
    kernel.make("headers", "headers")


def make_kselftest(kernel):
    """Build and install those of our kselftests that the tree has."""
    shutil.rmtree(KSELFTEST, ignore_errors=True)
    selftests = os.path.join(SRC, "tools/testing/selftests")
    targets = [name for name in SELFTESTS if os.path.isdir(os.path.join(selftests, name))]
    say("TESTS", f"{rel(KSELFTEST)}: {' '.join(targets) or 'none in the series yet'}")
    if not targets:
        os.makedirs(KSELFTEST)
        return
    logged("kselftest", ["make", "-C", selftests, f"O={kernel.out}", f"-j{os.cpu_count()}",
                         f"TARGETS={' '.join(targets)}", "FORCE_TARGETS=1",
                         f"KSFT_INSTALL_PATH={KSELFTEST}", "install"], env=clean_environment())


def clean_environment():
    """Without what our own make left there for its children."""
    drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KSRC", "VARIANT", "O", "OUTPUT")
    return {name: value for name, value in os.environ.items() if name not in drop}


def make_client(kernel):
    """The command-line client, statically linked for the initramfs."""
    source = os.path.join(SRC, "tools", "procmap")
    os.makedirs(os.path.join(TOOLS, "bin"), exist_ok=True)
    if not os.path.isdir(source):
        return
    work = os.path.join(TOOLS, "procmap")
    os.makedirs(work, exist_ok=True)
    say("CLIENT", rel(os.path.join(TOOLS, "bin", "procmap")))
    logged("procmap", ["make", "-C", source, f"O={work}", f"-j{os.cpu_count()}",
                       f"KHDR_INCLUDES=-isystem {kernel.out}/usr/include", "LDFLAGS=-static"],
           env=clean_environment())
    shutil.copy2(os.path.join(work, "procmap"), os.path.join(TOOLS, "bin", "procmap"))


def make_initrd(kernel):
    init = os.path.join(BUILD, "init")
    logged("init", ["gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror", "-o", init,
                    os.path.join(QEMU, "init.c")])
    tool = os.path.join(BUILD, "gen_init_cpio")
    shutil.copy2(os.path.join(kernel.out, "usr", "gen_init_cpio"), tool)
    say("INITRD", rel(INITRD))
    logged("initrd", ["python3", os.path.join(QEMU, "initrd.py"), "--gen-init-cpio", tool,
                      "--init", init, "--output", INITRD, "--add", f"{KSELFTEST}=/kselftest",
                      "--add", f"{TOOLS}/bin=/bin"])


def command():
    with lock("guest"):
        wanted = key()
        if os.path.exists(STAMP) and os.path.exists(INITRD) and read(STAMP) == wanted:
            say("INITRD", f"{rel(INITRD)} is up to date")
            return
        kernel = Kernel("plain")
        make_headers(kernel)
        make_kselftest(kernel)
        make_client(kernel)
        make_initrd(kernel)
        write(STAMP, wanted)


if __name__ == "__main__":
    main(command)
