#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make initrd: user headers, kselftests, the client, and the test machine's initramfs.

usage: guest.py [VARIANT]; the architecture is that of the variant of the kernel (default plain)

None of it needs a kernel that is built. Each step is done again only if what it is made of changes.
"""

import hashlib
import os
import shutil
import stat
import sys

import base
import initrd
from common import BUILD, PATCHES, ROOT, SRC, lock, logged, main, read, rel, say, write
from git import Repo
from initrd import BUSYBOX, QEMU
from kernel import CROSS, Kernel, clean_environment, compiler_version

ALONE = base.stands_alone()
SELFTESTS = base.values("tests") or \
    ("procmap", *(f"procmap/{name}" for name in ("bench", "buildid", "fuzz", "torture", "wait")), "process_vm")
# What each step is made of, in the kernel tree
HEADERS = ("Makefile", "arch/arm64/include/uapi", "arch/x86/entry/syscalls", "arch/x86/include/uapi",
           "include/uapi", "scripts")
TESTS = ("tools/testing/selftests/Makefile", "tools/testing/selftests/kselftest",
         "tools/testing/selftests/kselftest.h", "tools/testing/selftests/kselftest_harness.h",
         "tools/testing/selftests/kselftest_install.sh", "tools/testing/selftests/lib.mk",
         "tools/testing/selftests/run_kselftest.sh",
         *(f"tools/testing/selftests/{name}" for name in SELFTESTS if "/" not in name))
# A base that stands alone has no client: its machine takes that of this repository.
CLIENT = os.path.join(ROOT if ALONE else SRC, "tools/procmap")
# What measures the calls that its patches change
COST = os.path.join(PATCHES, "cost.c")


def digest_of(*directories):
    """A key that changes when a file below one of the directories does."""
    digest = hashlib.sha256()
    for directory in directories:
        for where, names, files in os.walk(directory):
            names[:] = sorted(name for name in names if name != "__pycache__")
            for name in sorted(files):
                path = os.path.join(where, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    digest.update(path.encode() + b"\0" + read(path, "rb"))
    return digest.hexdigest()


def install_tests(src, out, installed, targets, arch="x86"):
    """Build what has changed of the kselftests of a tree, linked statically, and install all."""
    logged(f"kselftest-{arch}",
           ["make", "-C", os.path.join(src, "tools/testing/selftests"), f"O={out}",
            f"-j{os.cpu_count()}", f"TARGETS={' '.join(targets)}", "FORCE_TARGETS=1",
            "USERLDFLAGS=-static", f"KSFT_INSTALL_PATH={installed}", "install"],
           env=clean_environment(arch))


class Guest:
    """What the test machine of one architecture needs beside its kernel."""

    def __init__(self, variant):
        self.kernel = Kernel(variant)
        self.arch = self.kernel.arch
        self.suffix = "" if self.arch == "x86" else f"-{self.arch}"
        self.out = self.kernel.out = os.path.join(BUILD, f"user{self.suffix}")
        self.keys = {}

    def place(self, name):
        stem, suffix = os.path.splitext(name)
        return os.path.join(BUILD, f"{stem}{self.suffix}{suffix}")

    def key(self, step):
        """What a step is made of, all that came before it included."""
        if not self.keys:
            repo = Repo(SRC)
            here = [read(os.path.join(ROOT, "workshop", "series", name), "rb")
                    for name in ("guest.py", "initrd.py", "kernel.py")]
            common = hashlib.sha256(b"".join([*here, compiler_version(self.arch)])).hexdigest()
            headers = common + repo.digest(*HEADERS)
            cost = base.hash_file(COST) if os.path.exists(COST) else ""
            self.keys = {"headers": headers, "kselftest": headers + repo.digest(*TESTS),
                         "client": headers + digest_of(CLIENT) + cost}
            self.keys["initrd"] = "".join(self.keys.values()) + digest_of(QEMU)
        return hashlib.sha256(self.keys[step].encode()).hexdigest()

    def step(self, name, result, make):
        """Do a step unless it was done with what there is now; returns whether it was done."""
        stamp, wanted = os.path.join(self.out, f".{name}"), self.key(name)
        if os.path.exists(result) and os.path.exists(stamp) and read(stamp) == wanted:
            return False
        os.makedirs(self.out, exist_ok=True)
        if os.path.exists(stamp):
            os.unlink(stamp)
        make()
        write(stamp, wanted)
        return True

    def make_headers(self):
        say("HEADERS", rel(os.path.join(self.out, "usr/include")))
        self.kernel.make("headers", "headers")

    def make_kselftest(self):
        """Build what has changed of our kselftests, and install all, as far as the tree has them."""
        installed = self.place("kselftest")
        shutil.rmtree(installed, ignore_errors=True)
        selftests = os.path.join(SRC, "tools/testing/selftests")
        targets = [name for name in SELFTESTS if os.path.isdir(os.path.join(selftests, name))]
        say("TESTS", f"{rel(installed)}: {' '.join(targets) or 'none in the series yet'}")
        if not targets:
            os.makedirs(installed)
            return
        install_tests(SRC, self.out, installed, targets, self.arch)

    def make_client(self):
        program = os.path.join(self.place("tools"), "bin", "procmap")
        os.makedirs(os.path.dirname(program), exist_ok=True)
        if not os.path.isdir(CLIENT):
            return
        work = os.path.join(self.place("tools"), "procmap")
        os.makedirs(work, exist_ok=True)
        say("CLIENT", rel(program))
        logged(f"procmap{self.suffix}",
               ["make", "-C", CLIENT, f"O={work}", f"-j{os.cpu_count()}", "LDFLAGS=-static",
                f"KHDR_INCLUDES=-isystem {self.out}/usr/include"], env=clean_environment(self.arch))
        shutil.copy2(os.path.join(work, "procmap"), program)
        if os.path.exists(COST):
            logged("cost", ["gcc", "-static", "-O2", "-Wall", "-Werror",
                            f"-isystem{self.out}/usr/include", COST, "-o",
                            os.path.join(os.path.dirname(program), "cost")])

    def make_initrd(self):
        init, image = self.place("init"), self.place("initrd.cpio")
        logged("init", [f"{CROSS[self.arch]}gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror",
                        "-o", init, os.path.join(QEMU, "init.c")])
        tool = os.path.join(BUILD, "gen_init_cpio")
        logged("gen_init_cpio", ["gcc", "-O2", "-o", tool, os.path.join(SRC, "usr/gen_init_cpio.c")])
        busybox = BUSYBOX
        if self.arch != "x86":
            busybox = self.place("busybox")
            logged("busybox", [os.path.join(QEMU, "busybox.sh"), self.arch, busybox])
        say("INITRD", rel(image))
        initrd.make(image, tool, init, {"/kselftest": self.place("kselftest"),
                                        "/bin": f"{self.place('tools')}/bin"}, busybox)

    def make(self):
        image = self.place("initrd.cpio")
        self.step("headers", os.path.join(self.out, "usr/include"), self.make_headers)
        self.step("kselftest", self.place("kselftest"), self.make_kselftest)
        self.step("client", self.place("tools"), self.make_client)
        if not self.step("initrd", image, self.make_initrd):
            say("INITRD", f"{rel(image)} is up to date")


def command():
    guest = Guest(sys.argv[1] if len(sys.argv) > 1 else "plain")
    with lock(f"guest{guest.suffix}"):
        guest.make()


if __name__ == "__main__":
    main(command)
