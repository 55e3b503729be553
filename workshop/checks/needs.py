# SPDX-License-Identifier: GPL-2.0
"""What parts need: how it is made, and a key that changes when what it is made of does.

tree		the patched source tree, as it is
code		the same, for parts that depend on all that a kernel is built of
kernel:VARIANT	build/BASE/VARIANT/bzImage
guest:VARIANT	headers, kselftests, client and initramfs for the architecture of that kernel; parts
		say by their inputs which of the tests they depend on
mails		`make series`
perf		`make perf`
deb		`make deb`
"""

import hashlib
import os
import subprocess
import sys

from places import PATCHES, ROOT, SRC
import deb  # pylint: disable=wrong-import-order
import guest  # pylint: disable=wrong-import-order
import kernel  # pylint: disable=wrong-import-order
import perf  # pylint: disable=wrong-import-order
from common import read  # pylint: disable=wrong-import-order
from git import Repo  # pylint: disable=wrong-import-order
from series import repository_files  # pylint: disable=wrong-import-order

SERIES = "workshop/series"
# Packages for what is made; guest and perf also run a compiler.
PACKAGES = {"tree": ("tree", "base"), "code": ("tree", "base"), "mails": ("tree", "base"),
            "kernel": ("kernel",), "deb": ("kernel", "deb"), "guest": ("kernel", "guest"),
            "perf": ("perf",)}


def kind(need):
    """What is before the colon, and what comes after it."""
    name, _, variant = need.partition(":")
    return name, variant or "plain"


def packages(need):
    name, variant = kind(need)
    more = (variant,) if variant in ("arm64", "profiler") and name in ("kernel", "guest") else ()
    return (*PACKAGES[name], *more)


def command(need):
    """What makes it; None if the tree is enough."""
    name, variant = kind(need)
    scripts = {"kernel": ("kernel.py", variant), "guest": ("guest.py", variant),
               "mails": ("emit.py",), "perf": ("perf.py",), "deb": ("deb.py",)}
    return ("python3", f"{SERIES}/{scripts[name][0]}", *scripts[name][1:]) if name in scripts else None


def run_packages(groups):
    """Install what is missing; packages.sh says itself what it cannot do."""
    result = subprocess.run([os.path.join(ROOT, SERIES, "packages.sh"), *dict.fromkeys(groups)],
                            cwd=ROOT, check=False)
    if result.returncode:
        sys.exit(result.returncode)


class Keys:
    """Keys of needs and of parts; the tree must have been made."""

    def __init__(self):
        self.files = repository_files("--cached", "--others", "--exclude-standard")
        self.needs = {}
        self.digests = {}

    def need(self, need):
        if need not in self.needs:
            self.needs[need] = self.key_of(*kind(need))
        return self.needs[need]

    @staticmethod
    def key_of(name, variant):
        repo = Repo(SRC)
        if name == "tree":
            return hashlib.sha256(read(os.path.join(PATCHES, "base"), "rb")).hexdigest()
        if name == "code":
            return repo.digest(but=kernel.NOT_BUILT)
        if name in ("kernel", "deb"):
            image = kernel.Kernel(variant) if name == "kernel" else deb.Packaged()
            return image.key(image.fragments())
        if name == "guest":
            return guest.Guest(variant).key("headers")
        return perf.key() if name == "perf" else repo.out("rev-parse", "HEAD")

    def digest(self, name):
        """Of the content of a file of this repository."""
        if name not in self.digests:
            path = os.path.join(ROOT, name)
            content = os.readlink(path).encode() if os.path.islink(path) else read(path, "rb")
            self.digests[name] = hashlib.sha256(content).hexdigest()
        return self.digests[name]

    def part(self, part):
        """Of all that decides the result of a part."""
        names = [name for name in self.files
                 if any(top in (".", name) or name.startswith(f"{top}/") for top in part.inputs)]
        lines = [repr(part.command), *(self.need(need) for need in part.needs),
                 *(f"{name} {self.digest(name)}" for name in names)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()
