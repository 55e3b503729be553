#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make perf: build/<base>/perf/perf, from tools/perf of the tree."""

import hashlib
import os
import shutil

import kernel
import tree
from common import BUILD, SRC, lock, logged, main, need_space, read, rel, say, write
from git import Repo

OUT = os.path.join(BUILD, "perf")
PERF = os.path.join(OUT, "perf")
STAMP = os.path.join(OUT, ".built")
# What needs packages that few people have, and recording and reports can do without. So the program
# has the same features everywhere.
WITHOUT = ("GTK2", "JVMTI", "LIBAUDIT", "LIBBABELTRACE", "LIBBPF", "LIBCAP", "LIBCRYPTO", "LIBLLVM",
           "LIBNUMA", "LIBPERL", "LIBPFM4", "LIBPYTHON", "LIBUNWIND", "LIBZSTD", "LZMA", "RUST", "SDT",
           "SHELLCHECK", "SLANG")
SOURCES = ("arch", "include", "tools/arch", "tools/build", "tools/include", "tools/lib", "tools/perf",
           "tools/scripts")
SPACE = 400


def key():
    """A key that changes with what perf is built of, the options or the compiler."""
    digest = hashlib.sha256(Repo(SRC).digest(*SOURCES).encode())
    digest.update(" ".join(WITHOUT).encode() + kernel.compiler_version("x86"))
    return digest.hexdigest()


def build():
    now = key()
    if os.path.exists(PERF) and os.path.exists(STAMP) and read(STAMP) == now:
        say("PERF", f"{rel(PERF)} is up to date")
        return
    if not os.path.exists(PERF):
        need_space(BUILD, SPACE)
    say("PERF", rel(PERF))
    os.makedirs(OUT, exist_ok=True)
    compiler = ["CC=ccache gcc"] if shutil.which("ccache") else []
    logged("perf", ["make", "-C", os.path.join(SRC, "tools", "perf"), f"O={OUT}",
                    f"-j{os.cpu_count() or 1}", *(f"NO_{name}=1" for name in WITHOUT), *compiler],
           env=kernel.clean_environment("x86"))
    write(STAMP, now)


def command():
    tree.make_tree()
    with lock("perf"):
        build()


if __name__ == "__main__":
    main(command)
