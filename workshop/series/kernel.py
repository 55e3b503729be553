#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make kernel: build/<base>/<variant>/bzImage from the tree and the configuration fragments."""

import hashlib
import os
import re
import shutil
import subprocess
import sys

import base
import tree
from common import (BUILD, PATCHES, ROOT, SRC, SRC_BASE, Failure, lock, logged, main, need_space, read,
                    rel, say, write)
from git import Repo

CONFIGS = os.path.join(ROOT, "workshop", "qemu", "configs")
# What each variant merges over the plain configuration: a fragment of its own
VARIANTS = ("plain", "base", "debug", "kcsan", "arm64", "nolock", "up", "preempt", "profiler",
            "base-profiler")
# Built of the tree without patches
UNPATCHED = ("base", "base-profiler")
# Megabytes
SPACE = {"debug": 1500, "kcsan": 800, "profiler": 1500, "base-profiler": 1500}
# Prefix of the tools, and the image that kbuild makes
CROSS = {"x86": "", "i386": "", "um": "", "arm64": "aarch64-linux-gnu-",
         "riscv": "riscv64-linux-gnu-",
         "s390": "s390x-linux-gnu-", "powerpc": "powerpc64le-linux-gnu-"}
IMAGE = {"x86": "bzImage", "arm64": "Image"}
# What no kernel is built of
NOT_BUILT = ("Documentation", "LICENSES", "MAINTAINERS", "samples", "tools")
SYMBOL = re.compile(r"^(?:(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set)$")


def symbols(text):
    """The settings of a configuration file; `not set` is n."""
    found = {}
    for line in text.splitlines():
        match = SYMBOL.match(line.strip())
        if match:
            found[match.group(1) or match.group(3)] = match.group(2) if match.group(1) else "n"
    return found


def compiler_version(arch):
    """What the compiler says of itself; nothing if it is not installed yet."""
    compiler = shutil.which(f"{CROSS[arch]}gcc")
    return subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout \
        if compiler else b""


def clean_environment(arch):
    """The environment without what our own make left there for its children."""
    drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KSRC", "VARIANT", "BASE", "O", "OUTPUT", "T")
    env = {name: value for name, value in os.environ.items() if name not in drop}
    if CROSS[arch]:
        env.update(ARCH=arch, CROSS_COMPILE=CROSS[arch])
    return env


class Kernel:
    """One variant's build directory."""

    def __init__(self, variant):
        if variant not in VARIANTS:
            raise Failure(f"unknown VARIANT={variant}; there are {', '.join(VARIANTS)}")
        self.variant = variant
        self.out = os.path.join(BUILD, variant)
        self.src = SRC_BASE if variant in UNPATCHED else SRC
        self.arch = "arm64" if variant == "arm64" else "x86"
        self.image = os.path.join(self.out, "bzImage")
        self.stamp = os.path.join(self.out, ".built")

    def fragments(self):
        """The fragments to merge; a tree without patches has no symbols of patched.config."""
        repo = Repo(SRC)
        plain = self.variant in UNPATCHED or repo.ref("HEAD") == repo.ref("refs/heads/base") or \
            base.stands_alone()
        more = self.variant.removeprefix("base-")
        names = ["plain", *([] if plain else ["patched"]),
                 *([] if more in ("plain", "base") else [more])]
        own = [os.path.join(PATCHES, name) for name in ("config", f"config.{self.variant}")]
        return [os.path.join(CONFIGS, f"{name}.config") for name in names] + \
            [path for path in own if os.path.exists(path)]

    def make(self, log, *targets):
        env = dict(clean_environment(self.arch), KBUILD_BUILD_TIMESTAMP="1970-01-01",
                   KBUILD_BUILD_USER="procmap", KBUILD_BUILD_HOST="build", LOCALVERSION="",
                   ARCH=self.arch, CROSS_COMPILE=CROSS[self.arch])
        env.setdefault("CCACHE_BASEDIR", BUILD)
        env.setdefault("CCACHE_NOHASHDIR", "1")
        cache = [f"CC=ccache {CROSS[self.arch]}gcc", "HOSTCC=ccache gcc"] \
            if shutil.which("ccache") else []
        jobs = f"-j{os.cpu_count() or 1}"
        logged(f"{log}-{self.variant}",
               ["make", "-C", self.src, f"O={self.out}", jobs, *cache, *targets], env=env)

    def key(self, fragments):
        """A key that changes with what the kernel is built of, the configuration or the compiler."""
        commit = "refs/heads/base" if self.variant in UNPATCHED else None
        digest = hashlib.sha256(Repo(SRC).digest(but=NOT_BUILT, commit=commit).encode())
        for path in fragments:
            digest.update(read(path, "rb"))
        digest.update(compiler_version(self.arch))
        return digest.hexdigest()

    def merge(self, fragments, origin="tinyconfig", log="config"):
        os.makedirs(self.out, exist_ok=True)
        self.make(log, origin)
        # It has temporary files in the current directory.
        logged(f"{log}-merge-{self.variant}",
               [os.path.join(self.src, "scripts/kconfig/merge_config.sh"), "-m", "-O", self.out,
                os.path.join(self.out, ".config"), *fragments],
               env=dict(os.environ, ARCH=self.arch), cwd=self.out)
        self.make(log, "olddefconfig")

    def wrong_settings(self, fragments):
        """Which symbols are not as the fragments have them, in words."""
        wanted = {}
        for path in fragments:
            wanted.update(symbols(read(path)))
        have = symbols(read(os.path.join(self.out, ".config")))
        return [f"{name}={value} (is {have.get(name, 'n')})"
                for name, value in wanted.items() if have.get(name, "n") != value]

    def configure(self, fragments):
        """tinyconfig + fragments; every symbol must end up as the fragments have it."""
        say("CONFIG", f"{rel(self.out)}/.config: tinyconfig + "
            + " + ".join(os.path.basename(path) for path in fragments))
        self.merge(fragments)
        wrong = self.wrong_settings(fragments)
        if wrong:
            raise Failure(f"{len(wrong)} symbols of {rel(CONFIGS)} did not come out as asked for: "
                          + ", ".join(wrong))

    def build(self):
        fragments = self.fragments()
        key = self.key(fragments)
        if os.path.exists(self.image) and os.path.exists(self.stamp) and read(self.stamp) == key:
            say("KERNEL", f"{rel(self.image)} is up to date")
            return
        if not os.path.exists(self.image):
            need_space(BUILD, SPACE.get(self.variant, 400))
        self.configure(fragments)
        say("KERNEL", f"{rel(self.image)}")
        image = IMAGE[self.arch]
        self.make("kernel", image)
        write(self.image, read(os.path.join(self.out, "arch", self.arch, "boot", image), "rb"))
        write(self.stamp, key)


def command():
    kernel = Kernel(sys.argv[1] if len(sys.argv) > 1 else "plain")
    if kernel.variant in UNPATCHED:
        tree.make_base()
    else:
        tree.make_tree()
    with lock(f"kernel-{kernel.variant}"):
        kernel.build()


if __name__ == "__main__":
    main(command)
