#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make apply: overlay and hunks onto a user's own tree, all of it or nothing.

Everything is tried in a repository of its own below the tree, with the files that the series
changes. Only if all of it fits does git check the result out. No signal can interrupt that. If the
machine stops meanwhile, the next call first restores the tree from the repository.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import sys

import series
import tree
from base import WHO, kernel_version
from common import INTERRUPTS, Failure, main, rel, say
from git import Repo

STAGE = ".procmap-apply"
# Set as long as the files of the tree may be those of both
OLD, NEW = "refs/procmap/old", "refs/procmap/new"


class Target:
    """The user's tree."""

    def __init__(self, where):
        self.top = os.path.abspath(where)
        self.stage = self.path(STAGE)
        self.version = kernel_version(self.top, f"KDIR={where}")
        if not os.access(self.top, os.W_OK):
            raise Failure(f"KDIR={where} cannot be written to")
        self.repo = Repo(self.top, self.stage)
        lock = os.open(self.top, os.O_RDONLY)
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        Repo.kept_open = [lock]

    def path(self, name):
        return os.path.join(self.top, name)

    def restore(self):
        """Undo what an earlier call could not finish."""
        shutil.rmtree(f"{self.stage}.done", ignore_errors=True)
        if not os.path.isdir(self.stage):
            return
        if self.repo.ref(OLD) and self.repo.ref(NEW):
            self.repo.unlock()
            # What the index does not have is not removed.
            self.repo.run("read-tree", NEW)
            self.repo.run("read-tree", "--reset", "-u", OLD)
        shutil.rmtree(self.stage)

    def check_out(self, old, new):
        """The only part that touches the tree's own files."""
        self.repo.run("update-ref", OLD, old)
        self.repo.run("update-ref", NEW, new)
        # What restore() needs is on the disk before anything changes.
        os.sync()
        self.repo.run("read-tree", "-m", "-u", old, new)
        os.rename(self.stage, f"{self.stage}.done")


def wanted_files(commits):
    """Names of the files of the tree that hunks change."""
    names = {name for commit in commits for name in tree.targets(commit)}
    names.difference_update(name for commit in commits for name in commit.files)
    if any(commit.files for commit in commits):
        names.add("MAINTAINERS")
    return names


def refuse_existing(target, commits):
    for commit in commits:
        for name in commit.files:
            if os.path.lexists(target.path(name)):
                raise Failure(f"{target.path(name)} exists already ({rel(commit.path)} adds it); "
                              "is the series applied there? the tree is untouched")


def try_out(target, commits):
    """Apply everything to copies; returns the first and the last commit."""
    names = sorted(wanted_files(commits))
    for name in names:
        if not os.path.isfile(target.path(name)):
            raise Failure(f"{target.path(name)} is missing, and the series changes it; "
                          "the tree is untouched")
    repo = target.repo
    repo.run("init", "--quiet")
    # The threshold makes git write one pack instead of a file for each.
    repo.run("-c", "core.bigFileThreshold=1", "update-index", "--add", "-z", "--stdin",
             data="\0".join(names).encode())
    first = repo.out("commit-tree", repo.out("write-tree"), "-m", "base", env=WHO)
    try:
        return first, tree.build_commits(repo, first, commits)
    except Failure as failure:
        raise Failure(f"{target.top}, Linux {target.version}: {failure}; "
                      "the tree is untouched") from None


def apply(target, commits):
    """Returns how many files are changed and how many are added."""
    refuse_existing(target, commits)
    first, tip = try_out(target, commits)
    status = list(target.repo.changes(first, tip).values())
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        target.check_out(first, tip)
    finally:
        target.restore()
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    return len(status) - status.count("A"), status.count("A")


def command():
    if len(sys.argv) != 2 or not sys.argv[1]:
        raise Failure("give the tree to apply to: make apply KDIR=directory")
    if not os.path.isdir(sys.argv[1]):
        raise Failure(f"KDIR={sys.argv[1]} is no directory")
    target = Target(sys.argv[1])
    target.restore()
    try:
        changed, added = apply(target, series.load_series())
    finally:
        target.restore()
    say("APPLY", f"{sys.argv[1]}: Linux {target.version}, {changed} files changed, {added} added")


if __name__ == "__main__":
    main(command)
