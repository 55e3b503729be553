#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compile what the series touches in every configuration of configs.table; CONFIGS="NAME..." chooses

One TAP case for each: the settings are as configs.table has them, and W=1 says nothing about our
files and nothing new about those that we change. A configuration takes one or two minutes on two
processors, allmodconfig five. A second run, with a warm ccache, takes a quarter of that.
"""

import os
import subprocess
import sys

import cases
from lint import Lint
from places import ROOT, SRC

import tree  # pylint: disable=wrong-import-order
from common import SRC_BASE, Failure, entries, read, write  # pylint: disable=wrong-import-order
from git import Repo  # pylint: disable=wrong-import-order
from kernel import symbols  # pylint: disable=wrong-import-order

TABLE = os.path.join(ROOT, "workshop", "checks", "configs.table")
# Files of architectures that are parts of larger objects, and the option that compiles each.
ARCH_FILES = {"arch/alpha/kernel/osf_sys.c": "CONFIG_ALPHA",
              "arch/x86/mm/pat/memtype.c": "CONFIG_X86",
              "arch/s390/mm/gmap.c": "CONFIG_PGSTE",
              "arch/powerpc/kvm/book3s_hv_uvmem.c": "CONFIG_PPC_UV",
              "arch/powerpc/mm/book3s64/subpage_prot.c": "CONFIG_PPC_SUBPAGE_PROT"}
# Architectures whose directory has another name, as in the Makefile of the kernel
SRCARCH = {"i386": "x86"}
# Lists of objects in the makefiles of the directories that we touch
LISTS = "$(obj-y) $(obj-m) $(lib-y) $(mmu-y) $(proc-y)"


class Config(Lint):
    """One line of the table, for the patched or for the unpatched tree."""

    def __init__(self, name, arch, origin, settings, base=False):
        super().__init__("base" if base else "plain", os.path.join("configs", name),
                         SRC_BASE if base else SRC)
        self.out += "-base" if base else ""
        self.name, self.arch, self.origin, self.settings = name, arch, origin, settings
        self.srcarch = SRCARCH.get(arch, arch)

    def prepare(self):
        """Returns which settings are not as the table has them."""
        fragment = os.path.join(self.out, "settings.config")
        write(fragment, "".join(f"CONFIG_{pair}\n" for pair in self.settings))
        if self.origin == "fragments":
            self.merge([*self.fragments(), fragment], log="configs")
        else:
            self.merge([fragment], self.origin, "configs")
        self.make("configs", "prepare")
        return self.wrong_settings([fragment])

    def sources(self, names):
        """Those of the files that this configuration compiles."""
        have = symbols(read(os.path.join(self.out, ".config")))
        by_directory = {}
        for name in names:
            by_directory.setdefault(os.path.dirname(name), []).append(name)
        found = []
        for directory, files in by_directory.items():
            if directory.startswith("arch/"):
                found += [name for name in files if directory.split("/")[1] == self.srcarch
                          and have.get(ARCH_FILES[name], "n") != "n"]
            elif directory != "fs/proc" or have.get("CONFIG_PROC_FS") == "y":
                objects = self.objects(directory)
                found += [name for name in files if os.path.basename(name)[:-2] + ".o" in objects]
        return found

    def objects(self, directory):
        """What the makefile of a directory lists under this configuration."""
        text = (f"include {self.out}/include/config/auto.conf\nsrctree := {self.src}\n"
                f"include {self.src}/{directory}/Makefile\n.PHONY: print-objects\n"
                f"print-objects:\n\t@echo {LISTS}\n")
        return set(cases.call("make", "-s", "-f", "-", "print-objects", f"SRCARCH={self.srcarch}",
                              input=text, check=True, cwd=self.out,
                              env={"PATH": os.environ["PATH"]}).stdout.split())


def table():
    """[(name, architecture, origin, settings)]."""
    return [(*line[:3], line[3:]) for line in map(str.split, entries(TABLE))]


def touched():
    """C files of the kernel that the series adds or changes, and whether each is new."""
    return {name: status == "A"
            for name, status in Repo(SRC).changes("refs/heads/base", "HEAD").items()
            if name.endswith(".c") and not name.startswith(("tools/", "samples/", "Documentation/"))}


def remarks_of(config, names):
    """What is wrong with one configuration, as text."""
    wrong = config.prepare()
    sources = config.sources(names)
    if wrong or not sources:
        return wrong or ["no file of ours is compiled"], sources
    found = config.remarks(sources, "W=1")
    if any(not names.get(name, False) for name, _ in found):
        tree.make_base()
        base = Config(config.name, config.arch, config.origin, config.settings, base=True)
        base.prepare()
        found -= base.remarks(base.sources([name for name in sources if not names[name]]), "W=1")
    return [f"{name}: {text}" for name, text in sorted(found)], sources


def run(report, line, names):
    try:
        wrong, sources = remarks_of(Config(*line), names)
    except (Failure, subprocess.CalledProcessError) as failure:
        wrong, sources = [str(failure)], []
    report.case(not wrong, f"{line[0]} ({line[1]}): {len(sources)} files", "\n".join(wrong))


def main():
    lines, wanted = table(), os.environ.get("CONFIGS", "").split()
    unknown = set(wanted) - {line[0] for line in lines}
    if unknown:
        sys.exit(f"error: {TABLE} has no {', '.join(sorted(unknown))}; it has "
                 + ", ".join(line[0] for line in lines))
    lines = [line for line in lines if not wanted or line[0] in wanted]
    names = touched()
    missing = [name for name in names if name.startswith("arch/") and name not in ARCH_FILES]
    if missing:
        sys.exit(f"error: say in {__file__} when these are built: {' '.join(missing)}")
    report = cases.Report()
    for line in lines:
        run(report, line, names)
    sys.exit(report.end())


if __name__ == "__main__":
    main()
