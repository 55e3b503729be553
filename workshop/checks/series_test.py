#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of make tree, apply, series and refresh, results as TAP. Needs `make tree series`."""

import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
from cases import call, refused
from places import BASE, BUILD, ROOT, SRC
from base import pinned  # pylint: disable=wrong-import-order
from common import read, write  # pylint: disable=wrong-import-order
from git import Repo  # pylint: disable=wrong-import-order
from series import file_diffs  # pylint: disable=wrong-import-order


KDIR = os.path.join(BUILD, "check", "kdir")
REPO = Repo(SRC)
PATCHED = REPO.out("rev-parse", "refs/procmap/generated^{tree}")
PRISTINE = REPO.out("rev-parse", "refs/heads/base^{tree}")
APPLY = [sys.executable, os.path.join(ROOT, "workshop", "series", "apply.py"), KDIR]


def pristine():
    """A full tree of the base, as a user would have it."""
    work = REPO.add_work_tree(KDIR, "refs/heads/base")
    work.run("am", "--abort", ok=(0, 128))
    work.run("reset", "--hard", "--quiet", "refs/heads/base")
    work.run("clean", "-ffdxq")
    return work


def content(work):
    """The tree object of all files, whether or not git ignores them."""
    work.run("add", "-A", "-f", ".")
    return work.out("write-tree")


def good(command):
    result = call(*command, cwd=ROOT)
    assert not result.returncode, result.stdout + result.stderr
    return result.stdout


def test_apply_gives_the_tree_of_make_tree():
    work = pristine()
    good(APPLY)
    assert content(work) == PATCHED, "a different tree"


def test_apply_twice_is_refused():
    work = pristine()
    call(*APPLY)
    refused(call(*APPLY), "untouched")
    assert content(work) == PATCHED, "the refused call changed something"


def hunks_to_break():
    """(patch, file, number, old line) of a hunk in the first and in the last file of just one patch."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "patches", BASE, "*.patch"))):
        for name, text in file_diffs(read(path)):
            lines = [int(line) for line in re.findall(r"^@@ -(\d+),", text, re.M)]
            found.setdefault(name, []).append((os.path.basename(path), name, len(lines), lines[-1]))
    alone = [hunks[0] for hunks in found.values() if len(hunks) == 1]
    return alone[0], alone[-1]


def break_hunk(name, line):
    path = os.path.join(KDIR, name)
    lines = read(path).splitlines(keepends=True)
    lines[line - 1:line + 5] = ["/* somebody else was here */\n"] * 6
    write(path, "".join(lines))


def set_version(sublevel):
    path = os.path.join(KDIR, "Makefile")
    write(path, re.sub(r"^SUBLEVEL = \d+$", f"SUBLEVEL = {sublevel}", read(path), flags=re.M))


def test_each_hunk_that_does_not_fit_is_named_and_nothing_changes():
    work = pristine()
    broken = hunks_to_break()
    for _, name, _, line in broken:
        break_hunk(name, line)
    set_version(9876)
    before = content(work)
    result = call(*APPLY)
    refused(result, f"{BASE}.9876", "2 hunks do not fit", "untouched", pinned()["version"])
    told = [line.split(None, 1)[1] for line in result.stdout.splitlines() if "REJECT" in line]
    assert told == [f"patches/{BASE}/{patch}: hunk {number} of {name} (line {line})"
                    for patch, name, number, line in broken], told
    assert content(work) == before, "the refused call changed something"


def test_a_file_that_is_missing_is_named_and_nothing_changes():
    work = pristine()
    name = hunks_to_break()[0][1]
    os.unlink(os.path.join(KDIR, name))
    before = content(work)
    refused(call(*APPLY), name, "missing", "untouched")
    assert content(work) == before, "the refused call changed something"


def signalled(earliest, number):
    """Apply, and send a signal after some time; the signal hits at any moment."""
    with subprocess.Popen(APPLY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        time.sleep(random.uniform(earliest, 1.2))
        child.send_signal(number)


def test_an_interrupted_apply_is_all_or_nothing():
    outcomes = set()
    for number in range(6):
        work = pristine()
        signalled(0.05, random.choice([signal.SIGINT, signal.SIGTERM]))
        outcomes.add(content(work))
        assert outcomes <= {PATCHED, PRISTINE}, f"neither of both in round {number}"
    assert outcomes, "no round"


def test_a_killed_apply_is_undone_by_the_next():
    for number in range(3):
        work = pristine()
        signalled(0.3, signal.SIGKILL)
        result = call(*APPLY)
        assert not result.returncode or "exists already" in result.stderr, result.stderr
        assert content(work) == PATCHED, f"a different tree in round {number}"


def take_mails(work, *paths, **kwargs):
    work.run("am", "--quiet", "--keep-cr", *paths, **kwargs,
             env={"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@localhost"})


def mails(where):
    patches = sorted(glob.glob(os.path.join(where, "*.patch")))
    assert patches, f"make series left no patches in {where}"
    return patches


def test_git_am_gives_the_tree_of_make_tree():
    work = pristine()
    patches = mails(os.path.join(BUILD, "series"))
    take_mails(work, *patches)
    assert work.out("rev-parse", "HEAD^{tree}") == PATCHED, "a different tree"
    assert len(patches) == int(REPO.out("rev-list", "--count",
                                        "refs/heads/base..refs/procmap/generated"))


def test_the_part_for_a_kernel_applies_alone():
    good(["make", "-s", "series", "PART=kernel"])
    out = os.path.join(BUILD, "series-kernel")
    assert os.path.realpath(os.path.join(ROOT, "build", "series")) == os.path.realpath(out)
    work = pristine()
    take_mails(work, *mails(out))
    rest = work.out("diff", "--name-only", "HEAD", "refs/procmap/generated").split()
    assert all(name.startswith("tools/") or name == "MAINTAINERS" for name in rest), rest
    added = work.out("diff", "--name-only", "refs/heads/base", "HEAD").split()
    assert not [name for name in added if name.startswith("tools/")], added
    for name in ("fs/proc/procmap_query.c", "include/uapi/linux/procmap.h", "lib/buildid_kunit.c",
                 "Documentation/userspace-api/procmap_query.rst", "MAINTAINERS"):
        assert name in added, f"no {name}"
    ours = work.out("diff", "refs/heads/base", "HEAD", "--", "MAINTAINERS")
    assert "+F:\tfs/proc/procmap*\n" in ours and "+F:\ttools/" not in ours, ours
    assert "the part for a kernel" in read(os.path.join(out, "0000-cover-letter.txt"))


def b4_am(where):
    """`b4 am` with an mbox of all mails, as from an archive: what it says, and its mbox for git am."""
    with tempfile.TemporaryDirectory(prefix="b4-") as home:
        box = os.path.join(home, "mbox")
        letter = os.path.join(where, "0000-cover-letter.txt")
        write(box, b"".join(read(path, "rb") for path in [letter, *mails(where)]))
        # b4 wants to know who calls it.
        result = call("b4", "am", "--no-cache", "--use-local-mbox", box, "--outdir", home, cwd=KDIR,
                      env=dict(os.environ, HOME=home, GIT_CONFIG_COUNT="2",
                               GIT_CONFIG_KEY_0="user.name", GIT_CONFIG_VALUE_0="x",
                               GIT_CONFIG_KEY_1="user.email", GIT_CONFIG_VALUE_1="x@localhost"))
        assert not result.returncode, result.stderr
        made = glob.glob(os.path.join(home, "*.mbx"))
        assert len(made) == 1 and "Cover: " in result.stderr, result.stderr
        return result.stderr, read(made[0], "rb")


def test_b4_takes_the_mails_and_finds_the_base():
    for part, where in (("kernel", "series-kernel"), ("all", "series")):
        where = os.path.join(BUILD, where)
        good(["make", "-s", "series", f"PART={part}"])
        work = pristine()
        said, mbox = b4_am(where)
        assert f"using specified base-commit {REPO.ref('refs/heads/base')}" in said, said
        take_mails(work, data=mbox)
        assert int(work.out("rev-list", "--count", "refs/heads/base..HEAD")) == len(mails(where))
    assert work.out("rev-parse", "HEAD^{tree}") == PATCHED, "a different tree"


def test_the_same_series_is_the_same_mails():
    texts = []
    for _ in range(2):
        good(["make", "-s", "series"])
        texts.append([read(path) for path in mails(os.path.join(BUILD, "series"))])
        time.sleep(1.1)
    assert texts[0] == texts[1], "the time is in them"


def test_refresh_after_tree_changes_nothing():
    good([sys.executable, "workshop/series/refresh.py", "--check"])


def test_a_path_with_a_space_is_refused_at_once():
    with tempfile.TemporaryDirectory(prefix="series test ") as place:
        refused(call("make", "-s", "-f", os.path.join(ROOT, "Makefile"), "run", cwd=place),
                "a space or a colon")


def test_what_make_cannot_do_is_refused():
    for line, *said in (("series PART=tools", "PART=tools", "all", "kernel"),
                        ("kernel VARIANT=fancy", "fancy", "plain"), ("apply", "KDIR"),
                        ("apply KDIR=/nonexistent", "/nonexistent"), ("apply KDIR=/etc", "/etc")):
        refused(call("make", "-s", *line.split(), cwd=ROOT), *said)


def main():
    status = cases.run(globals())
    shutil.rmtree(KDIR, ignore_errors=True)
    REPO.run("worktree", "prune")
    sys.exit(status)


if __name__ == "__main__":
    main()
