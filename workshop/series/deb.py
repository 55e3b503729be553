#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make deb: the kernel, its headers, procmap and its library as Debian packages in build/<base>/deb.

The configuration is that of Debian's cloud flavour, of the package linux-config-<base>.
"""

import glob
import lzma
import os
import shutil

import guest
import tree
from common import (BASE, BUILD, ROOT, SRC, Failure, lock, logged, main, need_space, notice, read, rel,
                    say, write)
from kernel import CONFIGS, Kernel, compiler_version, symbols

OUT = os.path.join(BUILD, "deb")
DEBIAN = f"/usr/src/linux-config-{BASE}/config.amd64_none_cloud-amd64.xz"
RECIPE = os.path.join(ROOT, "workshop", "debian")
# Megabytes: with debugging information, of which the types for BPF are made
SPACE = 16000


def made(prefix, stamp, key):
    """Is the package there, and made of what there is now?"""
    return os.path.exists(stamp) and read(stamp) == key and \
        glob.glob(os.path.join(OUT, f"{prefix}*.deb"))


class Packaged(Kernel):
    """A kernel that is made of Debian's configuration, and packed by the kernel's own makefiles."""

    def __init__(self):
        super().__init__("plain")
        self.variant, self.out = "deb", os.path.join(OUT, "kernel")
        self.stamp = os.path.join(OUT, ".kernel")

    def fragments(self):
        """Debian's configuration, if its package is installed already, and ours over it."""
        return [*([DEBIAN] if os.path.exists(DEBIAN) else []), os.path.join(CONFIGS, "deb.config")]

    def configure(self, fragments):
        if fragments[0] != DEBIAN:
            raise Failure(f"{DEBIAN} is missing; install the package linux-config-{BASE}")
        origin, mine = fragments
        say("CONFIG", f"{rel(self.out)}/.config: {origin} + {os.path.basename(mine)}")
        os.makedirs(self.out, exist_ok=True)
        debian = lzma.decompress(read(origin, "rb")).decode()
        write(os.path.join(self.out, ".config"), debian + read(mine))
        self.make("config", "olddefconfig")
        wrong = self.wrong_settings([mine])
        if wrong:
            raise Failure("not as asked for: " + ", ".join(wrong))
        have = symbols(read(os.path.join(self.out, ".config")))
        other = sorted(name for name, value in symbols(debian).items()
                       if have.get(name, "n") != value and
                       name not in ("CONFIG_CC_VERSION_TEXT", *symbols(read(mine))))
        if other:
            notice(f"{len(other)} symbols are not as Debian has them: {' '.join(other)}")

    def build(self):
        fragments = self.fragments()
        key = self.key(fragments)
        if made("linux-image-", self.stamp, key):
            say("DEB", f"the kernel's packages in {rel(OUT)} are up to date")
            return
        if not os.path.exists(os.path.join(self.out, "vmlinux")):
            need_space(BUILD, SPACE)
        self.configure(fragments)
        for path in glob.glob(os.path.join(OUT, "linux-*")):
            os.unlink(path)
        say("DEB", f"the kernel's packages in {rel(OUT)}: an hour or two the first time")
        os.environ.update(KDEB_COMPRESS="zstd", KDEB_CHANGELOG_DIST="unstable",
                          DEBFULLNAME="procmap", DEBEMAIL="procmap@localhost")
        self.make("kernel", "bindeb-pkg")
        write(self.stamp, key)


def client():
    """procmap and its library, by debhelper."""
    sources = [os.path.join(SRC, name) for name in ("tools/procmap", "Documentation/man")]
    stamp, work = os.path.join(OUT, ".procmap"), os.path.join(OUT, "procmap")
    key = guest.digest_of(RECIPE, *sources) + compiler_version("x86").decode()
    if made("procmap_", stamp, key):
        say("DEB", "procmap and its library are up to date")
        return
    say("DEB", "procmap and its library")
    shutil.rmtree(work, ignore_errors=True)
    for source in sources:
        shutil.copytree(source, os.path.join(work, os.path.relpath(source, SRC)))
    shutil.copytree(RECIPE, os.path.join(work, "debian"))
    # `make check` has the tests of the client.
    logged("procmap-deb", ["dpkg-buildpackage", "--build=binary", "--no-sign"], cwd=work,
           env=dict(guest.clean_environment("x86"), DEB_BUILD_OPTIONS="nocheck noautodbgsym"))
    write(stamp, key)


def command():
    tree.make_tree()
    with lock("deb"):
        client()
        Packaged().build()
    for path in sorted(glob.glob(os.path.join(OUT, "*.deb"))):
        print(f"          {rel(path)}")


if __name__ == "__main__":
    main(command)
