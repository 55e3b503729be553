# SPDX-License-Identifier: GPL-2.0
"""Compile single files to see what the compiler and sparse say about them."""

import collections
import os
import re

from places import BUILD, LOGS

from kernel import Kernel  # pylint: disable=wrong-import-order

WARNING = re.compile(r"^(?:\S*/src(?:-base)?/|\.\./)?(\S+?):\d+(?::\d+)?: (warning|error): (.*)$")


class Lint(Kernel):
    """A build directory of its own, so that W=1 does not make the real ones rebuild."""

    def __init__(self, variant, name, src):
        super().__init__(variant)
        self.out, self.src = os.path.join(BUILD, name), src

    def prepare(self):
        self.configure(self.fragments())
        self.make(f"{os.path.basename(self.out)}-prepare", "prepare")

    def remarks(self, sources, *how):
        """{(file, text): count} of what sparse and the compiler say about the sources."""
        objects = [f"{name[:-2]}.o" for name in sources]
        for name in objects:
            if os.path.exists(os.path.join(self.out, name)):
                os.unlink(os.path.join(self.out, name))
        log = os.path.basename(self.out)
        self.make(log, *(how or ("C=2", "W=1", "CF=")), *objects)
        found = collections.Counter()
        with open(os.path.join(LOGS, f"{log}-{self.variant}.log"), encoding="utf-8",
                  errors="replace") as lines:
            for line in lines:
                match = WARNING.match(line.rstrip("\n"))
                if match:
                    found[os.path.normpath(match.group(1)), match.group(3)] += 1
        return found
