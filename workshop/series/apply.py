#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make apply: overlay and hunks onto a user's own tree, all of it or nothing.

Everything is tried in a scratch repository with copies of the files that the series changes. Only
if all of it fits are the results moved into the tree. No signal can interrupt that. If the machine
stops meanwhile, the next call first restores the tree from the copies.
"""

import os
import shutil
import signal
import sys
import tempfile

import series
import tree
from base import WHO, kernel_version
from common import Failure, main, rel, say
from git import Repo

STAGE = ".procmap-apply"


class Target:
    """The user's tree."""

    def __init__(self, where):
        self.top = os.path.abspath(where)
        self.stage = self.path(STAGE)
        self.version = kernel_version(self.top, f"KDIR={where}")
        if not os.access(self.top, os.W_OK):
            raise Failure(f"KDIR={where} cannot be written to")

    def path(self, *names):
        return os.path.join(self.top, *names)

    def restore(self):
        """Undo what an earlier call could not finish."""
        shutil.rmtree(f"{self.stage}.done", ignore_errors=True)
        if not os.path.isdir(self.stage):
            return
        for name in names_below(os.path.join(self.stage, "old")):
            shutil.copy2(os.path.join(self.stage, "old", name), self.path(name))
        for name in names_below(os.path.join(self.stage, "added")):
            if os.path.lexists(self.path(name)):
                os.unlink(self.path(name))
                remove_empty(self.top, os.path.dirname(name))
        shutil.rmtree(self.stage)

    def put(self, area, name, content, like=None):
        """Store a file in the stage."""
        path = os.path.join(self.stage, area, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if like:
            shutil.copystat(like, path)

    def move_in(self, changed, added):
        """The only part that touches the tree's own files."""
        for name in added:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        for name in [*changed, *added]:
            os.rename(os.path.join(self.stage, "new", name), self.path(name))


def names_below(top):
    return [os.path.relpath(os.path.join(where, name), top)
            for where, _, files in os.walk(top) for name in files]


def remove_empty(top, directory):
    """Remove directories that only held what was added."""
    while directory and not os.listdir(os.path.join(top, directory)):
        os.rmdir(os.path.join(top, directory))
        directory = os.path.dirname(directory)


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


def try_out(target, commits, scratch):
    """Apply everything to copies; returns the repository, its first and its last commit."""
    repo = Repo(scratch)
    repo.run("init", "--quiet", ".")
    for name in sorted(wanted_files(commits)):
        if not os.path.isfile(target.path(name)):
            raise Failure(f"{target.path(name)} is missing, and the series changes it; "
                          "the tree is untouched")
        os.makedirs(os.path.dirname(os.path.join(scratch, name)), exist_ok=True)
        shutil.copy(target.path(name), os.path.join(scratch, name))
    repo.run("add", "-A", "-f", ".")
    first = repo.out("commit-tree", repo.out("write-tree"), "-m", "base", env=WHO)
    try:
        return repo, first, tree.build_commits(repo, first, commits)
    except Failure as failure:
        raise Failure(f"{target.top}, Linux {target.version}: {failure}; the tree is untouched") from None


def stage_results(target, repo, first, tip):
    """Put new and old contents beside the tree; returns the changed and the added names."""
    fields = repo.lines("diff", "-z", "--no-renames", "--name-status", first, tip)
    changed, added = [], []
    for status, name in zip(fields[::2], fields[1::2]):
        content = repo.run("cat-file", "blob", f"{tip}:{name}")[1]
        if status == "A":
            added.append(name)
            target.put("added", name, b"")
            target.put("new", name, content)
            if repo.out("ls-tree", tip, "--", name).startswith("100755"):
                os.chmod(os.path.join(target.stage, "new", name), 0o755)
        else:
            changed.append(name)
            with open(target.path(name), "rb") as file:
                target.put("old", name, file.read(), target.path(name))
            target.put("new", name, content)
            shutil.copymode(target.path(name), os.path.join(target.stage, "new", name))
    return changed, added


def apply(target, commits):
    refuse_existing(target, commits)
    with tempfile.TemporaryDirectory(prefix="apply-") as scratch:
        repo, first, tip = try_out(target, commits, scratch)
        # The names of the staged files tell restore() what to undo: stage all before moving any.
        changed, added = stage_results(target, repo, first, tip)
    signals = signal.pthread_sigmask(signal.SIG_BLOCK,
                                     {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        target.move_in(changed, added)
        os.rename(target.stage, f"{target.stage}.done")
    finally:
        target.restore()
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    return len(changed), len(added)


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def command():
    if len(sys.argv) != 2 or not sys.argv[1]:
        raise Failure("give the tree to apply to: make apply KDIR=directory")
    if not os.path.isdir(sys.argv[1]):
        raise Failure(f"KDIR={sys.argv[1]} is no directory")
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    target = Target(sys.argv[1])
    target.restore()
    try:
        changed, added = apply(target, series.load_series())
    finally:
        target.restore()
    say("APPLY", f"{sys.argv[1]}: Linux {target.version}, {changed} files changed, {added} added")


if __name__ == "__main__":
    main(command)
