#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks that need kernel trees; usage: code.py checkpatch|warnings|commits.

checkpatch  every patch of `make series` passes checkpatch.pl --strict without a remark
warnings    sparse and W=1 say nothing about our files, and nothing new about those we change
commits     every commit of the series builds, with the configuration of the plain kernel; one of
            patches that stand alone boots, too, and passes the tests of its tree
"""

import glob
import hashlib
import os
import re
import shutil
import sys

import cases
from lint import Lint
from places import BASE, BUILD, PATCHES, ROOT, SRC

import tree  # pylint: disable=wrong-import-order
from base import stands_alone, values  # pylint: disable=wrong-import-order
from common import SRC_BASE, Failure, default_base, logged, read, write  # pylint: disable=wrong-import-order
from git import Repo  # pylint: disable=wrong-import-order
from guest import install_tests  # pylint: disable=wrong-import-order

# What a commit of the series can break most easily, apart from the files that the series changes.
# Nearly every commit changes a header that all files include, so a test run cannot build all of the
# kernel for each commit. It builds all of it at the end of the series.
DIRECTORIES = ["mm/", "fs/proc/"]


# The history of the tree here begins with its base: it cannot look up what Fixes: names. And a new
# file needs no new line in MAINTAINERS if there is a pattern for it: the part `maintained` looks.
IGNORED = ["--ignore", "UNKNOWN_COMMIT_ID,FILE_PATH_CHANGES"]


def is_shared(path):
    """Is it a file that all bases have from the top of the repository? It is judged with the first."""
    return BASE != default_base() and os.path.exists(os.path.join(ROOT, path)) and \
        not os.path.exists(os.path.join(PATCHES, "files", path))


def of_base(mail):
    """A mail without what it adds of shared files; empty if there is nothing else."""
    head, *diffs = re.split(r"^(?=diff --git )", mail, flags=re.M)
    own = [diff for diff in diffs if not is_shared(diff.split(None, 4)[3].removeprefix("b/"))]
    return "".join([head, *own]) if own else ""


def known_patch(text):
    """The file that says that a patch has passed: it takes seconds, and most edits change one."""
    lines = text.encode().splitlines()
    kept = [line for line in lines if not line.startswith((b"Message-Id: ", b"In-Reply-To: ",
                                                           b"References: "))]
    tool = read(os.path.join(SRC, "scripts/checkpatch.pl"), "rb")
    digest = hashlib.sha256(b"\n".join([tool, repr(IGNORED).encode(), *kept])).hexdigest()
    return os.path.join(BUILD, "passed", "patches", digest)


def checkpatch():
    mails = {os.path.basename(path): of_base(read(path))
             for path in sorted(glob.glob(os.path.join(BUILD, "series", "*.patch")))}
    mails = {name: text for name, text in mails.items() if text}
    report = cases.Report()
    for name, text in mails.items():
        known = known_patch(text)
        if os.path.exists(known) and not os.environ.get("FRESH"):
            report.case(True, name)
            continue
        result = cases.call("perl", os.path.join(SRC, "scripts/checkpatch.pl"), "--strict",
                            "--root", SRC, "--no-summary", "--show-types", *IGNORED, "-", cwd=SRC,
                            input=text)
        # A failure without any remark is one of checkpatch itself
        bad = result.returncode or re.search(r"^(ERROR|WARNING|CHECK):", result.stdout, re.M)
        if not bad:
            write(known, "")
        report.case(not bad, name, result.stdout)
    return report.end()


def built_sources(names, lint):
    """The C files that the configuration compiles, as kbuild did for the plain kernel."""
    plain = os.path.join(BUILD, lint.variant)
    return [name for name in names
            if name.endswith(".c") and os.path.exists(os.path.join(plain, f"{name[:-2]}.o"))]


def warnings():
    status = Repo(SRC).changes("refs/heads/base", "HEAD")
    added, changed = ([name for name in status if status[name] == kind] for kind in "AM")
    ours = Lint("plain", "lint", SRC)
    old = Lint("base", "lint-base", SRC_BASE)
    changed = built_sources(changed, ours)
    sources = built_sources(added, ours) + changed
    if not sources:
        return 0
    ours.prepare()
    found = ours.remarks(sources)
    if changed:
        tree.make_base()
        old.prepare()
        found -= old.remarks(changed)
    said = [f"{name}: {text}" + (f" ({count} times)" if count > 1 else "")
            for (name, text), count in sorted(found.items())]
    known = values("remark")
    wrong = [line for line in said if line not in known] + \
        [f"not any more: {line}" for line in known if line not in said]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


# What no object of a kernel is built of.
NOT_BUILT = ("Documentation/", "MAINTAINERS", "tools/perf/", "tools/procmap/", "tools/testing/")


def commits():
    """One TAP case for each commit, in a work tree of its own that moves from one to the next."""
    repo = Repo(SRC)
    hashes = repo.out("rev-list", "--reverse", "refs/heads/base..HEAD").split()
    changed = repo.changes("refs/heads/base", "HEAD")
    report = cases.Report()
    where = os.path.join(BUILD, "commits", "src")
    work = repo.add_work_tree(where, "refs/heads/base")
    lint = Lint("plain", os.path.join("commits", "out"), where)
    objects = [f"{name[:-2]}.o" for name in built_sources(changed, lint)
               if not name.startswith(tuple(DIRECTORIES))]
    good = True
    for commit in hashes:
        work.run("reset", "--hard", "--quiet", commit)
        subject = repo.out("show", "-s", "--format=%s", commit)
        if is_built(repo, commit):
            good = build_commit(lint, objects)
        report.case(good, subject)
    return report.end()


def is_built(repo, commit):
    """Does the commit change what a kernel is built of? Else it builds if the one before does."""
    return not all(name.startswith(NOT_BUILT) for name in repo.changes(f"{commit}^", commit))


def build_commit(lint, objects):
    """Build what the series can break; symbols of later commits are not set yet."""
    there = [name for name in objects if os.path.exists(os.path.join(lint.src, f"{name[:-2]}.c"))]
    try:
        lint.merge(lint.fragments(), log="commits-config")
        lint.make("commits", *DIRECTORIES, *there)
        if stands_alone():
            boot_commit(lint)
    except Failure as failure:
        print(f"# {failure}")
        return False
    return True


def boot_commit(lint):
    """Run the tests that its tree has, ours and the base's."""
    tests = os.path.join(BUILD, "commits", "kselftest")
    shutil.rmtree(tests, ignore_errors=True)
    lint.make("commits", "bzImage", "headers")
    install_tests(lint.src, lint.out, tests, values("tests"))
    logged("commits-boot", [*cases.VM, "--kernel", os.path.join(lint.out, "arch/x86/boot/bzImage"),
                            "--memory", "2G", "--timeout", "3600", "--root", "host", "--results",
                            os.path.join(BUILD, "results", "commits"), "--",
                            os.path.join(tests, "run_kselftest.sh")])


CHECKS = {"checkpatch": checkpatch, "warnings": warnings, "commits": commits}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    sys.exit(CHECKS[sys.argv[1]]())


if __name__ == "__main__":
    main()
