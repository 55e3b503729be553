#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The documentation: pages build as `make htmldocs` would, man pages are clean. Results as TAP.

Only the pages that the series adds or changes are built, with the kernel's own configuration of
Sphinx: all of the documentation takes an hour. Remarks of Sphinx about the pages of the base do not
count.
"""

import collections
import glob
import os
import re
import shutil
import sys

import cases
from places import BASE, BUILD, ROOT, SRC
from common import read, write  # pylint: disable=wrong-import-order
from git import Repo  # pylint: disable=wrong-import-order

DOCS = os.path.join(BUILD, "docs")

# Those of Debian; another python3 in PATH would not find their modules.
SPHINX = "/usr/bin/sphinx-build"
PYTHON = "/usr/bin/python3"
MAN = ("Documentation/man/*", "tools/procmap/*.[1-8]")


def pages(repo):
    """The pages that the series adds or changes; index pages name many that are not built here."""
    found = repo.changes("refs/heads/base", "HEAD", "*.rst")
    names = [name for name in found if not name.endswith("/index.rst")]
    return names, [name for name in names if found[name] == "A"]


def plant(repo, commit, names, where):
    """A small Documentation/ of these pages as they are in a commit, and no others."""
    shutil.rmtree(os.path.join(where, "Documentation"), ignore_errors=True)
    for name in names:
        write(os.path.join(where, name), repo.run("show", f"{commit}:{name}")[1].decode())
    toctree = [f"   {name[len('Documentation/'):-len('.rst')]}" for name in names]
    write(os.path.join(where, "Documentation", "index.rst"),
          "\n".join(["Pages", "=====", "", ".. toctree::", "", *toctree, ""]))
    samples = os.path.join(where, "samples")
    if not os.path.islink(samples):
        os.symlink(os.path.join(SRC, "samples"), samples)


def remarks(where):
    """{text: count} of what Sphinx says, without line numbers; None in it means that it failed."""
    env = dict(os.environ, srctree=SRC, BUILDDIR=where, PYTHONDONTWRITEBYTECODE="1")
    result = cases.call(
        SPHINX, "-E", "-q", "-b", "html", "-c", os.path.join(SRC, "Documentation"),
        "-D", f"version={BASE}", "-D", f"release={BASE}", "-D", f"kerneldoc_srctree={SRC}",
        "-D", f"kerneldoc_bin={SRC}/scripts/kernel-doc", "-d", os.path.join(where, "doctrees"),
        os.path.join(where, "Documentation"), os.path.join(where, "html"), cwd=where, env=env)
    found = collections.Counter()
    for line in result.stderr.splitlines():
        # Without line numbers: they differ where text was added above
        found[re.sub(r":\d+: ", ": ", line.replace(where, ""))] += 1
    if result.returncode:
        found[None] += 1
    return found


def check_pages(report):
    repo = Repo(SRC)
    names, added = pages(repo)
    old = [name for name in names if name not in added]
    ours, base = os.path.join(DOCS, "patched"), os.path.join(DOCS, "base")
    plant(repo, "HEAD", names, ours)
    plant(repo, "refs/heads/base", old, base)
    new = remarks(ours) - remarks(base)
    report(not new, f"{len(names)} pages build without a new remark", "\n".join(map(str, new)))
    for name in added:
        index, page = os.path.join(os.path.dirname(name), "index.rst"), os.path.basename(name)[:-4]
        text = repo.run("show", f"HEAD:{index}")[1].decode()
        report(re.search(rf"^   {page}$", text, re.M), f"{index} names {page}")


def check_papers(report):
    """docutils has no remarks about the papers of this repository."""
    for path in sorted(glob.glob(os.path.join(ROOT, "workshop", "*.rst"))):
        result = cases.call(PYTHON, "-m", "docutils", path, os.devnull)
        report(result.returncode == 0 and not result.stderr, os.path.basename(path), result.stderr)


def check_man(report):
    """mandoc and groff have no remarks, and the page as a reader sees it is not empty."""
    for path in sorted(sum((glob.glob(os.path.join(ROOT, pattern)) for pattern in MAN), [])):
        name = os.path.basename(path)
        alias = re.search(r"^\.so man\w+/(\S+)$", read(path), re.M)
        if alias:
            report(os.path.exists(os.path.join(os.path.dirname(path), alias.group(1))),
                   f"{name} is an alias")
            continue
        lint = cases.call("mandoc", "-Tlint", path)
        report(lint.returncode == 0 and not lint.stdout, f"mandoc -Tlint {name}", lint.stdout)
        man = cases.call("man", "--warnings=w", "-l", path,
                         env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8"))
        sections = re.findall(r"^[A-Z][A-Z ]+$", man.stdout, re.M)
        report(man.returncode == 0 and not man.stderr and "EXAMPLES" in sections and
               {"ERRORS", "EXIT STATUS"} & set(sections), f"man -l {name}", man.stderr)


def main():
    report = cases.Report()
    check_pages(report.case)
    check_papers(report.case)
    check_man(report.case)
    sys.exit(report.end())


if __name__ == "__main__":
    main()
